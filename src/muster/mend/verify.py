"""Verify: what an agent claims, held against what is seen in clean checkouts of what it committed."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Mapping, Sequence

import msgspec

from muster.core import git
from muster.core.proc import Prefix
from muster.errors import CommandFailed, MusterError
from muster.mend import Attempt, Ending, Finding, Gathered, Piece, Request, Task, Verdict, Verified, gate
from muster.mend.lab import Lab, red, steady, wavering
from muster.mend.layout import Layout
from muster.mend.split import split


class Court:
    """Judges the tasks of one run."""

    def __init__(
        self,
        place: Prefix,
        request: Request,
        lab: Lab,
        layout: Layout,
        seen: Mapping[str, Attempt],
        *,
        docs: Collection[str],
        suite: bool,
    ) -> None:
        self.place, self.request, self.lab, self.layout = place, request, lab, layout
        self.docs = docs  # what a test may cite
        self.seen = seen  # at the run's base, those that always end in one way
        self.green = frozenset(steady(seen.values()))
        self.suite = suite  # the suite is quick enough to be run for every task

    def judge(self, task: Task, gathered: Gathered) -> Verified:
        """The verdict on one task."""
        begun = time.monotonic()
        try:
            found = self._nothing_came(task, gathered) or self._changed(task, gathered)
        except MusterError as error:
            found = _verdict(task, gathered, "lost", f"it could not be verified: {error}")
        return msgspec.structs.replace(found, seconds=round(time.monotonic() - begun, 2))

    # -- without a change ----------------------------------------------------------------------------------------------

    def _nothing_came(self, task: Task, gathered: Gathered) -> Verified | None:
        outcome = gathered.outcome
        if not gathered.commit:
            return _verdict(task, gathered, "lost", gathered.reason or "nothing could be had from it")
        if outcome is None:
            if gathered.state == "blocked":
                return _verdict(task, gathered, "blocked", f"it asked: {gathered.reason}")
            return _verdict(task, gathered, "lost", f"{gathered.said} ({gathered.reason})")
        if outcome.status != "done":
            word: Verdict = "blocked"
            title = next((one.title for one in outcome.escalations), "") or _first_line(outcome.summary)
            return _verdict(task, gathered, word, title or f"it says `{outcome.status}`, and no more")
        if gathered.commit == task.base:
            return self._as_it_was(task, gathered)
        return None

    def _as_it_was(self, task: Task, gathered: Gathered) -> Verified:
        left = f"; it left {len(gathered.left)} files uncommitted" if gathered.left else ""
        if task.why == "passing":
            return _verdict(task, gathered, "unchanged", f"nothing was changed{left}")
        seen = self._look(task, task.base, self.request.repeats)
        if wavering(seen):
            return _verdict(
                task, gathered, "flaky", f"nothing was changed, and it fails now and then{left}", after=seen
            )
        if not red(seen):
            return _verdict(task, gathered, "flaky", f"nothing was changed, yet it passes now{left}", after=seen)
        return _verdict(
            task, gathered, "broken", f"it says `done`, changed nothing, and it still fails{left}", after=seen
        )

    # -- with one ------------------------------------------------------------------------------------------------------

    def _changed(self, task: Task, gathered: Gathered) -> Verified:
        top, base, tip = self.request.top, task.base, gathered.commit
        if not git.ancestor(self.place, top, base, tip):
            told = Finding("rewritten-history", "refuse", "", 0, "its branch does not contain the commit it started at")
            return _verdict(task, gathered, "refused", told.detail, findings=(told,))
        findings = tuple(self._findings(task, tip))
        if refused := [one for one in findings if one.level == "refuse"]:
            return _verdict(task, gathered, "refused", _said(refused), findings=findings)
        try:
            pieces = split(self.place, top, base, tip, self.layout)
        except CommandFailed as error:
            return _verdict(task, gathered, "refused", str(error), findings=findings)
        if not pieces:
            return self._as_it_was(task, msgspec.structs.replace(gathered, commit=base))
        return self._tested(task, gathered, pieces, findings)

    def _findings(self, task: Task, tip: str) -> list[Finding]:
        file = self.lab.layout.file
        beside = {*self.docs, *map(file, task.tests)}
        return gate.of_commits(
            self.place,
            self.request.top,
            task.base,
            tip,
            self.layout,
            green=[file(test) + "".join(test.partition("::")[1:]) for test in self.green],
            allow=self.request.allow,
            beside=sorted(beside),
        )

    def _tested(
        self, task: Task, gathered: Gathered, pieces: Sequence[Piece], findings: tuple[Finding, ...]
    ) -> Verified:
        tip, others, failing = gathered.commit, self._others(task, pieces), self._failing(task, pieces)
        before = self._look(task, task.base)
        together = self.lab.look(tip, {*others, *failing, *(task.tests if task.why != "error" else ())})
        after = [one for one in together if one.id in task.tests] + self._look(task, tip, self.request.repeats - 1)
        # A failure counts that is seen again.
        hurt = [one for one in self.lab.look(tip, red(together) & others) if not one.green]
        still, shaky = red(after), wavering(after)
        facts = {
            "pieces": tuple(pieces),
            "findings": findings,
            "before": tuple(before),
            "after": tuple(after),
            "green": tuple(sorted(self._turned(task, pieces, before, after) | steady(together) & failing)),
            "red": tuple(sorted(still)),
            "hurt": tuple(hurt),
        }
        word, reason = _weighed(task, before, still, shaky, red(hurt))
        if task.why == "error" and word == "fixed":
            inside = self.lab.look(tip, self._inside(task, tip), self.request.repeats)
            facts |= {"after": (*after, *inside), "red": tuple(sorted(red(inside) - wavering(inside)))}
            reason = _opened(inside)
        return _verdict(task, gathered, word, reason, **facts)

    def _inside(self, task: Task, tip: str) -> list[str]:
        """The tests that are there to be run now that their file, or their folder's `conftest.py`, can be loaded."""
        file = self.lab.layout.file(task.tests[0])
        folder, name = os.path.split(file)
        below = f"{folder}/" if folder and name == "conftest.py" else "" if name == "conftest.py" else file
        found = self.lab.collect(tip, self.request.args).cases
        return [case.id for case in found if not case.error and case.file.startswith(below)]

    def _others(self, task: Task, pieces: Sequence[Piece]) -> set[str]:
        """Tests that pass at the base, and may not with this change."""
        touched = {name for one in pieces for name in one.files}
        whole = self._whole(pieces)
        return {test for test in self.green - set(task.tests) if whole or self.lab.layout.file(test) in touched}

    def _failing(self, task: Task, pieces: Sequence[Piece]) -> set[str]:
        """Tests of others that fail at the base, and may pass with this change, for what it is worth besides."""
        if task.base != self.request.base or not self._whole(pieces):
            return set()
        # One that hangs would take its whole time again, and one that crashes would take others with it.
        return {test for test, one in self.seen.items() if one.ending in ("failed", "error")} - set(task.tests)

    def _whole(self, pieces: Sequence[Piece]) -> bool:
        """Whether the whole suite is run for it."""
        return self.suite and any(one.kind == "impl" for one in pieces)

    def _turned(
        self, task: Task, pieces: Sequence[Piece], before: Sequence[Attempt], after: Sequence[Attempt]
    ) -> set[str]:
        """Tests that only pass because of what was changed in the program, or in the tests alone."""
        passing = steady(after)
        found = red(before) & passing
        kinds = [one.kind for one in pieces]
        # Docs and tests come first: what fails with these alone is what the program was changed for.
        if task.why == "passing" and "impl" in kinds and "test" in kinds[: kinds.index("impl")]:
            found |= red(self._look(task, pieces[kinds.index("impl") - 1].commit)) & passing
        return found

    def _look(self, task: Task, commit: str, times: int = 1) -> list[Attempt]:
        """The task's tests there; of a file that could not be collected, whether it can."""
        if task.why != "error" and commit == self.request.base and all(test in self.seen for test in task.tests):
            return [self.seen[test] for test in task.tests for _ in range(times)]
        if task.why != "error":
            return self.lab.look(commit, task.tests, times)
        broken = {case.id: case.error for case in self.lab.collect(commit, self.request.args).errors}
        ends: dict[bool, Ending] = {True: "error", False: "passed"}
        return [Attempt(test, ends[test in broken], text=broken.get(test, "")) for test in task.tests]


