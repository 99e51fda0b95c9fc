"""Names and arguments: the wrong one of those in scope, two that are swapped, one too many or too few."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from difflib import SequenceMatcher
from itertools import pairwise

from ..source import Edit, Function, parameters
from . import View

_MOST = 14  # names tried in one place


def _like(one: str, other: str) -> float:
    return 0.6 + 0.6 * SequenceMatcher(None, one.lower(), other.lower()).ratio()


def variables(view: View, node: ast.AST) -> Iterator[Edit]:
    if not isinstance(node, ast.Name):
        return
    function = view.source.function(node)
    called = _is_called(view, node)
    near: dict[str, float] = {}
    for name in _around(view, function):
        near[name] = 0.35 * _like(node.id, name)
    for name in view.source.globals:
        same = (name.isupper() == node.id.isupper()) and ((name in view.functions) == (node.id in view.functions))
        near.setdefault(name, (0.25 if same else 0.08) * _like(node.id, name))
    if called and hasattr(builtins, node.id):
        for name in ("int", "float", "str", "list", "set", "tuple", "dict", "bool"):
            near.setdefault(
                name, 0.25 if node.id in ("int", "float", "str", "list", "set", "tuple", "dict", "bool") else 0.05
            )
    if "NameError" in view.facts.types and f"'{node.id}'" in "".join(f"'{one}'" for one in view.facts.strings):
        near = {name: prior + 0.5 for name, prior in near.items()}
    weight = 1.0 if isinstance(node.ctx, ast.Load) else 0.3
    for name, prior in sorted(near.items(), key=lambda pair: (-pair[1], pair[0]))[:_MOST]:
        if name != node.id and not (
            called and name not in view.functions and not hasattr(builtins, name) and prior < 0.3
        ):
            yield view.edit(node, name, "name", prior * weight)
    klass = view.source.klass(node)
    if klass and function and "self" in parameters(function) and node.id in view.source.attributes(klass):
        yield view.edit(node, f"self.{node.id}", "name", 0.7)


def _is_called(view: View, node: ast.AST) -> bool:
    parent = view.source.parent(node)
    return isinstance(parent, ast.Call) and parent.func is node


def _around(view: View, function: Function | None) -> list[str]:
    """What can be named in a function without being global."""
    names: list[str] = []
    while function is not None:
        names += view.source.locals(function)
        function = view.source.function(function)
    return list(dict.fromkeys(names))


def attributes(view: View, node: ast.AST) -> Iterator[Edit]:
    if not isinstance(node, ast.Attribute):
        return
    own = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
    known = view.source.attributes(view.source.klass(node)) if own else list(view.attributes)
    called = _is_called(view, node)
    end = view.source.span(node)[1]
    place = (end - len(node.attr), end)
    near = {
        name: (0.4 if own else 0.2) * _like(node.attr, name)
        for name in known
        if (name in view.functions) == called or not own
    }
    if not own and node.attr not in view.attributes:
        near = {name: prior * 0.3 for name, prior in near.items()}
    for name, prior in sorted(near.items(), key=lambda pair: (-pair[1], pair[0]))[:_MOST]:
        if name != node.attr:
            yield view.edit(place, name, "attribute", prior)
    if own and node.attr in view.source.locals(view.source.function(node)):
        yield view.edit(node, node.attr, "name", 0.6)


def keys(view: View, node: ast.AST) -> Iterator[Edit]:
    """The wrong key of those that the file knows."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
        spot = node.slice
    elif (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "get"
        and node.args
        and isinstance(node.args[0], ast.Constant)
    ):
        spot = node.args[0]
    else:
        return
    quote = view.source.of(spot)[-1:]
    for name in view.source.strings:
        if name.isidentifier() and name != spot.value and isinstance(spot.value, str):
            yield view.edit(spot, f"{quote}{name}{quote}", "key", 0.4 * _like(spot.value, name))


