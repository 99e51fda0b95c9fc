"""An agent again: brought back from the attic, made from a snapshot, or like another one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import msgspec

from muster import hosts
from muster.agents import Agent, agent_type, session
from muster.agents.session import Seat
from muster.core import git, names, proc
from muster.errors import NotFound, Refused, UsageError
from muster.fleet import Kept, Task
from muster.fleet.keep import FOLDERS, clear_half_made, expire, find, is_ours, keep

if TYPE_CHECKING:
    from muster.fleet import Fleet

# Written anew for each life of an agent, or true of one life only.
_OF_ONE_LIFE = "env enter launch note record.json exit state status.json setup.pid".split()


def restore(fleet: Fleet, which: Kept | str, name: str = "") -> Agent:
    """The agent again, stopped, with its work and its conversation."""
    from muster.fleet.create import Seed, create

    record = find(fleet, which, "attic") if isinstance(which, str) else which
    agent, folder = record.agent, f"{fleet.home}/{FOLDERS[record.kind]}/{record.id}"
    same = record.kind == "attic" and fleet.registry.find(agent.id) is None
    address = names.Address.parse(name)
    wanted = address.name or _free(fleet, agent.name)
    branch = agent.workspace.branch if same and not address.name else "muster/*"
    task = Task(
        name=at(wanted, address, agent),
        type=agent.type,
        args=agent.args,
        mode=agent.workspace.mode,
        branch=f"{record.tip or agent.workspace.base}:{branch}",
        dirty="ignore",
        source=agent.workspace.source,
        share=agent.share,
        put=agent.put,
        labels=agent.labels,
        setup=agent.setup,
        permissions=agent.permissions,
        unsafe_here=at("", address, agent) == f"@{agent.host}",  # as was said when it was made, for the same host
        windows=agent.windows,
    )

    def plant(new: Agent) -> None:
        unpack(fleet, record, new)

    tree = record.work if record.head in ("", record.tip) else ""
    seed = Seed(
        parent=agent.parent if same else agent.id,
        tree=tree,
        plant=plant,
        begin=False,
        id=agent.id if same else "",
        base=agent.workspace.base,
        inner=not (same and "nested.tar" in record.tars),
    )
    if not os.path.isdir(agent.workspace.source):
        raise NotFound(
            f"`{agent.workspace.source}`, which it was made from, is gone", hint=f"what is kept lies in `{folder}`"
        )
    check_inner(record, task.name)
    if record.place and address.host in ("", agent.host):
        _known_again(fleet, record)
    with branch_lent(fleet, task.name, record, branch):
        made = create(fleet, task, seed)
    fleet.event(made, "restored", record.id)
    if record.kind == "attic":
        expire(fleet, record)
    return made


def _known_again(fleet: Fleet, record: Kept) -> None:
    """The host that went with it is made again, as it was."""
    from muster.fleet import places

    if not places.recorded(fleet, record.agent.host):
        described = msgspec.convert(record.place, places.Record)
        places.save(fleet, msgspec.structs.replace(described, root=""))


@contextmanager
def branch_lent(fleet: Fleet, address: str, record: Kept, branch: str) -> Iterator[None]:
    """The branch that it left behind is made again with the agent; it is put back if that fails."""
    here, place = fleet.seat("local").host, record.agent.workspace
    name, left = f"refs/heads/{branch}", ""
    if place.mode == "worktree" and branch == place.branch and address.endswith("@local"):
        left = git.commit_of(here, place.source, name)
    # What it left when it went elsewhere may be behind what it has now.
    lent = bool(left) and git.ancestor(here, place.source, left, record.tip)
    if lent:
        git.run(here, place.source, "update-ref", "-d", name, left)
    try:
        yield
    except BaseException:
        if lent:
            git.run(here, place.source, "update-ref", name, left)
        raise


def _free(fleet: Fleet, name: str) -> str:
    if fleet.registry.find(name):
        raise Refused(f"there is an agent `{name}` already", hint="`--as NAME` gives the restored one another name")
    return name


def at(name: str, address: names.Address, agent: Agent) -> str:
    """Where another one goes: where the address says, or else where that agent is."""
    place = f"{address.host}.{address.provider}" if address.provider else address.host
    return f"{name}@{place or agent.host}"


def unpack(fleet: Fleet, record: Kept, new: Agent) -> None:
    """Conversation, environment and what git could not hold, into the new agent's places."""
    seat, old = fleet.seat(new.host), record.agent
    folder = f"{fleet.home}/{FOLDERS[record.kind]}/{record.id}"
    if "agent.tar" in record.tars:
        same = (new.id, new.host) == (old.id, old.host)
        _unpack_tar(seat, old, f"{folder}/agent.tar", seat.folder(new.id), skip=() if same else tuple(_OF_ONE_LIFE))
        if not same:
            _inherit_environment(fleet, f"{folder}/agent.tar", old, new)
    if "work.tar" in record.tars:
        _empty(new.workspace.path, seat)
        _unpack_tar(seat, old, f"{folder}/work.tar", new.workspace.path)
    if record.head and record.head != record.tip:
        _switch(fleet, seat, record, new)
    _unpack_inner(seat, record, new, folder)


