"""The terminal."""

from __future__ import annotations

import os
import termios
from typing import Any


class Terminal:
    """Standard input and output, as they were found and as we need them."""

    def __init__(self) -> None:
        self.tty = os.isatty(0)
        self.live = self.tty and os.isatty(1)
        self._found: list[Any] | None = None
        self._gone = False
        self._end = ""

    def open(self, begin: str, end: str) -> None:
        """No line limit, no echo, no signals from keys; what is in the way of the user's paste goes."""
        if self.tty:
            self._found = termios.tcgetattr(0)
            raw = termios.tcgetattr(0)
            raw[0] &= ~(termios.ICRNL | termios.INLCR | termios.IGNCR | termios.IXON | termios.ISTRIP)
            raw[3] &= ~(termios.ICANON | termios.ECHO | termios.ISIG | termios.IEXTEN)
            raw[6][termios.VMIN], raw[6][termios.VTIME] = 1, 0
            termios.tcsetattr(0, termios.TCSANOW, raw)  # what was typed already is kept
        if self.live:
            self.write(begin)
            self._end = end

    def close(self) -> None:
        """Everything as it was found."""
        if self._end:
            self.write("\r\x1b[K" + self._end)
            self._end = ""
        if self._found:
            try:
                termios.tcsetattr(0, termios.TCSADRAIN, self._found)
            except termios.error:
                pass  # the terminal is gone
            self._found = None

    def write(self, text: str) -> None:
        data = memoryview(text.encode(errors="replace"))
        try:
            while data and not self._gone:
                data = data[os.write(1, data) :]
        except OSError:
            self._gone = True  # nobody looks any more; who is to end us will

    def size(self) -> tuple[int, int]:
        try:
            columns, lines = os.get_terminal_size(1)
        except OSError:
            return 10_000, 24
        return columns or 80, lines or 24
