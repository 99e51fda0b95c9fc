"""What is every agent doing? One look per host, all hosts at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec

from muster.agents import ENDED, Agent, AgentType, Evidence, State, agent_type, evidence, state
from muster.core import fan
from muster.errors import Asleep, MusterError

if TYPE_CHECKING:
    from muster.fleet import Fleet


class View:
    """A look at a fleet: the agents with their states, and what could not be looked at."""

    def __init__(self, agents: list[Agent], trouble: dict[str, str], offsets: dict[str, int]) -> None:
        self.agents, self.trouble, self.offsets = agents, trouble, offsets

    def of(self, agent: str) -> Agent | None:
        return next((one for one in self.agents if one.id == agent), None)


def look(fleet: Fleet, agents: Sequence[Agent], *, screens: bool = False) -> View:
    """Those agents as they are now."""
    types = {agent.type: known_type(agent.type) for agent in agents}
    hosts = sorted({agent.host for agent in agents})
    sights: dict[str, evidence.Sight] = {}
    trouble: dict[str, str] = {}
    asleep: set[str] = set()
    for host, found in fan.out(
        lambda host: evidence.look(fleet.seat(host), types.values(), screens=screens), hosts, 32
    ):
        if isinstance(found, Asleep):
            asleep.add(host)
        elif isinstance(found, MusterError):
            trouble[host] = str(found)
        elif isinstance(found, Exception):
            raise found
        else:
            sights[host] = found
    seen = [
        _slept(agent)
        if agent.host in asleep
        else _seen(fleet, agent, types[agent.type], sights.get(agent.host), trouble)
        for agent in agents
    ]
    _remember(fleet, agents, seen)
    return View(seen, trouble, {host: sight.events for host, sight in sights.items()})


def _slept(agent: Agent) -> Agent:
    """On a stopped host nothing runs; what had ended before had ended so."""
    if agent.state and agent.state.kind in ENDED:
        return agent
    since = agent.state.since if agent.state else agent.changed
    reason = f"its host `{agent.host}` is stopped; `muster start {agent.name}` starts both"
    return msgspec.structs.replace(agent, state=State("stopped", since, reason, ("host",)))


def known_type(name: str) -> AgentType:
    """The agent type, or the plainest where its package is gone."""
    try:
        return agent_type(name)
    except MusterError:
        # An agent whose type's package is gone is still listed, by what its terminal shows.
        return agent_type("command")


def _seen(fleet: Fleet, agent: Agent, kind: AgentType, sight: evidence.Sight | None, trouble: dict[str, str]) -> Agent:
    if sight is None:
        return msgspec.structs.replace(agent, state=state.judge(agent, kind, None, trouble.get(agent.host, "")))
    return judged(fleet, agent, kind, sight.evidence(agent.id))


def judged(fleet: Fleet, agent: Agent, kind: AgentType, found: Evidence) -> Agent:
    """The agent with its state, by that evidence."""
    now = state.judge(agent, kind, found)
    if now.kind == "unknown":
        # The registry was read before the look; what seems wrong may have been done in between, or be under way.
        busy, fresh = fleet.registry.busy(agent.id), fleet.registry.find(agent.id)
        now = state.judge(fresh, kind, found, busy=busy) if fresh else state.destroyed(found)
        agent = fresh or agent
    return msgspec.structs.replace(agent, state=now, activity=kind.activity(found.screen))


def _remember(fleet: Fleet, before: Sequence[Agent], after: Iterable[Agent]) -> None:
    # The last known state, for when it can't be known; written only where it changed.
    changed: list[tuple[str, State]] = []
    for old, new in zip(before, after, strict=True):
        if new.state and (old.state is None or (old.state.kind, old.state.since) != (new.state.kind, new.state.since)):
            changed.append((new.id, new.state))
    try:
        fleet.registry.saw(changed)
    except MusterError:
        pass  # a full disk must not hide what was seen
