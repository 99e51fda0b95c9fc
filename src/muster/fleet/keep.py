"""Keeping an agent as it is: the attic and snapshots."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from muster import hosts
from muster.agents import Agent
from muster.agents.session import Seat
from muster.core import git, names, paths, proc, wire
from muster.core.proc import Prefix
from muster.errors import CommandFailed, MusterError, NotFound, Refused
from muster.fleet import Kept
from muster.fleet.home import bring, uncommitted
from muster.fleet.look import known_type
from muster.fleet.registry import now

if TYPE_CHECKING:
    from muster.fleet import Fleet

# The folder there may lie behind a link.
_OURS = """
at() { (cd "$1" 2>/dev/null && pwd -P); }
cd "$1" && [ "$(git rev-parse --show-toplevel)" = "$(pwd -P)" ] &&
  [ "$(at "$(git rev-parse --git-common-dir)")" = "$(at "$2")" ]
"""
FOLDERS = {"attic": "attic", "snapshot": "snapshots"}
_decoder = wire.decoder(Kept)


def keep(
    fleet: Fleet,
    agent: Agent,
    kind: Literal["attic", "snapshot"],
    identity: str,
    label: str = "",
    *,
    lasting: bool = True,
) -> Kept:
    """Keep everything of it that exists nowhere else. The record is written last: what has one is whole.

    What is not to last gets none, so that it is taken away like anything half-made.
    """
    seat = fleet.seat(agent.host)
    folder = f"{fleet.home}/{FOLDERS[kind]}/{identity}"
    if done := _read(folder):
        return done
    paths.folder(folder)
    found = Kept(identity, kind, now(), agent, label=label, place=_place(fleet, agent))
    prefix = f"refs/muster/{FOLDERS[kind]}/{agent.name}/{identity}"
    paths.write(f"{folder}/half-made", f"{agent.workspace.source}\0{prefix}".encode())
    _hold_conversation(seat, agent)
    tars = [_tar(seat, os.path.dirname(seat.folder(agent.id)), agent.id, folder, "agent.tar")]
    if agent.workspace.mode != "in-place":
        found, tar = _work(fleet, seat, agent, found, prefix, folder)
        tars.append(tar)
    if agent.workspace.mode == "worktree" and not found.refs:
        found = _branch_only(fleet, seat, agent, found, prefix)
    found = msgspec.structs.replace(found, tars=tuple(tar for tar in tars if tar))
    if lasting:
        paths.write(f"{folder}/kept.json", msgspec.json.encode(found))
    return found


def _place(fleet: Fleet, agent: Agent) -> dict[str, Any]:
    """What its host was made from, which may go with it."""
    if agent.host == "local":
        return {}
    from muster.fleet import places

    record = places.recorded(fleet, agent.host)
    described: dict[str, Any] = msgspec.to_builtins(record) if record and record.made else {}
    return described


def _work(fleet: Fleet, seat: Seat, agent: Agent, found: Kept, prefix: str, folder: str) -> tuple[Kept, str]:
    """What is in its workspace: held by git where that can, as a tar where the agent broke its checkout or has none."""
    if is_ours(seat, agent):
        try:
            return _git(fleet, seat, agent, found, prefix), _nested(seat, agent, folder)
        except CommandFailed:
            pass  # a broken index, a file that can't be read: the tar will have what there is
    if not hosts.is_folder(seat.host, agent.workspace.path):
        return found, ""
    if hosts.far(seat.host) and agent.workspace.mode == "worktree" and not has_source(agent):
        _bundle(seat, agent, folder)
    return found, _tar(seat, os.path.dirname(agent.workspace.path), agent.id, folder, "work.tar")


def has_source(agent: Agent) -> bool:
    """Whether its repository is on this machine: one that another computer made has its own there."""
    return bool(agent.workspace.source) and os.path.isdir(agent.workspace.source)


def is_ours(seat: Seat, agent: Agent) -> bool:
    """Whether its workspace still is a checkout of its own, and its repository is there to keep things in."""
    place = agent.workspace
    if not has_source(agent) or not os.path.exists(f"{git.common(place.source)}/HEAD"):
        return False
    if hosts.far(seat.host):
        shared = place.mirror if place.mode == "worktree" else f"{place.path}/.git"
        return proc.run(seat.host, ["sh", "-c", _OURS, "sh", place.path, shared], check=False).code == 0
    if not os.path.exists(f"{place.path}/.git"):
        return False
    if place.mode == "worktree":
        return git.common(place.path) == git.common(place.source)
    return place.mode == "clone" and os.path.exists(f"{place.path}/.git/HEAD")


def _git(fleet: Fleet, seat: Seat, agent: Agent, found: Kept, prefix: str) -> Kept:
    """Commits and uncommitted files, held by references in the source repository."""
    place, host = agent.workspace, seat.host
    status = git.status(host, place.path)
    head, ours = status.commit, status.branch == place.branch
    tip = head if ours else git.commit_of(host, place.path, f"refs/heads/{place.branch}")
    held = {"head": head, "branch": tip}
    if status.dirty:
        held["work"] = uncommitted(seat, agent, head)
    held = {f"{prefix}/{name}": commit for name, commit in held.items() if commit}
    git.run(host, place.path, "update-ref", "--stdin", stdin=_updates(held))
    if place.mode == "clone" or hosts.far(host):
        held = _brought(fleet, seat, agent, prefix, held)
    work = held.get(f"{prefix}/work", "")
    return msgspec.structs.replace(found, head=head, tip=tip or head, work=work, refs=tuple(sorted(held)))


def _brought(fleet: Fleet, seat: Seat, agent: Agent, prefix: str, held: dict[str, str]) -> dict[str, str]:
    """What another repository holds, brought into that of this machine; what the references there are now."""
    here, place = fleet.seat("local").host, agent.workspace
    wanted = [f"+{prefix}/*:{prefix}/*"]
    if place.mode == "clone":
        wanted += [f"+refs/heads/*:{prefix}/heads/*", f"+refs/tags/*:{prefix}/tags/*"]
        if git.commit_of(seat.host, place.path, "refs/stash"):
            wanted.append(f"+refs/stash:{prefix}/stash")
    elif strange := _strangers(fleet, seat, agent):
        wanted += [f"+{name}:{prefix}/{name.removeprefix('refs/')}" for name in strange]
    bring(here, place.source, seat, place.path, *wanted)
    if hosts.far(seat.host):
        _forget_refs(seat.host, place.path, sorted(held))
    return git.refs(here, place.source, prefix)


def _strangers(fleet: Fleet, seat: Seat, agent: Agent) -> list[str]:
    """Branches and stashes that were made there and are nobody's own; the mirror is no place to keep them."""
    from muster.agents import mirror

    others = {f"refs/heads/{one.workspace.branch}" for one in fleet.known() if one.host == agent.host}
    return mirror.strangers(fleet.seat("local").host, seat.host, agent.workspace, others)


