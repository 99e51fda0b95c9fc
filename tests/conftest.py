"""What every test stands on: a home of its own, the real program, and a gate that lets no test be skipped unseen."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

if TYPE_CHECKING:
    from muster.fleet import Fleet

# What a machine of the gate may lack. Any other skipped test is a failed one there.
ALLOWED_SKIPS = ("needs root", "needs Linux", "needs strace to trace")

# So many seconds may a process take to end once its terminal is gone; it is waited for, not slept through.
PATIENCE = 10.0

# No test knows the user's home: outside of a test these can't even be made.
OFF_LIMITS = "/dev/null/the-home-of-the-user"
os.environ["HOME"] = os.environ["MUSTER_HOME"] = OFF_LIMITS

# A run in the background of a shell ignores ^C and ^\, and so would every program that a test sends them to.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)

# Housekeeping in the background would outlive a test.
_GIT_CONFIG = """\
[user]
name = Test
email = test@example.org
[init]
defaultBranch = main
[gc]
auto = 0
[maintenance]
auto = false
"""
_FOREIGN = ("MUSTER_", "GIT_", "TMUX", "XDG_", "SSH_A")
_FOREIGN_WORDS = ("EDITOR", "VISUAL", "PAGER", "NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES")


class Done(NamedTuple):
    """How a run of the program ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


Muster = Callable[..., Done]


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A MUSTER_HOME, a HOME and a git identity of the test's own; no process may outlive them."""
    # A unix socket's path is short, so this is not pytest's tmp_path.
    base = Path(os.path.realpath(tempfile.mkdtemp(prefix="m-", dir="/tmp")))
    for name in [*os.environ]:
        if name.startswith(_FOREIGN) or name in _FOREIGN_WORDS:
            monkeypatch.delenv(name)
    for name, value in _environment(base).items():
        monkeypatch.setenv(name, value)
    for folder in ("m", "home", "tmux"):
        (base / folder).mkdir(mode=0o700)
    (base / "home" / "gitconfig").write_text(_GIT_CONFIG)
    # ssh asks the password file where its user's home is, not $HOME.
    (base / "home" / "ssh_config").write_text(f"UserKnownHostsFile {base}/home/known_hosts\nIdentityFile none\n")
    try:
        yield base / "m"
    finally:
        os.chdir("/")
        _end_tmux(base)
        left = _outlived(base)
        _remove(base)
    assert not left, "these processes outlived the test:\n" + "\n".join(left)


def _environment(base: Path) -> dict[str, str]:
    inside = base / "home"
    return {
        "HOME": str(inside),
        "MUSTER_HOME": str(base / "m"),
        "XDG_CONFIG_HOME": str(inside / ".config"),
        "XDG_CACHE_HOME": str(inside / ".cache"),
        "XDG_DATA_HOME": str(inside / ".local" / "share"),
        "XDG_STATE_HOME": str(inside / ".local" / "state"),
        "XDG_RUNTIME_DIR": str(inside),
        "GIT_CONFIG_GLOBAL": str(inside / "gitconfig"),
        "GIT_CONFIG_NOSYSTEM": "1",
        "TMUX_TMPDIR": str(base / "tmux"),
        "TERM": "xterm-256color",
        "MUSTER_SSH_CONFIG": str(inside / "ssh_config"),
    }


def _end_tmux(base: Path) -> None:
    # Also the servers a test started as a user would: theirs are in TMUX_TMPDIR.
    for socket in [base / "m" / "tmux.sock", base / "far" / ".muster" / "tmux.sock", *(base / "tmux").rglob("*")]:
        if socket.is_socket():
            subprocess.run(["tmux", "-S", str(socket), "kill-server"], capture_output=True, check=False, timeout=30)


def _outlived(base: Path) -> list[str]:
    """The processes of that home that don't end by themselves, by name; they are ended here."""
    deadline = time.monotonic() + PATIENCE
    while (found := _processes(base)) and time.monotonic() < deadline:
        time.sleep(0.02)
    for pid in found:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass  # it ended at last
    return [f"{pid}: {line}" for pid, line in found.items()]


