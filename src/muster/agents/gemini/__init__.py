"""`gemini`: Gemini CLI, watched by its terminal's title, with the user's own set-up left as it is."""

from __future__ import annotations

from collections.abc import Iterator

from muster.agents import AgentType, Event, Evidence, Launch, Note, Order, Permissions, logs, shipped
from muster.agents.state import note

_DEFAULTS = b'{"security":{"auth":{"selectedType":"gemini-api-key"}}}'
_MODES: dict[Permissions, str] = {"ask": "default", "edit": "auto_edit", "all": "yolo"}


class Gemini(AgentType):
    """The agent type `gemini`."""

    name = "gemini"
    about = "Gemini CLI"
    program = "gemini"
    memory = 350_000_000
    notes = True
    titles = True
    resumable = True
    permissions = ("ask", "edit", "all")
    pass_env = ("GEMINI_*", "GOOGLE_*")
    conversation = "conversation.jsonl"
    enter_after = 0.3
    interrupt_keys = ("Escape",)

    def launch(self, order: Order) -> Launch:
        words = ["--approval-mode", _MODES[order.permissions]] if order.permissions else []
        told = shipped.is_argument(order.message)
        given = ("yes" if order.resume else "no", "yes" if told else "no", (told and order.message) or "")
        files = {**shipped.scripts(__file__, "start.sh", "titled.sh"), "defaults.json": _DEFAULTS}
        argv = ("sh", f"{order.folder}/start.sh", *given, *words, *order.args)
        return Launch(argv, files=files, message_taken=told)

    def noted(self, evidence: Evidence) -> Note | None:
        return note(evidence.note)

    def events(self, log: bytes) -> Iterator[Event]:
        return logs.events("gemini", log)
