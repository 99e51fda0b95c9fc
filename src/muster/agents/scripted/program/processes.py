"""Other programs, and how they are ended: all that this one starts is started here."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence


def quietly(argv: list[str]) -> None:
    """Run that to its end, with nothing to read and nobody to read it."""
    quiet = [(os.POSIX_SPAWN_OPEN, descriptor, os.devnull, os.O_RDWR, 0) for descriptor in (0, 1, 2)]
    os.waitpid(os.posix_spawn(argv[0], argv, os.environ, file_actions=quiet), 0)


def sleeper() -> int:
    """A child that sleeps for ever, deaf to what we are deaf to."""
    return os.posix_spawnp("sleep", ["sleep", "2147483647"], os.environ)


def kill(child: int) -> None:
    """End a child by force."""
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


class Command:
    """A command in a process group of its own, and all it has printed so far."""

    def __init__(self, argv: Sequence[str]) -> None:
        import subprocess  # here, because an agent that only talks starts without it

        self._process = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, process_group=0
        )
        assert self._process.stdout
        self._stdout = self._process.stdout
        self._out = bytearray()
        os.set_blocking(self._stdout.fileno(), False)
        self.pipes = [self._stdout.fileno()]  # those that can still have something

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def read(self) -> None:
        """Take what is in the pipe."""
        try:
            while data := os.read(self._stdout.fileno(), 65_536):
                self._out += data
        except BlockingIOError:
            return
        self.pipes = []

    def end(self) -> None:
        """End all of it, if it still runs."""
        self._stdout.close()
        if self.running:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    @property
    def result(self) -> tuple[int, str]:
        """Its exit code and all it printed."""
        return self._process.returncode, self._out.decode(errors="replace")
