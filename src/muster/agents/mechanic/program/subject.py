"""A repair in one line of plain words, read from the syntax trees before and after it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from .candidates import Candidate
from .source import Edit, Source

_LENGTH = 72  # of the line
_WIDTHS = (44, 30, 22, 16, 10)  # of the code in it: the widest that fits
_CONDITIONS = ("values", "ifs")
_TESTS = ("test", *_CONDITIONS)
_STATEMENTS = ("body", "orelse", "finalbody")


@dataclass(frozen=True)
class Difference:
    """The smallest part of a file that holds all that was changed; one side is missing where something came or went."""

    old: ast.AST | None
    new: ast.AST | None
    field: str  # of the node above
    above: tuple[ast.AST, ...]  # outermost first


def subject(candidate: Candidate, sources: Mapping[str, Source]) -> str:
    """What was changed, and in which function."""
    steps = list(_steps(candidate, sources))
    told = [_fitting(phrase, places) for phrase, places in steps]
    both = ", and ".join([told[0], *(one[0].lower() + one[1:] for one in told[1:])])
    if len(both) <= _LENGTH:
        return both
    if len(told) == 1:
        return _clipped(both, _LENGTH)
    where = " and ".join(dict.fromkeys(f"`{places[0]}`" for _, places in steps))
    return _clipped(f"Make {len(told)} changes in {where}", _LENGTH)


def _steps(candidate: Candidate, sources: Mapping[str, Source]) -> Iterator[tuple[tuple[str, ...], list[str]]]:
    """For each edit: a phrase, in which every second part is code, and names of the place, the longest first."""
    texts = {path: source.text for path, source in sources.items()}
    for edit in (*candidate.under, candidate.edit):
        old = texts[edit.path]
        texts[edit.path] = old[: edit.start] + edit.text + old[edit.end :]
        found = _difference(ast.parse(old), ast.parse(texts[edit.path]))
        name = ".".join([_module(edit.path), *(one.name for one in found.above if isinstance(one, _NAMED))])
        yield _phrase(edit, old, found), [name, name.rpartition(".")[2]]


_NAMED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def _module(path: str) -> str:
    """As it is imported, as far as its path tells."""
    inside = f"/{path}".rpartition("/src/")[2].strip("/")
    return inside.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _fitting(phrase: tuple[str, ...], places: list[str]) -> str:
    """As much of it as the line takes; what can't be told apart when it is cut is not set against each other."""
    tries = [
        (cut, "".join(f"`{one}`" if at % 2 else one for at, one in enumerate(cut)) + f" in `{place}`")
        for parts in (phrase, phrase[:2])
        for place in places
        for width in _WIDTHS
        for cut in [tuple(_clipped(one, width) if at % 2 else one for at, one in enumerate(parts))]
    ]
    fits = (line for cut, line in tries if len(line) <= _LENGTH and len(set(cut[1::2])) == len(cut[1::2]))
    return next(fits, tries[-1][1])


