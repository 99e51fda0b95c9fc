"""Its dialogs: a list of numbered answers, of which a digit takes one."""

from __future__ import annotations

import re

from muster.agents import Press
from muster.errors import UsageError

_OPTION = re.compile(r"^\W*(\d)\.\s+(.*\S)\s*$")
# The answer after which it waits for what to do instead.
_OTHERWISE = "no, and tell codex"
_EMPTY = "› Ask Codex to do anything"


def options(screen: str) -> dict[str, str]:
    """The numbered answers of the dialog that is shown, the last of its kind."""
    found: dict[str, str] = {}
    for line in screen.splitlines():
        if match := _OPTION.match(line):
            if match[1] == "1":
                found = {}
            found[match[1]] = match[2]
    return found


def presses(answer: str, screen: str) -> list[Press]:
    """What to press for that answer."""
    offered = options(screen)
    if not offered:
        return []
    if answer in offered:
        return [Press((answer,))]
    wanted = answer.lower()
    for number, words in offered.items():
        if words.lower() == wanted or (wanted in ("yes", "no") and words.lower().startswith(f"{wanted},")):
            return [Press((number,))]
    if wanted == "no":
        return [Press(("Escape",))]
    for number, words in offered.items():
        if words.lower().startswith(_OTHERWISE) and wanted != "yes" and not answer.isdigit() and "\n" not in answer:
            return [
                Press((number,), _EMPTY),
                Press(("-l", "--", answer), rf"› {re.escape(answer[:20])}"),
                Press(("Enter",)),
            ]
    listed = ", ".join(f"{number} ({words})" for number, words in offered.items()) or "`yes` or `no`"
    raise UsageError(f"the dialog takes no `{answer}`", hint=f"it takes {listed}")
