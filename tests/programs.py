"""The real agent programs, at their pinned versions, with a scripted model and no network but loopback."""

from __future__ import annotations

import ctypes
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import Thread
from typing import NamedTuple

import pytest

from muster_testkit.model import Model, serve

ROOT = Path(__file__).parent.parent
INSTALL = ROOT / "scripts" / "install.py"
# What a user's own programs left in the environment would reach the agents.
FOREIGN = (
    "ANTHROPIC_",
    "CLAUDE",
    "CODEX_",
    "OPENAI_",
    "OPENCODE",
    "GEMINI_",
    "GOOGLE_",
    "PI_",
    "AIDER_",
    "MSWEA_",
    "npm_",
)
_NEWNET = 0x40000000
# The network of its own that this child makes has a loopback, which must be brought up (netdevice(7)).
_ALONE = """
import ctypes, fcntl, socket, struct, sys
if ctypes.CDLL(None, use_errno=True).unshare(0x40000000):
    sys.exit(1)
with socket.socket() as one:
    flags = fcntl.ioctl(one, 0x8913, struct.pack("16sh22x", b"lo", 0))
    fcntl.ioctl(one, 0x8914, struct.pack("16sh22x", b"lo", struct.unpack("16sh22x", flags)[1] | 1))
print("up", flush=True)
sys.stdin.read()
"""


class Network(NamedTuple):
    """A network namespace, or none."""

    pid: int | None

    @property
    def prefix(self) -> Sequence[str]:
        return () if self.pid is None else ("nsenter", f"--net=/proc/{self.pid}/ns/net", "--")

    def listener(self) -> socket.socket | None:
        """A socket there; None is one here."""
        if self.pid is None:
            return None
        found: list[socket.socket] = []
        # A thread may live in another network than its process.
        thread = Thread(target=self._bind, args=[found])
        thread.start()
        thread.join()
        return found[0]

    def _bind(self, found: list[socket.socket]) -> None:
        with open(f"/proc/{self.pid}/ns/net", "rb") as place:
            if ctypes.CDLL(None, use_errno=True).setns(place.fileno(), _NEWNET):
                raise OSError(ctypes.get_errno(), "setns")
        one = socket.socket()
        one.bind(("127.0.0.1", 0))
        found.append(one)


@pytest.fixture(scope="session")
def network() -> Iterator[Network]:
    """One without a way out, where we may make one."""
    if sys.platform != "linux" or os.getuid() != 0:
        yield Network(None)
        return
    child = subprocess.Popen([sys.executable, "-c", _ALONE], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with child:
        assert child.stdin and child.stdout
        up = child.stdout.readline() == b"up\n"
        yield Network(child.pid if up else None)
        child.stdin.close()


@pytest.fixture
def prefix(network: Network) -> Sequence[str]:
    return network.prefix


@pytest.fixture
def model(network: Network, home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Model]:
    """The scripted model that the programs talk to; nothing of the user's own programs reaches them."""
    for name in [*os.environ]:
        if name.startswith(FOREIGN):
            monkeypatch.delenv(name)
    temporary = home.parent / "home" / "tmp"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    with serve(listener=network.listener()) as model:
        yield model


Install = Callable[..., Path]


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Install:
    """Put these programs on PATH: `install("claude", "codex")`."""

    def install(*names: str) -> Path:
        env = {**os.environ, "HOME": os.environ.get("REAL_HOME", "/tmp")}
        done = subprocess.run(
            [sys.executable, str(INSTALL), *names], capture_output=True, text=True, check=False, env=env
        )
        if "npm is missing" in done.stderr:
            pytest.skip("needs npm")
        assert done.returncode == 0, done.stderr
        folder = Path(done.stdout.strip())
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
        return folder

    return install
