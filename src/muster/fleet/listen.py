"""Listening to a conversation: a tail of the agent's own log, no polling of ours."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING

from muster.agents import Agent, Event, agent_type, logs
from muster.core import proc
from muster.errors import Refused

if TYPE_CHECKING:
    from muster.fleet import Fleet


def listen(fleet: Fleet, agent: Agent) -> Generator[Event, None, None]:
    """What was said and what is being said; it goes on also over a restart of the agent."""
    kind, seat = agent_type(agent.type), fleet.seat(agent.host)
    if not kind.conversation:
        hint = f"`muster logs {agent.name}` has what its terminal showed, `muster connect {agent.name}` shows it live"
        raise Refused(f"`{agent.name}` is a {agent.type} agent, which keeps no conversation to follow", hint=hint)
    # A reader has in mind what was said before, such as which request was counted.
    read = logs.form(kind.name)().read if kind.name in logs.READERS else kind.events
    # By its name: the log may not be there yet.
    command = ["tail", "-n", "+1", "-F", f"{seat.folder(agent.id)}/{kind.conversation}"]
    tail = proc.start(seat.host, command, stdin=proc.DEVNULL, stdout=proc.PIPE, stderr=proc.DEVNULL)
    try:
        assert tail.stdout is not None
        for line in tail.stdout:
            yield from read(line)
    finally:
        proc.end_group(tail)
