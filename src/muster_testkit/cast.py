"""Recordings of a terminal, as asciicast v2: one JSON value per line, each written at once."""

from __future__ import annotations

import codecs
import json
import os
import time
from typing import Any

TERM = "xterm-256color"
# What a program says beyond this is not recorded; the recording ends with a word about it.
LIMIT = 32 * 1024 * 1024


class Cast:
    """A recording that is being made."""

    def __init__(self, path: str, columns: int, rows: int, title: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC, 0o644)
        self._began = time.monotonic()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._size = 0
        head = {"version": 2, "width": columns, "height": rows, "timestamp": int(time.time()), "title": title}
        self._line({**head, "env": {"TERM": TERM}})

    def output(self, data: bytes) -> None:
        if self._size > LIMIT:
            return
        # A read may end in the middle of a character.
        if text := self._decoder.decode(data):
            self._event("o", text)
        if self._size > LIMIT:
            self._event("o", "\r\n[the recording ends here: it is too large]\r\n")

    def resize(self, columns: int, rows: int) -> None:
        self._event("r", f"{columns}x{rows}")

    def close(self) -> None:
        if self._file < 0:
            return
        if text := self._decoder.decode(b"", final=True):
            self._event("o", text)
        os.close(self._file)
        self._file = -1

    def _event(self, kind: str, data: str) -> None:
        self._line([round(time.monotonic() - self._began, 6), kind, data])

    def _line(self, value: object) -> None:
        # With one write per line, whoever is killed leaves whole lines.
        data = json.dumps(value, ensure_ascii=False).encode(errors="replace") + b"\n"
        self._size += len(data)
        while data:
            data = data[os.write(self._file, data) :]


def listed(folder: str) -> list[dict[str, Any]]:
    """What `meta.json` says of the recordings below that folder."""
    place = os.path.join(folder, "recordings")
    try:
        names = sorted(name for name in os.listdir(place) if name.endswith(".cast"))
    except FileNotFoundError:
        return []
    return [one for name in names if (one := _about(os.path.join(place, name), f"recordings/{name}"))]


def _about(path: str, file: str) -> dict[str, Any] | None:
    with open(path, "rb") as stream:
        try:
            head = json.loads(stream.readline())
            about = {"title": str(head.get("title", "")), "columns": head["width"], "rows": head["height"]}
        except (ValueError, KeyError, AttributeError):
            return None  # it was cut off before it began
        stream.seek(max(0, os.fstat(stream.fileno()).st_size - 262_144))
        lines = stream.read().splitlines()
    return {"file": file, **about, "seconds": next((t for line in reversed(lines) if (t := _time(line))), 0.0)}


def _time(line: bytes) -> float:
    # The last line of a recording that was cut off is not whole.
    head = line.partition(b",")[0]
    try:
        return float(head[1:]) if head.startswith(b"[") else 0.0
    except ValueError:
        return 0.0
