"""Migrate: an agent goes on elsewhere, with its work and its conversation; name, id and branch stay."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from muster import hosts
from muster.agents import Agent, Moving, Workspace, agent_type, session, workspace
from muster.agents.session import Seat
from muster.core import names
from muster.errors import HostError, Refused
from muster.fleet import Kept, again
from muster.fleet.create import left, permitted, placed, set_up
from muster.fleet.deliver import flush
from muster.fleet.keep import clear_half_made, keep
from muster.fleet.lifecycle import begin_again
from muster.fleet.records import Task
from muster.fleet.registry import now

if TYPE_CHECKING:
    from muster.fleet import Fleet


def migrate(fleet: Fleet, agent: Agent, address: str) -> Agent:
    """Stop it, bring what it has to the other host, and start it there if it ran."""
    to = names.Address.parse(address if "@" in address else f"@{address}")
    if to.name:
        raise Refused(f"a migrated agent keeps its name `{agent.name}`", hint=f"`muster migrate {agent.name} @HOST`")
    with fleet.registry.locked(agent.id):
        agent = finish(fleet, fleet.registry.get(agent.id))
        if agent.intent not in ("started", "stopped"):
            raise Refused(f"`{agent.name}` is half-made", hint="`muster gc` finishes what was cut short")
        if agent.workspace.mode == "in-place":
            raise Refused(
                f"`{agent.name}` works in a folder of yours, which stays where it is",
                hint=f"`muster clone` or `create --mode copy` makes one elsewhere: `{agent.workspace.path}`",
            )
        if to.host != agent.host or to.provider:
            with placed(fleet, to, agent.name, {}) as seat:
                if seat.host.name != agent.host:
                    agent = _move(fleet, agent, seat)
    return fleet.agent(agent.id)


def finish(fleet: Fleet, agent: Agent) -> Agent:
    """Take away what is at the other end of a move that was cut short, before or after its turning point."""
    if agent.moving is None:
        return agent
    other, runs = agent.moving, agent.moving.runs
    seat = fleet.seat(other.host)
    away = msgspec.structs.replace(agent, host=other.host, workspace=other.workspace)
    if hosts.is_folder(seat.host, seat.folder(agent.id)):
        session.prepare(seat)
        session.end(seat, [agent.id])
        if hosts.far(seat.host):
            session.clear(seat, agent.id)
    _unmake(seat, other.workspace, other.arrived)
    hosts.remove(seat.host, seat.folder(agent.id))
    clear_half_made(fleet, agent.id)
    left(fleet, away)
    if runs and not session.alive(fleet.seat(agent.host), agent.id):
        agent = begin_again(fleet, agent)
        fleet.event(agent, "started")
    agent = fleet.registry.save(msgspec.structs.replace(agent, moving=None, intent="started" if runs else agent.intent))
    if runs:
        flush(fleet, agent)
    return agent


def _move(fleet: Fleet, agent: Agent, seat: Seat) -> Agent:
    kind, source = agent_type(agent.type), agent.workspace.source
    permitted(seat, kind, Task(permissions=agent.permissions))
    session.prepare(fleet.seat(agent.host))  # before anything is stopped: can it be reached at all?
    session.prepare(seat)
    place = Workspace(agent.workspace.mode, seat.work(agent.id), source, agent.workspace.branch, another=True)
    runs = agent.intent == "started" and session.alive(fleet.seat(agent.host), agent.id)
    # From here on, whoever finds it half-done clears the other end away, and starts it again.
    moving = Moving(seat.host.name, place, runs)
    agent = fleet.registry.save(msgspec.structs.replace(agent, moving=moving, intent="stopped", changed=now()))
    try:
        record = _kept(fleet, agent)
        made = _arrive(fleet, agent, moving, record, seat)
    except BaseException:
        try:
            finish(fleet, fleet.registry.get(agent.id))
        except HostError:
            pass  # the other end is cleared away when it answers; why it could not be gone to is the answer
        raise
    # The turning point: now it lives there, and what is left here is what is to be cleared away.
    behind = Moving(agent.host, agent.workspace, runs, arrived=True)
    changes = {"host": seat.host.name, "workspace": made.workspace, "moving": behind, "changed": now()}
    agent = fleet.registry.save(msgspec.structs.replace(agent, **changes))
    session.record(seat, agent)
    fleet.event(agent, "migrated", f"{behind.host} to {agent.host}")
    return finish(fleet, agent)


def _kept(fleet: Fleet, agent: Agent) -> Kept:
    """All of it on this machine for a while, as nobody's snapshot."""
    seat = fleet.seat(agent.host)
    session.keep_scrollback(seat, agent)
    session.end(seat, [agent.id])
    clear_half_made(fleet, agent.id)
    record = keep(fleet, agent, "snapshot", f"{agent.id}-move", lasting=False)
    if agent.workspace.mode in ("worktree", "clone") and not record.head:
        raise Refused(f"the workspace of `{agent.name}` is not a checkout of its repository any more")
    return record


def _arrive(fleet: Fleet, agent: Agent, moving: Moving, record: Kept, seat: Seat) -> Agent:
    """A workspace and a folder there, with what was kept."""
    from muster.agents import mirror

    here = fleet.seat("local")
    again.check_inner(record, f"@{seat.host.name}")
    place = msgspec.structs.replace(moving.workspace, base=record.tip or record.head)
    if hosts.far(seat.host) and place.mode != "copy":
        place = msgspec.structs.replace(place, mirror=mirror.place(seat, place.source))
    fleet.registry.save(msgspec.structs.replace(agent, moving=msgspec.structs.replace(moving, workspace=place)))
    carried = record.work if record.head == record.tip else ""
    inner = "nested.tar" not in record.tars
    new = msgspec.structs.replace(agent, host=seat.host.name, workspace=place, moving=None)
    session.furnish(seat, new, {})
    with again.branch_lent(fleet, f"@{seat.host.name}", record, place.branch):
        if hosts.far(seat.host):
            put = (*agent.share, *agent.put)
            place = mirror.make(here, seat, place, place.source, carried=carried, put=put, inner=inner)
        else:
            place = workspace.make(seat.host, place, carried=carried, share=agent.share, put=agent.put, inner=inner)
    # Where its work began stays where it was.
    new = msgspec.structs.replace(new, workspace=msgspec.structs.replace(place, base=agent.workspace.base))
    again.unpack(fleet, record, new)
    if new.setup:
        set_up(fleet, seat, new)
    return new


def _unmake(seat: Seat, place: Workspace, arrived: bool) -> None:
    if hosts.far(seat.host):
        from muster.agents import mirror

        mirror.unmake(seat.host, place, undo=not arrived)
        return
    # A branch that it had here stays in the repository, as that of any agent does.
    if not arrived:
        workspace.drop_if_unused(seat.host, place)
    workspace.unmake(seat.host, place)
