"""`pi`: the coding agent pi, watched by an extension within it."""

from __future__ import annotations

from collections.abc import Iterator

from muster.agents import AgentType, Event, Evidence, Launch, Note, Order, logs, shipped
from muster.agents.state import note


class Pi(AgentType):
    """The agent type `pi`, which asks for no permissions."""

    name = "pi"
    about = "pi"
    program = "pi"
    memory = 160_000_000
    notes = True
    resumable = True
    permissions = ("all",)
    pass_env = ("ANTHROPIC_*", "OPENAI_*", "GEMINI_API_KEY", "PI_*")
    conversation = "conversation.jsonl"
    receipts = "told.jsonl"
    enter_after = 0.1
    interrupt_keys = ("Escape",)

    def launch(self, order: Order) -> Launch:
        # What begins so would be an option, a file or a command of its own, and has to be typed.
        told = shipped.is_argument(order.message) and not (order.message or "").startswith(("-", "@", "/", "!"))
        given = ("yes" if order.resume else "no", "yes" if told else "no", (told and order.message) or "")
        files = shipped.scripts(__file__, "start.sh", "muster.js")
        return Launch(("sh", f"{order.folder}/start.sh", *given, *order.args), files=files, message_taken=told)

    def noted(self, evidence: Evidence) -> Note | None:
        return note(evidence.note)

    def events(self, log: bytes) -> Iterator[Event]:
        return logs.events("pi", log)

    def heard(self, log: bytes) -> Iterator[str]:
        return (event.text for event in logs.events("scripted", log))
