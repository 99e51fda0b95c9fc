"""Destroy: keep what exists nowhere else, then remove the rest; every step may be done again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from muster import hosts
from muster.agents import Agent, session, workspace
from muster.agents.session import Seat
from muster.core import fan
from muster.errors import Unreachable
from muster.fleet import Kept
from muster.fleet.create import left, undo
from muster.fleet.keep import keep
from muster.fleet.registry import now

if TYPE_CHECKING:
    from muster.fleet import Fleet

AT_ONCE = 8


def destroy(fleet: Fleet, agents: Sequence[Agent], *, branch: bool = False) -> list[Kept]:
    """Remove these agents; what was kept of each."""
    for host in {agent.host for agent in agents}:
        _in_reach(fleet, host)
    meant = [_meant(fleet, agent, branch) for agent in agents]
    # One process ends all their programs; each agent's own removal finds nothing left to end.
    for host in {agent.host for agent in meant}:
        seat = fleet.seat(host)
        for agent in meant:
            if agent.host == host:
                session.keep_scrollback(seat, agent)
        if not hosts.far(seat.host):  # where it was done to see whether it is in reach
            session.prepare(seat)
        session.end(seat, [agent.id for agent in meant if agent.host == host])
    kept, first = [], None
    for _, result in fan.out(lambda agent: _destroy(fleet, agent), meant, AT_ONCE):
        if isinstance(result, Exception):
            first = first or result
        elif result:
            kept.append(result)
    if first:
        raise first
    return kept


def _in_reach(fleet: Fleet, host: str) -> None:
    """Refuse before anything is begun: what is there, and nowhere else, has to be brought home first."""
    if not hosts.far(fleet.seat(host).host):
        return
    try:
        session.prepare(fleet.awake(host))
    except Unreachable as error:
        hint = "what its agents have done is there and has to be kept first; try again when it answers"
        raise Unreachable(f"nothing was destroyed: {error}", hint=error.hint or hint) from error


def _meant(fleet: Fleet, agent: Agent, branch: bool) -> Agent:
    with fleet.registry.locked(agent.id):
        current = fleet.registry.find(agent.id)
        if current is None or current.intent in ("creating", "destroying"):
            return current or agent
        if current.moving is not None:
            from muster.fleet.migrate import finish

            current = finish(
                fleet, msgspec.structs.replace(current, moving=msgspec.structs.replace(current.moving, runs=False))
            )
        # What it was before is needed to bring it back.
        meant = msgspec.structs.replace(current, intent="destroying", changed=now(), branch_goes=branch)
        return fleet.registry.save(meant)


def _destroy(fleet: Fleet, agent: Agent) -> Kept | None:
    with fleet.registry.locked(agent.id):
        return finish(fleet, agent.id, ended=True)


def finish(fleet: Fleet, identity: str, *, ended: bool = False) -> Kept | None:
    """Bring a destruction to its end, or undo a creation that was cut short; the agent is locked by us."""
    agent = fleet.registry.find(identity)
    if agent is None:
        return None  # another process was quicker
    if agent.intent == "creating":
        undo(fleet, agent)
        return None
    seat = fleet.seat(agent.host)
    if not ended:
        session.prepare(seat)
        session.end(seat, [agent.id])
        if hosts.far(seat.host):
            session.clear(seat, agent.id)
    # The moment it was meant to go makes it this destruction's own, and the same when it is finished later.
    kept = keep(fleet, agent, "attic", f"{agent.id}-{int(agent.changed)}")
    # A branch that nothing was ever committed to says nothing to anybody.
    goes = agent.branch_goes or kept.tip == agent.workspace.base
    if hosts.far(seat.host):
        _far_away(fleet, seat, agent, "" if goes else kept.tip)
    else:
        workspace.unmake(seat.host, agent.workspace)
        if goes:
            workspace.drop_branch(seat.host, agent.workspace)
    hosts.remove(seat.host, seat.folder(agent.id))
    fleet.registry.forget(agent.id)
    # Who follows looks again at this word, and must not find it any more.
    fleet.event(agent, "destroyed")
    left(fleet, agent)
    return kept


def _far_away(fleet: Fleet, seat: Seat, agent: Agent, tip: str) -> None:
    """Its branch comes home, as that of an agent of this machine stays; there it would be seen by nobody."""
    from muster.agents import mirror
    from muster.fleet.transfer import side_branch

    place = agent.workspace
    if tip and place.mode == "worktree":
        side_branch(fleet.seat("local").host, place.source, place.branch, tip)
    mirror.unmake(seat.host, place)
