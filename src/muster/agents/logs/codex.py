"""Codex: a rollout of everything that went to the model and came back, with counts after each response."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

import msgspec
from msgspec import Struct, field

from muster.agents import Event, Tokens
from muster.agents.logs import lines

_EXIT = re.compile(r"^Process exited with code (\d+)$", re.MULTILINE)
_EXIT_OF_OLD = re.compile(r'"exit_code":\s*(\d+)')
# Texts that older versions put before what the user said, without saying whose they are.
_HARNESS = ("<environment_context>", "<user_instructions>", "# AGENTS.md instructions", "<turn_aborted>")


class _Usage(Struct, frozen=True):
    input_tokens: int = 0
    output_tokens: int = 0
    cached_input_tokens: int = 0
    cache_write_input_tokens: int = 0

    @property
    def tokens(self) -> Tokens:
        return Tokens(self.input_tokens, self.output_tokens, self.cached_input_tokens, self.cache_write_input_tokens)


class _Info(Struct, frozen=True):
    total_token_usage: _Usage = _Usage()
    last_token_usage: _Usage = _Usage()


class _Whose(Struct, frozen=True):
    content_item_kinds: list[str] = []


class _Payload(Struct, frozen=True):
    type: str = ""
    id: Any = ""
    role: str = ""
    content: Any = None
    summary: Any = None
    name: str = ""
    arguments: Any = None
    input: Any = None
    action: Any = None
    call_id: str | None = None
    output: Any = None
    model: str = ""
    info: _Info | None = None
    usage: _Usage | None = None
    response_id: str = ""
    error: Any = None
    message: Any = None
    reason: str = ""
    whose: _Whose | None = field(default=None, name="internal_chat_message_metadata_passthrough")


class _Line(Struct, frozen=True):
    type: str = ""
    timestamp: str = ""
    ordinal: int | None = None
    payload: _Payload | None = None


_decoded = lines.decoder(_Line)


class Codex(Struct):
    """The reader of `sessions/YYYY/MM/DD/rollout-*.jsonl`."""

    whole: ClassVar[bool] = False
    model: str = ""
    ordinal: int = -1  # of the last line
    calls: dict[str, str] = {}  # that have no result yet: by id, the tool
    held: list[Event] = []  # the last thing the model said and what came after it: its count comes later
    records: bool = False  # responses have records of their own, so sums of a session tell nothing new
    total: Tokens = Tokens()  # of the session, as it was last told

    @staticmethod
    def knows(head: bytes) -> bool:
        return any(line.get("type") == "session_meta" and "payload" in line for line in lines.head(head))

    def read(self, line: bytes) -> Iterable[Event]:
        one = _decoded(line)
        if one is None or one.payload is None or self._is_copy(one):
            return ()
        what = one.payload
        if one.type == "turn_context":
            self.model = what.model or self.model
        elif one.type == "token_usage_record" and what.usage:
            self.records = True
            return self._counted(what.usage.tokens, what.response_id)
        elif one.type == "event_msg":
            return self._happened(one, what)
        elif one.type == "response_item":
            return self._item(one, what)
        return ()

    def rest(self) -> Iterable[Event]:
        return list(self.held)

    def _is_copy(self, one: _Line) -> bool:
        if one.ordinal is None:  # older versions don't number their lines
            return False
        if one.ordinal <= self.ordinal and one.type != "session_meta":
            return True
        self.ordinal = one.ordinal
        return False

    def _item(self, one: _Line, what: _Payload) -> Iterable[Event]:
        event = self._event(what, lines.moment(one.timestamp))
        if event is None:
            return ()
        if event.role in ("assistant", "thinking", "tool"):
            return self._release([event])
        if event.role == "user":
            return [*self._release([]), event]
        if self.held:
            self.held.append(event)
            return ()
        return [event]

    def _event(self, what: _Payload, at: float | None) -> Event | None:
        if what.type == "message":
            return self._message(what, at)
        if what.type == "reasoning":
            text = lines.said(what.summary) or lines.said(what.content)
            return Event("thinking", text, at, id=str(what.id), model=self.model) if text else None
        call = what.call_id or ""
        if what.type.endswith("_call_output"):
            text = _output(what.output)
            return Event("error" if _failed(text) else "result", text, at, self.calls.pop(call, ""), call)
        if what.type.endswith("_call"):
            name = what.name or what.type.removesuffix("_call")
            self.calls[call] = name
            return Event("tool", _input(what), at, name, call, self.model)
        return None

    def _message(self, what: _Payload, at: float | None) -> Event | None:
        text = lines.said(what.content)
        if what.role == "assistant" and text:
            return Event("assistant", text, at, id=str(what.id), model=self.model)
        if what.role != "user" or not text:
            return None
        kinds = what.whose.content_item_kinds if what.whose else []
        harness = not any(kind.startswith("user") for kind in kinds) if kinds else text.startswith(_HARNESS)
        return None if harness else Event("user", text, at, id=str(what.id))

    def _happened(self, one: _Line, what: _Payload) -> Iterator[Event]:
        if what.type == "token_count":
            if what.info and not self.records:
                yield from self._session(what.info)
            return
        text = ""
        if what.type in ("error", "stream_error"):
            text = lines.said(what.message)
        elif what.type == "task_complete" and what.error:
            text = lines.said(what.error.get("message", "")) if isinstance(what.error, dict) else str(what.error)
        elif what.type == "turn_aborted":
            text = what.reason or "aborted"
        if text or what.type == "task_complete":
            yield from self._release([])
        if text:
            yield Event("error", text, lines.moment(one.timestamp))

    def _session(self, info: _Info) -> Iterable[Event]:
        now = info.total_token_usage.tokens
        before, self.total = self.total, now
        if now == before:  # told again, with new limits
            return ()
        fresh = now.input < before.input or now.output < before.output
        return self._counted((info.last_token_usage.tokens if fresh else lines.grown(now, before)) or Tokens(), "")

    def _counted(self, tokens: Tokens, request: str) -> Iterable[Event]:
        if not self.held:
            # Nothing that it said is kept: a request for a summary, or one whose answer was cut.
            return [Event("thinking", "", None, model=self.model, request=request, tokens=tokens)]
        self.held[0] = msgspec.structs.replace(self.held[0], tokens=tokens, request=request)
        return self._release([])

    def _release(self, then: list[Event]) -> list[Event]:
        held, self.held = self.held, then
        return held


def _input(what: _Payload) -> str:
    value = next((one for one in (what.arguments, what.input, what.action) if one is not None), None)
    if isinstance(value, str) and value.startswith("{"):
        value = lines.decoder(dict)(value.encode()) or value
    return lines.given(value) if value is not None else ""


def _output(value: Any) -> str:
    if isinstance(value, dict):
        value = value.get("content", value)
    return lines.said(value)


def _failed(text: str) -> bool:
    found = _EXIT.search(text[:400]) or (_EXIT_OF_OLD.search(text) if text.startswith('{"output"') else None)
    return bool(found and found[1] != "0")
