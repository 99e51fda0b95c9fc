"""What is written above a test: marks that skip it, expect it to fail, repeat it, and decorators that wrap it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from muster.mend import Finding
from muster.mend.gate.diff import Diff
from muster.mend.gate.facts import autouse
from muster.mend.gate.module import Unit
from muster.mend.gate.rules import found
from muster.mend.gate.syntax import dotted, last, text

_SKIPS = ("skip", "skipif", "skipIf", "skipUnless")
_XFAILS = ("xfail", "expectedFailure")
_LIMITS = ("timeout", "flaky", "rerun", "reruns", "retry", "repeat", "retries")
# They don't change whether a test runs, and to its end.
_HARMLESS = (
    "parametrize", "usefixtures", "given", "settings", "example", "expand", "parameterized", "staticmethod",
    "classmethod", "override", "no_type_check", "wraps", "fixture", "final", "typed",
)  # fmt: skip


def look(diff: Diff) -> Iterator[Finding]:
    """What is to be said of marks and decorators."""
    before = {unit.id: unit for module in diff.old.tests.values() for unit in module.units.values()}
    by_name = {unit.leaf: unit for unit in before.values()}
    for module in diff.new.tests.values():
        for unit in module.units.values():
            old = before.get(unit.id) or (by_name.get(unit.leaf) if unit.test else None)
            if unit.test and old:
                yield from _marks(old, unit, diff)
            elif autouse(unit) and not (old and autouse(old)) and _around_old_tests(module.path, diff):
                words = f"`{unit.name}` runs around every test there"
                yield found("autouse-fixture", unit.file, unit.line, words)
            if old and not unit.test and autouse(unit) and not autouse(old):
                yield found("autouse-fixture", unit.file, unit.line, f"`{unit.name}` runs around every test there")


def _around_old_tests(path: str, diff: Diff) -> bool:
    return path in diff.old.files or path.endswith("conftest.py")


def _marks(old: Unit, new: Unit, diff: Diff) -> Iterator[Finding]:
    had = {text(mark) for mark in old.marks}
    for mark in new.marks:
        if text(mark) not in had:
            yield from _mark(mark, new, diff)
    has = {text(mark) for mark in new.marks}
    names = {_name(mark) for mark in new.marks}
    for mark in old.marks:
        if text(mark) not in has and _name(mark) in _LIMITS and _name(mark) not in names:
            words = f"`{text(mark)}` is gone from `{new.name}`"
            yield found("changed-time-limit", new.file, new.line, words)


def _name(mark: ast.expr) -> str:
    return last(mark.func if isinstance(mark, ast.Call) else mark)


def _mark(mark: ast.expr, unit: Unit, diff: Diff) -> Iterator[Finding]:
    name, words = _name(mark), f"`@{text(mark)}` was added to `{unit.name}`"
    full = dotted(mark.func if isinstance(mark, ast.Call) else mark)
    if name in _SKIPS:
        yield found("added-skip", unit.file, mark.lineno, words)
    elif name in _XFAILS:
        yield found("added-xfail", unit.file, mark.lineno, words)
    elif name in _LIMITS:
        yield found("changed-time-limit", unit.file, mark.lineno, words)
    elif name == "filterwarnings" and "ignore" in text(mark):
        yield found("test-configuration", unit.file, mark.lineno, words)
    elif ".mark." not in f".{full}." and name not in _HARMLESS and "patch" not in full:
        defined = any(name in module.units for module in diff.new.tests.values())
        if mark in unit.marks[: len(unit.node.decorator_list)]:
            yield found("wrapped-test", unit.file, mark.lineno, words, "refuse" if defined else "review")
