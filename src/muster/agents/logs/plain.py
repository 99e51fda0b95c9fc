"""muster's own agents, `scripted` and `mechanic`: an event a line."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from msgspec import Struct

from muster.agents import Event, Role
from muster.agents.logs import lines


class _Line(Struct, frozen=True):
    role: Role
    text: str
    at: float | None = None
    tool: str = ""
    id: str = ""


_decoded = lines.decoder(_Line)


class Plain(Struct):
    """The reader of `conversation.jsonl`."""

    whole: ClassVar[bool] = False

    @staticmethod
    def knows(head: bytes) -> bool:
        return any("fresh" in line or {"role", "text", "at"} <= line.keys() for line in lines.head(head)[:2])

    def read(self, line: bytes) -> Iterable[Event]:
        one = _decoded(line)
        return [Event(one.role, one.text, one.at, one.tool, one.id)] if one else ()

    def rest(self) -> Iterable[Event]:
        return ()
