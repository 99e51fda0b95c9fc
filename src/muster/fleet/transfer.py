"""Pull and push: commits by fast-forward or not at all, files as a tar through the host's prefix."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from muster import hosts
from muster.agents import Agent, Workspace
from muster.agents.session import Seat
from muster.core import git, proc
from muster.core.proc import Prefix
from muster.errors import CommandFailed, NotFound, Refused, UsageError
from muster.fleet import Transfer
from muster.fleet.home import bring
from muster.hosts import Host

if TYPE_CHECKING:
    from muster.fleet import Fleet


def pull(fleet: Fleet, agent: Agent, paths: Sequence[str], *, into: str = ".", force: bool = False) -> Transfer:
    """Its commits to the repository here, or its files to a folder here."""
    seat, here = fleet.seat(agent.host), fleet.seat("local").host
    place = seat.host
    if paths:
        moved = _files(place, agent.workspace.path, here, os.path.realpath(into), paths, force)
        fleet.event(agent, "pulled", ", ".join(moved))
        return Transfer(agent.id, agent.name, "files", files=moved)
    top = _repository(here, agent, into)
    theirs = git.status(place, agent.workspace.path)
    _bring(here, seat, top, agent.workspace.path, theirs.commit)
    branch = agent.workspace.branch or f"muster/{agent.name}"
    answer = _advance(here, top, theirs.commit, agent, lambda: side_branch(here, top, branch, theirs.commit))
    fleet.event(agent, "pulled", f"{answer.status} {answer.branch}")
    return msgspec.structs.replace(answer, left=theirs.dirty)


def fetch(fleet: Fleet, agent: Agent, reference: str) -> Transfer:
    """What it has checked out, or its branch where it has lost its checkout, under that reference in its repository."""
    seat, here, work = fleet.seat(agent.host), fleet.seat("local").host, agent.workspace
    if work.mode not in ("worktree", "clone"):
        raise UsageError(f"`{agent.name}` works {work.mode}, so it has no commits of its own to move")
    # Elsewhere the branch is the mirror's, or a clone's own.
    beside = work.source if not hosts.far(seat.host) else work.mirror if work.mode == "worktree" else work.path
    if not work.source:
        raise NotFound(f"`{agent.name}` was made on another computer, and its repository is there")
    found = git.Status(git.commit_of(seat.host, beside, f"refs/heads/{work.branch}"), work.branch, ())
    if hosts.exists(seat.host, f"{work.path}/.git") and (now := _status(seat.host, work.path)):
        found, beside = now, work.path
    if found.commit:
        _bring(here, seat, work.source, beside, found.commit)
    else:
        raise NotFound(f"`{agent.name}` has neither a checkout nor a branch any more")
    git.run(here, work.source, "update-ref", reference, found.commit)
    return Transfer(agent.id, agent.name, "reference", branch=reference, commit=found.commit, left=found.dirty)


def _status(place: Prefix, folder: str) -> git.Status | None:
    try:
        found = git.status(place, folder)
    except CommandFailed:
        return None  # a checkout that its agent broke
    return found if found.commit else None


def artifacts(fleet: Fleet, agent: Agent, into: str) -> Transfer:
    """What it put into $MUSTER_ARTIFACTS."""
    seat = fleet.seat(agent.host)
    here = fleet.seat("local").host
    moved = _files(seat.host, f"{seat.folder(agent.id)}/artifacts", here, os.path.realpath(into), ["."], True)
    return Transfer(agent.id, agent.name, "files", files=tuple(name for name in moved if name != ".keep"))


def push(fleet: Fleet, agent: Agent, paths: Sequence[str], *, into: str = "", force: bool = False) -> Transfer:
    """The commits checked out here to its branch, or files from here to its workspace."""
    seat, here = fleet.seat(agent.host), fleet.seat("local").host
    place = seat.host
    if paths:
        target = os.path.normpath(os.path.join(agent.workspace.path, into))
        if os.path.commonpath([target, agent.workspace.path]) != agent.workspace.path:
            raise UsageError(f"`{into}` is outside the workspace of `{agent.name}`")
        moved = _files(here, os.getcwd(), place, target, paths, force)
        fleet.event(agent, "pushed", ", ".join(moved))
        return Transfer(agent.id, agent.name, "files", files=moved)
    top, work = _repository(here, agent, "."), agent.workspace.path
    ours = git.status(here, top)
    _give(seat, here, agent.workspace, top, ours.commit)
    branch = ours.branch or "HEAD"
    # A worktree sees the branches here as they are, and a mirror mostly; a clone is given one to look at.
    shared = agent.workspace.mode == "worktree" and git.commit_of(place, work, f"refs/heads/{branch}") == ours.commit
    answer = _advance(
        place,
        work,
        ours.commit,
        agent,
        lambda: branch if shared else side_branch(place, work, f"from/{branch}", ours.commit),
    )
    fleet.event(agent, "pushed", f"{answer.status} {answer.branch}")
    return msgspec.structs.replace(answer, left=ours.dirty)


def _repository(here: Prefix, agent: Agent, folder: str) -> str:
    """The checkout here, which must be of the repository that the agent works on."""
    if agent.workspace.mode not in ("worktree", "clone"):
        hint = f"`muster pull {agent.name} PATH...` brings files"
        raise UsageError(
            f"`{agent.name}` works {agent.workspace.mode}, so it has no commits of its own to move", hint=hint
        )
    top = git.top(folder)
    if not top or not _same_repository(here, agent.workspace, top):
        hint = f"its repository is `{agent.workspace.source}`" if agent.workspace.source else ""
        raise UsageError(f"this folder is not in the repository that `{agent.name}` works on", hint=hint)
    if os.path.realpath(top) == os.path.realpath(agent.workspace.path):
        raise UsageError(
            f"this folder is the workspace of `{agent.name}` itself",
            hint=f"its repository is `{agent.workspace.source}`",
        )
    return top


def _same_repository(here: Prefix, place: Workspace, top: str) -> bool:
    """Of an agent that another computer made, nothing is known but where it began."""
    if not place.source:
        return bool(git.commit_of(here, top, place.base))
    return git.common(top) == git.common(place.source)


def _bring(here: Prefix, seat: Seat, folder: str, source: str, commit: str) -> None:
    """The objects of a commit that lies there, if this machine's repository lacks them."""
    if not commit:
        raise UsageError(f"`{source}` has no commit yet")
    if not git.commit_of(here, folder, commit):
        bring(here, folder, seat, source, commit)


