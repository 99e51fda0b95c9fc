"""Commands in an agent's workspace, with its environment."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING

from muster import hosts
from muster.agents import Agent
from muster.core import fan, out, proc
from muster.errors import Lost, NotFound
from muster.fleet import Exit

if TYPE_CHECKING:
    from muster.core.link import Link
    from muster.fleet import Fleet

# The way there has no word for a command that ended by a signal; and it answers with this code if it broke.
_CODED, _NO_WAY = 'trap : INT QUIT; "$@"; exit $?', 255
# Of a command whose host was lost, no other code is known.
LOST = 125


def _command(fleet: Fleet, agent: Agent, command: Sequence[str], cwd: str) -> list[str]:
    seat = fleet.seat(agent.host)
    folder = seat.folder(agent.id)
    # `enter` goes to the workspace and takes the agent's environment; what it then runs replaces it.
    if not cwd:
        return ["sh", f"{folder}/enter", *command]
    return ["sh", f"{folder}/enter", "sh", "-c", 'cd -- "$1" || exit 125; shift; exec "$@"', "sh", cwd, *command]


def _check(fleet: Fleet, agent: Agent, cwd: str) -> None:
    path = os.path.join(agent.workspace.path, cwd)
    if not hosts.is_folder(fleet.seat(agent.host).host, path):
        raise NotFound(f"`{agent.name}` has no folder `{path}`", hint="`muster why` tells what became of its workspace")


def execute(
    fleet: Fleet,
    agent: Agent,
    command: Sequence[str],
    *,
    cwd: str = "",
    timeout: float | None = None,
    stdin: bytes | None = None,
) -> Exit:
    """Run it and take what it prints."""
    _check(fleet, agent, cwd)
    place = fleet.seat(agent.host).host
    result = proc.run(place, _command(fleet, agent, command, cwd), stdin=stdin, timeout=timeout, check=False)
    text, err = (data.decode(errors="replace") for data in (result.out, result.err))
    return Exit(agent.id, agent.name, proc.shell_code(result.code), text, err, result.timed_out)


class Commands:
    """Commands that run on our own streams; those that still run when an error or ^C ends us are ended as well."""

    def __init__(self, fleet: Fleet, command: Sequence[str], *, cwd: str = "", timeout: float | None = None) -> None:
        self._fleet, self._command, self._cwd, self._timeout = fleet, command, cwd, timeout
        self._started: list[proc.Process] = []
        self._links: list[Link] = []
        self._over = False

    def run(self, agent: Agent, prefix: str = "") -> int:
        """Run it there, each line after the prefix if there is one; its exit code, or 124."""
        _check(self._fleet, agent, self._cwd)
        if hosts.far(self._fleet.seat(agent.host).host) and not self._shows(prefix):
            return self._elsewhere(agent, prefix)
        process = self._start(agent, prefix)
        copies = [
            fan.aside(lambda source=source, target=target: _copy(source, target, prefix))  # type: ignore[misc]
            for source, target in ((process.stdout, sys.stdout), (process.stderr, sys.stderr))
            if source is not None
        ]
        code = self._await(process, agent.name)
        place = self._fleet.seat(agent.host).host
        if code == _NO_WAY and hosts.far(place) and _lost(place):
            return out.failure(f"{agent.name}: the link to {place.name} broke", "", LOST)
        for copy in copies:
            copy.join()
        return code

    def _shows(self, prefix: str) -> bool:
        """Whether a person's terminal is put on it."""
        return not prefix and self._timeout is None and sys.stdin.isatty() and sys.stdout.isatty()

    def _elsewhere(self, agent: Agent, prefix: str) -> int:
        """On another host: ^C ends it there as well, and so does the time limit."""
        from muster.core.link import Link

        place = self._fleet.seat(agent.host).host
        command = _command(self._fleet, agent, self._command, self._cwd)
        with _uninterrupted():
            link = Link(
                place,  # type: ignore[arg-type]
                command,
                stdin=proc.DEVNULL if prefix else None,
                stdout=proc.PIPE if prefix else None,
            )
            self._links.append(link)
        if self._over:
            link.end()
        copies = [fan.aside(lambda: _copy(_lines(link.said()), sys.stderr, prefix) if prefix else _pass(link.said()))]
        if link.stdout:
            copies.append(fan.aside(lambda: _copy(link.stdout, sys.stdout, prefix)))
        code = link.wait(self._timeout)
        if code is None:
            link.end()
        for copy in copies:
            copy.join()
        self._links.remove(link)
        if code is None:
            return self._late(agent.name)
        try:
            return link.ending()
        except Lost as error:
            return out.failure(f"{agent.name}: {error}", error.hint, LOST)

    def _late(self, name: str) -> int:
        out.talk(out.safe(f"`{name}`: the command was ended after {self._timeout:g} s"))
        return 124

    def _start(self, agent: Agent, prefix: str) -> proc.Process:
        pipe = proc.PIPE if prefix else None
        with _uninterrupted():
            place, command = self._fleet.seat(agent.host).host, _command(self._fleet, agent, self._command, self._cwd)
            if hosts.far(place):
                command = ["sh", "-c", _CODED, "sh", *command]
            # Without a time limit it stays in our process group: ^C and ^Z on the terminal are its own.
            process = proc.start(
                place,
                command,
                tty=hosts.far(place),
                stdin=proc.DEVNULL if prefix else None,
                stdout=pipe,
                stderr=pipe,
                group=self._timeout is not None,
            )
            self._started.append(process)
        if self._over:
            proc.end_tree(process.pid)
        return process

    def _await(self, process: proc.Process, name: str) -> int:
        deadline = None if self._timeout is None else time.monotonic() + self._timeout
        while True:
            try:
                code = proc.wait(process, None if deadline is None else max(0.0, deadline - time.monotonic()))
            except KeyboardInterrupt:
                if self._timeout is None:
                    continue  # the terminal sent ^C to the command as well; how it ends is its own choice
                raise
            if code is None:
                proc.end_tree(process.pid)
                process.wait()
                return self._late(name)
            return proc.shell_code(code)

    def __enter__(self) -> Commands:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over = True
        for process in self._started if kind else ():
            if process.poll() is None:
                proc.end_tree(process.pid)
        for link in list(self._links) if kind else ():
            link.end()


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """A ^C in here is answered after it: what was being started can be ended then."""
    came: list[int] = []
    try:
        before = signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    except ValueError:
        yield  # only the main thread is ever interrupted
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        raise KeyboardInterrupt


def _lost(place: hosts.Host) -> bool:
    from muster.core import far

    return not far.answers(place)  # type: ignore[arg-type]


def _pass(pieces: Iterable[bytes]) -> None:
    for piece in pieces:
        sys.stderr.buffer.write(piece)
        sys.stderr.flush()


def _lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    rest = b""
    for piece in pieces:
        *lines, rest = (rest + piece).split(b"\n")
        yield from (line + b"\n" for line in lines)
    if rest:
        yield rest


def _copy(source: object, target: object, prefix: str) -> None:
    for line in source:  # type: ignore[attr-defined]
        text = line.decode(errors="replace").rstrip("\n")
        out.prefixed(prefix, text, target)
