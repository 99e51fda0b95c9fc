"""The cases of a parametrised test, and the items of a loop, where they are written down."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import product

from muster.mend.gate.module import Unit
from muster.mend.gate.syntax import Env, argument, dotted, last, resolve, value

_MANY = 200  # beyond so many, a test is read once for all of them


def cases(unit: Unit, env: Env) -> list[dict[str, ast.expr] | None]:
    """What the parameters stand for in each case; one None for a test that has none."""
    sets = [found for mark in unit.marks if (found := parametrized(mark, env)) is not None]
    if not sets:
        return [None]
    count = 1
    for one in sets:
        count *= max(len(one), 1)
    if count > _MANY:
        return [None]
    return [{name: one for part in parts for name, one in part.items()} for parts in product(*sets)]


def parametrized(mark: ast.expr, env: Env) -> list[dict[str, ast.expr]] | None:
    """The cases that one `parametrize` gives; None for another mark, or where they are not written down."""
    if not isinstance(mark, ast.Call) or last(mark.func) not in ("parametrize", "expand"):
        return None
    names, given = argument(mark, 0, "argnames"), argument(mark, 1, "argvalues")
    rows = items(resolve(given, env)) if given is not None else None
    if names is None or rows is None:
        return None
    found = value(names)
    words = [one.strip() for one in found.split(",")] if isinstance(found, str) else [str(one) for one in found]  # type: ignore[attr-defined]
    return [_row(words, row) for row in rows if not _skipped(row)]


def _row(words: list[str], row: ast.expr) -> dict[str, ast.expr]:
    if isinstance(row, ast.Call) and last(row.func) == "param":
        return dict(zip(words, row.args, strict=False))
    if len(words) > 1 and isinstance(row, ast.Tuple | ast.List):
        return dict(zip(words, row.elts, strict=False))
    return {words[0]: row} if words else {}


def _skipped(row: ast.expr) -> bool:
    """A case that carries a skip of its own is no case."""
    return any(dotted(node).endswith(("mark.skip", "mark.xfail", "mark.skipif")) for node in ast.walk(row))


def items(over: ast.expr) -> list[ast.expr] | None:
    """What a loop over that runs through, where that is written down."""
    if isinstance(over, ast.List | ast.Tuple | ast.Set):
        found = over.elts
    elif isinstance(over, ast.Dict):
        found = [key for key in over.keys if key is not None]
    elif isinstance(over, ast.Call) and isinstance(over.func, ast.Attribute) and isinstance(over.func.value, ast.Dict):
        found = [*_entries(over.func.value, over.func.attr)]
    elif isinstance(over, ast.Subscript):
        found = _slice(over)
    else:
        return None
    return (
        None
        if (not found and not _empty(over)) or any(isinstance(one, ast.Starred) for one in found) or len(found) > _MANY
        else found
    )


def _empty(over: ast.expr) -> bool:
    return isinstance(over, ast.List | ast.Tuple | ast.Set | ast.Dict | ast.Subscript)


def _entries(table: ast.Dict, way: str) -> Iterator[ast.expr]:
    for key, one in zip(table.keys, table.values, strict=True):
        if key is not None:
            yield {"items": ast.Tuple([key, one], ast.Load()), "keys": key}.get(way, one)


def _slice(over: ast.Subscript) -> list[ast.expr]:
    """A slice of a list that is written down."""
    whole = items(over.value) if isinstance(over.value, ast.List | ast.Tuple) else None
    if whole is None or not isinstance(over.slice, ast.Slice):
        return [ast.Starred(over, ast.Load())]  # not known
    parts = (over.slice.lower, over.slice.upper, over.slice.step)
    try:
        return whole[slice(*(None if one is None else ast.literal_eval(one) for one in parts))]
    except (ValueError, TypeError):
        return [ast.Starred(over, ast.Load())]
