"""The full screen."""

from __future__ import annotations

from typing import Any

from .rows import COLOURS, clip, paint, rows_of, showable, tail, width, wrap
from .terminal import Terminal
from .view import View


class Full:
    """The whole screen: a conversation that scrolls, a status line, a composer."""

    begin, end = "\x1b[?1049h\x1b[?2004h\x1b[2J", "\x1b[?2004l\x1b[?25h\x1b[?1049l"

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._events: list[dict[str, Any]] = []
        self._rows: list[str] = []
        self._columns = 0
        self._drawn: list[str] = []
        self._up = 0  # how many rows the conversation is scrolled back

    def event(self, event: dict[str, Any]) -> None:
        self._events.append(event)
        before = len(self._rows)
        self._lay_out(event)
        if self._up:
            self._up += len(self._rows) - before  # what is being read stays where it is

    def _lay_out(self, event: dict[str, Any]) -> None:
        if not self._columns:
            return
        if self._rows and event["role"] != "result":
            self._rows.append("")
        self._rows += rows_of(event, self._columns)

    def text(self, text: str) -> None:
        """Text as it is, over the screen, which is then drawn again."""
        self._terminal.write(text)
        self._drawn = []

    def resized(self) -> None:
        self._drawn = []

    def scroll(self, pages: float) -> None:
        self._up = max(0, self._up + round(pages * max(2, len(self._drawn) - 6)))

    def draw(self, view: View) -> None:
        columns, lines = self._terminal.size()
        if columns != self._columns:
            self._columns, self._rows = columns, []
            for event in self._events:
                self._lay_out(event)
        above = [self._title(view, columns), paint("─" * columns, "dim")]
        below = [*self._dialog(view, columns), paint("─" * columns, "dim"), self._status(view, columns)]
        composer = "> " + tail(showable(view.composer.shown), columns - 4)
        room = max(0, lines - len(above) - len(below) - 1)
        self._up = min(self._up, max(0, len(self._rows) - room))
        last = len(self._rows) - self._up
        shown = self._rows[max(0, last - room) : last]
        frame = [*above, *shown, *[""] * (room - len(shown)), *below, composer][-lines:]
        self._put(frame, f"\x1b[{len(frame)};{width(composer) + 1}H")

    def _put(self, frame: list[str], cursor: str) -> None:
        old = self._drawn if len(self._drawn) == len(frame) else [None] * len(frame)
        changed = [
            f"\x1b[{number};1H{row}\x1b[K"
            for number, (row, before) in enumerate(zip(frame, old, strict=True), 1)
            if row != before
        ]
        if changed:
            clear = "" if self._drawn else "\x1b[2J"
            self._terminal.write("\x1b[?25l" + clear + "".join(changed) + cursor + "\x1b[?25h")
        self._drawn = frame

    def _title(self, view: View, columns: int) -> str:
        left, right = clip(showable(f" {view.agent} · scripted"), columns - 1), view.progress + " "
        gap = columns - width(left) - width(right)
        return paint(left + (" " * gap + right if gap > 0 else ""), "bold")

    def _status(self, view: View, columns: int) -> str:
        doing = view.reason or view.doing
        left = f" ● {view.kind}"
        middle = clip("  " + showable(doing).partition("\n")[0], max(1, columns - 40)) if doing else ""
        help_ = {"waiting": "Enter sends · Ctrl-D leaves", "blocked": "y or n"}.get(view.kind, "Ctrl-C interrupts")
        right = (f"{view.queued} queued · " if view.queued else "") + help_ + " "
        if self._up:
            right = f"{self._up} rows below · PgDn "
        gap = columns - width(left) - width(middle) - width(right)
        return paint(left, COLOURS[view.kind]) + middle + (" " * gap + paint(right, "dim") if gap > 0 else "")

    def _dialog(self, view: View, columns: int) -> list[str]:
        if not view.asking or columns < 16:
            return []
        inner = min(columns - 6, 72)
        body = [*wrap(showable(view.asking, lines=6, characters=400), inner), "", "y  yes", "n  no"]
        edge = "─" * (inner - width(" Permission ") + 1)
        rows = [f" ╭─ Permission {edge}╮", *[f" │ {row}{' ' * (inner - width(row))} │" for row in body]]
        return [paint(row, "red") for row in [*rows, f" ╰{'─' * (inner + 2)}╯"]]
