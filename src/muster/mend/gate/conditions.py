"""A condition, taken apart into atoms: what is looked at, how, and what is expected of it."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

from msgspec import Struct

from muster.mend.gate.syntax import dotted, is_value, last, text, truth

_OPERATORS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}
_OPPOSITE = {"==": "!=", "<": ">=", ">": "<=", "is": "is not", "in": "not in", "contains": "lacks", "truthy": "falsy"}
_OPPOSITE |= {after: before for before, after in _OPPOSITE.items()}
_MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "in": "contains", "not in": "lacks"}
_SYMMETRIC = ("==", "!=", "is", "is not")

# What `unittest` calls the operators.
_UNITTEST = {
    "assertEqual": "==",
    "assertEquals": "==",
    "assertNotEqual": "!=",
    "assertListEqual": "==",
    "assertDictEqual": "==",
    "assertSetEqual": "==",
    "assertTupleEqual": "==",
    "assertMultiLineEqual": "==",
    "assertSequenceEqual": "==",
    "assertIs": "is",
    "assertIsNot": "is not",
    "assertIn": "in",
    "assertNotIn": "not in",
    "assertLess": "<",
    "assertLessEqual": "<=",
    "assertGreater": ">",
    "assertGreaterEqual": ">=",
}
_ROOTS = ("expect", "assert_that", "assertThat", "ensure", "that")
_KIT = re.compile(r"(not_)?(to|is|has|have|does|should|contains?|matches|equals?)(_|$)")


class Atom(Struct, frozen=True, dict=True):
    """One assertion that can't be taken apart any further."""

    op: str
    subject: ast.expr
    expected: ast.expr | None
    source: str  # as it was written

    @cached_property
    def about(self) -> str:
        return text(self.subject)

    @cached_property
    def wants(self) -> str:
        return text(self.expected) if self.expected is not None else ""

    @cached_property
    def key(self) -> tuple[str, ...]:
        sides = (self.about, self.wants)
        return (self.op, *(sorted(sides) if self.op in _SYMMETRIC else sides))

    @property
    def words(self) -> str:
        """All of it as one text, for likeness."""
        return f"{self.about} {self.op} {self.wants}".strip()


