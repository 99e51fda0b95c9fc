"""The dialogs that it shows before its session begins. Not all of them take digits, and to some Escape means yes."""

from __future__ import annotations

import re

from muster.agents.codex.dialog import options
from muster.agents.menu import Menu

_CHOSEN = re.compile(r"^[›>] (\d)\. \S", re.MULTILINE)
_FOOT = re.compile(r"^ *(?:press )?(?:enter|enter/esc) (?:to )?(?:confirm|continue)", re.MULTILINE | re.IGNORECASE)
# Of the others the first line says what it is about.
_NAMES = {"Trust this folder?": "is this folder to be trusted?", "Sign in with ChatGPT": "how to sign in?"}


def shown(screen: str) -> Menu | None:
    """The one on the screen."""
    chosen = _CHOSEN.search(screen)
    if not (chosen and _FOOT.search(screen)):
        return None
    first = next(line.strip() for line in screen.splitlines() if line.strip())
    name = next((name for words, name in _NAMES.items() if words in screen), first)
    return Menu(name, "[›>]", tuple(options(screen).values()), int(chosen[1]) - 1)
