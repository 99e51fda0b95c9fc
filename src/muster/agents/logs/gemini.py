"""Gemini CLI: a line per message, written again when its tools have run; the last one of an id holds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

from msgspec import Struct, field

from muster.agents import Event, Role, Tokens
from muster.agents.logs import lines

_EXIT = re.compile(r"^Exit Code: [^0]", re.MULTILINE)


class _Tokens(Struct, frozen=True):
    input: int = 0
    output: int = 0
    cached: int = 0
    thoughts: int = 0
    tool: int = 0

    @property
    def tokens(self) -> Tokens:
        return Tokens(self.input + self.tool, self.output + self.thoughts, self.cached)


class _Call(Struct, frozen=True):
    id: str = ""
    name: str = ""
    args: Any = None
    result: Any = None
    status: str = ""
    timestamp: str = ""


class _Line(Struct, frozen=True):
    id: str = ""
    type: str = ""
    timestamp: str = ""
    content: Any = None
    thoughts: list[Any] | None = None
    tokens: _Tokens | None = None
    model: str = ""
    calls: list[_Call] = field(default_factory=list, name="toolCalls")


_decoded = lines.decoder(_Line)


class Gemini(Struct):
    """The reader of `tmp/PROJECT/chats/session-*.jsonl`."""

    whole: ClassVar[bool] = False
    held: _Line | None = None  # it may be written again
    told: set[str] = set()  # messages and calls that were given out

    @staticmethod
    def knows(head: bytes) -> bool:
        return any("sessionId" in line and "projectHash" in line for line in lines.head(head))

    def read(self, line: bytes) -> Iterable[Event]:
        one = _decoded(line)
        if one is None or not one.id or not one.type:  # `$set` rewrites what was said before
            return ()
        if self.held and self.held.id == one.id:
            self.held = one
            return ()
        before, self.held = self.held, one
        if before is None:
            return ()
        said = [*_said(before, self.told)]
        self.told.update([before.id, *(call.id for call in before.calls)])
        return said

    def rest(self) -> Iterable[Event]:
        return [*_said(self.held, self.told)] if self.held else ()


def _said(one: _Line, told: set[str]) -> Iterator[Event]:
    at, known = lines.moment(one.timestamp), one.id in told
    if one.type == "gemini":
        tokens = None if known else lines.grown(one.tokens.tokens, None) if one.tokens else None
        events = [*([] if known else _words(one, at)), *_calls(one, told)]
        if tokens and not any(event.model for event in events):
            events.insert(0, Event("assistant", "", at, model=one.model))
        for event in events:
            counts = tokens if event.model else None
            yield Event(
                event.role,
                event.text,
                event.at,
                event.tool,
                event.id,
                event.model,
                one.id if event.model else "",
                counts,
            )
            tokens = None if event.model else tokens
    elif not known and (text := _plain(one)):
        role: Role = "user" if one.type == "user" else "error" if one.type == "error" else "output"
        yield Event(role, text, at)


def _words(one: _Line, at: float | None) -> list[Event]:
    thoughts = [_thought(thought) for thought in one.thoughts or ()]
    found = [Event("thinking", text, at, model=one.model) for text in thoughts if text]
    text = lines.said(one.content)
    return [*found, Event("assistant", text, at, model=one.model)] if text else found


def _thought(one: Any) -> str:
    if not isinstance(one, dict):
        return ""
    return "\n".join(part for part in (one.get("subject"), one.get("description")) if isinstance(part, str) and part)


def _calls(one: _Line, told: set[str]) -> Iterator[Event]:
    for call in one.calls:
        if call.id in told:
            continue
        at = lines.moment(call.timestamp or one.timestamp)
        yield Event("tool", lines.given(call.args), at, call.name, call.id, one.model)
        text = _result(call.result)
        failed = call.status in ("error", "cancelled") or _EXIT.search(text)
        yield Event("error" if failed else "result", text, at, call.name, call.id)


def _result(value: Any) -> str:
    parts = value if isinstance(value, list) else [value]
    answers = (part.get("functionResponse", {}).get("response", part) for part in parts if isinstance(part, dict))
    return "\n".join(lines.given(one.get("output", one)) for one in answers if isinstance(one, dict))


def _plain(one: _Line) -> str:
    content = one.content
    if isinstance(content, list):  # what tools answered is in the message that called them
        content = [part for part in content if not (isinstance(part, dict) and "functionResponse" in part)]
    return lines.said(content)
