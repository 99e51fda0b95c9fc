"""What the gate looks at: the changed files of a change, read once on each side."""

from __future__ import annotations

import ast
import sys
from collections.abc import Collection, Mapping

from msgspec import Struct
from msgspec.structs import replace

from muster.mend.gate.module import Module, imported, read
from muster.mend.gate.syntax import dotted
from muster.mend.layout import Layout

_TOOLS = ("pytest", "_pytest", "hypothesis", "mock", "numpy", "pandas", "attr", "attrs", "freezegun", "responses")


class Side(Struct, frozen=True):
    """The changed files as they are before, or after."""

    files: dict[str, bytes]
    trees: dict[str, ast.Module]  # of all Python files that can be parsed
    broken: dict[str, int]  # of those that can't, the line
    tests: dict[str, Module]  # of the tests among them


class Diff(Struct, frozen=True):
    """A change: both sides, and what it is judged by."""

    old: Side
    new: Side
    layout: Layout
    green: frozenset[str]  # tests that passed before, without their parameters
    beside: dict[str, str]  # files that did not change: the tests that run, and the documents they cite
    links: frozenset[str]

    @property
    def changes_program(self) -> bool:
        """Whether the implementation is changed, too."""
        return any(self.layout.of(path) == "impl" for path in {*self.old.files, *self.new.files})


def diff(
    before: Mapping[str, bytes | None],
    after: Mapping[str, bytes | None],
    layout: Layout,
    green: Collection[str],
    beside: Mapping[str, bytes],
    links: Collection[str],
) -> Diff:
    """Both sides of a change; a file that is the same on both is not read."""
    paths = [path for path in {*before, *after} if before.get(path) != after.get(path) or path in links]
    old = side({path: before.get(path) for path in sorted(paths)}, layout)
    new = side({path: after.get(path) for path in sorted(paths)}, layout)
    return Diff(
        old,
        new,
        layout if layout.packages else replace(layout, packages=_imported(old, layout)),
        frozenset(test.partition("[")[0] for test in green),
        {path: data.decode(errors="replace") for path, data in beside.items()},
        frozenset(links),
    )


def _imported(old: Side, layout: Layout) -> tuple[str, ...]:
    """What the tests import that is not Python's own, nor a tool for testing, nor theirs: the program, most likely."""
    names = {
        dotted(found).partition(".")[0]
        for module in old.tests.values()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for _, found in imported(node)
    }
    names |= {
        alias.name.partition(".")[0]
        for module in old.tests.values()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    own = {path.removesuffix(".py").rpartition("/")[2] for path in (*old.tests, *layout.tests)}
    return tuple(sorted(names - own - {*sys.stdlib_module_names, *_TOOLS, "tests", "conftest"}))


def side(given: Mapping[str, bytes | None], layout: Layout) -> Side:
    """One side of a change."""
    files = {path: data for path, data in given.items() if data is not None}
    trees: dict[str, ast.Module] = {}
    broken: dict[str, int] = {}
    for path, data in files.items():
        if path.endswith(".py"):
            try:
                trees[path] = ast.parse(data)
            except SyntaxError as error:
                broken[path] = error.lineno or 1
            except ValueError:  # a null byte
                broken[path] = 1
    tests = {path: read(path, tree, layout) for path, tree in trees.items() if layout.of(path) == "test"}
    return Side(files, trees, broken, tests)
