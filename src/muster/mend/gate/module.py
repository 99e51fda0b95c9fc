"""A file of tests: what pytest would collect from it, what it would not, and what its names stand for."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from msgspec import Struct

from muster.mend.gate.syntax import Env, Function, dotted, last, name_of, resolve, short, text, truth
from muster.mend.layout import Layout


class Unit(Struct, frozen=True):
    """A function of a test file: a test, a fixture, or what tests are helped by."""

    file: str
    name: str  # `TestA::test_b`
    node: Function
    owner: ast.ClassDef | None  # the class it is in
    marks: tuple[ast.expr, ...]  # its decorators, its class's, its module's
    hidden: str = ""  # why it is not collected, where it looks like a test
    test: bool = False

    @property
    def id(self) -> str:
        return f"{self.file}::{self.name}"

    @property
    def leaf(self) -> str:
        return self.name.rpartition("::")[2]

    @property
    def line(self) -> int:
        return self.node.lineno


class Module(Struct, frozen=True):
    """A file of tests."""

    path: str
    tree: ast.Module
    env: Env  # imports and constants
    units: dict[str, Unit]  # by name
    rest: str  # all that is not a test, as one text: what a test depends on in its file

    @property
    def tests(self) -> dict[str, Unit]:
        return {name: unit for name, unit in self.units.items() if unit.test}


def read(path: str, tree: ast.Module, layout: Layout) -> Module:
    """A file of tests, as pytest would see it."""
    env = _names(tree)
    marks = tuple(_pytestmark(tree.body, env))
    units: dict[str, Unit] = {}
    for unit in _units(path, tree.body, layout, env, marks, None, "", ""):
        earlier = units.get(unit.name)
        # Of two with one name, Python keeps the later one.
        if earlier is None or not unit.hidden or earlier.hidden:
            units[unit.name] = unit
    bound = [*_rebound(tree.body)]
    for name in [*units] if "__test__" in bound and truth(env["__test__"]) is False else bound:
        if name in units:
            units[name] = _hide(units[name], "its name is bound to something else")
    rest = "\n".join(ast.dump(node) for node in tree.body if not _has_tests(node, units))
    return Module(path, tree, env, units, rest)


def _has_tests(node: ast.stmt, units: dict[str, Unit]) -> bool:
    return isinstance(node, Function) and node.name in units and units[node.name].test


def _hide(unit: Unit, why: str) -> Unit:
    return Unit(unit.file, unit.name, unit.node, unit.owner, unit.marks, why, False) if unit.test else unit


def _names(tree: ast.Module) -> dict[str, ast.expr]:
    """What the names of a module stand for: where they are imported from, or the constant they are."""
    env: dict[str, ast.expr] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            env.update(imported(node))
    for stmt in tree.body:
        if isinstance(stmt, ast.Assign) and len(stmt.targets) == 1 and isinstance(stmt.targets[0], ast.Name):
            env[stmt.targets[0].id] = short(resolve(stmt.value, env))
        elif isinstance(stmt, ast.AnnAssign) and stmt.value and isinstance(stmt.target, ast.Name):
            env[stmt.target.id] = short(resolve(stmt.value, env))
    return env


def imported(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, ast.expr]]:
    """The names that an import binds, each with the dotted name it stands for."""
    for alias in node.names:
        if isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            # A relative import has no dotted name of its own; the dots are kept out of the expression.
            source = f"{module.lstrip('.')}.{alias.name}".lstrip(".")
            yield alias.asname or alias.name, name_of(source)
        elif alias.asname:
            yield alias.asname, name_of(alias.name)


def _pytestmark(body: list[ast.stmt], env: Env) -> Iterator[ast.expr]:
    for stmt in body:
        if isinstance(stmt, ast.Assign) and any(dotted(target) == "pytestmark" for target in stmt.targets):
            found = resolve(stmt.value, env)
            yield from found.elts if isinstance(found, ast.List | ast.Tuple) else [found]


def _units(
    path: str,
    body: list[ast.stmt],
    layout: Layout,
    env: Env,
    marks: tuple[ast.expr, ...],
    owner: ast.ClassDef | None,
    prefix: str,
    hidden: str,
) -> Iterator[Unit]:
    for node in body:
        if isinstance(node, Function):
            yield _unit(path, node, layout, env, marks, owner, prefix, hidden)
            yield from _inside(path, node, layout, env, marks)
        elif isinstance(node, ast.ClassDef):
            own = (*(resolve(one, env) for one in node.decorator_list), *marks, *_pytestmark(node.body, env))
            why = hidden or _class_hidden(node, layout)
            yield from _units(path, node.body, layout, env, own, node, f"{prefix}{node.name}::", why)
        elif isinstance(node, ast.If):
            holds = truth(resolve(node.test, env))
            condition = text(node.test)
            why = "" if holds else f"it stands under `if {condition}`"
            yield from _units(path, node.body, layout, env, marks, owner, prefix, hidden or why)
            why = "" if holds is False else f"it stands under the `else` of `if {condition}`"
            yield from _units(path, node.orelse, layout, env, marks, owner, prefix, hidden or why)
        elif isinstance(node, ast.Try | ast.With):
            yield from _units(path, node.body, layout, env, marks, owner, prefix, hidden)


def _inside(path: str, node: Function, layout: Layout, env: Env, marks: tuple[ast.expr, ...]) -> Iterator[Unit]:
    """Functions named like tests that stand in a function, where nothing collects them."""
    for inner in ast.walk(node):
        if inner is not node and isinstance(inner, Function) and _named(inner.name, layout.python_functions):
            yield _unit(path, inner, layout, env, marks, None, "", f"it stands in `{node.name}`")


def _unit(
    path: str,
    node: Function,
    layout: Layout,
    env: Env,
    marks: tuple[ast.expr, ...],
    owner: ast.ClassDef | None,
    prefix: str,
    hidden: str,
) -> Unit:
    own = tuple(resolve(one, env) for one in node.decorator_list)
    named = _named(node.name, layout.python_functions) or (owner is not None and _unittest(owner) and _is_test(node))
    fixture = any(last(one.func if isinstance(one, ast.Call) else one) == "fixture" for one in own)
    looks = named and not fixture
    why = hidden or _function_hidden(node, path, layout)
    return Unit(path, prefix + node.name, node, owner, (*own, *marks), why if looks else "", looks and not why)


def _is_test(node: Function) -> bool:
    return node.name.startswith("test")


def _function_hidden(node: Function, path: str, layout: Layout) -> str:
    if not layout.collects(path) and path not in layout.tests:
        return "its file's name is not one that pytest looks into"
    own = [one for stmt in node.body for one in _own(stmt)]
    return "it yields, and pytest runs no generators" if any(isinstance(one, ast.Yield) for one in own) else ""


def _own(node: ast.AST) -> Iterator[ast.AST]:
    """A statement's nodes, but for those of functions in it."""
    yield node
    if not isinstance(node, Function | ast.Lambda | ast.ClassDef):
        for child in ast.iter_child_nodes(node):
            yield from _own(child)