def _switch(fleet: Fleet, seat: Seat, record: Kept, new: Agent) -> None:
    """It had not checked out its own branch."""
    place = new.workspace
    if hosts.far(seat.host):
        from muster.agents import mirror

        mirror.give(fleet.seat("local").host, place.source, seat.host, place, record.work or record.head)
    git.run(seat.host, place.path, "checkout", "--quiet", "--detach", record.head)
    if record.work:
        git.fill(seat.host, place.path, record.work)


def check_inner(record: Kept, address: str) -> None:
    """Repositories inside of its own: settings and hooks of theirs that lay on another host don't come to be run here."""
    old = record.agent
    if "nested.tar" not in record.tars or old.host == "local" or not address.endswith("@local"):
        return
    raise Refused(
        f"`{old.name}` has repositories inside its workspace, whose settings `{old.host}` may have changed",
        hint=f"`muster pull {old.name} PATH` brings files, `muster exec {old.name}` can push what was committed there",
    )


def _unpack_inner(seat: Seat, record: Kept, new: Agent, folder: str) -> None:
    path = new.workspace.path
    if "nested.tar" not in record.tars:
        return
    if os.path.exists(f"{folder}/modules.tar"):
        gitdir = git.text(seat.host, path, "rev-parse", "--absolute-git-dir")
        _unpack_tar(seat, record.agent, f"{folder}/modules.tar", gitdir, strip=0)
    _unpack_tar(seat, record.agent, f"{folder}/nested.tar", path, strip=0)


def _unpack_tar(seat: Seat, old: Agent, tar: str, folder: str, skip: tuple[str, ...] = (), strip: int = 1) -> None:
    """With `strip` the one folder in the tar becomes that folder."""
    if hosts.far(seat.host) or old.host != "local":
        from muster.hosts import elsewhere

        elsewhere.unpack(seat.host, tar, folder, skip=skip, strip=strip)
        return
    unwanted = [f"--exclude=*/{name}" for name in skip]
    proc.run(seat.host, ["mkdir", "-p", folder])
    proc.run(seat.host, ["tar", "-C", folder, f"--strip-components={strip}", *unwanted, "-xf", tar])


def _inherit_environment(fleet: Fleet, tar: str, old: Agent, new: Agent) -> None:
    text = proc.run(fleet.seat("local").host, ["tar", "-xOf", tar, f"{old.id}/env"], check=False).out
    session.furnish(fleet.seat(new.host), new, _environment(text, old, new.host))


def _environment(text: bytes, old: Agent, host: str) -> dict[str, str]:
    """The variables of that agent, for one on that host: what was a machine's own stays on it."""
    found = session.variables(text, old.workspace)
    if host == old.host:
        return found
    return session.environment((), session.asked_for(found), host == "local")


def _empty(path: str, seat: Seat) -> None:
    proc.run(seat.host, ["sh", "-c", 'rm -rf "$1" && mkdir -m 700 "$1"', "sh", path])


