"""Finding and ending what a test has started, also what went into the background."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

# In the environment of every command that a test runs; a process that hides from its parents still has it.
MARK = "TESTKIT_RUN"


class Process(NamedTuple):
    """One line of the process table."""

    pid: int
    parent: int
    group: int


def table() -> list[Process]:
    """All processes but zombies."""
    if not os.path.isdir("/proc/self"):
        return _listed()
    found = []
    for name in os.listdir("/proc"):
        # `pid (name) state parent group ...`: the name may hold anything, also parentheses.
        words = _read(f"/proc/{name}/stat").rpartition(b") ")[2].split() if name.isdigit() else []
        if words and words[0] not in (b"Z", b"X"):
            found.append(Process(int(name), int(words[1]), int(words[2])))
    return found


def _listed() -> list[Process]:
    argv = ["ps", "-A", "-o", "pid=", "-o", "ppid=", "-o", "pgid=", "-o", "state="]
    lines = subprocess.run(argv, capture_output=True, check=False).stdout.decode(errors="replace").splitlines()
    rows = [line.split() for line in lines]
    return [Process(*map(int, row[:3])) for row in rows if len(row) == 4 and not row[3].startswith("Z")]


def below(pid: int) -> set[int]:
    """That process, its descendants, and all in their process groups."""
    rows = table()
    found = {pid}
    while more := {one.pid for one in rows if (one.parent in found or one.group in found) and one.pid not in found}:
        found |= more
    return found & {one.pid for one in rows}


def marked(mark: str) -> set[int]:
    """The processes whose environment has that `NAME=value`, or one that begins so."""
    needle = mark.encode()
    if not os.path.isdir("/proc/self"):
        argv = ["ps", "-A", "-ww", "-E", "-o", "pid=,command="]
        lines = subprocess.run(argv, capture_output=True, check=False).stdout.splitlines()
        rows = [line.strip().partition(b" ") for line in lines]
        return {int(pid) for pid, _, words in rows if b" " + needle in words} - {os.getpid()}
    found = set()
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid() and b"\0" + needle in b"\0" + _read(f"/proc/{name}/environ"):
            found.add(int(name))
    return found


def title(pid: int) -> str:
    """The command line of that process."""
    words = _read(f"/proc/{pid}/cmdline").replace(b"\0", b" ").decode(errors="replace").strip()
    return words or f"process {pid}"


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""  # it ended in this moment, or is another user's


def end(find: Callable[[], Iterable[int]], grace: float = 1.0) -> list[str]:
    """End all processes that are found, asked first, then made to; their command lines are handed back."""
    first = set(find())
    titles = [title(pid) for pid in sorted(first)]
    send(first, signal.SIGTERM)
    deadline = time.monotonic() + grace
    while (left := set(find())) and time.monotonic() < deadline:
        time.sleep(0.01)
    # What forks while it is being ended is found in the next round.
    for _ in range(20):
        if not left:
            break
        send(left, signal.SIGKILL)
        time.sleep(0.01)
        left = set(find())
    return titles


def send(pids: Iterable[int], number: int) -> None:
    """Signal them."""
    for pid in pids:
        try:
            os.kill(pid, number)
        except (ProcessLookupError, PermissionError):
            pass  # it ended by itself
