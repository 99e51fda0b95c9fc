"""The plain screen."""

from __future__ import annotations

from typing import Any

from .rows import rows_of, showable, tail
from .terminal import Terminal
from .view import View


class Plain:
    """Line by line, with a prompt that what is said goes above."""

    begin, end = "\x1b[?2004h", "\x1b[?2004l"

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._prompt = ""

    def event(self, event: dict[str, Any]) -> None:
        rows = rows_of(event, self._terminal.size()[0])
        self.text("\n".join(rows) + "\n")

    def text(self, text: str) -> None:
        """Text as it is, above the prompt."""
        self._terminal.write(("\r\x1b[K" if self._prompt else "") + text)
        self._prompt = ""

    def draw(self, view: View) -> None:
        if not self._terminal.live:
            return
        if view.asking:
            prompt = "[y/n] "
        elif view.kind == "waiting" or not view.composer.empty:
            prompt = "> " + tail(showable(view.composer.shown), self._terminal.size()[0] - 3)
        else:
            prompt = ""
        if prompt != self._prompt:
            self._terminal.write("\r\x1b[K" + prompt)
            self._prompt = prompt

    def resized(self) -> None:
        self._prompt += "\x00"  # it is drawn again

    def scroll(self, pages: float) -> None:
        """The terminal's own scrollback does that."""
