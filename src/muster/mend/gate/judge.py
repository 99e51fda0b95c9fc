"""Of an assertion that was replaced by another: does the new one say less?"""

from __future__ import annotations

import ast
import builtins
import re
from difflib import SequenceMatcher

from muster.mend.gate.conditions import Atom, always, compare
from muster.mend.gate.syntax import dotted, is_value, keyword, last, leaves, names_in, number, text, value
from muster.mend.layout import Layout

_STRONG = ("==", "is")
_WEAK = (
    "!=", "is not", "in", "not in", "contains", "lacks", "<", "<=", ">", ">=", "truthy", "falsy", "startswith",
    "endswith", "search", "match", "fullmatch", "does",
)  # fmt: skip
# Of each, what says less of the same subject.
_LESS: dict[str, tuple[str, ...]] = {
    "contains": ("truthy", "falsy", "lacks", "is not", "does"),
    "in": ("truthy", "not in", "is not", "does"),
    "startswith": ("contains", "truthy", "search", "match", "is not", "does"),
    "endswith": ("contains", "truthy", "search", "is not", "does"),
    "fullmatch": ("match", "search", "truthy", "contains", "is not", "does"),
    "match": ("search", "truthy", "is not", "does"),
    "search": ("truthy", "is not", "does"),
    "<": ("<=", "!=", "truthy", "is not", "does"),
    ">": (">=", "!=", "truthy", "is not", "does"),
    "<=": ("truthy", "is not", "does"),
    ">=": ("truthy", "is not", "does"),
    "truthy": ("is not", "does", "falsy"),
    "falsy": ("is not", "does", "truthy"),
    "raises": ("does", "warns"),
}
# Put around what is compared, these let more things be equal.
_UNORDERED = ("sorted", "set", "frozenset", "Counter", "assertCountEqual", "assertItemsEqual")
_LOOSE = (
    "len",
    "bool",
    "type",
    "lower",
    "upper",
    "casefold",
    "strip",
    "rstrip",
    "lstrip",
    "round",
    "abs",
    "any",
    "all",
)
_LOOSE_KIT = ("contain", "include", "match", "start", "end", "truthy", "exist", "some", "any", "like", "close", "not")
_MOCK = ("assert_called_once_with", "assert_called_with", "assert_any_call", "assert_called_once", "assert_called")
_TOLERANCE = 1e-6
_ALIKE = 0.6


def likeness(old: Atom, new: Atom) -> float:
    """How likely the one was replaced by the other."""
    before, after = old.about, new.about
    if before == after:
        return 2.0 + (old.op == new.op) + (old.wants == new.wants)
    if old.op == new.op and old.wants == new.wants and (before in after or after in before):
        return 1.9
    if old.source == new.source:  # the same words, about something that was made otherwise
        return 1.8
    if before in after or before in new.wants or after in before:
        return 1.5
    if always(new):
        return 0.65
    same = SequenceMatcher(None, old.words[:400], new.words[:400], autojunk=False).ratio()
    return same if same >= _ALIKE else 0.0


def verdict(old: Atom, new: Atom, layout: Layout) -> str:
    """The rule that the replacement breaks; `expectation` and `changed-subject` where it is another, not a lesser one; empty: none."""
    if always(new):
        return "constant-assertion"
    if old.op == "does":
        return "" if old.about in f"{new.about} {new.wants}" else "changed-subject"
    if _alternative(old, new):
        return "weakened-assertion"
    if old.op == new.op == "raises" or old.op == new.op == "warns":
        return _raises(old, new)
    if old.about == new.about:
        return _same_subject(old, new, layout)
    return _wrapped(old, new)


def _alternative(old: Atom, new: Atom) -> bool:
    """`a` became `a or b`, or `a if c else d`, or `any(...)`."""
    if new.op != "truthy" or not isinstance(new.subject, ast.BoolOp | ast.IfExp):
        return False
    return text(new.subject) != old.about and old.about in new.about


def _same_subject(old: Atom, new: Atom, layout: Layout) -> str:
    if old.op == new.op:
        return _same_operator(old, new, layout)
    if old.op.startswith("expect:") and new.op.startswith("expect:"):
        return _kit(old.op, new.op)
    if old.op.startswith("call:") and new.op.startswith("call:"):
        return _mock(old.op[5:], new.op[5:])
    if old.op in _STRONG and new.op in _STRONG:
        return "" if old.wants == new.wants else _expectation(old, new, layout)
    if old.op in _STRONG:
        return "ignored-order" if new.op.removeprefix("call:") in _UNORDERED else "weakened-assertion"
    if new.op in _LESS.get(old.op, ()):
        return "weakened-assertion"
    if new.op in _STRONG:
        return "" if _follows(old, new) else "expectation"
    return "expectation" if old.op in _WEAK and new.op in _WEAK else "changed-subject"


