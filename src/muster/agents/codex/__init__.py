"""`codex`: OpenAI Codex, watched by its terminal's title and its log, with its own set-up left as it is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from muster.agents import AgentType, Event, Evidence, Launch, Note, Order, Permissions, Press, logs, shipped
from muster.agents.codex import rollout
from muster.agents.state import note
from muster.errors import UsageError

if TYPE_CHECKING:
    from muster.agents.menu import Menu

_MODES: dict[Permissions, tuple[str, ...]] = {
    "ask": ("--sandbox", "read-only", "--ask-for-approval", "on-request"),
    "edit": ("--sandbox", "workspace-write", "--ask-for-approval", "on-request"),
    "all": ("--dangerously-bypass-approvals-and-sandbox",),
}
# Settings of this one session: its title says what it does and in which thread, and nothing there moves.
_SETTINGS = (
    'tui.terminal_title=["activity","status","thread-id"]',
    "tui.animations=false",
    "check_for_update_on_startup=false",
    "tui.show_tooltips=false",  # it counts in the user's configuration how often it showed some
)
_TITLE = re.compile(r"(\[ . \] Action Required|\w+) \| [0-9a-f]{8}-[0-9a-f]{4}-")
_ID = re.compile(r"[0-9a-fA-F-]{36}")
# At the end of what is typed these would open a list of files or skills, whose entry the Enter would take.
_COMPLETED = re.compile(r"[@$]\S*$")
_SILENT = 10.0


class Codex(AgentType):
    """The agent type `codex`."""

    name = "codex"
    about = "OpenAI Codex"
    program = "codex"
    memory = 65_000_000
    notes = True
    queues = True
    titles = True
    resumable = True
    adoptable = True
    permissions = ("ask", "edit", "all")
    pass_env = ("OPENAI_*", "CODEX_HOME", "CODEX_API_KEY", "AZURE_OPENAI_API_KEY")
    status_files = ("begun",)
    tail_files = ("conversation.jsonl",)
    conversation = "conversation.jsonl"
    enter_after = 0.1
    dialog_after = 0.2
    interrupt_keys = ("Escape",)

    def launch(self, order: Order) -> Launch:
        if order.adopt and not _ID.fullmatch(order.adopt):
            raise UsageError(f"`{order.adopt}` is no conversation of Codex", hint="its id, as `codex resume` shows it")
        settings = list(_SETTINGS)
        if order.own:
            settings.append(f'projects={{{_quoted(order.workspace)}={{trust_level="trusted"}}}}')
        words = ["--no-daemon", "--cd", order.workspace, *(word for setting in settings for word in ("-c", setting))]
        words += _MODES[order.permissions] if order.permissions else ()
        if order.permissions == "edit":
            words += ["--add-dir", order.folder]  # its outcome and its artifacts go there
        told = shipped.is_argument(order.message)
        message = (told and order.message) or ""
        commits = order.permissions == "edit" and order.own  # the user's own checkout stays as Codex protects it
        given = (_word(order.resume), order.adopt, _word(commits), _word(told), message)
        files = {**shipped.scripts(__file__, "start.sh", "titled.sh"), "opening": b""}
        argv = ("sh", f"{order.folder}/start.sh", *given, *words, *order.args)
        return Launch(argv, files=files, message_taken=told)

    def noted(self, evidence: Evidence) -> Note | None:
        """What its title says, with the reason from its log; the title is the later of the two to lie."""
        if not (match := _TITLE.match(evidence.title)):
            return None
        begun, _, told = evidence.files.get("begun", b"0").decode().strip().partition(" ")
        turn = rollout.last_turn(evidence.files.get("conversation.jsonl", b""))
        turn = turn if turn and turn.at >= float(begun) else None
        since = turn.at if turn else float(begun)
        # What the title says is explained a moment later; where the screen is silent for long, nothing more will come.
        fresh = evidence.now - (evidence.active or 0) < _SILENT
        if match[1] == "Ready":
            if turn and turn.running and fresh:
                return Note("working", since)
            if told == "yes" and not turn:
                return Note("starting", since, "its first message is being taken")
            return Note("waiting", since, turn.reason if turn else "")
        if match[1].startswith("["):
            said = note(evidence.note)
            if said and said.kind == "blocked":
                return said
            return Note("working" if fresh else "blocked", since, "it asks something")
        return Note("starting" if match[1] == "Starting" else "working", since)

    def opening(self, screen: str) -> Menu | None:
        from muster.agents.codex import opening

        return opening.shown(screen)

    def events(self, log: bytes) -> Iterator[Event]:
        return logs.events("codex", log)

    def typed(self, text: str) -> str:
        """Its own commands begin in the first column, and a list that is open takes the Enter."""
        text = super().typed(text)
        text = f" {text}" if text.startswith(("/", "!")) else text
        return f"{text} " if _COMPLETED.search(text) else text

    def holds(self, text: str, screen: str) -> bool:
        _, shown, below = screen.partition("• Messages to be submitted after")
        first = text.split()[0][:40] if text.split() else ""
        return bool(shown) and any(first in line for line in below.splitlines() if line.strip().startswith("↳"))

    def answer(self, answer: str, screen: str) -> list[Press]:
        from muster.agents.codex import dialog

        return dialog.presses(answer, screen)


def _word(answer: bool) -> str:
    return "yes" if answer else "no"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
