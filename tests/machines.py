"""Other machines for tests, by `pytest_plugins = ["machines"]`: a `box` behind a real sshd, an `engine` of containers."""

from __future__ import annotations

import fcntl
import getpass
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

import engine as engines
from terminal import until

SSHD = shutil.which("sshd") or "/usr/sbin/sshd"
_SSHD_CONFIG = """\
ListenAddress {address}
Port {port}
HostKey {folder}/host_key
AuthorizedKeysFile {keys}/key.pub
PidFile {folder}/sshd.pid
SetEnv HOME={home} {env}
UsePAM no
StrictModes no
PasswordAuthentication no
PermitRootLogin yes
PrintMotd no
PrintLastLog no
MaxSessions {sessions}
LogLevel VERBOSE
{more}
"""
_ALIAS = """\
Host {name}
HostName {address}
Port {port}
User {user}
IdentityFile {keys}/key
IdentitiesOnly yes
"""

# It is gone with us, however we end.
_KEEPER = ["setpriv", "--pdeathsig", "KILL", "unshare", "--net", "sleep", "infinity"]


class Cable(NamedTuple):
    """A network of its own, and the one cable that leads there."""

    name: str
    address: str  # at its other end
    keeper: subprocess.Popen[bytes]

    def cut(self) -> None:
        _ip("link", "set", self.name, "down")

    def mend(self) -> None:
        _ip("link", "set", self.name, "up")


class Box(NamedTuple):
    """A machine behind an sshd of its own: the same file system, with another home."""

    name: str  # an alias of the ssh configuration
    port: int
    home: Path  # $HOME there, so muster's folder is `home / ".muster"`
    folder: Path  # sshd's own
    sshd: subprocess.Popen[bytes]

    def freeze(self) -> None:
        """As when its network cable is pulled: nobody answers, nothing is closed."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def kill(self) -> None:
        """As when it loses power, though what was detached from its connections lives on."""
        self._signal(signal.SIGKILL)
        self.sshd.wait()

    def end_all(self) -> None:
        """What was left running there, which knows it by its home."""
        home = f"HOME={self.home}".encode()
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                if home in (entry / "environ").read_bytes().split(b"\0") and int(entry.name) != os.getpid():
                    os.kill(int(entry.name), signal.SIGKILL)
            except (OSError, ProcessLookupError):
                pass  # it ended by itself, or is another user's

    def doors(self) -> list[int]:
        """The processes that hold its connections."""
        argv = ["ps", "-A", "-o", "pid=", "-o", "ppid=", "-o", "comm="]
        rows = [line.split() for line in subprocess.run(argv, capture_output=True, text=True).stdout.splitlines()]
        found = [self.sshd.pid]
        for one in found:
            found += [int(pid) for pid, parent, name, *_ in rows if int(parent) == one and name.startswith("sshd")]
        return found

    def _signal(self, number: int) -> None:
        for pid in self.doors() if self.sshd.poll() is None else ():
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass  # it ended by itself


class Boxes:
    """Makes machines: `boxes("one", sessions=10)`."""

    def __init__(self, base: Path, keys: Path) -> None:
        self._base, self._keys = base, keys
        self.made: list[Box] = []

    def __call__(
        self,
        name: str,
        *,
        sessions: int = 10,
        env: str = "",
        more: str = "",
        address: str = "127.0.0.1",
        cable: Cable | None = None,
    ) -> Box:
        """`more` is for its sshd's settings; behind a cable an address is one of that network."""
        place = _Place(name, address, cable)
        self.made.append(_start(self._base, self._keys, place, {"sessions": str(sessions), "env": env, "more": more}))
        return self.made[-1]

    def boot(self, box: Box) -> None:
        """One that was killed comes back."""
        self.made.append(box._replace(sshd=_sshd(box.folder)))


@pytest.fixture(scope="session")
def ssh_keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A user's key, and one of a host."""
    if not os.access(SSHD, os.X_OK):
        pytest.skip("needs sshd")
    folder = tmp_path_factory.mktemp("keys")
    for name in ("key", "host_key"):
        argv = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(folder / name)]
        subprocess.run(argv, check=True)
    return folder


@pytest.fixture
def boxes(home: Path, ssh_keys: Path) -> Iterator[Boxes]:
    """What makes machines; they end with the test."""
    found = Boxes(home.parent, ssh_keys)
    yield found
    for one in found.made:
        one.thaw()
        one.kill()
        one.end_all()


@pytest.fixture
def box(boxes: Boxes) -> Box:
    """A machine that the ssh configuration knows as `box`."""
    return boxes("box")


@pytest.fixture
def cable(home: Path) -> Iterator[Cable]:
    """A network that nothing is in yet; it is gone with the last process in it."""
    if sys.platform != "linux" or os.getuid() != 0:
        pytest.skip("needs root")
    number = os.getpid() % (1 << 14)
    here, there = (f"169.254.{number >> 6}.{(number & 63) * 4 + one}" for one in (1, 2))
    found = Cable(f"muster{number}", there, subprocess.Popen(_KEEPER))
    inside = ["nsenter", "--target", str(found.keeper.pid), "--net"]
    try:
        until(lambda: os.readlink(f"/proc/{found.keeper.pid}/ns/net") != os.readlink("/proc/self/ns/net"), "a network")
        _ip("link", "add", found.name, "type", "veth", "peer", "name", "far", "netns", str(found.keeper.pid))
        _ip("address", "add", f"{here}/30", "dev", found.name)
        _ip("address", "add", f"{there}/30", "dev", "far", at=inside)
        for end, at in ((found.name, []), ("far", inside), ("lo", inside)):
            _ip("link", "set", end, "up", at=at)
        yield found
    finally:
        # The kernel would take it away in its own time, and the next one has the same name.
        subprocess.run(["ip", "link", "delete", found.name], capture_output=True, check=False)
        found.keeper.kill()
        found.keeper.wait()


