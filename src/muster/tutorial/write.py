"""Draft and sync: an agent is made and told what is missing; when it has settled, its commits are checked."""

from __future__ import annotations

import os
import shlex
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from msgspec import Struct

from muster.agents import SETTLED, Agent
from muster.core import git, proc, prompt
from muster.errors import TimedOut, UsageError
from muster.fleet import Fleet
from muster.hosts.local import Local
from muster.tutorial import Answer, Wish, gaps
from muster_testkit import KitError
from muster_testkit import tutorial as kit
from muster_testkit.tutorial.check import Report, check

HERE = Local("")
# A message may have reached an agent whose state does not show it yet.
GRACE = 2.0
DRAFT = (("file", "headings", "rules"), "headings", "which headings are meant")
SYNC = (("file", "tests", "problems", "check", "rules"), "problems", "what is missing")
Tell = Callable[[Agent, int], object]


class Place(Struct, frozen=True):
    """A tutorial and its tests, as paths from the top of their repository."""

    top: str
    file: str
    tests: tuple[str, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        return (self.file, *self.tests)

    def report(self, folder: str) -> Report:
        """The check of a checkout, which that folder is."""
        return check(f"{folder}/{self.file}", [f"{folder}/{path}" for path in self.tests])


def template(path: str, name: str) -> str:
    """The user's own template for `draft` or `sync`, checked before anything begins."""
    return prompt.read(path, *(DRAFT if name == "draft" else SYNC))


def draft(fleet: Fleet, file: str, wish: Wish, tell: Tell) -> Answer:
    """Have the headings filled that have no example."""
    before, place = kit.read(file), _place(file, ())
    bare = gaps.headings(before)
    missing = tuple(f"{file}:{one.line}: this heading has no example: `{gaps.first(one)}`" for one in bare)
    if not bare:
        return Answer(ok=True)
    words = {"file": place.file, "headings": "\n\n".join(_indented(one.text) for one in bare)}
    parses = _parses(file)

    def look(folder: str) -> Iterator[str]:
        path = f"{folder}/{place.file}"
        yield from gaps.drafted(place.file, before, kit.read(path))
        if parses and not _parses(path):
            yield f"{place.file}: `sh -n` finds a mistake in it"

    return _written(fleet, place, wish, _told("draft", words, wish), missing, look, tell)


def sync(fleet: Fleet, file: str, tests: Sequence[str], wish: Wish, tell: Tell) -> Answer:
    """Have tests written for the blocks that none cites, and citations repaired that have drifted."""
    found, place = check(file, list(tests)), _place(file, tests)
    if found.ok:
        return Answer(ok=True)
    prefix = f"{place.top}/"
    before = place.report(place.top)
    missing = tuple(str(one) for one in found.problems if one.fails)
    problems = "\n".join(str(one).replace(prefix, "") for one in before.problems if one.fails)
    words = {
        "file": place.file,
        "tests": ", ".join(f"`{one}`" for one in place.tests),
        "problems": _indented(problems),
        "check": shlex.join(["muster", "tutorial", "check", *place.paths]),
    }
    at_base = _moved(before, prefix)

    def look(folder: str) -> Iterator[str]:
        yield from gaps.synced(at_base, place.report(folder), f"{folder}/")

    return _written(fleet, place, wish, _told("sync", words, wish), missing, look, tell)


def _place(file: str, tests: Sequence[str]) -> Place:
    top = git.top(os.path.dirname(os.path.realpath(file)))
    if not top:
        raise UsageError(f"`{file}` is not in a git repository", hint="agents work on commits: `git init`, then commit")
    paths = [os.path.relpath(os.path.realpath(path), top) for path in (file, *tests)]
    for given, path in zip((file, *tests), paths, strict=True):
        if path.split(os.sep)[0] == os.pardir:
            raise UsageError(f"`{given}` is not in the repository `{top}`")
        if git.run(HERE, top, "check-ignore", "-q", "--", path, check=False).code == 0:
            raise UsageError(f"git ignores `{given}`, so no agent would see it")
    return Place(top, paths[0], tuple(paths[1:]))


def _told(name: str, words: dict[str, str], wish: Wish) -> str:
    words = {**words, "rules": prompt.shipped(__file__, "rules").strip()}
    return prompt.told(prompt.shipped(__file__, name), words, wish.template)


def _written(
    fleet: Fleet,
    place: Place,
    wish: Wish,
    message: str,
    missing: tuple[str, ...],
    look: Callable[[str], Iterator[str]],
    tell: Tell,
) -> Answer:
    # Whatever the configuration says of other agents: there must be commits, and they begin where the check was made.
    where = {"source": place.top, "dirty": wish.dirty, "mode": "worktree", "branch": ":muster/*"}
    agent = fleet.create(wish.name, wish.type, args=wish.args or None, message=message, **where)
    tell(agent, len(missing))
    agent, late = _settled(fleet, agent, wish.timeout)
    reference = f"refs/muster/tutorial/{agent.id}"
    moved = fleet.fetch(agent, reference)
    try:
        with _files(place, moved.commit) as folder:
            problems = _looked(look, folder)
    finally:
        git.run(HERE, place.top, "update-ref", "-d", reference)
    assert agent.state
    return Answer(
        ok=not problems,
        missing=missing,
        problems=problems,
        agent=agent.name,
        state=agent.state.kind,
        reason=agent.state.reason,
        late=late,
        commit=moved.commit,
        commits=int(git.text(HERE, place.top, "rev-list", "--count", f"{agent.workspace.base}..{moved.commit}")),
        left=moved.left,
        diff=_diff(place, agent, moved.commit),
    )


def _settled(fleet: Fleet, agent: Agent, timeout: float) -> tuple[Agent, bool]:
    """The agent when nothing more is to be expected of it, and whether its time was up before."""
    deadline = time.monotonic() + timeout
    try:
        while True:
            [agent] = fleet.wait([agent], SETTLED, timeout=max(0.0, deadline - time.monotonic()))
            if not _begins(fleet, agent):
                return agent, False
    except TimedOut:
        last = fleet.agent(agent)
        fleet.stop([agent])  # what it would still change is not taken half-done
        return last, True


def _begins(fleet: Fleet, agent: Agent) -> bool:
    """Whether one that waits goes to work after all."""
    if not agent.state or agent.state.kind != "waiting":
        return False
    looks = fleet.watch([agent], timeout=GRACE)
    return any(now.state and now.state.kind in ("starting", "working") for [now] in looks)


@contextmanager
def _files(place: Place, commit: str) -> Iterator[str]:
    """The tutorial and its tests as they are in that commit."""
    with tempfile.TemporaryDirectory(prefix="muster-") as folder:
        git.export(HERE, place.top, commit, place.paths, f"{folder}/files", f"{folder}/index")
        yield f"{folder}/files"


def _looked(look: Callable[[str], Iterator[str]], folder: str) -> tuple[str, ...]:
    try:
        return tuple(look(folder))
    except KitError as error:
        return (str(error).replace(f"{folder}/", ""),)


def _diff(place: Place, agent: Agent, commit: str) -> str:
    return git.text(HERE, place.top, "diff", "--no-color", "--no-ext-diff", agent.workspace.base, commit)


def _parses(path: str) -> bool:
    return proc.run(HERE, ["sh", "-n", path], check=False).code == 0


def _moved(report: Report, prefix: str) -> Report:
    """That report with paths from the top, as a report of another checkout can be compared with."""
    from dataclasses import replace

    cited = {
        text: [replace(one, file=one.file.removeprefix(prefix)) for one in found]
        for text, found in report.cited_by.items()
    }
    return replace(report, file=report.file.removeprefix(prefix), cited_by=cited)


def _indented(text: str) -> str:
    return "\n".join(f"    {line}".rstrip() for line in text.split("\n"))
