"""Folders of artifacts, as the test kit leaves them."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

STARTED = 1_760_000_000.0
Event = tuple[float, str, str]


def run(folder: Path, name: str = "first", **about: Any) -> Path:
    """A run without tests."""
    path = folder / name
    path.mkdir(parents=True)
    known = {"schema": 1, "run": name, "started": STARTED, "finished": STARTED + 100, "root": "/nowhere"}
    (path / "run.json").write_text(json.dumps({**known, **about}))
    return path


def test_folder(run: Path, test: str) -> Path:
    slug = re.sub(r"[^A-Za-z0-9]+", "-", test)[:60].strip("-")
    return run / f"{slug}-{hashlib.sha256(test.encode()).hexdigest()[:8]}"


def leave(
    run: Path,
    test: str,
    outcome: str = "passed",
    *,
    transcript: str | bytes = "$ true\n? 0\n",
    recordings: Mapping[str, str | bytes] | None = None,
    screens: Mapping[str, str] | None = None,
    folder: Path | None = None,
    **about: Any,
) -> Path:
    """What one test leaves."""
    path = folder or test_folder(run, test)
    path.mkdir(parents=True, exist_ok=True)
    given = transcript.encode() if isinstance(transcript, str) else transcript
    (path / "transcript.txt").write_bytes(given)
    for name, data in (recordings or {}).items():
        (path / "recordings").mkdir(exist_ok=True)
        (path / "recordings" / name).write_bytes(data.encode() if isinstance(data, str) else data)
    for name, text in (screens or {}).items():
        (path / "screens").mkdir(exist_ok=True)
        (path / "screens" / name).write_text(text)
    listed = [
        {"file": f"recordings/{name}", "title": name[3:-5], "seconds": 3.0, "columns": 80, "rows": 24}
        for name in recordings or {}
    ]
    known = {
        "schema": 1,
        "test": test,
        "file": test.partition("::")[0],
        "line": 7,
        "outcome": outcome,
        "started": STARTED,
        "seconds": 0.25,
        "pid": os.getpid(),
        "attempts": 1,
        "message": "",
        "blocks": [],
        "recordings": listed,
        "screens": [f"screens/{name}" for name in screens or {}],
    }
    (path / "meta.json").write_text(json.dumps({**known, **about}))
    return path


def cast(events: Sequence[Event], columns: int = 80, rows: int = 24) -> str:
    """A recording in asciicast v2."""
    lines = [json.dumps({"version": 2, "width": columns, "height": rows}), *(json.dumps(event) for event in events)]
    return "\n".join(lines) + "\n"
