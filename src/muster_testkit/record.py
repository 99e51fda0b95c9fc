"""`python -m muster_testkit record -- COMMAND...`: run a command on a terminal of its own, and record it."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time
import tty
from collections.abc import Sequence

from muster_testkit.artifacts import fresh
from muster_testkit.cast import TERM, Cast

COLUMNS, ROWS = 80, 24
# So long may the command take to end once its terminal is gone.
PATIENCE = 2.0


def record(argv: Sequence[str], into: str, *, state: str = "", background: bool = False) -> int:
    """Run it until it ends or SIGTERM comes; its exit code, or 0 at once if it goes into the background."""
    os.makedirs(into, exist_ok=True)
    path = fresh(into, os.path.basename(argv[0]), ".cast")[0]
    if background:
        ready, told = os.pipe()
        if os.fork():
            os.close(told)
            # Whoever called may look for the recording as soon as this returns.
            return 0 if os.read(ready, 1) else 1
        os.close(ready)
        os.setsid()
        if os.fork():
            os._exit(0)
        with open(os.devnull, "r+b") as nothing:
            for one in (0, 1, 2):
                os.dup2(nothing.fileno(), one)
    else:
        told = -1
    code = _record(argv, path, state, told, shown=not background)
    if background:
        os._exit(code)
    return code


def _record(argv: Sequence[str], path: str, state: str, told: int, shown: bool) -> int:
    size = _size(0) if shown and os.isatty(0) else (COLUMNS, ROWS)
    stop, woken = os.pipe()
    os.set_blocking(woken, False)
    # Written to by the signals' arrival, so that none is missed between looking and waiting.
    signal.set_wakeup_fd(woken)
    signal.signal(signal.SIGTERM, lambda *_: None)
    signal.signal(signal.SIGHUP, lambda *_: None)
    signal.signal(signal.SIGWINCH, lambda *_: None)
    cast = Cast(path, *size, title=" ".join(argv))
    pid, master = pty.fork()
    if pid == 0:
        _become(argv)
    _resize(master, *size)
    note = os.path.join(state, f"{os.getpid()}.pid") if state else ""
    if note:
        with open(note, "w"):
            pass
    if told >= 0:
        os.write(told, b"1")
        os.close(told)
    before = termios.tcgetattr(0) if shown and os.isatty(0) else None
    try:
        if before:
            tty.setraw(0)
        _copy(master, stop, cast, shown)
    finally:
        if before:
            termios.tcsetattr(0, termios.TCSADRAIN, before)
        cast.close()
        os.close(master)
        code = _end(pid)
        if note:
            os.unlink(note)
    return code


def _become(argv: Sequence[str]) -> None:
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGWINCH):
        signal.signal(number, signal.SIG_DFL)
    os.environ.setdefault("TERM", TERM)
    try:
        os.execvp(argv[0], list(argv))
    except OSError as error:
        os.write(2, f"{argv[0]}: {error.strerror}\n".encode())
        os._exit(127 if isinstance(error, FileNotFoundError) else 126)


def _copy(master: int, stop: int, cast: Cast, shown: bool) -> None:
    """Pass on what is typed and what is shown until the command's terminal closes, or a signal says to stop."""
    sources = [master, stop, *([0] if shown else [])]
    while True:
        for one in select.select(sources, [], [])[0]:
            if one == stop:
                heard = os.read(stop, 64)
                if signal.SIGTERM in heard or signal.SIGHUP in heard:
                    return
                if signal.SIGWINCH in heard and shown and os.isatty(0):
                    _resize(master, *_size(0))
                    cast.resize(*_size(0))
                continue
            try:
                data = os.read(one, 65_536)
            except OSError:
                data = b""
            if one == master:
                if not data:
                    return
                cast.output(data)
                if shown:
                    _write(1, data)
            elif data:
                _write(master, data)
            else:
                sources.remove(0)


def _write(file: int, data: bytes) -> None:
    while data:
        data = data[os.write(file, data) :]


def _end(pid: int) -> int:
    """The exit code of the command, which has lost its terminal and is ended if that doesn't end it."""
    deadline = time.monotonic() + PATIENCE
    while True:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code
        if time.monotonic() > deadline:
            os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)


def _size(terminal: int) -> tuple[int, int]:
    rows, columns, _, _ = struct.unpack("HHHH", fcntl.ioctl(terminal, termios.TIOCGWINSZ, bytes(8)))
    return columns or COLUMNS, rows or ROWS


def _resize(terminal: int, columns: int, rows: int) -> None:
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def main(words: Sequence[str]) -> int:
    """The command line of it."""
    import argparse

    parser = argparse.ArgumentParser(
        prog="python -m muster_testkit record", description="Run a command on a terminal of its own, and record it."
    )
    parser.add_argument("--into", default=".", metavar="DIR", help="where the recording is kept, as asciicast v2")
    parser.add_argument("--background", action="store_true", help="return at once and go on until SIGTERM")
    parser.add_argument("--state", default="", metavar="DIR", help="keep PID.pid there while recording")
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="-- COMMAND...")
    given = parser.parse_args(words)
    argv = given.command[1:] if given.command[:1] == ["--"] else given.command
    if not argv:
        parser.error("which command?")
    return record(argv, given.into, state=given.state, background=given.background)
