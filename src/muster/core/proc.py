"""Starting processes: here, and nowhere else."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from typing import Protocol

from msgspec import Struct

from muster.errors import CommandFailed, Lost, Unreachable

PIPE, DEVNULL = subprocess.PIPE, subprocess.DEVNULL
Process = subprocess.Popen[bytes]

# A descriptor that the commands run in this context keep open: a lock on it lasts until the last of them has ended,
# also when we are killed while one is at work.
HELD: ContextVar[int | None] = ContextVar("HELD", default=None)


class Prefix(Protocol):
    """A place where commands run: the local argv that runs an argv there."""

    @property
    def name(self) -> str: ...

    def argv(self, command: Sequence[str], *, tty: bool = False) -> list[str]: ...


class Result(Struct, frozen=True):
    """How a command ended: an exit code, or it ran out of time, or the link to its host broke."""

    argv: tuple[str, ...]
    code: int
    out: bytes
    err: bytes
    timed_out: bool = False
    lost: bool = False
    door: str = ""  # what the way there said before it began

    @property
    def text(self) -> str:
        return self.out.decode(errors="replace").rstrip("\n")

    @property
    def said(self) -> str:
        """Its last words, for an error message."""
        lines = (self.err or self.out).decode(errors="replace").strip().splitlines()
        # Of a full disk many a program says more at the end, which says less.
        full = [line for line in lines if "No space left on device" in line]
        return [*full, lines[-1]][0] if lines else f"exit code {self.code}"


def run(
    place: Prefix,
    command: Sequence[str],
    *,
    stdin: bytes | None = None,
    cwd: str | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float | None = None,
    check: bool = True,
    hold: bool = True,
    by: Prefix | None = None,
) -> Result:
    """Run a command there and wait for it; on a time limit its whole process tree is ended.

    `by` is the host that a command of this machine talks to by itself, which may be lost meanwhile. Where the link to its host broke, whether it was done is not known: that is raised, checked or not.
    """
    result = attempt(place, command, stdin=stdin, cwd=cwd, env=env, timeout=timeout, hold=hold, by=by)
    words = " ".join(command[:3]) if "\n" not in "".join(command[:3]) else command[0]
    if result.lost:
        raise broken((by or place).name, f" while `{words}` ran")
    if check and result.code:
        raise CommandFailed(f"`{words}` failed on {place.name}: {result.said}")
    return result


def broken(name: str, meanwhile: str = "") -> Lost:
    """The link to the host of that name did."""
    return Lost(f"the link to {name} broke{meanwhile}", hint="whether it was done is not known")


def attempt(
    place: Prefix,
    command: Sequence[str],
    *,
    stdin: bytes | None = None,
    cwd: str | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float | None = None,
    hold: bool = True,
    by: Prefix | None = None,
) -> Result:
    """The same with all three ends as a result: an exit code, `timed out` or `lost`."""
    held = HELD.get() if hold else None
    far = getattr(place, "patience", None) is not None

    def begin(command: Sequence[str]) -> Process:
        argv = place.argv(command)
        if far and held is not None:
            # `ssh` closes what it was not told of, so a shell holds it until the way there has ended.
            argv = ["sh", "-c", '"$@"; exit $?', "sh", *argv]
        try:
            return subprocess.Popen(
                argv,
                stdin=DEVNULL if stdin is None else PIPE,
                stdout=PIPE,
                stderr=PIPE,
                cwd=cwd,
                env=env,
                start_new_session=far or timeout is not None,
                pass_fds=() if held is None else (held,),
            )
        except FileNotFoundError as error:
            raise Unreachable(
                f"there is no program `{argv[0]}` on this machine", hint="`muster doctor` says more"
            ) from error

    if far:
        from muster.core.far import Far
        from muster.core.far import attempt as there

        assert isinstance(place, Far)
        return there(place, command, begin, stdin=stdin, timeout=timeout)
    process, timed_out = begin(command), False
    if by is not None:
        from muster.core.far import watched

        with watched(by, process) as lost:
            out, err = process.communicate(stdin)
        return Result(tuple(command), 125 if lost() else process.returncode, out, err, lost=lost())
    try:
        out, err = process.communicate(stdin, timeout)
    except subprocess.TimeoutExpired:
        timed_out = True
        end_tree(process.pid)
        out, err = process.communicate()
    return Result(tuple(command), 124 if timed_out else process.returncode, out, err, timed_out)


def start(
    place: Prefix,
    command: Sequence[str],
    *,
    stdin: int | None = None,
    stdout: int | None = None,
    stderr: int | None = None,
    env: Mapping[str, str] | None = None,
    group: bool = True,
    tty: bool = False,
) -> subprocess.Popen[bytes]:
    """Start a command there in a process group of its own; the caller waits for it and ends it."""
    return subprocess.Popen(
        place.argv(command, tty=tty), stdin=stdin, stdout=stdout, stderr=stderr, env=env, start_new_session=group
    )


def end_tree(pid: int, grace: float = 1.0) -> None:
    """End a process, all that it started and all that they started: asked first, then made to."""
    import time

    pids = tree(pid)
    deadline = time.monotonic() + grace
    _send(pids, signal.SIGTERM)
    while time.monotonic() < deadline:
        _reap(pid)
        if not any(alive(one) for one in pids):
            return
        time.sleep(0.01)
    _send([*pids, *tree(pid)], signal.SIGKILL)


def tree(pid: int) -> list[int]:
    """That process, its descendants, and everything in their sessions and process groups."""
    listing = subprocess.run(
        ["ps", "-A", "-o", "pid=", "-o", "ppid=", "-o", "pgid="], capture_output=True, check=False
    ).stdout.decode()
    rows = [tuple(map(int, line.split())) for line in listing.splitlines() if len(line.split()) == 3]
    found = {pid}
    while True:
        more = {one for one, parent, group in rows if (parent in found or group in found) and one not in found}
        if not more:
            return sorted(found)
        found |= more


def tree_script() -> str:
    """The same as functions of a shell, for other machines."""
    with open(os.path.join(os.path.dirname(__file__), "tree.sh")) as file:
        return file.read()


def alive(pid: int) -> bool:
    """Whether that process is there, as anything but a zombie."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b") ")[2][:1] != b"Z"
    except OSError:
        return os.path.exists("/proc/self") is False  # no /proc (macOS): the signal's answer stands


def _send(pids: Sequence[int], number: int) -> None:
    for one in pids:
        try:
            os.kill(one, number)
        except (ProcessLookupError, PermissionError):
            pass  # it ended by itself


def _reap(pid: int) -> None:
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        pass  # not ours, or reaped already


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """End what `start` started; who reads from it sees the end."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass  # it ended by itself


def end_group(process: subprocess.Popen[bytes]) -> None:
    """End what `start` started, and wait for it."""
    kill_group(process)
    process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            stream.close()


def wait(process: subprocess.Popen[bytes], timeout: float | None) -> int | None:
    """Its exit code; None if the time was up first."""
    try:
        return process.wait(timeout)
    except subprocess.TimeoutExpired:
        return None


def shell_code(code: int) -> int:
    """A signal's number as a shell reports it."""
    return 128 - code if code < 0 else code


def nudge(pid: int) -> bool:
    """Have a process look for children of its own that have ended; whether it is gone itself."""
    try:
        os.kill(pid, signal.SIGCHLD)
    except ProcessLookupError:
        return True
    return False
