"""How the tests stand before anyone works on them: one run of all, and what fails again, alone and in another order."""

from __future__ import annotations

import queue
import statistics
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Literal

import msgspec
from msgspec import Struct

from muster.core import fan
from muster.mend import Attempt, Case, environment
from muster.mend.environment import Environment
from muster.mend.probe import Layout
from muster.mend.project import Project
from muster.mend.trial import trial

Standing = Literal["passing", "failing", "flaky", "erroring", "skipped"]
How = Literal["suite", "alone", "in-order", "reversed"]
# A test is slow if it takes so many times as long as the usual one, and a time that a person notices.
_SLOW_FACTOR, _SLOW_SECONDS = 10.0, 1.0


class Run(Struct, frozen=True):
    """One run of a test, and what ran with it."""

    how: How
    attempt: Attempt


class Stand(Struct, frozen=True):
    """How one test stands at the base commit, and by what that is known."""

    id: str
    standing: Standing
    runs: tuple[Run, ...]
    order_dependent: bool = False  # alone it always ends in one way, with the others in another
    slow: bool = False

    @property
    def greens(self) -> int:
        return sum(one.attempt.green for one in self.runs)

    @property
    def seconds(self) -> float:
        return self.runs[0].attempt.seconds

    @property
    def failure(self) -> Attempt | None:
        """The first run that was not green."""
        return next((one.attempt for one in self.runs if not one.attempt.green), None)

    @property
    def evidence(self) -> str:
        """In words: `2 of 4 runs green, depends on the order`."""
        words = f"{self.greens} of {len(self.runs)} runs green"
        return f"{words}, depends on the order" if self.order_dependent else words


class Baseline(Struct, frozen=True):
    """How all of them stand."""

    commit: str
    stands: tuple[Stand, ...]
    median: float = 0.0  # seconds of a test that passes
    note: str = ""

    def of(self, standing: Standing) -> tuple[Stand, ...]:
        return tuple(one for one in self.stands if one.standing == standing)


def baseline(
    project: Project,
    commit: str,
    cases: Sequence[Case],
    *,
    below: str,
    layout: Layout,
    jobs: int = 1,
    timeout: float = 60.0,
    repeats: int = 2,
    setup: str = "",
    cache: str = "",
) -> Baseline:
    """Run all of them in clean checkouts of that commit (in the folder `below`), so many processes at once."""
    files = _bins(cases, jobs)
    with _crew(project, commit, below, setup, cache, max(1, len(files) if repeats == 0 else jobs)) as crew:
        bench = _Bench(crew, layout, timeout)
        runs: dict[str, list[Run]] = {case.id: [] for case in cases}
        bench.all("suite", [(ids, 0) for ids in files], runs)
        red = [one for one, of in runs.items() if not of[-1].attempt.green]
        if red and repeats:
            _repeat(bench, runs, red, repeats, split=len(files) > 1)
        note, exact = crew.note, crew.commit
    return judged(exact, runs, note)


def _repeat(bench: _Bench, runs: dict[str, list[Run]], red: Sequence[str], repeats: int, split: bool) -> None:
    bench.all("alone", _alone(runs, red, repeats), runs)
    stuck = {one for one in red if all(run.attempt.ending in ("timed-out", "crashed") for run in runs[one])}
    others = [one for one in runs if one not in stuck]
    before = {one for one, of in runs.items() if not all(run.attempt.green for run in of)}
    bench.all("reversed", [(others[::-1], 0)], runs)
    if split:  # some may need what another file's tests leave behind
        bench.all("in-order", [(others, 0)], runs)
    new = [one for one in others if one not in before and not all(run.attempt.green for run in runs[one])]
    bench.all("alone", _alone(runs, new, repeats), runs)
    # Together they had one order of hashes and alone others: which of the two made the difference?
    bench.all("alone", [([one], 0) for one in others if _apart(runs[one])], runs)


def _apart(runs: Sequence[Run]) -> bool:
    """Whether it always ends in one way alone, and not so together with others."""
    alone = {run.attempt.green for run in runs if run.how == "alone"}
    together = {run.attempt.green for run in runs if run.how != "alone"}
    return len(alone) == 1 and together != alone


