"""Commands on other machines. How one ended is told by marks of its own, for the way there may break at any moment."""

from __future__ import annotations

import os
import selectors
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Literal, Protocol, runtime_checkable

from msgspec import Struct

from muster.core import fan, proc
from muster.core.proc import Result
from muster.errors import Unreachable

Start = Callable[[Sequence[str]], proc.Process]
Over = Literal["ended", "timed out", "lost", "too much", "interrupted"]

# No answer that is read as a whole is longer; files go through streams.
LIMIT = 1 << 28

# On stderr, which no program's answer is read from: the group's id when it begins, the exit code when it has ended.
_MARKED = 'echo "$0 $$" >&2; "$@"; code=$?; echo "$0 =$code" >&2; exit $code'

# $1 and all that it started, behind the text of `tree`.
_END = r"""
all=$(tree "$1")
[ -n "$all" ] && kill -TERM $all 2>/dev/null
for try in 0 1 2 3 4 5 6 7 8 9; do
  left=$(tree $all)
  [ -z "$left" ] && exit 0
  sleep 0.1
done
kill -KILL $left 2>/dev/null
exit 0
"""

# A server that lets only so many in at once turns others away before anything was begun, so asking again is safe.
_PAUSES = (0.1, 0.3, 0.8, 2.0, 4.0)


@runtime_checkable
class Far(Protocol):
    """A place that is not this machine."""

    @property
    def name(self) -> str: ...

    @property
    def patience(self) -> float:
        """So many seconds without a sign of life, and it is lost."""
        ...

    def argv(self, command: Sequence[str], *, tty: bool = False) -> list[str]: ...

    def busy(self, said: str) -> bool:
        """Whether its door said that too many are in."""
        ...

    def unreachable(self, said: str) -> Unreachable:
        """Why nothing could be run there, by what its door said."""
        ...


class Marks(Struct, frozen=True):
    """What a command's stderr says of it."""

    pid: int | None
    code: int | None
    err: bytes  # its own
    door: str  # what was said before it began


def marked(command: Sequence[str], token: str) -> list[str]:
    """The command with marks around it."""
    return ["sh", "-c", _MARKED, token, *command]


def marks(err: bytes, token: str) -> Marks:
    """Those marks, and what is left without them."""
    door, begun, rest = err.partition(f"{token} ".encode())
    said = door.decode(errors="replace").strip()
    number, _, rest = rest.partition(b"\n")
    if not begun or not number.isdigit():
        return Marks(None, None, err, said)
    before, ended, after = rest.rpartition(f"{token} =".encode())
    if not ended:
        return Marks(int(number), None, rest, said)
    code, _, after = after.partition(b"\n")
    return Marks(int(number), int(code) if code.isdigit() else None, before + after, said)


def attempt(place: Far, command: Sequence[str], start: Start, *, stdin: bytes | None, timeout: float | None) -> Result:
    """Run it there: an exit code, `timed out` or `lost`; it raises only where nothing was begun."""
    for pause in (*_PAUSES, 0):
        found = _once(place, command, start, stdin=stdin, timeout=timeout)
        if isinstance(found, Result):
            return found
        if not pause or not place.busy(found):
            raise place.unreachable(found)
        time.sleep(pause * (0.5 + os.urandom(1)[0] / 256))
    raise AssertionError("the last pause is none")


def _once(
    place: Far, command: Sequence[str], start: Start, *, stdin: bytes | None, timeout: float | None
) -> Result | str:
    token = f"m{os.urandom(8).hex()}"
    talk = _Talk(start(marked(command, token)), stdin)
    over: Over = "interrupted"
    try:
        over = talk.until_over(place, None if timeout is None else time.monotonic() + timeout)
    finally:
        talk.close()
        found = marks(bytes(talk.err), token)
        # Its end here is not its end there.
        ended = over == "ended" or (found.pid is not None and over != "lost" and end(place, found.pid))
    out = bytes(talk.out)
    if found.code is not None and over == "ended":
        return Result(tuple(command), found.code, out, found.err, door=found.door)
    if over == "too much":
        raise Unreachable(f"`{place.name}` said more than {LIMIT >> 20} MB, which nobody can read")
    if over == "timed out" and ended:
        return Result(tuple(command), 124, out, found.err, timed_out=True)
    if over == "timed out" or found.pid is not None:
        return Result(tuple(command), 125, out, found.err, lost=True)
    return found.door


