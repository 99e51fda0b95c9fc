"""Numbers, texts, truth values, empty things, slices and defaults."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Literal

from ..source import Edit, Function
from . import View


def numbers(view: View, node: ast.AST) -> Iterator[Edit]:
    if not isinstance(node, ast.Constant) or type(node.value) not in (int, float):
        return
    value = node.value
    assert isinstance(value, int | float)
    near: dict[int | float, float] = {}
    if isinstance(value, int):
        near = {
            value + 1: 0.8,
            value - 1: 0.8,
            -value: 0.4,
            0: 0.5,
            1: 0.5,
            value * 10: 0.25,
            value // 10: 0.25,
            value + 2: 0.2,
        }
        if isinstance(view.source.parent(node), ast.Subscript):
            near[-1] = 0.7
    else:
        near = {
            -value: 0.3,
            value * 10: 0.35,
            value / 10: 0.35,
            value + 1: 0.4,
            value - 1: 0.4,
            value * 2: 0.2,
            value / 2: 0.3,
            1 - value: 0.2,
            0.0: 0.2,
            1.0: 0.2,
        }
    for shift in view.facts.shifts if isinstance(value, int) else ():
        near.setdefault(value + shift, 0.6)
    for other in view.facts.numbers:
        near.setdefault(other, 0.35)
    for other in view.source.numbers:
        near.setdefault(other, 0.2)
    for digits in _digits(value):
        near.setdefault(digits, 0.3)
    for other, prior in near.items():
        if other != value or type(other) is not type(value):
            text = f"{other:.12g}" if isinstance(other, float) else str(other)
            if isinstance(other, float) and text.lstrip("-").isdigit():
                text += ".0"
            yield view.edit(
                node,
                text,
                "number",
                prior,
                other in view.facts.numbers and isinstance(view.source.parent(node), ast.Return),
            )


def _digits(value: int | float) -> Iterator[int]:
    """Two digits of a long number exchanged, as fingers do; and its neighbours among round numbers."""
    text = str(value)
    if isinstance(value, int) and len(text) > 1:
        for one in range(len(text) - 1):
            swapped = text[:one] + text[one + 1] + text[one] + text[one + 2 :]
            if swapped.lstrip("-").isdigit():
                yield int(swapped)
        yield from (value * 2, value // 2, value + 10, value - 10, value * 100, value // 100)


def words(view: View, node: ast.AST) -> Iterator[Edit]:
    """True and None and what may be meant for them."""
    if not isinstance(node, ast.Constant):
        return
    if node.value is True or node.value is False:
        yield view.edit(node, str(not node.value), "truth value", 1.0)
        yield view.edit(node, "None", "truth value", 0.3)
    elif node.value is None:
        parent = view.source.parent(node)
        weight = 0.45 if isinstance(parent, ast.Return | ast.Call | ast.arguments | ast.Assign) else 0.1
        for other in ("[]", '""', "0", "{}", "False", "True", "()", "set()"):
            yield view.edit(node, other, "empty value", weight)


def texts(view: View, node: ast.AST) -> Iterator[Edit]:
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or view.source.is_doc(node):
        return
    if isinstance(view.source.parent(node), ast.JoinedStr):
        yield from _part(view, node)
        return
    source = view.source.of(node)
    if not source or source[-1] not in "'\"" or source.startswith(('"""', "'''")) or _joined(source):
        return
    for other, prior in _neighbours(view, node.value).items():
        if other != node.value:
            yield view.edit(node, _quoted(other, source), "text", prior)


def _joined(source: str) -> bool:
    """Whether it is several literals, one behind the other."""
    try:
        quote = source.lstrip("rRbBuU")[0]
        return quote in source.lstrip("rRbBuU")[1:-1].replace("\\" + quote, "")
    except IndexError:
        return True


