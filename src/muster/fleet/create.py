"""Create: reserve the name, make the workspace, write the record, start the session, mark it started."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from muster import hosts
from muster.agents import Agent, AgentType, Order, Workspace, agent_type, session, workspace
from muster.agents.session import Seat
from muster.core import git, names, paths, proc
from muster.errors import CommandFailed, Exists, HostError, Refused, UsageError
from muster.fleet.registry import now

if TYPE_CHECKING:
    from muster.fleet import Fleet, Task

MESSAGE_AS_ARGUMENT_MAX = 100_000  # the kernel takes 128 kB for one argument


class Seed(Struct, frozen=True):
    """What a clone or a restored agent brings along."""

    parent: str = ""
    tree: str = ""  # laid over the workspace as uncommitted work
    resume: bool = False  # go on with the conversation that `plant` puts into its folder
    plant: Callable[[Agent], None] | None = None  # called when folder and workspace are there
    begin: bool = True  # or leave it stopped
    inner: bool = True  # make the repositories inside its own; or they come with `plant`
    id: str = ""
    base: str = ""  # where its work began, if that is not the commit it starts at


SEEDLESS = Seed()


def create(fleet: Fleet, task: Task, seed: Seed = SEEDLESS) -> Agent:
    """Make the agent that the task describes, and start it."""
    address = names.Address.parse(task.name)
    kind = agent_type(task.type)
    fleet.tidy_up(address.name, address.host)
    if task.reuse and (existing := _reused(fleet, address.name)):
        return existing
    if address.name and fleet.registry.find(address.name):
        raise _taken(address.name)
    with placed(fleet, address, address.name, task.host) as seat:
        agent = _create(fleet, seat, address.name, kind, task, seed)
    fleet.event(agent, "created", agent.type)
    return fleet.registry.get(agent.id)


@contextmanager
def placed(fleet: Fleet, address: names.Address, name: str, wished: Mapping[str, Any]) -> Iterator[Seat]:
    """The seat on the agent's host; a host that was made for it goes again if nothing comes of it."""
    if address.host in ("", "local") and address.provider in ("", "local"):
        if wished:
            told = ", ".join(f"`{key}`" for key in wished)
            hint = f"`{name}@.docker` makes a container for it"
            raise UsageError(f"{told} would be a new host's, and the agent is for this machine", hint=hint)
        yield fleet.seat("local")
        return
    from muster.fleet import lodging

    with lodging.lodged(fleet, msgspec.structs.replace(address, name=name), wished) as host:
        yield fleet.lodge(host)


def _create(fleet: Fleet, seat: Seat, name: str, kind: AgentType, task: Task, seed: Seed) -> Agent:
    here = fleet.seat("local")
    permitted(seat, kind, task)
    source = _source(fleet, task, seat)
    if source.dirty and task.dirty == "refuse":
        raise _dirty(source)
    base, pattern = _branch(here, task, source)
    agent = _draft(task, seed, seat, source, base)
    if owner := _owner(fleet, here, source.folder):
        agent = _from_another(agent, owner)
    if hosts.far(seat.host):
        agent = _mirrored(seat, agent)
    order = _order(seat, agent, task)
    if seed.begin:
        launch = kind.launch(order)  # what is wrong with its arguments is said before anything is made
        _program(seat, kind.program or launch.argv[0], task)
    with _reserved(fleet, agent, name, pattern) as agent:
        _build(fleet, seat, agent, task, seed, kind, source)
    return agent


def _reused(fleet: Fleet, name: str) -> Agent | None:
    if not name:
        raise UsageError("`--reuse` needs a name", hint="`muster create NAME --reuse`")
    agent = fleet.registry.find(name)
    if agent and agent.intent == "creating":
        with fleet.registry.locked(agent.id):
            agent = fleet.registry.find(name)  # another process was making it; now it has ended
    return agent if agent and agent.intent in ("started", "stopped") else None


