"""Integrate: what agents found, as one branch that a person can read and take back commit by commit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from msgspec import Struct

Kind = Literal["impl", "test", "docs", "review"]
Why = Literal["red", "red-together", "conflict", "empty", "needs", "history"]


# -- what comes in -----------------------------------------------------------------------------------------------------


class Fix(Struct, frozen=True):
    """One commit of one agent, to be integrated."""

    commit: str  # its parents lead to the run's base
    kind: Kind  # review: a test change that only a person can judge
    task: str  # the task it came from
    agent: str
    tests: tuple[str, ...] = ()  # the task's
    green: tuple[str, ...] = ()  # red at the base and green with it, as measured
    verdict: str = ""
    before: str = ""  # one word each
    after: str = ""
    severity: int = 3  # 1 trifling ... 5 grave
    summary: str = ""


class Patch(Struct, frozen=True):
    """One change, and all who found it."""

    key: str  # of what it does to the base: equal changes have equal keys, whoever made them and when
    kind: Kind
    fixes: tuple[Fix, ...]  # the first speaks for all
    subject: str
    root: str  # the commit it is a change of: the base, or the base with what it needs
    commit: str  # its parent is `root`
    alone: str  # the same tree as a change of the base
    paths: tuple[str, ...]
    size: int  # lines added and removed
    needs: tuple[str, ...] = ()  # keys: it doesn't apply without them
    lacks: tuple[str, ...] = ()  # commits that it needs and nobody handed in
    follows: tuple[str, ...] = ()  # keys: made before it on the same branch

    @property
    def agents(self) -> tuple[str, ...]:
        return tuple(sorted({fix.agent for fix in self.fixes}))

    @property
    def tests(self) -> tuple[str, ...]:
        return tuple(sorted({test for fix in self.fixes for test in fix.tests}))

    @property
    def green(self) -> tuple[str, ...]:
        return tuple(sorted({test for fix in self.fixes for test in fix.green}))

    @property
    def severity(self) -> int:
        return max(fix.severity for fix in self.fixes)

    @property
    def title(self) -> str:
        """How other commits and people name it."""
        return f"{self.fixes[0].task} ({', '.join(self.agents)})"


# -- what is in the way ------------------------------------------------------------------------------------------------


class Clash(Struct, frozen=True):
    """Two changes of the base that git can't have both."""

    one: str  # keys, the smaller first
    other: str
    files: tuple[str, ...]
    messages: tuple[str, ...]


class Conflict(Struct, frozen=True):
    """What git can't solve: someone may answer with a commit on top of `tip`."""

    tip: str
    fixes: tuple[Fix, ...]  # the change that doesn't apply, and all who found it
    against: tuple[Fix, ...]  # what is in the branch already
    files: tuple[str, ...]
    evidence: str


class SetAside(Struct, frozen=True):
    """A change that is not in the branch, and why."""

    fixes: tuple[Fix, ...]
    why: Why
    reason: str
    against: tuple[str, ...] = ()  # titles of the others
    rivals: tuple[str, ...] = ()  # and their keys
    red: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    key: str = ""


# -- what comes out ----------------------------------------------------------------------------------------------------


class Picked(Struct, frozen=True):
    """A change that is in the branch."""

    patch: Patch
    commit: str  # all test and documentation changes share one
    conflicts: tuple[str, ...] = ()  # titles of changes that it conflicts with, in the branch or not
    needed_by: tuple[str, ...] = ()  # commits to be reverted before it; none: it reverts cleanly from the tip
    resolved: bool = False  # it is what `resolve` made of it


class Integration(Struct, frozen=True):
    """The branch, what is in it, what is not, and what was seen on the way."""

    base: str
    tip: str
    picked: tuple[Picked, ...]
    aside: tuple[SetAside, ...]
    clashes: tuple[Clash, ...]
    checks: dict[str, tuple[str, ...]]  # red tests by commit
    unsteady: tuple[str, ...] = ()  # said to be green at the base, seen red there

    @property
    def commits(self) -> tuple[str, ...]:
        """The branch's, oldest first."""
        return tuple(dict.fromkeys(one.commit for one in self.picked))


Check = Callable[[str], frozenset[str]]  # the tests that are red at a commit
Resolve = Callable[[Conflict], "str | None"]
