"""Conversation logs: what each program writes down, read into the one form of event, of which the rest of muster knows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import ClassVar, Protocol

from muster.agents import Event


class Reader(Protocol):
    """Reads one log, in the order of its lines. It is a Struct: encoded, it can be put aside and go on later."""

    whole: ClassVar[bool]  # the log is one document, written anew each time, and no lines

    @staticmethod
    def knows(head: bytes) -> bool:
        """Whether a log that begins so is of this type."""
        ...

    def read(self, line: bytes) -> Iterable[Event]:
        """What that line says; nothing of one that is half-written, not understood or a copy of an earlier one."""
        ...

    def rest(self) -> Iterable[Event]:
        """What it holds back until the log says more of it; it still does so afterwards."""
        ...


# By agent type. An agent type's own `events` calls `events` of this room with its name.
READERS: dict[str, str] = {
    "claude": "muster.agents.logs.claude:Claude",
    "codex": "muster.agents.logs.codex:Codex",
    "opencode": "muster.agents.logs.opencode:Opencode",
    "gemini": "muster.agents.logs.gemini:Gemini",
    "pi": "muster.agents.logs.pi:Pi",
    "mini": "muster.agents.logs.mini:Mini",
    "scripted": "muster.agents.logs.plain:Plain",
    "mechanic": "muster.agents.logs.plain:Plain",
}


def form(name: str) -> type[Reader]:
    """The reader of that type's logs."""
    module, _, attribute = READERS[name].partition(":")
    found: type[Reader] = getattr(import_module(module), attribute)
    return found


def events(name: str, log: bytes) -> Iterator[Event]:
    """The conversation in a whole log, or in what is there of it."""
    reader = form(name)()
    for line in [log] if reader.whole else log.split(b"\n"):
        yield from reader.read(line)
    yield from reader.rest()


def beside(name: str, path: str) -> str:
    """A pattern of logs that belong to the one at that path, such as those of subagents; empty if there are none."""
    found = getattr(form(name), "beside", None) if name in READERS else None
    return found(path) if found else ""


def detect(head: bytes) -> str | None:
    """The type of agent that wrote a log which begins so."""
    return next((name for name in READERS if form(name).knows(head)), None)
