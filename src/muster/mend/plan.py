"""The plan: which tests become tasks, which are skipped and why, and who gets each."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from fnmatch import fnmatchcase
from hashlib import sha256

from muster.core import names
from muster.mend import Case, Plan, Request, Skip, Task
from muster.mend.baseline import Stand
from muster.mend.causes import Group

_SLUG_MAX = 28


def plan(
    request: Request,
    cases: Sequence[Case],
    stands: Sequence[Stand],
    groups: Sequence[Group],
    repairers: Collection[str] = (),  # types that have nothing to do with a test that passes
) -> Plan:
    """Every test once: in a task or skipped."""
    standing = {one.id: one for one in stands}
    tasks, skips = [], []
    grouped = (
        groups if request.group == "cause" else [_alone(one, group.title) for group in groups for one in group.ids]
    )
    if request.only != "passing":
        tasks += [_task(request, "error", (case.id,), "it can't be collected") for case in cases if case.error]
        tasks += [_task(request, "failing", tuple(group.ids), group.title) for group in grouped]
    taken = {test for task in tasks for test in task.tests}
    for case in cases:
        if case.id in taken:
            continue
        if reason := _skipped(request, case, standing.get(case.id), repairers):
            skips.append(Skip(case.id, reason))
        else:
            tasks.append(_task(request, "passing", (case.id,), "it passes"))
    return Plan(tuple(tasks), tuple(skips))


def _alone(test: str, title: str) -> Group:
    return Group(key=test, title=title, ids=(test,))


def _skipped(request: Request, case: Case, stand: Stand | None, repairers: Collection[str]) -> str:
    """Why no agent gets that test; empty if one does."""
    if case.error or (stand and stand.standing in ("failing", "erroring")):
        return "only passing tests are asked for"
    if stand is None or stand.standing != "passing":
        return f"it is {stand.standing}" if stand else "it was not run"
    if request.only == "failing":
        return "it passes, and only failing tests are asked for"
    kind = type_of(request, case.id)
    return f"it passes, and a {kind} only repairs what fails" if kind in repairers else ""


def again(request: Request, task: Task, left: Sequence[str], tip: str, number: int) -> Task:
    """What is left of a group after its repair, as a task that starts from the repair."""
    made = _task(request, "again", tuple(left), f"still failing after the repair of `{task.slug}`")
    return Task(f"{made.slug}-{number}", "again", made.tests, made.title, made.type, tip)


def type_of(request: Request, test: str) -> str:
    """The agent type that a test gets: of the last pattern that fits, else the one for all."""
    fitting = [kind for pattern, kind in request.types if fnmatchcase(test, pattern) or pattern in test]
    return fitting[-1] if fitting else request.type


def _task(request: Request, why: str, tests: tuple[str, ...], title: str) -> Task:
    return Task(slug(tests), why, tests, title, type_of(request, tests[0]), request.base)  # type: ignore[arg-type]


def slug(tests: Sequence[str]) -> str:
    """The same for the same tests: readable, and never that of others."""
    name = tests[0].rpartition("::")[2] or tests[0]
    word = names.slug(re.sub(r"\[.*", "", name).removeprefix("test_").replace("_", "-"), _SLUG_MAX) or "test"
    return f"{word.lower()}-{sha256(chr(10).join(tests).encode()).hexdigest()[:5]}"


def lines(plan: Plan, known: Collection[str]) -> Iterator[str]:
    """The plan as a person reads it."""
    for task in plan.tasks:
        more = f" and {len(task.tests) - 1} more" if len(task.tests) > 1 else ""
        yield f"{task.why:8}  {task.type:10}  {task.tests[0]}{more}  ({task.title})"
    reasons: dict[str, list[str]] = {}
    for skip in plan.skips:
        reasons.setdefault(skip.reason, []).append(skip.id)
    for reason, ids in reasons.items():
        shown = ", ".join(ids[:3]) + (f" and {len(ids) - 3} more" if len(ids) > 3 else "")
        yield f"skipped   {len(ids)} of {len(known)}: {reason}: {shown}"
