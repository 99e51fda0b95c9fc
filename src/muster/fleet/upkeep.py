"""The hosts themselves: stop, start, destroy, adopt, snapshot."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import msgspec

from muster.agents import Agent
from muster.core import names, out, paths, proc
from muster.errors import MusterError, Refused, UsageError
from muster.fleet import lodging, places
from muster.fleet.lodging import on, settle
from muster.fleet.places import Record
from muster.fleet.registry import now
from muster.hosts import Host

if TYPE_CHECKING:
    from muster.fleet import Fleet

_RECORDS = (
    'cd "$1/agents" 2>/dev/null || exit 0; for one in */record.json; do [ -f "$one" ] && cat "$one" && echo; done'
)
_ID = re.compile(r"[0-9a-z]{10}")


def _made(fleet: Fleet, name: str, capability: str) -> tuple[Record, Any]:
    """A host that can do that, or the reason why it can't."""
    record = places.recorded(fleet, name)
    if record is None:
        if name == "local":
            raise Refused("`local` is this machine, which muster neither made nor stops")
        raise places.unknown(fleet, name)
    if not record.made:
        raise Refused(f"`{name}` was not made by muster, so muster won't {capability} it")
    host = places.build(fleet, record)
    if capability in ("stop", "snapshot", "pause") and capability not in host.capabilities:
        raise Refused(f"`{name}` can't {capability}: its provider `{record.provider}` has no such thing")
    return record, host


def stop(fleet: Fleet, name: str) -> None:
    """End its agents' programs, then itself; all that is on it stays."""
    _, host = _made(fleet, name, "stop")
    condition = host.condition()
    if condition == "paused":
        host.start()
    if condition in ("running", "paused"):
        fleet.stop([agent for agent in on(fleet, name) if agent.intent == "started"])
        host.stop()


def start(fleet: Fleet, name: str, *, agents: bool = False) -> list[Agent]:
    """Start it again, and its agents where they are asked for; those it has."""
    _, host = _made(fleet, name, "start")
    there = on(fleet, name)
    if (condition := host.condition()) != "running":
        host.start()
        if condition != "paused":
            settle(fleet, there)
    if agents:
        fleet.start([agent for agent in there if not agent.archived])
    return there


def destroy(fleet: Fleet, name: str, *, agents: bool = False, forget: bool = False) -> None:
    """Take it away, or forget one that muster has not made; its agents' work is kept first."""
    there = on(fleet, name)
    if forget:
        for agent in there:
            fleet.registry.forget(agent.id)
        places.forget(fleet, name)
        return
    if there and not agents:
        listed = ", ".join(f"`{agent.name}`" for agent in there[:5]) + (" …" if len(there) > 5 else "")
        hint = "`--agents` destroys them first, and keeps their work; `--forget` is for a host that is gone for good"
        raise Refused(f"`{name}` has {len(there)} agent{'s' if len(there) > 1 else ''}: {listed}", hint=hint)
    if places.recorded(fleet, name) is None:
        raise places.unknown(fleet, name)
    fleet.destroy(there)
    if places.recorded(fleet, name):  # one that was its agent's own went with it
        lodging.destroy(fleet, name)


@contextmanager
def awake(fleet: Fleet, name: str) -> Iterator[None]:
    """A stopped host, started to look into it, and stopped again."""
    _, host = _made(fleet, name, "start")
    there = on(fleet, name)
    host.start()
    settle(fleet, there)
    try:
        yield
    finally:
        host.stop()


