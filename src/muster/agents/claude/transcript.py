"""Its transcript: what it was told is written down at once, also what it will only read after its turn."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from muster.agents import logs
from muster.agents.logs import lines


class _Line(Struct, frozen=True):
    type: str = ""
    operation: str = ""
    content: object = ""


_decoded = lines.decoder(_Line)


def heard(log: bytes) -> Iterator[str]:
    """What users said, by the conversation and by the queue of what waits for it."""
    yield from (event.text for event in logs.events("claude", log) if event.role == "user")
    for line in map(_decoded, log.split(b"\n")):
        if line and line.type == "queue-operation" and line.operation == "enqueue":
            yield lines.said(line.content)
