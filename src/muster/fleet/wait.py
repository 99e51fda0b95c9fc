"""Waiting for states: a look, then the hosts' own events, then a look; no polling, but of what has not told anything yet."""

from __future__ import annotations

import queue
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from muster.agents import Agent, Kind
from muster.agents.watch import Watch, told
from muster.errors import NotReached, TimedOut
from muster.fleet.look import look

if TYPE_CHECKING:
    from muster.fleet import Fleet

# A host whose link broke, or a tail that can't be woken, is looked at again after this long without an event.
LOOK_AGAIN = 10.0
# Nothing tells that a program shows a dialog before its session begins.
LOOK_FOR_DIALOG = 1.0


def wait(
    fleet: Fleet, agents: Sequence[Agent], states: tuple[Kind, ...], *, any: bool = False, timeout: float | None = None
) -> list[Agent]:
    """Those that reached one of the states: all of them, or with `any` at least one."""
    reached: dict[str, Agent] = {}
    deadline = None if timeout is None else time.monotonic() + timeout
    for view in looks(fleet, agents, deadline):
        reached.update((agent.id, agent) for agent in view if agent.state and agent.state.kind in states)
        if len(reached) == len(agents) or (any and reached):
            return [reached[agent.id] for agent in agents if agent.id in reached]
        hopeless = [agent for agent in view if agent.id not in reached and over(agent)]
        if hopeless and (not any or len(hopeless) == len(view)):
            raise _not_reached(hopeless[0], states)
    missing = [agent for agent in agents if agent.id not in reached]
    names = ", ".join(f"`{agent.name}`" for agent in missing[:5])
    more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
    raise TimedOut(f"after {timeout:g} s {names}{more} had not come to {' or '.join(states)}")


def over(agent: Agent) -> bool:
    """Whether it takes somebody's hand to change it; a host that can't be reached may come back by itself."""
    assert agent.state is not None
    sources = agent.state.sources
    lost = agent.state.kind == "unknown" and bool(sources) and "program" not in sources
    return lost or agent.state.kind in ("done", "failed", "stopped")


def _not_reached(agent: Agent, states: tuple[Kind, ...]) -> NotReached:
    assert agent.state is not None
    return NotReached(
        f"`{agent.name}` is {agent.state.kind} ({agent.state.reason}), so {' or '.join(states)} can't come",
        hint=f"`muster start {agent.name}` starts it again, `muster logs {agent.name}` shows what happened",
    )


def looks(fleet: Fleet, agents: Sequence[Agent], deadline: float | None) -> Iterator[list[Agent]]:
    """Those agents as they are now, and again whenever something happened to one of them, until the deadline."""

    def now() -> list[Agent]:
        return [fleet.registry.find(agent.id) or agent for agent in agents]

    view = look(fleet, now())
    yield view.agents
    with ExitStack() as stack:
        news: queue.SimpleQueue[set[str]] = queue.SimpleQueue()
        for host in {agent.host for agent in agents}:
            watch = Watch(fleet.seat(host), view.offsets.get(host, 0))
            stack.enter_context(told(watch, lambda found: news.put({happening.agent for happening in found})))
        ids = {agent.id for agent in agents}
        while deadline is None or time.monotonic() < deadline:
            starts = any(agent.state and agent.state.kind == "starting" for agent in view.agents)
            again = LOOK_FOR_DIALOG if starts else LOOK_AGAIN
            left = again if deadline is None else max(0.0, min(again, deadline - time.monotonic()))
            try:
                heard = news.get(timeout=left)
            except queue.Empty:
                heard = set()
            if not heard or heard & ids:
                view = look(fleet, now())
                yield view.agents
            elif deadline is not None and time.monotonic() >= deadline:
                return
