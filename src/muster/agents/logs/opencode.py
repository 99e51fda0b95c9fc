"""opencode: the document that `opencode export SESSION` prints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

from msgspec import Struct, field, structs

from muster.agents import Event, Tokens
from muster.agents.logs import lines


class _Cache(Struct, frozen=True):
    read: int = 0
    write: int = 0


class _Tokens(Struct, frozen=True):
    input: int = 0
    output: int = 0
    reasoning: int = 0
    cache: _Cache = _Cache()

    @property
    def tokens(self) -> Tokens:
        whole = self.input + self.cache.read + self.cache.write
        return Tokens(whole, self.output + self.reasoning, self.cache.read, self.cache.write)


class _Time(Struct, frozen=True):
    created: float | None = None
    start: float | None = None
    end: float | None = None


class _State(Struct, frozen=True):
    status: str = ""
    input: Any = None
    output: Any = None
    error: str = ""
    metadata: dict[str, Any] = {}
    time: _Time = _Time()


class _Part(Struct, frozen=True):
    type: str = ""
    id: str = ""
    text: str = ""
    tool: str = ""
    call: str = field(default="", name="callID")
    state: _State | None = None
    tokens: _Tokens | None = None
    cost: float = 0.0
    synthetic: bool = False
    time: _Time = _Time()


class _Info(Struct, frozen=True):
    role: str = ""
    model: str = field(default="", name="modelID")
    provider: str = field(default="", name="providerID")
    time: _Time = _Time()
    error: dict[str, Any] | None = None


class _Entry(Struct, frozen=True):
    info: _Info = _Info()
    parts: list[_Part] = []


class _Document(Struct, frozen=True):
    messages: list[_Entry]


_decoded = lines.decoder(_Document)


class Opencode(Struct):
    """The reader of an exported session."""

    whole: ClassVar[bool] = True

    @staticmethod
    def knows(head: bytes) -> bool:
        return head.lstrip().startswith(b"{") and b'"projectID"' in head and b'"messages"' in head

    def read(self, line: bytes) -> Iterable[Event]:
        document = _decoded(line)
        return (event for entry in (document.messages if document else ()) for event in _entry(entry))

    def rest(self) -> Iterable[Event]:
        return ()


def _entry(entry: _Entry) -> Iterator[Event]:
    info = entry.info
    at = lines.milliseconds(info.time.created)
    model = f"{info.provider}/{info.model}" if info.provider else info.model
    step: list[Event] = []
    for part in entry.parts:
        if info.role == "user":
            if part.type == "text" and not part.synthetic:
                yield Event("user", part.text, at)
        elif part.type == "step-finish":
            yield from _finished(step, part, at, model)
            step = []
        else:
            step += _said(part, at, model)
    yield from step
    if info.error:
        data = info.error.get("data")
        text = data.get("message") if isinstance(data, dict) else None
        yield Event("error", str(text or info.error.get("name", "error")), at)


def _said(part: _Part, at: float | None, model: str) -> Iterator[Event]:
    begun = lines.milliseconds(part.time.start) or at
    if part.type in ("text", "reasoning") and part.text:
        yield Event("assistant" if part.type == "text" else "thinking", part.text, begun, model=model)
    elif part.type == "tool" and (state := part.state):
        yield Event(
            "tool", lines.given(state.input), lines.milliseconds(state.time.start) or at, part.tool, part.call, model
        )
        done = lines.milliseconds(state.time.end)
        if state.status == "completed":
            failed = state.metadata.get("exit") not in (0, None)
            yield Event("error" if failed else "result", lines.said(state.output), done, part.tool, part.call)
        elif state.status == "error":
            yield Event("error", state.error, done, part.tool, part.call)


def _finished(step: list[Event], part: _Part, at: float | None, model: str) -> Iterator[Event]:
    """The events of one request, of which the first that the model said has its counts."""
    found = next((number for number, event in enumerate(step) if event.model), None)
    if found is None:
        step, found = [Event("assistant", "", at, model=model), *step], 0
    tokens = lines.grown(part.tokens.tokens, None) if part.tokens else None
    step[found] = structs.replace(step[found], request=part.id, tokens=tokens, cost=part.cost or None)
    yield from step
