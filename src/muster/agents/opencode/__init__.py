"""`opencode`: watched by a plugin within it, with its own set-up left as it is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from muster.agents import AgentType, Event, Evidence, Launch, Note, Order, Permissions, Press, logs, shipped
from muster.agents.state import note
from muster.errors import UsageError

_MODES: dict[Permissions, Any] = {
    "ask": {"bash": "ask", "edit": "ask"},
    "edit": {"bash": "ask", "edit": "allow"},
    "all": "allow",
}
_ID = re.compile(r"ses_\w+")
_COMPLETED = re.compile(r"@\S*$")
# The answers to a permission, from the left, and the one that is chosen at first.
_ANSWERS = {"yes": 0, "1": 0, "always": 1, "2": 1, "no": 2, "3": 2}
_ASKED = "Allow once"


class Opencode(AgentType):
    """The agent type `opencode`."""

    name = "opencode"
    about = "opencode"
    program = "opencode"
    memory = 800_000_000
    notes = True
    titles = True
    resumable = True
    adoptable = True
    permissions = ("ask", "edit", "all")
    pass_env = ("ANTHROPIC_*", "OPENAI_*", "GEMINI_API_KEY", "GOOGLE_*", "OPENROUTER_API_KEY", "OPENCODE_CONFIG*")
    conversation = "conversation.json"
    whole = True
    enter_after = 0.3
    dialog_after = 0.3

    def launch(self, order: Order) -> Launch:
        if order.adopt and not _ID.fullmatch(order.adopt):
            raise UsageError(
                f"`{order.adopt}` is no conversation of opencode", hint="its id, as `opencode session list` shows it"
            )
        config: dict[str, Any] = {"plugin": [f"file://{order.folder}/muster.js"], "autoupdate": False}
        if order.permissions:
            config["permission"] = _MODES[order.permissions]
        told = shipped.is_argument(order.message)
        message = (told and order.message) or ""
        env = {"OPENCODE_CONFIG_CONTENT": msgspec.json.encode(config).decode(), "OPENCODE_DISABLE_AUTOUPDATE": "1"}
        files = shipped.scripts(__file__, "muster.js", "start.sh", "titled.sh")
        given = ("yes" if order.resume else "no", order.adopt, "yes" if told else "no", message)
        argv = ("sh", f"{order.folder}/start.sh", *given, *order.args)
        return Launch(argv, env, files, message_taken=told)

    def noted(self, evidence: Evidence) -> Note | None:
        """What its plugin says; before its first turn, that its title is there."""
        return note(evidence.note)

    def events(self, log: bytes) -> Iterator[Event]:
        return logs.events("opencode", log)

    def typed(self, text: str) -> str:
        """A list of files that is open at its end would take the Enter."""
        text = super().typed(text)
        return f"{text} " if _COMPLETED.search(text) else text

    def interruption(self) -> list[Press]:
        return [Press(("Escape",), "again to interrupt"), Press(("Escape",))]

    def answer(self, answer: str, screen: str) -> list[Press]:
        if _ASKED not in screen:
            return []
        if (steps := _ANSWERS.get(answer.lower())) is None:
            hint = "it takes `yes` (1: allow once), `always` (2) or `no` (3: reject)"
            raise UsageError(f"the dialog takes no `{answer}`", hint=hint)
        return [*[Press(("Right",))] * steps, Press(("Enter",))]
