"""The dialogs that it shows before its session begins: answers without numbers."""

from __future__ import annotations

import re

from muster.agents.menu import Menu

_TO_READ = "Press Enter to continue"
_FOOT = re.compile(r"Enter to confirm|Esc to (?:cancel|reject)|Choose the text style")
_POINTER = re.compile(r"\s*❯ +\S")
_MARKS = re.compile(r"^\s*(?:❯ +)?(?:✔ |\[.\] |\d\. )?\s*")
_RULE = "────"
# Of the others the first line says what it is about.
_NAMES = {
    "Accessing workspace": "is this folder to be trusted?",
    "Choose the text style": "first start: the text style",
    "Security notes": "first start: security notes",
}


def shown(screen: str) -> Menu | None:
    """The one on the screen."""
    lines = screen.splitlines()
    pointed = [number for number, line in enumerate(lines) if _POINTER.match(line)]
    # Its composer has a pointer, too, and a rule below it.
    if any(line.startswith(_RULE) for line in lines[pointed[-1] if pointed else 0 :]):
        return None
    if not pointed:
        return Menu(_name(lines), "❯") if _TO_READ in screen else None
    if not _FOOT.search(screen):
        return None
    first = last = pointed[-1]
    while first > 0 and lines[first - 1].strip():
        first -= 1
    while last < len(lines) and lines[last].strip():
        last += 1
    answers = tuple(_MARKS.sub("", line).rstrip() for line in lines[first:last])
    return Menu(_name(lines[:first]), "❯", answers, pointed[-1] - first)


def _name(lines: list[str]) -> str:
    for line in lines:
        for words, name in _NAMES.items():
            if words in line:
                return name
    rule = max((number for number, line in enumerate(lines) if line.startswith(_RULE)), default=-1)
    return next((line.strip() for line in lines[rule + 1 :] if line.strip()), "")