def _source(fleet: Fleet, task: Task, seat: Seat) -> workspace.Source:
    """What the workspace is made from: a folder of this machine, or what another agent has."""
    if task.mode == "in-place" and hosts.far(seat.host):
        hint = "the other modes bring the work there: `--mode worktree`, `clone` or `copy`"
        raise Refused(f"an agent on `{seat.host.name}` can't work in a folder of this machine", hint=hint)
    other = fleet.registry.find(task.source) if task.source and not os.path.isdir(task.source) else None
    if other and hosts.far(fleet.seat(other.host).host):
        from muster.fleet.home import source

        return source(fleet, other, task)
    return workspace.survey(fleet.seat("local").host, _origin(fleet, task), task.mode, task.dirty != "ignore")


def _origin(fleet: Fleet, task: Task) -> str:
    """The folder that the workspace is made from."""
    if not task.source:
        return os.getcwd()
    if os.path.isdir(task.source):
        return os.path.realpath(task.source)
    if "/" in task.source:
        raise UsageError(f"there is no folder `{task.source}`")
    return fleet.registry.get(task.source).workspace.path


def _owner(fleet: Fleet, seat: Seat, folder: str) -> Agent | None:
    """The agent whose workspace that folder is in."""
    inside, _, rest = folder.partition(f"{seat.root}/work/")
    return fleet.registry.find(rest.partition("/")[0]) if not inside and rest else None


def _from_another(agent: Agent, owner: Agent) -> Agent:
    """One made from another's workspace belongs to the same repository, and outlives the other."""
    place = agent.workspace
    if place.mode == "worktree" and owner.workspace.mode == "clone":
        hint = "`--mode clone` makes it independent"
        raise UsageError(f"`{owner.name}` works on a clone, which goes when it is destroyed", hint=hint)
    if owner.workspace.mode == "worktree" and place.mode in ("worktree", "clone"):
        place = msgspec.structs.replace(place, source=owner.workspace.source)
    return msgspec.structs.replace(agent, workspace=place, project=owner.project, parent=agent.parent or owner.id)


def _dirty(source: workspace.Source) -> Refused:
    shown = "".join(f"\n  {path}" for path in source.dirty[:10])
    more = f"\n  … and {len(source.dirty) - 10} more" if len(source.dirty) > 10 else ""
    count = len(source.dirty)
    return Refused(
        f"`{source.folder}` has {count} file{'s' if count > 1 else ''} with uncommitted changes:{shown}{more}",
        hint="commit them, or take them along with `--dirty carry`, or leave them here with `--dirty ignore`",
    )


def _mirrored(seat: Seat, agent: Agent) -> Agent:
    """Elsewhere its repository is a mirror of the one here."""
    from muster.agents import mirror

    place = agent.workspace
    if place.mode not in ("worktree", "clone"):
        return agent
    place = msgspec.structs.replace(place, mirror=mirror.place(seat, place.source))
    return msgspec.structs.replace(agent, workspace=place)


def _branch(here: Seat, task: Task, source: workspace.Source) -> tuple[str, str]:
    """The commit to start at, and the pattern of the new branch's name."""
    if not source.is_git or task.mode == "in-place":
        return "", ""
    base, colon, pattern = task.branch.rpartition(":")
    if not colon:
        base, pattern = "", task.branch
    commit = source.commit if not base else git.commit_of(here.host, source.folder, base)
    if not commit:
        raise UsageError(f"there is no commit `{base}` in `{source.folder}`", hint="`--branch BASE:NEW`")
    return commit, pattern or "muster/*"


def _draft(task: Task, seed: Seed, seat: Seat, source: workspace.Source, base: str) -> Agent:
    identity = seed.id or names.fresh_id()
    path = source.folder if task.mode == "in-place" else seat.work(identity)
    created = now()
    return Agent(
        id=identity,
        name="",
        type=task.type,
        created=created,
        changed=created,
        host=seat.host.name,
        args=tuple(task.args),
        labels=dict(task.labels),
        windows=dict(task.windows),
        share=tuple(task.share),
        put=tuple(task.put),
        setup=task.setup,
        permissions=task.permissions,
        adopted=task.adopt,
        project=source.folder,
        parent=seed.parent or source.agent,
        workspace=Workspace(task.mode, path, source=source.folder, base=base),
    )