def _same_operator(old: Atom, new: Atom, layout: Layout) -> str:
    if old.op in _STRONG:
        return _expectation(old, new, layout)
    if old.op in ("<", "<=", ">", ">="):
        return _bound(old, new)
    if old.op in ("search", "match", "fullmatch"):
        return "loosened-pattern" if _looser(old.expected, new.expected) else "expectation"
    if old.op in ("contains", "startswith", "endswith") and old.expected is not None and new.expected is not None:
        before, after = value(old.expected), value(new.expected)
        if isinstance(before, str) and isinstance(after, str):
            return "weakened-assertion" if after in before else "" if before in after else "expectation"
    if old.op == "in" and isinstance(old.expected, ast.Tuple | ast.List | ast.Set):
        return _members(old.expected, new.expected)
    if old.op.startswith("call:"):
        return _call_arguments(old, new, layout)
    return _expectation(old, new, layout)


def _members(old: ast.Tuple | ast.List | ast.Set, new: ast.expr | None) -> str:
    if not isinstance(new, ast.Tuple | ast.List | ast.Set):
        return "expectation"
    before, after = {text(one) for one in old.elts}, {text(one) for one in new.elts}
    return "weakened-assertion" if before < after else "" if after <= before else "expectation"


def _call_arguments(old: Atom, new: Atom, layout: Layout) -> str:
    words = {text(one) for one in _elements(old.expected)}, {text(one) for one in _elements(new.expected)}
    if words[0] > words[1]:
        return "weakened-assertion"
    return _expectation(old, new, layout)


def _elements(node: ast.expr | None) -> list[ast.expr]:
    return node.elts if isinstance(node, ast.Tuple) else [node] if node is not None else []


def _expectation(old: Atom, new: Atom, layout: Layout) -> str:
    """The same question, another answer."""
    if old.expected is None or new.expected is None:
        return "" if old.expected is None else "weakened-assertion"
    before, after = _tolerance(old.expected), _tolerance(new.expected)
    if after > before:
        return "widened-tolerance"
    core, now = _exact(old.expected), _exact(new.expected)
    if text(core) == text(now) or (is_value(core) and is_value(now) and _equal(value(core), value(now))):
        return ""
    if unordered(now) and not unordered(core):
        return "ignored-order"
    if _loosely(now, old.expected):
        return "weakened-assertion"
    return "expected-from-program" if from_program(new, old.expected, layout) else "expectation"


def _equal(one: object, other: object) -> bool:
    return type(one) is type(other) and one == other


def _loosely(now: ast.expr, before: ast.expr) -> bool:
    """An expectation that equals many things: `mock.ANY`, or one inside."""
    return any(last(node) == "ANY" for node in ast.walk(now)) and not any(
        last(node) == "ANY" for node in ast.walk(before)
    )


def unordered(node: ast.AST) -> bool:
    """Whether the order of what it is made of is thrown away."""
    return isinstance(node, ast.Call) and last(node.func) in _UNORDERED


def from_program(new: Atom, old: ast.expr, layout: Layout) -> bool:
    """Whether the program was asked for what is expected of it, and wasn't before."""
    assert new.expected is not None
    known = {*names_in(old)}
    if any(name not in known and "." in name and layout.is_program(name) for name in names_in(new.expected)):
        return True
    asked = {dotted(node.func) for node in ast.walk(new.subject) if isinstance(node, ast.Call)}
    own = {name for name in asked if name and "." not in name and not hasattr(builtins, name)}
    calls = {dotted(node.func) for node in ast.walk(new.expected) if isinstance(node, ast.Call)}
    return bool(calls & own - known)


def _exact(node: ast.expr) -> ast.expr:
    if isinstance(node, ast.Call) and last(node.func) == "approx" and node.args:
        return node.args[0]
    return node


def _tolerance(node: ast.expr) -> float:
    """How far off a value may be, as a share or as a distance: they are only compared with each other."""
    if not (isinstance(node, ast.Call) and last(node.func) == "approx"):
        return 0.0
    places = number(keyword(node, "places"))
    if places is not None:
        return float(10**-places)
    given = [number(keyword(node, name)) for name in ("rel", "abs", "rel_tol", "abs_tol", "delta")]
    given += [number(one) for one in node.args[1:3]]
    return max([one for one in given if one is not None], default=_TOLERANCE)


def _bound(old: Atom, new: Atom) -> str:
    before, after = number(old.expected), number(new.expected)
    if before is None or after is None:
        return "expectation"
    wider = after > before if old.op in ("<", "<=") else after < before
    return "widened-tolerance" if wider else ""


def _kit(old: str, new: str) -> str:
    before, after = old.removeprefix("expect:"), new.removeprefix("expect:")
    if any(word in after for word in _LOOSE_KIT) and not any(word in before for word in _LOOSE_KIT):
        return "weakened-assertion"
    return "" if any(word in before for word in _LOOSE_KIT) and "equal" in after else "expectation"


def _mock(old: str, new: str) -> str:
    if new in _UNORDERED:
        return "ignored-order"
    if old in _MOCK and new in _MOCK:
        return "weakened-assertion" if _MOCK.index(new) > _MOCK.index(old) else ""
    return "expectation"


