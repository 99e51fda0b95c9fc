"""Failing tests with one cause, put together by what their failures have in common.

Two failures have one cause when exception, message and place agree, where
- of the message the first line counts, without what differs from run to run: numbers, addresses, paths, quoted values,
  identifiers, times;
- the place is the innermost line of the traceback that is in the project, if that line is not test code. A failure whose
  innermost line is in a test (an assertion, mostly) shows what is wrong, not why: it stays alone;
- a fixture or a file that can't be imported fails for every test that needs it: there the innermost line counts although
  it is test code, and for a name that can't be imported that name alone counts, wherever the import stands;
- endless recursion ends anywhere in its circle: the place is the circle;
- what hangs or dies does so on this line or the next: the place is the function.
What has no place stays alone. It is a guess: the pipeline tests all members again once one of them is repaired.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from hashlib import sha256

import msgspec
from msgspec import Struct

from muster.mend import Attempt, Frame

IsTestFile = Callable[[str], bool]
_IMPORT_ERRORS = ("ModuleNotFoundError", "ImportError")
_CIRCLE_MIN = 3

_VARYING = [
    (re.compile(r"\x1b\[[0-9;]*m"), ""),
    (re.compile(r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b", re.IGNORECASE), "<id>"),
    (re.compile(r"\b0x[0-9a-f]+\b", re.IGNORECASE), "<address>"),
    (re.compile(r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?"), "<time>"),
]
_QUOTED = [
    (re.compile(r"(?<!\w)([bru]{0,2})\"(?:\\.|[^\"\\])*\""), "<value>"),
    (re.compile(r"(?<!\w)([bru]{0,2})'(?:\\.|[^'\\])*'(?!\w)"), "<value>"),
    (re.compile(r"`[^`]*`"), "<value>"),
]
_PLACES = [
    (re.compile(r"(?<![\w<])(?:~|\.{1,2})?(?:/[\w.@%+~-]+)+/?"), "<path>"),
    (re.compile(r"\b[A-Za-z]:\\[^\s'\"]+"), "<path>"),
]
_NUMBERS = [
    (re.compile(r"\b\d+(?:\.\d+)?\s?(?:ns|us|µs|ms|s|sec|secs|seconds?|minutes?|min|hours?)\b"), "<time>"),
    (re.compile(r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}\b"), "<id>"),
    (re.compile(r"(?<![\w.])[-+]?\d[\d_]*(?:\.\d+)?(?:e[-+]?\d+)?(?!\w)", re.IGNORECASE), "<number>"),
]


class Group(Struct, frozen=True):
    """Failing tests that seem to have one cause."""

    key: str  # the same for the same cause in every run
    title: str
    ids: tuple[str, ...]


def groups(attempts: Iterable[Attempt], is_test_file: IsTestFile) -> list[Group]:
    """The failing tests by cause, the largest group first; the order of the attempts doesn't matter."""
    chosen: dict[str, Attempt] = {}
    for attempt in sorted(attempts, key=lambda one: (one.id, msgspec.json.encode(one))):
        if not attempt.green:
            chosen.setdefault(attempt.id, attempt)
    members: dict[tuple[str, ...], list[Attempt]] = {}
    for attempt in chosen.values():
        members.setdefault(cause(attempt, is_test_file) or ("alone", attempt.id), []).append(attempt)
    found = [
        Group(_key(parts), title(of[0], is_test_file), tuple(one.id for one in of)) for parts, of in members.items()
    ]
    return sorted(found, key=lambda group: (-len(group.ids), group.ids))


def cause(attempt: Attempt, is_test_file: IsTestFile) -> tuple[str, ...]:
    """What another failure with this cause has in common with it; empty where the cause can't be seen."""
    message = normal(attempt.message)
    program = [frame for frame in attempt.frames if not is_test_file(frame.file)]
    if attempt.exception in _IMPORT_ERRORS:
        return ("import", normal(attempt.message, quoted=False))
    if attempt.exception == "RecursionError":
        circle = _circle(program)
        return ("recursion", *circle) if circle else ()
    if attempt.ending in ("timed-out", "crashed"):
        return (attempt.ending, message, program[-1].file, program[-1].function) if program else ()
    if not attempt.frames:
        # Nothing but words, as of a `conftest.py` that can't be loaded.
        return (
            ("words", attempt.exception, normal(attempt.message, quoted=False))
            if attempt.ending == "error" and message
            else ()
        )
    last = attempt.frames[-1]
    if is_test_file(last.file) and attempt.ending != "error":
        return ()
    return ("place", attempt.exception, message, last.file, str(last.line), last.function)


def normal(message: str, quoted: bool = True) -> str:
    """The first line of a message without what differs from run to run; quoted values are kept where they are names."""
    line = next((one.strip() for one in message.splitlines() if one.strip()), "")
    for pattern, word in [*_VARYING, *(_QUOTED if quoted else []), *_PLACES, *(_NUMBERS if quoted else [])]:
        line = pattern.sub(word, line)
    return line


def title(attempt: Attempt, is_test_file: IsTestFile) -> str:
    """What a person reads of it: the exception, its message, and the innermost line in the program."""
    line = next((one.strip() for one in attempt.message.splitlines() if one.strip()), "")
    what = ": ".join(one for one in (attempt.exception or attempt.ending, line) if one)
    program = [frame for frame in attempt.frames if not is_test_file(frame.file)] or list(attempt.frames)
    where = f" ({program[-1].file}:{program[-1].line} in {program[-1].function})" if program else ""
    return f"{what if len(what) <= 160 else what[:157] + '...'}{where}"


def _circle(frames: list[Frame]) -> list[str]:
    seen = Counter((frame.file, frame.function) for frame in frames)
    return sorted(f"{file}:{function}" for (file, function), times in seen.items() if times >= _CIRCLE_MIN)


def _key(parts: tuple[str, ...]) -> str:
    return sha256("\0".join(parts).encode(errors="backslashreplace")).hexdigest()[:12]
