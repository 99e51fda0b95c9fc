"""What a folder of artifacts holds, however broken: its runs, their tests, and what each test left."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from muster_testkit.artifacts import alive
from muster_testkit.errors import KitError

# In the order in which one wants to hear of them.
OUTCOMES = "failed error timed-out crashed unreadable running xpassed passed skipped xfailed".split()
# What no person reads to its end is cut, with a note that says where all of it is.
MESSAGE_MAX = 100_000


class Recording(NamedTuple):
    """A terminal's recording; its file is read only when somebody opens it."""

    path: str
    title: str
    seconds: float
    columns: int
    rows: int


class Test(NamedTuple):
    """One test, or one attempt at it."""

    path: str
    name: str
    outcome: str
    file: str = ""
    line: int = 0
    started: float = 0.0
    seconds: float = 0.0
    attempts: int = 1
    message: str = ""
    blocks: tuple[str, ...] = ()
    titles: Mapping[str, Mapping[str, Any]] = {}

    @property
    def recordings(self) -> list[Recording]:
        """The files that are there; `meta.json` only knows how to call them."""
        found = []
        for file in _files(f"{self.path}/recordings", ".cast"):
            about = self.titles.get(f"recordings/{os.path.basename(file)}", {})
            title = _text(about, "title") or os.path.basename(file).removesuffix(".cast")
            size = int(_number(about, "columns")), int(_number(about, "rows"))
            found.append(Recording(file, title, _number(about, "seconds"), *size))
        return found

    @property
    def screens(self) -> list[str]:
        return _files(f"{self.path}/screens", ".txt") + _files(f"{self.path}/screens", ".svg")

    @property
    def earlier(self) -> list[Test]:
        """The attempts before this one, the first one first."""
        folders = sorted(_folders(f"{self.path}/attempts"), key=lambda path: (len(path), path))
        return [read(folder) for folder in folders]


class Run(NamedTuple):
    """One run of the tests."""

    path: str
    name: str
    started: float
    finished: float
    tests: list[Test]


def runs(folder: str, only: str = "") -> list[Run]:
    """The runs in that folder, or the one that it is itself, the newest first."""
    if not os.path.isdir(folder):
        raise KitError(f"there is no folder `{folder}`", hint="a run of the tests makes it")
    paths = [folder] if _is_run(folder) else [path for path in _folders(folder) if _is_run(path) or _folders(path)]
    found = sorted((_run(path) for path in paths), key=lambda run: (run.started, run.name), reverse=True)
    chosen = [run for run in found if only in ("", run.name, os.path.basename(run.path))]
    if only and not chosen:
        names = ", ".join(f"`{run.name}`" for run in found[:5]) or "none"
        raise KitError(f"there is no run `{only}` in `{folder}`", hint=f"there are: {names}")
    return chosen


def _is_run(folder: str) -> bool:
    return os.path.isfile(f"{folder}/run.json") or any(os.path.isfile(f"{path}/meta.json") for path in _folders(folder))


def _run(folder: str) -> Run:
    about, _ = _read(f"{folder}/run.json")
    tests = [read(path) for path in _folders(folder)]
    tests.sort(key=lambda test: (OUTCOMES.index(test.outcome), test.file, test.line, test.name))
    started = _number(about, "started") or min((test.started for test in tests if test.started), default=0.0)
    name = _text(about, "run") or os.path.basename(os.path.abspath(folder))
    return Run(folder, name, started, _number(about, "finished"), tests)


def read(folder: str) -> Test:
    """One test from its `meta.json`; what can't be known from it is told as its message."""
    about, trouble = _read(f"{folder}/meta.json")
    outcome, message = _text(about, "outcome"), _text(about, "message")
    if not trouble and outcome not in OUTCOMES:
        trouble = f"`meta.json` names no outcome that is known: `{outcome[:80]}`"
    if trouble:
        outcome, message = "unreadable", "\n".join(filter(None, [trouble, message]))
    elif outcome == "running" and not alive(about.get("pid")):
        outcome, message = "crashed", message or f"its process, {about.get('pid')}, ended without a word"
    recordings = [one for one in _list(about, "recordings") if isinstance(one, dict)]
    if len(message) > MESSAGE_MAX:
        message = f"{message[:MESSAGE_MAX]}\n… cut here: all of it is in {shown(folder)}/meta.json"
    return Test(
        folder,
        _text(about, "test") or shown(os.path.basename(folder)),
        outcome,
        _text(about, "file"),
        int(_number(about, "line")),
        _number(about, "started"),
        _number(about, "seconds"),
        max(1, int(_number(about, "attempts"))),
        message,
        tuple(_whole(one) for one in _list(about, "blocks") if isinstance(one, str)),
        {_text(one, "file"): one for one in recordings},
    )


def _read(path: str) -> tuple[dict[str, Any], str]:
    """A JSON object, and what is wrong with it."""
    name = os.path.basename(path)
    try:
        found = json.loads(data(path))
    except FileNotFoundError:
        return {}, f"there is no `{name}`: the test ended before it was written"
    except (OSError, ValueError, RecursionError) as error:
        return {}, f"`{name}` can't be read: {error}"
    return (found, "") if isinstance(found, dict) else ({}, f"`{name}` is no JSON object")


def _text(about: Mapping[str, Any], key: str) -> str:
    value = about.get(key)
    return _whole(value) if isinstance(value, str) else ""


def _whole(text: str) -> str:
    """JSON may hold halves of characters, which nothing else can."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _number(about: Mapping[str, Any], key: str) -> float:
    value = about.get(key)
    fits = isinstance(value, int | float) and abs(value) < 1e12 and math.isfinite(value)
    return max(0.0, float(value)) if fits and value is not None else 0.0


def _list(about: Mapping[str, Any], key: str) -> list[Any]:
    value = about.get(key)
    return value if isinstance(value, list) else []


def data(path: str, size: int = -1, start: int = 0) -> bytes:
    """A part of a file's bytes; a link is not followed, and a pipe is not waited for."""
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
        if start:
            file.seek(start)
        return file.read(size) or b""


def _folders(path: str) -> list[str]:
    return _entries(path, lambda entry: entry.is_dir(follow_symlinks=False) and not entry.name.startswith("."))


def _files(path: str, end: str) -> list[str]:
    # Not through links: a test could lead us to a file that is not an artifact.
    return _entries(path, lambda entry: entry.is_file(follow_symlinks=False) and entry.name.endswith(end))


def _entries(path: str, fits: Any) -> list[str]:
    try:
        with os.scandir(path) as entries:
            return sorted(entry.path for entry in entries if fits(entry))
    except OSError:
        return []  # it is not there, or went away in this moment


def shown(path: str) -> str:
    """A path as text: names that are not UTF-8 have their bytes spelled out."""
    return os.fsencode(path).decode(errors="backslashreplace")
