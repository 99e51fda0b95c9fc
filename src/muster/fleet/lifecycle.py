"""Stop, start, archive, rename, label: what changes an agent without making or removing it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from muster import hosts
from muster.agents import Agent, Order, agent_type, session
from muster.core import fan, names, tmux
from muster.errors import Exists, NotFound, Refused
from muster.fleet.registry import now

if TYPE_CHECKING:
    from muster.fleet import Fleet

AT_ONCE = 8


def stop(fleet: Fleet, agents: Sequence[Agent]) -> list[Agent]:
    """Say it first, then do it: an agent that was meant to stop is never taken for one that failed."""
    hosts_of: dict[str, list[Agent]] = {}
    for agent in agents:
        hosts_of.setdefault(agent.host, []).append(agent)
    failed: Exception | None = None
    for _, result in fan.out(lambda host: _stop(fleet, host, hosts_of[host]), hosts_of, AT_ONCE):
        failed = failed or (result if isinstance(result, Exception) else None)
    if failed:
        raise failed
    return fleet.agents([agent.id for agent in agents])


def _stop(fleet: Fleet, host: str, agents: Sequence[Agent]) -> None:
    seat = fleet.seat(host)
    if hosts.far(seat.host):
        session.prepare(seat)  # nothing is meant that can't be done
    those = [_meant(fleet, agent, "stopped") for agent in agents]
    for agent in those:
        session.keep_scrollback(seat, agent)
    session.end(seat, [agent.id for agent in those])
    for agent in agents:
        fleet.event(agent, "stopped")


def _meant(fleet: Fleet, agent: Agent, intent: str) -> Agent:
    with fleet.registry.locked(agent.id):
        current = fleet.registry.get(agent.id)
        if current.intent in ("creating", "destroying"):
            raise Refused(f"`{current.name}` is half-made", hint="`muster gc` finishes what was cut short")
        if current.intent == intent:
            return current
        return fleet.registry.save(msgspec.structs.replace(current, intent=intent, changed=now()))


def start(fleet: Fleet, agents: Sequence[Agent]) -> list[Agent]:
    """Start those whose program does not run, and give them what was said meanwhile."""
    for _, result in fan.out(lambda agent: _start(fleet, agent), agents, AT_ONCE):
        if isinstance(result, Exception):
            raise result
    return fleet.agents([agent.id for agent in agents])


def _start(fleet: Fleet, agent: Agent) -> None:
    from muster.fleet.deliver import flush

    seat, registry = fleet.awake(agent.host), fleet.registry
    with registry.locked(agent.id):
        agent = registry.get(agent.id)
        if agent.intent in ("creating", "destroying"):
            raise Refused(f"`{agent.name}` is half-made", hint="`muster gc` finishes what was cut short")
        if agent.moving is not None:
            from muster.fleet.migrate import finish

            agent = finish(fleet, agent)
            seat = fleet.seat(agent.host)
        if session.alive(seat, agent.id):
            if agent.intent == "stopped":
                registry.save(msgspec.structs.replace(agent, intent="started", changed=now(), archived=False))
        else:
            begin_again(fleet, agent)
            fleet.event(agent, "started")
        if registry.messages(agent.id, "stored", "sending"):
            flush(fleet, registry.get(agent.id))


def begin_again(fleet: Fleet, agent: Agent) -> Agent:
    """A new life for an agent that is locked by us, with its conversation where its type can."""
    seat, kind = fleet.seat(agent.host), agent_type(agent.type)
    session.prepare(seat, fleet.config().connect.tmux_config)
    session.keep_scrollback(seat, agent)
    session.end(seat, [agent.id])
    order = Order(
        args=agent.args,
        folder=seat.folder(agent.id),
        workspace=agent.workspace.path,
        resume=kind.resumable,
        remote=hosts.far(seat.host),
        permissions=agent.permissions,
        adopt=agent.adopted,
    )
    session.begin(seat, agent, kind, order)
    return fleet.registry.save(msgspec.structs.replace(agent, intent="started", changed=now(), archived=False))


def archive(fleet: Fleet, agents: Sequence[Agent], *, undo: bool = False) -> list[Agent]:
    """Out of the listings, or back into them; what is archived does not run."""
    if not undo:
        stop(fleet, agents)
    for agent in agents:
        with fleet.registry.locked(agent.id):
            current = fleet.registry.get(agent.id)
            fleet.registry.save(msgspec.structs.replace(current, archived=not undo))
        fleet.event(agent, "unarchived" if undo else "archived")
    return fleet.agents([agent.id for agent in agents])


def rename(fleet: Fleet, agent: Agent, name: str) -> Agent:
    """Another name; the branch keeps its own, others may have seen it."""
    names.check(name)
    with fleet.registry.locked(agent.id):
        current = fleet.registry.get(agent.id)
        other = fleet.registry.find(name)
        if other and other.id != agent.id:
            raise Exists(f"there is an agent `{name}` already")
        renamed = fleet.registry.save(msgspec.structs.replace(current, name=name))
        seat = fleet.seat(agent.host)
        session.record(seat, renamed)
        seat.server.run("set-option", "-t", tmux.session(agent.id), "@muster_name", name, check=False)
        env = f"{seat.folder(agent.id)}/env"
        if text := hosts.read(seat.host, env):
            lines = [line for line in text.splitlines() if not line.startswith(b"export MUSTER_AGENT=")]
            hosts.write(seat.host, {env: b"\n".join([*lines, f"export MUSTER_AGENT={name}".encode(), b""])})
    fleet.event(renamed, "renamed", f"{current.name} to {name}")
    return fleet.agent(agent.id)


def label(fleet: Fleet, agents: Sequence[Agent], labels: Mapping[str, str | None]) -> list[Agent]:
    """Set labels, or take away those set to None."""
    for agent in agents:
        with fleet.registry.locked(agent.id):
            current = fleet.registry.get(agent.id)
            if missing := [key for key, value in labels.items() if value is None and key not in current.labels]:
                hint = names.nearest(missing[0], current.labels, "label")
                raise NotFound(f"`{current.name}` has no label `{missing[0]}`", hint=hint)
            merged = {key: value for key, value in {**current.labels, **labels}.items() if value is not None}
            session.record(fleet.seat(agent.host), fleet.registry.save(msgspec.structs.replace(current, labels=merged)))
        fleet.event(agent, "labelled")
    return fleet.agents([agent.id for agent in agents])
