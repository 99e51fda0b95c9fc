"""Fifty at once, a dead tmux, a full disk, a clock that jumps: states say so, and nothing is half-made."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import Muster, program
from muster.fleet import Fleet


def tmux(home: Path, *words: str) -> str:
    argv = ["tmux", "-S", f"{home}/tmux.sock", *words]
    return subprocess.run(argv, capture_output=True, text=True, check=False).stdout


def git(*words: str) -> str:
    return subprocess.run(["git", *words], capture_output=True, text=True, check=True).stdout


def test_fifty_creates_from_fifty_processes(home: Path, repo: Path) -> None:
    starts = [
        subprocess.Popen([*program(), "create", f"a{n}", "--", "cat"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for n in range(50)
    ]
    failures = [err.decode() for start in starts for _, err in [start.communicate()] if start.returncode]
    assert failures == []
    agents = Fleet.open().agents()
    assert {agent.name for agent in agents} == {f"a{n}" for n in range(50)}
    assert {agent.state.kind for agent in agents if agent.state} == {"working"}
    assert set(tmux(home, "list-sessions", "-F", "#{session_name}").split()) == {agent.id for agent in agents}
    assert len(git("worktree", "list").splitlines()) == 51


def test_fifty_processes_want_one_name(home: Path, repo: Path) -> None:
    argv = [*program(), "create", "one", "--", "cat"]
    starts = [subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for _ in range(20)]
    errors = [start.communicate()[1].decode() for start in starts]
    assert [start.returncode for start in starts].count(0) == 1
    assert all("already" in error for start, error in zip(starts, errors, strict=True) if start.returncode)
    [agent] = Fleet.open().agents()
    assert agent.state and agent.state.kind == "working"
    assert len(git("worktree", "list").splitlines()) == 2
    assert os.listdir(home / "work") == [agent.id]


def test_the_tmux_server_is_killed_under_twenty_agents(home: Path, repo: Path, muster: Muster, fleet: Fleet) -> None:
    muster("create", "a", "-n", "20", "--", "cat")
    assert {agent.state.kind for agent in fleet.agents() if agent.state} == {"working"}
    waiter = subprocess.Popen([*program(), "wait", "a-1", "--for", "done"], stderr=subprocess.PIPE, text=True)
    os.kill(int(tmux(home, "display-message", "-p", "#{pid}")), signal.SIGKILL)
    _, said = waiter.communicate(timeout=60)
    assert waiter.returncode == 7, "who waits is told that it can't come any more"
    assert "session is gone" in said
    states = [agent.state for agent in fleet.agents()]
    assert {(state.kind, state.last) for state in states if state} == {("unknown", "working")}
    assert "muster start" in muster("why", "a-1").out
    muster("start", "--all")
    assert {agent.state.kind for agent in fleet.agents() if agent.state} == {"working"}


def test_a_program_killed_from_outside_has_failed(repo: Path, muster: Muster, fleet: Fleet) -> None:
    muster("create", "fix", "--", "cat")
    pid = int(tmux(Path(fleet.home), "list-panes", "-a", "-F", "#{pane_pid}"))
    os.kill(pid, signal.SIGKILL)
    assert muster("wait", "fix", "--for", "failed").code == 0
    state = fleet.agent("fix").state
    assert state and (state.kind, state.signal, state.reason) == ("failed", signal.SIGKILL, "ended by SIGKILL")


def test_ends_are_seen_however_quick(repo: Path, muster: Muster, fleet: Fleet) -> None:
    # tmux may miss an end that meets the closing of its terminal; about half of them, where it keeps login records.
    muster("create", "quick", "-n", "20", "--", "sh", "-c", "exit 3")
    agents = fleet.wait([f"quick-{n}" for n in range(1, 21)], ["failed"], timeout=60)
    assert {agent.state.code for agent in agents if agent.state} == {3}


def test_stop_ends_what_will_not_hear(home: Path, repo: Path, muster: Muster, tmp_path: Path) -> None:
    script = "trap '' TERM HUP INT; (trap '' TERM HUP; echo $$ >pids; while :; do sleep 1000; done) & setsid sleep 1234 & wait"
    muster("create", "deaf", "--", "sh", "-c", script)
    inside = f"{home}/agents/{Fleet.open().agent('deaf').id}"
    muster("stop", "deaf")
    assert left(inside) == []
    assert Fleet.open().agent("deaf").state is not None
    assert muster("list", "deaf", "--fields", "state").lines[-1].strip() == "stopped"


def left(folder: str) -> list[str]:
    """Processes that were started with that agent's environment and still live."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            environment = Path(f"/proc/{pid}/environ").read_bytes()
        except OSError:
            continue
        if f"MUSTER_DIR={folder}\0".encode() in environment:
            found.append(Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode())
    return found


@pytest.fixture
def small_disk(home: Path) -> Iterator[Path]:
    """A disk of 2 MB as $MUSTER_HOME."""
    if os.getuid() != 0 or sys.platform != "linux":
        pytest.skip("needs root")
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(home)], check=False, capture_output=True
    )
    if mounted.returncode:
        pytest.skip("needs root")
    try:
        yield home
    finally:
        subprocess.run(["tmux", "-S", f"{home}/tmux.sock", "kill-server"], check=False, capture_output=True)
        subprocess.run(["umount", "-l", str(home)], check=True)


