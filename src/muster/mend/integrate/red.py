"""Who made it red: by bisection over the chain, each commit checked once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from functools import partial

from msgspec import Struct

from muster.core import fan
from muster.mend.integrate import Check, Patch, SetAside
from muster.mend.integrate.chain import Chain, Step, Yard
from muster.mend.integrate.due import due
from muster.mend.integrate.patches import rank


class Bench(Struct):
    """Where chains are tested."""

    yard: Yard
    check: Check
    expected: frozenset[str]
    seen: MutableMapping[str, frozenset[str]]  # red tests by commit; the caller may keep it
    asked: dict[str, frozenset[str]]  # what of it this integration looked at
    unsteady: set[str]

    def reds(self, commit: str) -> frozenset[str]:
        """What is red at a commit."""
        if commit not in self.asked:
            self.asked[commit] = frozenset(self.seen[commit]) if commit in self.seen else self._kept(commit)
        return self.asked[commit]

    def _kept(self, commit: str) -> frozenset[str]:
        self.seen[commit] = self._look(commit)
        return self.seen[commit]

    def _look(self, commit: str) -> frozenset[str]:
        self.yard.scratch.send(commit, self.yard.base)
        return frozenset(self.check(commit))

    def all(self, chain: Chain, jobs: int) -> None:
        """Look at every commit of a chain, so many at once."""
        commits = [self.yard.prefix(chain, length) for length in chain.ends()]
        self.yard.scratch.send(commits[-1], self.yard.base)
        self.yard.scratch.sent.update(commits)  # all of them lead to the tip
        for commit, done in fan.out(self._look, [one for one in commits if one not in self.seen], jobs):
            if isinstance(done, Exception):
                raise done
            self.seen[commit] = done  # here and not in the threads: the caller's memory may belong to this one

    def due(self, steps: Sequence[Step]) -> dict[str, int]:
        wanted = due(steps, self.expected)
        return {test: at for test, at in wanted.items() if test not in self.unsteady}

    def missed(self, chain: Chain, length: int) -> list[str]:
        """Tests that are red after so many steps and should not be."""
        red = self.reds(self.yard.prefix(chain, length))
        return sorted(test for test, at in self.due(chain.steps).items() if at <= length and test in red)

    # -- the tip is red ------------------------------------------------------------------------------------------------

    def blame(self, chain: Chain, test: str) -> SetAside | None:
        """The change to be set aside for a test that is red at the tip; none if the test was red at the base."""
        start = self.due(chain.steps)[test]
        length = first(
            max(start, 1), len(chain.steps), lambda length: test in self.reds(self.yard.prefix(chain, length))
        )
        if length == 1 and start == 0 and test in self.reds(self.yard.base):
            self.unsteady.add(test)
            return None
        culprit = chain.steps[length - 1].patch
        before = [step.patch for step in chain.steps[: length - 1]]
        red = tuple(self.missed(chain, len(chain.steps)))
        guilty = sorted([culprit, *self._partners(culprit, before, test)], key=self._place)
        *winners, loser = guilty
        if not winners:
            return self.yard.aside(culprit, "red", f"red: {test}", red=red)
        names = ", ".join(one.title for one in winners)
        return self.yard.aside(loser, "red-together", f"red together with {names}: {test}", winners, red=red)

    def _place(self, patch: Patch) -> tuple[object, ...]:
        return (self.yard.stage(patch), rank(patch))

    def _partners(self, culprit: Patch, before: Sequence[Patch], test: str) -> list[Patch]:
        """The fewest of those before it that it has to meet to be red; none if it is red by itself."""
        company = self._company(culprit, before)
        others = [patch for patch in before if patch not in company]
        found: list[Patch] = []
        while others and not self._red([*company, *found, culprit], test):
            size = first(1, len(others), partial(self._meets, [*company, *found], others, culprit, test))
            found.append(others[size - 1])
            others = others[: size - 1]
        return found

    def _company(self, patch: Patch, before: Sequence[Patch]) -> list[Patch]:
        """What it was made with: what came before it on its branch, and the test changes of its own task."""
        tasks = {fix.task for fix in patch.fixes}
        keys = {*patch.needs, *patch.follows}
        for other in reversed(before):
            if other.key in keys or (other.kind != "impl" and tasks & {fix.task for fix in other.fixes}):
                keys |= {other.key, *other.needs, *other.follows}
        return [other for other in before if other.key in keys]

    def _meets(self, known: list[Patch], others: list[Patch], culprit: Patch, test: str, size: int) -> bool:
        return self._red([*known, *others[:size], culprit], test)

    def _red(self, patches: Sequence[Patch], test: str) -> bool:
        """Whether it is red with these alone; a set whose last doesn't apply shows nothing."""
        chain = self.yard.build(patches)
        built = any(step.patch == patches[-1] for step in chain.steps)
        return built and test in self.reds(self.yard.prefix(chain, len(chain.steps)))

    # -- the tip is green, and a commit below it is red ----------------------------------------------------------------

    def early(
        self, chain: Chain, learned: Mapping[str, frozenset[str]], jobs: int
    ) -> SetAside | tuple[str, str] | None:
        """The first fix that is red in its place, or the pair of keys that says what it has to come after."""
        self.all(chain, jobs)
        below = {length: self.missed(chain, length) for length in chain.ends()}
        fixes = [(length, new) for length, missed in below.items() if (new := self._new(chain, length, missed))]
        if not fixes:
            return None
        length, missed = fixes[0]
        patch = chain.steps[length - 1].patch
        later = next(at for at, still in below.items() if at > length and not set(missed) & set(still))
        other = chain.steps[later - 1].patch
        if other.key in learned.get(patch.key, ()) or patch.key in self._before(other, learned):
            reason = f"red until {other.title} is there, which comes after it: {missed[0]}"
            return self.yard.aside(patch, "red", reason, [other], red=tuple(missed))
        return patch.key, other.key

    def _new(self, chain: Chain, length: int, missed: Sequence[str]) -> list[str]:
        """What this commit, if it is a fix, made red or left so; test changes are red without their fix by their nature."""
        if length <= chain.parts or self.yard.stage(chain.steps[length - 1].patch) < 2:
            return []
        before = self.reds(self.yard.prefix(chain, length - 1)) if missed and length > 1 else frozenset[str]()
        due = self.due(chain.steps)
        return [test for test in missed if test not in before or due[test] == length]

    def _before(self, patch: Patch, learned: Mapping[str, frozenset[str]]) -> set[str]:
        """All that has to come before it."""
        found: set[str] = set()
        todo = {patch.key}
        while todo:
            key = todo.pop()
            one = self.yard.patches[key]
            more = {*one.needs, *one.follows, *learned.get(key, ())} - found
            found |= more
            todo |= {other for other in more if other in self.yard.patches}
        return found


def first(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """The least number from `low` to `high` for which it holds, by bisection; it holds for `high`, so that isn't asked."""
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return low
