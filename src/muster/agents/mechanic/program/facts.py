"""What the failures tell: exceptions, and texts and numbers that were found and wanted."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise, zip_longest

from .runs import Failure

_STRING = re.compile(r"""'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*\"""")
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?![\w.])")
_NAME = re.compile(r"\b[A-Z]\w*(?:Error|Exception|Warning|Exit|Interrupt|Iteration)\b")
_LIMIT = 40


@dataclass(frozen=True)
class Facts:
    """The failures' own words, taken apart."""

    types: frozenset[str]  # of the exceptions that ended the tests
    names: tuple[str, ...]  # exceptions that the messages mention
    not_raised: tuple[str, ...]  # exceptions that were expected and never came
    strings: tuple[str, ...]
    numbers: tuple[int | float, ...]
    pairs: tuple[tuple[str, str], ...]  # two texts that were compared
    none: bool  # None plays a part
    shifts: tuple[int, ...]  # wanted minus found, of whole numbers that were compared
    case: bool  # texts that differ in their capitals only
    space: bool  # texts that differ in their blanks only
    order: bool  # the same things in another order


def read(failures: Iterable[Failure]) -> Facts:
    failures = list(failures)
    text = "\n".join(failure.message for failure in failures)
    values = [value for failure in failures for value in _values(failure.message)]
    pairs = [pair for failure in failures for pair in [*_compared(failure.message), *_diff(failure.message)]]
    numbers = [value for value in values if isinstance(value, int | float)]
    strings = [value for value in values if isinstance(value, str)]
    return Facts(
        types=frozenset(failure.type for failure in failures),
        names=tuple(name for name in dict.fromkeys(_NAME.findall(text)) if hasattr(builtins, name))[:_LIMIT],
        not_raised=tuple(dict.fromkeys(re.findall(r"DID NOT RAISE.*?<class '(?:\w+\.)*(\w+)'>", text))),
        strings=tuple(dict.fromkeys(strings))[:_LIMIT],
        numbers=tuple(dict.fromkeys(numbers))[:_LIMIT],
        pairs=tuple(dict.fromkeys(pair for pair in pairs if pair[0] != pair[1]))[:_LIMIT],
        none="None" in text,
        shifts=tuple(dict.fromkeys(shift for failure in failures for shift in _shifts(failure.message)))[:_LIMIT],
        case=any(one != other and one.lower() == other.lower() for one, other in pairs),
        space=any(one != other and one.split() == other.split() for one, other in pairs),
        order=any(_reordered(failure.message) for failure in failures),
    )


def _values(message: str) -> Iterator[str | int | float]:
    for match in _STRING.findall(message):
        try:
            yield ast.literal_eval(match)
        except (ValueError, SyntaxError):
            continue
    for number in _NUMBER.findall(message):
        yield float(number) if "." in number else int(number[:15])


def _comparison(message: str) -> ast.Compare | None:
    """What pytest says was compared, its parts in place: `assert 'a' == 'b'`."""
    for line in message.splitlines():
        if line.startswith(("assert ", "AssertionError: assert ")):
            try:
                test = ast.parse(line.partition("assert ")[2], mode="eval").body
            except (SyntaxError, ValueError, RecursionError):
                continue
            if isinstance(test, ast.Compare):
                return test
    return None


def _compared(message: str) -> Iterator[tuple[str, str]]:
    """Texts that stand in the same place on both sides, both ways round."""
    if test := _comparison(message):
        for one, other in zip_longest(_texts(test.left), _texts(test.comparators[0])):
            if one is not None and other is not None:
                yield one, other
                yield other, one


def _shifts(message: str) -> Iterator[int]:
    """How far two whole numbers are from each other, both ways round."""
    if test := _comparison(message):
        sides = []
        for side in (test.left, test.comparators[0]):
            try:
                sides.append(ast.literal_eval(side))
            except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
                return
        if all(type(side) is int for side in sides) and sides[0] != sides[1]:
            yield from (sides[1] - sides[0], sides[0] - sides[1])


def _reordered(message: str) -> bool:
    test = _comparison(message)
    if (
        not test
        or not isinstance(test.left, ast.List | ast.Tuple)
        or not isinstance(test.comparators[0], ast.List | ast.Tuple)
    ):
        return False
    one, other = ([ast.dump(item) for item in side.elts] for side in (test.left, test.comparators[0]))
    return one != other and sorted(one) == sorted(other)


def _texts(node: ast.expr) -> list[str]:
    return [one.value for one in ast.walk(node) if isinstance(one, ast.Constant) and isinstance(one.value, str)]


def _diff(message: str) -> Iterator[tuple[str, str]]:
    """pytest's comparison by lines: `- wanted` beside `+ found`, or the other way round."""
    lines = [line.strip() for line in message.splitlines()]
    lines = [line for line in lines if not line.startswith("?")]
    for one, other in pairwise(lines):
        if {one[:2], other[:2]} == {"- ", "+ "}:
            yield one[2:], other[2:]
            yield other[2:], one[2:]