def _quoted(value: str, like: str) -> str:
    """A literal in the manner of the one it replaces."""
    prefix = like[: len(like) - len(like.lstrip("rRuUbB"))]
    quote = like[-1]
    if "r" in prefix.lower() and quote not in value and "\n" not in value and not value.endswith("\\"):
        return f"{prefix}{quote}{value}{quote}"
    body = repr(value)[1:-1] if repr(value)[0] == "'" else repr(value + '"')[1:-2]
    body = body.replace("\\'", "'")
    return f"{quote}{body.replace(quote, chr(92) + quote)}{quote}"


def _neighbours(view: View, value: str) -> dict[str, float]:
    near: dict[str, float] = {}
    for found, wanted in view.facts.pairs:
        for other in aligned(value, found, wanted):
            near.setdefault(other, 0.9)
    for other in view.facts.strings:
        if SequenceMatcher(None, value, other).ratio() >= 0.6:
            near.setdefault(other, 0.6)
    for other in view.source.strings:
        if len(other) < 60 and SequenceMatcher(None, value, other).ratio() >= 0.5:
            near.setdefault(other, 0.35)
        elif len(value) <= 3 and len(other) <= 3:
            near.setdefault(other, 0.3)
    for other in _variants(value):
        near.setdefault(other, 0.35)
    return near


def aligned(value: str, found: str, wanted: str) -> list[str]:
    """Where that text is part of what was found: what stands in the same place of what was wanted."""
    start = found.find(value) if value else -1
    if start < 0 or len(found) * len(wanted) > 4_000_000:
        return []
    codes = SequenceMatcher(None, found, wanted, autojunk=False).get_opcodes()
    begins, ends = _turned(start, codes), _turned(start + len(value), codes)
    return [wanted[begin:end] for begin in begins for end in ends if begin <= end and wanted[begin:end] != value][:4]


def _turned(
    place: int, codes: list[tuple[Literal["replace", "delete", "insert", "equal"], int, int, int, int]]
) -> list[int]:
    """The places of the one text that a place of the other may stand for."""
    places = set()
    for tag, start, end, begin, stop in codes:
        if start <= place <= end:
            places |= (
                {begin + place - start}
                if tag == "equal"
                else ({begin, stop} if start < place < end or start == end else {begin if place == start else stop})
            )
    return sorted(places)


def _variants(value: str) -> Iterator[str]:
    yield from (value.lower(), value.upper(), value.capitalize(), value.strip(), value + " ", " " + value, value + "\n")
    yield from (
        value.rstrip("\n"),
        value + "s",
        value.removesuffix("s"),
        "",
        " ",
        ",",
        ", ",
        "\n",
        "-",
        "_",
        "/",
        ".",
        ":",
    )
    if value in ("r", "w", "a", "rb", "wb"):
        yield from ("r", "w", "a", "rb", "wb")
    for old, new in (
        ("<", ">"),
        (">", "<"),
        ("^", "<"),
        ("+", "*"),
        ("*", "+"),
        (r"\d", r"\w"),
        (r"\w", r"\d"),
        (r"\d", r"\d+"),
        (r"\w", r"\w+"),
        (r"\d", r"-?\d"),
        ("[a-z]", "[A-Za-z]"),
        (r"\s", r"\s*"),
        (r"\s+", r"\s*"),
        ("%m", "%M"),
        ("%M", "%m"),
        ("%d", "%m"),
        ("%y", "%Y"),
        ("%Y", "%y"),
        ("%H", "%I"),
        ("%I", "%H"),
        (".*", ".*?"),
        (".", r"\."),
        ("f", "d"),
        ("d", "f"),
        ("x", "X"),
        ("{}", "{!r}"),
        ("%s", "%r"),
        ("0", ""),
    ):
        if old in value:
            yield value.replace(old, new, 1)
    if len(value) > 1 and any(sign in value for sign in "\\[(^$+*"):
        yield from ("^" + value, value + "$", value.removesuffix("$"), value.removeprefix("^"))
    for match in re.finditer(r"\d", value):
        digit = int(match[0])
        for other in (digit + 1, digit - 1):
            if 0 <= other < 10:
                yield value[: match.start()] + str(other) + value[match.end() :]
    if 1 < len(value) <= 12:
        yield value[::-1]
        yield from (value[:place] + value[place + 1 :] for place in range(len(value)))


