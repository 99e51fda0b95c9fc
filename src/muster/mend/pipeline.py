"""The pipeline, as a list of steps: collect, baseline, plan, map, gather, verify, integrate, report."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from functools import partial

from msgspec import Struct

from muster.core import fan, git
from muster.core.interrupt import Interrupts
from muster.errors import MusterError, UsageError
from muster.fleet import wishes
from muster.mend import Gathered, Plan, Request, Task, Verified, branch, capacity
from muster.mend import plan as plans
from muster.mend.baseline import Baseline, baseline
from muster.mend.bench import Bench
from muster.mend.causes import groups
from muster.mend.collect import Collection
from muster.mend.conflicts import Integrators
from muster.mend.fixes import fixes
from muster.mend.integrate import Integration
from muster.mend.integrate.run import integrate
from muster.mend.lab import Lab, red
from muster.mend.layout import Layout, of_collection
from muster.mend.project import HERE, Project
from muster.mend.project import find as find_project
from muster.mend.report import Report, make, written
from muster.mend.run import Run
from muster.mend.verify import Court
from muster.mend.work import Work

# A suite that takes longer than this is not run for every task, but for every commit of the branch all the same.
QUICK_SUITE = 60.0
# So many documents are read to see what a test's new expectation is supported by.
DOCS_MAX = 200


class Found(Struct, frozen=True):
    """What a run came to; of one that only planned, the plan."""

    plan: Plan
    lines: tuple[str, ...] = ()
    report: Report | None = None
    page: str = ""
    text: str = ""


class Ground(Struct, frozen=True):
    """What is known before the first agent begins."""

    project: Project
    collection: Collection
    baseline: Baseline
    layout: Layout
    plan: Plan
    lab: Lab


class Done(Struct):
    """What became of the tasks so far."""

    tasks: list[Task]
    gathered: dict[str, Gathered] = {}
    verified: dict[str, Verified] = {}


# -- the steps ---------------------------------------------------------------------------------------------------------


def plan(run: Run) -> Found:
    """What would be done; nothing is started but the tests themselves."""
    with run.folder.ours():
        ground = _begun(run)
    known = [case.id for case in ground.collection.cases]
    return Found(ground.plan, tuple(plans.lines(ground.plan, known)))


def go(run: Run) -> Found:
    """All of it; what was done before is not done again."""
    with run.folder.ours():
        ground = _begun(run)
        bench = Bench(run.folder, run.request, ground.project, ground.collection, ground.baseline)
        court = _court(run, ground)
        with Interrupts() as interrupts:
            done = _worked(run, ground, bench, court, interrupts)
        integrators = Integrators(run.fleet, run.folder, run.request, bench, court)
        integration = _integrated(run, ground, done, integrators)
        report = _reported(run, ground, done, integrators, integration)
        page, text = written.all_of(run.folder, report)
        return Found(ground.plan, report=report, page=page, text=text)


def _begun(run: Run) -> Ground:
    """A run that comes to nothing because of what it was asked leaves nothing."""
    try:
        return _ground(run)
    except MusterError:
        if run.folder.read("collection.json", Collection) is None:
            run.folder.remove()
        raise


def _ground(run: Run) -> Ground:
    """Collect, baseline, plan."""
    request, home = run.request, run.folder
    if run.uncommitted:
        many = f"{run.uncommitted} uncommitted file" + ("s are" if run.uncommitted > 1 else " is")
        home.note("warning", text=f"{many} not part of this run: it begins at the commit `{request.base[:9]}`")
    project = home.step("project", Project, lambda: find_project(f"{request.top}/{request.folder}", request.python))
    lab = Lab(home, request, project)
    home.note("step", name="collecting")
    collection = home.step("collection", Collection, lambda: lab.collect(request.base, request.args))
    if not collection.cases:
        given = f" with `{shlex.join(request.args)}`" if request.args else ""
        raise UsageError(
            f"pytest collects no test{given}",
            hint=f"`{project.python} -m pytest --collect-only` shows what it looks at",
        )
    lab.layout = collection.layout
    home.note("collected", tests=len(collection.ids), errors=len(collection.errors))
    home.note("step", name="baseline")
    seen = home.step("baseline", Baseline, lambda: _baseline(run, lab, collection))
    if seen.note:
        home.note("warning", text=seen.note)
    slow = {one.id: round(one.seconds, 1) for one in seen.stands if one.slow}
    home.note("baseline", counts=dict(Counter(one.standing for one in seen.stands)), slow=slow)
    layout = _layout(request, collection)
    planned = home.step("plan", Plan, lambda: _planned(run, collection, seen, layout))
    forecast = capacity.forecast(request, planned, seen)
    home.note("planned", tasks=len(planned.tasks), skipped=len(planned.skips), forecast=forecast)
    return Ground(project, collection, seen, layout, planned, lab)


def _at_once(request: Request) -> int:
    """How much of muster's own work: agents wait for a model, but tests want a core each."""
    return min(request.jobs, os.cpu_count() or 1)


def _baseline(run: Run, lab: Lab, collection: Collection) -> Baseline:
    request = run.request
    return baseline(
        lab.project,
        request.base,
        [case for case in collection.cases if not case.error],
        below=run.folder.file("work"),
        layout=collection.layout,
        jobs=_at_once(request),
        timeout=request.test_timeout,
        repeats=request.repeats - 1,
        setup=request.setup,
        cache=lab.cache,
    )