def _give(seat: Seat, here: Prefix, place: Workspace, source: str, commit: str) -> None:
    """The other way round."""
    folder = place.path
    if not commit:
        raise UsageError(f"`{source}` has no commit yet")
    if git.commit_of(seat.host, folder, commit):
        return
    if hosts.far(seat.host):
        from muster.agents import mirror

        mirror.give(here, source, seat.host, place, commit)
    else:
        git.fetch(here, folder, here, source, commit)


def _advance(place: Prefix, folder: str, commit: str, agent: Agent, side: Callable[[], str]) -> Transfer:
    """Fast-forward what is checked out there; where that would take a merge, name a branch to look at instead."""
    status = git.status(place, folder)
    branch = status.branch or "HEAD"
    if commit == status.commit or (status.commit and git.ancestor(place, folder, commit, status.commit)):
        return Transfer(agent.id, agent.name, "up-to-date", branch=branch)
    if not git.ancestor(place, folder, status.commit, commit):
        return Transfer(agent.id, agent.name, "branch", branch=side())
    count = int(git.text(place, folder, "rev-list", "--count", f"{status.commit}..{commit}"))
    result = git.run(place, folder, "merge", "--ff-only", "--quiet", commit, check=False)
    if result.code:
        said = result.err.decode(errors="replace").strip()
        hint = "commit or move the files it names, then again"
        raise CommandFailed(f"git would not fast-forward `{folder}`: {said}", hint=hint)
    return Transfer(agent.id, agent.name, "fast-forward", branch=branch, commits=count)


def side_branch(place: Prefix, folder: str, branch: str, commit: str) -> str:
    """A branch to look at; one that is checked out or holds something else keeps it."""
    existing = git.commit_of(place, folder, f"refs/heads/{branch}")
    if existing == commit:
        return branch
    if existing and not git.ancestor(place, folder, existing, commit):
        branch = f"{branch}-{commit[:8]}"
    git.run(place, folder, "update-ref", f"refs/heads/{branch}", commit)
    return branch


def _files(source: Host, folder: str, target: Host, into: str, paths: Sequence[str], force: bool) -> tuple[str, ...]:
    """Copy these paths, given from `folder`, to the same paths below `into`."""
    wanted = [_inside(source, folder, path) for path in paths]
    listing = proc.run(
        source, ["sh", "-c", 'cd "$1" && shift && find "$@" ! -type d -print0', "sh", folder, *wanted]
    ).out
    found = {name.decode(errors="surrogateescape").removeprefix("./") for name in listing.split(b"\0") if name}
    files = tuple(sorted(found))
    if not force:
        _keep(source, folder, target, into, files)
    if hosts.far(source) or hosts.far(target):
        from muster.hosts import elsewhere

        elsewhere.copy(source, folder, wanted, target, into)
    else:
        tar = proc.run(source, ["tar", "-C", folder, "-cf", "-", "--", *wanted]).out
        os.makedirs(into, exist_ok=True)
        proc.run(target, ["tar", "-C", into, "-xf", "-"], stdin=tar)
    return files


def _inside(place: Host, folder: str, path: str) -> str:
    clean = os.path.normpath(path)
    if os.path.isabs(clean) or clean.split(os.sep)[0] == "..":
        raise UsageError(f"`{path}` is not a path inside `{folder}`", hint="give it from the top of the workspace")
    if not hosts.exists(place, os.path.join(folder, clean)):
        raise NotFound(f"there is no `{path}` in `{folder}`")
    # `--` is not enough for `find`: a name that begins with a dash must not be read as a test.
    return clean if clean == "." else f"./{clean}"


def _keep(source: Host, folder: str, target: Host, into: str, files: Sequence[str]) -> None:
    """Refuse to overwrite a file that differs."""
    if hosts.far(source) or hosts.far(target):
        from muster.hosts import elsewhere

        differing = elsewhere.differing(source, folder, target, into, files)
    else:
        differing = [name for name in files if _differ(os.path.join(into, name), os.path.join(folder, name))]
    if differing:
        hint = "`--force` overwrites it, `--to DIR` puts the files elsewhere"
        raise Refused(f"`{os.path.join(into, differing[0])}` exists and differs", hint=hint)


def _differ(ours: str, theirs: str) -> bool:
    return os.path.lexists(ours) and not _same(ours, theirs)


def _same(one: str, other: str) -> bool:
    from filecmp import cmp

    if os.path.islink(one) or os.path.islink(other):
        return os.path.islink(one) and os.path.islink(other) and os.readlink(one) == os.readlink(other)
    return os.path.isfile(one) and os.path.isfile(other) and cmp(one, other, shallow=False)