def _alone(runs: dict[str, list[Run]], ids: Sequence[str], repeats: int) -> list[tuple[list[str], int]]:
    # What hangs is not waited for again and again. Each repetition has another order of hashes.
    return [
        ([one], seed)
        for one in ids
        for seed in range(1, (1 if runs[one][-1].attempt.ending == "timed-out" else repeats) + 1)
    ]


def judged(commit: str, runs: dict[str, list[Run]], note: str = "") -> Baseline:
    """What those runs say of each test."""
    times = [of[0].attempt.seconds for of in runs.values() if of[0].attempt.ending == "passed"]
    median = statistics.median(times) if times else 0.0
    limit = max(_SLOW_SECONDS, _SLOW_FACTOR * median)
    return Baseline(commit, tuple(_stand(one, of, limit) for one, of in runs.items()), median, note)


def _stand(one: str, runs: Sequence[Run], limit: float) -> Stand:
    standing = _standing([run.attempt for run in runs])
    return Stand(
        id=one,
        standing=standing,
        runs=tuple(runs),
        order_dependent=standing == "flaky" and _apart(runs),
        slow=runs[0].attempt.seconds > limit,
    )


def _standing(attempts: Sequence[Attempt]) -> Standing:
    greens = sum(one.green for one in attempts)
    if greens == len(attempts):
        return "skipped" if all(one.ending == "skipped" for one in attempts) else "passing"
    if greens:
        return "flaky"
    return "erroring" if all(one.ending in ("error", "missing") for one in attempts) else "failing"


# -- who runs them -----------------------------------------------------------------------------------------------------


def _bins(cases: Sequence[Case], jobs: int) -> list[list[str]]:
    """Whole files, spread evenly: what is shared in a file is shared in a process."""
    files: dict[str, list[str]] = {}
    for case in cases:
        files.setdefault(case.file, []).append(case.id)
    bins: list[list[str]] = [[] for _ in range(max(1, min(jobs, len(files))))]
    for ids in sorted(files.values(), key=len, reverse=True):
        min(bins, key=len).extend(ids)
    place = {case.id: number for number, case in enumerate(cases)}
    return [sorted(ids, key=place.__getitem__) for ids in bins if ids]


class _Crew:
    """Clean checkouts, lent to one run at a time: side by side in one, tests would see each other's files."""

    def __init__(self, members: Sequence[Environment]) -> None:
        self.size, self.note, self.commit = len(members), members[0].note, members[0].commit
        self._free: queue.SimpleQueue[Environment] = queue.SimpleQueue()
        for one in members:
            self._free.put(one)

    @contextmanager
    def lent(self) -> Iterator[Environment]:
        one = self._free.get()
        try:
            yield one
            one.clean()
        finally:
            self._free.put(one)


@contextmanager
def _crew(project: Project, commit: str, below: str, setup: str, cache: str, size: int) -> Iterator[_Crew]:
    with ExitStack() as stack:
        made = [environment.at(project, commit, below, setup=setup, cache=cache) for _ in range(size)]
        enter: Callable[[int], Environment] = lambda number: stack.enter_context(made[number])  # noqa: E731
        results = [result for _, result in fan.out(enter, range(size), size)]
        for one in results:
            if isinstance(one, Exception):
                raise one
        yield _Crew([one for one in results if isinstance(one, Environment)])


class _Bench:
    """Runs sets of tests on a crew and notes what came out."""

    def __init__(self, crew: _Crew, layout: Layout, timeout: float) -> None:
        self.crew, self.layout, self.timeout = crew, layout, timeout

    def all(self, how: How, sets: Sequence[tuple[list[str], int]], runs: dict[str, list[Run]]) -> None:
        """Each of the sets in a process of its own, with that order of hashes."""
        for _, result in fan.out(self._one, [one for one in sets if one[0]], self.crew.size):
            if isinstance(result, Exception):
                raise result
            for attempt in result:
                runs[attempt.id].append(Run(how, _short(attempt, runs[attempt.id])))

    def _one(self, ids: tuple[list[str], int]) -> list[Attempt]:
        with self.crew.lent() as here:
            return trial(here, ids[0], layout=self.layout, timeout=self.timeout, seed=ids[1])


def _short(attempt: Attempt, before: Sequence[Run]) -> Attempt:
    # What its failure says is kept once for each test.
    known = any(run.attempt.text and not run.attempt.green for run in before)
    return msgspec.structs.replace(attempt, text="") if known else attempt
