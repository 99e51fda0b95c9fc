"""One test before and after: what became of each of its assertions?"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from muster.mend import Finding
from muster.mend.gate import contract
from muster.mend.gate.checks import Check, checks
from muster.mend.gate.conditions import always
from muster.mend.gate.diff import Diff
from muster.mend.gate.judge import likeness, verdict
from muster.mend.gate.module import Unit
from muster.mend.gate.rules import found
from muster.mend.gate.syntax import last, number, text

_SAME_ITEMS = ("sorted", "list", "tuple", "reversed", "set", "iter")
# Dropping one of these from `expect(...)` drops how the program ended.
_ENDING = ("succeed", "fail", "exit", "code")


class Pair(Struct, frozen=True):
    """A test before and after, and which of its assertions found no equal on the other side."""

    old: Unit
    new: Unit
    same: tuple[tuple[Check, Check], ...]
    missing: tuple[Check, ...]
    extra: tuple[Check, ...]
    left: tuple[Check, ...]  # all that the new one still asserts


def pair(old: Unit, new: Unit, diff: Diff) -> Pair:
    """Match what is asserted before and after, whatever the order."""
    before, after = checks(old, diff.old.tests), checks(new, diff.new.tests)
    # What a helper merely does is not what it is there to assert.
    was = [one for one in before.asserts or (before.does if old.test else ()) if not (one.dead or always(one.atom))]
    now = [*after.asserts, *(after.does if not before.asserts else ())]
    same, missing, rest = _match(was, now)
    left = tuple(one for one in now if not (one.dead or always(one.atom)))
    return Pair(old, new, tuple(same), tuple(missing), tuple(one for one in rest if not one.dead), left)


def _match(was: Sequence[Check], now: Sequence[Check]) -> tuple[list[tuple[Check, Check]], list[Check], list[Check]]:
    rest: dict[tuple[str, ...], list[Check]] = {}
    for one in sorted(now, key=_hindered):
        rest.setdefault(one.key, []).append(one)
    same, missing = [], []
    # What stands freely takes its equal first.
    for one in sorted(was, key=_hindered):
        equal = rest.get(one.key)
        if equal:
            same.append((one, equal.pop(0)))
        else:
            missing.append(one)
    return same, sorted(missing, key=lambda one: one.line), [one for left in rest.values() for one in left]


def _hindered(one: Check) -> tuple[bool, bool, int, int]:
    return bool(one.dead), bool(one.swallowed), len(one.guards) + len(one.loops), one.line


def findings(two: Pair, elsewhere: set[tuple[str, ...]], diff: Diff) -> Iterator[Finding]:
    """What is to be said of a test; that it looks at something else is said once."""
    others = []
    for one in _findings(two, elsewhere, diff):
        if one.rule == "changed-subject":
            others.append(one)
        else:
            yield one
    if others:
        more = f" (and {len(others) - 1} more like it there)" if len(others) > 1 else ""
        yield replace(others[0], detail=others[0].detail + more)


def _findings(two: Pair, elsewhere: set[tuple[str, ...]], diff: Diff) -> Iterator[Finding]:
    """What is to be said of a test; `elsewhere` is what other tests assert now that nobody did before."""
    for old, new in two.same:
        yield from _hindrance(old, new, two.new)
    gone = [one for one in two.missing if one.key not in elsewhere]
    if not two.left and two.new.test and not (two.same and not gone):
        if two.same or gone:
            always_true = [one for one in two.extra if always(one.atom)]
            rule = "constant-assertion" if always_true else "emptied-test"
            line = always_true[0].line if always_true else two.new.line
            if not two.same or gone:
                yield found(rule, two.new.file, line, f"`{two.new.name}` asserts nothing any more")
        return
    yield from _gone(two, gone, diff)


def _gone(two: Pair, gone: list[Check], diff: Diff) -> Iterator[Finding]:
    # `f(); assert False` in a `try` says what `raises` says.
    if any(one.atom.op == "raises" for one in two.extra):
        gone = [one for one in gone if one.atom.op != "fails"]
    replaced = [*_replaced(gone, two.extra, diff)]
    for old, new in replaced:
        yield from _judged(old, new, two, diff)
        yield from _hindrance(old, new, two.new)
    for one in (one for one in gone if not any(one is old for old, _ in replaced)):
        yield _removed(one, two, diff)


def _replaced(gone: Sequence[Check], extra: Sequence[Check], diff: Diff) -> Iterator[tuple[Check, Check]]:
    """The likeliest pairs of what is gone and what came."""
    ranked = sorted(
        (
            (_rank(old, new, diff), -abs(before - after), before, after)
            for before, old in enumerate(gone)
            for after, new in enumerate(extra)
            if old.atom.op != "fails"
        ),
        reverse=True,
    )
    taken: set[int] = set()
    came: set[int] = set()
    for score, _, before, after in ranked:
        # Two old assertions may have become one new one that says both: what is alike in its subject may be shared.
        if score > 0 and before not in taken and (after not in came or score >= 1.9):
            taken.add(before)
            came.add(after)
            yield gone[before], extra[after]


def _rank(old: Check, new: Check, diff: Diff) -> float:
    """How likely one was replaced by the other; likelier where nothing is lost by it."""
    alike = likeness(old.atom, new.atom)
    return alike + 0.5 if alike and not verdict(old.atom, new.atom, diff.layout) else alike


def _judged(old: Check, new: Check, two: Pair, diff: Diff) -> Iterator[Finding]:
    rule = verdict(old.atom, new.atom, diff.layout)
    if rule == "expectation":
        yield contract.changed(old, new, two.old, diff)
    elif rule:
        yield found(rule, new.file, new.line, f"`{_cut(old.source)}` became `{_cut(new.source)}` in `{two.new.name}`")


def _removed(old: Check, two: Pair, diff: Diff) -> Finding:
    words = f"`{_cut(old.source)}` is gone from `{two.new.name}`"
    if old.case:
        return found("removed-case", old.file, old.line, f"{words}: {_cut(old.atom.words)}")
    if old.atom.op.startswith("expect:") and any(word in old.atom.op for word in _ENDING):
        return found("weakened-assertion", old.file, old.line, f"{words}: how it ends is not looked at any more")
    passed = two.old.id in diff.green
    if not two.new.test:  # a helper's or a fixture's: what passed before is known by its file only
        passed = any(one.startswith(f"{two.old.file}::") for one in diff.green)
    return found("removed-assertion", old.file, old.line, words, "review" if passed else "refuse")


def _hindrance(old: Check, new: Check, unit: Unit) -> Iterator[Finding]:
    """The same assertion, but does it still decide?"""
    words = f"`{_cut(new.source)}` in `{unit.name}`"
    if new.dead and not old.dead:
        yield found("unreachable-assertion", new.file, new.line, f"{words} is not reached: {new.dead}")
    elif new.swallowed and not old.swallowed:
        yield found("swallowed-assertion", new.file, new.line, f"{words} can't fail: {new.swallowed} catches it")
    elif more := new.guards - old.guards:
        yield found("conditional-assertion", new.file, new.line, f"{words} is asserted only if `{_cut(min(more))}`")
    elif new.loops != old.loops:
        yield from _loops(old, new, words)


def _loops(old: Check, new: Check, words: str) -> Iterator[Finding]:
    if len(new.loops) > len(old.loops):
        yield found("conditional-assertion", new.file, new.line, f"{words} is asserted in a loop that may not run")
        return
    for before, after in zip(old.loops, new.loops, strict=False):
        was, now = _items(before), _items(after)
        if text(was) == text(now):
            continue
        rule = "fewer-items" if _fewer(was, now) else "changed-subject"
        yield found(rule, new.file, new.line, f"{words} runs over `{_cut(after)}`, not over `{_cut(before)}`")


def _items(words: str) -> ast.expr:
    node = ast.parse(words, mode="eval").body
    while isinstance(node, ast.Call) and last(node.func) in _SAME_ITEMS and len(node.args) == 1:
        node = node.args[0]
    return node


def _fewer(was: ast.expr, now: ast.expr) -> bool:
    if isinstance(was, ast.Call) and isinstance(now, ast.Call) and last(was.func) == last(now.func) == "range":
        sizes = [[number(one) for one in call.args] for call in (was, now)]
        if not any(one is None for size in sizes for one in size):
            counts = [len(range(*(int(one or 0) for one in size))) for size in sizes]
            return counts[1] < counts[0]
    if isinstance(now, ast.List | ast.Tuple | ast.Set):
        return True
    return text(was) in text(now)


def _cut(words: str) -> str:
    plain = " ".join(words.split())
    return plain if len(plain) <= 100 else f"{plain[:97]}..."
