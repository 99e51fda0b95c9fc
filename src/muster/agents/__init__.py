"""Who works: an agent, what it is doing, and how one kind of program is driven."""

from __future__ import annotations

import os.path
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Literal, Protocol

from msgspec import Struct

from muster.errors import NotFound, Refused

if TYPE_CHECKING:
    from muster.agents.menu import Menu

Kind = Literal["starting", "working", "waiting", "blocked", "done", "failed", "stopped", "unknown"]
KINDS: tuple[Kind, ...] = ("starting", "working", "waiting", "blocked", "done", "failed", "stopped", "unknown")
SETTLED: tuple[Kind, ...] = ("waiting", "blocked", "done", "failed", "stopped", "unknown")
ENDED: tuple[Kind, ...] = ("done", "failed", "stopped")
Mode = Literal["worktree", "clone", "copy", "in-place"]
Intent = Literal["creating", "started", "stopped", "destroying"]
Permissions = Literal["ask", "edit", "all"]  # it asks for all but reading; for all but reading and editing; for nothing
PERMISSIONS: tuple[Permissions, ...] = ("ask", "edit", "all")
Role = Literal["user", "assistant", "thinking", "tool", "result", "error", "output"]


class State(Struct, frozen=True, omit_defaults=True):
    """What an agent is doing, since when, why we think so and what said so."""

    kind: Kind
    since: float
    reason: str = ""
    sources: tuple[str, ...] = ()
    last: Kind | None = None  # of `unknown`: the last state that was known
    code: int | None = None  # of `done` and `failed`: the exit code, where it was one
    signal: int | None = None  # of `failed`: the signal, where it was one


class Workspace(Struct, frozen=True, omit_defaults=True):
    """An agent's working directory, and where it came from."""

    mode: Mode
    path: str
    source: str = ""  # the repository or folder on this machine that it was made from
    branch: str = ""  # the agent's own branch
    base: str = ""  # the commit the branch started at
    another: bool = False  # the branch is ours to choose, so if there is one of its name, another will do
    mirror: str = ""  # elsewhere: the bare repository beside it, which holds what `source` sent there


class Moving(Struct, frozen=True, omit_defaults=True):
    """The other end of an agent's move, to be cleared away: where it was to go, or once it arrived, where it came from."""

    host: str
    workspace: Workspace
    runs: bool = False  # to be started where it lives then
    arrived: bool = False


class Agent(Struct, frozen=True, omit_defaults=True):
    """A named program in its own terminal session, in its own workspace, on a host."""

    id: str
    name: str
    type: str
    created: float
    workspace: Workspace
    host: str = "local"
    intent: Intent = "creating"
    args: tuple[str, ...] = ()
    labels: dict[str, str] = {}
    windows: dict[str, str] = {}
    share: tuple[str, ...] = ()
    put: tuple[str, ...] = ()
    setup: str = ""
    permissions: Permissions | None = None  # None: as its program is set up
    adopted: str = ""  # the conversation from outside of muster that it went on with
    project: str = ""
    parent: str = ""  # the agent or snapshot it was made from
    archived: bool = False
    moving: Moving | None = None  # from one host to another
    branch_goes: bool = False  # of one that is being destroyed: its branch is removed as well
    changed: float = 0.0  # when the intent last changed
    state: State | None = None  # of a look: what it does now; in the registry: what it was last seen to do
    activity: str = ""  # the last line on its screen
    spent: tuple[int, float | None] | None = None  # of a look that asked: tokens, and US dollars where they are known


class Tokens(Struct, frozen=True, omit_defaults=True):
    """What requests to a model took, as their provider counts it."""

    input: int = 0  # all of it: what was read from a cache, or written to one, is in it
    output: int = 0  # what it thought is in it
    cached: int = 0  # of the input: read from the provider's cache
    written: int = 0  # of the input: written to the provider's cache
    hour: int = 0  # of what was written: to be kept for an hour, which costs more


