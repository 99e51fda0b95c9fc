"""A project of somebody else's, whose tests use the test kit; pytest runs there as a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any, NamedTuple

HEAD = """\
import os, re, signal, subprocess, sys, time
from pathlib import Path
import pytest
from muster_testkit import *

def gone(pid):
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True).stdout.strip()
    return not state or state.startswith("Z")

"""


class Ran(NamedTuple):
    """A run of pytest, or of another program there."""

    code: int
    out: str

    def counts(self, words: str) -> bool:
        """Whether the last line says that, such as `1 failed, 2 passed`."""
        return f"{words} in " in self.out.rstrip().splitlines()[-1]


class Project:
    """A folder with tests."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.artifacts = folder / ".muster" / "artifacts"
        (folder / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n")

    def tests(self, source: str, file: str = "test_it.py") -> Path:
        path = self.folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(HEAD + dedent(source))
        return path

    def write(self, file: str, text: str | bytes) -> Path:
        path = self.folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else dedent(text).encode())
        return path

    def pytest(self, *words: str, **environment: str) -> Ran:
        return self.python("-m", "pytest", "-p", "no:cacheprovider", "-p", "no:rerunfailures", *words, **environment)

    def python(self, *words: str, **environment: str) -> Ran:
        done = subprocess.run(
            [sys.executable, *words],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            env={**os.environ, **environment},
            check=False,
            timeout=90,
        )
        return Ran(done.returncode, done.stdout.decode(errors="replace"))

    def passes(self, source: str, *words: str, **environment: str) -> Path:
        """Run that one test, which must pass; the folder that it left."""
        self.tests(source)
        ran = self.pytest(*words, **environment)
        assert ran.code == 0, ran.out
        [folder] = self.folders()
        return folder

    def fails(self, source: str, *words: str) -> str:
        """Run that one test, which must fail; what pytest says."""
        self.tests(source)
        ran = self.pytest(*words)
        assert ran.code == 1, ran.out
        return ran.out

    def folders(self, run: str = "latest") -> list[Path]:
        return sorted(path for path in (self.artifacts / run).iterdir() if path.is_dir())

    def metas(self, run: str = "latest") -> Iterator[dict[str, Any]]:
        return (meta(folder) for folder in self.folders(run))

    def outcomes(self, run: str = "latest") -> dict[str, str]:
        """By the name of each test."""
        return {one["test"].rpartition("::")[2]: one["outcome"] for one in self.metas(run)}


def gone(pid: int | str) -> bool:
    """Whether that process has ended; nobody may have asked yet how."""
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return not state.strip() or state.startswith("Z")


def meta(folder: Path) -> Any:
    return json.loads((folder / "meta.json").read_text())


def transcript(folder: Path) -> str:
    return (folder / "transcript.txt").read_text()
