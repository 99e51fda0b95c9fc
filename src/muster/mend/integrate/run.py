"""The whole of it: changes in, one green line of commits out. The same inputs give the same ids, in any order, anywhere."""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence

from muster.core import git
from muster.core.proc import Prefix
from muster.errors import NotFound
from muster.mend.integrate import Check, Clash, Fix, Integration, Patch, Picked, Resolve, SetAside
from muster.mend.integrate import clashes as conflict_map
from muster.mend.integrate.chain import Chain, Yard
from muster.mend.integrate.patches import base_of, read
from muster.mend.integrate.red import Bench
from muster.mend.integrate.resolve import settle
from muster.mend.integrate.reverts import needed_by
from muster.mend.integrate.scratch import Scratch, opened


def integrate(
    place: Prefix,
    repo: str,
    base: str,
    fixes: Sequence[Fix],
    *,
    check: Check | None = None,
    expected: frozenset[str] = frozenset(),
    resolve: Resolve | None = None,
    checks: MutableMapping[str, frozenset[str]] | None = None,
    jobs: int = 2,
    each: bool = True,
) -> Integration:
    """Put verified fixes into one line on top of `base`; no checkout, no index and no reference is touched.

    `check` says which tests are red at a commit, and is asked once for each; `checks` is its memory, for the caller to keep.
    """
    if not (found := git.commit_of(place, repo, base)):
        raise NotFound(f"commit {base} is not in {repo}")
    with opened(place, repo) as scratch:
        yard, aside = _yard(scratch, found, fixes, jobs)
        bench = Bench(yard, check, expected, {} if checks is None else checks, {}, set()) if check else None
        chain, red = _green(yard, bench, jobs, each)
        if resolve:
            chain = settle(yard, bench, chain, resolve)
        scratch.send(yard.joined(chain.steps), found)
        return _integration(yard, chain, [*aside, *red, *chain.out], bench, jobs)


def _yard(scratch: Scratch, base: str, fixes: Sequence[Fix], jobs: int) -> tuple[Yard, list[SetAside]]:
    tree, when = base_of(scratch, base)
    patches, aside = read(scratch, base, fixes)
    of: dict[str, list[Clash]] = {}
    for clash in conflict_map.find(scratch, patches, jobs):
        of.setdefault(clash.one, []).append(clash)
        of.setdefault(clash.other, []).append(clash)
    who = f"{git.IDENTITY['GIT_COMMITTER_NAME']} <{git.IDENTITY['GIT_COMMITTER_EMAIL']}> {when}"
    by_key = {patch.key: patch for patch in patches}
    return Yard(scratch, base, tree, who, by_key, {key: tuple(found) for key, found in of.items()}, {}), aside


def _green(yard: Yard, bench: Bench | None, jobs: int, each: bool) -> tuple[Chain, list[SetAside]]:
    """The longest line that is green: whatever makes it red is set aside, one change at a time."""
    left: dict[str, Patch] = dict(yard.patches)
    aside: list[SetAside] = []
    learned: dict[str, frozenset[str]] = {}
    while True:
        chain = yard.build(list(left.values()), learned)
        if not bench or not chain.steps:
            return chain, aside
        missed = bench.missed(chain, len(chain.steps))
        found = bench.blame(chain, missed[0]) if missed else bench.early(chain, learned, jobs) if each else None
        if found is None:
            if missed:
                continue  # it was red at the base: no change's fault
            return chain, aside
        if isinstance(found, SetAside):
            # What was set aside because of it may come back.
            back = [one for one in aside if one.why == "red-together" and found.key in one.rivals]
            left |= {one.key: yard.patches[one.key] for one in back}
            aside = [*(one for one in aside if one not in back), found]
            del left[found.key]
        else:
            learned[found[0]] = learned.get(found[0], frozenset()) | {found[1]}


def _integration(yard: Yard, chain: Chain, aside: Sequence[SetAside], bench: Bench | None, jobs: int) -> Integration:
    needed = needed_by(yard, chain.steps, jobs)
    picked = tuple(
        Picked(step.patch, step.commit, tuple(yard.titles(step.patch)), needed[step.commit], step.resolved)
        for step in chain.steps
    )
    checks = {commit: tuple(sorted(red)) for commit, red in sorted(bench.asked.items())} if bench else {}
    return Integration(
        base=yard.base,
        tip=yard.joined(chain.steps),
        picked=picked,
        aside=tuple(sorted(aside, key=lambda one: repr(one.fixes))),
        clashes=tuple(sorted({clash for found in yard.clashes.values() for clash in found}, key=_pair)),
        checks=checks,
        unsteady=tuple(sorted(bench.unsteady)) if bench else (),
    )


def _pair(clash: Clash) -> tuple[str, str]:
    return clash.one, clash.other