class Event(Struct, frozen=True, omit_defaults=True):
    """One thing said or done in a conversation, in one form for every agent type."""

    role: Role
    text: str
    at: float | None = None
    tool: str = ""
    id: str = ""  # of a tool's call and its result, which have the same; else the program's own, if it has one
    model: str = ""  # the model that said it
    request: str = (
        ""  # the request to the model that it came from, if the program names it: the same in a copy of the log
    )
    tokens: Tokens | None = None  # what this event adds to the account, so the sum over a conversation is what it took
    cost: float | None = None  # the same in US dollars, where the program itself says so


class Note(Struct, frozen=True):
    """What the program itself says it is doing, by its hooks or its status file."""

    kind: Kind
    since: float
    reason: str = ""


class Evidence(Struct, frozen=True):
    """What one look found out about one agent. Absent evidence is None, never a guess."""

    now: float  # by the host's clock
    pid: int | None = None  # of the program in the agent's pane, alive or dead
    alive: bool | None = None  # None: there is no such pane
    code: int | None = None
    signal: int | None = None
    ended: float | None = None
    active: float | None = None  # when the screen last changed
    note: str = ""  # the `state` file that hooks write: TIME KIND REASON
    files: Mapping[str, bytes] = {}  # what the agent type asked to see, by its base name; of `tail_files` the end
    screen: str = ""
    title: str = ""  # of its terminal, as its program set it


class Order(Struct, frozen=True):
    """What a launch is made from."""

    args: tuple[str, ...]
    folder: str  # the agent's own folder on its host
    workspace: str
    message: str | None = None  # the first message, for programs that take it as an argument
    resume: bool = False  # go on with the conversation in the agent's folder, which may be another agent's (a clone)
    permissions: Permissions | None = None
    adopt: str = ""  # begin with a copy of this conversation, which the user had outside of muster
    env: Mapping[str, str] = {}  # what the agent is given beside what it has of the user's environment
    remote: bool = False

    @property
    def own(self) -> bool:
        """Whether the workspace is muster's, made from what the user chose: of a folder of theirs only they know whether they trust it."""
        return self.workspace.startswith(f"{os.path.dirname(os.path.dirname(self.folder))}/work/")


class Launch(Struct, frozen=True):
    """How a program is started."""

    argv: tuple[str, ...]
    env: dict[str, str] = {}
    files: dict[str, bytes] = {}  # put into the agent's folder first: hooks, settings, scripts
    message_taken: bool = False  # the first message is in the argv and needs no typing


class Press(Struct, frozen=True):
    """Keys for a dialog, and what its screen must show before the next ones are pressed."""

    keys: tuple[str, ...]  # as words for tmux' `send-keys`
    shows: str = ""  # a regular expression


