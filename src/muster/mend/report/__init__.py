"""The report of a run: one record, from which the page, the JSON and the text of a pull request are made."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from muster.agents import Event
from muster.mend import Escalation, Finding, Outcome, Verdict

# What a person has to look at, in the order of urgency; the others need nobody.
WANTS_A_PERSON: tuple[Verdict, ...] = ("refused", "broken", "blocked", "lost", "flaky")


class Seen(Struct, frozen=True):
    """One test, before and after."""

    id: str
    before: str  # one word: `passed`, `failed`, `flaky`, ...
    after: str
    text: str = ""  # what pytest printed of the last failure


class Entry(Struct, frozen=True, kw_only=True):
    """One task: what was asked, what was claimed, what was found, what became of it."""

    task: str
    title: str
    why: Literal["failing", "passing", "error", "again", "conflict"]
    tests: tuple[Seen, ...]
    agent: str  # its name
    type: str
    state: str
    seconds: float
    verdict: Verdict
    reason: str
    claim: Outcome | None = None
    said: str = ""  # why there is no claim
    findings: tuple[Finding, ...] = ()
    hurt: tuple[Seen, ...] = ()  # tests of others, green at its base and not after it
    asked: bool = False  # for an outcome, as it had ended without one
    retried: bool = False  # its first start died of something outside of it
    commits: tuple[str, ...] = ()  # on the branch, that came from it
    aside: tuple[str, ...] = ()  # why what it did is not, or not all, on the branch
    diff: str = ""  # of what it committed against where it started
    cut: bool = False  # the diff was too long for a page
    transcript: tuple[Event, ...] = ()
    terminal: str = ""
    recordings: tuple[str, ...] = ()  # asciicast files, paths in the run's folder
    files: tuple[str, ...] = ()  # all it left to be looked at, paths in the run's folder
    left: tuple[str, ...] = ()  # files it did not commit
    commands: dict[str, str] = {}  # `connect`, `message`, `look`, `rerun`


class Commit(Struct, frozen=True, kw_only=True):
    """One commit of the branch."""

    id: str
    subject: str
    kind: Literal["test", "docs", "impl", "review"]
    tasks: tuple[str, ...]
    agents: tuple[str, ...]  # all who found it, each by itself
    green: tuple[str, ...] = ()  # tests it turns green
    severity: int = 3
    files: tuple[str, ...] = ()
    added: int = 0
    removed: int = 0
    conflicts: tuple[str, ...] = ()  # commits of the branch or set-aside changes that touch the same lines
    needed_by: tuple[str, ...] = ()  # later commits that can't stay without it
    reverts: bool = True  # alone, cleanly
    diff: str = ""


class Aside(Struct, frozen=True):
    """A verified change that is not on the branch."""

    task: str
    commit: str
    subject: str
    reason: str
    diff: str = ""


class Handed(Struct, frozen=True):
    """An escalation, and whose it is; the same from several agents once."""

    tasks: tuple[str, ...]
    escalation: Escalation


class Report(Struct, frozen=True, kw_only=True):
    """One run."""

    schema: int = 1
    run: str
    project: str
    base: str
    branch: str  # empty: nothing held
    tip: str
    at: float
    seconds: float
    interrupted: bool = False  # not all tasks were done
    undone: tuple[str, ...] = ()  # the titles of those that were not
    counts: dict[str, int]  # tasks by verdict
    before: dict[str, int]  # tests by what the baseline found
    after: dict[str, int]  # the same tests at the branch's tip
    turned: tuple[str, ...] = ()  # those that were red at the base, and are green at the tip
    commits: tuple[Commit, ...] = ()
    entries: tuple[Entry, ...] = ()
    asides: tuple[Aside, ...] = ()
    handed: tuple[Handed, ...] = ()
    skips: dict[str, tuple[str, ...]] = {}  # tests by the reason why no agent got them
    flaky: tuple[Seen, ...] = ()
    commands: dict[str, str] = {}  # `look`, `merge`, `revert`, `rerun`, `reintegrate`, `message`