def _follows(old: Atom, new: Atom) -> bool:
    """Whether what is now expected exactly has what was expected before."""
    if new.expected is None:
        return False
    if not is_value(new.expected):
        return old.op in ("truthy", "is not", "!=")
    now = value(new.expected)
    wanted = value(old.expected) if old.expected is not None else None
    try:
        if old.op == "truthy":
            return bool(now)
        if old.op == "falsy":
            return not now
        if old.op in ("search", "match", "fullmatch"):
            return bool(getattr(re, old.op)(wanted, now))
        if old.op in ("startswith", "endswith"):
            return bool(getattr(now, old.op)(wanted))
        return compare(old.op, now, wanted)
    except (TypeError, AttributeError, re.error):
        return False


def _wrapped(old: Atom, new: Atom) -> str:
    """Something was put around the subject, or taken away."""
    inner, outer = old.subject, new.subject
    if _around(inner, outer):
        if unordered(outer):
            return "ignored-order"
        if isinstance(outer, ast.Call) and (last(outer.func) in _LOOSE or new.op in ("truthy", "falsy")):
            return "weakened-assertion"
        if isinstance(outer, ast.Subscript) and isinstance(outer.slice, ast.Slice):
            return "weakened-assertion"
        if isinstance(outer, ast.Attribute | ast.Subscript) and old.op in _STRONG:
            return "weakened-assertion" if new.op in _WEAK or _part(old, new) else "changed-subject"
        return "weakened-assertion" if old.op in _STRONG and new.op in _WEAK else "changed-subject"
    if _around(outer, inner):
        # What was looked at through something is now looked at itself.
        loose = isinstance(inner, ast.Call) and (last(inner.func) in (*_LOOSE, *_UNORDERED, "isinstance", "hasattr"))
        return "" if loose and new.op in _STRONG else "changed-subject"
    if old.op in ("truthy", "falsy") and isinstance(old.subject, ast.BoolOp):
        return ""  # one of several was chosen
    if old.op in _STRONG and new.op in _WEAK and (_shares(inner, outer) or _shares(inner, new.expected or outer)):
        return "weakened-assertion"
    if old.op == new.op == "truthy" and old.about.removeprefix("all(") == new.about.removeprefix("any("):
        return "weakened-assertion"
    if old.op == "raises" and new.op == "does":
        return "weakened-assertion"
    return "changed-subject"


def _part(old: Atom, new: Atom) -> bool:
    """Whether a part of the old expectation is all that is left."""
    if old.expected is None or new.expected is None or not is_value(old.expected) or not is_value(new.expected):
        return False
    wanted, now = [*leaves(value(old.expected))], [*leaves(value(new.expected))]
    return len(now) < len(wanted) and all(one in wanted for one in now)


def _around(inner: ast.expr, outer: ast.expr) -> bool:
    words = text(inner)
    return any(isinstance(node, ast.expr) and node is not outer and text(node) == words for node in ast.walk(outer))


def _shares(one: ast.expr, other: ast.expr) -> bool:
    """Whether both ask the same call."""
    calls = {text(node) for node in ast.walk(one) if isinstance(node, ast.Call)}
    return any(isinstance(node, ast.Call) and text(node) in calls for node in ast.walk(other))


# -- raises and patterns ----------------------------------------------------------------------------------------------


def _raises(old: Atom, new: Atom) -> str:
    (kinds, pattern), (now, later) = _elements(old.expected), _elements(new.expected)
    before, after = _elements(kinds), _elements(now)
    if any(not any(_is_a(one, wide) for wide in before) for one in after) or len(after) > len(before):
        if any(_is_a(one, wide) for one in before for wide in after):
            return "broader-raises"
        return "changed-subject" if old.about != new.about else "expectation"
    said, says = value(pattern), value(later)
    if said is not None and (says is None or _looser(pattern, later)):
        return "broader-raises"
    if old.about != new.about:
        return "changed-subject"
    return "" if said is None or said == says else "expectation"


def _is_a(one: ast.expr, wide: ast.expr) -> bool:
    if text(one) == text(wide):
        return True
    kinds = [getattr(builtins, last(node), None) for node in (one, wide)]
    if last(wide) in ("Exception", "BaseException"):
        return True
    return all(isinstance(kind, type) for kind in kinds) and issubclass(*kinds)  # type: ignore[arg-type]


def _looser(old: ast.expr | None, new: ast.expr | None) -> bool:
    """Whether a pattern matches what the old one says, and is not it."""
    before = value(old) if old is not None else None
    after = value(new) if new is not None else None
    if not (isinstance(before, str) and isinstance(after, str)) or before == after:
        return False
    try:
        # What the old pattern says literally; a new one that is longer and still matches is no looser.
        plain = re.sub(r"\\([^\w])", r"\1", before)
        return bool(re.search(after, plain)) and not (len(after) > len(before) and before in after)
    except re.error:
        return False