def _order(seat: Seat, agent: Agent, task: Task, resume: bool = False) -> Order:
    message = task.message
    if message is not None and len(message.encode()) > MESSAGE_AS_ARGUMENT_MAX:
        message = None
    return Order(
        args=agent.args,
        folder=seat.folder(agent.id),
        workspace=agent.workspace.path,
        message=message,
        resume=resume,
        remote=hosts.far(seat.host),
        permissions=agent.permissions,
        adopt=agent.adopted,
        env=task.env,
    )


def permitted(seat: Seat, kind: AgentType, task: Task) -> None:
    """Whether that type can do so, and may do so there."""
    if task.adopt and not kind.adoptable:
        raise UsageError(f"a {kind.name} agent can't go on with a conversation from outside of muster")
    if task.permissions is None:
        return
    if task.permissions not in kind.permissions:
        known = ", ".join(f"`{mode}`" for mode in kind.permissions) or "none: it asks for nothing by itself"
        raise UsageError(f"a {kind.name} agent has no permissions `{task.permissions}`", hint=f"it has {known}")
    if task.permissions == "all" and "isolated" not in seat.host.capabilities and not task.unsafe_here:
        hint = "use a host that is isolated, such as a container, or insist with `--unsafe-here`"
        raise Refused(
            f"`--permissions all` would let it do anything to `{seat.host.name}`, which is not isolated", hint=hint
        )


def _program(seat: Seat, program: str, task: Task) -> None:
    """A misspelt program is an error of the create, not an agent that fails at once."""
    if "/" in program:
        return  # a path may be one inside the workspace
    if hosts.far(seat.host):
        script = '[ -z "$2" ] || PATH=$2; command -v -- "$1" >/dev/null'
        words = ["sh", "-c", script, "sh", program, task.env.get("PATH", "")]
        if proc.run(seat.host, words, check=False).code:
            hint = "is it installed there, and on the $PATH that commands have there? `--env PATH=...` gives another"
            raise UsageError(f"there is no program `{program}` on `{seat.host.name}`", hint=hint)
        return
    folders = (task.env.get("PATH") or os.environ.get("PATH", os.defpath)).split(os.pathsep)
    if not any(os.access(f"{folder}/{program}", os.X_OK) for folder in folders):
        raise UsageError(f"there is no program `{program}` on this machine", hint="is it installed, and on $PATH?")


@contextmanager
def _reserved(fleet: Fleet, draft: Agent, name: str, pattern: str) -> Iterator[Agent]:
    """The agent with its name taken; whatever fails after this is undone."""
    with fleet.registry.locked(draft.id):
        agent = _named(fleet, draft, name, pattern)
        try:
            yield agent
        except BaseException:
            try:
                undo(fleet, agent)
            except HostError:
                pass  # what was begun there is undone when it answers; why it could not be ended is the answer
            raise


def _named(fleet: Fleet, draft: Agent, name: str, pattern: str) -> Agent:
    while True:
        chosen = name or names.fresh({agent.name for agent in fleet.registry.all()})
        if name and fleet.registry.find(name):
            raise _taken(name)
        place = msgspec.structs.replace(draft.workspace, branch=pattern.replace("*", chosen), another="*" in pattern)
        agent = msgspec.structs.replace(draft, name=chosen, workspace=place)
        if fleet.registry.reserve(agent):
            return agent


def _taken(name: str) -> Exists:
    hint = "`--reuse` takes the one there is, `muster destroy` removes it (its work is kept)"
    return Exists(f"there is an agent `{name}` already", hint=hint)


def _build(
    fleet: Fleet, seat: Seat, agent: Agent, task: Task, seed: Seed, kind: AgentType, source: workspace.Source
) -> None:
    session.prepare(seat, fleet.config().connect.tmux_config)
    env = session.environment([*kind.pass_env, *task.pass_env], task.env, not hosts.far(seat.host))
    session.furnish(seat, agent, env)
    carried = seed.tree or source.tree
    if not carried and source.dirty and task.dirty == "carry":
        carried = git.tree(fleet.seat("local").host, source.folder, _scratch(fleet, agent))
    agent = msgspec.structs.replace(agent, workspace=_workspace(fleet, seat, agent, source, carried, seed.inner))
    if task.log:
        hosts.write(seat.host, {f"{seat.folder(agent.id)}/keep-log": b""})
    if seed.plant:
        seed.plant(agent)
    if agent.setup:
        set_up(fleet, seat, agent)
    if not seed.begin:
        place = msgspec.structs.replace(agent.workspace, base=seed.base or agent.workspace.base)
        fleet.registry.save(msgspec.structs.replace(agent, intent="stopped", changed=now(), workspace=place))
        return
    order = _order(seat, agent, task, resume=seed.resume)
    launch = session.begin(seat, agent, kind, order)
    if task.message is not None and not (launch.message_taken and order.message is not None):
        fleet.registry.store_message(agent.id, task.message)
    fleet.registry.save(msgspec.structs.replace(agent, intent="started", changed=now()))


