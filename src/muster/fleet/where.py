"""`--where`: a small expression over an agent's fields. What isn't in this file can't be written in one.

state == "waiting" and idle > "10m"
labels.team == "web" and not like(branch, "muster/tmp-*")
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from muster.agents import KINDS, Agent
from muster.core.duration import seconds
from muster.errors import UsageError
from muster.fleet import fields
from muster.fleet.registry import now

if TYPE_CHECKING:
    import ast

LONGEST, DEEPEST = 10_000, 50
Holds = Callable[[Agent, float], Any]
_HELP = (
    'compare fields with `==`, `<`, `in`, `like(name, "fix-*")`, `matches(name, "RE")`; join with `and`, `or`, `not`'
)


def matching(agents: Iterable[Agent], expression: str) -> list[Agent]:
    """The agents for which the expression holds."""
    holds, at = compiled(expression), now()
    return [agent for agent in agents if holds(agent, at)]


def compiled(expression: str) -> Holds:
    """What answers whether the expression holds; all that is wrong with it is said now."""
    if len(expression) > LONGEST:
        raise UsageError(f"an expression has at most {LONGEST:,} characters, this one has {len(expression):,}")
    import ast
    import warnings

    text = " ".join(expression.split("\n")).strip()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # `1is 2` is no news for the person who asks
            tree = ast.parse(text, mode="eval")
    except SyntaxError as error:
        raise UsageError(_syntax(text, error), hint=_equals(text) or _HELP) from None
    except (ValueError, RecursionError, MemoryError):
        raise UsageError("the expression can't be understood: it is nested too deeply, or holds a NUL") from None
    return _Reader(text).read(tree.body, 0)


def names(expression: str) -> set[str]:
    """The words in it that may be fields."""
    return set(re.findall(r"[A-Za-z_]\w*", expression))


def _syntax(text: str, error: SyntaxError) -> str:
    if not text:
        return "the expression is empty"
    return f"the expression can't be understood at character {error.offset or 1}: {_shown(text)}"


def _equals(text: str) -> str:
    return "`==` compares" if re.search(r"[^=!<>]=[^=]", text) else ""


def _shown(text: str) -> str:
    return f"`{text}`" if len(text) <= 200 else f"`{text[:200]}…`"


class _Reader:
    """Turns the parts of an expression into functions."""

    def __init__(self, text: str) -> None:
        self.text = text

    def read(self, node: ast.expr, depth: int) -> Holds:
        import ast

        if depth > DEEPEST:
            raise UsageError(f"the expression is nested more than {DEEPEST} deep")
        if isinstance(node, ast.BoolOp):
            parts = [self.read(one, depth + 1) for one in node.values]
            return _all(parts) if isinstance(node.op, ast.And) else _any(parts)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            inner = self.read(node.operand, depth + 1)
            return lambda agent, at: not inner(agent, at)
        if isinstance(node, ast.Compare):
            return self._compare(node, depth)
        if isinstance(node, ast.Call):
            return self._call(node, depth)
        if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            items = [self.read(one, depth + 1) for one in node.elts]
            return lambda agent, at: [item(agent, at) for item in items]
        field = self._field(node)
        if field is not None:
            return lambda agent, at: fields.value(agent, field, at)
        return _constant(self._value(node))

    def _field(self, node: ast.expr) -> str | None:
        """The field that is meant, if one is."""
        import ast

        if isinstance(node, ast.Name):
            if node.id in fields.FIELDS:
                return node.id
            raise self._unknown(node, node.id)
        if isinstance(node, (ast.Attribute, ast.Subscript)):
            label = node.attr if isinstance(node, ast.Attribute) else getattr(node.slice, "value", None)
            if isinstance(node.value, ast.Name) and node.value.id == "labels" and isinstance(label, str):
                return f"labels.{label}"
            raise self._unknown(node, self._words(node))
        return None

    def _value(self, node: ast.expr) -> Any:
        import ast

        sign = 1
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            node, sign = node.operand, -1
        if isinstance(node, ast.Constant):
            plain = node.value is None or isinstance(node.value, (str, bool))
            if sign == 1 and plain:
                return node.value
            if isinstance(node.value, (int, float)) and not isinstance(node.value, bool):
                return sign * node.value
        raise self._wrong(node, f"`{self._words(node)[:80]}` can't be part of an expression")

    def _compare(self, node: ast.Compare, depth: int) -> Holds:
        import ast

        operands = [node.left, *node.comparators]
        timed = any(isinstance(one, ast.Name) and one.id in fields.DURATIONS for one in operands)
        sides = [self._seconds(one) if timed else None for one in operands]
        values = [side or self.read(one, depth + 1) for side, one in zip(sides, operands, strict=True)]
        tests = [_TESTS[type(op).__name__] for op in node.ops]

        def holds(agent: Agent, at: float) -> bool:
            left = values[0](agent, at)
            for test, following in zip(tests, values[1:], strict=True):
                right = following(agent, at)
                if not test(left, right):
                    return False
                left = right
            return True

        return holds

    def _seconds(self, node: ast.expr) -> Holds | None:
        """Beside a field that is a duration, a text is one."""
        import ast

        if not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
            return None
        found = seconds(node.value)
        if found is None:
            raise self._wrong(node, f"`{node.value[:80]}` is no duration", '`"90s"`, `"5m"`, `"2h"`, `"3d"`')
        return _constant(found)

    def _call(self, node: ast.Call, depth: int) -> Holds:
        import ast

        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name not in ("like", "matches"):
            raise self._wrong(node, f"`{self._words(node.func)[:80]}` can't be called", _HELP)
        if node.keywords or len(node.args) != 2:
            raise self._wrong(node, f"`{name}` takes a field and a pattern", f'`{name}(name, "fix-*")`')
        pattern = self._value(node.args[1])
        if not isinstance(pattern, str):
            raise self._wrong(node.args[1], f"the pattern of `{name}` is a text in quotes")
        found, subject = self._pattern(node.args[1], name, pattern), self.read(node.args[0], depth + 1)
        return lambda agent, at: isinstance(text := subject(agent, at), str) and bool(found(text))

    def _pattern(self, node: ast.expr, name: str, pattern: str) -> Callable[[str], Any]:
        if name == "like":
            from fnmatch import translate

            return re.compile(translate(pattern)).match
        try:
            return re.compile(pattern).search
        except (re.error, RecursionError, OverflowError) as error:
            raise self._wrong(node, f"the pattern is no regular expression: {error}") from None

    def _unknown(self, node: ast.expr, name: str) -> UsageError:
        at = f" (character {self._position(node)})"
        if name in KINDS:
            return UsageError(f"there is no field `{name}`{at}", hint=f'a text is written in quotes: `"{name}"`')
        return fields.unknown(name, at)

    def _wrong(self, node: ast.expr, what: str, hint: str = "") -> UsageError:
        return UsageError(f"{what} (character {self._position(node)})", hint=hint)

    def _position(self, node: ast.expr) -> int:
        # `ast` counts bytes, people count characters.
        return len(self.text.encode()[: node.col_offset].decode(errors="replace")) + 1

    def _words(self, node: ast.expr) -> str:
        return self.text.encode()[node.col_offset : node.end_col_offset].decode(errors="replace")


def _all(parts: list[Holds]) -> Holds:
    return lambda agent, at: all(part(agent, at) for part in parts)


def _any(parts: list[Holds]) -> Holds:
    return lambda agent, at: any(part(agent, at) for part in parts)


def _constant(fixed: Any) -> Holds:
    return lambda _agent, _at: fixed


def _less(left: Any, right: Any, test: Callable[[Any, Any], bool]) -> bool:
    """What is missing is neither less nor more; labels are texts, and numbers where they are compared with one."""
    if isinstance(left, str) and isinstance(right, (int, float)):
        left = _number(left)
    if isinstance(right, str) and isinstance(left, (int, float)):
        right = _number(right)
    if left is None or right is None:
        return False
    try:
        return test(left, right)
    except TypeError:
        raise UsageError("the expression compares what can't be compared, such as a text with a list") from None


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _in(left: Any, right: Any) -> bool:
    if isinstance(right, str):
        return isinstance(left, str) and left in right
    return isinstance(right, (list, dict)) and left in list(right)


def _same(left: Any, right: Any) -> bool:
    for one, other in ((left, right), (right, left)):
        if isinstance(one, str) and isinstance(other, (int, float)) and not isinstance(other, bool):
            return _number(one) == other
    return bool(left == right)


_TESTS: dict[str, Callable[[Any, Any], bool]] = {
    "Eq": _same,
    "NotEq": lambda left, right: not _same(left, right),
    "Is": _same,
    "IsNot": lambda left, right: not _same(left, right),
    "Lt": lambda left, right: _less(left, right, lambda a, b: a < b),
    "LtE": lambda left, right: _less(left, right, lambda a, b: a <= b),
    "Gt": lambda left, right: _less(left, right, lambda a, b: a > b),
    "GtE": lambda left, right: _less(left, right, lambda a, b: a >= b),
    "In": _in,
    "NotIn": lambda left, right: not _in(left, right),
}
