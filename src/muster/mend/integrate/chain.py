"""One line of commits out of many changes: tests and documentation first, then what a person must judge, then the fixes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from muster.mend.integrate import Clash, Patch, SetAside
from muster.mend.integrate.messages import combined, single
from muster.mend.integrate.patches import rank
from muster.mend.integrate.scratch import Merge, Scratch

_STAGES = {"test": 0, "docs": 0, "review": 1, "impl": 2}


class Step(Struct, frozen=True):
    """A change put on top of what came before."""

    patch: Patch
    tree: str
    commit: str
    needs: tuple[str, ...] = ()  # commits
    resolved: bool = False


class Chain(Struct, frozen=True):
    """The line, and what didn't come into it."""

    steps: tuple[Step, ...]
    parts: int  # so many of the first steps are one commit, the last one's
    out: tuple[SetAside, ...]

    def ends(self) -> list[int]:
        """How many steps each commit has behind it; what lies between is in the combined commit only."""
        return [*([self.parts] if self.parts else []), *range(self.parts + 1, len(self.steps) + 1)]


class Yard(Struct, frozen=True):
    """What chains are built of."""

    scratch: Scratch
    base: str
    tree: str  # the base's
    who: str  # identity and date of all that is made
    patches: Mapping[str, Patch]
    clashes: Mapping[str, tuple[Clash, ...]]  # by each of the two
    merges: dict[tuple[str, str], Merge]  # by tree and key: chains have much in common

    # -- order ---------------------------------------------------------------------------------------------------------

    def stage(self, patch: Patch) -> int:
        """Where it belongs: not before what it can't be without."""
        return max([_STAGES[patch.kind], *(self.stage(self.patches[key]) for key in patch.needs)])

    def order(self, patches: Sequence[Patch], learned: Mapping[str, frozenset[str]]) -> list[Patch]:
        """By rank, but an agent's own commits in its own order, and each after what it was seen to need."""
        todo = sorted(patches, key=rank)
        done: list[Patch] = []
        while todo:
            left = {patch.key for patch in todo}
            free = (one for one in todo if not left & {*one.needs, *one.follows, *learned.get(one.key, ())})
            done.append(next(free, todo[0]))
            todo.remove(done[-1])
        return done

    # -- building ------------------------------------------------------------------------------------------------------

    def build(self, patches: Sequence[Patch], learned: Mapping[str, frozenset[str]] | None = None) -> Chain:
        """All that applies. What doesn't is tried again at the end of its stage: the others may have made room for it."""
        steps: list[Step] = []
        out: list[SetAside] = []
        parts = 0
        for stage in range(3):
            waiting = self.order([patch for patch in patches if self.stage(patch) == stage], learned or {})
            for last in (False, True):
                failed = []
                for patch in waiting:
                    done = self.add(steps, patch, combine=stage == 0, after=(learned or {}).get(patch.key))
                    if isinstance(done, Step):
                        steps.append(done)
                    elif last or done.why == "empty":
                        out.append(done)
                    else:
                        failed.append(patch)
                waiting = failed
            if stage == 0 and steps:
                parts, commit = len(steps), self._combined(steps)
                steps = [Step(step.patch, step.tree, commit) for step in steps]
        return Chain(tuple(steps), parts, tuple(out))

    def add(
        self, steps: Sequence[Step], patch: Patch, *, combine: bool = False, after: frozenset[str] | None = None
    ) -> Step | SetAside:
        """It on top of those, or why not."""
        here = {step.patch.key for step in steps}
        if patch.lacks or any(key not in here for key in patch.needs):
            return self._lacking(patch, here)
        merge = self.merge(steps, patch)
        if not merge.clean:
            return self._conflict(patch, steps, merge)
        if merge.tree == self.top(steps):
            return self.aside(patch, "empty", "empty: already there")
        if combine:  # the last of them will be the commit of all
            return Step(patch, merge.tree, "")
        return self.step(steps, patch, merge.tree, after=after or frozenset())

    def merge(self, steps: Sequence[Step], patch: Patch) -> Merge:
        tree = self.top(steps)
        if (tree, patch.key) not in self.merges:
            onto = steps[-1].commit if steps else self.base
            # Most are changes of the base, which the line has grown from: git finds it by itself, with a process less.
            direct = onto and patch.root == self.base
            pick = self.scratch.merge(onto, patch.commit) if direct else self._pick(patch, tree)
            self.merges[tree, patch.key] = pick
        return self.merges[tree, patch.key]

    def _pick(self, patch: Patch, tree: str) -> Merge:
        return self.scratch.pick(patch.root, patch.commit, tree)

    def top(self, steps: Sequence[Step]) -> str:
        return steps[-1].tree if steps else self.tree

    def step(
        self,
        steps: Sequence[Step],
        patch: Patch,
        tree: str,
        *,
        after: frozenset[str] = frozenset(),
        resolved: Sequence[str] = (),
    ) -> Step:
        """A commit for one change, on top of those."""
        keys = {*patch.needs, *after}
        needs = tuple(dict.fromkeys(step.commit for step in steps if step.patch.key in keys))
        message = single(patch, self.titles(patch), needs, resolved)
        commit = self.scratch.commit(tree, self.joined(steps), message, self.who)
        return Step(patch, tree, commit, needs, bool(resolved))

    def joined(self, steps: Sequence[Step]) -> str:
        """The commit that these steps end with."""
        if not steps:
            return self.base
        return steps[-1].commit or self._combined(steps)

    def _combined(self, parts: Sequence[Step]) -> str:
        inside = {step.patch.key for step in parts}
        conflicts = sorted({title for step in parts for title in self.titles(step.patch, besides=inside)})
        message = combined([step.patch for step in parts], conflicts)
        return self.scratch.commit(parts[-1].tree, self.base, message, self.who)

    def prefix(self, chain: Chain, length: int) -> str:
        """The commit that holds the first so many steps."""
        if 0 < length < chain.parts:
            return self._combined(chain.steps[:length])
        return chain.steps[length - 1].commit if length else self.base

    # -- what didn't come in -------------------------------------------------------------------------------------------

    def titles(self, patch: Patch, besides: set[str] | None = None) -> list[str]:
        """What it conflicts with, in the branch or not."""
        return sorted({self.patches[key].title for key in self.rivals(patch) if key not in (besides or ())})

    def rivals(self, patch: Patch) -> set[str]:
        return {one.other if one.one == patch.key else one.one for one in self.clashes.get(patch.key, ())}

    def aside(
        self, patch: Patch, why: str, reason: str, against: Sequence[Patch] = (), **more: tuple[str, ...]
    ) -> SetAside:
        titles, keys = tuple(other.title for other in against), tuple(other.key for other in against)
        return SetAside(patch.fixes, why, reason, titles, keys, key=patch.key, **more)  # type: ignore[arg-type]

    def _lacking(self, patch: Patch, here: set[str]) -> SetAside:
        others = [self.patches[key] for key in patch.needs if key not in here]
        names = ", ".join([*(f"{one.title}: {one.subject}" for one in others), *patch.lacks])
        return self.aside(patch, "needs", f"needs {names}, which is not in the branch", others)

    def _conflict(self, patch: Patch, steps: Sequence[Step], merge: Merge) -> SetAside:
        others = self.against(patch, steps, merge)
        names = ", ".join(one.title for one in others) or "what is in the branch already"
        return self.aside(patch, "conflict", f"conflict with {names}", others, files=merge.files)

    def against(self, patch: Patch, steps: Sequence[Step], merge: Merge) -> list[Patch]:
        """Which of those it conflicts with: by the map, or else those that touch the files in question."""
        rivals = self.rivals(patch)
        known = [step.patch for step in steps if step.patch.key in rivals]
        return known or [step.patch for step in steps if set(merge.files) & set(step.patch.paths)]
