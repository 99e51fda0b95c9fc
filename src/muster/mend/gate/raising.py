"""`with raises(...)` and its like."""

from __future__ import annotations

import ast

from muster.mend.gate.conditions import Atom
from muster.mend.gate.syntax import bind, keyword, resolve, short, text


def exceptions(call: ast.Call) -> list[ast.expr]:
    first = call.args[0] if call.args else keyword(call, "expected_exception")
    return first.elts if isinstance(first, ast.Tuple) else [first] if first is not None else []


def raises(call: ast.Call, stmt: ast.With | ast.AsyncWith, env: dict[str, ast.expr], name: str) -> Atom:
    """`with raises(X, match=...)` asserts of its body that it raises."""
    inside = dict(env)
    lines = []
    for one in stmt.body:
        if isinstance(one, ast.Expr):
            lines.append(text(resolve(one.value, inside)))
        elif isinstance(one, ast.Assign):
            lines.append(text(resolve(one.value, inside)))
            for target in one.targets:
                bind(target, short(resolve(one.value, inside)), inside)
        elif not isinstance(one, ast.Pass | ast.Assert):
            lines.append(text(one))
    op = "warns" if "warn" in name.lower() else "raises"
    pattern = keyword(call, "match") or (call.args[1] if name == "assertRaisesRegex" and len(call.args) > 1 else None)
    expected = ast.Tuple([ast.Tuple(exceptions(call), ast.Load()), pattern or ast.Constant(None)], ast.Load())
    return Atom(op, ast.Name("; ".join(lines), ast.Load()), expected, text(call))