def _layout(request: Request, collection: Collection) -> Layout:
    return of_collection(
        collection.cases,
        testpaths=collection.testpaths,
        python_files=collection.python_files,
        python_classes=collection.python_classes,
        python_functions=collection.python_functions,
        conftests=collection.conftests,
        config=collection.layout.config,
        tracked=_tracked(request),
    )


def _tracked(request: Request) -> list[str]:
    listing = git.run(HERE, request.top, "ls-tree", "-r", "-z", "--name-only", request.base).out
    return [name.decode(errors="surrogateescape") for name in listing.split(b"\0") if name]


def _planned(run: Run, collection: Collection, seen: Baseline, layout: Layout) -> Plan:
    failures = [one.failure for one in (*seen.of("failing"), *seen.of("erroring")) if one.failure]
    config = run.fleet.config(run.request.top)
    repairers = {kind for kind in run.request.kinds if wishes.behind(config, kind)[0].repairs}
    return plans.plan(run.request, collection.cases, seen.stands, groups(failures, layout.is_test), repairers)


def _court(run: Run, ground: Ground) -> Court:
    steady = [one for one in ground.baseline.stands if one.standing != "flaky"]
    seen = {one.id: one.failure or one.runs[0].attempt for one in steady}
    quick = sum(one.seconds for one in ground.baseline.stands) <= QUICK_SUITE
    docs = [name for name in _tracked(run.request) if ground.layout.of(name) == "docs"][:DOCS_MAX]
    return Court(HERE, run.request, ground.lab, ground.layout, seen, docs=docs, suite=quick)


def _worked(run: Run, ground: Ground, bench: Bench, court: Court, interrupts: Interrupts) -> Done:
    """Map, gather and verify; what is left of a group after its repair becomes a task again."""
    done, todo = Done(list(ground.plan.tasks)), list(ground.plan.tasks)
    run.folder.note("step", name="working")
    for number in range(1, run.request.rounds + 1):
        work = Work(run.fleet, run.folder, run.request, bench, interrupts)
        tasks = {task.slug: task for task in todo}
        with fan.Later(partial(_judged, run, court, done), _at_once(run.request)) as later:
            for gathered in work.run(todo):
                done.gathered[gathered.task] = gathered
                later.give(gathered.task)
            for _, result in later.rest():
                if isinstance(result, Exception):
                    raise result
        todo = _again(run, done, tasks, number)
        if not todo or interrupts.came:
            break
        done.tasks += todo
    return done


def _judged(run: Run, court: Court, done: Done, slug: str) -> Verified:
    task = next(one for one in done.tasks if one.slug == slug)
    found = run.folder.step(f"tasks/{slug}/verified", Verified, lambda: court.judge(task, done.gathered[slug]))
    done.verified[slug] = found
    run.folder.note("verified", task=slug, verdict=found.verdict, reason=found.reason)
    return found


def _again(run: Run, done: Done, tasks: dict[str, Task], number: int) -> list[Task]:
    more = []
    for slug, task in tasks.items():
        found = done.verified.get(slug)
        if found and found.verdict == "fixed" and found.red:
            more.append(plans.again(run.request, task, found.red, found.commit, number))
            run.folder.note("left", task=slug, tests=len(found.red))
    return more


def _integrated(run: Run, ground: Ground, done: Done, integrators: Integrators) -> Integration:
    """One branch of all that held."""
    run.folder.note("step", name="integrating")
    request, lab = run.request, ground.lab

    def check(commit: str) -> frozenset[str]:
        suspects = red(lab.look(commit, ground.collection.ids))
        return frozenset(suspects & red(lab.look(commit, suspects, 2)))

    held = fixes(done.tasks, done.gathered, done.verified)
    found = integrate(
        HERE,
        request.top,
        request.base,
        held,
        check=check,
        expected=frozenset(one.id for one in ground.baseline.of("passing")),
        resolve=integrators if request.integrator else None,
        jobs=_at_once(request),
    )
    run.folder.note("integrated", commits=len(found.commits), aside=len(found.aside))
    return found


def _reported(run: Run, ground: Ground, done: Done, integrators: Integrators, found: Integration) -> Report:
    run.folder.note("step", name="reporting")
    request = run.request
    name = branch.write(run.folder, request, found)
    # Files that could not be collected may hold tests that nobody has seen.
    there = ground.lab.collect(found.tip, request.args) if ground.collection.errors else ground.collection
    known = {*ground.collection.ids, *there.ids}
    seen = ground.lab.look(found.tip, known) if found.tip != request.base else []
    skips: dict[str, list[str]] = {}
    for skip in ground.plan.skips:
        skips.setdefault(skip.reason, []).append(skip.id)
    facts = make.Facts(
        request=request,
        folder=run.folder,
        tasks=[*done.tasks, *integrators.tasks],
        gathered={**done.gathered, **integrators.gathered},
        verified={**done.verified, **integrators.verified},
        skips=skips,
        baseline=ground.baseline,
        uncollected=[case.id for case in ground.collection.errors],
        tip_uncollected=[case.id for case in there.errors],
        integration=found,
        branch=name,
        tip_seen={one.id: one.ending for one in seen},
    )
    return make.report(facts)