def _clipped(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


# -- what differs ------------------------------------------------------------------------------------------------------


def _difference(old: ast.AST, new: ast.AST, above: tuple[ast.AST, ...] = (), field: str = "") -> Difference:
    here = Difference(old, new, field, above)
    if type(old) is not type(new):
        return here
    fields = [name for name in old._fields if not _same(getattr(old, name), getattr(new, name))]
    if len(fields) != 1:
        return Difference(old, new, field, (*above, old) if isinstance(old, _NAMED) else above)
    before, after = getattr(old, fields[0]), getattr(new, fields[0])
    if isinstance(before, list) and isinstance(after, list):
        return _in_list(before, after, (*above, old), fields[0]) or Difference(old, new, fields[0], (*above, old))
    if isinstance(before, ast.expr) and isinstance(after, ast.expr):
        return _difference(before, after, (*above, old), fields[0])
    if isinstance(before, ast.arguments) and isinstance(after, ast.arguments):
        return _difference(before, after, (*above, old), fields[0])
    return Difference(old, new, fields[0], (*above, old) if isinstance(old, _NAMED) else above)


def _in_list(old: list[ast.AST], new: list[ast.AST], above: tuple[ast.AST, ...], field: str) -> Difference | None:
    """One item that differs, came or went; else nothing."""
    places = [at for at, (one, other) in enumerate(zip(old, new, strict=False)) if not _same(one, other)]
    at = places[0] if places else min(len(old), len(new))
    if len(old) == len(new) and len(places) == 1 and not isinstance(old[at], ast.cmpop):
        return _difference(old[at], new[at], above, field)
    if len(new) == len(old) + 1 and _same(old[at:], new[at + 1 :]):
        return Difference(None, new[at], field, above)
    if len(old) == len(new) + 1 and _same(old[at + 1 :], new[at:]):
        return Difference(old[at], None, field, above)
    return None


def _same(one: object, other: object) -> bool:
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(_same(a, b) for a, b in zip(one, other, strict=True))
    if isinstance(one, ast.AST) and isinstance(other, ast.AST):
        return ast.dump(one) == ast.dump(other)
    return type(one) is type(other) and one == other


# -- in words ----------------------------------------------------------------------------------------------------------


def _phrase(edit: Edit, text: str, found: Difference) -> tuple[str, ...]:
    old, new = text[edit.start : edit.end], edit.text
    if told := _by_kind(edit.kind, old.strip(), new.strip()):
        return told
    if found.old is None or found.new is None:
        return _one_sided(found)
    if edit.kind == "condition dropped" and isinstance(found.old, ast.If):
        return "Drop the condition ", _code(found.old.test)
    if isinstance(found.old, ast.mod | ast.stmt) and not isinstance(found.new, ast.Return):
        return _rows(_row(old), _row(new))
    return _condition(found) or _call(found.old, found.new) or _replaced(found.old, found.new)


def _by_kind(kind: str, old: str, new: str) -> tuple[str, ...]:
    """Where the kind of a repair says more than what it makes of the tree."""
    if kind == "shared default":  # in two places at once
        return ("Make the default value anew in each call",)
    if kind == "comparison":
        return "Compare with ", new
    if kind in ("operator", "branch"):
        return "Use ", new, " instead of ", old
    if kind in ("operands swapped", "branches swapped"):
        return f"Swap the {'sides' if kind[0] == 'o' else 'branches'} of ", _line(old)
    if kind.startswith("statement moved"):
        return "Move ", _row(old)
    return ()


def _rows(old: str, new: str) -> tuple[str, ...]:
    if old and new:
        return "Use ", new, " instead of ", old
    return ("Add ", new) if new else ("Remove ", old)


def _row(text: str) -> str:
    """The first line that has something on it."""
    return next((_line(line) for line in text.splitlines() if line.strip()), "")


def _line(text: str) -> str:
    """On one line, without the backquote, which ends code in a subject."""
    words = " ".join(text.split()).replace("`", "'")
    return "".join(one if one.isprintable() else "?" for one in words)


def _code(node: ast.AST | None) -> str:
    return _line(ast.unparse(node)) if node else ""


def _one_sided(found: Difference) -> tuple[str, ...]:
    """Something that came, or went."""
    came, code = found.old is None, _code(found.new or found.old)
    owner = found.above[-1]
    if found.field in _CONDITIONS and isinstance(owner, ast.BoolOp | ast.comprehension):
        return "Add the condition " if came else "Drop the condition ", code
    if found.field not in _STATEMENTS and isinstance(owner, ast.Call):
        return "Pass " if came else "Do not pass ", code, " to ", _code(owner.func)
    return "Add " if came else "Remove ", code


def _condition(found: Difference) -> tuple[str, ...]:
    """Negated, or with a condition more or less."""
    old, new = found.old, found.new
    if isinstance(new, ast.UnaryOp) and isinstance(new.op, ast.Not) and _same(new.operand, old):
        return "Negate ", _code(old)
    if isinstance(old, ast.UnaryOp) and isinstance(old.op, ast.Not) and _same(old.operand, new):
        return "Do not negate ", _code(new)
    if isinstance(new, ast.IfExp) and _same(new.body, old):
        return "Use ", _code(new.orelse), " unless ", _code(new.test)
    if isinstance(old, ast.BoolOp) and isinstance(new, ast.BoolOp) and _same(old.values, new.values):
        signs = ("and", "or") if isinstance(new.op, ast.And) else ("or", "and")
        return "Use ", signs[0], " instead of ", signs[1]
    for more, less, word in ((new, old, "Add"), (old, new, "Drop")):
        if isinstance(more, ast.BoolOp) and len(more.values) == 2:
            rest = [one for one in more.values if not _same(one, less)]
            if len(rest) == 1 and (isinstance(more.op, ast.And) or found.field in _TESTS):
                return f"{word} the condition ", _code(rest[0])
            if len(rest) == 1 and word == "Add":
                return "Use ", _code(rest[0]), " where there is no ", _code(less)
    return ()


def _call(old: ast.AST, new: ast.AST) -> tuple[str, ...]:
    """A call around what was there, or none any more."""
    for more, less, word in ((new, old, "Call "), (old, new, "Do not call ")):
        if isinstance(more, ast.Call) and [one for one in more.args if _same(one, less)]:
            return word, _code(more.func), " on ", _code(less)
        if isinstance(more, ast.Call) and isinstance(more.func, ast.Attribute) and _same(more.func.value, less):
            return word, f".{more.func.attr}({', '.join(map(_code, more.args))})", " on ", _code(less)
    return ()


def _replaced(old: ast.AST, new: ast.AST) -> tuple[str, ...]:
    if isinstance(old, ast.Expr) and isinstance(new, ast.Return) and new.value and _same(old.value, new.value):
        return "Return ", _code(new.value)
    before, after = _items(old), _items(new)
    moved = [one for one, other in zip(before, after, strict=False) if one != other]
    if len(moved) == 2 and sorted(before) == sorted(after):
        return "Swap ", moved[0], " and ", moved[1]
    return "Use ", _code(new), " instead of ", _code(old)


def _items(node: ast.AST) -> list[str]:
    found = node.args if isinstance(node, ast.Call) else getattr(node, "elts", [])
    return list(map(_code, found))