def arguments(view: View, node: ast.AST) -> Iterator[Edit]:
    if not isinstance(node, ast.Call):
        return
    plain = [view.source.span(one) for one in node.args]
    texts = [view.source.of(one) for one in node.args]
    for one in range(len(plain)):
        for two in range(one + 1, len(plain)):
            between = view.source.text[plain[one][1] : plain[two][0]]
            yield view.edit((plain[one][0], plain[two][1]), texts[two] + between + texts[one], "arguments swapped", 0.6)
    whole = [*node.args, *node.keywords]
    for number, argument in enumerate(whole if len(whole) > 1 else [*node.keywords]):
        rest = [view.source.of(one) for one in whole if one is not argument]
        yield view.edit(
            node,
            f"{view.source.of(node.func)}({', '.join(rest)})",
            "argument dropped",
            0.35 if number else 0.2,
            isinstance(argument, ast.keyword) is False,
        )
    yield from _missing(view, node)


def _missing(view: View, node: ast.Call) -> Iterator[Edit]:
    """An argument that the function could take and is not given."""
    name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
    text = view.source.of(node)
    comma = ", " if node.args or node.keywords else ""
    given = {one.arg for one in node.keywords}
    here = _around(view, view.source.function(node))
    if target := view.functions.get(name):
        wanted = [one for one in parameters(target) if one not in ("self", "cls")]
        for parameter in wanted[len(node.args) :]:
            if parameter not in given:
                if parameter in here:
                    yield view.edit(node, f"{text[:-1]}{comma}{parameter}={parameter})", "argument added", 0.8)
                if parameter in view.source.attributes(view.source.klass(node)):
                    yield view.edit(node, f"{text[:-1]}{comma}{parameter}=self.{parameter})", "argument added", 0.6)
                for value in ("True", "False"):
                    yield view.edit(node, f"{text[:-1]}{comma}{parameter}={value})", "argument added", 0.2)
        if len(node.args) < len(wanted) and "TypeError" in view.facts.types:
            for value in here[:8]:
                yield view.edit(node, f"{text[:-1]}{comma}{value})", "argument added", 0.4)
    options = {
        "sorted": ("reverse=True", "key=str.lower", "key=len"),
        "sort": ("reverse=True", "key=str.lower", "key=len"),
        "max": ("default=0", "default=None", "key=len"),
        "min": ("default=0", "default=None", "key=len"),
        "enumerate": ("start=1",),
        "round": ("1", "2"),
        "sum": ("0.0",),
        "split": ('","', "1", '" "', "maxsplit=1"),
        "rsplit": ("1", "maxsplit=1"),
        "pop": ("0", "None"),
        "get": ("0", '""', "[]", "{}", "False"),
        "dumps": ("indent=2", "sort_keys=True", "ensure_ascii=False"),
        "splitlines": ("keepends=True",),
        "makedirs": ("exist_ok=True",),
        "mkdir": ("parents=True", "exist_ok=True"),
        "zip": ("strict=True",),
        "rstrip": ('"\\n"',),
        "strip": ('"\\n"', '"/"'),
        "replace": ("1",),
        "next": ("None", '""'),
        "getattr": ("None",),
        "open": ('encoding="utf-8"', '"w"', '"a"'),
    }
    for option in options.get(name, ()):
        if option.partition("=")[0] not in given:
            yield view.edit(node, f"{text[:-1]}{comma}{option})", "argument added", 0.5)


def pairs(view: View, node: ast.AST) -> Iterator[Edit]:
    """Two things of a tuple in the wrong order."""
    if isinstance(node, ast.Tuple) and 2 <= len(node.elts) <= 4:
        spans = [view.source.span(one) for one in node.elts]
        for (start, end), (begin, stop) in pairwise(spans):
            text = view.source.text
            yield view.edit((start, stop), text[begin:stop] + text[end:begin] + text[start:end], "pair swapped", 0.6)
    elif isinstance(node, ast.DictComp):
        key, value = view.source.of(node.key), view.source.of(node.value)
        start, end = view.source.span(node.key)[0], view.source.span(node.value)[1]
        yield view.edit((start, end), f"{value}: {key}", "pair swapped", 0.5)


REPAIRS = (variables, attributes, keys, arguments, pairs)
