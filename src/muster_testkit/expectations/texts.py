"""What must hold of a text, or of the JSON in it."""

from __future__ import annotations

import json
import re
from typing import Any, Self

from muster_testkit.expectations.words import about, difference, fail, name, nearest, quoted

_STEP = re.compile(r"(?:^|\.)([^.\[\]]+)|\[(-?\d+)\]")


class TextExpectation:
    """What must hold of a text."""

    def __init__(self, text: str) -> None:
        self.text = text

    def to_contain(self, *parts: str) -> Self:
        """Each of these is in it."""
        __tracebackhide__ = True
        for part in parts:
            if part not in self.text:
                what = f"expected {name(self.text)} to contain {quoted(part)}"
                fail(what, nearest(self.text, part), about(self.text))
        return self

    def not_to_contain(self, *parts: str) -> Self:
        __tracebackhide__ = True
        for part in parts:
            if (place := self.text.find(part)) >= 0:
                line = self.text.count("\n", 0, place) + 1
                what = f"expected {name(self.text)} not to contain {quoted(part)}"
                fail(what, f"it is in line {line}", about(self.text))
        return self

    def to_match(self, pattern: str | re.Pattern[str]) -> Self:
        """That regular expression is found in it; `^` and `$` stand for the ends of a line."""
        __tracebackhide__ = True
        if not re.search(pattern, self.text, _flags(pattern)):
            fail(f"expected {name(self.text)} to match {_shown(pattern)}", about(self.text))
        return self

    def not_to_match(self, pattern: str | re.Pattern[str]) -> Self:
        __tracebackhide__ = True
        if found := re.search(pattern, self.text, _flags(pattern)):
            what = f"expected {name(self.text)} not to match {_shown(pattern)}"
            fail(what, f"it matches {quoted(found[0])}", about(self.text))
        return self

    def to_equal(self, wanted: str) -> Self:
        __tracebackhide__ = True
        if self.text != wanted:
            fail(f"expected {name(self.text)} to be another text", difference(wanted, self.text), about(self.text))
        return self

    def not_to_equal(self, other: str) -> Self:
        __tracebackhide__ = True
        if self.text == other:
            fail(f"expected {name(self.text)} not to be {quoted(other)}", about(self.text))
        return self

    def to_be_empty(self) -> Self:
        """There is not one character in it."""
        __tracebackhide__ = True
        if self.text:
            fail(f"expected {name(self.text)} to be empty", about(self.text))
        return self

    def not_to_be_empty(self) -> Self:
        __tracebackhide__ = True
        if not self.text:
            fail(f"expected {name(self.text)} not to be empty", about(self.text))
        return self

    def to_have_line(self, line: str | re.Pattern[str]) -> Self:
        """One of its lines is just that, or all of it matches that pattern."""
        __tracebackhide__ = True
        if not self._has(line):
            near = nearest(self.text, line) if isinstance(line, str) else ""
            fail(f"expected {name(self.text)} to have the line {_shown(line)}", near, about(self.text))
        return self

    def not_to_have_line(self, line: str | re.Pattern[str]) -> Self:
        __tracebackhide__ = True
        if self._has(line):
            fail(f"expected {name(self.text)} not to have the line {_shown(line)}", about(self.text))
        return self

    def _has(self, line: str | re.Pattern[str]) -> bool:
        lines = self.text.replace("\r\n", "\n").split("\n")
        return line in lines if isinstance(line, str) else any(map(line.fullmatch, lines))

    def to_be_json(self) -> JsonExpectation:
        """It is one JSON value, of which more can be expected."""
        __tracebackhide__ = True
        try:
            return JsonExpectation(json.loads(self.text), self.text)
        except ValueError as error:
            fail(f"expected {name(self.text)} to be JSON, but {error}", about(self.text))


class JsonExpectation:
    """What must hold of a JSON value."""

    def __init__(self, value: Any, source: str = "", path: str = "the value") -> None:
        self.value = value
        self._source = source
        self._path = path

    def at(self, path: str | list[str | int]) -> JsonExpectation:
        """What is in it there: `at("items[0].name")`, or `at(["a key with a .", 0])`."""
        __tracebackhide__ = True
        value, walked = self.value, ""
        for step in _steps(path) if isinstance(path, str) else path:
            try:
                # A text has letters at numbers, too, but they are no part of JSON.
                if isinstance(value, str):
                    raise TypeError
                value = value[step]
            except (LookupError, TypeError):
                what = f"expected JSON to have {path!r}, but there is no {step!r} in {walked or self._path}"
                fail(what, self._shown(value))
            walked += f"[{step}]" if isinstance(step, int) else f".{step}" if walked else step
        return JsonExpectation(value, self._source, f"`{walked}`")

    def to_equal(self, wanted: Any) -> Self:
        """The same value; `true` is not 1, and the order of keys doesn't count."""
        __tracebackhide__ = True
        if not _same(self.value, wanted):
            fail(f"expected {self._path} to be another value", difference(_pretty(wanted), _pretty(self.value)))
        return self

    def not_to_equal(self, other: Any) -> Self:
        __tracebackhide__ = True
        if _same(self.value, other):
            fail(f"expected {self._path} not to be this", self._shown(other))
        return self

    def to_contain(self, *parts: Any) -> Self:
        """Each of these is an element of the list, a key of the object, or a part of the text."""
        __tracebackhide__ = True
        for part in parts:
            if not self._contains(part):
                fail(f"expected {self._path} to contain {part!r}", self._shown(self.value))
        return self

    def not_to_contain(self, *parts: Any) -> Self:
        __tracebackhide__ = True
        for part in parts:
            if self._contains(part):
                fail(f"expected {self._path} not to contain {part!r}", self._shown(self.value))
        return self

    def _contains(self, part: Any) -> bool:
        if isinstance(self.value, str):
            return isinstance(part, str) and part in self.value
        if isinstance(self.value, dict):
            return part in self.value
        return isinstance(self.value, list) and any(_same(one, part) for one in self.value)

    def to_have_length(self, length: int) -> Self:
        """A list, object or text of that many."""
        __tracebackhide__ = True
        found = len(self.value) if isinstance(self.value, list | dict | str) else None
        if found != length:
            fail(f"expected {self._path} to have the length {length}, not {found}", self._shown(self.value))
        return self

    def to_match(self, pattern: str | re.Pattern[str]) -> Self:
        """It is a text in which that regular expression is found."""
        __tracebackhide__ = True
        if not (isinstance(self.value, str) and re.search(pattern, self.value, _flags(pattern))):
            fail(f"expected {self._path} to match {_shown(pattern)}", self._shown(self.value))
        return self

    def _shown(self, value: Any) -> str:
        from muster_testkit.expectations.words import cut

        return cut(_pretty(value)) + (f"\n{about(self._source)}" if self._source else "")


def _steps(path: str) -> list[str | int]:
    steps = [int(found[2]) if found[2] else found[1] for found in _STEP.finditer(path)]
    if "".join(found[0] for found in _STEP.finditer(path)) != path or not steps:
        raise ValueError(f"`{path}` is no path: write it as `items[0].name`, or give a list of keys")
    return steps


def _pretty(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True, default=repr)


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_same(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_same, a, b))
    return bool(a == b)


def _shown(pattern: str | re.Pattern[str]) -> str:
    return quoted(pattern if isinstance(pattern, str) else pattern.pattern)


def _flags(pattern: str | re.Pattern[str]) -> int:
    return re.MULTILINE if isinstance(pattern, str) else 0