class AgentType(Protocol):
    """How to drive one kind of program. What is given here is what holds for most; a type says the rest."""

    name: str
    about: str  # one line, for `muster plugin list`
    program: str = ""  # what must be on $PATH there
    memory: int = 0  # bytes that its program was measured to take while it works
    notes: bool = False  # it reports what it does through $MUSTER_NOTE (hooks) or a status file
    queues: bool = False  # in the middle of a turn its screen only shows that it has a message, see `holds`
    titles: bool = False  # its terminal's title says what it does; `titled.sh` in its folder is read at each change
    resumable: bool = False  # a started again agent goes on with its conversation
    adoptable: bool = False  # it can begin with a copy of a conversation from outside
    permissions: tuple[Permissions, ...] = ()  # the modes it has
    pass_env: tuple[str, ...] = ()  # variables it needs from the user's environment, by name or glob
    status_files: tuple[str, ...] = ()  # in the agent's folder (or linked there), read with every look
    tail_files: tuple[str, ...] = ()  # the same for large logs of lines, of which only the end is read
    conversation: str = ""  # the conversation log, in the agent's folder or linked there; empty: it keeps none
    receipts: str = ""  # the log there of what it was told, where that is another one
    repairs: bool = False  # it only mends what is seen to fail
    whole: bool = False  # that log is one document, written anew each time, and no lines
    enter_after: float = 0.0  # seconds between a paste and its Enter, for programs that need time
    clear_keys: tuple[str, ...] = ()  # what empties its composer of what was left there, before a message is pasted
    compose_keys: tuple[str, ...] = ()  # what opens an editor on its composer, which fills in `composed` of its folder
    dialog_after: float = 0.0  # seconds until a dialog that is on the screen takes keys
    interrupt_keys: tuple[str, ...] = ("C-c",)  # as tmux names them

    def launch(self, order: Order) -> Launch:
        """How to start it, or to start it again."""
        ...

    def lacks(self, env: Mapping[str, str]) -> tuple[str, str] | None:
        """What it needs besides its program and has not got on this machine, and what to do about it."""
        return None

    def activity(self, screen: str) -> str:
        """The line on its screen that says most of what it does."""
        lines = screen.rstrip().splitlines()
        # A bare prompt says nothing.
        return next((line.strip() for line in reversed(lines) if any(map(str.isalnum, line))), "")

    def noted(self, evidence: Evidence) -> Note | None:
        """What the program itself says it is doing."""
        return None

    def opening(self, screen: str) -> Menu | None:
        """The dialog that it shows before its session begins; asked while it has said nothing, if `opening` is in its folder."""
        return None

    def events(self, log: bytes) -> Iterator[Event]:
        """Its conversation; a last line that is half-written is left out."""
        yield from ()

    def heard(self, log: bytes) -> Iterator[str]:
        """What its record shows it to have been told, also what it will only read after its turn: the receipts of messages."""
        return (event.text for event in self.events(log) if event.role == "user")

    def typed(self, text: str) -> str:
        """What to paste so that the program takes it for this text, and not for a command of its own."""
        # In a paste this ends it, and what follows would be keys.
        return text.replace("\x1b[201~", "")

    def same(self, said: str, heard: str) -> bool:
        """Whether what its record has is what was said; programs trim the ends of what they are told."""
        return said.strip() == heard.strip()

    def lost(self, said: str, heard: str) -> str:
        """What of a text is not in its record as it was said; the ends are not compared."""
        return ""

    def composed(self, text: str) -> bool:
        """Whether a paste would change this text, and an editor would not."""
        return False

    def holds(self, text: str, screen: str) -> bool:
        """Whether its screen shows that it has this text, and takes it when its turn allows; its record has it only then."""
        return False

    def interruption(self) -> list[Press]:
        """What to press to end what it does."""
        return [Press((key,)) for key in self.interrupt_keys]

    def unsent(self, text: str, screen: str) -> bool:
        """Whether that text may still stand in its composer, after Enter was pressed."""
        return True

    def answer(self, answer: str, screen: str) -> list[Press]:
        """What to press to give `yes`, `no`, a number or a text to the dialog on that screen; nothing if there is none yet."""
        raise Refused(f"a {self.name} agent has no dialogs that muster can answer", hint="`muster connect NAME`")


TYPES: dict[str, str] = {
    "aider": "muster.agents.aider:Aider",
    "claude": "muster.agents.claude:Claude",
    "codex": "muster.agents.codex:Codex",
    "command": "muster.agents.command:Command",
    "gemini": "muster.agents.gemini:Gemini",
    "mini": "muster.agents.mini:Mini",
    "opencode": "muster.agents.opencode:Opencode",
    "pi": "muster.agents.pi:Pi",
    "scripted": "muster.agents.scripted:Scripted",
    "mechanic": "muster.agents.mechanic:Mechanic",
}


def agent_type(name: str) -> AgentType:
    """The type of that name: ours, or one that an installed package registers."""
    from importlib import import_module

    target = TYPES.get(name) or _plugin(name)
    module, _, attribute = target.partition(":")
    found: AgentType = getattr(import_module(module), attribute)()
    return found


def _plugin(name: str) -> str:
    # Reading the installed entry points costs 30 ms, so it is done only for a name we don't know.
    from importlib.metadata import entry_points

    for entry in entry_points(group="muster.agent_types"):
        if entry.name == name:
            return entry.value
    from muster.core.names import nearest

    raise NotFound(f"there is no agent type `{name}`", hint=nearest(name, TYPES, "agent type"))
