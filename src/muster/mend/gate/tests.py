"""Tests before and after: which are gone, renamed, not collected any more, and what the others still assert."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from difflib import SequenceMatcher

from muster.mend import Finding
from muster.mend.gate.checks import checks
from muster.mend.gate.compare import Pair, findings, pair
from muster.mend.gate.conditions import always
from muster.mend.gate.diff import Diff, Side
from muster.mend.gate.module import Unit
from muster.mend.gate.rules import found
from muster.mend.gate.syntax import text

_ALIKE = 0.6
_Keys = set[tuple[str, ...]]


def look(diff: Diff) -> Iterator[Finding]:
    """What is to be said of tests and of what they are helped by."""
    for path, line in diff.new.broken.items():
        if path in diff.old.trees and diff.layout.of(path) == "test":
            yield found("unreadable-test", path, line, f"`{path}` can't be parsed any more")
    was, now, after = _tests(diff.old), _tests(diff.new), _units(diff.new)
    pairs = [pair(old, new, diff) for old, new in _both(diff)]
    fresh = [unit for name, unit in now.items() if name not in was]
    lost = [unit for name, unit in was.items() if name not in after and _is_readable(unit, diff)]
    yield from _hidden(diff)
    for old in [*lost]:
        moved = [new for new in fresh if new.leaf == old.leaf]
        if moved:
            lost.remove(old)
            pairs.append(pair(old, moved[0], diff))
            words = f"`{old.id}` is now `{moved[0].id}`"
            yield found("moved-test", moved[0].file, moved[0].line, words)
    asserted = {unit.id: _keys(unit, diff.new) for unit in fresh}
    elsewhere = {one.key for two in pairs for one in two.extra if not one.swallowed and not one.guards}
    elsewhere = elsewhere.union(*asserted.values())
    for two in pairs:
        yield from findings(two, elsewhere, diff)
    yield from _lost(lost, fresh, asserted, elsewhere, diff)


def _tests(side: Side) -> dict[str, Unit]:
    return {unit.id: unit for module in side.tests.values() for unit in module.tests.values()}


def _units(side: Side) -> dict[str, Unit]:
    return {unit.id: unit for module in side.tests.values() for unit in module.units.values()}


def _keys(unit: Unit, side: Side) -> _Keys:
    """What a test asserts that decides."""
    read = checks(unit, side.tests)
    return {
        one.key
        for one in read.asserts or read.does
        if not (one.dead or one.swallowed or one.guards or always(one.atom))
    }


def _both(diff: Diff) -> Iterator[tuple[Unit, Unit]]:
    """Tests, fixtures and helpers that are on both sides, and may assert something else."""
    after = _units(diff.new)
    for name, old in _units(diff.old).items():
        new = after.get(name)
        if new and not old.hidden and not new.hidden and not _untouched(old, new, diff):
            yield old, new


def _untouched(old: Unit, new: Unit, diff: Diff) -> bool:
    before, after = diff.old.tests[old.file], diff.new.tests[new.file]
    if before.rest != after.rest or ast.dump(old.node) != ast.dump(new.node):
        return False
    # A helper in another changed file may assert less.
    others = {path.removesuffix(".py").rpartition("/")[2] for path in diff.old.tests if path != old.file}
    return not any(part in others for one in before.env.values() for part in text(one).split("."))


def _is_readable(old: Unit, diff: Diff) -> bool:
    return old.file not in diff.new.broken and old.file not in diff.links


def _hidden(diff: Diff) -> Iterator[Finding]:
    """Tests that are still there, but not for pytest."""
    after = _units(diff.new)
    for name, old in _tests(diff.old).items():
        new = after.get(name)
        if new and not new.test:
            why = new.hidden or "it is a fixture"
            yield found("uncollected-test", new.file, new.line, f"`{old.name}` is not collected: {why}")


def _lost(
    lost: list[Unit], fresh: list[Unit], asserted: dict[str, _Keys], elsewhere: _Keys, diff: Diff
) -> Iterator[Finding]:
    kept = {unit.id: _keys(unit, diff.old) for unit in lost}
    for old in lost:
        keys = kept[old.id]
        homes = [unit for unit in fresh if keys & asserted[unit.id]]
        if keys and keys <= elsewhere:
            rest = [one for one in lost if len(homes) == 1 and kept[one.id] & asserted[homes[0].id]]
            if len(homes) == 1 and rest == [old]:
                yield _renamed(old, homes[0])
            continue  # split, merged, or made a case of another
        yield from _unlike(old, fresh, diff)


def _renamed(old: Unit, new: Unit) -> Finding:
    return found("renamed-test", new.file, new.line, f"`{old.name}` is now called `{new.name}`")


def _unlike(old: Unit, fresh: list[Unit], diff: Diff) -> Iterator[Finding]:
    """A test that is gone, and what it asserted is not all there."""
    hidden = [unit for unit in _units(diff.new).values() if not unit.test and unit.id not in _units(diff.old)]
    for unit in hidden:
        if unit.leaf == old.leaf:
            why = unit.hidden or "it is a fixture"
            yield found("uncollected-test", unit.file, unit.line, f"`{old.name}` is not collected: {why}")
            return
    ranked = sorted(
        ((_likeness(old, unit, diff), unit.id, unit) for unit in (*fresh, *hidden)), key=lambda one: one[:2]
    )
    score, _, new = ranked[-1] if ranked else (0.0, "", old)
    if score < _ALIKE:
        yield found(
            "deleted-test", old.file, old.line, f"`{old.name}` is gone, and what it asserted is in no other test"
        )
    elif new.test:
        yield _renamed(old, new)
        two: Pair = pair(old, new, diff)
        yield from findings(two, set(), diff)
    else:
        why = new.hidden or f"it is called `{new.leaf}`"
        yield found("uncollected-test", new.file, new.line, f"`{old.name}` is not collected: {why}")


def _body(unit: Unit) -> str:
    return "\n".join(text(stmt) for stmt in unit.node.body)


def _likeness(old: Unit, new: Unit, diff: Diff) -> float:
    """How much of a test is in another: of its words, or of what it looks at."""
    words = SequenceMatcher(None, _body(old)[:2000], _body(new)[:2000], autojunk=False).ratio()
    was, now = _subjects(old, diff.old), _subjects(new, diff.new)
    return max(words, len(was & now) / len(was) if was else 0.0)


def _subjects(unit: Unit, side: Side) -> set[str]:
    read = checks(unit, side.tests)
    return {one.atom.about for one in read.asserts or read.does}
