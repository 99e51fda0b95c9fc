"""Making the report of a run from what its steps found."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from muster.agents import Event
from muster.core import git, wire
from muster.mend import GREEN, Attempt, Escalation, Gathered, Request, Task, Verified
from muster.mend.baseline import Baseline
from muster.mend.folder import Folder
from muster.mend.integrate import Integration, Picked, SetAside
from muster.mend.project import HERE
from muster.mend.report import Aside, Commit, Entry, Handed, Report, Seen

_DIFF_MAX = 60_000
_TERMINAL_MAX = 40_000
_TEXT_MAX = 8_000
_EVENTS_MAX = 400


class Facts(msgspec.Struct, frozen=True):
    """All that is known at the end of a run."""

    request: Request
    folder: Folder
    tasks: Sequence[Task]
    gathered: Mapping[str, Gathered]
    verified: Mapping[str, Verified]
    skips: Mapping[str, Sequence[str]]
    baseline: Baseline
    uncollected: Sequence[str]  # files at the base
    tip_uncollected: Sequence[str]
    integration: Integration
    branch: str
    tip_seen: Mapping[str, str]  # at the branch's tip, by test

    @property
    def undone(self) -> list[Task]:
        return [task for task in self.tasks if task.slug not in self.verified]


def report(facts: Facts) -> Report:
    """One record of it all."""
    request, found = facts.request, facts.integration
    return Report(
        run=request.run,
        project=request.top,
        base=request.base,
        branch=facts.branch,
        tip=found.tip,
        at=request.at,
        seconds=round(time.time() - request.at, 1),
        interrupted=bool(facts.undone),
        undone=tuple(task.title for task in facts.undone),
        counts=dict(Counter(facts.verified[task.slug].verdict for task in facts.tasks if task.slug in facts.verified)),
        before=_counted([one.standing for one in facts.baseline.stands], facts.uncollected),
        after=_after(facts),
        turned=_turned(facts),
        commits=tuple(_commits(facts, found.picked)),
        entries=tuple(_entry(facts, task) for task in facts.tasks if task.slug in facts.verified),
        asides=tuple(_aside(facts, one) for one in found.aside),
        handed=tuple(_handed(facts)),
        skips={reason: tuple(ids) for reason, ids in facts.skips.items()},
        flaky=tuple(_flaky(facts)),
        commands=_commands(facts),
    )


def _after(facts: Facts) -> dict[str, int]:
    """The same tests as before, and those that can be collected now, at the branch's tip."""
    words = {"passed": "passing", "skipped": "skipped", "xfailed": "passing"}
    found = {test: words.get(ending, "failing") for test, ending in facts.tip_seen.items()}
    # One look more doesn't make it steady, whichever way it came out.
    kept = {one.id: one.standing for one in facts.baseline.stands if one.standing == "flaky" or one.id not in found}
    return _counted({**found, **kept}.values(), facts.tip_uncollected)


def _counted(standings: Iterable[str], uncollected: Sequence[str]) -> dict[str, int]:
    found = Counter(standings)
    found["uncollected"] += len(uncollected)
    return {word: number for word, number in found.items() if number}


def _turned(facts: Facts) -> tuple[str, ...]:
    red = [one.id for one in facts.baseline.stands if one.standing in ("failing", "erroring")]
    turned = [test for test in red if facts.tip_seen.get(test) in GREEN]
    return tuple(sorted([*turned, *(set(facts.uncollected) - set(facts.tip_uncollected))]))


# -- tasks -------------------------------------------------------------------------------------------------------------


def _entry(facts: Facts, task: Task) -> Entry:
    gathered, verified, request = facts.gathered[task.slug], facts.verified[task.slug], facts.request
    home = facts.folder.file("tasks", task.slug)
    diff, cut = _diff(request.top, task.base, verified.commit)
    picked, aside = facts.integration.picked, facts.integration.aside
    return Entry(
        task=task.slug,
        title=task.title,
        why=task.why,
        tests=tuple(_tests(facts, task, verified)),
        agent=gathered.name,
        type=gathered.type,
        state=f"{gathered.state}: {gathered.reason}" if gathered.reason else gathered.state,
        seconds=gathered.seconds,
        verdict=verified.verdict,
        reason=verified.reason,
        claim=gathered.outcome,
        said=gathered.said,
        asked=gathered.asked,
        retried=gathered.retried,
        hurt=tuple(Seen(one.id, "passed", one.ending, one.text[-_TEXT_MAX:]) for one in verified.hurt),
        findings=verified.findings,
        commits=tuple(dict.fromkeys(one.commit for one in picked if _of(one.patch.fixes, task.slug))),
        aside=tuple(one.reason for one in aside if _of(one.fixes, task.slug)),
        diff=diff,
        cut=cut,
        transcript=tuple(_transcript(home)),
        terminal=_read(f"{home}/terminal.txt", _TERMINAL_MAX),
        recordings=tuple(one for one in _files(facts.folder, f"tasks/{task.slug}/artifacts") if one.endswith(".cast")),
        files=tuple(_files(facts.folder, f"tasks/{task.slug}")),
        left=gathered.left,
        commands=_task_commands(request, task, gathered, verified),
    )


def _of(fixes: Iterable[object], task: str) -> bool:
    return any(getattr(fix, "task", "") == task for fix in fixes)


