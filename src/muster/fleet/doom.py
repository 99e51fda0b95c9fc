"""What a destroy would do, found out without doing any of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from muster import hosts
from muster.agents import Agent, Workspace
from muster.agents.session import Seat
from muster.core import git, proc

if TYPE_CHECKING:
    from muster.fleet import Fleet


class Doom(Struct, frozen=True):
    """What of one agent would be removed, and what would be kept in the attic."""

    agent: str
    name: str
    processes: tuple[str, ...]  # `PID COMMAND`
    folders: tuple[str, ...]
    branch: str  # of the source repository; empty: none
    commits: int  # kept: those that are on no other branch
    files: tuple[str, ...]  # kept: uncommitted ones


def doom(fleet: Fleet, agents: Sequence[Agent], *, branch: bool = False) -> list[Doom]:
    """Of each of these agents."""
    return [_doom(fleet.seat(agent.host), agent, branch) for agent in agents]


def _doom(seat: Seat, agent: Agent, branch: bool) -> Doom:
    place = agent.workspace
    here = hosts.is_folder(seat.host, place.path) and place.mode != "in-place"
    ours = here and hosts.exists(seat.host, f"{place.path}/.git")
    folders = [seat.folder(agent.id), *([place.path] if here else [])]
    tip = _tip(seat, agent) if place.mode == "worktree" and hosts.is_folder(seat.host, _repository(place)) else ""
    goes = bool(tip) and (branch or tip == place.base)
    return Doom(
        agent.id,
        agent.name,
        processes=_processes(seat, agent),
        folders=tuple(folder for folder in folders if hosts.is_folder(seat.host, folder)),
        branch=place.branch if goes else "",
        commits=_commits(seat, agent),
        files=git.status(seat.host, place.path).dirty if ours else (),
    )


def _processes(seat: Seat, agent: Agent) -> tuple[str, ...]:
    panes = seat.server.run("list-panes", "-s", "-t", f"={agent.id}", "-F", "#{pane_pid}", check=False).text.split()
    script = 'for pid in $(sh "$@"); do ps -o pid= -o args= -p "$pid"; done'
    listing = proc.run(seat.host, ["sh", "-c", script, "sh", *seat.script("tree", *panes)[1:]]).text if panes else ""
    return tuple(" ".join(line.split()) for line in listing.splitlines())


def _repository(place: Workspace) -> str:
    """That which its branch is in."""
    return place.mirror or place.source


def _tip(seat: Seat, agent: Agent) -> str:
    return git.commit_of(seat.host, _repository(agent.workspace), f"refs/heads/{agent.workspace.branch}")


def _commits(seat: Seat, agent: Agent) -> int:
    place = agent.workspace
    if place.mode not in ("worktree", "clone") or not hosts.is_folder(seat.host, place.path) or not place.base:
        return 0
    others = ["--not", place.base, f"--exclude={place.branch}", "--branches", "--remotes"]
    result = git.run(seat.host, place.path, "rev-list", "--count", "HEAD", *others, check=False)
    return int(result.text) if result.code == 0 else 0
