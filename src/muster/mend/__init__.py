"""The pipeline over tests: collect, baseline, plan, map, gather, verify, integrate, report."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from muster.agents import Permissions

Kind = Literal["impl", "test", "docs"]
Part = Literal["impl", "test", "docs", "settings"]  # settings: of the tests and of CI
Status = Literal["done", "blocked", "failed"]
Verdict = Literal["fixed", "improved", "unchanged", "blocked", "broken", "refused", "flaky", "lost"]
Ending = Literal["passed", "failed", "error", "skipped", "xfailed", "xpassed", "timed-out", "crashed", "missing"]
GREEN: tuple[Ending, ...] = ("passed", "skipped", "xfailed")


# -- what is wanted ----------------------------------------------------------------------------------------------------


class Request(Struct, frozen=True, kw_only=True):
    """One run, as it was asked for; written once, when it begins."""

    run: str
    at: float
    top: str  # the checkout it was asked for in
    base: str  # the commit it starts at
    folder: str = "."  # from there: where the project is that pytest is started in
    args: tuple[str, ...] = ()  # pytest's; paths are from that folder
    agent_args: tuple[str, ...] = ()
    type: str = "mechanic"
    types: tuple[tuple[str, str], ...] = ()  # pattern of test ids, and the type that gets them; the last that fits
    permissions: Permissions | None = None  # what agents may do unasked; None: as their programs are set up
    unsafe_here: bool = False  # all of it, also where nothing keeps them in
    address: str = ""  # where agents run: `@`, `@box`, `@.docker`
    jobs: int = 2
    timeout: float = 1800.0  # seconds an agent may take
    test_timeout: float = 120.0  # seconds a test may take
    repeats: int = 3  # runs of a test that must agree
    only: Literal["failing", "passing", "all"] = "all"
    group: Literal["cause", "test"] = "cause"
    prompt: str = ""  # the text of a template that takes the place of the shipped ones
    integrator: str = ""  # the agent type that gets conflicts; empty: they are listed
    allow: tuple[str, ...] = ()  # rules of the gate that are not held against an agent
    python: str = ""
    setup: str = ""
    rounds: int = 3  # so often may what is left of a group become a task again

    @property
    def kinds(self) -> set[str]:
        """The agent types that tests may get."""
        return {self.type, *(kind for _, kind in self.types)}


class Task(Struct, frozen=True):
    """What one agent is asked to do."""

    slug: str
    why: Literal["failing", "passing", "error", "again", "conflict"]
    tests: tuple[str, ...]
    title: str
    type: str
    base: str  # the commit its workspace starts at


class Skip(Struct, frozen=True):
    """A test that no agent gets."""

    id: str
    reason: str


class Plan(Struct, frozen=True):
    """Every test of a run: in a task, or skipped for a reason."""

    tasks: tuple[Task, ...]
    skips: tuple[Skip, ...] = ()


# -- what an agent says: the file at $MUSTER_OUTCOME -------------------------------------------------------------------


class Change(Struct, frozen=True):
    """One commit of an agent's, and what it says of it."""

    kind: Kind
    commit: str
    summary: str = ""
    severity: int = 3  # 1 trifling ... 5 grave


class Escalation(Struct, frozen=True):
    """What an agent hands on to a person."""

    kind: Literal["blocker", "shared"]
    title: str
    detail: str = ""


class Outcome(Struct, frozen=True):
    """What an agent says it did. Whether the test passes is not asked: muster looks."""

    schema: Literal[1]
    status: Status
    summary: str = ""
    changes: tuple[Change, ...] = ()
    escalations: tuple[Escalation, ...] = ()


# -- what muster found when it looked ----------------------------------------------------------------------------------


class Case(Struct, frozen=True):
    """One collected test, or (`error`) a file that could not be collected."""

    id: str  # pytest's own: `tests/test_a.py::TestB::test_c[d]`
    file: str  # from the checkout's top
    line: int = 0
    doc: str = ""  # its docstring
    blocks: tuple[str, ...] = ()  # the tutorial blocks it cites
    error: str = ""


class Frame(Struct, frozen=True):
    """One line of a traceback that is in the project."""

    file: str
    line: int
    function: str


class Attempt(Struct, frozen=True):
    """One run of one test."""

    id: str
    ending: Ending
    seconds: float = 0.0
    exception: str = ""  # the type's name
    message: str = ""
    frames: tuple[Frame, ...] = ()  # outermost first
    text: str = ""  # what pytest would print of it

    @property
    def green(self) -> bool:
        return self.ending in GREEN


class Finding(Struct, frozen=True):
    """What the gate has to say of a change: `refuse`, or `review` (let through, marked for a person)."""

    rule: str  # kebab-case: `deleted-test`, `weakened-assertion`, ...
    level: Literal["refuse", "review"]
    file: str
    line: int  # in the new file, or in the old one where the line is gone
    detail: str


class Gathered(Struct, frozen=True, kw_only=True):
    """What was brought home of one task's agent."""

    task: str
    agent: str  # its id
    name: str
    type: str
    state: str  # what it was doing at the end
    reason: str = ""
    commit: str = ""  # what it had checked out; empty: nothing could be had
    outcome: Outcome | None = None
    said: str = ""  # why there is no outcome
    left: tuple[str, ...] = ()  # files it did not commit
    seconds: float = 0.0
    asked: bool = False  # for an outcome
    retried: bool = False


class Piece(Struct, frozen=True):
    """A commit that touches one part of the project only, and the commit that it is a part of."""

    commit: str
    kind: Part
    original: str
    subject: str
    files: tuple[str, ...]


class Verified(Struct, frozen=True, kw_only=True):
    """What muster found of one task, by looking."""

    task: str
    verdict: Verdict
    reason: str
    commit: str = ""
    pieces: tuple[Piece, ...] = ()  # what it has come to
    findings: tuple[Finding, ...] = ()
    before: tuple[Attempt, ...] = ()
    after: tuple[Attempt, ...] = ()
    green: tuple[str, ...] = ()  # tests, whoever has them, that were red at its base, and are not now
    red: tuple[str, ...] = ()  # tests of the task that still are
    hurt: tuple[Attempt, ...] = ()  # of other tests that were green at its base, and are not now
    seconds: float = 0.0
