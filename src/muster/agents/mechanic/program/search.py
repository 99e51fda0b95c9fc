"""Try candidates, several at once: first on the failing tests, then on those that pass and run the place, then on all."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from .candidates import Candidate, compiles
from .runs import Result, Runner, Wish, several

_CHUNKS = (16, 32, 64)  # candidates judged together; a found repair is compared with what the same and the next find
_QUICK = 5.0  # seconds: one that took longer is not followed by another for comparison
_HARSH_CHUNKS = 3  # so many more are looked at when all that passes takes behaviour away


@dataclass(frozen=True)
class Target:
    """What a repair has to do."""

    tests: tuple[str, ...]
    passing: Mapping[str, float]  # tests that pass now, and how long each takes
    others: tuple[str, ...]  # tests that fail now, and that nobody asked for
    covering: Callable[[Candidate], Sequence[str]]
    each: float  # seconds for one test
    slowest: float  # of a passing one
    deadline: float

    def wish(self, tests: Sequence[str]) -> Wish:
        time_needed = sum(self.passing.get(test, 0.0) for test in tests)
        each = self.each if tests == self.tests else self.slowest * 5 + 1
        limit = 5 + time_needed * 4 + each * min(len(self.tests), 4)
        return Wish(tuple(tests), limit, each=each, fail_fast=True)


@dataclass
class Tried:
    """What was done and how it ended."""

    kinds: Counter[str] = field(default_factory=Counter)
    runs: int = 0
    broke: int = 0  # passed the failing tests and broke others
    seconds: dict[str, float] = field(default_factory=dict)
    partial: list[tuple[int, Candidate]] = field(default_factory=list)  # got further than the program as it is

    def spent(self, name: str, since: float) -> None:
        self.seconds[name] = self.seconds.get(name, 0.0) + time.monotonic() - since


def search(
    candidates: Sequence[Candidate], runners: Sequence[Runner], target: Target, before: Result, tried: Tried
) -> list[Candidate]:
    """The candidates that pass and break nothing, best first; empty when none does, or the time is up."""
    accepted: list[Candidate] = []
    stream = (one for one in candidates if compiles(one))
    more = 1
    for chunk in _chunks(stream):
        began = time.monotonic()
        accepted += _judge(chunk, runners, target, before, tried)
        if accepted:
            more -= 1 if time.monotonic() - began < _QUICK else 2
            if more < 0 and (not all(one.harsh for one in accepted) or more < -_HARSH_CHUNKS):
                break
        if time.monotonic() > target.deadline:
            break
    return _ordered(accepted, runners, target)


def _ordered(accepted: list[Candidate], runners: Sequence[Runner], target: Target) -> list[Candidate]:
    """Of several that will do, first those that take nothing away and turn more of the other failing tests green."""
    results: dict[int, Result] = {}
    if target.others and len(accepted) > 1:
        wish = replace(target.wish(target.others), fail_fast=False)
        results = _run(accepted, runners, target, lambda _: wish)

    def rank(place: int) -> tuple[bool, int]:
        result = results.get(place, Result())
        return accepted[place].harsh, -sum(result.green(test) for test in target.others)

    return [accepted[place] for place in sorted(range(len(accepted)), key=rank)]


def _chunks(stream: Iterator[Candidate]) -> Iterator[list[Candidate]]:
    number = 0
    while chunk := list(islice(stream, _CHUNKS[min(number, len(_CHUNKS) - 1)])):
        number += 1
        yield chunk


def _judge(
    chunk: Sequence[Candidate], runners: Sequence[Runner], target: Target, before: Result, tried: Tried
) -> list[Candidate]:
    began = time.monotonic()
    results = _run(chunk, runners, target, lambda _: target.wish(target.tests))
    left = []
    for place, result in sorted(results.items()):
        candidate = chunk[place]
        tried.kinds[candidate.edit.kind] += 1
        tried.runs += 1
        if all(result.green(test) for test in target.tests):
            left.append(candidate)
        elif (further := progress(result, target.tests) - progress(before, target.tests)) > 0:
            tried.partial.append((further, candidate))
    tried.spent("failing tests", began)
    for name, choose in (("covering tests", target.covering), ("all tests", lambda _: list(target.passing))):
        began = time.monotonic()
        count = len(left)
        left = _unbroken(left, runners, target, choose)
        tried.broke += count - len(left)
        tried.spent(name, began)
    return left


def _unbroken(
    candidates: Sequence[Candidate],
    runners: Sequence[Runner],
    target: Target,
    choose: Callable[[Candidate], Sequence[str]],
) -> list[Candidate]:
    chosen = [choose(one) for one in candidates]
    wanted = [one for one, tests in zip(candidates, chosen, strict=True) if tests]
    lists = [tests for tests in chosen if tests]
    results = _run(wanted, runners, target, lambda one: target.wish(lists[wanted.index(one)]))
    broken = {
        id(wanted[place])
        for place, tests in enumerate(lists)
        if place not in results or not all(results[place].green(test) for test in tests)
    }
    return [one for one in candidates if id(one) not in broken]


def _run(
    candidates: Sequence[Candidate], runners: Sequence[Runner], target: Target, wish: Callable[[Candidate], Wish]
) -> dict[int, Result]:
    def wishes() -> Iterator[tuple[int, Wish, Mapping[str, bytes]]]:
        for place, candidate in enumerate(candidates):
            if time.monotonic() > target.deadline:
                return
            yield place, wish(candidate), candidate.files

    return dict(several(runners, wishes()))


def progress(result: Result, tests: Sequence[str]) -> int:
    """How far the failing tests come: whole tests first, then lines of the test itself."""
    green = sum(result.green(test) for test in tests)
    lines = 0
    for test in tests:
        failure = result.failed.get(test)
        path = result.file(test)
        lines += max((line for name, line in failure.frames if name == path), default=0) if failure else 0
    return green * 1_000_000 + (lines if green == 0 else 0)
