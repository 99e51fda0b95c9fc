"""Map: one agent per task, so many at once, each handed over as it settles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

import msgspec

from muster.agents import Agent, Kind
from muster.core import fan
from muster.fleet import Task
from muster.fleet.wait import looks, over

if TYPE_CHECKING:
    from muster.fleet import Fleet

# Creating is mostly git writing files: more at once than this only makes them wait for each other.
CREATE_AT_ONCE = 8


def map_tasks(
    fleet: Fleet, tasks: Iterable[Task], *, limit: int, for_states: tuple[Kind, ...], run: str = ""
) -> Iterator[Agent]:
    """Each agent once, in the order in which they settle. What fails to be created is raised after the rest has ended."""
    todo = iter(_named(tasks, run))
    live: dict[str, Agent] = {}
    failed: Exception | None = None
    while True:
        fresh = list(islice(todo, limit - len(live)))
        for _, made in fan.out(fleet.create_task, fresh, CREATE_AT_ONCE):
            if isinstance(made, Exception):
                failed = failed or made
            else:
                live[made.id] = made
        if not live:
            if fresh:
                continue
            break
        for agent in _next(fleet, list(live.values()), for_states):
            del live[agent.id]
            yield agent
    if failed:
        raise failed


def _named(tasks: Iterable[Task], run: str) -> Iterator[Task]:
    """In a named run every task has a name of its own, so that running it again finds what is there."""
    for number, task in enumerate(tasks, 1):
        if not run:
            yield task
            continue
        labels = {**task.labels, "run": run}
        name, at, place = task.name.partition("@")
        name = f"{name or f'{run}-{number}'}{at}{place}"
        yield msgspec.structs.replace(task, name=name, reuse=True, labels=labels)


def _next(fleet: Fleet, agents: list[Agent], states: tuple[Kind, ...]) -> list[Agent]:
    """Those that have settled, as soon as there are any."""
    for view in looks(fleet, agents, None):
        settled = [agent for agent in view if agent.state and (agent.state.kind in states or over(agent))]
        if settled:
            return settled
    return []
