"""What is missing: a guard, a return, an exception that should be raised or caught."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..source import Edit, Function, parameters
from . import View

_EMPTY = ("None", "[]", '""', "0", "False", "True", "{}", "0.0", "()")
_HURT = {
    "TypeError",
    "AttributeError",
    "IndexError",
    "KeyError",
    "ZeroDivisionError",
    "ValueError",
    "StopIteration",
    "RecursionError",
    "statistics.StatisticsError",
}


def at_the_start(view: View, node: ast.AST) -> Iterator[Edit]:
    """`if not x: return …` before anything is done."""
    if not isinstance(node, ast.stmt) or isinstance(view.source.parent(node), ast.Module | ast.ClassDef | None):
        return
    function = view.source.function(node)
    if function is None or not view.source.alone(node) or _is_doc(node):
        return
    first = next((one for one in function.body if not _is_doc(one)), None)
    hurt = bool(view.facts.types & _HURT)
    if node is first:
        names = [name for name in parameters(function) if name not in ("self", "cls")]
        results = list(dict.fromkeys([*_results(view, function), *_EMPTY]))
        for name in names:
            for test, weight in (
                (f"not {name}", 0.5),
                (f"{name} is None", 0.45),
                (f"{name} == 0", 0.15),
                (f"{name} < 0", 0.15),
                (f"{name} <= 0", 0.15),
                (f"{name} == 1", 0.1),
                (f"len({name}) < 2", 0.1),
            ):
                for result in [*results, name]:
                    known = 1.0 if result in results[: len(results) - len(_EMPTY)] else 0.8
                    yield _before(
                        view, node, f"if {test}:", f"return {result}", weight * known * (1.2 if hurt else 0.6)
                    )
        for error in view.facts.not_raised:
            for name in names:
                for test, weight in (
                    (f"not {name}", 0.6),
                    (f"{name} is None", 0.5),
                    (f"{name} < 0", 0.8),
                    (f"{name} <= 0", 0.6),
                    (f"{name} < 1", 0.3),
                    (f"not {name}.strip()", 0.3),
                    (f"{name} == 0", 0.4),
                ):
                    for text in ("", *[f'"{one}"' for one in _words(view)[:3]]):
                        yield _before(view, node, f"if {test}:", f"raise {error}({text})", weight)


def _words(view: View) -> list[str]:
    return [one for one in view.facts.strings if 3 < len(one) < 80 and '"' not in one and "\\" not in one]


def _results(view: View, function: Function) -> list[str]:
    """What the function returns already, where that is plain."""
    values = [one.value for one in ast.walk(function) if isinstance(one, ast.Return) and one.value is not None]
    return sorted(
        {
            view.source.of(one)
            for one in values
            if isinstance(one, ast.Constant | ast.List | ast.Dict) and len(view.source.of(one)) < 30
        }
    )


def _is_doc(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _before(view: View, node: ast.stmt, head: str, body: str, prior: float) -> Edit:
    indent = view.source.indent(node)
    start = view.source.rows(node)[0]
    return view.edit((start, start), f"{indent}{head}\n{indent}    {body}\n", "guard added", prior)


def in_loops(view: View, node: ast.AST) -> Iterator[Edit]:
    """Things of a loop that should be passed over."""
    if isinstance(node, ast.For) and view.source.alone(node.body[0]):
        for target in [one for one in ast.walk(node.target) if isinstance(one, ast.Name)]:
            for test, weight in (
                (f"not {target.id}", 0.5),
                (f"{target.id} is None", 0.35),
                (f"not {target.id}.strip()", 0.35),
            ):
                yield _before(view, node.body[0], f"if {test}:", "continue", weight)


def around(view: View, node: ast.AST) -> Iterator[Edit]:
    """A division, a lookup or a call that must not be made with nothing."""
    if (
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Div | ast.FloorDiv | ast.Mod)
        and isinstance(node.right, ast.Name | ast.Call | ast.Attribute)
    ):
        weight = 0.9 if "ZeroDivisionError" in view.facts.types else 0.05
        divisor = view.source.of(node.right)
        for result in ("0", "0.0", "None"):
            yield view.edit(node, f"({view.source.of(node)} if {divisor} else {result})", "guard added", weight)
    elif isinstance(node, ast.If | ast.While) and view.facts.types & {
        "TypeError",
        "AttributeError",
        "IndexError",
        "KeyError",
    }:
        tested = [
            one
            for one in ast.walk(node.test)
            if isinstance(one, ast.Name | ast.Attribute) and isinstance(one.ctx, ast.Load)
        ]
        for one in tested[:6]:
            name, test = view.source.of(one), view.source.of(node.test)
            test = f"({test})" if isinstance(node.test, ast.BoolOp) else test
            for guard in (name, f"{name} is not None"):
                yield view.edit(node.test, f"{guard} and {test}", "guard added", 0.5)
    elif isinstance(node, ast.Return | ast.Assign) and isinstance(
        node.value, ast.Name | ast.Attribute | ast.Call | ast.Subscript
    ):
        value = view.source.of(node.value)
        for other in ("[]", '""', "0", "{}"):
            yield view.edit(node.value, f"{value} or {other}", "fallback added", 0.2 if view.facts.none else 0.05)


def conditions(view: View, node: ast.AST) -> Iterator[Edit]:
    """One more thing that a condition has to ask, of what it could ask already."""
    if not isinstance(node, ast.If | ast.While):
        return
    function = view.source.function(node)
    test = view.source.of(node.test)
    test = f"({test})" if isinstance(node.test, ast.BoolOp | ast.IfExp) else test
    for name in [one for one in view.source.locals(function) if one not in ("self", "cls")][:6]:
        for more, prior in (
            (f"and {name}", 0.25),
            (f"and not {name}", 0.25),
            (f"or {name}", 0.15),
            (f"or not {name}", 0.2),
        ):
            yield view.edit(node.test, f"{test} {more}", "condition added", prior)


def returns(view: View, node: ast.AST) -> Iterator[Edit]:
    function = view.source.function(node) if isinstance(node, ast.stmt) else None
    if function is None or not isinstance(node, ast.stmt):
        return
    block = view.source.block(node)
    last = block[-1] is node
    weight = 0.9 if view.facts.none else 0.5
    if isinstance(node, ast.Expr) and not isinstance(node.value, ast.Constant | ast.Yield | ast.YieldFrom):
        yield view.edit(node, f"return {view.source.of(node)}", "return added", weight if last else weight * 0.3)
    if isinstance(node, ast.Assign) and last and isinstance(node.targets[0], ast.Name | ast.Tuple):
        yield view.edit(node, f"return {view.source.of(node.value)}", "return added", weight * 0.4)
    if last and block is function.body and not isinstance(node, ast.Return | ast.Raise) and view.source.alone(node):
        end = view.source.rows(node)[1]
        indent = view.source.indent(node)
        newline = "" if view.source.text[:end].endswith("\n") else "\n"
        names = [name for name in view.source.locals(function) if name not in ("cls",)]
        for place, name in enumerate(reversed(names[-10:])):
            yield view.edit(
                (end, end), f"{newline}{indent}return {name}\n", "return added", weight * (0.9 - 0.05 * place)
            )


def handlers(view: View, node: ast.AST) -> Iterator[Edit]:
    """The exceptions that are caught, or raised."""
    if isinstance(node, ast.Try):
        for handler in node.handlers:
            if handler.type is None:
                continue
            text = view.source.of(handler.type)
            caught = text[1:-1] if isinstance(handler.type, ast.Tuple) else text
            for name in dict.fromkeys(
                [
                    *sorted(view.facts.types),
                    *view.facts.names,
                    "ValueError",
                    "KeyError",
                    "TypeError",
                    "IndexError",
                    "OSError",
                    "LookupError",
                ]
            ):
                if name.isidentifier() and name not in caught and name not in ("AssertionError", "Failed"):
                    near = 0.9 if name in view.facts.types else 0.35
                    yield view.edit(handler.type, name, "exception", near * 0.8)
                    yield view.edit(handler.type, f"({caught}, {name})", "exception", near)
    elif isinstance(node, ast.Raise) and node.exc is not None:
        spot = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        for name in dict.fromkeys([*view.facts.not_raised, *view.facts.names]):
            if isinstance(spot, ast.Name) and name != spot.id:
                yield view.edit(spot, name, "exception", 0.8)


def scopes(view: View, node: ast.AST) -> Iterator[Edit]:
    """A name of outside that is bound inside."""
    if "UnboundLocalError" not in view.facts.types or not isinstance(node, ast.stmt):
        return
    function = view.source.function(node)
    if function is None or node is not next((one for one in function.body if not _is_doc(one)), None):
        return
    indent, start = view.source.indent(node), view.source.rows(node)[0]
    for name in view.source.locals(function):
        if name in view.source.globals and name not in parameters(function):
            yield view.edit((start, start), f"{indent}global {name}\n", "scope", 0.9)
        elif view.source.function(function) and name in view.source.locals(view.source.function(function)):
            yield view.edit((start, start), f"{indent}nonlocal {name}\n", "scope", 0.9)


REPAIRS = (at_the_start, in_loops, around, conditions, returns, handlers, scopes)
