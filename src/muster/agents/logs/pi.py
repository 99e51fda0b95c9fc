"""pi: a tree of entries in one file; a session that was taken back to an earlier point has several branches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

from msgspec import Struct, field

from muster.agents import Event, Role, Tokens
from muster.agents.logs import lines

_ROLES: dict[str, Role] = {"text": "assistant", "thinking": "thinking", "toolCall": "tool"}


class _Cost(Struct, frozen=True):
    total: float = 0.0


class _Usage(Struct, frozen=True, rename="camel"):
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    hour: int = field(default=0, name="cacheWrite1h")
    cost: _Cost = _Cost()

    @property
    def tokens(self) -> Tokens:
        whole = self.input + self.cache_read + self.cache_write
        return Tokens(whole, self.output, self.cache_read, self.cache_write, self.hour)


class _Message(Struct, frozen=True, rename="camel"):
    role: str = ""
    content: Any = None
    model: str = ""
    provider: str = ""
    usage: _Usage | None = None
    response_id: str = ""
    error_message: str | None = None
    tool_call_id: str = ""
    tool_name: str = ""
    is_error: bool = False
    command: str = ""
    output: str = ""
    exit_code: int | None = None


class _Line(Struct, frozen=True):
    type: str = ""
    id: str = ""
    timestamp: Any = None
    message: _Message | None = None
    version: int = field(default=0)


_decoded = lines.decoder(_Line)


class Pi(Struct):
    """The reader of `agent/sessions/--FOLDER--/*.jsonl`."""

    whole: ClassVar[bool] = False
    seen: set[str] = set()

    @staticmethod
    def knows(head: bytes) -> bool:
        return any(line.get("type") == "session" and "cwd" in line for line in lines.head(head)[:1])

    def read(self, line: bytes) -> Iterable[Event]:
        one = _decoded(line)
        if one is None or one.message is None or one.type != "message" or one.id in self.seen:
            return ()
        if one.id:
            self.seen.add(one.id)
        at = lines.moment(one.timestamp) if isinstance(one.timestamp, str) else None
        return _said(one.message, at)

    def rest(self) -> Iterable[Event]:
        return ()


def _said(one: _Message, at: float | None) -> Iterator[Event]:
    if one.role == "user":
        yield Event("user", lines.said(one.content), at)
    elif one.role == "toolResult":
        role: Role = "error" if one.is_error else "result"
        yield Event(role, lines.said(one.content), at, one.tool_name, one.tool_call_id)
    elif one.role == "bashExecution":  # the user's own `!command`
        yield Event("tool", one.command, at, "bash")
        yield Event("error" if one.exit_code else "result", one.output, at, "bash")
    elif one.role == "assistant":
        yield from _answer(one, at)


def _answer(one: _Message, at: float | None) -> Iterator[Event]:
    model = f"{one.provider}/{one.model}" if one.provider else one.model
    tokens = lines.grown(one.usage.tokens, None) if one.usage else None
    cost = one.usage.cost.total or None if one.usage else None
    content = [part for part in one.content if isinstance(part, dict)] if isinstance(one.content, list) else []
    for part in content:
        role = _ROLES.get(part.get("type", ""))
        if role is None:
            continue
        text = lines.given(part.get("arguments")) if role == "tool" else part.get("text") or part.get("thinking") or ""
        if not text and not tokens and role != "tool":
            continue
        name, call = part.get("name", ""), part.get("id", "")
        yield Event(role, text, at, name, call, model, one.response_id, tokens, cost)
        tokens = cost = None
    if one.error_message:
        yield Event("error", one.error_message, at, "", "", model, one.response_id, tokens, cost)
