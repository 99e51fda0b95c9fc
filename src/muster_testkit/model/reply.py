"""An answer before it is put into a dialect."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

from muster_testkit.model.requests import Asked, Json
from muster_testkit.model.tools import Call, calls

Said = Iterator[tuple[str | None, Json]]  # the events of a stream: name and data


class Usage(NamedTuple):
    """Tokens."""

    input: int
    output: int
    cache_read: int
    cache_write: int

    @property
    def whole_input(self) -> int:
        return self.input + self.cache_read


class Reply(NamedTuple):
    """What the model says and does in one turn."""

    id: str
    model: str
    text: str
    thinking: str
    calls: list[Call]
    free_form: frozenset[str]
    usage: Usage
    stop: str | None


class Dialect(Protocol):
    """How one API puts an answer."""

    def whole(self, reply: Reply) -> Json:
        """In one piece."""
        ...

    def said(self, reply: Reply) -> Said:
        """As a stream of events."""
        ...


def reply(step: Json, asked: Asked, cached: int) -> Reply:
    """What a step answers. Usage that the step doesn't give is estimated."""
    given: Json = step.get("usage", {})
    called = calls(step, asked.tools)
    said = len(json.dumps([step.get("text"), step.get("thinking"), called])) // 4
    read = given.get("cache_read", 0 if "input" in given else cached)
    usage = Usage(given.get("input", asked.size - read), given.get("output", said), read, given.get("cache_write", 0))
    return Reply(
        fresh("msg_"),
        asked.model,
        step.get("text", ""),
        step.get("thinking", ""),
        called,
        asked.free_form,
        usage,
        step.get("stop"),
    )


def fresh(prefix: str) -> str:
    return prefix + uuid.uuid4().hex[:24]


def pieces(text: str, size: int = 40) -> list[str]:
    """A stream comes in small pieces."""
    return [text[at : at + size] for at in range(0, len(text), size)]


def dumped(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments)