class _Talk:
    """What is said to a command, and what it says."""

    def __init__(self, process: proc.Process, stdin: bytes | None) -> None:
        self.process, self.out, self.err = process, bytearray(), bytearray()
        self._left = memoryview(stdin or b"")
        self._streams = selectors.DefaultSelector()
        for stream, heard in ((process.stdout, self.out), (process.stderr, self.err)):
            if stream:
                self._streams.register(stream, selectors.EVENT_READ, heard)
        if process.stdin:
            os.set_blocking(process.stdin.fileno(), False)
            self._streams.register(process.stdin, selectors.EVENT_WRITE)

    def until_over(self, place: Far, deadline: float | None) -> Over:
        """Until its end; or until there is no more time, or no sign of life from its host."""
        while self._streams.get_map():
            left = place.patience if deadline is None else min(place.patience, deadline - time.monotonic())
            if left <= 0:
                return "timed out"
            events = self._streams.select(left)
            for key, _ in events:
                self._serve(key)
            if len(self.out) + len(self.err) > LIMIT:
                return "too much"
            if not events and (deadline is None or time.monotonic() < deadline) and not answers(place):
                return "lost"
        self.process.wait()
        return "ended"

    def _serve(self, key: selectors.SelectorKey) -> None:
        if key.data is None:
            self._write()
        elif data := os.read(key.fd, 1 << 18):
            key.data.extend(data)
        else:
            self._streams.unregister(key.fileobj)

    def _write(self) -> None:
        stream = self.process.stdin
        assert stream
        try:
            self._left = self._left[os.write(stream.fileno(), self._left[: 1 << 16]) :]
        except BlockingIOError:
            return
        except BrokenPipeError:
            self._left = self._left[:0]  # it has read enough
        if not self._left:
            self._streams.unregister(stream)
            stream.close()

    def close(self) -> None:
        # Only the one process: what it started may be the connection that others share.
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._streams.close()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream:
                stream.close()


def answers(place: Far) -> bool:
    """Whether it gives a sign of life within its patience."""
    return _quick(place, ["true"], place.patience)


@contextmanager
def watched(place: proc.Prefix, process: proc.Process) -> Iterator[Callable[[], bool]]:
    """End a process through which things go there or come from there once there is no sign of life; whether it was so.

    Where the way itself ends with the connection (`vigilant`), nothing has to be asked.
    """
    lost: list[bool] = []

    def look() -> None:
        # What is on the way may fill it, so the answer may take longer than one to a question alone.
        if not lost and process.poll() is None and not _quick(place, ["true"], 4 * patience):
            lost.append(True)
            proc.end_tree(process.pid)

    patience: float = getattr(place, "patience", 0.0)
    if not patience or getattr(place, "vigilant", False):
        yield lambda: False
        return
    with fan.every(patience, look):
        yield lambda: bool(lost)


def end(place: Far, pid: int) -> bool:
    """End a process there and all that it started; whether we got there to do it."""
    return _quick(place, ["sh", "-c", proc.tree_script() + _END, "sh", str(pid)], place.patience)


def _quick(place: proc.Prefix, command: Sequence[str], patience: float) -> bool:
    silent = proc.DEVNULL
    process = proc.start(place, command, stdin=silent, stdout=silent, stderr=silent)
    code = proc.wait(process, patience)
    if code is None:
        process.kill()
        process.wait()
    return code == 0
