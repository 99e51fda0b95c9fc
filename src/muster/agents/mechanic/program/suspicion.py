"""Which lines are suspected: those that failing tests run and passing tests don't (Ochiai), and those the tracebacks name."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import sqrt

from .runs import Failure
from .source import Function, Source, bound, header

Lines = Mapping[str, Iterable[int]]  # by file


@dataclass
class Spectrum:
    """How many failing and passing tests ran each line."""

    failing: int = 0
    passing: int = 0
    failed: dict[tuple[str, int], int] = field(default_factory=dict)
    passed: dict[tuple[str, int], int] = field(default_factory=dict)
    frames: dict[tuple[str, int], float] = field(default_factory=dict)
    covers: dict[str, dict[str, set[int]]] = field(default_factory=dict)  # by passing test, then by file

    def add_failing(self, lines: Lines, failure: Failure | None) -> None:
        self.failing += 1
        for path, numbers in lines.items():
            for number in numbers:
                self.failed[path, number] = self.failed.get((path, number), 0) + 1
        frames = list(failure.frames) if failure and not failure.hung else []
        for depth, frame in enumerate(reversed(frames)):
            self.frames[frame] = max(self.frames.get(frame, 1.0), 1.6 if depth == 0 else 1.2)

    def add_passing(self, test: str, lines: Lines) -> None:
        self.passing += 1
        self.covers[test] = {path: set(numbers) for path, numbers in lines.items()}
        for path, numbers in lines.items():
            for number in numbers:
                self.passed[path, number] = self.passed.get((path, number), 0) + 1

    def of(self, path: str, number: int) -> float:
        ran = self.failed.get((path, number), 0)
        if not ran and (path, number) in self.frames:
            ran = 1
        if not ran:
            return 0.0
        ochiai = ran / sqrt(max(self.failing, 1) * (ran + self.passed.get((path, number), 0)))
        return ochiai * self.frames.get((path, number), 1.0)

    def files(self) -> set[str]:
        return {path for path, _ in [*self.failed, *self.frames]}

    def covering(self, path: str, first: int, last: int) -> list[str]:
        """The passing tests that run something between two lines."""
        span = set(range(first, last + 1))
        return [test for test, files in self.covers.items() if files.get(path, set()) & span]


def statements(spectrum: Spectrum, sources: Mapping[str, Source]) -> list[tuple[float, Source, ast.stmt]]:
    """Every suspected statement, the most suspected first; what runs on import only is judged by who uses it."""
    own: dict[ast.stmt, float] = {}
    used: dict[str, float] = {}
    for source in sources.values():
        for statement in source.statements:
            own[statement] = max(spectrum.of(source.path, line) for line in _lines(statement))
            for node in header(statement) if own[statement] else ():
                if isinstance(node, ast.Name | ast.Attribute):
                    name = node.id if isinstance(node, ast.Name) else node.attr
                    used[name] = max(used.get(name, 0.0), own[statement])
    _blame_conditions(sources, own)
    found = []
    for source in sources.values():
        for statement in source.statements:
            weight = max(own[statement], _inherited(source, statement, own, used))
            if weight:
                found.append((weight, source, statement))
    most = max((weight for weight, _, _ in found), default=1.0)
    found = [(weight / most, source, statement) for weight, source, statement in found]
    return sorted(found, key=lambda one: (-one[0], one[1].path, one[2].lineno, one[2].col_offset))


def _blame_conditions(sources: Mapping[str, Source], own: dict[ast.stmt, float]) -> None:
    """Whether a suspected statement runs at all is said by the condition above it."""
    for source in sources.values():
        for statement in reversed(source.statements):
            parent = source.parent(statement)
            if isinstance(parent, ast.If | ast.While) and own[parent]:
                own[parent] = max(own[parent], own[statement] * 0.98)


def _lines(statement: ast.stmt) -> range:
    """The lines of a statement itself, without those of the statements inside it."""
    body = getattr(statement, "body", None) or getattr(statement, "cases", None)
    if isinstance(body, list) and body:
        first = body[0].pattern.lineno if isinstance(body[0], ast.match_case) else body[0].lineno
        return range(statement.lineno, max(statement.lineno, first - 1) + 1)
    return range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)


def _inherited(source: Source, statement: ast.stmt, own: Mapping[ast.stmt, float], used: Mapping[str, float]) -> float:
    if isinstance(statement, Function):
        inside = [own[one] for one in ast.walk(statement) if isinstance(one, ast.stmt) and one is not statement]
        return 0.7 * max(inside, default=0.0)
    if isinstance(source.parent(statement), ast.Module | ast.ClassDef):
        return 0.6 * max((used.get(name, 0.0) for name in bound(statement)), default=0.0)
    return 0.0
