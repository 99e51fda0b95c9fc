"""Other machines: a real sshd, and a real engine of containers."""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from e2e.looks import agents, git, said, states, workspace
from muster_testkit import E2eSession, expect, expect_eventually

if TYPE_CHECKING:
    from machines import Box, Engine

pytest_plugins = ["machines"]


def test_an_agent_behind_ssh(user: E2eSession, calc: Path, box: Box) -> None:
    user.env["MUSTER_SSH_CONFIG"] = os.environ["MUSTER_SSH_CONFIG"]
    made = user.run(
        user.write_tutorial_block("""
        # an agent on a machine that your ssh reaches as `box`; it has sh, tar, git and tmux, and nothing of muster
        muster create distant@box scripted -m 'Hello over there'
        """)
    )
    expect(made).to_succeed().stdout.to_equal("distant\n")
    assert agents(user)["distant"]["host"] == "box"
    there = workspace(user, "distant")
    assert there.is_relative_to(box.home)
    asked = user.run(
        user.write_tutorial_block("""
        # all that you have learned works from here
        muster message distant -m 'What is new?'
        muster exec distant -- git log --oneline -1
        """)
    )
    expect(asked).to_succeed().stdout.to_match(r"\Adistant  delivered\n\w+ A calculator\n\Z")
    (there / "notes.txt").write_text("not committed\n")
    moved = user.run(
        user.write_tutorial_block("""
        # let it go on here, with its work and its conversation
        muster migrate distant @local
        """)
    )
    expect(moved).to_succeed()
    assert agents(user)["distant"]["host"] == "local"
    assert not there.exists()
    assert (workspace(user, "distant") / "notes.txt").read_text() == "not committed\n"
    expect_eventually(lambda: said(user, "distant") == ["Hello over there", "What is new?"])
    assert git(user, "status --porcelain", calc) == ""
    nowhere = user.run("muster create lost@no-such-host.invalid -- true", comment="a machine that ssh can't reach")
    expect(nowhere).to_have_exit_code(4).stderr.to_contain("no-such-host.invalid")
    expect(user.run("muster migrate nobody @local")).to_have_exit_code(3)
    assert states(user).keys() == {"distant"}


def test_containers(user: E2eSession, calc: Path, engine: Engine) -> None:
    user.env.update({name: value for name, value in os.environ.items() if name.startswith("MUSTER_DOCKER_")})
    assert calc.is_dir()
    mine = engine._replace(mark=sha256(str(user.home / ".muster").encode()).hexdigest()[:16])
    try:
        _containers(user, mine)
        assert mine.containers() == []
    finally:
        if left := mine.containers():
            mine.docker("rm", "--force", "--volumes", *left)


def _containers(user: E2eSession, mine: Engine) -> None:
    boxed = user.run(
        user.write_tutorial_block("""
        # an agent in a container of its own, which can reach nothing
        muster create boxed@.docker --network none -- sleep 1000
        """)
    )
    expect(boxed).to_succeed().stdout.to_equal("boxed\n")
    expect(user.run("muster exec boxed -- cat /proc/net/dev").stdout).to_contain("lo:").not_to_contain("eth0")
    shared = user.run(
        user.write_tutorial_block("""
        # one container for several agents
        muster host create shared.docker
        muster create inside@shared -- sleep 1000
        """)
    )
    expect(shared).to_succeed()
    listed = user.run(
        user.write_tutorial_block("""
        # which hosts are there, and how is each?
        muster host list
        """)
    )
    expect(listed).to_succeed().stdout.to_match(r"^shared +docker").to_match(r"^local ")
    assert len(mine.containers()) == 2
    command = user.run(
        user.write_tutorial_block("""
        # a command on a host, outside of any workspace
        muster host exec shared -- uname
        """)
    )
    expect(command).to_succeed().stdout.to_equal("Linux\n")
    expect(user.run("muster host exec shared -- sh -c 'exit 42'")).to_have_exit_code(42)
    expect(user.run("muster host destroy shared", comment="with an agent on it")).to_have_exit_code(5)
    resumed = user.run(
        user.write_tutorial_block("""
        # stop it, and go on later with all that was on it
        muster host stop shared
        muster host start shared --agents
        """)
    )
    expect(resumed).to_succeed()
    expect_eventually(lambda: states(user)["inside"] == "working", interval=0.2)
    gone = user.run(
        user.write_tutorial_block("""
        # take it away; the work of its agents goes to the attic
        muster host destroy shared --agents
        """)
    )
    expect(gone).to_succeed()
    assert states(user).keys() == {"boxed"}
    expect(user.run("muster restore --list").stdout).to_match(r"^inside ")
    expect(user.run("muster host stop shared")).to_have_exit_code(3).stderr.to_contain("`shared`")
    expect(user.run("muster destroy boxed")).to_succeed()