def _weighed(
    task: Task, before: Sequence[Attempt], still: set[str], shaky: set[str], hurt: set[str]
) -> tuple[Verdict, str]:
    if hurt:
        return "broken", f"{_these(hurt)} passed before, and fails with it"
    if shaky:
        return "flaky", f"{_these(shaky)} fails now and then with it"
    # Whoever brings two changes together is to bring the tests of both.
    if still == set(task.tests) or (still and task.why in ("passing", "conflict")):
        return "broken", f"{_these(still)} still fails" if task.why != "passing" else f"{_these(still)} fails with it"
    if still:
        return "fixed", f"{len(task.tests) - len(still)} of {len(task.tests)} tests pass now"
    if red(before):
        return "fixed", "it failed before, and passes now" if len(task.tests) == 1 else "all of them pass now"
    return "improved", "it passed before, and passes now"


def _opened(inside: Sequence[Attempt]) -> str:
    ids, failing = {one.id for one in inside}, red(inside) - wavering(inside)
    how = "fails" if len(failing) == 1 else "fail"
    return "it can be collected now" + (f"; {len(failing)} of its {len(ids)} tests {how}" if failing else "")


def _these(ids: set[str]) -> str:
    first = sorted(ids)[0]
    return f"`{first}`" + (f" and {len(ids) - 1} more" if len(ids) > 1 else "")


def _said(findings: Sequence[Finding]) -> str:
    first = findings[0]
    more = f" (and {len(findings) - 1} more)" if len(findings) > 1 else ""
    return f"{first.rule} in {first.file}:{first.line}: {first.detail}{more}"


def _first_line(text: str) -> str:
    return next((line.strip("# *") for line in text.splitlines() if line.strip()), "")


def _verdict(task: Task, gathered: Gathered, verdict: Verdict, reason: str, **facts: object) -> Verified:
    made = {key: tuple(value) if isinstance(value, list) else value for key, value in facts.items()}
    return Verified(task=task.slug, verdict=verdict, reason=reason, commit=gathered.commit, **made)  # type: ignore[arg-type]
