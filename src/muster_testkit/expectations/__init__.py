"""`expect(value)`: what must hold of a command's result, a text, JSON or a file, and what is shown when it doesn't."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, overload

from muster_testkit.expectations.files import FileExpectation
from muster_testkit.expectations.texts import JsonExpectation, TextExpectation
from muster_testkit.expectations.words import fail, shown
from muster_testkit.result import Result

T = TypeVar("T")
# What may stand in the way of an effect that has not come yet: a file that is not there, JSON that is not whole.
_NOT_YET = (AssertionError, OSError, LookupError, ValueError)


class ResultExpectation:
    """What must hold of a command that has ended."""

    def __init__(self, result: Result) -> None:
        self.result = result

    def to_succeed(self) -> ResultExpectation:
        """It ended with 0."""
        __tracebackhide__ = True
        if self.result.exit_code or self.result.timed_out:
            fail("expected the command to succeed", shown(self.result))
        return self

    def to_fail(self) -> ResultExpectation:
        """It said by its exit code that it failed: it did not run out of time, crash, or not run at all."""
        __tracebackhide__ = True
        if self.result.timed_out or self.result.signal or self.result.exit_code in (0, 126, 127):
            fail("expected the command to fail by itself", shown(self.result))
        return self

    def to_have_exit_code(self, code: int) -> ResultExpectation:
        """It ended with that; 128 + N is signal N."""
        __tracebackhide__ = True
        if self.result.exit_code != code or self.result.timed_out:
            fail(f"expected the exit code {code}", shown(self.result))
        return self

    def to_time_out(self) -> ResultExpectation:
        """It had to be ended, since its time was up."""
        __tracebackhide__ = True
        if not self.result.timed_out:
            fail("expected the command to run out of time", shown(self.result))
        return self

    @property
    def stdout(self) -> TextExpectation:
        """What must hold of its standard output."""
        return TextExpectation(self.result.stdout)

    @property
    def stderr(self) -> TextExpectation:
        """What must hold of its standard error."""
        return TextExpectation(self.result.stderr)


@overload
def expect(value: Result) -> ResultExpectation: ...
@overload
def expect(value: str) -> TextExpectation: ...
@overload
def expect(value: Path) -> FileExpectation: ...
@overload
def expect(value: dict[str, Any] | list[Any] | float | None) -> JsonExpectation: ...
def expect(value: object) -> ResultExpectation | TextExpectation | FileExpectation | JsonExpectation:
    """What must hold of that value."""
    if isinstance(value, Result):
        return ResultExpectation(value)
    if isinstance(value, str):
        return TextExpectation(value)
    if isinstance(value, Path):
        return FileExpectation(value)
    if value is None or isinstance(value, dict | list | int | float):
        return JsonExpectation(value)
    raise TypeError(f"nothing can be expected of a `{type(value).__name__}`: give a result, a text, a path or JSON")


def expect_eventually(effect: Callable[[], T], timeout: float = 10.0, interval: float = 0.02) -> T:
    """What `effect` returns, as soon as it is there: no error, and something true; a `def` may also return nothing."""
    __tracebackhide__ = True
    deadline = time.monotonic() + timeout
    may_be_none = getattr(effect, "__name__", "<lambda>") != "<lambda>"
    while True:
        error: BaseException | None = None
        try:
            found = effect()
            if found or (found is None and may_be_none):
                return found
            said = f"the last look found {found!r}"
        except _NOT_YET as wrong:
            error, said = wrong, f"the last look: {type(wrong).__name__}: {wrong}"
        if time.monotonic() >= deadline:
            raise AssertionError(f"it did not come within {timeout:g} s; {said}") from error
        time.sleep(interval)


__all__ = [
    "FileExpectation",
    "JsonExpectation",
    "ResultExpectation",
    "TextExpectation",
    "expect",
    "expect_eventually",
]