def test_a_full_disk(small_disk: Path, repo: Path, muster: Muster) -> None:
    muster("create", "before", "--", "cat")
    filler = small_disk / "filler"
    with open(filler, "wb", buffering=0) as file:
        try:
            while file.write(b"x" * 4096):
                pass
        except OSError:
            pass  # full
    done = muster("create", "fix", "--", "cat", check=False)
    assert done.code == 1
    assert "disk" in done.err or "No space left" in done.err, done.err
    assert "Traceback" not in done.err
    assert muster("list", "--fields", "name,state").lines[1:] == ["before  working"]
    filler.unlink()
    muster("create", "fix", "--", "cat")
    assert muster("list", "--ids").lines.__len__() == 2
    assert len(git("worktree", "list").splitlines()) == 3
    assert git("branch", "--format=%(refname:short)").split() == ["main", "muster/before", "muster/fix"]


def test_a_home_that_can_not_be_made(repo: Path, muster: Muster, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    environment = {"MUSTER_HOME": str(tmp_path / "file" / "home")}
    done = muster("create", "fix", "--", "cat", env=environment, check=False)
    assert done.code == 1
    assert "can't write" in done.err and "hint:" in done.err
    assert "Traceback" not in done.err
    assert git("branch", "--format=%(refname:short)").split() == ["main"]


def test_a_clock_that_jumps(
    home: Path, repo: Path, muster: Muster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The host's clock is its `date`; this one says another century at each call.
    clock = tmp_path / "date"
    clock.write_text(f'#!/bin/sh\necho "$(( $(cat {tmp_path}/now) ))"\n')
    clock.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    muster("create", "fix", "scripted", env={"PATH": os.environ["PATH"]})
    for now in ("0", "4102444800", "1"):
        (tmp_path / "now").write_text(now)
        muster("message", "fix", "-m", f"at {now}")
        assert muster("wait", "fix", "--for", "waiting", "--timeout", "20").code == 0
        [agent] = muster("list", "--format", "json").json["agents"]
        assert agent["state"]["kind"] == "waiting"
        assert agent["age"] >= 0
    said = [event["text"] for event in muster("transcript", "fix", "--role", "user", "--format", "json").json]
    assert said == ["at 0", "at 4102444800", "at 1"]


@pytest.mark.parametrize(
    "name", ["a b", "..", "a..b", "--help-me", "-x", "x" * 300, "a/b", "a\nb", "\x1b[31mred", ".hidden", "a.lock", ""]
)
def test_what_is_no_name(name: str, repo: Path, muster: Muster, home: Path) -> None:
    done = muster("create", name, "--", "cat", check=False) if name else muster("rename", "x", "", check=False)
    assert done.code in (2, 3)
    assert "Traceback" not in done.err and "\x1b[31m" not in done.err
    assert git("branch", "--format=%(refname:short)").split() == ["main"]
    assert not (home / "work").exists() or os.listdir(home / "work") == []


@pytest.mark.parametrize("name", ["fünf", "日本語", "a.b_c-d", "1", "x" * 64])
def test_what_is_a_name(name: str, repo: Path, muster: Muster) -> None:
    assert muster("create", name, "--", "cat").out.strip() == name
    muster("message", name, "-m", "hello")
    assert muster("list", "--fields", "name,state").lines[1].split() == [name, "working"]
    assert git("branch", "--format=%(refname:short)").split() == ["main", f"muster/{name}"]
    muster("destroy", name)
    muster("restore", name)
    muster("destroy", name)


def fingerprint(folder: Path) -> dict[str, str]:
    """Every file below it, by its content."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink()]
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_what_is_the_users_stays_as_it_was(home: Path, repo: Path, muster: Muster) -> None:
    subprocess.run(["tmux", "-f", "/dev/null", "new-session", "-d", "-s", "mine", "cat"], check=True)
    (repo / "src" / "one.py").write_text("changed, not staged\n")
    (repo / "staged.txt").write_text("staged\n")
    git("add", "staged.txt")
    (repo / "untracked.txt").write_text("untracked\n")
    shutil.copy(repo / ".git" / "index", home.parent / "index")

    def theirs() -> dict[str, str]:
        keys, sessions = (
            subprocess.run(["tmux", *words], capture_output=True, text=True, check=True).stdout
            for words in (["list-keys"], ["list-sessions", "-F", "#{session_name} #{session_windows}"])
        )
        kept = {name: value for name, value in fingerprint(repo).items() if not name.startswith(".git/objects/")}
        refs = git("for-each-ref", "refs/heads", "refs/tags", "refs/stash", "refs/remotes")
        return {**kept, "keys": keys, "sessions": sessions, "refs": refs, "head": git("rev-parse", "HEAD")}

    before = theirs()
    muster("create", "one", "--dirty", "carry", "--", "cat")
    muster("create", "two", "--dirty", "ignore", "--mode", "clone", "scripted")
    muster("exec", "one", "--", "sh", "-c", "git add -A && git commit -qm carried && echo more >more")
    muster("message", "one", "two", "-m", "hello")
    muster("snapshot", "create", "one", "--label", "s")
    muster("clone", "one", "three")
    muster("stop", "--all")
    muster("start", "one")
    muster("destroy", "--all", "--branch")
    muster("snapshot", "destroy", "s")
    muster("gc", "--days", "0")
    after = theirs()
    changed = {name for name in before | after if before.get(name) != after.get(name)}
    assert changed <= {".git/logs/refs/heads/muster"}, changed
    assert git("for-each-ref", "refs/muster") == ""
