"""Its dialogs: a list of numbered answers, of which a digit takes one."""

from __future__ import annotations

import re

from muster.agents import Press
from muster.errors import UsageError

_OPTION = re.compile(r"^\W*(\d)\.\s+(.*\S)\s*$")
_CHOSEN = re.compile(r"^\W*❯\s*\d\.", re.MULTILINE)
_OWN_WORDS = ("type something", "other", "tell claude")


def options(screen: str) -> dict[str, str]:
    """The numbered answers of the dialog that is shown, the last of its kind."""
    found: dict[str, str] = {}
    for line in screen.splitlines():
        if match := _OPTION.match(line.strip("│ ")):
            if match[1] == "1":
                found = {}
            found[match[1]] = match[2]
    return found


def presses(answer: str, screen: str) -> list[Press]:
    """What to press for that answer; nothing while there is no dialog on the screen."""
    if not _CHOSEN.search(screen):
        return []
    offered = options(screen)
    wanted = answer.lower()
    for number, words in offered.items():
        told = words.lower().rstrip(".")
        if wanted in (number, told) or (wanted == "no" and told.startswith("no,")):
            return [Press((number,))]
    if wanted == "no":
        return [Press(("Escape",))]
    for number, words in offered.items():
        if words.lower().startswith(_OWN_WORDS) and "\n" not in answer:
            # Only what stands in its own row is taken for words; elsewhere Enter would take another answer.
            row = rf"❯\s*{number}\."
            return [
                Press((number,), row),
                Press(("-l", "--", answer), rf"{row}\s*{re.escape(answer[:20])}"),
                Press(("Enter",)),
            ]
    listed = ", ".join(f"{number} ({words})" for number, words in offered.items()) or "`yes` or `no`"
    raise UsageError(f"the dialog takes no `{answer}`", hint=f"it takes {listed}")
