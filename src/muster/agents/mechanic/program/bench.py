"""Where candidates are run: copies of the workspace, each with a pytest that forks; plainer where that isn't safe."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from .place import Place, copy
from .runs import Cold, Forks, NoPytest, Result, Runner, Wish, one

# Arguments that keep a plugin from running tests elsewhere, or from measuring what we measure.
_QUIET = {
    "xdist": ("-n0", "--dist", "no"),
    "pytest_cov": ("--no-cov",),
    "randomly": ("--randomly-dont-reorganize",),
}
Start = Literal["late forks", "early forks", "a new pytest for each"]
_STARTS: tuple[Start, ...] = ("late forks", "early forks", "a new pytest for each")


@dataclass(frozen=True)
class Manner:
    """How candidates are run, the fastest first."""

    is_copy: bool
    start: Start

    def __str__(self) -> str:
        return f"{'in copies' if self.is_copy else 'in the workspace itself'}, by {self.start}"


MANNERS = tuple(Manner(is_copy, start) for is_copy in (True, False) for start in _STARTS)


@dataclass
class Bench:
    """Runners that are known to run the code of their own place."""

    manner: Manner
    runners: list[Runner] = field(default_factory=list)
    first: Result = field(default_factory=Result)  # of the failing tests, traced

    def close(self) -> None:
        for runner in self.runners:
            runner.place.drop()
            runner.close()
        self.runners = []


@dataclass(frozen=True)
class Project:
    """What is needed to run its tests."""

    workspace: str
    command: tuple[str, ...]
    modules: tuple[str, ...]  # that no test file is


def prepare(
    project: Project, jobs: int, wish: Wish, fits: Callable[[Result], bool], say: Callable[[str], None]
) -> Bench:
    """The fastest way that shows the failure as the workspace does."""
    reasons = []
    for manner in MANNERS:
        bench = Bench(manner)
        try:
            bench.runners.append(_opened(project, manner))
            bench.first = one(bench.runners[0], wish)
            reason = _unfit(bench.first, fits)
            if not reason:
                # The workspace itself is only one place.
                bench.runners += [_opened(project, manner) for _ in range(jobs - 1 if manner.is_copy else 0)]
                return bench
        except NoPytest as error:
            reason = str(error).strip().splitlines()[-1] if str(error).strip() else "pytest did not start"
        except BaseException:
            bench.close()
            raise
        bench.close()
        reasons.append(f"{manner}: {reason}")
        say(f"not {manner}: {reason}")
    raise NoPytest("the failure can't be seen in a traced run\n\n" + "\n".join(f"- {reason}" for reason in reasons))


def _opened(project: Project, manner: Manner) -> Runner:
    place = copy(project.workspace) if manner.is_copy else Place(project.workspace, project.workspace)
    try:
        return _runner(project, place, manner.start)
    except BaseException:
        place.drop()
        raise


def _runner(project: Project, place: Place, start: Start) -> Runner:
    # Even where forks aren't wanted, one pytest is asked for its plugins.
    forks = Forks(place, project.command)
    quiet = [word for name, words in _QUIET.items() if name in forks.plugins for word in words]
    extra = (*quiet, "--maxfail=0", "--tb=native")
    if start == "a new pytest for each":
        forks.close()
        return Cold(place, project.command, extra)
    forks.ready(extra, start == "late forks")
    early = {os.path.join(place.path, name) for name in project.modules} & set(forks.imported)
    if early:
        forks.close()
        raise NoPytest(f"`{os.path.relpath(min(early), place.path)}` is imported before the tests are")
    return forks


def _unfit(first: Result, fits: Callable[[Result], bool]) -> str:
    if first.imported or any("elsewhere" in lines for lines in first.lines.values()):
        return "the tests run the code of another folder"
    if first.state != "ended":
        return "the run was cut short by its time limit" if first.state == "late" else "the run died"
    return "" if fits(first) else "the tests end otherwise than in the workspace"
