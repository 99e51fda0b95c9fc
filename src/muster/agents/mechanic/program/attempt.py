"""One attempt at one task, from the first look to the commit."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

from . import facts, words
from .bench import MANNERS, Bench, Project, prepare
from .candidates import Candidate, below, ranked
from .place import Place
from .repository import Repository
from .runs import Cold, Failure, NoPytest, Result, Wish, one, several
from .search import Target, Tried, search
from .source import Source
from .suspicion import Lines, Spectrum, statements
from .talk import Talk
from .task import Outcome, Task

_TEST_FILE = re.compile(r"(^|/)(conftest|test_[^/]*|[^/]*_test)\.py$|(^|/)tests?/")
_SEEDS = 4  # candidates that got further, on which a second repair is tried
_SEEDS_OF_ORDER = ("", "1", "2", "3", "4")  # the first run is as the environment says
_SECOND = 400  # candidates tried on each
_OTHERS = 5  # other repairs that are mentioned


class Attempt:
    """What is known so far; each step adds to it."""

    def __init__(self, workspace: str, task: Task, limit: float, jobs: int, talk: Talk) -> None:
        self._top = os.path.realpath(workspace)
        self._task, self._jobs, self._talk = task, jobs, talk
        self._deadline = time.monotonic() + limit
        self._limit = limit
        self._repository = Repository(self._top)
        self._seconds: dict[str, float] = {}
        self._sources: dict[str, Source] = {}
        self._spectrum = Spectrum()
        self._facts = facts.read([])
        self._bench = Bench(MANNERS[0])
        self._base: dict[str, float] = {}  # tests that pass, and how long each takes
        self._others: set[str] = set()  # tests that fail, and are not asked for
        self._tried = Tried()
        self._loose: set[str] = set()
        self._before = Result()
        self._red: tuple[str, ...] = ()
        self._flaky: tuple[str, ...] = ()

    def run(self) -> Outcome:
        if not self._repository.usable():
            return Outcome("failed", f"`{self._top}` is not the top of a git checkout with a commit")
        if dirty := self._repository.dirty():
            return Outcome("failed", f"the workspace has uncommitted changes: {', '.join(dirty[:5])}")
        self._loose = self._repository.loose()
        try:
            return self._repair()
        finally:
            self._bench.close()
            self._tidy()

    def _tidy(self) -> None:
        """Runs of tests leave things behind: what was not there before goes."""
        self._repository.restore(self._repository.dirty())
        for name in sorted(self._repository.loose() - self._loose):
            os.unlink(os.path.join(self._top, name))

    @contextmanager
    def _timed(self, name: str) -> Iterator[None]:
        began = time.monotonic()
        try:
            yield
        finally:
            self._seconds[name] = self._seconds.get(name, 0.0) + time.monotonic() - began

    def _left(self) -> float:
        return max(self._deadline - time.monotonic(), 0.1)

    # -- look

    def _repair(self) -> Outcome:
        if outcome := self._look():
            return outcome
        modules = self._repository.modules()
        with self._timed("getting ready"):
            project = Project(
                self._top, self._task.command, tuple(name for name in modules if not _TEST_FILE.search(name))
            )
            self._bench = prepare(project, self._jobs, self._first_wish(modules), self._fits, self._talk.say)
        self._talk.say(f"runs candidates {self._bench.manner}, {len(self._bench.runners)} at once")
        with self._timed("tracing"):
            self._trace(modules)
        target = self._target()
        with self._timed("ranking"):
            found = ranked(self._sources, self._spectrum, self._facts)
        self._talk.say(f"{len(found)} candidates in {len(self._sources)} files; {self._suspects(3)}")
        if not found:
            return self._blocked(0, "no line of the program was seen to run in the failing tests")
        accepted = search(found, self._bench.runners, target, self._bench.first, self._tried)
        if not accepted:
            accepted = self._second(found, target)
        return self._settle(accepted, len(found), late=time.monotonic() > target.deadline)

    def _look(self) -> Outcome | None:
        """Run the tests twice as they are; an outcome if there is nothing to repair."""
        self._talk.say(f"runs {_count(len(self._task.tests), 'test')}, twice")
        with self._timed("first look"):
            first = self._plain(self._task.tests)
            # One that hangs would take as much of the time again, and tell nothing new.
            second = first if first.state == "late" else self._plain(self._task.tests)
        self._before = first if first.failed or first.state != "ended" else second
        red = [[test for test in self._task.tests if _is_red(run, test)] for run in (first, second)]
        if unknown := [test for test in self._task.tests if not _seen(first, test)]:
            return Outcome(
                "failed", f"pytest does not find `{unknown[0]}`\n\n```text\n{first.said.strip()[-1500:]}\n```"
            )
        self._red = tuple(test for test in red[0] if test in red[1])
        self._flaky = tuple(test for test in self._task.tests if (test in red[0]) != (test in red[1]))
        for test in self._flaky:
            self._talk.say(f"flaky: {test}")
        if self._red:
            for test in self._red:
                failure = _failure(self._before, test)
                self._talk.say(f"fails: {test}")
                self._talk.found("pytest", f"{test}\n{failure.type}: {failure.message[:2000]}")
            return None
        if self._flaky:
            return self._is_flaky()
        return Outcome("done", "The tests pass already; nothing was changed.")

    def _plain(self, tests: Sequence[str], seed: str = "") -> Result:
        """Exactly the command, in the workspace, with nothing but our eyes added, and maybe a seed for the order of sets."""
        runner = Cold(Place(self._top, self._top), self._task.command, env={"PYTHONHASHSEED": seed} if seed else {})
        try:
            result = one(runner, Wish(tuple(tests), min(self._limit / 4, self._left()), write=True))
        finally:
            runner.close()
        if result.state == "died":
            said = result.said.strip()
            why = f": {said.splitlines()[0]}" if said else ", and said nothing"
            raise NoPytest(f"the command did not run pytest{why}\n\n```text\n{said[-1500:]}\n```")
        return result

    def _is_flaky(self) -> Outcome:
        names = ", ".join(f"`{test}`" for test in self._flaky)
        text = f"{names}: failed in one of two runs of the same code, so no repair could be shown to be one."
        detail = {"kind": "blocker", "title": f"flaky: {self._flaky[0]}", "detail": text}
        return Outcome("blocked", text, escalations=[detail])

    # -- suspect

    def _first_wish(self, modules: Sequence[str]) -> Wish:
        limit = self._left() / 4
        each = min(self._each() * 3, limit / (len(self._red) + 1))  # tracing is slow
        return Wish(self._red, limit, each, tuple(modules), write=True, verbose=True)

    def _fits(self, result: Result) -> bool:
        return all(not result.green(test) and _seen(result, test) for test in self._red)

    def _trace(self, modules: Sequence[str]) -> None:
        collected = one(self._bench.runners[0], Wish((), self._left() / 4, collect=True))
        self._read(modules, collected)
        files = dict.fromkeys([*(test.partition("::")[0] for test in self._red), *collected.tests])
        wishes = [Wish((name,), self._left() / 4, self._each(), tuple(self._sources), True) for name in files]
        until = time.monotonic() + self._left() / 4

        def stream() -> Iterator[tuple[int, Wish, Mapping[str, bytes]]]:
            for number, wish in enumerate(wishes):
                if time.monotonic() < until:
                    yield number, wish, {}

        for test in self._red:
            self._spectrum.add_failing(self._ran(self._bench.first, test), _failure(self._bench.first, test))
        done = 0
        for _, result in sorted(several(self._bench.runners, stream()), key=lambda pair: pair[0]):
            done += result.state == "ended"
            for test in sorted(result.passed - {*self._task.tests}):
                self._base[test] = result.seconds.get(test, 0.0)
                self._spectrum.add_passing(test, result.lines.get(test, {}))
            self._others |= {test for test in result.failed if "::" in test} - {*self._task.tests}
        self._talk.say(f"traced {_count(len(self._base), 'passing test')} in {done} of {_count(len(files), 'file')}")
        failures = [_failure(self._bench.first, test) for test in self._red]
        self._facts = facts.read(failures)

    def _ran(self, result: Result, test: str) -> Mapping[str, Sequence[int]]:
        """The lines of a test; of one that could not be collected, what ran on import."""
        found = result.lines.get(test) or result.lines.get(test.partition("::")[0])
        return {path: lines for path, lines in (found or result.lines.get("", {})).items() if path in self._sources}

    def _read(self, modules: Sequence[str], collected: Result) -> None:
        """Parse what the failing tests ran; a test, and what only tests use, is none of our business."""
        tests = {collected.file(test) for test in (*collected.tests, *self._task.tests)}
        for name in modules:
            if name in tests or _TEST_FILE.search(name):
                continue
            try:
                with open(os.path.join(self._top, name), "rb") as file:
                    self._sources[name] = Source(name, file.read())
            except (SyntaxError, ValueError, OSError) as error:
                self._talk.say(f"can't read {name}: {error}")

    def _each(self) -> float:
        slowest = max([self._before.seconds.get(test, 0.0) for test in self._red], default=0.0)
        return max(1.0, slowest * 5)  # of one that hangs nothing is known, but that most tests are quick

    def _target(self) -> Target:
        ran = self._spectrum.files()
        self._sources = {path: source for path, source in self._sources.items() if path in ran or self._is_used(path)}
        slowest = max(self._base.values(), default=0.0)
        reserve = min(self._limit * 0.2, 5 + 2 * sum(self._base.values()))
        others = tuple(sorted(self._others))
        return Target(self._red, self._base, others, self._covering, self._each(), slowest, self._deadline - reserve)

    def _is_used(self, path: str) -> bool:
        return path in self._bench.first.lines.get("", {})

    def _covering(self, candidate: Candidate) -> list[str]:
        edits = [*candidate.under, candidate.edit]
        found = {test for edit in edits for test in self._near(edit.path, edit.line)}
        return [test for test in self._base if test in found]

    def _near(self, path: str, line: int) -> list[str]:
        return self._spectrum.covering(path, line - 1, line + 2)

    def _suspects(self, most: int) -> str:
        found = statements(self._spectrum, self._sources)[:most]
        return "suspects " + ", ".join(f"{source.path}:{statement.lineno}" for _, source, statement in found)

    # -- try two

    def _second(self, found: Sequence[Candidate], target: Target) -> list[Candidate]:
        """Where no repair alone will do, a second one on top of those that got furthest."""
        seeds = sorted(self._tried.partial, key=lambda pair: (-pair[0], pair[1].harsh, -pair[1].score))[:_SEEDS]
        for _, seed in seeds:
            if time.monotonic() > target.deadline:
                break
            self._talk.say(f"tries a second repair on top of {words.where(seed)}: {words.change(seed, self._sources)}")
            more = below(seed, self._sources, self._spectrum, self._with(seed))[:_SECOND]
            accepted = search(more, self._bench.runners, target, self._bench.first, self._tried)
            if accepted:
                return accepted
        return []

    def _with(self, seed: Candidate) -> list[tuple[Lines, Failure]]:
        """What the failing tests run and say where that candidate is in place."""
        runner = self._bench.runners[0]
        runner.place.lay(seed.files)
        result = one(runner, replace(self._first_wish(tuple(self._sources)), write=False))
        red = [test for test in self._red if not result.green(test)]
        return [(self._ran(result, test), _failure(result, test)) for test in red]

    # -- settle

    def _settle(self, accepted: Sequence[Candidate], found: int, *, late: bool) -> Outcome:
        for runner in self._bench.runners:
            runner.place.lay({})
        for candidate in accepted[:_OTHERS]:
            self._talk.say(f"proves {words.where(candidate)}: {words.change(candidate, self._sources)}")
            with self._timed("proof"):
                commit = self._proved(candidate)
            if commit:
                return self._done(commit, candidate, [one for one in accepted if one is not candidate], found)
        return self._blocked(found, "the time was up" if late else "every candidate was tried")

    def _proved(self, candidate: Candidate) -> str:
        """Commit it if the plain command agrees: the failing tests pass twice, and no other fails."""
        for path, data in candidate.files.items():
            with open(os.path.join(self._top, path), "wb") as file:
                file.write(data)
        # A repair that passes by the luck of one order of a set's elements is none.
        good = all(self._green(self._plain(self._red, seed), self._red) for seed in _SEEDS_OF_ORDER)
        good = good and self._breaks_nothing()
        self._clean_but(candidate)
        if not good:
            self._repository.restore(sorted(candidate.files))
            return ""
        text = words.message(candidate, self._sources, self._red, self._bench.first)
        return self._repository.commit(sorted(candidate.files), text)

    def _clean_but(self, candidate: Candidate) -> None:
        self._repository.restore([name for name in self._repository.dirty() if name not in candidate.files])

    def _green(self, result: Result, tests: Sequence[str]) -> bool:
        return result.state == "ended" and all(result.green(test) for test in tests)

    def _breaks_nothing(self) -> bool:
        if not self._base:
            return True
        # In the order of sets in which these tests were seen to pass: one that it decides on is not held against a repair.
        seed = os.environ.get("PYTHONHASHSEED", "0")
        result = self._plain((), seed)
        red = [test for test in self._base if not result.green(test)]
        return not red or (result.state == "ended" and self._green(self._plain(red, seed), red))

    def _done(self, commit: str, candidate: Candidate, others: Sequence[Candidate], found: int) -> Outcome:
        change = f"{words.where(candidate)}: {words.change(candidate, self._sources)}."
        text = f"{change}\n\n{_count(len(self._red), 'test')} failed and pass now; {len(self._base)} others still pass."
        if candidate.harsh:
            text += "\n\nIt takes behaviour away, so look at it with care."
        if others:
            lines = [f"- {words.where(one)}: {words.change(one, self._sources)}" for one in others[:_OTHERS]]
            text += f"\n\n{_count(len(others), 'other repair')} passed all tests as well:\n\n" + "\n".join(lines)
        text += "\n\n" + words.effort(self._tried, found, self._seconds)
        changed = {"kind": "impl", "commit": commit, "summary": change, "severity": 3}
        outcome = Outcome("done", text, changes=[changed])
        outcome.escalations = [_flaky(test) for test in self._flaky]
        return outcome

    def _blocked(self, found: int, why: str) -> Outcome:
        rows = [
            f"1. {source.path}:{statement.lineno} ({weight:.2f})"
            for weight, source, statement in statements(self._spectrum, self._sources)[:10]
        ]
        text = f"Found no repair: {why}."
        places = "\n".join(rows) or "none"
        detail = f"{text}\n\nSuspected, most first:\n\n{places}\n\n{words.effort(self._tried, found, self._seconds)}"
        title = f"no small repair makes {self._red[0]} pass"
        escalations = [{"kind": "blocker", "title": title, "detail": detail}, *map(_flaky, self._flaky)]
        return Outcome("blocked", text, escalations=escalations)


def _flaky(test: str) -> dict[str, str]:
    detail = "It failed in one of two runs of the same code."
    return {"kind": "blocker", "title": f"flaky: {test}", "detail": detail}


def _failure(result: Result, test: str) -> Failure:
    found = result.failed.get(test) or result.failed.get(test.partition("::")[0])
    return found or Failure("TimeLimit" if result.state == "late" else "", "", ())


def _is_red(result: Result, test: str) -> bool:
    if result.state == "late":
        return True
    return test in result.failed or test.partition("::")[0] in result.failed


def _seen(result: Result, test: str) -> bool:
    return result.state == "late" or _is_red(result, test) or test in result.seconds or result.green(test)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
