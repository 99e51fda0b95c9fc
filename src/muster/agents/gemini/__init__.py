"""`gemini`: Gemini CLI, watched by its terminal's title, with the user's own set-up left as it is."""

from __future__ import annotations

import re
from collections.abc import Iterator

from muster.agents import AgentType, Event, Evidence, Launch, Note, Order, Permissions, Press, logs, shipped
from muster.agents.state import note
from muster.errors import UsageError

_DEFAULTS = b'{"security":{"auth":{"selectedType":"gemini-api-key"}}}'
_CHOSEN = re.compile(r"●\s*\d\. ")
_OPTION = re.compile(r"(\d)\. (.*?) *│?$", re.MULTILINE)
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
    dialog_after = 0.3
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

    def answer(self, answer: str, screen: str) -> list[Press]:
        """A digit takes an answer of the list."""
        if not _CHOSEN.search(screen):
            return []
        offered = dict(_OPTION.findall(screen[screen.rindex("1. ") - 2 :]))
        wanted = answer.lower()
        for number, words in offered.items():
            begins = {"yes": "allow once", "no": "no,"}.get(wanted, "\n")
            if wanted in (number, words.lower()) or words.lower().startswith(begins):
                return [Press((number,))]
        listed = ", ".join(f"{number} ({words})" for number, words in offered.items())
        raise UsageError(f"the dialog takes no `{answer}`", hint=f"it takes {listed}")

    def events(self, log: bytes) -> Iterator[Event]:
        return logs.events("gemini", log)