def _updates(refs: dict[str, str]) -> bytes:
    return "".join(f"update {name} {commit}\n" for name, commit in refs.items()).encode()


def _branch_only(fleet: Fleet, seat: Seat, agent: Agent, found: Kept, prefix: str) -> Kept:
    """The agent removed or broke its checkout; its branch in the repository still has the commits."""
    here, place = fleet.seat("local").host, agent.workspace
    name = f"refs/heads/{place.branch}"
    if not os.path.isdir(place.source):
        return found
    if hosts.far(seat.host):
        tip = git.commit_of(seat.host, place.mirror, name)
        if tip:
            bring(here, place.source, seat, place.mirror, f"+{name}:{prefix}/branch")
    elif tip := git.commit_of(here, place.source, name):
        git.run(here, place.source, "update-ref", f"{prefix}/branch", tip)
    if not tip:
        return found
    return msgspec.structs.replace(found, head=tip, tip=tip, refs=(f"{prefix}/branch",))


def _hold_conversation(seat: Seat, agent: Agent) -> None:
    """A log that is only linked in the agent's folder is in its program's own, which forgets, and stays on its machine."""
    if log := known_type(agent.type).conversation:
        script = 'cd "$1" && case $(readlink "$2") in /*) [ ! -f "$2" ] || cp "$2" "$2.kept" ;; esac'
        proc.run(seat.host, ["sh", "-c", script, "sh", seat.folder(agent.id), log], check=False)


def _tar(seat: Seat, parent: str, name: str, folder: str, tar: str) -> str:
    if not hosts.is_folder(seat.host, f"{parent}/{name}"):
        return ""
    _pack(seat, parent, [name], f"{folder}/{tar}")
    return tar


def _pack(seat: Seat, parent: str, names: Sequence[str], path: str) -> None:
    if hosts.far(seat.host):
        from muster.hosts import elsewhere

        elsewhere.pack(seat.host, parent, names, path)
        return
    script = 'umask 077; folder=$1 tar=$2; shift 2; exec tar -C "$folder" -cf "$tar" -- "$@"'
    proc.run(seat.host, ["sh", "-c", script, "sh", parent, path, *names])


def _bundle(seat: Seat, agent: Agent, folder: str) -> None:
    """The commits of one that has no repository here to hold them."""
    place, path = agent.workspace, f"{folder}/commits.bundle"
    command = ["git", "-C", place.path, "bundle", "create", "--quiet", "-", "HEAD", f"refs/heads/{place.branch}"]
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        from muster.hosts import elsewhere

        elsewhere.take(seat.host, command, file.fileno())