def _scratch(fleet: Fleet, agent: Agent) -> str:
    """Where an index may lie for a moment."""
    return f"{paths.folder(f'{fleet.home}/agents')}/{agent.id}.index"


def _workspace(
    fleet: Fleet, seat: Seat, agent: Agent, source: workspace.Source, carried: str, inner: bool
) -> Workspace:
    place = agent.workspace
    if not hosts.far(seat.host):
        return workspace.make(seat.host, place, carried=carried, share=agent.share, put=agent.put, inner=inner)
    from muster.agents import mirror

    put = (*agent.share, *agent.put)  # elsewhere there is nothing to link to
    return mirror.make(fleet.seat("local"), seat, place, source.folder, carried=carried, put=put, inner=inner)


def set_up(fleet: Fleet, seat: Seat, agent: Agent) -> None:
    """Run the set-up command in the new workspace; its failure is the create's, its output is kept either way."""
    folder = seat.folder(agent.id)
    fleet.event(agent, "setup", agent.setup)
    # Its group's id is written down first, so that a create that was killed can be undone.
    # `enter` runs the words it is given, so it is given none.
    script = 'folder=$1 setup=$2; shift 2; echo $$ >"$folder/setup.pid"; . "$folder/enter"; '
    script += 'exec sh -c "$setup" >"$folder/setup.log" 2>&1'
    if code := _ran(seat, ["sh", "-c", script, "muster-setup", folder, agent.setup], f"{folder}/setup.pid"):
        said = hosts.read(seat.host, f"{folder}/setup.log") or b""
        raise CommandFailed(
            f"the set-up of `{agent.name}` failed with exit code {code}: {_last_words(said)}",
            hint=f"all it said is in `{_kept_output(fleet, agent, said)}`",
        )


def _ran(seat: Seat, command: list[str], pid: str) -> int:
    if hosts.far(seat.host):
        code = proc.run(seat.host, command, check=False).code
        # If it was interrupted, that number is how it is ended.
        hosts.write(seat.host, {}, gone=[pid])
        return code
    process = proc.start(seat.host, command, stdin=proc.DEVNULL)
    try:
        return process.wait()
    finally:
        proc.end_group(process)
        os.unlink(pid)


def _last_words(said: bytes) -> str:
    lines = said.decode(errors="replace")[-2000:].strip().splitlines()
    return lines[-1] if lines else "it said nothing"


def _kept_output(fleet: Fleet, agent: Agent, said: bytes) -> str:
    path = f"{fleet.home}/failed/{agent.name}-setup.log"
    paths.folder(os.path.dirname(path))
    paths.write(path, said)
    return path


def undo(fleet: Fleet, agent: Agent) -> None:
    """Take back a create that did not end; each step may have been done or not. The agent is locked by us."""
    seat = fleet.seat(agent.host)
    folder = seat.folder(agent.id)
    if hosts.is_folder(seat.host, folder):
        session.prepare(seat)
        session.end(seat, [agent.id])
        if hosts.far(seat.host):
            session.clear(seat, agent.id)
    if hosts.far(seat.host):
        from muster.agents import mirror

        mirror.unmake(seat.host, agent.workspace, undo=True)
    else:
        workspace.drop_if_unused(seat.host, agent.workspace)
        workspace.unmake(seat.host, agent.workspace)
    hosts.remove(seat.host, folder, f"{folder}.index")
    fleet.registry.forget(agent.id)
    left(fleet, agent)


def left(fleet: Fleet, agent: Agent) -> None:
    """A host that was the agent's own goes with it."""
    if agent.host != "local":
        from muster.fleet import lodging

        lodging.leave(fleet, agent.host)
