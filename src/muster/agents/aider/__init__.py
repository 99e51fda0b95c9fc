"""`aider`: watched by its notifications and by what it has read."""

from __future__ import annotations

import re
from collections.abc import Iterator

from muster.agents import AgentType, Event, Evidence, Launch, Note, Order, Press, Role, shipped
from muster.agents.state import note

_ANSWERS = {"yes": "y", "no": "n"}


class Aider(AgentType):
    """The agent type `aider`."""

    name = "aider"
    about = "aider"
    program = "aider"
    memory = 270_000_000
    notes = True
    resumable = True
    permissions = ("ask", "all")
    pass_env = ("AIDER_*", "ANTHROPIC_*", "OPENAI_*", "GEMINI_API_KEY", "OPENROUTER_API_KEY")
    status_files = ("told", "answered")
    conversation = "conversation.md"
    receipts = "told"
    enter_after = 0.2

    def launch(self, order: Order) -> Launch:
        words = ["--yes-always"] if order.permissions == "all" else []
        argv = ("sh", f"{order.folder}/start.sh", "yes" if order.resume else "no", *words, *order.args)
        return Launch(argv, files=shipped.scripts(__file__, "start.sh", "waits.sh"))

    def noted(self, evidence: Evidence) -> Note | None:
        """Its notification says when it waits; what it has read since then, that it works."""
        said = note(evidence.note)
        if said is None or said.kind == "blocked":
            return said
        answered = evidence.files.get("answered", b"0").split() or [b"0"]
        return Note("working", said.since) if len(evidence.files.get("told", b"")) > int(answered[0]) else said

    def events(self, log: bytes) -> Iterator[Event]:
        """Its chat history: Markdown, in which what it was told is a heading of the fourth rank and its own remarks are quotes."""
        for mark, text in _blocks(log.decode(errors="replace")):
            role: Role = "user" if mark == "#### " else "output" if mark == "> " else "assistant"
            if text.strip():
                yield Event(role, text.strip())

    def heard(self, log: bytes) -> Iterator[str]:
        """Its input history: a comment with the time, then the lines, each behind a plus."""
        for entry in re.split(r"^# .*\n", log.decode(errors="replace"), flags=re.MULTILINE):
            yield "\n".join(line[1:] for line in entry.splitlines() if line.startswith("+"))

    def answer(self, answer: str, screen: str) -> list[Press]:
        if "(Y)es/(N)o" not in screen:
            return []
        return [Press(("-l", "--", _ANSWERS.get(answer, answer))), Press(("Enter",))]


def _blocks(text: str) -> Iterator[tuple[str, str]]:
    """Runs of lines that begin alike."""
    mark, found = "", list[str]()
    for line in text.splitlines():
        now = next((one for one in ("#### ", "> ", "# aider chat") if line.startswith(one)), "")
        if now != mark and (line.strip() or mark):
            yield mark, "\n".join(found)
            mark, found = now, []
        found.append(line.removeprefix(now).rstrip() if now != "# aider chat" else "")
    yield mark, "\n".join(found)
