"""Functions of the tests that a test calls: what they assert, it asserts."""

from __future__ import annotations

import ast
import re

from muster.mend.gate.module import Module, Unit
from muster.mend.gate.syntax import Function, dotted, last, resolve, short, text

# A function of that name asserts, wherever it is.
ASSERTS = re.compile(r"_?(assert|check|expect|verify|ensure|should|must|validate|compare)(_|[A-Z]|$)")
_SAYS = re.compile(rf"{ASSERTS.pattern}|fail|raises|warns|assert|that$|to_|not_to")

Modules = dict[str, Module]
Names = dict[str, ast.expr]  # and what they stand for


class Helpers:
    """Those that one test can call."""

    def __init__(self, unit: Unit, modules: Modules, known: dict[Function, bool]) -> None:
        self.unit, self.modules = unit, modules
        self.inner: dict[str, tuple[Function, Names]] = {}  # defined in the test itself
        self._known = known

    def target(self, function: ast.expr, env: Names) -> tuple[str, Function, Names] | None:
        """The function of the tests that a call leads to."""
        here = self.modules[self.unit.file]
        if isinstance(function, ast.Name) and function.id in self.inner:
            return self.unit.file, *self.inner[function.id]
        if isinstance(function, ast.Name) and function.id in here.units:
            unit = here.units[function.id]
            return None if unit.test else (unit.file, unit.node, dict(here.env))
        if dotted(function).startswith(("self.", "cls.")):
            return self.method(last(function))
        path = dotted(resolve(function, env))
        return self.elsewhere(path) if "." in path else None

    def method(self, name: str) -> tuple[str, Function, Names] | None:
        here = self.modules[self.unit.file]
        owner = self.unit.name.partition("::")[0]
        fallback = [unit for unit in here.units.values() if unit.owner and unit.name.endswith(f"::{name}")]
        unit = here.units.get(f"{owner}::{name}") or next(iter(fallback), None)
        return None if unit is None or unit.test else (unit.file, unit.node, dict(here.env))

    def elsewhere(self, path: str) -> tuple[str, Function, Names] | None:
        module, _, name = path.rpartition(".")
        for file, found in self.modules.items():
            dots = file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
            if (dots == module or dots.endswith(f".{module}")) and name in found.units:
                return file, found.units[name].node, dict(found.env)
        return None

    def may_assert(self, function: Function) -> bool:
        """Whether a function asserts, or calls one of the tests' that does: the others need not be followed."""
        known = self._known
        if function not in known:
            known[function] = False  # for one that calls itself
            nodes = [*ast.walk(function)]
            names = {last(node.func) for node in nodes if isinstance(node, ast.Call)}
            known[function] = any(isinstance(node, ast.Assert) for node in nodes) or any(map(_SAYS.match, names))
            known[function] |= any(isinstance(node, ast.Raise) and "AssertionError" in text(node) for node in nodes)
            called = [unit.node for one in self.modules.values() for unit in one.units.values() if unit.leaf in names]
            known[function] = known[function] or any(map(self.may_assert, called))
        return known[function]


def given(function: Function, call: ast.Call, env: Names, method: bool) -> Names:
    """What a function's parameters stand for in one call of it."""
    names = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
    if method and names[:1] in (["self"], ["cls"]):
        names = names[1:]
    defaults = function.args.defaults
    found = dict(zip(names[len(names) - len(defaults) :], defaults, strict=False)) if defaults else {}
    found |= {
        one.arg: default
        for one, default in zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True)
        if default is not None
    }
    found |= {name: short(resolve(one, env)) for name, one in zip(names, call.args, strict=False)}
    return found | {word.arg: short(resolve(word.value, env)) for word in call.keywords if word.arg}
