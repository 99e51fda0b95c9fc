"""Tutorials and their tests, written by agents: one is told what is missing, and what it did is looked at."""

from __future__ import annotations

from msgspec import Struct

from muster.fleet import Dirty

__all__ = ["Answer", "Wish"]


class Wish(Struct, frozen=True, kw_only=True):
    """Who is to write, and how."""

    type: str = ""
    args: tuple[str, ...] = ()
    name: str = ""
    template: str = ""  # the user's own, read
    timeout: float = 1800.0
    dirty: Dirty = "refuse"


class Answer(Struct, frozen=True, kw_only=True):
    """What was missing, what an agent did about it, and what the check says now."""

    ok: bool
    missing: tuple[str, ...] = ()  # before
    problems: tuple[str, ...] = ()  # now
    agent: str = ""  # empty: there was nothing to do
    state: str = ""
    reason: str = ""
    late: bool = False  # its time was up, so it was stopped
    commit: str = ""
    commits: int = 0
    left: tuple[str, ...] = ()  # what it has not committed
    diff: str = ""