def atoms(test: ast.expr, source: str, negated: bool = False) -> Iterator[Atom]:
    """The atoms of a condition that is asserted."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from atoms(test.operand, source, not negated)
    elif isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or if negated else ast.And):
        for one in test.values:
            yield from atoms(one, source, negated)
    elif isinstance(test, ast.Compare) and not (negated and len(test.ops) > 1):
        lefts = [test.left, *test.comparators]
        for left, op, right in zip(lefts, test.ops, test.comparators, strict=False):
            yield compared(left, _OPERATORS[type(op)], right, source, negated)
    else:
        yield _plain(test, source, negated)


def compared(left: ast.expr, op: str, right: ast.expr, source: str, negated: bool = False) -> Atom:
    """A comparison, with what is expected on the right."""
    if _fixed(left) and not _fixed(right):
        left, right, op = right, left, _MIRRORED.get(op, op)
    return Atom(_OPPOSITE[op] if negated else op, left, right, source)


def _fixed(node: ast.expr) -> bool:
    return is_value(node) or isinstance(node, ast.JoinedStr) or _approx(node)


def _approx(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and last(node.func) == "approx"


def _plain(test: ast.expr, source: str, negated: bool) -> Atom:
    if isinstance(test, ast.Call) and not negated:
        name = last(test.func)
        if name in ("startswith", "endswith") and isinstance(test.func, ast.Attribute) and len(test.args) == 1:
            return Atom(name, test.func.value, test.args[0], source)
        if dotted(test.func) in ("re.match", "re.search", "re.fullmatch") and len(test.args) >= 2:
            return Atom(name, test.args[1], test.args[0], source)
        if name == "isclose" and len(test.args) >= 2:
            return Atom(
                "==", test.args[0], ast.Call(ast.Name("approx", ast.Load()), test.args[1:], test.keywords), source
            )
        if name == "bool" and len(test.args) == 1:
            return Atom("truthy", test.args[0], None, source)
    return Atom("falsy" if negated else "truthy", test, None, source)


def called(call: ast.Call, source: str) -> list[Atom] | None:
    """What a call asserts that is known by its name: `unittest`, mocks, `expect(...)`; None: it asserts nothing."""
    name = last(call.func)
    if name == "raises" and len(call.args) >= 2:
        return [_raising(call.args[0], call.args[1], call.args[2:], source)]
    if isinstance(call.func, ast.Attribute) and name.startswith("assert"):
        return _method(call, name, source)
    return _chain(call, source)


def _raising(kind: ast.expr, function: ast.expr, given: list[ast.expr], source: str) -> Atom:
    """`raises(X, f, 1)` says what `with raises(X): f(1)` says."""
    what = text(ast.Call(function, given, []))
    expected = ast.Tuple([ast.Tuple([kind], ast.Load()), ast.Constant(None)], ast.Load())
    return Atom("raises", ast.Name(what, ast.Load()), expected, source)


def _method(call: ast.Call, name: str, source: str) -> list[Atom]:
    assert isinstance(call.func, ast.Attribute)
    given = call.args
    if name in _UNITTEST and len(given) >= 2:
        return [compared(given[0], _UNITTEST[name], given[1], source)]
    if name in ("assertTrue", "assertFalse") and given:
        return [*atoms(given[0], source, name == "assertFalse")]
    if name in ("assertIsNone", "assertIsNotNone") and given:
        return [compared(given[0], "is" if name == "assertIsNone" else "is not", ast.Constant(None), source)]
    if name == "assertIsInstance" and len(given) >= 2:
        return [Atom("truthy", ast.Call(ast.Name("isinstance", ast.Load()), given[:2], []), None, source)]
    if name == "assertAlmostEqual" and len(given) >= 2:
        approx = ast.Call(ast.Name("approx", ast.Load()), given[1:], call.keywords)
        return [Atom("==", given[0], approx, source)]
    if name in ("assertRegex", "assertRegexpMatches") and len(given) >= 2:
        return [Atom("search", given[0], given[1], source)]
    if name in ("assertRaises", "assertRaisesRegex", "assertWarns") and len(given) >= 2:
        return [_raising(given[0], given[1], given[2:], source)]
    rest = ast.Tuple([*given, *(word.value for word in call.keywords)], ast.Load())
    if dotted(call.func.value) in ("self", "cls") or (
        "." in dotted(call.func) and given and not name.startswith("assert_called")
    ):
        subject = given[0] if given else call.func
        return [Atom(f"call:{name}", subject, ast.Tuple(rest.elts[1:], ast.Load()), source)]
    return [Atom(f"call:{name}", call.func.value, rest, source)]


def _chain(call: ast.Call, source: str) -> list[Atom] | None:
    """`expect(x).to_succeed().to_print("a")`: each link asserts something of the same subject."""
    links: list[tuple[str, ast.Call]] = []
    node: ast.expr = call
    while isinstance(node, ast.Call | ast.Attribute):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            links.append((node.func.attr, node))
            node = node.func.value
        elif isinstance(node, ast.Attribute):
            node = node.value
        else:
            break
    if not (links and isinstance(node, ast.Call) and last(node.func) in _ROOTS and node.args):
        return None
    subject = node.args[0]
    found = []
    for name, link in reversed(links):
        if _KIT.match(name):
            given = [*link.args, *(word.value for word in link.keywords)]
            found.append(Atom(f"expect:{name}", subject, ast.Tuple(given, ast.Load()) if given else None, source))
    return found or None


def always(atom: Atom) -> bool:
    """Whether it holds whatever the program does."""
    about, wants = atom.about, atom.wants
    if atom.op in ("truthy", "falsy"):
        known = truth(atom.subject)
        return known is (atom.op == "truthy") or (atom.op == "truthy" and _tautology(atom.subject))
    if atom.op in ("==", "is", "<=", ">=", "startswith", "endswith", "contains", "in") and about == wants:
        return True
    if atom.op == "==" and atom.expected is not None and dotted(_function(atom.expected)).endswith("ANY"):
        return True
    if is_value(atom.subject) and atom.expected is not None and is_value(atom.expected):
        return _holds(atom)
    if atom.op == ">=" and _is_len(atom.subject):
        return wants in ("0", "-1")
    if atom.op in (">", "!=") and _is_len(atom.subject):
        return wants.startswith("-")
    if atom.op in ("contains", "startswith", "endswith") and wants in ("''", "b''"):
        return True
    if atom.op in ("search", "match", "fullmatch") and wants in ("''", "'.*'", "'(?s).*'", "'[\\\\s\\\\S]*'"):
        return True
    if atom.op == "in" and isinstance(atom.expected, ast.Tuple | ast.List | ast.Set):
        members = [text(one) for one in atom.expected.elts]
        return about in members or {*members} >= {"True", "False"}
    return False


def _function(node: ast.expr) -> ast.expr:
    return node.func if isinstance(node, ast.Call) else node


def _is_len(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and last(node.func) == "len"


def _holds(atom: Atom) -> bool:
    """Two constants compared."""
    try:
        left, right = ast.literal_eval(atom.subject), ast.literal_eval(atom.expected)  # type: ignore[arg-type]
        return compare(atom.op, left, right)
    except (ValueError, TypeError, SyntaxError):
        return False


def compare(op: str, left: object, right: object) -> bool:
    """Whether a comparison of two values holds; `is` is equality, for constants are not the same object anywhere."""
    if op == "contains":
        op, left, right = "in", right, left
    elif op == "lacks":
        op, left, right = "not in", right, left
    known: dict[str, Callable[[Any, Any], bool]] = {
        "==": operator.eq,
        "is": operator.eq,
        "!=": operator.ne,
        "is not": operator.ne,
        "<": operator.lt,
        "<=": operator.le,
        ">": operator.gt,
        ">=": operator.ge,
        "in": lambda one, many: one in many,
        "not in": lambda one, many: one not in many,
    }
    return op in known and bool(known[op](left, right))


def _tautology(test: ast.expr) -> bool:
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or):
        parts = [one for value in test.values for one in [*atoms(value, "")]]
        if any(always(one) for one in parts):
            return True
        keys = {one.key for one in parts}
        return any((_OPPOSITE.get(op, ""), *rest) in keys for op, *rest in keys)
    if isinstance(test, ast.Call) and last(test.func) == "all" and test.args:
        inner = test.args[0]
        over = inner.generators[0].iter if isinstance(inner, ast.GeneratorExp | ast.ListComp) else inner
        return isinstance(over, ast.List | ast.Tuple) and not over.elts
    if isinstance(test, ast.IfExp):
        return all(always(one) for value in (test.body, test.orelse) for one in atoms(value, ""))
    if (
        isinstance(test, ast.Call)
        and last(test.func) in ("isinstance", "issubclass", "hasattr")
        and len(test.args) == 2
    ):
        return text(test.args[1]) in ("object", "'__class__'")
    return isinstance(test, ast.Lambda)