def _class_hidden(node: ast.ClassDef, layout: Layout) -> str:
    for stmt in node.body:
        if isinstance(stmt, ast.Assign) and any(dotted(target) == "__test__" for target in stmt.targets):
            return "" if truth(stmt.value) else f"`{node.name}` says `__test__ = False`"
        if isinstance(stmt, Function) and stmt.name == "__init__" and not _unittest(node):
            return f"`{node.name}` has an `__init__`"
    if _unittest(node) or _named(node.name, layout.python_classes):
        return ""
    return f"pytest doesn't collect a class called `{node.name}`"


def _unittest(node: ast.ClassDef) -> bool:
    return any("TestCase" in last(base) for base in node.bases)


def _named(name: str, patterns: tuple[str, ...]) -> bool:
    from fnmatch import fnmatchcase

    return any(name.startswith(one) or ("*" in one and fnmatchcase(name, one)) for one in patterns)


def _rebound(body: list[ast.stmt]) -> Iterator[str]:
    """Names that are assigned or deleted at the top of a module, and functions switched off there."""
    for stmt in body:
        if isinstance(stmt, ast.Assign):
            for target in stmt.targets:
                if isinstance(target, ast.Name):
                    yield target.id
                elif isinstance(target, ast.Attribute) and target.attr == "__test__" and not truth(stmt.value):
                    yield dotted(target.value)
        elif isinstance(stmt, ast.Delete):
            yield from (dotted(target) for target in stmt.targets)
