"""Text as rows of a terminal."""

from __future__ import annotations

import os
import unicodedata
from typing import Any


def width(text: str) -> int:
    """How many columns a terminal needs for that text."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.category(c) in ("Mn", "Me", "Cf") else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


def fitting(text: str, columns: int) -> int:
    """How many characters of that text fit into so many columns."""
    if text.isascii():
        return columns
    used = 0
    for index, character in enumerate(text):
        used += width(character)
        if used > columns:
            return max(1, index)
    return len(text)


def wrap(text: str, columns: int) -> list[str]:
    """That text in rows of at most so many columns, cut between words where it can be."""
    rows = []
    for line in text.split("\n"):
        while width(line) > columns:
            cut = fitting(line, columns)
            space = line.rfind(" ", 1, cut + 1)
            cut = space if space > columns // 2 else cut
            rows.append(line[:cut].rstrip())
            line = line[cut:].lstrip(" ")
        rows.append(line)
    return rows


def clip(text: str, columns: int) -> str:
    """The beginning of that text, if it must be."""
    return text if width(text) <= columns else text[: fitting(text, columns - 1)] + "…"


def tail(text: str, columns: int) -> str:
    """The end of that text, if it must be."""
    if width(text) <= columns:
        return text
    while width(text) > columns - 1:
        text = text[1:]
    return "…" + text


_CONTROLS = {code: "\N{REPLACEMENT CHARACTER}" for code in (*range(32), *range(127, 160)) if code != 10}


def showable(text: str, lines: int = 60, characters: int = 4_000) -> str:
    """Text that can't move the cursor, and not too much of it."""
    text = text.rstrip("\n").expandtabs(4).replace("\r\n", "\n")
    kept = "\n".join(text[:characters].split("\n")[:lines])
    if len(kept) < len(text):
        kept += f"\n… {len(text) - len(kept):,} characters more"
    return kept.translate(_CONTROLS)


STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
# How each role looks: what stands before the first row, before the others, and its style.
LOOKS = {
    "user": ("> ", "  ", "bold"),
    "assistant": ("● ", "  ", ""),
    "thinking": ("∴ ", "  ", "dim"),
    "tool": ("▸ ", "  ", "cyan"),
    "result": ("  │ ", "  │ ", "dim"),
    "error": ("✗ ", "  ", "red"),
}
COLOURS = {"starting": "dim", "working": "yellow", "waiting": "green", "blocked": "red"}


def paint(text: str, style: str) -> str:
    """That text in that style, where the terminal may have it."""
    if not style or (os.environ.get("NO_COLOR") and style not in ("bold", "dim")):
        return text
    return f"\x1b[{STYLES[style]}m{text}\x1b[0m"


def rows_of(event: dict[str, Any], columns: int) -> list[str]:
    """An event as rows for a screen that is so wide."""
    first, other, style = LOOKS[event["role"]]
    text = showable(event["text"])
    if event["role"] == "tool":
        text = f"{event['tool']}: {text}"
    rows = wrap(text, max(10, columns - len(first)))
    return [paint((other if index else first) + row, style) for index, row in enumerate(rows)]
