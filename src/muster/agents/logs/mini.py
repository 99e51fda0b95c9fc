"""mini-swe-agent: a trajectory, written anew at each step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

from msgspec import Struct

from muster.agents import Event, Tokens
from muster.agents.logs import lines


class _Details(Struct, frozen=True):
    cached_tokens: int | None = None


class _Usage(Struct, frozen=True):
    prompt_tokens: int = 0
    completion_tokens: int = 0
    prompt_tokens_details: _Details | None = None

    @property
    def tokens(self) -> Tokens:
        details = self.prompt_tokens_details
        return Tokens(self.prompt_tokens, self.completion_tokens, (details.cached_tokens if details else 0) or 0)


class _Response(Struct, frozen=True):
    id: str = ""
    model: str = ""
    usage: _Usage | None = None


class _Extra(Struct, frozen=True):
    response: _Response | None = None
    cost: float | None = None
    timestamp: float | None = None
    raw_output: str | None = None
    returncode: int | None = None
    exit_status: str = ""


class _Function(Struct, frozen=True):
    name: str = ""
    arguments: Any = None


class _Call(Struct, frozen=True):
    id: str = ""
    function: _Function = _Function()


class _Message(Struct, frozen=True):
    role: str = ""
    content: Any = None
    tool_calls: list[_Call] | None = None
    tool_call_id: str = ""
    extra: _Extra = _Extra()


class _Document(Struct, frozen=True):
    messages: list[_Message]


_decoded = lines.decoder(_Document)


class Mini(Struct):
    """The reader of a trajectory."""

    whole: ClassVar[bool] = True

    @staticmethod
    def knows(head: bytes) -> bool:
        return head.lstrip().startswith(b"{") and b'"model_stats"' in head

    def read(self, line: bytes) -> Iterable[Event]:
        document = _decoded(line)
        calls: dict[str, str] = {}
        return (event for one in (document.messages if document else ()) for event in _said(one, calls))

    def rest(self) -> Iterable[Event]:
        return ()


def _said(one: _Message, calls: dict[str, str]) -> Iterator[Event]:
    extra = one.extra
    if one.role == "user":
        yield Event("user", lines.said(one.content), extra.timestamp)
    elif one.role == "tool":
        text, call = extra.raw_output or lines.said(one.content), one.tool_call_id
        # -1 is of the command that ended the task, which was not executed.
        yield Event(
            "error" if extra.returncode not in (None, 0, -1) else "result",
            text,
            extra.timestamp,
            calls.get(call, ""),
            call,
        )
    elif one.role == "assistant":
        yield from _answer(one, calls)
    elif one.role == "exit" and extra.exit_status not in ("", "Submitted"):
        yield Event("error", extra.exit_status, extra.timestamp)


def _answer(one: _Message, calls: dict[str, str]) -> Iterator[Event]:
    at, response = one.extra.timestamp, one.extra.response or _Response()
    tokens = lines.grown(response.usage.tokens, None) if response.usage else None
    cost, text = one.extra.cost or None, lines.said(one.content)
    found = [Event("assistant", text, at, model=response.model)] if text else []
    for call in one.tool_calls or ():
        calls[call.id] = call.function.name
        found.append(Event("tool", _given(call.function.arguments), at, call.function.name, call.id, response.model))
    for event in found or [Event("assistant", "", at, model=response.model)]:
        yield Event(event.role, event.text, at, event.tool, event.id, event.model, response.id, tokens, cost)
        tokens = cost = None


def _given(arguments: Any) -> str:
    decoded = lines.decoder(dict)(arguments.encode()) if isinstance(arguments, str) else arguments
    return lines.given(arguments if decoded is None else decoded)
