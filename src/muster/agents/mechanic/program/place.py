"""A place to try things: a copy of the workspace, or, where a copy would test other code, the workspace itself."""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

_LEFT = {"__pycache__", ".git", ".hg", ".tox", ".nox", ".pytest_cache", ".mypy_cache", ".ruff_cache"}
_turns = itertools.count(1_000_000_000)
_LINKED = {"node_modules"}


@dataclass(frozen=True)
class Place:
    """Where the command is run, with every path of the workspace in words and environment turned to here."""

    workspace: str
    path: str
    _under: dict[str, tuple[bytes, int]] = field(default_factory=dict)

    @property
    def is_copy(self) -> bool:
        return self.path != self.workspace

    def words(self, words: Sequence[str]) -> list[str]:
        return [self._turned(word) for word in words]

    def environment(self, env: Mapping[str, str]) -> dict[str, str]:
        return {name: value if name.startswith("MUSTER_") else self._turned(value) for name, value in env.items()}

    def _turned(self, text: str) -> str:
        return text.replace(self.workspace, self.path) if self.is_copy else text

    def lay(self, texts: Mapping[str, bytes]) -> None:
        """Lay these files over what was there at first."""
        for name in [name for name in self._under if name not in texts]:
            self._put(name, *self._under.pop(name))
        for name, data in texts.items():
            path = os.path.join(self.path, name)
            if name not in self._under:
                with open(path, "rb") as file:
                    self._under[name] = (file.read(), os.stat(path).st_mtime_ns)
            # No compiled file of another turn fits this time.
            self._put(name, data, next(_turns) * 1_000_000_000)

    def _put(self, name: str, data: bytes, time: int) -> None:
        path = os.path.join(self.path, name)
        with open(path, "wb") as file:
            file.write(data)
        os.utime(path, ns=(time, time))

    def drop(self) -> None:
        self.lay({})
        if self.is_copy:
            shutil.rmtree(self.path, ignore_errors=True)


def copy(workspace: str) -> Place:
    """A copy with everything that is in the workspace but its history; environments are linked."""
    path = os.path.realpath(tempfile.mkdtemp(prefix="muster-mechanic-"))
    _fill(workspace, path)
    return Place(workspace, path)


def _fill(source: str, target: str) -> None:
    for entry in os.scandir(source):
        there = os.path.join(target, entry.name)
        if entry.name in _LEFT:
            continue
        if entry.is_symlink():
            os.symlink(os.readlink(entry.path), there)
        elif entry.is_dir():
            if entry.name in _LINKED or os.path.exists(os.path.join(entry.path, "pyvenv.cfg")):
                os.symlink(entry.path, there)
            else:
                os.mkdir(there)
                _fill(entry.path, there)
        elif entry.is_file():
            shutil.copy2(entry.path, there)
