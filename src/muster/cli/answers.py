"""Answers that several commands give."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

from muster.core import out
from muster.core.out import Show
from muster.fleet import fields

if TYPE_CHECKING:
    from muster.agents import Agent, Event

T = TypeVar("T")
COLOURS = {
    "working": "green",
    "waiting": "cyan",
    "blocked": "yellow",
    "failed": "red",
    "unknown": "magenta",
    "stopped": "dim",
    "delivered": "green",
    "typed": "green",
    "queued": "yellow",
    "interrupted": "green",
    "refused": "red",
    "ok": "green",
    "warn": "yellow",
    "fail": "red",
}
ROLES = {"user": "cyan", "assistant": "green", "error": "red", "thinking": "dim", "tool": "yellow", "result": "dim"}


def states(show: Show, agents: Sequence[Agent]) -> None:
    """A line per agent with what it does now."""
    if show.human:
        show.many(agents, lambda found: aligned([(one.name, *_state(one)) for one in found]))
    else:
        show.many([fields.record(agent) for agent in agents], lambda _: "")


def _state(agent: Agent) -> tuple[str, str]:
    if agent.archived:
        return "archived", ""
    return (agent.state.kind, agent.state.reason) if agent.state else ("", "")


def aligned(rows: Iterable[Sequence[str]]) -> str:
    """Columns without a head, states in their colours."""
    cells = [[out.safe(cell) for cell in row] for row in rows]
    widths = [max(map(out.width, column)) for column in zip(*cells, strict=True)]
    return "\n".join(
        "  ".join(
            out.paint(cell, COLOURS.get(cell, "")) + " " * (size - out.width(cell))
            for cell, size in zip(row, widths, strict=True)
        ).rstrip()
        for row in cells
    )


def count(number: int, noun: str) -> str:
    """`1 file`, `2 files`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def dollars(cost: float | None) -> str:
    """`$0.0123`, `$1,234.56`; nothing for what nobody knows."""
    return "" if cost is None else f"${cost:,.4f}" if cost < 1 else f"${cost:,.2f}"


def moment(at: float) -> str:
    """A time of this day by the clock, another one by its date."""
    import time

    when, today = time.localtime(at), time.localtime()
    return time.strftime("%H:%M:%S" if when[:3] == today[:3] else "%Y-%m-%d %H:%M:%S", when)


def said(event: Event) -> str:
    """An event of a conversation: who, when, and indented what."""
    tokens = event.tokens
    counts = f"{event.model} {tokens.input:,} in, {tokens.output:,} out".lstrip() if tokens else ""
    words = [event.role, event.tool, moment(event.at) if event.at else "", counts]
    head = out.paint(out.safe("  ".join(filter(None, words))), ROLES.get(event.role, "bold"))
    lines = out.safe(event.text, keep="\n\t").rstrip("\n").split("\n")
    return "\n".join([head, *(f"  {line}".rstrip() for line in lines), ""])


def last(found: Sequence[T], number: int | None, more: Callable[[], Iterator[T]] | None = None) -> Iterator[T]:
    """The last so many of what was found; `more` is a stream that has them all again, and then goes on."""
    skip = 0 if number is None else max(0, len(found) - number)
    yield from islice(more() if more else iter(found), skip, None)
