"""`kill -9` at every step: the same command again leaves no ghost, no orphan, no duplicate, and loses nothing."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import Muster, program
from muster.agents import Agent
from muster.fleet import Fleet

# Every call by which a step of muster becomes real: files, database pages, locks, processes.
STEPS = "mkdir,rename,unlink,pwrite64,write,vfork,flock,symlink,ftruncate"

pytestmark = pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace to trace")


def traced(*arguments: str, inject: str = "", log: str = "/dev/null") -> subprocess.CompletedProcess[str]:
    """Run the program under strace, which kills it at one of its system calls if told to."""
    words = ["strace", "-qq", "-o", log, "-e", f"trace={STEPS}"]
    if inject:
        words += ["-e", f"inject={inject}"]
    argv = [*words, *program(), *arguments]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(argv, capture_output=True, text=True, env=environment, timeout=120, check=False)


def steps(home: Path, *arguments: str) -> Iterator[str]:
    """One injection for every step that the command makes when nobody disturbs it."""
    log = home.parent / "trace"
    done = traced(*arguments, log=str(log))
    assert done.returncode == 0, done.stderr
    seen: Counter[str] = Counter()
    for line in log.read_text(errors="replace").splitlines():
        if call := re.match(r"(\w+)\(", line):
            seen[call[1]] += 1
            yield f"{call[1]}:signal=SIGKILL:when={seen[call[1]]}"
    assert sum(seen.values()) > 10


def killed(inject: str, *arguments: str) -> bool:
    """Whether the kill came in time: a step fewer may be made when the disk is warmer."""
    return traced(*arguments, inject=inject).returncode in (-9, 137)


def sessions(home: Path) -> list[str]:
    listing = ["tmux", "-S", f"{home}/tmux.sock", "list-sessions", "-F", "#{session_name}"]
    return subprocess.run(listing, capture_output=True, text=True, check=False).stdout.split()


def git(*words: str) -> list[str]:
    return subprocess.run(["git", *words], capture_output=True, text=True, check=True).stdout.splitlines()


def assert_whole(home: Path, agents: list[Agent]) -> None:
    """What is there is what the registry says, in every room."""
    ids = {agent.id for agent in agents}
    assert {agent.id for agent in Fleet.open().known()} == ids
    assert set(sessions(home)) == ids
    assert set(os.listdir(home / "work")) == ids
    assert set(os.listdir(home / "agents")) == ids
    Fleet.open().gc()
    assert {name.partition(".")[0] for name in os.listdir(home / "locks")} <= ids
    branches = git("for-each-ref", "--format=%(refname)", "refs/heads")
    assert branches == ["refs/heads/main", *sorted(f"refs/heads/{agent.workspace.branch}" for agent in agents)]
    assert len(git("worktree", "list")) == 1 + len(agents)


def test_killed_create(home: Path, repo: Path, muster: Muster) -> None:
    command = ("create", "fix", "--", "cat")
    points = list(steps(home, *command))
    muster("destroy", "fix", "--branch")
    for point in points:
        killed(point, *command)
        agents = Fleet.open().known()
        if agents and agents[0].intent == "started":
            muster("create", "fix", "--reuse", "--", "cat")  # it had been made when the kill came
        else:
            muster(*command)
        [agent] = Fleet.open().agents()
        assert agent.state and agent.state.kind == "working", (point, agent.state)
        assert_whole(home, [agent])
        muster("destroy", "fix", "--branch")
        assert_whole(home, [])


def test_killed_first_create(home: Path, repo: Path, muster: Muster, monkeypatch: pytest.MonkeyPatch) -> None:
    command = ("create", "fix", "--", "cat")
    monkeypatch.setenv("MUSTER_HOME", str(home / "first"))
    points = list(steps(home, *command))
    muster("destroy", "fix", "--branch")
    for number, point in enumerate(points[:40]):
        fresh = home / str(number)
        monkeypatch.setenv("MUSTER_HOME", str(fresh))
        killed(point, *command)
        muster("create", "fix", "--reuse", "--", "cat")
        [agent] = Fleet.open().agents()
        assert agent.state and agent.state.kind == "working", (point, agent.state)
        assert_whole(fresh, [agent])
        muster("destroy", "fix", "--branch")
        assert sessions(fresh) == []


def test_killed_destroy(home: Path, repo: Path, muster: Muster) -> None:
    command = ("destroy", "fix", "--branch")

    def prepare() -> str:
        muster("create", "fix", "--", "cat")
        [agent] = Fleet.open().known()
        (Path(agent.workspace.path) / "committed").write_text("by the agent")
        muster("exec", "fix", "--", "sh", "-c", "git add committed && git commit -qm work")
        (Path(agent.workspace.path) / "uncommitted").write_text("precious")
        return git("rev-parse", "muster/fix")[0]

    prepare()
    points = list(steps(home, *command))
    for entry in Fleet.open().kept("attic"):
        Fleet.open().expire(entry)
    for point in points:
        tip = prepare()
        killed(point, *command)
        again = muster(*command, check=False)
        assert again.code in (0, 3), again.err
        assert_whole(home, [])
        [kept] = Fleet.open().kept("attic")
        assert kept.tip == tip, point
        assert git("show", f"{kept.work}:uncommitted") == ["precious"], point
        assert git("show", f"{kept.work}:committed") == ["by the agent"], point
        Fleet.open().expire(kept)
        assert git("for-each-ref", "refs/muster") == [], point


def test_killed_message(home: Path, repo: Path, muster: Muster) -> None:
    command = ("message", "fix", "-m", "hello")
    muster("create", "fix", "scripted")
    points = list(steps(home, *command))
    [agent] = Fleet.open().known()
    log = home / "agents" / agent.id / "conversation.jsonl"

    def heard() -> int:
        return sum('"hello"' in line and '"user"' in line for line in log.read_text().splitlines())

    for point in points:
        before = heard()
        if killed(point, *command):
            muster(*command)
        assert heard() == before + 1, point


def test_killed_snapshot(home: Path, repo: Path, muster: Muster) -> None:
    command = ("snapshot", "create", "fix", "--label", "safe")
    muster("create", "fix", "--", "cat")
    [agent] = Fleet.open().known()
    (Path(agent.workspace.path) / "new").write_text("one")
    points = list(steps(home, *command))
    Fleet.open().expire("safe")
    for point in points:
        killed(point, *command)
        again = muster(*command, check=False)
        assert again.code == 0 or "already" in again.err, again.err
        [kept] = Fleet.open().kept("snapshot")
        assert git("show", f"{kept.work}:new") == ["one"], point
        refs = git("for-each-ref", "--format=%(refname)", "refs/muster")
        assert sorted(refs) == sorted(kept.refs), point
        assert os.listdir(home / "snapshots") == [kept.id], point
        Fleet.open().expire(kept)
        assert git("for-each-ref", "refs/muster") == [], point
