"""The project that the tutorial's reader makes, and a fleet that ends with the test."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from muster_testkit import E2eSession, expect, expect_eventually, processes, tutorial

GIT = """\
[user]
name = Ada
email = ada@example.org
[init]
defaultBranch = main
[gc]
auto = 0
[maintenance]
auto = false
"""
TUTORIAL = Path(__file__).parent.parent.parent / "docs" / "tutorial.sh"


def typed(words: str) -> str:
    """The block of the tutorial that has these words, for what a test begins with but does not show."""
    [found] = [one.text for one in tutorial.read(str(TUTORIAL)) if words in one.text]
    return found


@pytest.fixture
def user(e2e: E2eSession) -> Iterator[E2eSession]:
    """Somebody with a name in git, whose fleet ends with the test."""
    (e2e.home / ".gitconfig").write_text(GIT)
    yield e2e
    socket = e2e.home / ".muster" / "tmux.sock"
    if socket.is_socket():
        subprocess.run(["tmux", "-S", str(socket), "kill-server"], capture_output=True, check=False, timeout=30)
    mark = f"{processes.MARK}={e2e.home.parent.name}-"
    expect_eventually(lambda: not processes.marked(mark))


@pytest.fixture
def calc(user: E2eSession) -> Path:
    """The tutorial's project as the working directory, and the script for the agent beside it."""
    expect(user.run(typed("mkdir calc"))).to_succeed()
    user.cwd /= "calc"
    expect(user.run(typed("cat >../fix.toml"))).to_succeed()
    return user.cwd
