"""What happened, where agents live on several hosts: their logs and ours as one."""

from __future__ import annotations

import queue
from collections.abc import Generator, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from muster import hosts
from muster.agents import session
from muster.agents.watch import Happening, Watch, parse, told
from muster.core import fan
from muster.errors import MusterError
from muster.fleet.registry import now

if TYPE_CHECKING:
    from muster.fleet import Fleet

Past = tuple[list[Happening], int]


def events(fleet: Fleet, elsewhere: Sequence[str], follow: bool) -> Generator[Happening, None, None]:
    """Oldest first, by each host's own clock; followed, it goes on as they come."""
    offsets: dict[str, int] = {}
    found: list[Happening] = []
    for host, past in fan.out(lambda host: _past(fleet, host), ["local", *elsewhere], 32):
        if isinstance(past, MusterError):
            found.append(Happening(now(), "", "unreachable", f"{host} {past}"))
            past = [], 0
        elif isinstance(past, Exception):
            raise past
        found += past[0]
        offsets[host] = past[1]
    yield from sorted(found, key=lambda one: one.at)
    if follow:
        yield from _coming(fleet, offsets)


def _past(fleet: Fleet, host: str) -> Past:
    """What its log holds, and where that ends."""
    seat = fleet.seat(host)
    if host == "local":
        session.prepare(seat)
    *lines, _ = (hosts.read(seat.host, f"{seat.root}/events") or b"").split(b"\n")
    return [one for line in lines if (one := parse(line))], sum(len(line) + 1 for line in lines)


def _coming(fleet: Fleet, offsets: dict[str, int]) -> Generator[Happening, None, None]:
    news: queue.SimpleQueue[list[Happening]] = queue.SimpleQueue()
    with ExitStack() as stack:
        for host, offset in offsets.items():
            stack.enter_context(told(Watch(fleet.seat(host), offset), news.put))
        while True:
            yield from news.get()
