"""Work that lies on another host, brought into its repository on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from muster import hosts
from muster.agents import Agent
from muster.agents.session import Seat
from muster.agents.workspace import Source
from muster.core import git
from muster.core.proc import Prefix
from muster.errors import CommandFailed, Lost, Refused

if TYPE_CHECKING:
    from muster.fleet import Fleet, Task


def source(fleet: Fleet, agent: Agent, task: Task) -> Source:
    """What an agent elsewhere has, as something that a workspace can be made from."""
    seat, here, place = fleet.seat(agent.host), fleet.seat("local").host, agent.workspace
    if not {place.mode, task.mode} <= {"worktree", "clone"}:
        hint = f"`muster clone {agent.name}` makes one like it, `muster pull {agent.name} PATH` brings files"
        raise Refused(f"`{agent.name}` works on `{agent.host}`, and only its commits can be had from there", hint=hint)
    status = git.status(seat.host, place.path)
    work = uncommitted(seat, agent, status.commit) if status.dirty and task.dirty == "carry" else ""
    bring(here, place.source, seat, place.path, work or status.commit)
    return Source(place.source, True, status.commit, status.branch, status.dirty, tree=work, agent=agent.id)


def uncommitted(seat: Seat, agent: Agent, head: str) -> str:
    """Its files as they are, as a commit that is on no branch."""
    tree = git.tree(seat.host, agent.workspace.path, f"{seat.folder(agent.id)}.index")
    parents = [head] if head else []
    return git.commit_tree(seat.host, agent.workspace.path, tree, parents, f"Uncommitted files of {agent.name}")


def bring(here: Prefix, folder: str, seat: Seat, source: str, *refspecs: str) -> None:
    """Commits of a repository there; that it failed elsewhere is never taken for a broken checkout."""
    try:
        git.fetch(here, folder, seat.host, source, *refspecs)
    except CommandFailed as error:
        if not hosts.far(seat.host):
            raise
        raise Lost(
            f"the commits could not be brought from {seat.host.name}: {error}", hint="nothing was removed"
        ) from error