def snapshot(fleet: Fleet, name: str, label: str = "") -> str:
    """Keep what is on it: the engine's own image, or muster's folder there as a tar; what it is called."""
    label = label or time.strftime(f"{name}-%Y%m%d-%H%M%S")
    names.check(label)
    record = places.recorded(fleet, name)
    if record is None:
        if name == "local":
            raise Refused("`local` needs none", hint="`muster snapshot create NAME` keeps one agent")
        raise places.unknown(fleet, name)
    host = places.find(fleet, places.parse(name))
    if "snapshot" in host.capabilities:
        made: Any = host
        image: str = made.snapshot(label)
        return image
    path = f"{paths.folder(f'{fleet.home}/snapshots/hosts')}/{label}.tar"
    if os.path.exists(path):
        raise Refused(f"there is a snapshot `{path}` already")
    parent, _, folder = host.root().rpartition("/")
    from muster.hosts import elsewhere

    with open(f"{path}.new", "wb", opener=lambda file, flags: os.open(file, flags, 0o600)) as file:
        try:
            command = ["tar", "-C", parent or "/", "--exclude=*.sock", "-cf", "-", folder]
            elsewhere.take(host, command, file.fileno())
        except BaseException:
            os.unlink(file.name)
            raise
    os.replace(f"{path}.new", path)
    return path


def adopt(fleet: Fleet, name: str) -> tuple[list[Agent], list[str]]:
    """Know a host and the agents on it, as their records there say; what could not be taken, and why."""
    place = places.read(name)
    if place.host == "local":
        raise UsageError("`local` is this machine; its agents are known")
    record = places.recorded(fleet, place.host)
    if record is None and (found := _of_an_engine(fleet, place)):
        record = found
    seat = fleet.seat(place.host, place.provider)
    listing = proc.run(seat.host, ["sh", "-c", _RECORDS, "sh", seat.root]).out
    taken, trouble = [], []
    for line in listing.splitlines():
        if not line.strip():
            continue
        try:
            agent = _adopted(fleet, msgspec.json.decode(line, type=Agent), seat.host.name, seat.work(""))
            taken += [agent] if agent else []
        except (msgspec.MsgspecError, MusterError) as error:
            trouble.append(f"a record there can't be used: {error}")
    return taken, trouble


def _of_an_engine(fleet: Fleet, place: places.Place) -> Record | None:
    """A container that another muster has made: it is known by its label, and stays the other's to take away."""
    described = places.describe(fleet, place)
    if not described.made:
        return None
    identity = places.build(fleet, described).labelled()
    if not identity:
        raise places.unknown(fleet, place.host)
    settings = {**described.settings, "container": identity}
    record = msgspec.structs.replace(described, settings=settings, made=False)
    return places.meet(fleet, places.build(fleet, record), record)


def _adopted(fleet: Fleet, agent: Agent, host: str, work: str) -> Agent | None:
    """One agent of another registry; its host may be anybody's, so its record is not taken at its word."""
    if not _ID.fullmatch(agent.id):
        raise UsageError(f"{agent.id!r} is no id")
    names.check(agent.name)
    if fleet.registry.find(agent.id):
        return None
    place = msgspec.structs.replace(agent.workspace, source="")
    if place.mode != "in-place" and place.path != f"{work}{agent.id}":
        raise UsageError(f"the workspace of `{agent.name}` is not where muster makes any")
    taken = {one.name for one in fleet.known()}
    wanted = (agent.name if number == 1 else f"{agent.name}-{number}" for number in range(1, 10_000))
    name = next(one for one in wanted if one not in taken)
    # The record was written when the agent was made; what became of it since is for the next look to see.
    agent = msgspec.structs.replace(
        agent, name=name, host=host, workspace=place, project="", intent="started", changed=now(), state=None
    )
    return agent if fleet.registry.reserve(agent) else None


def run(host: Host, command: Sequence[str], *, tty: bool = False) -> int:
    """Run a command on our own streams; its exit code."""
    if tty or host.provider == "local":
        return proc.shell_code(proc.start(host, command, tty=tty, group=False).wait())
    from muster.core.link import Link

    link = Link(host, command, stdin=None, stdout=None)  # type: ignore[arg-type]
    try:
        for said in link.said():
            out.passed(said)
        link.wait(None)
    except BaseException:
        link.end()
        raise
    return link.ending()
