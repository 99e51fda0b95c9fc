"""A terminal as a person has it: a tmux of the test's own, with a shell in it."""

from __future__ import annotations

import os
import shlex
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from conftest import program

T = TypeVar("T")
PATIENCE = 20.0


def until(look: Callable[[], T], what: str = "what was waited for") -> T:
    """What `look` finds, as soon as it finds something."""
    deadline = time.monotonic() + PATIENCE
    while not (found := look()):
        assert time.monotonic() < deadline, f"{what} did not come"
        time.sleep(0.02)
    return found


class Terminal:
    """A shell on a screen of that size."""

    def __init__(self, home: Path, columns: int = 100, rows: int = 30) -> None:
        self._tmux = ["tmux", "-S", str(home.parent / "tmux" / "outer"), "-f", "/dev/null"]
        self._count = 0
        self._home = home
        words = ["env", "PS1=$ ", "ENV=", "sh"]
        self.tmux("new-session", "-d", "-x", str(columns), "-y", str(rows), *words)

    def tmux(self, *words: str) -> str:
        return subprocess.run([*self._tmux, *words], capture_output=True, text=True, check=True, timeout=30).stdout

    def keys(self, *words: str) -> None:
        self.tmux("send-keys", "-t", "0", *words)

    def type(self, *words: str | os.PathLike[str]) -> None:
        """Run a muster command in the shell; it may stay."""
        self.shell(shlex.join([*program(), *(os.fspath(word) for word in words)]))

    def shell(self, line: str) -> None:
        # A line of the terminal holds no more than this screen is wide, so it goes into a file.
        self._count += 1
        script = self._home.parent / f"line-{self._count}"
        script.write_text(f'clear\n{line}\necho "ended with $?"\n')
        self.keys(f". {script}", "Enter")

    @property
    def screen(self) -> str:
        return self.tmux("capture-pane", "-p", "-t", "0")

    def shows(self, text: str) -> str:
        """The screen, as soon as it shows that."""
        try:
            return until(lambda: self.screen if text in self.screen else "")
        except AssertionError:
            raise AssertionError(f"{text!r} was not shown:\n{self.screen}") from None
