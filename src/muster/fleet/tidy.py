"""Clearing up: finish what crashes left half-done, expire the attic, remove what belongs to nobody."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from muster.agents import Agent, session
from muster.core import proc
from muster.errors import HostError, NotFound
from muster.fleet import keep, lodging
from muster.fleet.destroy import finish
from muster.fleet.registry import now

if TYPE_CHECKING:
    from muster.fleet import Fleet


def finish_all(fleet: Fleet, half_done: list[Agent]) -> list[str]:
    """Undo or finish these creates and destroys, if their process is gone."""
    done = []
    for agent in half_done:
        with fleet.registry.locked(agent.id, wait=False) as free:
            if free and (again := fleet.registry.find(agent.id)) and again.intent == agent.intent:
                try:
                    finish(fleet, agent.id)
                except (HostError, NotFound) as error:
                    if agent.host == "local":
                        raise
                    # A host that can't be reached now must not keep anybody from working elsewhere.
                    done.append(f"left `{agent.name}` half-done: {error}")
                    continue
                word = "undid the creation" if agent.intent == "creating" else "finished the destruction"
                done.append(f"{word} of `{agent.name}`")
    return done


def gc(fleet: Fleet, days: float | None = None) -> list[str]:
    """What was done, a line each."""
    done = finish_all(fleet, fleet.registry.half_done())
    done += _moves(fleet)
    limit = fleet.config().attic.days if days is None else days
    for kept in keep.kept(fleet, "attic"):
        if now() - kept.at >= limit * 86_400:
            keep.expire(fleet, kept)
            done.append(f"expired `{kept.agent.name}` from the attic")
    done += lodging.leftovers(fleet)
    done += _snapshots(fleet)
    done += _sessions(fleet)
    done += _folders(fleet)
    _locks(fleet)
    return done


def _moves(fleet: Fleet) -> list[str]:
    """Of a move that was cut short, the end that the agent doesn't live at."""
    from muster.fleet import migrate

    done = []
    for agent in fleet.known():
        if agent.moving is None:
            continue
        with fleet.registry.locked(agent.id, wait=False) as free:
            if free and (again := fleet.registry.find(agent.id)) and again.moving:
                try:
                    migrate.finish(fleet, again)
                    done.append(f"cleared away what a move of `{agent.name}` left on `{again.moving.host}`")
                except (HostError, NotFound) as error:
                    done.append(f"left what a move of `{agent.name}` began: {error}")
    return done


def _known(fleet: Fleet) -> set[str]:
    """To be asked after a listing: what is not known then is nobody's, as a create takes its name first."""
    return {agent.id for agent in fleet.known()}


def _locks(fleet: Fleet) -> None:
    """Empty files that a destroy which was killed left; they lock nothing."""
    names = {name.split(".")[0] for name in _names(f"{fleet.home}/locks") if not name.startswith("host-")}
    for name in names - _known(fleet):
        with fleet.registry.locked(name, wait=False) as free:
            if free and not fleet.registry.find(name):
                fleet.registry.forget(name)


def _snapshots(fleet: Fleet) -> list[str]:
    done = []
    for whose in {os.path.basename(folder).partition("-")[0] for folder in keep.half_made(fleet)}:
        with fleet.registry.locked(whose, wait=False) as free:
            if free and keep.clear_half_made(fleet, whose):
                done.append("removed a snapshot that was cut short")
    return done


def _sessions(fleet: Fleet) -> list[str]:
    seat = fleet.seat("local")
    listing = seat.server.run("list-sessions", "-F", "#{session_name}", check=False).text.split()
    known = _known(fleet)
    # A folder with a record is an agent that this registry has lost; it is left for somebody to look at.
    ghosts = [name for name in listing if name not in known and not os.path.exists(f"{seat.folder(name)}/record.json")]
    if ghosts:
        session.prepare(seat)
        session.end(seat, ghosts)
    return [f"ended the session `{name}`, which belonged to no agent" for name in ghosts]


def _folders(fleet: Fleet) -> list[str]:
    """Leftovers of agents that nobody knows; what has anything in it is never removed unseen."""
    done = []
    seat = fleet.seat("local")
    folders, works = _names(f"{seat.root}/agents"), _names(f"{seat.root}/work")
    known = _known(fleet)
    for name in folders:
        path = f"{seat.root}/agents/{name}"
        if name.split(".")[0] in known:
            continue
        if os.path.exists(f"{path}/record.json"):
            done.append(f"left `{path}`: the record of an agent that is not in the registry")
        else:
            proc.run(seat.host, ["rm", "-rf", path])
            done.append(f"removed the folder `{path}`, which belonged to no agent")
    for name in works:
        if name not in known:
            path = f"{seat.root}/work/{name}"
            if not os.listdir(path):
                os.rmdir(path)
                done.append(f"removed the empty workspace `{path}`")
            else:
                done.append(f"left the workspace `{path}`: it belongs to no agent, look before you remove it")
    return done


def _names(folder: str) -> list[str]:
    return sorted(os.listdir(folder)) if os.path.isdir(folder) else []
