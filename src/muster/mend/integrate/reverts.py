"""What can be taken back: each commit's inverse, merged onto the tip."""

from __future__ import annotations

from collections.abc import Sequence

from muster.mend.integrate.chain import Step, Yard
from muster.mend.integrate.patches import sizes
from muster.mend.integrate.scratch import Scratch


def needed_by(yard: Yard, steps: Sequence[Step], jobs: int) -> dict[str, tuple[str, ...]]:
    """For each commit, those to be reverted before it (the last first); none where it reverts cleanly from the tip."""
    if not (line := list(dict.fromkeys(step.commit for step in steps))):
        return {}
    trees = {yard.base: yard.tree} | {step.commit: step.tree for step in steps}
    inverse = _inverses(yard.scratch, yard.base, line, trees)
    merges = yard.scratch.merges([(line[-1], inverse[one]) for one in line], jobs)
    found: dict[str, tuple[str, ...]] = {}
    for place, (commit, merge) in reversed(list(enumerate(zip(line, merges, strict=True)))):
        needed = set() if merge.clean else _first_reverted(yard, line, place, trees, inverse)
        needed |= {step.commit for step in steps if commit in step.needs}
        found[commit] = tuple(sorted(needed, key=line.index, reverse=True))
    return found


def _inverses(scratch: Scratch, base: str, line: Sequence[str], trees: dict[str, str]) -> dict[str, str]:
    """For each commit, one on top of it that undoes it."""
    before = dict(zip(line, [base, *line[:-1]], strict=True))
    return dict(zip(line, scratch.commits([(trees[before[one]], one) for one in line]), strict=True))


def _first_reverted(
    yard: Yard, line: Sequence[str], place: int, trees: dict[str, str], inverse: dict[str, str]
) -> set[str]:
    """The fewest later commits, dropped one after the other as far as it still works, without which it reverts."""
    needed = _entangled(yard.scratch, line[place:])
    if not _reverts(yard, line[-1], [*needed, line[place]], trees, inverse):
        return set(needed)
    for one in list(needed):
        fewer = [other for other in needed if other != one]
        if _reverts(yard, line[-1], [*fewer, line[place]], trees, inverse):
            needed = fewer
    return set(needed)


def _entangled(scratch: Scratch, line: Sequence[str]) -> list[str]:
    """Those after the first that touch what it touches, or what one of them touches; the last first."""
    touched = sizes(scratch, line)
    paths, found = set(touched[line[0]][0]), list[str]()
    for one in line[1:]:
        if paths & set(touched[one][0]):
            paths |= set(touched[one][0])
            found.insert(0, one)
    return found


def _reverts(yard: Yard, tip: str, commits: Sequence[str], trees: dict[str, str], inverse: dict[str, str]) -> bool:
    """Whether these revert cleanly from the tip, in this order."""
    tree = trees[tip]
    for one in commits:
        merge = yard.scratch.pick(one, inverse[one], tree)
        if not merge.clean:
            return False
        tree = merge.tree
    return True