def _part(view: View, node: ast.Constant) -> Iterator[Edit]:
    """The plain text within an f-string, whose place the tree doesn't tell in every version."""
    whole = next(
        one
        for one in view.source.above(node)
        if not isinstance(one, ast.JoinedStr | ast.FormattedValue)
        or not isinstance(view.source.parent(one), ast.JoinedStr | ast.FormattedValue)
    )
    source, start = view.source.of(whole), view.source.span(whole)[0]
    assert isinstance(node.value, str)
    raw = repr(node.value)[1:-1].replace("{", "{{").replace("}", "}}")
    if source.count(raw) != 1:
        return
    place = start + source.index(raw)
    for other, prior in _neighbours(view, node.value).items():
        body = repr(other)[1:-1] if "'" not in other and '"' not in other else ""
        if other != node.value and (body or not other):
            yield view.edit((place, place + len(raw)), body.replace("{", "{{").replace("}", "}}"), "text", prior)


def slices(view: View, node: ast.AST) -> Iterator[Edit]:
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        value = view.source.atom(node.value)
        part = node.slice
        lower, upper, step = (view.source.of(one) if one else "" for one in (part.lower, part.upper, part.step))
        tail = f":{step}" if step else ""
        if lower:
            yield view.edit(node, f"{value}[:{upper}{tail}]", "slice", 0.4)
            yield view.edit(node, f"{value}[:{lower}{tail}]", "slice", 0.5)
        if upper:
            yield view.edit(node, f"{value}[{lower}:{tail}]", "slice", 0.4)
            yield view.edit(node, f"{value}[{upper}:{tail}]", "slice", 0.5)
            yield view.edit(node, f"{value}[{lower}:-{upper}{tail}]", "slice", 0.3)
        if not lower:
            yield view.edit(node, f"{value}[1:{upper}{tail}]", "slice", 0.5)
        if not upper:
            yield view.edit(node, f"{value}[{lower}:-1{tail}]", "slice", 0.4)
        if step:
            yield view.edit(node, f"{value}[{lower}:{upper}]", "slice", 0.5)
        elif not lower and not upper:
            yield view.edit(node, f"{value}[::-1]", "slice", 0.5)
        yield view.edit(node, value, "slice dropped", 0.4)
    elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        place = view.source.of(node.slice)
        if place.lstrip("-").isdigit():
            yield view.edit(node.slice, f"{place}:", "slice", 0.3)
            yield view.edit(node.slice, f":{place}", "slice", 0.3)
        elif isinstance(node.slice, ast.Name | ast.BinOp):
            yield view.edit(node.slice, f"-{place}" if isinstance(node.slice, ast.Name) else f"-({place})", "sign", 0.2)


def defaults(view: View, node: ast.AST) -> Iterator[Edit]:
    """A list, dictionary or set that all calls share."""
    if not isinstance(node, Function):
        return
    spec = node.args
    pairs = [*zip([*spec.posonlyargs, *spec.args][::-1], spec.defaults[::-1], strict=False)]
    pairs += [
        (one, default) for one, default in zip(spec.kwonlyargs, spec.kw_defaults, strict=False) if default is not None
    ]
    first = node.body[0]
    if (
        view.source.is_doc(first.value)
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
        else False
    ):
        first = node.body[1] if len(node.body) > 1 else first
    for parameter, default in pairs:
        if isinstance(default, ast.List | ast.Dict | ast.Set | ast.Call) and view.source.alone(first):
            start, end = view.source.span(default)
            below = view.source.rows(first)[0]
            indent = view.source.indent(first)
            guard = (
                f"{indent}if {parameter.arg} is None:\n{indent}    {parameter.arg} = {view.source.text[start:end]}\n"
            )
            text = "None" + view.source.text[end:below] + guard
            yield view.edit((start, below), text, "shared default", 0.9)


REPAIRS = (numbers, words, texts, slices, defaults)
