"""Bringing work home, and taking it there."""

from __future__ import annotations

from pathlib import Path

import pytest

from e2e.looks import git, workspace
from kit import gone
from muster_testkit import E2eSession, expect, expect_eventually

FIXED = "def add(a, b):\n    return a + b\n"


@pytest.fixture
def fix(user: E2eSession, calc: Path) -> Path:
    """The workspace of an agent that has mended the project, beside one that did nothing."""
    assert calc.is_dir()
    made = user.run(
        user.write_tutorial_block("""
        # one that mends the project, and one that waits to be told something
        muster create fix scripted -- --script ../fix.toml
        muster create other scripted
        muster wait fix other
        """)
    )
    expect(made).to_succeed()
    return workspace(user, "fix")


def test_commands_in_workspaces(user: E2eSession, fix: Path) -> None:
    tested = user.run(
        user.write_tutorial_block("""
        # run a command where an agent works, beside it; its exit code is passed on
        muster exec fix python3 -m pytest -q
        """)
    )
    expect(tested).to_succeed().stdout.to_contain("1 passed")
    expect(user.run("muster exec other python3 -m pytest -q")).to_have_exit_code(1).stdout.to_contain("1 failed")
    heads = user.run(
        user.write_tutorial_block("""
        # in many workspaces at once, each line with its agent's name
        muster exec fix other -- git log --oneline -1
        """)
    )
    expect(heads).to_succeed().stdout.to_match(r"^fix   \| \w+ Add instead").to_match(r"^other \| \w+ A calculator")
    everywhere = user.run(
        user.write_tutorial_block("""
        # everywhere, but not for ever
        muster exec --all --timeout 1m -- sh -c 'git status --short | wc -l'
        """)
    )
    expect(everywhere).to_succeed().stdout.to_match(r"^fix   \| +1").to_match(r"^other \| +0")
    below = user.run(
        user.write_tutorial_block("""
        # below a folder of the workspace
        muster exec fix --cwd docs pwd
        """)
    )
    expect(below).to_succeed().stdout.to_equal(f"{fix}/docs\n")
    late = user.run("muster exec fix --timeout 0.3s -- sh -c 'sleep 300 & echo $! >child.log; wait'")
    expect(late).to_have_exit_code(124)
    child = (fix / "child.log").read_text().strip()
    expect_eventually(lambda: gone(child))
    expect(user.run("muster exec fix -- sh -c 'exit 42'")).to_have_exit_code(42)
    expect(user.run("muster exec fix --cwd nowhere pwd")).to_fail().stderr.to_contain("nowhere")
    expect(user.run("muster exec fix no-such-program")).to_have_exit_code(127)


def test_files_and_commits_come_home(user: E2eSession, calc: Path, fix: Path) -> None:
    base = git(user, "rev-parse main")
    aside = user.run(
        user.write_tutorial_block("""
        # to another folder
        muster pull fix calc.py docs --to ../look
        """)
    )
    expect(aside).to_succeed().stdout.to_equal("calc.py\ndocs/index.md\n")
    assert (calc / "../look/calc.py").read_text() == FIXED
    named = user.run(
        user.write_tutorial_block("""
        # its commits under a name, without touching your checkout
        muster pull fix --ref refs/heads/look-at-this
        """)
    )
    expect(named).to_succeed()
    assert git(user, "rev-parse look-at-this") == git(user, "rev-parse HEAD", fix)
    assert git(user, "rev-parse HEAD main").split() == [base, base]
    left = user.run(
        user.write_tutorial_block("""
        # what it left for you to look at
        muster pull fix --artifacts --to ../artifacts
        """)
    )
    expect(left).to_succeed().stdout.to_equal("notes.md\n")
    assert (calc / "../artifacts/notes.md").read_text() == "It was the sign.\n"
    assert git(user, "status --porcelain") == ""

    user.write_file("calc.py", "# mine\n")
    refused = user.run("muster pull fix calc.py", comment="a file that differs")
    expect(refused).to_have_exit_code(5).stderr.to_contain("calc.py", "--force")
    assert (calc / "calc.py").read_text() == "# mine\n"
    forced = user.run(
        user.write_tutorial_block("""
        # what differs here is not overwritten unless you say so
        muster pull fix calc.py --force
        """)
    )
    expect(forced).to_succeed()
    assert (calc / "calc.py").read_text() == FIXED
    plain = user.run(
        user.write_tutorial_block("""
        # its files as they are now, committed or not
        muster pull fix notes.txt docs/index.md
        """)
    )
    expect(plain).to_succeed()
    assert (calc / "notes.txt").read_text() == "not committed\n"
    for words in ("fix nothing.py", "fix ../../x", "fix calc.py --git", "fix --ref look"):
        expect(user.run(f"muster pull {words}")).to_fail().stderr.to_contain("error: ")


def test_work_goes_there(user: E2eSession, calc: Path, fix: Path) -> None:
    other = workspace(user, "other")
    expect(user.run("muster pull fix calc.py --force")).to_succeed()
    pushed = user.run(
        user.write_tutorial_block("""
        # give your newest commits to the other one
        git add . && git commit --quiet -m 'Take over the repair'
        muster push other
        """)
    )
    expect(pushed).to_succeed().stdout.to_contain("1 commit")
    assert git(user, "rev-parse HEAD", other) == git(user, "rev-parse HEAD")
    assert (other / "calc.py").read_text() == FIXED
    given = user.run(
        user.write_tutorial_block("""
        # give it files that are not committed
        echo 'Think of large numbers' >todo.log
        muster push other todo.log --to docs
        """)
    )
    expect(given).to_succeed()
    assert (other / "docs" / "todo.log").read_text() == "Think of large numbers\n"
    (other / "docs" / "todo.log").write_text("its own\n")
    expect(user.run("muster push other todo.log --to docs")).to_have_exit_code(5).stderr.to_contain("todo.log")
    assert (other / "docs" / "todo.log").read_text() == "its own\n"
    apart = user.run("muster push fix", comment="one that has gone its own way")
    expect(apart).to_succeed().stdout.to_contain("not a fast-forward")
    assert git(user, "log -1 --format=%s", fix) == "Add instead of subtracting"
    expect(user.run("muster push other nothing.md")).to_fail().stderr.to_contain("nothing.md")
    expect(user.run("muster push nobody todo.log")).to_have_exit_code(3)
    assert calc.is_dir()
