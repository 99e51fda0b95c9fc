"""How a run of `mend` is told: live on a terminal, a line per event elsewhere, and five lines at the end."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from muster.cli.answers import count
from muster.core import fan, out
from muster.core.out import Show
from muster.errors import MusterError
from muster.mend.report import text

if TYPE_CHECKING:
    from muster.fleet import Fleet
    from muster.mend.pipeline import Found
    from muster.mend.report import Report
    from muster.mend.run import Run

VERDICTS = {
    "fixed": "green",
    "improved": "green",
    "unchanged": "dim",
    "blocked": "yellow",
    "flaky": "yellow",
    "broken": "red",
    "refused": "red",
    "lost": "magenta",
}
EVERY = 0.5
SHOWN = 12


@contextmanager
def progress(fleet: Fleet, run: Run, show: Show) -> Iterator[None]:
    """What happens, while it happens."""
    if show.form == "jsonl":
        run.folder.listeners.append(show.line)
        yield
        return
    if not (show.human and sys.stderr.isatty()):
        run.folder.listeners.append(_line)
        yield
        return
    screen = _Screen(fleet, run)
    run.folder.listeners.append(screen.heard)
    with screen.shown():
        yield


def sentence(entry: Mapping[str, Any]) -> str:
    """An event in words; empty for one that says nothing to a person."""
    event, task = entry["event"], entry.get("task", "")
    match event:
        case "collected":
            errors = f"; {count(entry['errors'], 'file')} can't be collected" if entry["errors"] else ""
            return f"collected {count(entry['tests'], 'test')}{errors}"
        case "baseline":
            counts = ", ".join(f"{number} {word}" for word, number in entry["counts"].items())
            slow = sorted(entry["slow"].items(), key=lambda one: -one[1])
            first = f"; {len(slow)} slow: {slow[0][0]} ({slow[0][1]} s)" if slow else ""
            return f"at the base: {counts or 'no test can be run'}{first}{', …' if len(slow) > 1 else ''}"
        case "planned":
            return f"{count(entry['tasks'], 'task')}, {entry['skipped']} skipped; {entry['forecast']}"
        case "begun":
            return f"{task}: {entry['agent']} begins"
        case "asked":
            return f"{task}: asked for its outcome"
        case "again":
            return f"{task}: started again ({entry['reason']})"
        case "gathered":
            return f"{task}: gathered ({entry['state']})"
        case "verified":
            return f"{task}: {entry['verdict']}: {entry['reason']}"
        case "left":
            return f"{task}: {count(entry['tests'], 'test')} of the group still fail: a task again"
        case "conflict":
            return f"{task}: {entry['agent']} is to bring two changes together"
        case "interrupted":
            return f"interrupted: {entry['working']} stopped, {entry['waiting']} not begun"
        case "integrated":
            return f"{count(entry['commits'], 'commit')} on the branch, {entry['aside']} set aside"
        case "warning":
            return str(entry["text"])
    return ""


def _line(entry: Mapping[str, Any]) -> None:
    if said := sentence(entry):
        out.talk(out.safe(said))


class _Screen:
    """A few lines at the bottom of the terminal, drawn again in place; what is settled scrolls by above them."""

    def __init__(self, fleet: Fleet, run: Run) -> None:
        self.fleet, self.run = fleet, run
        self.begun = time.monotonic()
        self.working: dict[str, tuple[str, float]] = {}  # agent and beginning, by task
        self.activity: dict[str, str] = {}
        self.tasks = self.done = 0
        self.step = "collecting"
        self.height = 0
        self.lock = fan.Lock()

    def heard(self, entry: Mapping[str, Any]) -> None:
        event, task = entry["event"], entry.get("task", "")
        with self.lock:
            if event == "planned":
                self.tasks, self.step = entry["tasks"], "working"
            elif event == "left":
                self.tasks += 1
            elif event == "begun":
                self.working[task] = (entry["agent"], time.monotonic())
            elif event == "gathered":
                self.working.pop(task, None)
            elif event == "step":
                self.step = entry["name"]
            if event == "verified":
                self.done += 1
            if event in (
                "collected",
                "baseline",
                "planned",
                "verified",
                "again",
                "warning",
                "interrupted",
                "integrated",
            ):
                self._clear()
                colour = VERDICTS.get(entry.get("verdict", ""), "")
                out.talk(out.paint(out.clip(out.safe(sentence(entry)), self._columns()), colour, sys.stderr))
                self._draw()

    @contextmanager
    def shown(self) -> Iterator[None]:
        try:
            with fan.every(EVERY, self._tick):
                yield
        finally:
            with self.lock:
                self._clear()

    def _tick(self) -> None:
        self._look()
        with self.lock:
            self._clear()
            self._draw()

    def _look(self) -> None:
        names = [agent for agent, _ in [*self.working.values()][:SHOWN]]
        try:
            for agent in self.fleet.agents(names, screens=True) if names else ():
                state = f"{agent.state.kind} " if agent.state and agent.state.kind != "working" else ""
                self.activity[agent.name] = state + agent.activity
        except MusterError:
            pass  # gathered and gone in this moment

    def _columns(self) -> int:
        return os.get_terminal_size(sys.stderr.fileno()).columns or 80

    def _clear(self) -> None:
        out.take_back(self.height)
        self.height = 0

    def _draw(self) -> None:
        now, columns = time.monotonic(), self._columns()
        head = f"{self.run.folder.run}  {self.step}  {out.age(now - self.begun)}"
        if self.tasks:
            head += f"  {self.done} of {self.tasks} tasks done, {len(self.working)} at work{self._left(now)}"
        lines = [out.paint(out.clip(head, columns - 1), "bold", sys.stderr)]
        for task, (agent, begun) in [*self.working.items()][:SHOWN]:
            text = f"  {out.age(now - begun):>4}  {task}  {out.safe(self.activity.get(agent, ''))}"
            lines.append(out.clip(text, columns - 1))
        if len(self.working) > SHOWN:
            lines.append(f"        … and {len(self.working) - SHOWN} more")
        out.talk("\n".join(lines))
        self.height = len(lines)

    def _left(self, now: float) -> str:
        if not self.done or self.done >= self.tasks:
            return ""
        return f", about {out.age((now - self.begun) / self.done * (self.tasks - self.done))} left"


def told(found: Found, show: Show, pr: bool) -> int:
    """The end of it: the report's path, the branch, and what happened in five lines; the exit code."""
    if found.report is None:
        show.many([found.plan], lambda _: "\n".join(found.lines))
        return 0
    report = found.report
    if not show.human:
        summary = {"run": report.run, "branch": report.branch, "tip": report.tip, "counts": report.counts}
        show.one({**summary, "before": report.before, "after": report.after, "report": found.page}, "")
    else:
        out.say("\n".join(_summary(found)))
    if pr:
        from muster.mend import pull_request

        if address := pull_request.opened(report, found.text):
            out.say(address)
    if report.interrupted:
        out.hint(f"`muster mend --resume {report.run}` goes on with it")
        return 130
    return 1 if text.wanting(report) else 0


def _summary(found: Found) -> Iterator[str]:
    report = found.report
    assert report is not None
    counts = [out.paint(f"{number} {word}", VERDICTS.get(word, "")) for word, number in report.counts.items() if number]
    yield "tasks    " + (", ".join(counts) or "none")
    yield f"tests    {_counted(report.before)}  →  {_counted(report.after)}"
    yield _branch(report)
    yield f"person   {text.wanting(report) or 'nothing is left for you but to review'}"
    yield f"report   {found.page}"


def results(found: Found) -> Iterator[str]:
    """Where it is: the branch and the report."""
    assert found.report is not None
    yield _branch(found.report)
    yield f"report   {found.page}"


def _branch(report: Report) -> str:
    if not report.branch:
        return "branch   none: no change held"
    kinds = [one.kind for one in report.commits]
    told = f"{count(len(kinds), 'commit')}, {count(kinds.count('impl'), 'fix')}".replace("fixs", "fixes")
    return f"branch   {report.branch}  ({told}; {len(report.asides)} set aside)"


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {word}" for word, number in counts.items() if number) or "none"