def _nested(seat: Seat, agent: Agent, folder: str) -> str:
    """Repositories inside the workspace (submodules, clones): git keeps only their commit's id, so they are kept whole."""
    place = agent.workspace
    search = ["find", place.path, "-mindepth", "2", "-name", ".git", "-prune"]
    if not (found := proc.run(seat.host, search, check=False).text):
        return ""
    inner = [os.path.relpath(os.path.dirname(path), place.path) for path in found.splitlines()]
    ignored = git.run(seat.host, place.path, "check-ignore", "--", *inner, check=False).text.splitlines()
    if not (inner := [path for path in inner if path not in ignored]):
        return ""
    gitdir = git.text(seat.host, place.path, "rev-parse", "--absolute-git-dir")
    if hosts.is_folder(seat.host, f"{gitdir}/modules"):
        _pack(seat, gitdir, ["modules"], f"{folder}/modules.tar")
    _pack(seat, place.path, inner, f"{folder}/nested.tar")
    return "nested.tar"


def _read(folder: str) -> Kept | None:
    try:
        with open(f"{folder}/kept.json", "rb") as file:
            return _decoder.decode(file.read())
    except FileNotFoundError:
        return None


def kept(fleet: Fleet, kind: Literal["attic", "snapshot"] | None = None) -> list[Kept]:
    """What is kept, oldest first."""
    found = []
    for one in [kind] if kind else ["attic", "snapshot"]:
        parent = f"{fleet.home}/{FOLDERS[one]}"
        for name in os.listdir(parent) if os.path.isdir(parent) else ():
            if record := _read(f"{parent}/{name}"):
                found.append(record)
    return sorted(found, key=lambda record: record.at)


def size(fleet: Fleet, record: Kept) -> int:
    """Bytes on disk, beside what git holds."""
    folder = f"{fleet.home}/{FOLDERS[record.kind]}/{record.id}"
    return sum(entry.stat().st_size for entry in os.scandir(folder))


def find(fleet: Fleet, name: str, kind: Literal["attic", "snapshot"]) -> Kept:
    """By id, by label, or the latest of an agent of that name."""
    every = kept(fleet, kind)
    for record in reversed(every):
        if name in (record.id, record.label, record.agent.name, record.agent.id):
            return record
    listing = "muster restore --list" if kind == "attic" else "muster snapshot list"
    known = [word for record in every for word in (record.agent.name, record.label or record.id)]
    where = "the attic" if kind == "attic" else "the snapshots"
    raise NotFound(f"there is no `{name}` in {where}", hint=names.nearest(name, known, kind, listing))


def snapshot(fleet: Fleet, agent: Agent, label: str = "") -> Kept:
    """Keep an agent as it is now; it goes on."""
    if agent.intent not in ("started", "stopped"):
        raise Refused(f"`{agent.name}` is half-made", hint="`muster gc` finishes what was cut short")
    if label and any(label in (one.label, one.id, one.agent.name) for one in kept(fleet, "snapshot")):
        raise Refused(f"there is a snapshot `{label}` already", hint="`muster snapshot list` shows them")
    with fleet.registry.locked(agent.id):
        clear_half_made(fleet, agent.id)
        made = keep(fleet, agent, "snapshot", f"{agent.id}-{names.fresh_id()[:4]}", label)
    fleet.event(agent, "snapshot", made.id)
    return made


def clear_half_made(fleet: Fleet, agent: str) -> int:
    """Remove what a killed snapshot of that agent left; it is locked by us, so nobody else is making one."""
    place, cleared = fleet.seat("local").host, 0
    for folder in half_made(fleet, agent):
        if os.path.exists(f"{folder}/half-made"):
            with open(f"{folder}/half-made") as file:
                source, prefix = file.read().split("\0")
            if os.path.isdir(source):
                _forget_refs(place, source, sorted(git.refs(place, source, prefix)))
        proc.run(place, ["rm", "-rf", folder])
        cleared += 1
    return cleared


def half_made(fleet: Fleet, agent: str = "") -> list[str]:
    """The folders of snapshots (of that agent) without a record; the part before the dash is the agent's id."""
    parent = f"{fleet.home}/snapshots"
    found = os.listdir(parent) if os.path.isdir(parent) else []
    ours = [f"{parent}/{name}" for name in found if not agent or name.startswith(f"{agent}-")]
    return [folder for folder in ours if not os.path.exists(f"{folder}/kept.json")]


def expire(fleet: Fleet, which: Kept | str) -> Kept:
    """Throw away what was kept; its record goes first, so that half an expiry is not taken for the whole."""
    record = find(fleet, which, "snapshot") if isinstance(which, str) else which
    folder, source = f"{fleet.home}/{FOLDERS[record.kind]}/{record.id}", record.agent.workspace.source
    place = fleet.seat("local").host
    if record.refs and os.path.isdir(source):
        _forget_refs(place, source, record.refs)
    os.unlink(f"{folder}/kept.json")
    proc.run(place, ["rm", "-rf", folder])
    return record


def _forget_refs(place: Prefix, source: str, refs: Sequence[str]) -> None:
    deletes = "".join(f"delete {name}\n" for name in refs).encode()
    result = git.run(place, source, "update-ref", "--stdin", stdin=deletes, check=False)
    if result.code:
        raise MusterError(f"git could not forget `{refs[0]}`: {result.said}")
