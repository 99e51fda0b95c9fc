"""Printing: stdout is data, stderr is talk."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

Format = Literal["human", "json", "jsonl"]
_COLOURS = {
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "magenta": "35",
    "cyan": "36",
    "dim": "2",
    "bold": "1",
}
# C0, DEL and C1 controls, and the marks that turn the direction of text: never passed on to a terminal from a value.
_UNSAFE = dict.fromkeys(
    (*range(32), *range(127, 160), 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)),
    "\N{REPLACEMENT CHARACTER}",
)


def talk(text: str) -> None:
    """A line for the person, on stderr."""
    sys.stdout.flush()
    print(text, file=sys.stderr, flush=True)


def take_back(lines: int) -> None:
    """Take away the last lines that were said to a person at a terminal."""
    if lines:
        print(f"\x1b[{lines}F\x1b[J", end="", file=sys.stderr, flush=True)


def hint(text: str) -> None:
    """What could be done next, on stderr."""
    talk(paint("hint: ", "cyan", sys.stderr) + text)


def failure(message: str, advice: str, code: int) -> int:
    """An error as one line and a hint, on stderr; the exit code is handed back."""
    talk(paint("error: ", "red", sys.stderr) + safe(message, keep="\n"))
    if advice:
        hint(safe(advice, keep="\n"))
    return code


def say(text: str = "") -> None:
    """A line of the answer, on stdout."""
    print(text, flush=True)


def raw(data: bytes) -> None:
    """Bytes of the answer as they are, on stdout."""
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def passed(data: bytes) -> None:
    """Bytes of a command's own talk as they are, on stderr."""
    sys.stderr.buffer.write(data)
    sys.stderr.flush()


def safe(text: str, keep: str = "") -> str:
    """Text that can't move the cursor, colour the screen or ring the bell."""
    table = {code: mark for code, mark in _UNSAFE.items() if chr(code) not in keep} if keep else _UNSAFE
    return text.translate(table)


def coloured(stream: Any = None) -> bool:
    """Whether that stream (stdout) takes colour."""
    if os.environ.get("NO_COLOR"):
        return False
    return bool((stream or sys.stdout).isatty()) and os.environ.get("TERM") != "dumb"


def paint(text: str, colour: str, stream: Any = None) -> str:
    """Coloured, if that stream (stdout) is a terminal that wants it."""
    return f"\x1b[{_COLOURS[colour]}m{text}\x1b[0m" if colour and text and coloured(stream) else text


def width(text: str) -> int:
    """How many columns a terminal needs for that text."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def clip(text: str, columns: int) -> str:
    """That text in at most so many columns."""
    if width(text) <= columns:
        return text
    while text and width(text) > columns - 1:
        text = text[:-1]
    return text + "…"


def columns() -> int:
    """The width to print for: the terminal's, or as wide as need be when there is none."""
    if not sys.stdout.isatty():
        return 10_000
    return os.get_terminal_size(sys.stdout.fileno()).columns or 80


def table(head: Sequence[str], rows: Sequence[Sequence[str]], colours: Callable[[int, int], str] | None = None) -> str:
    """Aligned columns; the last one takes what is left of the line."""
    cells = [[safe(cell) for cell in row] for row in rows]
    last = len(head) - 1
    widths = [max(width(row[i]) for row in [list(head), *cells]) for i in range(last)]
    room = max(10, columns() - sum(widths) - 2 * last)
    lines = []
    for number, row in enumerate([list(head), *cells]):
        parts = []
        for i, cell in enumerate(row):
            text = clip(cell, room) if i == last else cell + " " * (widths[i] - width(cell))
            colour = "bold" if number == 0 else colours(number - 1, i) if colours else ""
            parts.append(paint(text, colour))
        lines.append("  ".join(parts).rstrip())
    return "\n".join(lines)


def age(seconds: float) -> str:
    """`42s`, `5m`, `3h`, `8d`: one number is enough to see how old something is."""
    seconds = max(0.0, seconds)
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "m")):
        if seconds >= size:
            return f"{int(seconds // size)}{unit}"
    return f"{int(seconds)}s"


class Show:
    """An answer in the form that `--format` asked for."""

    def __init__(self, form: Format = "human") -> None:
        self.form = form

    @property
    def human(self) -> bool:
        return self.form == "human"

    def one(self, value: object, human: str | Callable[[], str]) -> None:
        """A single record."""
        if self.human:
            say(human if isinstance(human, str) else human())
        else:
            raw(_json(value) + b"\n")

    def many(self, values: Iterable[object], human: Callable[[list[Any]], str]) -> None:
        """A listing."""
        if self.human:
            if text := human(list(values)):
                say(text)
        elif self.form == "jsonl":
            for value in values:
                self.line(value)
        else:
            raw(_json(list(values)) + b"\n")

    def line(self, value: object, human: str = "") -> None:
        """One record of a stream, as soon as it is there."""
        if not self.human:
            raw(_json(value) + b"\n")
        elif human:
            say(human)


def _json(value: object) -> bytes:
    import msgspec

    return msgspec.json.encode(value)


def prefixed(prefix: str, text: str, stream: Any) -> None:
    """A line of somebody's output, with whose it is before it."""
    stream.write(f"{prefix}{text}\n")
    stream.flush()
