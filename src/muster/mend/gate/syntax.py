"""Small questions to a syntax tree."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any

Env = Mapping[str, ast.expr]
Function = ast.FunctionDef | ast.AsyncFunctionDef

# What a name stands for is written out in full up to this many characters, then it is its digest.
_LONG = 600
_LONG_VALUE = 20_000


def text(node: ast.AST) -> str:
    """The code of that node, in one way of writing."""
    try:
        return ast.unparse(node)
    except ValueError:  # an f-string with something put in that this Python can't write there
        return ast.dump(node)


def dotted(node: ast.AST) -> str:
    """`a.b.c` of names and attributes; empty for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        above = dotted(node.value)
        return f"{above}.{node.attr}" if above else ""
    return ""


def last(node: ast.AST) -> str:
    """The last name of what is called: `c` of `a.b().c`."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def name_of(path: str) -> ast.expr:
    """The expression of a dotted name."""
    first, *rest = path.split(".")
    node: ast.expr = ast.Name(first, ast.Load())
    for part in rest:
        node = ast.Attribute(node, part, ast.Load())
    return node


def is_value(node: ast.AST) -> bool:
    """Whether it is a literal all through."""
    if isinstance(node, ast.Constant):
        return True
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return all(is_value(one) for one in node.elts)
    if isinstance(node, ast.Dict):
        return all(one is not None and is_value(one) for one in node.keys) and all(is_value(one) for one in node.values)
    if isinstance(node, ast.UnaryOp):
        return is_value(node.operand)
    if isinstance(node, ast.BinOp):
        return is_value(node.left) and is_value(node.right)
    return isinstance(node, ast.Call) and last(node.func) in ("set", "frozenset", "dict", "Path") and _values(node)


def _values(call: ast.Call) -> bool:
    return all(map(is_value, call.args)) and all(is_value(word.value) for word in call.keywords)


def value(node: ast.AST) -> object:
    """The value of a literal; the node's own code, in a tuple, where it has none."""
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return (text(node),)


def number(node: ast.AST | None) -> float | None:
    """The number that a literal is."""
    found = value(node) if node is not None else None
    return float(found) if isinstance(found, int | float) and not isinstance(found, bool) else None


def truth(node: ast.AST) -> bool | None:
    """Whether a condition always holds or never does; None where that depends."""
    if isinstance(node, ast.Constant):
        return bool(node.value)
    if (isinstance(node, ast.Name) and node.id == "TYPE_CHECKING") or dotted(node).endswith(".TYPE_CHECKING"):
        return False
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return bool(node.elts)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        inner = truth(node.operand)
        return None if inner is None else not inner
    if isinstance(node, ast.BoolOp):
        known = [truth(one) for one in node.values]
        decisive = isinstance(node.op, ast.Or)
        if decisive in known:
            return decisive
        return None if None in known else not decisive
    if isinstance(node, ast.Compare) and all(map(is_value, [node.left, *node.comparators])):
        return _compared(node)
    return None


def _compared(node: ast.Compare) -> bool | None:
    """Literals compared with each other."""
    values = [value(one) for one in (node.left, *node.comparators)]
    if len(values) != 2 or not isinstance(node.ops[0], ast.Eq | ast.NotEq | ast.Is | ast.IsNot):
        return None
    return (values[0] == values[1]) is isinstance(node.ops[0], ast.Eq | ast.Is)


class _Resolve(ast.NodeTransformer):
    """Names replaced by what they stand for, but for those bound in the expression itself."""

    def __init__(self, env: Env) -> None:
        self.env = env

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.env.get(node.id, node) if isinstance(node.ctx, ast.Load) else node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        self.generic_visit(node)
        node.values = [_put_in(one) for one in node.values]
        if all(isinstance(one, ast.Constant) for one in node.values):
            return ast.Constant("".join(str(one.value) for one in node.values if isinstance(one, ast.Constant)))
        return node

    def visit_Await(self, node: ast.Await) -> ast.expr:
        found: ast.expr = self.visit(node.value)
        return found

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        own = {one.arg for one in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)}
        return self._without(own, node)

    def visit_ListComp(self, node: ast.ListComp) -> ast.expr:
        return self._comprehension(node)

    def visit_SetComp(self, node: ast.SetComp) -> ast.expr:
        return self._comprehension(node)

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.expr:
        return self._comprehension(node)

    def visit_DictComp(self, node: ast.DictComp) -> ast.expr:
        return self._comprehension(node)

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> ast.expr:
        own = [name for part in node.generators for name in bound(part.target)]
        # What a comprehension calls its items is its own affair.
        names = {name: ast.Name(f"item{count}", ast.Load()) for count, name in enumerate(own)}
        inner = _Resolve({**self.env, **names})
        for part in node.generators:
            part.iter = inner.visit(part.iter)
            part.ifs = [inner.visit(one) for one in part.ifs]
            for target in ast.walk(part.target):
                if isinstance(target, ast.Name) and target.id in names:
                    target.id = names[target.id].id
        for field in ("elt", "key", "value"):
            if hasattr(node, field):
                setattr(node, field, inner.visit(getattr(node, field)))
        return node

    def _without(self, own: set[str], node: ast.expr) -> ast.expr:
        inner = _Resolve({name: one for name, one in self.env.items() if name not in own})
        return inner.generic_visit(node)  # type: ignore[return-value]


