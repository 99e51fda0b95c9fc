"""Operators, comparisons, conditions, and what stands one too high or too low."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ..source import Edit
from . import View

_COMPARE: dict[type[ast.cmpop], tuple[str, tuple[tuple[str, float], ...]]] = {
    ast.Lt: ("<", (("<=", 1.0), (">", 0.8), (">=", 0.8), ("!=", 0.3))),
    ast.LtE: ("<=", (("<", 1.0), (">=", 0.8), (">", 0.8), ("==", 0.4))),
    ast.Gt: (">", ((">=", 1.0), ("<", 0.8), ("<=", 0.8), ("!=", 0.3))),
    ast.GtE: (">=", ((">", 1.0), ("<=", 0.8), ("<", 0.8), ("==", 0.4))),
    ast.Eq: ("==", (("!=", 0.9), ("in", 0.3), ("<=", 0.4), (">=", 0.4))),
    ast.NotEq: ("!=", (("==", 0.9), ("not in", 0.2), ("<", 0.4), (">", 0.4))),
    ast.Is: ("is", (("is not", 0.9), ("==", 0.6))),
    ast.IsNot: ("is not", (("is", 0.9), ("!=", 0.6))),
    ast.In: ("in", (("not in", 0.9), ("==", 0.3))),
    ast.NotIn: ("not in", (("in", 0.9), ("!=", 0.3))),
}
_BINARY: dict[type[ast.operator], tuple[str, tuple[tuple[str, float], ...]]] = {
    ast.Add: ("+", (("-", 0.9), ("*", 0.5), ("|", 0.1))),
    ast.Sub: ("-", (("+", 0.9), ("*", 0.35), ("/", 0.3), ("%", 0.2))),
    ast.Mult: ("*", (("/", 0.7), ("+", 0.5), ("**", 0.5), ("//", 0.5), ("-", 0.2))),
    ast.Div: ("/", (("//", 0.9), ("*", 0.7), ("%", 0.3), ("-", 0.2))),
    ast.FloorDiv: ("//", (("/", 0.9), ("%", 0.8), ("*", 0.4))),
    ast.Mod: ("%", (("//", 0.8), ("/", 0.4), ("*", 0.2), ("-", 0.2))),
    ast.Pow: ("**", (("*", 0.8),)),
    ast.LShift: ("<<", ((">>", 0.9),)),
    ast.RShift: (">>", (("<<", 0.9),)),
    ast.BitOr: ("|", (("&", 0.9), ("^", 0.5), ("-", 0.3), ("+", 0.1))),
    ast.BitAnd: ("&", (("|", 0.9), ("^", 0.5), ("-", 0.3))),
    ast.BitXor: ("^", (("|", 0.5), ("&", 0.5), ("**", 0.5))),
}


def _gap(view: View, left: ast.AST, right: ast.AST, sign: str) -> tuple[int, int] | None:
    """Where the operator between two operands stands."""
    start, end = view.source.span(left)[1], view.source.span(right)[0]
    pattern = r"\s+".join(re.escape(word) for word in sign.split())
    match = re.search(rf"\b{pattern}\b" if sign[0].isalpha() else pattern, view.source.text[start:end])
    return (start + match.start(), start + match.end()) if match else None


def comparisons(view: View, node: ast.AST) -> Iterator[Edit]:
    if not isinstance(node, ast.Compare):
        return
    operands = [node.left, *node.comparators]
    for left, operator, right in zip(operands, node.ops, operands[1:], strict=False):
        sign, others = _COMPARE[type(operator)]
        if place := _gap(view, left, right, sign):
            for other, prior in others:
                yield view.edit(place, other, "comparison", prior)
    if len(node.ops) == 1:
        both = view.source.span(node.left)[0], view.source.span(node.comparators[0])[1]
        between = view.source.text[view.source.span(node.left)[1] : view.source.span(node.comparators[0])[0]]
        if "(" not in between and ")" not in between:
            swapped = view.source.of(node.comparators[0]) + between + view.source.of(node.left)
            yield view.edit(both, swapped, "operands swapped", 0.15)


def arithmetic(view: View, node: ast.AST) -> Iterator[Edit]:
    if not isinstance(node, ast.BinOp):
        return
    sign, others = _BINARY.get(type(node.op), ("@", ()))
    place = _gap(view, node.left, node.right, sign)
    text = isinstance(node.left, ast.Constant | ast.JoinedStr) and not isinstance(
        getattr(node.left, "value", 0), int | float
    )
    for other, prior in others if place else ():
        yield view.edit(place or (0, 0), other, "operator", prior * (0.2 if text else 1))
    left, right = view.source.of(node.left), view.source.of(node.right)
    if not isinstance(node.op, ast.Mult | ast.BitAnd | ast.BitOr | ast.BitXor):
        gap = view.source.text[view.source.span(node.left)[1] : view.source.span(node.right)[0]]
        plain = "(" not in gap and ")" not in gap
        if plain:
            yield view.edit(node, right + gap + left, "operands swapped", 0.4)
    yield view.edit(node, left, "operand dropped", 0.35 if _is_small(node.right) else 0.2, not _is_small(node.right))
    yield view.edit(node, right, "operand dropped", 0.15, True)
    if isinstance(node.left, ast.BinOp):  # a + b * c, which should have been (a + b) * c, and the other way round
        inner = node.left
        rest = view.source.text[view.source.span(inner.right)[0] : view.source.span(node)[1]]
        head = view.source.text[view.source.span(node)[0] : view.source.span(inner.right)[0]]
        if rest.count("(") == rest.count(")") and head.count("(") == head.count(")"):
            yield view.edit(node, f"{head}({rest})", "grouping", 0.4)
    if isinstance(node.right, ast.BinOp):
        inner = node.right
        head = view.source.text[view.source.span(node)[0] : view.source.span(inner.left)[1]]
        rest = view.source.text[view.source.span(inner.left)[1] : view.source.span(node)[1]]
        if rest.count("(") == rest.count(")") and head.count("(") == head.count(")"):
            yield view.edit(node, f"({head}){rest}", "grouping", 0.4)


def _is_small(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value in (1, -1, 2)


def grouping(view: View, node: ast.AST) -> Iterator[Edit]:
    """Parentheses that group what should not be grouped."""
    if isinstance(node, ast.BinOp | ast.BoolOp):
        start, end = view.source.span(node)
        text = view.source.text
        if (
            text[start - 1 : start] == "("
            and text[end : end + 1] == ")"
            and not re.match(r"[\w\])]", text[start - 2 : start - 1])
        ):
            yield view.edit((start - 1, end + 1), text[start:end], "grouping", 0.35)


def augmented(view: View, node: ast.AST) -> Iterator[Edit]:
    if isinstance(node, ast.AugAssign):
        sign, others = _BINARY.get(type(node.op), ("@", ()))
        if place := _gap(view, node.target, node.value, sign + "="):
            for other, prior in others:
                yield view.edit(place, other + "=", "operator", prior)
            yield view.edit(place, "=", "operator", 0.5)
    elif (
        isinstance(node, ast.Assign)
        and len(node.targets) == 1
        and isinstance(node.targets[0], ast.Name | ast.Attribute)
    ):
        place = _gap(view, node.targets[0], node.value, "=")
        for sign, prior in (("+=", 0.5), ("-=", 0.2), ("*=", 0.1), ("|=", 0.1)) if place else ():
            yield view.edit(place or (0, 0), sign, "operator", prior)


def logic(view: View, node: ast.AST) -> Iterator[Edit]:
    if isinstance(node, ast.BoolOp):
        sign, other = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        gaps = [_gap(view, a, b, sign) for a, b in zip(node.values, node.values[1:], strict=False)]
        for place in gaps if len(gaps) > 1 else ():
            if place:
                yield view.edit(place, other, "and/or", 0.6)
        if all(gaps):  # all of them at once
            text, start = view.source.of(node), view.source.span(node)[0]
            for place in reversed([one for one in gaps if one]):
                text = text[: place[0] - start] + other + text[place[1] - start :]
            yield view.edit(node, text, "and/or", 0.9)
        for value in node.values:
            rest = [view.source.of(one) for one in node.values if one is not value]
            yield view.edit(node, f" {sign} ".join(rest), "condition dropped", 0.45)
    if isinstance(node, ast.UnaryOp):
        operand = view.source.of(node.operand)
        if isinstance(node.op, ast.Not):
            yield view.edit(node, operand, "negation", 0.9)
        elif isinstance(node.op, ast.USub | ast.Invert):
            yield view.edit(node, operand, "sign", 0.7)


def negations(view: View, node: ast.AST) -> Iterator[Edit]:
    """Conditions that say the opposite."""
    tests: list[ast.expr] = []
    if isinstance(node, ast.If | ast.While | ast.IfExp):
        tests.append(node.test)
    elif isinstance(node, ast.comprehension):
        tests += node.ifs
    elif isinstance(node, ast.BoolOp):
        tests += node.values
    elif isinstance(node, ast.Return) and isinstance(node.value, ast.Call | ast.BoolOp | ast.Compare | ast.Name):
        tests.append(node.value)
    for test in tests:
        if not isinstance(test, ast.Compare) and not (isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)):
            weight = 0.8 if not isinstance(node, ast.Return) else 0.35
            text = view.source.of(test)
            yield view.edit(
                test, f"not {text}" if not isinstance(test, ast.BoolOp) else f"not ({text})", "negation", weight
            )
    if isinstance(node, ast.IfExp):
        body, other = view.source.of(node.body), view.source.of(node.orelse)
        yield view.edit(node, f"{other} if {view.source.of(node.test)} else {body}", "branches swapped", 0.6)


def by_one(view: View, node: ast.AST) -> Iterator[Edit]:
    """Bounds, indexes and results that are one off."""
    spots: list[tuple[ast.expr, float]] = []
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("range", "randrange", "islice")
    ):
        spots += [(one, 0.9) for one in node.args]
    elif isinstance(node, ast.Slice):
        spots += [(one, 0.7) for one in (node.lower, node.upper) if one is not None]
    elif isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Slice | ast.Tuple):
        spots.append((node.slice, 0.6))
    elif isinstance(node, ast.Compare):
        spots += [(one, 0.35) for one in [node.left, *node.comparators]]
    elif isinstance(node, ast.Return | ast.Assign) and node.value is not None:
        spots.append((node.value, 0.4))
    elif isinstance(node, ast.Call):
        spots += [(one, 0.3) for one in node.args]
    for spot, prior in spots:
        if isinstance(spot, ast.Constant | ast.JoinedStr | ast.List | ast.Dict | ast.Tuple | ast.Starred | ast.Lambda):
            continue  # numbers have a repair of their own
        text = view.source.of(spot)
        simple = isinstance(spot, ast.Name | ast.Attribute | ast.Call | ast.Subscript | ast.BinOp)
        for sign in (" + 1", " - 1"):
            yield view.edit(spot, (text if simple else f"({text})") + sign, "off by one", prior)


REPAIRS = (comparisons, arithmetic, grouping, augmented, logic, negations, by_one)
