"""`muster wait`, with the real program."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from pathlib import Path

import pytest

from conftest import Muster, program
from muster.errors import TimedOut
from muster.fleet import Fleet
from terminal import until


@pytest.fixture(autouse=True)
def in_a_repository(repo: Path) -> None:
    assert repo.is_dir()


def gated(fleet: Fleet, repo: Path, name: str, code: int) -> Path:
    """An agent that ends with that code as soon as the file exists."""
    gate = repo.parent / f"gate-{name}"
    fleet.create(name, args=["sh", "-c", f"until [ -e {gate} ]; do sleep 0.02; done; exit {code}"])
    return gate


def waiting(*words: str) -> subprocess.Popen[str]:
    return subprocess.Popen([*program(), "wait", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_it_ends_when_all_have_reached_it(repo: Path, fleet: Fleet) -> None:
    one, two = gated(fleet, repo, "one", 0), gated(fleet, repo, "two", 3)
    wait = waiting("one", "two", "--for", "ended")
    one.touch()
    fleet.wait(["one"], ["done"], timeout=30)
    assert wait.poll() is None
    two.touch()
    out, err = wait.communicate(timeout=30)
    assert (wait.returncode, err) == (0, "")
    assert [line.split()[:2] for line in out.splitlines()] == [["one", "done"], ["two", "failed"]]


def test_any_is_enough(repo: Path, fleet: Fleet) -> None:
    gated(fleet, repo, "one", 0)
    two = gated(fleet, repo, "two", 0)
    wait = waiting("one", "two", "--any", "--for", "done", "--format", "json")
    two.touch()
    out, _ = wait.communicate(timeout=30)
    assert wait.returncode == 0
    assert [(one["name"], one["state"]["kind"]) for one in json.loads(out)] == [("two", "done")]


def test_a_settled_agent_is_waited_for_without_for(fleet: Fleet, muster: Muster) -> None:
    fleet.create("talks", "scripted")
    done = muster("wait", "talks", "--format", "jsonl")
    assert json.loads(done.out)["state"]["kind"] == "waiting"


def test_what_can_not_come_any_more_is_said(fleet: Fleet, muster: Muster) -> None:
    fleet.create("one", args=["false"])
    fleet.wait(["one"], ["failed"], timeout=30)
    done = muster("wait", "one", "--for", "done", check=False)
    assert done.code == 7
    assert done.out.split() == ["one", "failed", "exit", "code", "1"]
    assert "`one` is failed (exit code 1), so done can't come" in done.err
    assert "muster start one" in done.err


def test_the_time_is_up(fleet: Fleet, muster: Muster) -> None:
    fleet.create("one", args=["sleep", "1000"])
    done = muster("wait", "one", "--timeout", "100ms", check=False)
    assert done.code == 124
    assert done.out.split()[:2] == ["one", "working"]
    assert "`one` had not come to" in done.err


def test_ids_from_a_listing_and_expressions(fleet: Fleet, muster: Muster) -> None:
    fleet.create("one", args=["true"])
    fleet.create("two", args=["sleep", "1000"])
    fleet.wait(["one"], ["done"], timeout=30)
    ids = muster("list", "--ids", "--state", "done").out
    assert muster("wait", "-", stdin=ids).out.split()[:2] == ["one", "done"]
    assert muster("wait", "-", stdin="").out == ""
    assert muster("wait", "--where", 'name == "two"', "--for", "working").out.split()[:2] == ["two", "working"]


@pytest.mark.parametrize(
    ("words", "code", "hint"),
    [
        ([], 2, "give names"),
        (["nobody"], 3, "`muster create`"),
        (["x", "--for", "waitng"], 2, "did you mean `waiting`?"),
        (["x", "--timeout", "soon"], 2, "`5m`"),
    ],
)
def test_what_is_wrong_is_said(muster: Muster, words: list[str], code: int, hint: str) -> None:
    done = muster("wait", *words, check=False)
    assert (done.code, done.out) == (code, "")
    assert hint in done.err


def test_an_agent_that_is_stopped_meanwhile_ends_the_wait(fleet: Fleet) -> None:
    fleet.create("one", args=["sleep", "1000"])
    wait = waiting("one", "--for", "done")
    until(lambda: wait.poll() is not None or fleet.agent("one").state)
    fleet.stop(["one"])
    _, err = wait.communicate(timeout=30)
    assert wait.returncode == 7
    assert "stopped" in err


def test_a_wait_leaves_nothing_behind(fleet: Fleet) -> None:
    """A thread that still listened would take the bytes of whatever is opened next."""
    fleet.create("one", args=["sleep", "1000"])
    threads, open_files = threading.active_count(), os.listdir("/proc/self/fd") if os.path.isdir("/proc") else []
    for _ in range(10):
        with pytest.raises(TimedOut):
            fleet.wait(["one"], ["done"], timeout=0.05)
        assert threading.active_count() == threads
    assert not open_files or len(os.listdir("/proc/self/fd")) <= len(open_files)
