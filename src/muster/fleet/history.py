"""What happened, told with the names of those it happened to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

from muster.agents import KINDS
from muster.agents.watch import Happening

if TYPE_CHECKING:
    from muster.fleet import Fleet

# These are written on the agent's host, which doesn't know its name. All else is muster's own word, and begins with it.
_BY_HOSTS = {"ended", *KINDS} - {"stopped"}


class Entry(Struct, frozen=True):
    """One event, and the name its agent had then."""

    at: float
    agent: str
    name: str
    event: str
    detail: str = ""


def entries(fleet: Fleet, happenings: Iterable[Happening]) -> Iterator[Entry]:
    """Each with its agent's name, also of those that are no more."""
    names = {agent.id: agent.name for agent in fleet.known()}
    for one in happenings:
        detail = one.detail
        if one.event == "ended":
            detail = _ending(detail)
        elif one.event not in _BY_HOSTS:
            names[one.agent], _, detail = detail.partition(" ")
        if one.agent not in names and (made := fleet.registry.find(one.agent)):
            names[one.agent] = made.name  # since we began; a program may end before its making is written down
        yield Entry(one.at, one.agent, names.get(one.agent, one.agent), one.event, detail)


def _ending(words: str) -> str:
    """`=0 =` and `= =9`, as tmux says it, in plain words."""
    code, _, signal = words.replace("=", "").partition(" ")
    return f"signal {signal}" if signal else f"exit code {code}" if code else ""
