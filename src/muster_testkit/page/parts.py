"""The page's data: an index that it opens with, and the parts that it loads when something is opened."""

from __future__ import annotations

import gzip
import json
import os
from textwrap import dedent
from typing import Any

from muster_testkit import tutorial
from muster_testkit.page.gather import OUTCOMES, Run, Test, data, runs, shown

# Of a longer text the beginning and the end are shown.
TEXT_MAX = 400_000
RECORDING_MAX = 40_000_000
LINE_MAX = 200


class Folder:
    """A folder of artifacts as the page sees it: `index`, and the `part` behind every name in it."""

    def __init__(self, path: str, *, run: str = "", script: str = "", fresh: bool = False) -> None:
        self.path, self.run, self.script, self.fresh = path, run, script, fresh
        self.tests: dict[str, Test] = {}
        self.recordings: dict[str, str] = {}

    def index(self) -> dict[str, Any]:
        """All that a list of the tests needs."""
        found = runs(self.path, self.run)
        self.tests, self.recordings = {}, {}
        texts: dict[str, int] = {}
        return {
            "outcomes": OUTCOMES,
            "tutorial": self._tutorial(texts),
            "runs": [self._run(run, texts) for run in found],
            "texts": list(texts),
        }

    def part(self, name: str) -> bytes | None:
        """A test or a recording, compressed; nothing but what `index` has named can be had."""
        if test := self.tests.get(name):
            return packed(_json(self._whole(test)))
        if path := self.recordings.get(name):
            try:
                return packed(data(path, RECORDING_MAX))
            except OSError:
                return None  # it went away after it was listed
        return None

    @property
    def names(self) -> list[str]:
        return [*self.tests, *self.recordings]

    def _name(self, path: str) -> str:
        return shown(os.path.relpath(path, self.path))

    def _tutorial(self, texts: dict[str, int]) -> dict[str, Any] | None:
        if not self.script:
            return None
        blocks = [
            {"line": one.line, "heading": one.kind == "heading", "text": texts.setdefault(one.text, len(texts))}
            for one in tutorial.read(self.script)
        ]
        return {"file": shown(os.path.basename(self.script)), "blocks": blocks}

    def _run(self, run: Run, texts: dict[str, int]) -> dict[str, Any]:
        tests = [self._line(test, texts) for test in run.tests]
        return {"name": run.name, "started": run.started, "finished": run.finished, "tests": tests}

    def _line(self, test: Test, texts: dict[str, int]) -> dict[str, Any]:
        name = self._name(test.path)
        self.tests[name] = test
        for attempt in (test, *test.earlier):
            self.recordings.update((self._name(one.path), one.path) for one in attempt.recordings)
        return {
            "part": name,
            "test": test.name,
            "file": test.file,
            "line": test.line,
            "outcome": test.outcome,
            "started": test.started,
            "seconds": test.seconds,
            "attempts": test.attempts,
            "recordings": len(test.recordings),
            "blocks": [texts.setdefault(one.text, len(texts)) for one in _blocks(test)],
            "note": _note(test.message),
            **({"stamp": _stamp(test)} if self.fresh else {}),
        }

    def _whole(self, test: Test) -> dict[str, Any]:
        return {
            "outcome": test.outcome,
            "seconds": test.seconds,
            "message": test.message,
            "folder": self._name(test.path),
            "transcript": self._text(f"{test.path}/transcript.txt"),
            "recordings": [{**one._asdict(), "path": "", "part": self._name(one.path)} for one in test.recordings],
            "screens": self._screens(test.screens),
            "earlier": [self._whole(one) for one in test.earlier],
        }

    def _screens(self, paths: list[str]) -> list[dict[str, str]]:
        """The text and the picture of one screen belong together."""
        found: dict[str, dict[str, str]] = {}
        for path in paths:
            stem, end = os.path.splitext(os.path.basename(path))
            found.setdefault(shown(stem), {})[end[1:]] = self._text(path)
        return [{"title": title, **forms} for title, forms in sorted(found.items())]

    def _text(self, path: str) -> str:
        """A file's text, with bytes that are not UTF-8 spelled out, and its middle left out if it is long."""
        try:
            size = os.stat(path).st_size
            head = data(path, TEXT_MAX if size <= TEXT_MAX else TEXT_MAX // 2)
            tail = data(path, -1, size - TEXT_MAX // 2) if size > TEXT_MAX else b""
        except OSError:
            return ""
        if tail:
            head, tail = head[: head.rfind(b"\n") + 1] or head, tail[tail.find(b"\n") + 1 :] or tail
            left = f"… {size - len(head) - len(tail):,} bytes are left out here: all of it is in {self._name(path)}\n"
            head = head.rstrip(b"\n") + b"\n" + left.encode() + tail
        return head.decode(errors="backslashreplace")


def packed(data: bytes) -> bytes:
    return gzip.compress(data, 6, mtime=0)


def script_safe(value: object) -> str:
    """JSON that can stand within a `script` element: nothing in it begins a tag, and nothing ends a line of a script."""
    text = _json(value).decode()
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode()


def _blocks(test: Test) -> list[tutorial.Block]:
    """What it cites, block by block: a citation may hold several."""
    return [one for text in test.blocks for one in tutorial.blocks(dedent(text))]


def _note(message: str) -> str:
    """The one line to show of it: the first that pytest marks as the error, or else the first."""
    lines = [line for line in message.splitlines() if line.strip()]
    marked = (line[1:].strip() for line in lines if line.startswith("E  "))
    return next(marked, lines[0] if lines else "")[:LINE_MAX]


def _stamp(test: Test) -> str:
    """Changes when anything that the test has left does."""
    files = [f"{test.path}/meta.json", f"{test.path}/transcript.txt", *(one.path for one in test.recordings)]
    return " ".join(_size(path) for path in files)


def _size(path: str) -> str:
    try:
        found = os.stat(path)
    except OSError:
        return ""
    return f"{found.st_size}.{found.st_mtime_ns}"
