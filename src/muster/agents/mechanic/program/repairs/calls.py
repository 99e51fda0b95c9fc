"""Calls: one that is missing or too many, and the wrong method or container of those that are alike."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..source import Edit, Function
from . import View

_METHODS = (
    ("append", "extend", "insert", "add", "appendleft"),
    ("add", "update", "discard", "remove", "append"),
    ("keys", "values", "items"),
    ("startswith", "endswith"),
    ("lower", "upper", "title", "capitalize", "casefold", "swapcase"),
    ("strip", "lstrip", "rstrip"),
    ("find", "rfind", "index", "rindex"),
    ("split", "rsplit", "partition", "rpartition", "splitlines"),
    ("partition", "rpartition"),
    ("pop", "popleft", "popitem", "remove"),
    ("union", "intersection", "difference", "symmetric_difference"),
    ("issubset", "issuperset", "isdisjoint"),
    ("ljust", "rjust", "center", "zfill"),
    ("isdigit", "isalpha", "isalnum", "isnumeric", "isdecimal", "isidentifier"),
    ("isupper", "islower", "istitle", "isspace"),
    ("match", "search", "fullmatch", "findall"),
    ("removeprefix", "removesuffix"),
    ("get", "setdefault", "pop"),
    ("write", "writelines"),
    ("read", "readline", "readlines"),
    ("floor", "ceil", "trunc"),
    ("exists", "isfile", "isdir", "is_file", "is_dir"),
    ("days", "seconds"),
    ("year", "month", "day"),
    ("hour", "minute", "second"),
    ("sort", "reverse"),
    ("sub", "subn"),
    ("load", "loads"),
    ("dump", "dumps"),
    ("count", "index"),
)
_FUNCTIONS = (
    ("min", "max", "sum", "len"),
    ("any", "all"),
    ("sorted", "reversed", "list"),
    ("int", "float", "round", "str", "bool", "abs"),
    ("str", "repr", "ascii"),
    ("list", "set", "tuple", "dict", "frozenset"),
    ("ord", "chr"),
    ("zip", "enumerate"),
    ("map", "filter"),
    ("isinstance", "issubclass"),
    ("floor", "ceil", "trunc", "round"),
    ("hasattr", "getattr"),
    ("defaultdict", "Counter", "OrderedDict", "dict"),
    ("ValueError", "TypeError", "KeyError", "IndexError", "LookupError", "RuntimeError"),
)
_WRAPS = (
    "str",
    "int",
    "list",
    "sorted",
    "set",
    "len",
    "float",
    "tuple",
    "abs",
    "dict",
    "round",
    "reversed",
    "bool",
    "repr",
)
_TAILS = (
    ".strip()",
    ".lower()",
    ".upper()",
    ".items()",
    ".copy()",
    ".rstrip()",
    ".split()",
    ".values()",
    ".keys()",
    "()",
    ".title()",
    '.rstrip("\\n")',
    ".lstrip()",
)
_UNWRAPPED = (*_WRAPS, "min", "max", "sum", "any", "all")


def methods(view: View, node: ast.AST) -> Iterator[Edit]:
    if isinstance(node, ast.Attribute):
        end = view.source.span(node)[1]
        near = dict.fromkeys(name for group in _METHODS if node.attr in group for name in group)
        for name in near:
            if name != node.attr:
                yield view.edit((end - len(node.attr), end), name, "method", 0.75)
        if node.attr in ("append", "extend"):
            parent = view.source.parent(node)
            if isinstance(parent, ast.Call) and len(parent.args) == 1:
                value = view.source.of(parent.args[0])
                yield view.edit(parent, f"{view.source.of(node.value)}.insert(0, {value})", "method", 0.3)
    elif isinstance(node, ast.Name):
        near = dict.fromkeys(name for group in _FUNCTIONS if node.id in group for name in group)
        for name in near:
            if name != node.id:
                yield view.edit(node, name, "function", 0.75)


def _spots(node: ast.AST) -> Iterator[tuple[ast.expr, float]]:
    """Values that something may have to be done to."""
    if isinstance(node, ast.Return | ast.Assign | ast.AugAssign | ast.AnnAssign) and node.value is not None:
        yield node.value, 0.5
    elif isinstance(node, ast.Call):
        yield from ((one, 0.35) for one in node.args if not isinstance(one, ast.Starred))
        yield from ((one.value, 0.3) for one in node.keywords)
        if isinstance(node.func, ast.Attribute):
            yield node.func.value, 0.3
    elif isinstance(node, ast.Compare):
        yield from ((one, 0.35) for one in [node.left, *node.comparators])
    elif isinstance(node, ast.For | ast.comprehension):
        yield node.iter, 0.6
    elif isinstance(node, ast.BinOp):
        yield from ((one, 0.35) for one in (node.left, node.right))
    elif isinstance(node, ast.Subscript):
        yield node.value, 0.2
        if not isinstance(node.slice, ast.Slice):
            yield node.slice, 0.35
    elif isinstance(node, ast.ListComp | ast.GeneratorExp | ast.SetComp):
        yield node.elt, 0.4
    elif isinstance(node, ast.DictComp):
        yield node.key, 0.35
        yield node.value, 0.35
    elif isinstance(node, ast.FormattedValue):
        yield node.value, 0.3


def missing(view: View, node: ast.AST) -> Iterator[Edit]:
    for spot, prior in _spots(node):
        if isinstance(spot, ast.Constant | ast.Lambda) or not view.source.of(spot):
            continue
        text = view.source.of(spot)
        inner = f"({text})" if isinstance(spot, ast.GeneratorExp) and not text.startswith("(") else text
        for name in _WRAPS:
            if not (isinstance(spot, ast.Call) and isinstance(spot.func, ast.Name) and spot.func.id == name):
                yield view.edit(spot, f"{name}({inner})", "call added", prior * 0.5 * _evidence(view, name))
        for tail in _TAILS:
            yield view.edit(
                spot, view.source.atom(spot) + tail, "call added", prior * 0.4 * _evidence(view, tail[1:-2])
            )
        for name, function in view.functions.items():
            own = name in view.source.globals
            if own and _takes_one(function) and view.source.function(spot) is not function:
                yield view.edit(spot, f"{name}({text})", "call added", prior * 0.5)
        klass = view.source.klass(node)
        for name in view.source.attributes(klass):
            found = view.functions.get(name)
            if found and [one.arg for one in found.args.args][:1] == ["self"] and len(found.args.args) == 2:
                yield view.edit(spot, f"self.{name}({text})", "call added", prior * 0.4)


def _evidence(view: View, name: str) -> float:
    """Whether the failure looks as if that very call were missing."""
    facts = view.facts
    strong = (
        (facts.case and name in ("lower", "upper", "title"))
        or (facts.space and name in ("strip", "lstrip", "rstrip", "split"))
        or (facts.order and name in ("sorted", "reversed"))
        or ("TypeError" in facts.types and name in ("int", "str", "list", "float", "tuple"))
    )
    return 2.5 if strong else 1.5 if name in ("strip", "lower", "sorted", "items", "str", "int", "list", "abs") else 1.0


def _takes_one(function: Function) -> bool:
    plain, given = function.args.args, function.args.defaults
    return len(plain) - len(given) <= 1 <= len(plain) and plain[0].arg not in ("self", "cls")


def needless(view: View, node: ast.AST) -> Iterator[Edit]:
    if not isinstance(node, ast.Call):
        return
    if isinstance(node.func, ast.Name) and len(node.args) == 1:
        known = node.func.id in _UNWRAPPED or node.func.id in view.functions
        yield view.edit(node, view.source.of(node.args[0]), "call dropped", 0.5 if known else 0.15, not known)
    if isinstance(node.func, ast.Attribute):
        tail = f".{node.func.attr}()" in _TAILS or node.func.attr in (
            "sort",
            "reverse",
            "strip",
            "rstrip",
            "lstrip",
            "title",
            "capitalize",
        )
        yield view.edit(node, view.source.of(node.func.value), "call dropped", 0.5 if tail else 0.15, not tail)
        if not node.args and not node.keywords:
            yield view.edit(node, view.source.of(node.func), "call dropped", 0.2)


def lookups(view: View, node: ast.AST) -> Iterator[Edit]:
    """A key that may not be there."""
    if (
        isinstance(node, ast.Subscript)
        and isinstance(node.ctx, ast.Load)
        and not isinstance(node.slice, ast.Slice | ast.Tuple)
    ):
        value, key = view.source.atom(node.value), view.source.of(node.slice)
        weight = 0.9 if "KeyError" in view.facts.types else 0.15
        for fallback in ("", ", 0", ', ""', ", []", ", {}", ", False", f", {key}"):
            yield view.edit(node, f"{value}.get({key}{fallback})", "lookup", weight)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get" and node.args:
        value, key = view.source.of(node.func.value), view.source.of(node.args[0])
        yield view.edit(node, f"{value}[{key}]", "lookup", 0.45 if view.facts.not_raised else 0.25)


def iterables(view: View, node: ast.AST) -> Iterator[Edit]:
    """Plain loops that want `items`, numbers or filters; comprehensions with one filter too many."""
    if isinstance(node, ast.comprehension):
        start = view.source.span(node.iter)[1]
        for test in node.ifs:
            before = view.source.text.rfind("if", start, view.source.span(test)[0])
            if before > 0:
                yield view.edit(
                    (view.source.span(node.iter)[1] if len(node.ifs) == 1 else before, view.source.span(test)[1]),
                    "",
                    "filter dropped",
                    0.4,
                )
        if isinstance(node.target, ast.Name) and not node.ifs:
            name = node.target.id
            end = view.source.span(node.iter)[1]
            for more, prior in ((name, 0.5), (f"{name} is not None", 0.35), (f"{name}.strip()", 0.25)):
                yield view.edit((end, end), f" if {more}", "filter added", prior)
    if isinstance(node, ast.ListComp | ast.SetComp):
        text = view.source.of(node)
        one, two = ("{", "}") if isinstance(node, ast.ListComp) else ("[", "]")
        yield view.edit(node, one + text[1:-1] + two, "container", 0.4)
    if isinstance(node, ast.List | ast.Tuple | ast.Dict) and isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
        empty = not (node.keys if isinstance(node, ast.Dict) else node.elts)
        for other in ("[]", "{}", "set()", "()") if empty else ():
            if other != view.source.of(node):
                yield view.edit(node, other, "container", 0.5)


REPAIRS = (methods, missing, needless, lookups, iterables)