def _put_in(part: ast.expr) -> ast.expr:
    """What stands for a constant in an f-string is a part of it."""
    plain = isinstance(part, ast.FormattedValue) and part.conversion == -1 and part.format_spec is None
    inner = part.value if isinstance(part, ast.FormattedValue) else part
    if plain and isinstance(inner, ast.Constant) and isinstance(inner.value, str | int):
        return ast.Constant(str(inner.value))
    return part


def _copy(node: Any) -> Any:
    """A copy of a tree; several times as fast as `copy.deepcopy`."""
    if isinstance(node, list):
        return [_copy(one) for one in node]
    if not isinstance(node, ast.AST):
        return node
    made = type(node)()
    for name, one in vars(node).items():
        setattr(made, name, _copy(one))
    return made


def resolve(node: ast.expr, env: Env) -> ast.expr:
    """The expression with names replaced by what they stand for; folded where it is a literal."""
    plain: ast.expr = _Resolve(env).visit(_copy(node))
    if isinstance(plain, ast.NamedExpr):
        plain = plain.value
    return plain


def short(node: ast.expr) -> ast.expr:
    """The expression itself, or where it is long, a name made of its digest."""
    code = text(node)
    if len(code) <= _LONG or (len(code) <= _LONG_VALUE and is_value(node)):
        return node
    return ast.Name(f"long_{sha256(code.encode(errors='replace')).hexdigest()[:12]}", ast.Load())


def bound(target: ast.AST) -> Iterator[str]:
    """The names that an assignment to that target binds."""
    for node in ast.walk(target):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id


def assigned(nodes: list[ast.stmt]) -> Iterator[str]:
    """The names that those statements bind."""
    for stmt in nodes:
        for node in ast.walk(stmt):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id


def keyword(call: ast.Call, name: str) -> ast.expr | None:
    """The argument of that name."""
    return next((word.value for word in call.keywords if word.arg == name), None)


def argument(call: ast.Call, place: int, name: str) -> ast.expr | None:
    """The argument at that place, or of that name."""
    return call.args[place] if len(call.args) > place else keyword(call, name)


def names_in(node: ast.AST) -> Iterator[str]:
    """The dotted names in it, each in full."""
    if found := dotted(node):
        yield found
        return
    for child in ast.iter_child_nodes(node):
        yield from names_in(child)


def leaves(found: object) -> Iterator[object]:
    """The plain values in a value."""
    if isinstance(found, dict):
        for key, one in found.items():
            yield from leaves(key)
            yield from leaves(one)
    elif isinstance(found, list | tuple | set | frozenset):
        for one in found:
            yield from leaves(one)
    else:
        yield found


def says(words: str, leaf: object) -> bool | None:
    """Whether a text mentions a value; None where a value is too common to be looked for."""
    if leaf is None or isinstance(leaf, bool) or leaf in ("", b""):
        return None
    if isinstance(leaf, int | float):
        return re.search(rf"(?<![\w.]){re.escape(str(leaf))}(?!\w|\.\d)", words) is not None
    if not isinstance(leaf, str):
        return None
    lines = [" ".join(line.split()) for line in leaf.splitlines() if line.strip()]
    if not lines:
        return None
    plain = " ".join(words.split())
    edge = re.compile(r"\w")
    for line in lines:
        before = r"(?<!\w)" if edge.match(line[0]) else ""
        after = r"(?!\w)" if edge.match(line[-1]) else ""
        if not re.search(before + re.escape(line) + after, plain):
            return False
    return True


def bind(target: ast.expr, found: ast.expr, env: dict[str, ast.expr]) -> None:
    """Let names stand for what is assigned to them."""
    if isinstance(target, ast.Name):
        env[target.id] = found
    elif isinstance(target, ast.Tuple | ast.List):
        same = isinstance(found, ast.Tuple | ast.List) and len(found.elts) == len(target.elts)
        for place, one in enumerate(target.elts):
            part = found.elts[place] if same else ast.Subscript(found, ast.Constant(place), ast.Load())  # type: ignore[attr-defined]
            bind(one.value if isinstance(one, ast.Starred) else one, part, env)
    else:
        for name in bound(target):
            env[name] = found