def _processes(base: Path) -> dict[int, str]:
    """Every process that has this path in its arguments or in the environment it was started with."""
    if not os.path.isdir("/proc/self"):
        argv = ["ps", "-A", "-ww", "-E", "-o", "pid=,command="]
        listing = subprocess.run(argv, capture_output=True, check=True).stdout.decode(errors="replace")
        rows = [line.strip().partition(" ") for line in listing.splitlines()]
        return {int(pid): line for pid, _, line in rows if f"{base}/" in line and int(pid) != os.getpid()}
    needle = f"{base}/".encode()
    found = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit() and int(entry) != os.getpid():
            line = _read(f"/proc/{entry}/cmdline")
            # A zombie has neither arguments nor environment.
            if needle in line or needle in _read(f"/proc/{entry}/environ"):
                found[int(entry)] = line.replace(b"\0", b" ").decode(errors="replace").strip()
    return found


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""  # it ended in this moment, or is another user's


def _remove(base: Path) -> None:
    # A test may have left folders that nobody may write.
    for folder, _, _ in os.walk(base):
        os.chmod(folder, 0o700)
    shutil.rmtree(base)


@pytest.fixture
def repo(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A git repository with two commits and a few files, as the current directory."""
    path = home.parent / "repo"
    path.mkdir()
    monkeypatch.chdir(path)
    _git("init", "--quiet")
    (path / "README.md").write_text("# A project\n")
    (path / "src").mkdir()
    (path / "src" / "one.py").write_text("def one() -> int:\n    return 1\n")
    (path / ".gitignore").write_text("*.log\n/build/\n")
    _commit("first")
    (path / "src" / "two.py").write_text("def two() -> int:\n    return 2\n")
    _commit("second")
    return path


def _git(*arguments: str) -> None:
    subprocess.run(["git", *arguments], check=True, capture_output=True)


def _commit(subject: str) -> None:
    _git("add", "--all")
    _git("commit", "--quiet", "--message", subject)


@pytest.fixture
def prefix() -> Sequence[str]:
    """What puts the real program somewhere else; test modules may have one of their own."""
    return ()


@pytest.fixture
def muster(home: Path, prefix: Sequence[str]) -> Muster:
    """The real program as a child process: `muster("list", "--format", "json").json`."""
    assert os.environ["MUSTER_HOME"] == str(home)

    def run(
        *arguments: str | os.PathLike[str],
        stdin: str | bytes | None = None,
        cwd: str | os.PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
        check: bool = True,
        timeout: float = 120,
    ) -> Done:
        argv = [*prefix, *program(), *(os.fspath(argument) for argument in arguments)]
        given = stdin.encode() if isinstance(stdin, str) else stdin
        ended = subprocess.run(
            argv,
            input=given,
            stdin=subprocess.DEVNULL if given is None else None,
            capture_output=True,
            cwd=cwd,
            env={**os.environ, **(env or {})},
            timeout=timeout,
            check=False,
        )
        done = Done(ended.returncode, ended.stdout.decode(errors="replace"), ended.stderr.decode(errors="replace"))
        if check:
            assert done.code == 0, (
                f"`muster {' '.join(argv[len(prefix) + 3 :])}` ended with {done.code}\n{done.err}{done.out}"
            )
        return done

    return run


def program() -> Sequence[str]:
    """The argv that `muster` is."""
    return [sys.executable, "-m", "muster"]


@pytest.fixture
def fleet(home: Path) -> Fleet:
    """The library's door, on the test's own home."""
    from muster.fleet import Fleet

    assert os.environ["MUSTER_HOME"] == str(home)
    return Fleet.open()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    _fail_if_skipped(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    _fail_if_skipped(report)
    return report


def _fail_if_skipped(report: pytest.TestReport | pytest.CollectReport) -> None:
    # Done to the report itself, where it is made: so it holds in every worker of a parallel run.
    if os.environ.get("CI") != "true" or not report.skipped or hasattr(report, "wasxfail"):
        return
    words = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    reason = words.removeprefix("Skipped: ")
    if reason not in ALLOWED_SKIPS:
        report.outcome = "failed"
        report.longrepr = f"skipped where nothing may be: {reason!r} is not in ALLOWED_SKIPS of tests/conftest.py"
