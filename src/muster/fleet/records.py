"""What goes into a fleet and what comes back: frozen records."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

from muster.agents import Agent, Mode, Permissions

Dirty = Literal["refuse", "carry", "ignore"]
Receipted = Literal["delivered", "typed", "queued", "refused", "failed"]


class Task(Struct, frozen=True, kw_only=True):
    """One agent to be made: who, where, and what for."""

    name: str = ""  # an address; empty: a fresh name
    type: str = "command"
    args: tuple[str, ...] = ()
    message: str | None = None
    mode: Mode = "worktree"
    branch: str = ":muster/*"
    dirty: Dirty = "refuse"
    source: str = ""  # an agent or a folder; empty: the current folder
    share: tuple[str, ...] = ()
    put: tuple[str, ...] = ()
    env: dict[str, str] = {}
    pass_env: tuple[str, ...] = ()
    labels: dict[str, str] = {}
    setup: str = ""
    windows: dict[str, str] = {}
    permissions: Permissions | None = None  # None: as its program is set up
    unsafe_here: bool = False  # `all` also where nothing keeps the agent in
    adopt: str = ""  # a conversation from outside of muster, of which it begins with a copy
    reuse: bool = False
    log: bool = False
    host: dict[str, Any] = {}  # of a host that is made for it: its settings


class Receipt(Struct, frozen=True, omit_defaults=True):
    """What became of one message to one agent."""

    agent: str
    name: str
    status: Receipted
    reason: str = ""
    message: str = ""


class Interrupted(Struct, frozen=True, omit_defaults=True):
    """What became of one interruption."""

    agent: str
    name: str
    status: Literal["interrupted", "typed", "idle", "failed"]
    reason: str = ""


class Kept(Struct, frozen=True, omit_defaults=True):
    """An agent as it was at one moment: in the attic after a destroy, or a snapshot."""

    id: str
    kind: Literal["attic", "snapshot"]
    at: float
    agent: Agent
    label: str = ""
    head: str = ""  # the commit that was checked out
    tip: str = ""  # the commit of the agent's own branch
    work: str = ""  # a commit of the working files, where they differed from `head`
    refs: tuple[str, ...] = ()  # what holds these commits in the source repository
    tars: tuple[str, ...] = ()  # what git could not hold, beside this record
    place: dict[str, Any] = {}  # the host it lived on, where muster had made that


class Transfer(Struct, frozen=True, omit_defaults=True):
    """What a pull or a push moved."""

    agent: str
    name: str
    status: Literal["fast-forward", "up-to-date", "branch", "reference", "files"]
    branch: str = ""  # fast-forwarded, or to be looked at
    commit: str = ""  # of `reference`: what it holds now
    commits: int = 0
    files: tuple[str, ...] = ()
    left: tuple[str, ...] = ()  # uncommitted files that stayed where they are


class Exit(Struct, frozen=True):
    """How a command in an agent's workspace ended."""

    agent: str
    name: str
    code: int
    out: str = ""
    err: str = ""
    timed_out: bool = False
