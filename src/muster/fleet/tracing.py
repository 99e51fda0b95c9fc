"""Conversations into the store: which logs there are, and whose they are."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import structs

from muster.agents import Agent, Tokens, agent_type, logs
from muster.core.names import nearest
from muster.errors import MusterError, NotFound, UsageError
from muster.hosts import Host
from muster.traces import Source, Spent, Taken
from muster.traces.ingest import complete, take
from muster.traces.prices import Prices
from muster.traces.store import BY

if TYPE_CHECKING:
    from muster.fleet import Fleet

# What a log is, its beginning tells.
_HEAD = 1 << 16


def ingest(fleet: Fleet, agents: Iterable[Agent], paths: Sequence[str]) -> Iterator[Taken]:
    """What each log brought. One that can't be read is told of, and the others are read."""
    files = [file for path in paths for file in _files(path)]
    prices = Prices()
    here = fleet.seat("local").host
    for agent in agents:
        try:
            host = fleet.seat(agent.host).host
            for source in _sources(fleet, agent):
                yield _taken(fleet, host, source, prices)
        except MusterError as error:
            yield Taken(Source("", agent.type, agent.host, agent.id, agent.name), "failed", why=str(error))
    for file in files:
        yield file if isinstance(file, Taken) else _taken(fleet, here, file, prices)
    complete(fleet.traces, prices)


def _taken(fleet: Fleet, host: Host, source: Source, prices: Prices) -> Taken:
    try:
        return take(fleet.traces, host, source, prices)
    except (OSError, MusterError) as error:
        return Taken(source, "failed", why=str(error))


def _sources(fleet: Fleet, agent: Agent) -> Iterator[Source]:
    """An agent's log, and those of its subagents where they are at hand."""
    kind = agent_type(agent.type)
    if not kind.conversation:
        return
    path = f"{fleet.seat(agent.host).folder(agent.id)}/{kind.conversation}"
    if agent.host == "local":
        path = os.path.realpath(path)  # a link to where the program keeps it: the same file is read once
    yield Source(path, kind.name, agent.host, agent.id, agent.name)
    if agent.host == "local" and (pattern := logs.beside(kind.name, path)):
        for more in sorted(glob.glob(pattern)):
            yield Source(more, kind.name, agent.host, agent.id, f"{agent.name}/{_stem(more)}")


def _files(path: str) -> list[Source | Taken]:
    """The log at that path, or all in a folder that are known for logs."""
    if os.path.isdir(path):
        found = sorted(os.path.join(above, name) for above, _, names in os.walk(path) for name in names)
        files = (file for file in found if file.endswith((".jsonl", ".json")) and os.path.isfile(file))
        return [one for one in map(_file, files) if one]
    if not os.path.isfile(path):
        raise NotFound(f"there is no file `{path}`")
    if one := _file(path):
        return [one]
    known = ", ".join(logs.READERS)
    raise UsageError(f"`{path}` is no log of a kind that muster knows", hint=f"it knows those of {known}")


def _file(path: str) -> Source | Taken | None:
    source = Source(os.path.realpath(path), "", name=_stem(path))
    try:
        with open(path, "rb") as file:
            kind = logs.detect(file.read(_HEAD))
    except OSError as error:
        return Taken(source, "failed", why=f"`{path}`: {error.strerror}")
    return structs.replace(source, type=kind) if kind else None


def _stem(path: str) -> str:
    return os.path.splitext(os.path.basename(path))[0]


def spent(fleet: Fleet, by: str, since: float) -> list[Spent]:
    """What requests took, in groups; agents without the label are one of no name."""
    head, _, label = by.partition(".")
    if head != "labels" or not label:
        if by not in BY:
            raise UsageError(f"there is no grouping by `{by}`", hint=nearest(by, [*BY, "labels.NAME"], "grouping"))
        return fleet.traces.spent(by, since)
    groups: dict[str, list[Spent]] = {}
    labels = {agent.id: agent.labels.get(label, "") for agent in fleet.known()}
    for one in fleet.traces.spent("id", since):
        groups.setdefault(labels.get(one.key, ""), []).append(one)
    return sorted((together(key, some) for key, some in groups.items()), key=lambda one: -(one.cost or 0))


def together(key: str, some: Sequence[Spent]) -> Spent:
    """Several groups as one."""
    counts = (sum(getattr(one.tokens, name) for one in some) for name in Tokens.__struct_fields__)
    costs = [one.cost for one in some if one.cost is not None]
    return Spent(
        key,
        sum(one.requests for one in some),
        Tokens(*counts),
        round(sum(costs), 6) if costs else None,
        sum(one.unpriced for one in some),
    )


def with_spent(fleet: Fleet, agents: Iterable[Agent]) -> list[Agent]:
    """Those agents with what their requests took, by the store; no log is read for it."""
    found = {one.key: (one.tokens.input + one.tokens.output, one.cost) for one in fleet.traces.spent("id")}
    return [structs.replace(agent, spent=found.get(agent.id)) for agent in agents]
