"""What a failed expectation says: enough to see the cause, and never a megabyte."""

from __future__ import annotations

import difflib
from typing import NoReturn

from muster_testkit.result import Output, Result

_HEAD, _TAIL, _WIDTH = 15, 25, 400
# Comparing takes the square of what is compared, so beyond this only the first difference is shown.
_COMPARED = 600


def fail(what: str, *details: str) -> NoReturn:
    __tracebackhide__ = True
    raise AssertionError("\n".join([what, *(one for one in details if one)]))


def shown(result: Result) -> str:
    """A command, how it ended and what it said."""
    if result.timed_out:
        end = f"it was ended after {result.duration:.1f} s, when its time was up"
    elif result.signal:
        end = f"ended by signal {result.signal} after {result.duration:.2f} s"
    else:
        end = f"exit code {result.exit_code} after {result.duration:.2f} s"
    command = "\n".join(f"$ {clipped(line)}" for line in result.command.split("\n"))
    return "\n".join([command, end, _stream("stdout", result.stdout), _stream("stderr", result.stderr)])


def _stream(name: str, text: str) -> str:
    if not text:
        return f"{name} is empty"
    return f"{name}:\n{cut(text)}"


def about(text: str) -> str:
    """Whose text it is, and all that was said with it."""
    return (
        shown(text.result) if isinstance(text, Output) else f"the text:\n{cut(text)}" if text else "the text is empty"
    )


def name(text: str) -> str:
    return text.stream if isinstance(text, Output) else "the text"


def cut(text: str) -> str:
    """Its first and last lines."""
    lines = text.removesuffix("\n").split("\n")
    if len(lines) > _HEAD + _TAIL + 1:
        left_out = f"  ... {len(lines) - _HEAD - _TAIL:,} lines are left out here ..."
        return "\n".join([*map(_line, lines[:_HEAD]), left_out, *map(_line, lines[-_TAIL:])])
    return "\n".join(map(_line, lines))


def _line(line: str) -> str:
    return f"  | {clipped(line)}"


def clipped(line: str) -> str:
    return line if len(line) <= _WIDTH else f"{line[:_WIDTH]}... ({len(line):,} characters)"


def quoted(text: str) -> str:
    return repr(text) if len(text) <= _WIDTH else f"{text[:_WIDTH]!r}... ({len(text):,} characters)"


def nearest(text: str, wanted: str) -> str:
    """The line that is most like what was sought."""
    sought = next((line for line in wanted.split("\n") if line.strip()), "")[:_WIDTH]
    best, found = 0.5, ""
    matcher: difflib.SequenceMatcher[str] = difflib.SequenceMatcher(autojunk=False)
    matcher.set_seq2(sought)
    lines = text[: _COMPARED * 200].split("\n")[:_COMPARED]
    for number, line in enumerate(lines, 1):
        matcher.set_seq1(line[:_WIDTH])
        # A part of a long line may be very like it: what both have in common counts against the shorter one.
        if matcher.real_quick_ratio() * (len(line) + len(sought)) <= 2 * best * len(sought):
            continue
        same = sum(block.size for block in matcher.get_matching_blocks() if block.size > 1)
        if sought and (likeness := same / len(sought)) > best:
            best, found = likeness, f"nearest is line {number}: {quoted(line)}"
    return found


def difference(wanted: str, found: str) -> str:
    """From what was wanted to what was found, line by line."""
    a, b = wanted.split("\n"), found.split("\n")
    if len(a) > _COMPARED or len(b) > _COMPARED:
        return _first_difference(a, b)
    lines = [*difflib.unified_diff(a, b, "expected", "found", lineterm="", n=3)]
    if wanted.rstrip("\n") == found.rstrip("\n"):
        return f"only the line ends differ: expected {quoted(wanted[-40:])}, found {quoted(found[-40:])}"
    return "\n".join(clipped(line) for line in lines[: 4 * _TAIL])


def _first_difference(a: list[str], b: list[str]) -> str:
    for number, (one, two) in enumerate(zip(a, b, strict=False), 1):
        if one != two:
            return f"line {number} differs\n- {clipped(one)}\n+ {clipped(two)}"
    return f"expected {len(a):,} lines, found {len(b):,}"
