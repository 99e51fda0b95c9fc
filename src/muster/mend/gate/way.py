"""How a test comes to a statement: under which conditions, in which loops, and what would catch a failure there."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from muster.mend.gate.syntax import last, text

SKIPS = ("skip", "xfail", "exit", "skipTest", "_exit")
BROAD = ("Exception", "BaseException", "AssertionError")


class Way(Struct, frozen=True):
    """How the reader came to a statement."""

    guards: frozenset[str] = frozenset()
    loops: tuple[str, ...] = ()
    swallowed: str = ""
    dead: str = ""
    case: bool = False
    file: str = ""
    depth: int = 0


def caught(way: Way, kinds: Sequence[ast.expr | None], name: str) -> Way:
    """What stands under something that catches: its failures are swallowed, or it may be passed over."""
    if any(kind is None or last(kind) in BROAD for kind in kinds):
        return replace(way, swallowed=way.swallowed or name)
    return replace(way, guards=way.guards | {f"nothing caught by {name}"})


def leaving(stmt: ast.Try | ast.TryStar) -> set[str]:
    """The handlers after which nothing more of the test is run, though nothing has failed."""
    names = set()
    for handler in stmt.handlers:
        final = handler.body[-1]
        skips = isinstance(final, ast.Expr) and isinstance(final.value, ast.Call) and last(final.value.func) in SKIPS
        if isinstance(final, ast.Return | ast.Continue | ast.Break) or skips:
            names.add(f"nothing caught by `except {text(handler.type) if handler.type else ''}`")
    return names


def goes_on(body: list[ast.stmt]) -> bool:
    """Whether a handler passes the failure on."""
    final = body[-1]
    if isinstance(final, ast.Expr) and isinstance(final.value, ast.Call):
        return last(final.value.func) == "fail"
    return isinstance(final, ast.Raise)
