"""Follow: the same question, asked again whenever something happened."""

from __future__ import annotations

import os
import queue
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING

from muster.agents import session
from muster.agents.watch import Watch, told

if TYPE_CHECKING:
    from muster.fleet import Fleet
    from muster.fleet.look import View


def views(fleet: Fleet, ask: Callable[[], View], every: float) -> Iterator[View]:
    """What is answered now, again when something happened anywhere in the fleet, and at least every so many seconds."""
    seat = fleet.seat("local")
    if not os.path.exists(f"{seat.root}/muster.sh"):
        session.prepare(seat)  # nothing was ever made here, and it may be soon
    # Agents come and go while we look, and what is done with them is written down here, wherever they live.
    here = _size(f"{seat.root}/events")
    view = ask()
    yield view
    with ExitStack() as stack:
        news: queue.SimpleQueue[None] = queue.SimpleQueue()
        for host, offset in {**view.offsets, "local": here}.items():
            stack.enter_context(told(Watch(fleet.seat(host), offset), lambda _: news.put(None)))
        while True:
            try:
                news.get(timeout=every)
                while True:
                    news.get_nowait()  # one look answers all that happened before it
            except queue.Empty:
                yield ask()


def _size(path: str) -> int:
    return os.path.getsize(path) if os.path.exists(path) else 0
