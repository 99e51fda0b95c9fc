"""A command on another machine that runs on our own streams."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from muster.core import far, proc
from muster.core.far import Far


class Link:
    """Like a process of this machine, but how it ended is told by its marks, and it is ended where it is."""

    def __init__(self, place: Far, command: Sequence[str], *, stdin: int | None, stdout: int | None) -> None:
        self._place, self._token = place, f"m{os.urandom(8).hex()}"
        self._pid: int | None = None
        self._code: int | None = None
        self._door, self._over = b"", False
        words = far.marked(command, self._token)
        self.process = proc.start(place, words, stdin=stdin, stdout=stdout, stderr=proc.PIPE)
        self.stdout = self.process.stdout

    def said(self) -> Iterator[bytes]:
        """What it says on its standard error, as it does, without our marks; to be heard to its end."""
        with far.watched(self._place, self.process):
            yield from self._said()

    def _said(self) -> Iterator[bytes]:
        assert self.process.stderr
        begin, end, held = f"{self._token} ".encode(), f"{self._token} =".encode(), b""
        while data := os.read(self.process.stderr.fileno(), 1 << 16):
            if self._over:
                continue  # what its end by us makes a shell say
            held += data
            if self._pid is None:
                door, found, rest = held.partition(begin)
                self._door = door
                if not found or b"\n" not in rest:
                    continue
                number, _, held = rest.partition(b"\n")
                self._pid = int(number)
            text, found, rest = held.partition(end)
            if found:
                yield text
                held = found + rest
            else:
                kept = _begun(held, end)
                yield held[: len(held) - kept]
                held = held[len(held) - kept :]
        code, _, after = held.removeprefix(end).partition(b"\n")
        if held.startswith(end) and code.isdigit():
            self._code = int(code)
            yield after
        elif self._pid is not None:
            yield held

    def wait(self, timeout: float | None) -> int | None:
        """Its exit code, once all that it said was heard; None if the time was up first."""
        return proc.wait(self.process, timeout)

    def ending(self) -> int:
        """Its exit code, after its end and the end of what it said."""
        if self._code is not None:
            return self._code
        if self._pid is None:
            raise self._place.unreachable(self._door.decode(errors="replace").strip())
        raise proc.broken(self._place.name)

    def end(self) -> None:
        """End it and all that it started, there and here."""
        self._over = True
        if self._pid is not None:
            far.end(self._place, self._pid)
        # Only the one process: what it started may be the connection that others share.
        self.process.kill()
        self.process.wait()


def _begun(text: bytes, mark: bytes) -> int:
    """How much of the mark the text ends with."""
    return next((size for size in range(min(len(mark), len(text)), 0, -1) if text.endswith(mark[:size])), 0)
