"""What happens on a host, as it happens: a tail of its event log, no polling."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import TracebackType

from msgspec import Struct

from muster import hosts
from muster.agents.session import Seat
from muster.core import fan, proc

_LOOK_FOR_ENDED = 0.05
# A host that lets nobody in is asked again after so many seconds, and after twice as many the next time.
_ASK_AGAIN, _ASK_AT_LEAST = 0.25, 10.0


class Happening(Struct, frozen=True):
    """One line of a host's event log."""

    at: float
    agent: str
    event: str
    detail: str = ""


class Watch:
    """The events of a host from an offset on."""

    def __init__(self, seat: Seat, offset: int) -> None:
        self._seat, self._offset, self._rest = seat, offset, b""
        self._closed = False
        self._pause, self._wake = 0.0, fan.Event()
        self._open()

    def _open(self) -> None:
        if hosts.far(self._seat.host):
            # It ends with our end of its standard input, also when we are killed.
            self._server, command = 0, self._seat.script("linked", str(self._offset))
            self._tail = proc.start(self._seat.host, command, stdin=proc.PIPE, stdout=proc.PIPE, stderr=proc.DEVNULL)
            return
        # Where tmux keeps the login records, it can miss that a program has ended (tmux issue 311): it is asked to look.
        pid = self._seat.server.run("display-message", "-p", "#{pid}", check=False).text
        self._server = int(pid) if pid.isdigit() else 0
        command = self._seat.script("watch", str(self._offset))
        self._tail = proc.start(self._seat.host, command, stdin=proc.DEVNULL, stdout=proc.PIPE, stderr=proc.DEVNULL)

    def next(self, timeout: float | None) -> list[Happening]:
        """The events since the last call, waiting for the first; none when the time is up or the tmux server ended."""
        assert self._tail.stdout is not None
        descriptor = self._tail.stdout.fileno()
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            if not self._heard(descriptor, left):
                return []
            data = os.read(descriptor, 1 << 16)
            if not data:
                self._ended()
                return []
            self._offset += len(data)
            self._pause = 0.0
            *lines, self._rest = (self._rest + data).split(b"\n")
            if found := [happening for line in lines if (happening := parse(line))]:
                return found

    def _heard(self, descriptor: int, left: float | None) -> bool:
        """Whether there is something to read before the time is up."""
        while self._server and not proc.nudge(self._server):
            step = _LOOK_FOR_ENDED if left is None else min(_LOOK_FOR_ENDED, left)
            if select.select([descriptor], [], [], step)[0]:
                return True
            if left is not None and (left := left - step) <= 0:
                return False
        return bool(select.select([descriptor], [], [], left)[0])

    def _ended(self) -> None:
        if self._closed:
            raise OSError("closed")
        proc.end_group(self._tail)
        self._offset -= len(self._rest)
        self._rest = b""
        if hosts.far(self._seat.host):
            self._wake.wait(self._pause)
            self._pause = min(max(2 * self._pause, _ASK_AGAIN), _ASK_AT_LEAST)
        self._open()
        if self._closed:  # meanwhile
            proc.kill_group(self._tail)

    def stop(self) -> None:
        """End what `next` waits for in another thread; that thread must be gone before it is closed."""
        self._closed = True
        self._wake.set()
        proc.kill_group(self._tail)

    def close(self) -> None:
        self._closed = True
        proc.end_group(self._tail)

    def __enter__(self) -> Watch:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@contextmanager
def told(watch: Watch, tell: Callable[[list[Happening]], object]) -> Iterator[None]:
    """Each of its events is told as it comes, by a thread that is gone when this ends."""
    thread = fan.aside(partial(_tell, watch, tell))
    try:
        yield
    finally:
        watch.stop()
        # A thread left behind would read from whatever is opened next under the same number.
        thread.join()
        watch.close()


def _tell(watch: Watch, tell: Callable[[list[Happening]], object]) -> None:
    while True:
        try:
            tell(watch.next(None))
        except OSError:
            return  # stopped: nobody listens any more


def parse(line: bytes) -> Happening | None:
    """One line of the log; what is no such line is left out."""
    at, *words = line.decode(errors="replace").split("\t")
    if len(words) < 2 or not at.replace(".", "", 1).isdigit():
        return None
    return Happening(float(at), words[0], words[1], words[2] if len(words) > 2 else "")
