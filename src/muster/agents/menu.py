"""A dialog before a session begins: a list of answers, of which Enter takes the one that is pointed at."""

from __future__ import annotations

import re

from msgspec import Struct

from muster.agents import Press
from muster.errors import UsageError

_YES = ("yes", "use this", "enable selected", "trust and", "try new")
_NO = ("no", "continue without", "use existing", "back to")


class Menu(Struct, frozen=True):
    """What is on the screen."""

    name: str  # what it asks
    pointer: str  # the sign before the answer that Enter takes
    answers: tuple[str, ...] = ()  # none: it is only to be read
    chosen: int = 0

    def presses(self, answer: str) -> list[Press]:
        """What to press for that answer, by its number, its words, `yes` or `no`; one step at a time, each seen on the screen."""
        wanted = answer.lower()
        if not self.answers and wanted == "yes":
            return [Press(("Enter",))]
        at = self._place(wanted)
        if at is None:
            listed = ", ".join(f"{number} ({words})" for number, words in enumerate(self.answers, 1)) or "`yes`"
            raise UsageError(f"the dialog takes no `{answer}`", hint=f"it takes {listed}")
        step, key = (1, "Down") if at > self.chosen else (-1, "Up")
        there = range(self.chosen + step, at + step, step) if at != self.chosen else ()
        return [*(Press((key,), rf"{self.pointer}\W*(?:\d\. )?{re.escape(self.answers[to])}") for to in there), _ENTER]

    def _place(self, wanted: str) -> int | None:
        begins = {"yes": _YES, "no": _NO}.get(wanted, ())
        for number, words in enumerate(map(str.lower, self.answers)):
            if wanted in (str(number + 1), words) or (begins and words.startswith(begins)):
                return number
        return None


_ENTER = Press(("Enter",))
