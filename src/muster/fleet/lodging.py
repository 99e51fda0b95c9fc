"""A host for a new agent: made where it must be, and taken away when it was for nothing."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import msgspec

from muster import hosts
from muster.agents import Agent
from muster.core import lock, names, out, proc
from muster.errors import HostError, Silent, UsageError
from muster.fleet import places
from muster.fleet.registry import now
from muster.hosts import Host

if TYPE_CHECKING:
    from muster.fleet import Fleet

_ASK_AGAIN = 0.5


def create(
    fleet: Fleet, place: places.Place, settings: Mapping[str, Any] = {}, *, own: bool = False
) -> tuple[Host, bool]:
    """That host, made where it must be and started where it is stopped; and whether it was made by this call."""
    described = places.describe(fleet, place)
    if settings and (not described.made or described.root):
        why = "is there already" if described.made else "is not made by muster"
        raise UsageError(
            f"`{place.host}` {why}, so nothing can be said of how it is to be made",
            hint="another name makes another host, and `@.docker` one of its own",
        )
    described = places.describe(fleet, place, settings)
    if not place.host:
        raise UsageError(f"which host of `{place.provider}`?", hint=f"`HOST.{place.provider}`")
    if described.made and place.host == "local":
        raise UsageError("`local` is this machine, so no other host can have that name")
    _up(fleet, described)
    if not described.made:
        return places.find(fleet, place), False
    with lock.held(f"{fleet.home}/locks/host-{place.host}"):
        before = places.recorded(fleet, place.host)
        if not (before and before.root):
            return _make(fleet, described, own or described.own), True
        host: Any = places.at(places.build(fleet, before), before.root)
        condition, there = host.condition(), on(fleet, place.host)
        if condition == "gone":
            out.talk(out.safe(f"`{place.host}` was gone, with all that was on it, and is made anew"))
            host.create()
        elif condition != "running":
            host.start()
    if condition not in ("running", "paused"):
        settle(fleet, there)
    return host, False


def _make(fleet: Fleet, described: places.Record, own: bool) -> Host:
    host = places.build(fleet, described)
    host.condition()  # of what nobody answers for nothing is begun
    # Known before it is made: one whose creation is killed is found and finished, or taken away.
    described = places.save(fleet, msgspec.structs.replace(described, own=own))
    try:
        host.create()
        return places.at(host, places.meet(fleet, host, described).root)
    except BaseException:
        try:
            _drop(fleet, host)
        except HostError:
            pass  # it goes when its engine answers again; why it could not be made is the answer
        raise


def on(fleet: Fleet, name: str) -> list[Agent]:
    """The agents of that host."""
    return [agent for agent in fleet.known() if agent.host == name]


def settle(fleet: Fleet, there: Sequence[Agent]) -> None:
    """Programs that ended with their host were not meant to fail: they are stopped, and can be started."""
    for agent in there:
        with fleet.registry.locked(agent.id):
            current = fleet.registry.find(agent.id)
            if current and current.intent == "started":
                fleet.registry.save(msgspec.structs.replace(current, intent="stopped", changed=now()))


def _up(fleet: Fleet, described: places.Record) -> None:
    """Have the machine behind ssh up that it is, or that its engine is on: one that boots turns us away at first."""
    engine = described.settings.get("engine", "").partition("ssh://")[2]
    place = places.Place(engine, "ssh") if engine else places.Place(described.name, described.provider)
    machine = places.describe(fleet, place)
    if machine.provider != "ssh" or not (limit := places.build(fleet, machine).boot_timeout):
        return
    deadline, told = time.monotonic() + limit, False
    # Of many agents that are made there at once, one says so.
    with lock.held(f"{fleet.home}/locks/boot-{place.host}", wait=False) as first:
        while True:
            try:
                proc.run(places.find(fleet, place), ["true"])
                return
            except Silent as error:
                if time.monotonic() > deadline:
                    raise
                if first and not told:
                    out.talk(out.safe(f"{error}; it may be booting, so it is waited for ({limit:g} s at most)"))
                told = True
            time.sleep(_ASK_AGAIN)


@contextmanager
def lodged(fleet: Fleet, address: names.Address, settings: Mapping[str, Any]) -> Iterator[Host]:
    """The host for a new agent; one that was made for it goes again if the agent comes to nothing."""
    place = places.parse(address.host, address.provider)
    if not place.host:
        with _of_its_own(fleet, place.provider, address.name, settings) as host:
            yield host
        return
    record = places.recorded(fleet, place.host)
    if record and record.root and not record.made and not settings:
        _up(fleet, places.describe(fleet, place))
        yield fleet.seat(place.host, place.provider).host
        return
    host, fresh = create(fleet, place, settings)
    try:
        yield host
    except BaseException:
        if fresh and not on(fleet, host.name):
            destroy(fleet, host.name)
        raise


@contextmanager
def _of_its_own(fleet: Fleet, provider: str, want: str, settings: Mapping[str, Any]) -> Iterator[Host]:
    """A new host that is named like its agent, if no other is."""
    if not hasattr(hosts.provider(provider), "create"):
        raise UsageError(f"which host of `{provider}`?", hint=f"`NAME@HOST.{provider}`")
    while True:
        name = _fresh(fleet, want)
        # Who holds this is making its agent; without it, and without an agent, the host is a leftover.
        with lock.held(_lodger(fleet, name)):
            if places.recorded(fleet, name):
                continue  # another process was quicker
            host, _ = create(fleet, places.Place(name, provider), settings, own=True)
            try:
                yield host
            except BaseException:
                leave(fleet, name)
                raise
            return


def _lodger(fleet: Fleet, name: str) -> str:
    return f"{fleet.home}/locks/lodger-{name}"


def leftovers(fleet: Fleet) -> list[str]:
    """Take away the hosts of creates that were killed; what was done."""
    done, lodged = [], {agent.host for agent in fleet.known()}
    for record in places.all_recorded(fleet):
        if not record.made or record.name in lodged or (record.root and not record.own):
            continue
        with (
            lock.held(_lodger(fleet, record.name), wait=False) as free,
            lock.held(f"{fleet.home}/locks/host-{record.name}", wait=False) as idle,
        ):
            again = places.recorded(fleet, record.name)
            if free and idle and again and (again.own or not again.root):
                try:
                    _drop(fleet, places.build(fleet, again))
                    done.append(f"removed the host `{record.name}`, which no agent came to")
                except HostError as error:
                    done.append(f"left the host `{record.name}`: {error}")
    return done


def leave(fleet: Fleet, name: str) -> None:
    """Take away a host that was its agent's own, if no agent is left on it."""
    record = places.recorded(fleet, name)
    if record and record.own and not on(fleet, name):
        with lock.held(f"{fleet.home}/locks/host-{name}"):
            _drop(fleet, places.build(fleet, record))


def destroy(fleet: Fleet, name: str) -> None:
    """Take it away with all that is on it, where muster made it, and know nothing of it any more."""
    record = places.recorded(fleet, name)
    if record is None:
        raise places.unknown(fleet, name)
    with lock.held(f"{fleet.home}/locks/host-{name}"):
        if record.made:
            _drop(fleet, places.build(fleet, record))
        else:
            host = places.build(fleet, record)
            if close := getattr(host, "close", None):
                close()
            places.forget(fleet, name)


def _drop(fleet: Fleet, host: Any) -> None:
    host.destroy()
    places.forget(fleet, host.name)


def _fresh(fleet: Fleet, want: str) -> str:
    taken: Sequence[str] = [record.name for record in places.all_recorded(fleet)] + [*fleet.config().hosts, "local"]
    if not want:
        return names.fresh(taken)
    return next(
        name for number in range(1, 10_000) if (name := f"{want}-{number}" if number > 1 else want) not in taken
    )