def _tests(facts: Facts, task: Task, verified: Verified) -> Iterator[Seen]:
    before = {one.id: one for one in verified.before}
    standing = {one.id: one.standing for one in facts.baseline.stands}
    after: dict[str, list[Attempt]] = {}
    for one in verified.after:
        after.setdefault(one.id, []).append(one)
    for test in task.tests:
        first = before[test].ending if test in before else standing.get(test, "")
        seen = after.get(test, [])
        words = list(dict.fromkeys(one.ending for one in seen))
        text = next((one.text for one in reversed(seen) if not one.green), "")
        yield Seen(test, first, " and ".join(words), text[-_TEXT_MAX:])


def _transcript(home: str) -> list[Event]:
    try:
        with open(f"{home}/transcript.json", "rb") as file:
            return wire.decode(file.read(), list[Event])[-_EVENTS_MAX:]
    except FileNotFoundError:
        return []


def _read(path: str, size: int) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()[-size:]
    except FileNotFoundError:
        return ""


def _files(folder: Folder, below: str) -> list[str]:
    top = folder.file(below)
    found = [
        os.path.relpath(os.path.join(above, name), folder.path) for above, _, names in os.walk(top) for name in names
    ]
    return sorted(found)


def _task_commands(request: Request, task: Task, gathered: Gathered, verified: Verified) -> dict[str, str]:
    found = {}
    if gathered.name:
        found["connect"] = f"muster connect {gathered.name}"
        found["message"] = f"muster message {gathered.name} --start -m TEXT"
    if verified.commit and verified.commit != task.base:
        found["look"] = f"git log -p {task.base[:12]}..refs/muster/runs/{request.run}/{task.slug}"
    return found


# -- the branch --------------------------------------------------------------------------------------------------------


def _commits(facts: Facts, picked: Sequence[Picked]) -> Iterator[Commit]:
    by_commit: dict[str, list[Picked]] = {}
    for one in picked:
        by_commit.setdefault(one.commit, []).append(one)
    for commit, those in by_commit.items():
        yield _commit(facts.request.top, commit, those)


def _commit(top: str, commit: str, those: Sequence[Picked]) -> Commit:
    subject = git.text(HERE, top, "log", "-1", "--format=%s", commit)
    rows = [line.split("\t") for line in git.text(HERE, top, "diff", "--numstat", f"{commit}^", commit).splitlines()]
    diff, _ = _diff(top, f"{commit}^", commit)
    kinds = {one.patch.kind for one in those}
    return Commit(
        id=commit,
        subject=subject,
        kind=next(kind for kind in ("review", "impl", "test", "docs") if kind in kinds),
        tasks=tuple(sorted({fix.task for one in those for fix in one.patch.fixes})),
        agents=tuple(sorted({agent for one in those for agent in one.patch.agents})),
        green=tuple(sorted({test for one in those for test in one.patch.green})),
        severity=max(one.patch.severity for one in those),
        files=tuple(row[2] for row in rows if len(row) == 3),
        added=sum(int(row[0]) for row in rows if row[0].isdigit()),
        removed=sum(int(row[1]) for row in rows if len(row) > 1 and row[1].isdigit()),
        conflicts=tuple(sorted({title for one in those for title in one.conflicts})),
        needed_by=tuple(dict.fromkeys(name for one in those for name in one.needed_by)),
        reverts=not any(one.needed_by for one in those),
        diff=diff,
    )


def _aside(facts: Facts, one: SetAside) -> Aside:
    fix = one.fixes[0]
    subject = git.text(HERE, facts.request.top, "log", "-1", "--format=%s", fix.commit)
    diff, _ = _diff(facts.request.top, f"{fix.commit}^", fix.commit)
    return Aside(fix.task, fix.commit, subject, one.reason, diff)


def _diff(top: str, base: str, tip: str) -> tuple[str, bool]:
    """As git would show it to anybody, whatever is configured here; and whether it was cut."""
    if not tip or tip == base:
        return "", False
    words = ["diff", "--no-color", "--no-ext-diff", "--no-textconv", "--find-renames", base, tip]
    result = git.run(HERE, top, *words, check=False)
    text = result.out.decode(errors="replace")
    return text[:_DIFF_MAX], len(text) > _DIFF_MAX


# -- the rest ----------------------------------------------------------------------------------------------------------


def _handed(facts: Facts) -> Iterator[Handed]:
    by_title: dict[tuple[str, str], list[str]] = {}
    first: dict[tuple[str, str], Escalation] = {}
    for task in facts.tasks:
        outcome = facts.gathered[task.slug].outcome if task.slug in facts.gathered else None
        for one in outcome.escalations if outcome else ():
            by_title.setdefault((one.kind, one.title), []).append(task.slug)
            first.setdefault((one.kind, one.title), one)
    yield from (Handed(tuple(tasks), first[key]) for key, tasks in by_title.items())


def _flaky(facts: Facts) -> Iterator[Seen]:
    for one in facts.baseline.of("flaky"):
        text = one.failure.text[-_TEXT_MAX:] if one.failure else ""
        yield Seen(one.id, one.evidence, facts.tip_seen.get(one.id, ""), text)


def _commands(facts: Facts) -> dict[str, str]:
    run, branch, base = facts.request.run, facts.branch, facts.request.base[:12]
    found = {}
    if branch:
        found["look"] = f"git log -p --reverse {base}..{branch}"
        found["merge"] = f"git merge --ff-only {branch}"
        found["revert"] = "git revert COMMIT"
    found["rerun"] = f"muster mend --resume {run}" if facts.undone else "muster mend"
    found["reintegrate"] = f"muster mend --reintegrate {run}"
    found["message"] = f"muster message --where 'labels.run == \"{run}\"' --start -m TEXT"
    found["destroy"] = f"muster destroy --where 'labels.run == \"{run}\"'"
    return found
