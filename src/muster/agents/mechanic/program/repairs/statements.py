"""Whole statements: in the wrong order, on the wrong level, one too many."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator

from ..source import Edit
from . import View

_FIXED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal)


def _movable(view: View, node: ast.AST) -> bool:
    if not isinstance(node, ast.stmt) or isinstance(node, _FIXED) or not view.source.alone(node):
        return False
    if isinstance(view.source.parent(node), ast.Module | ast.ClassDef):
        return False
    return not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))


def order(view: View, node: ast.AST) -> Iterator[Edit]:
    """Exchanged with the one below."""
    if not _movable(view, node) or not isinstance(node, ast.stmt):
        return
    block = view.source.block(node)
    place = block.index(node)
    for below, prior in ((1, 0.5), (2, 0.2)):
        if place + below < len(block) and _movable(view, block[place + below]):
            (start, end), (begin, stop) = view.source.rows(node), view.source.rows(block[place + below])
            text = view.source.text
            if text[begin:stop].endswith("\n"):
                yield view.edit((start, stop), text[end:stop] + text[start:end], "statement moved", prior)


def level(view: View, node: ast.AST) -> Iterator[Edit]:
    """Out of the block that it ends, or into the one before it."""
    if not _movable(view, node) or not isinstance(node, ast.stmt):
        return
    block = view.source.block(node)
    parent = view.source.parent(node)
    start, end = view.source.rows(node)
    text = textwrap.dedent(view.source.text[start:end])
    if block[-1] is node and len(block) > 1 and isinstance(parent, ast.For | ast.While | ast.If | ast.With | ast.Try):
        outer = view.source.indent(parent)
        below = view.source.rows(parent)[1]
        moved = view.source.text[end:below] + textwrap.indent(text, outer)
        yield view.edit((start, below), moved, "statement moved out", 0.6)
    place = block.index(node)
    above = block[place - 1] if place else None
    if isinstance(above, ast.For | ast.While | ast.If | ast.With) and view.source.alone(above.body[-1]):
        tail = above.orelse if isinstance(above, ast.If) and above.orelse else above.body
        yield view.edit((start, end), textwrap.indent(text, view.source.indent(tail[-1])), "statement moved in", 0.5)


def jumps(view: View, node: ast.AST) -> Iterator[Edit]:
    if isinstance(node, ast.Break):
        yield view.edit(node, "continue", "jump", 0.8)
    elif isinstance(node, ast.Continue):
        yield view.edit(node, "break", "jump", 0.7)
        yield view.edit(node, "pass", "jump", 0.3)
    elif isinstance(node, ast.Pass) and any(isinstance(one, ast.For | ast.While) for one in view.source.above(node)):
        yield view.edit(node, "continue", "jump", 0.6)
        yield view.edit(node, "break", "jump", 0.5)
    elif isinstance(node, ast.Return) and any(isinstance(one, ast.For | ast.While) for one in view.source.above(node)):
        yield view.edit(node, "continue", "jump", 0.3)
    if (
        isinstance(node, ast.If)
        and view.source.alone(node.body[-1])
        and any(isinstance(one, ast.For | ast.While) for one in view.source.above(node))
    ):
        last = node.body[-1]
        if not isinstance(last, ast.Break | ast.Continue | ast.Return | ast.Raise):
            end = view.source.rows(last)[1]
            for word, prior in (("break", 0.4), ("continue", 0.4)):
                yield view.edit((end, end), f"{view.source.indent(last)}{word}\n", "jump", prior)


def branches(view: View, node: ast.AST) -> Iterator[Edit]:
    """`elif` for `if` and the other way round; a condition that should not be there."""
    if not isinstance(node, ast.If):
        return
    start = view.source.span(node)[0]
    text = view.source.text
    if text[start : start + 4] == "elif":
        yield view.edit((start, start + 4), "if", "branch", 0.5)
    else:
        block = view.source.block(node)
        place = block.index(node)
        if place and isinstance(block[place - 1], ast.If) and view.source.alone(node):
            yield view.edit((start, start + 2), "elif", "branch", 0.5)
        if (
            not node.orelse
            and view.source.alone(node)
            and view.source.alone(node.body[0])
            and node.body[0].lineno > node.lineno
        ):
            rows = view.source.rows(node)
            inside = text[view.source.rows(node.body[0])[0] : rows[1]]
            body = textwrap.indent(textwrap.dedent(inside), view.source.indent(node))
            yield view.edit(rows, body, "condition dropped", 0.25, True)


def removals(view: View, node: ast.AST) -> Iterator[Edit]:
    if not _movable(view, node) or not isinstance(node, ast.stmt):
        return
    start, end = view.source.rows(node)
    if len(view.source.block(node)) > 1 and view.source.text[start : start + 60].lstrip()[:4] != "elif":
        yield view.edit((start, end), "", "statement removed", 0.25, True)
    elif not isinstance(node, ast.Pass) and view.source.text[start : start + 60].lstrip()[:4] != "elif":
        yield view.edit(node, "pass", "statement removed", 0.15, True)


def additions(view: View, node: ast.AST) -> Iterator[Edit]:
    """`x.sort()` and the like that was forgotten behind a statement that binds x."""
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and _movable(view, node):
        end, indent = view.source.rows(node)[1], view.source.indent(node)
        for tail in (".sort()", ".reverse()"):
            yield view.edit((end, end), f"{indent}{node.targets[0].id}{tail}\n", "call added", 0.15)
    if isinstance(node, ast.For | ast.While) and view.source.alone(node.body[-1]):
        end, indent = view.source.rows(node.body[-1])[1], view.source.indent(node.body[-1])
        targets = {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)}
        for name in sorted(targets & set(view.source.locals(view.source.function(node))))[:6]:
            for more, prior in ((" += 1", 0.35), (" -= 1", 0.2)):
                yield view.edit(
                    (end, end),
                    f"{indent}{name}{more}\n",
                    "step added",
                    prior if isinstance(node, ast.While) else prior * 0.6,
                )


REPAIRS = (order, level, jumps, branches, removals, additions)