def clone(fleet: Fleet, agent: Agent, name: str, wishes: dict[str, Any]) -> Agent:
    """An agent like that one, from its commits and its uncommitted files."""
    if agent.intent not in ("started", "stopped"):
        raise Refused(f"`{agent.name}` is half-made", hint="`muster gc` finishes what was cut short")
    address = names.Address.parse(name)
    seat, target = fleet.seat(agent.host), at(address.name, address, agent)
    base, _, pattern = wishes.pop("branch", "muster/*").rpartition(":")
    if base:
        raise UsageError(f"a clone starts where `{agent.name}` is, not at `{base}`", hint="`--branch NEW`")
    text = hosts.read(seat.host, f"{seat.folder(agent.id)}/env") or b""
    given = Task(
        name=target,
        type=agent.type,
        args=agent.args,
        mode=agent.workspace.mode,
        dirty="ignore",
        source=agent.workspace.source,
        share=agent.share,
        put=agent.put,
        env=_environment(text, agent, target.partition("@")[2]),
        labels=agent.labels,
        setup=agent.setup,
        permissions=agent.permissions,
        unsafe_here="@" not in name,  # as was said when the first was made, for the same host
        windows=agent.windows,
    )
    task = msgspec.structs.replace(given, **wishes)
    if hosts.far(seat.host) or not target.endswith("@local"):
        return _clone_elsewhere(fleet, agent, task, pattern)
    return _clone_here(fleet, seat, agent, task, pattern)


def _resumes(agent: Agent, task: Task) -> bool:
    """Whether the same program can go on with its conversation."""
    return task.type == agent.type and agent_type(agent.type).resumable


def _clone_here(fleet: Fleet, seat: Seat, agent: Agent, task: Task, pattern: str) -> Agent:
    from muster.fleet.create import Seed, create

    place, tree = agent.workspace, ""
    if place.mode in ("worktree", "clone"):
        if not is_ours(seat, agent):
            raise _broken(agent)
        head = git.commit_of(seat.host, place.path, "HEAD")
        tree = git.tree(seat.host, place.path, f"{seat.folder(agent.id)}.index")
        task = msgspec.structs.replace(task, branch=f"{head}:{pattern}")
    if place.mode in ("clone", "copy") and task.source == place.source:
        task = msgspec.structs.replace(task, source=place.path)

    def plant(new: Agent) -> None:
        unwanted = [*_OF_ONE_LIFE, "scrollback", "log"]
        script = 'tar -C "$1" -cf - . | (shift; folder=$1; shift; tar -C "$folder" "$@" -xf -)'
        flags = [f"--exclude=./{one}" for one in unwanted]
        proc.run(seat.host, ["sh", "-c", script, "sh", seat.folder(agent.id), seat.folder(new.id), *flags])

    resumes = _resumes(agent, task)
    return create(fleet, task, Seed(parent=agent.id, tree=tree, plant=plant if resumes else None, resume=resumes))


def _clone_elsewhere(fleet: Fleet, agent: Agent, task: Task, pattern: str) -> Agent:
    """By way of a snapshot that nobody sees: what a killed clone leaves of it goes with the next one."""
    from muster.fleet.create import Seed, create

    with fleet.registry.locked(agent.id):
        clear_half_made(fleet, agent.id)
        record = keep(fleet, agent, "snapshot", f"{agent.id}-{names.fresh_id()[:4]}", lasting=False)
        try:
            if record.head:
                task = msgspec.structs.replace(task, branch=f"{record.head}:{pattern}")
            elif agent.workspace.mode in ("worktree", "clone"):
                raise _broken(agent)
            resumes = _resumes(agent, task)
            seed = Seed(
                parent=agent.id,
                tree=record.work,
                plant=lambda new: _plant(fleet, record, new, resumes),
                resume=resumes,
            )
            return create(fleet, task, seed)
        finally:
            clear_half_made(fleet, agent.id)


def _plant(fleet: Fleet, record: Kept, new: Agent, resumes: bool) -> None:
    seat, folder = fleet.seat(new.host), f"{fleet.home}/{FOLDERS[record.kind]}/{record.id}"
    if resumes:
        skip = (*_OF_ONE_LIFE, "scrollback", "log")
        _unpack_tar(seat, record.agent, f"{folder}/agent.tar", seat.folder(new.id), skip=skip)
    if "work.tar" in record.tars:
        _empty(new.workspace.path, seat)
        _unpack_tar(seat, record.agent, f"{folder}/work.tar", new.workspace.path)


def _broken(agent: Agent) -> Refused:
    return Refused(f"the workspace of `{agent.name}` is not a checkout of its repository any more")
