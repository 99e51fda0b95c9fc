"""Running a command to its end: streams kept apart, in their order of arrival, and nothing of it outlives its time."""

from __future__ import annotations

import os
import selectors
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from muster_testkit import processes
from muster_testkit.errors import KitError

Stream = Literal["stdout", "stderr"]
Heard = Callable[[Stream, bytes], None]
TIMED_OUT = 124
# Of both streams together so many bytes are kept; the rest is read, so that the command goes on, and dropped.
KEEP = 256 * 1024 * 1024
# A process left in the background may hold the streams open; so many seconds are its last words waited for.
LINGER = 0.1
_CHUNK = 65_536


@dataclass
class Ended:
    """What became of a command."""

    code: int = 0
    signal: int = 0
    seconds: float = 0.0
    timed_out: bool = False
    left_out: int = 0
    parts: dict[Stream, list[bytes]] = field(default_factory=lambda: {"stdout": [], "stderr": []})
    kept: int = 0

    def hear(self, stream: Stream, data: bytes) -> None:
        fits = data[: KEEP - self.kept]
        self.parts[stream].append(fits)
        self.kept += len(fits)
        self.left_out += len(data) - len(fits)


def run(
    argv: Sequence[str], *, env: Mapping[str, str], cwd: str, stdin: bytes | None, timeout: float, hear: Heard
) -> Ended:
    """Run it and wait for it; when its time is up, it is ended with all that it started."""
    ended = Ended()
    began = time.monotonic()
    try:
        process = _start(argv, env, cwd, stdin)
    except (FileNotFoundError, PermissionError) as error:
        if not os.path.isdir(cwd):
            raise KitError(f"there is no folder `{cwd}` to run in") from error
        # As a shell would say it.
        ended.code = 127 if isinstance(error, FileNotFoundError) else 126
        ended.hear("stderr", words := f"{argv[0]}: {error.strerror}\n".encode())
        hear("stderr", words)
        return ended
    except ValueError as error:
        raise KitError(f"this can't be run: {error}") from error
    try:
        ended.timed_out = not _follow(process, stdin, began + timeout, ended, hear)
    finally:
        # Also when the test itself is interrupted here.
        if process.returncode is None:
            _end(process, env)
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                _close(stream)
    ended.seconds = time.monotonic() - began
    code = process.returncode
    ended.signal = -code if code < 0 and not ended.timed_out else 0
    ended.code = TIMED_OUT if ended.timed_out else 128 - code if code < 0 else code
    return ended


def _start(argv: Sequence[str], env: Mapping[str, str], cwd: str, stdin: bytes | None) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        argv,
        bufsize=0,
        stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=cwd,
        env=dict(env),
        start_new_session=True,
    )


def _close(stream: object) -> None:
    try:
        stream.close()  # type: ignore[attr-defined]
    except BrokenPipeError:
        pass  # it didn't want all of its input


def _end(process: subprocess.Popen[bytes], env: Mapping[str, str]) -> None:
    mark = f"{processes.MARK}={env[processes.MARK]}\0" if processes.MARK in env else ""

    def find() -> set[int]:
        process.poll()  # so that it is no zombie, which would be waited for
        return processes.below(process.pid) | (processes.marked(mark) if mark else set())

    processes.end(find)
    process.wait()


def _follow(process: subprocess.Popen[bytes], stdin: bytes | None, deadline: float, ended: Ended, hear: Heard) -> bool:
    """Feed and read it until it has ended; False when the time was up first."""
    assert process.stdout
    assert process.stderr
    with selectors.DefaultSelector() as selector:
        for file, name in ((process.stdout, "stdout"), (process.stderr, "stderr")):
            selector.register(file, selectors.EVENT_READ, name)
        rest = memoryview(stdin or b"")
        if process.stdin:
            os.set_blocking(process.stdin.fileno(), False)
            selector.register(process.stdin, selectors.EVENT_WRITE, "stdin")
        last = deadline
        while selector.get_map() and time.monotonic() < deadline:
            # Its end shows as the end of its streams, unless something in the background has them too.
            left = last - time.monotonic()
            ready = selector.select(max(0.0, min(left, 0.05)))
            if not ready and left <= 0:
                break
            for key, _ in ready:
                if key.data == "stdin":
                    rest = _feed(selector, process, rest)
                elif data := os.read(key.fd, _CHUNK):
                    ended.hear(key.data, data)
                    hear(key.data, data)
                else:
                    selector.unregister(key.fileobj)
            if last == deadline and process.poll() is not None:
                last = min(deadline, time.monotonic() + LINGER)
    try:
        process.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        return False
    return True


def _feed(selector: selectors.BaseSelector, process: subprocess.Popen[bytes], rest: memoryview) -> memoryview:
    assert process.stdin
    try:
        rest = rest[os.write(process.stdin.fileno(), rest[:_CHUNK]) :]
    except BlockingIOError:
        return rest
    except BrokenPipeError:
        rest = rest[:0]
    if not rest:
        selector.unregister(process.stdin)
        _close(process.stdin)
    return rest
