"""A tutorial is a shell script that is read by people: blocks of lines, with empty lines between them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from muster_testkit.errors import KitError

Kind = Literal["heading", "command"]
# Not `splitlines`: a form feed or a Unicode line separator ends no line of a shell script.
_LINE_END = re.compile(r"\r\n|\n|\r")
# The word after `<<`; not `<<<`, and not a shift as in `$((1 << 2))`, since a word doesn't begin with a digit.
_HERE_DOCUMENT = re.compile(r"(?<!<)<<(-?)[ \t]*(?:'([^']+)'|\"([^\"]+)\"|\\?([A-Za-z_][\w.-]*))")


@dataclass(frozen=True)
class Block:
    """A run of consecutive lines that are not empty; with comments only it is a heading."""

    text: str
    line: int  # of its first line, counted from 1
    kind: Kind
    cut: str = ""  # the end word of a here-document that an empty line has cut off here

    @property
    def last(self) -> int:
        return self.line + self.text.count("\n")


def blocks(text: str) -> list[Block]:
    """All blocks of a tutorial. An empty line ends a block wherever it is, also within a here-document."""
    found: list[Block] = []
    run: list[str] = []
    lines = [line.rstrip() for line in _LINE_END.split(text.removeprefix("\ufeff"))]
    for number, line in enumerate([*lines, ""], 1):
        if line:
            run.append(line)
        elif run:
            found.append(_block(run, number - len(run)))
            run = []
    return found


def read(path: str) -> list[Block]:
    """The blocks of that file."""
    found = blocks(source(path))
    if not found:
        raise KitError(f"`{path}` is empty: it has no block", hint="a block is a run of lines that are not empty")
    return found


def source(path: str) -> str:
    """The text of that file."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except FileNotFoundError:
        raise KitError(f"there is no file `{path}`") from None
    except OSError as error:
        raise KitError(f"`{path}` can't be read: {error.strerror}") from None
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise KitError(f"`{path}` is not a text in UTF-8: line {line} has the byte 0x{data[error.start]:02x}") from None
    if "\0" in text:
        raise KitError(f"`{path}` is no text: line {data.count(bytes([10]), 0, data.index(0)) + 1} has a zero byte")
    return text


def _block(lines: list[str], number: int) -> Block:
    kind: Kind = "heading" if all(line.lstrip().startswith("#") for line in lines) else "command"
    return Block("\n".join(lines), number, kind, _open(lines) if kind == "command" else "")


def _open(lines: list[str]) -> str:
    """The end word of the here-document that these lines begin and don't end."""
    waiting: list[tuple[str, bool]] = []
    for line in lines:
        if waiting:
            word, tabs = waiting[0]
            if (line.lstrip("\t") if tabs else line) == word:
                waiting.pop(0)
        elif not line.lstrip().startswith("#"):
            waiting += [(one[1] or one[2] or one[3], bool(one[0])) for one in _HERE_DOCUMENT.findall(line)]
    return waiting[0][0] if waiting else ""
