"""The conversation."""

from __future__ import annotations

import json
import os
import time
from typing import Any

from .rows import LOOKS


class Log:
    """The conversation, a JSON object a line, each in the file before anything is made of it."""

    def __init__(self, folder: str, resume: bool) -> None:
        self.past: list[dict[str, Any]] = []
        self.done = 0  # the number of the last completed step
        self.queue: list[dict[str, Any]] = []  # messages that no step has taken
        self.message = ""  # the last that was taken
        self._last = 0
        self._file: int | None = None
        if folder:
            path = os.path.join(folder, "conversation.jsonl")
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
            self._read(path)
        if not resume:
            self.past, self.done, self.queue, self.message = [], 0, [], ""
            self._write({"fresh": time.time()})

    def _read(self, path: str) -> None:
        with open(path, "rb") as file:
            data = file.read()
        if data and not data.endswith(b"\n"):
            self._append(b"\n")  # a line that a crash cut stays a line of its own
        for line in data.splitlines():
            try:
                entry = json.loads(line)
            except ValueError:
                continue
            if isinstance(entry, dict):
                self._replay(entry)

    def _replay(self, entry: dict[str, Any]) -> None:
        if "fresh" in entry:
            self.past, self.done, self.queue, self.message = [], 0, [], ""
        elif "step" in entry:
            self.done = entry["step"]
            for message in [one for one in self.queue if one["id"] == entry.get("took")]:
                self.queue.remove(message)
                self.message = message["text"]
        elif entry.get("role") in LOOKS:
            self.past.append(entry)
            self._last = int(entry["id"])
            if entry["role"] == "user":
                self.queue.append(entry)

    def event(self, role: str, text: str, tool: str = "") -> dict[str, Any]:
        """Log something said or done."""
        self._last += 1
        entry = {"at": time.time(), "role": role, "text": text, "id": str(self._last)}
        if tool:
            entry["tool"] = tool
        self._write(entry)
        return entry

    def completed(self, number: int, took: str = "") -> None:
        """Log that all up to this step is done, and which message it took."""
        self.done = number
        self._write({"step": number, "took": took} if took else {"step": number})

    def _write(self, entry: dict[str, Any]) -> None:
        self._append(json.dumps(entry, ensure_ascii=False).encode(errors="replace") + b"\n")

    def _append(self, line: bytes) -> None:
        while line and self._file is not None:
            line = line[os.write(self._file, line) :]