def _ip(*words: str, at: Sequence[str] = ()) -> None:
    done = subprocess.run([*at, "ip", *words], capture_output=True, text=True)
    if "Operation not permitted" in done.stderr:
        pytest.skip("needs root")  # a root without its rights, as in many a container
    assert done.returncode == 0, done.stderr


class Engine(NamedTuple):
    """A docker engine that no user of this machine knows."""

    base: Path
    mark: str  # of this test's containers

    @property
    def url(self) -> str:
        return f"unix://{self.base}/socket"

    def docker(self, *words: str) -> str:
        done = engines.docker(self.base, *words)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode().rstrip("\n")

    def containers(self) -> list[str]:
        """The names of this test's."""
        listing = self.docker("ps", "--all", "--filter", f"label=muster.home={self.mark}", "--format", "{{.Names}}")
        return listing.split()


@pytest.fixture(scope="session")
def dockerd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """One engine for all workers; it ends itself when the last of them has ended, however that came."""
    if sys.platform != "linux" or os.getuid() != 0:
        pytest.skip("needs root")
    if not (shutil.which("dockerd") and shutil.which("docker")):
        pytest.skip("needs docker")
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    with (shared / "users").open("a") as users, (shared / "starter").open("a") as starter:
        fcntl.flock(starter, fcntl.LOCK_EX)
        fcntl.flock(users, fcntl.LOCK_SH)
        if not (shared / "engine").exists():
            _start_engine(shared)
        base = Path((shared / "engine").read_text())
        fcntl.flock(starter, fcntl.LOCK_UN)
        yield base


def _start_engine(shared: Path) -> None:
    log = shared / "engine.log"
    with log.open("wb") as said:
        argv = [sys.executable, engines.__file__, str(shared)]
        # It is no process of the test that happens to be the first to ask for it.
        env = {"PATH": os.environ["PATH"]}
        keeper = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=said, stderr=said, start_new_session=True, env=env
        )
    while not (shared / "engine").exists():
        if keeper.poll() is not None and "Operation not permitted" in log.read_text():
            pytest.skip("needs root")  # a root without its rights, as in many a container
        assert keeper.poll() is None, f"the docker engine could not be started\n{log.read_text()}"
        time.sleep(0.02)
    keeper.returncode = 0  # it outlives us, and nobody here waits for it


@pytest.fixture
def engine(dockerd: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    """That engine, as muster's settings name it; this test's containers are gone after it."""
    from hashlib import sha256

    found = Engine(dockerd, sha256(str(home).encode()).hexdigest()[:16])
    settings = {"ENGINE": found.url, "IMAGE": engines.IMAGE, "MOUNTS": engines.MOUNT, "NETWORK": "none"}
    for name, value in settings.items():
        monkeypatch.setenv(f"MUSTER_DOCKER_{name}", value)
    yield found
    if left := found.containers():
        found.docker("rm", "--force", "--volumes", *left)


class _Place(NamedTuple):
    name: str
    address: str
    cable: Cable | None


def _start(base: Path, keys: Path, place: _Place, settings: Mapping[str, str]) -> Box:
    home = base / ("far" if place.name == "box" else f"far-{place.name}")
    folder = base / "sshd" / place.name
    for path in (home, folder):
        path.mkdir(parents=True, mode=0o700)
    shutil.copy(keys / "host_key", folder / "host_key")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    config = _SSHD_CONFIG.format(port=port, folder=folder, keys=keys, home=home, address=place.address, **settings)
    (folder / "sshd_config").write_text(config)
    if place.cable:
        (folder / "network").write_text(str(place.cable.keeper.pid))
    if os.getuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # it goes there to have no rights
    alias = _ALIAS.format(name=place.name, address=place.address, port=port, user=getpass.getuser(), keys=keys)
    with (base / "home" / "ssh_config").open("r+") as file:
        before = file.read()
        file.seek(0)
        file.write(alias + "Match all\n" + before)
    return Box(place.name, port, home, folder, _sshd(folder))


def _sshd(folder: Path) -> subprocess.Popen[bytes]:
    """Started, and listening; it says so by a file."""
    (folder / "sshd.pid").unlink(missing_ok=True)
    network = folder / "network"
    inside = ["nsenter", "--target", network.read_text(), "--net"] if network.exists() else []
    argv = [*inside, SSHD, "-D", "-f", str(folder / "sshd_config"), "-E", str(folder / "log")]
    sshd = subprocess.Popen(argv, stdin=subprocess.DEVNULL)
    deadline = time.monotonic() + 20
    while not (folder / "sshd.pid").exists():
        assert sshd.poll() is None and time.monotonic() < deadline, (folder / "log").read_text()
        time.sleep(0.005)
    return sshd
