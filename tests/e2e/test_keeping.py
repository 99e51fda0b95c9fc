"""Pausing, keeping, going back and sending away."""

from __future__ import annotations

from pathlib import Path

import pytest

from e2e.looks import agents, git, said, states, workspace
from kit import gone
from muster_testkit import E2eSession, expect, expect_eventually


@pytest.fixture
def fix(user: E2eSession, calc: Path) -> str:
    """An agent that has mended the project and has a file that is not committed."""
    assert calc.is_dir()
    expect(user.run("muster create fix scripted -- --script ../fix.toml")).to_succeed()
    expect(user.run("muster wait fix")).to_succeed()
    (workspace(user, "fix") / "notes.txt").write_text("not committed\n")
    return "fix"


def _process(user: E2eSession, name: str) -> str:
    evidence = user.run(f"muster why {name} --format json").json()["evidence"]
    return str(evidence["panes"][0]["pid"] if "panes" in evidence else evidence["pid"])


def test_pausing(user: E2eSession, fix: str) -> None:
    before = _process(user, fix)
    stopped = user.run(
        user.write_tutorial_block("""
        # end its program and keep all else
        muster stop fix
        """)
    )
    expect(stopped).to_succeed().stdout.to_match(r"^fix +stopped")
    expect_eventually(lambda: gone(before))
    assert (workspace(user, fix) / "notes.txt").exists()
    expect(
        user.run(
            user.write_tutorial_block("""
            # go on where it was, with its conversation
            muster start fix
            """)
        )
    ).to_succeed()
    expect(user.run("muster message fix -m 'Thank you!'")).to_succeed()
    expect_eventually(lambda: said(user, fix, "assistant") == ["A sign is wrong.", "You are welcome."])
    again = _process(user, fix)
    expect(
        user.run(
            user.write_tutorial_block("""
            # both in one
            muster restart fix
            """)
        )
    ).to_succeed()
    assert _process(user, fix) not in (before, again)
    expect_eventually(lambda: gone(again))
    put_away = user.run(
        user.write_tutorial_block("""
        # out of the listings, but not gone
        muster archive fix
        muster list --archived
        """)
    )
    expect(put_away).to_succeed().stdout.to_match(r"^fix +archived").to_match(r"^fix +scripted +stopped")
    expect(user.run("muster list").stdout).not_to_contain("fix")
    expect(
        user.run(
            user.write_tutorial_block("""
            # and back
            muster archive fix --undo
            """)
        )
    ).to_succeed()
    expect(user.run("muster list").stdout).to_match(r"^fix +scripted +stopped")
    expect(
        user.run(
            user.write_tutorial_block("""
            # another name; id, workspace and branch stay
            muster rename fix parser
            """)
        )
    ).to_succeed()
    assert git(user, "branch --show-current", workspace(user, "parser")) == "muster/fix"
    for words in ("stop fix", "start fix", "restart fix", "archive fix", "rename fix other"):
        expect(user.run(f"muster {words}")).to_have_exit_code(3).stderr.to_contain("`fix`")
    expect(user.run("muster rename parser 'no name'")).to_have_exit_code(2)
    expect(user.run("muster stop")).to_have_exit_code(2).stderr.to_contain("which agents?")


def test_copies_and_snapshots(user: E2eSession, fix: str) -> None:
    expect(user.run("muster rename fix parser")).to_succeed()
    assert fix not in agents(user)
    copied = user.run(
        user.write_tutorial_block("""
        # a second one like it, work and conversation included
        muster clone parser parser-b -m 'Try it another way'
        """)
    )
    expect(copied).to_succeed()
    there = workspace(user, "parser-b")
    assert there != workspace(user, "parser")
    assert (there / "notes.txt").read_text() == "not committed\n"
    assert git(user, "log -1 --format=%s", there) == "Add instead of subtracting"
    kept = user.run(
        user.write_tutorial_block("""
        # keep it as it is before something daring
        muster snapshot create parser --label before
        """)
    )
    expect(kept).to_succeed()
    (workspace(user, "parser") / "notes.txt").write_text("spoilt\n")
    listed = user.run(
        user.write_tutorial_block("""
        # what is kept?
        muster snapshot list
        """)
    )
    expect(listed).to_succeed().stdout.to_contain(kept.stdout.strip()).to_match(r" parser .* before$")
    back = user.run(
        user.write_tutorial_block("""
        # go back to it, as a new agent
        muster snapshot restore before parser-again
        muster start parser-again
        """)
    )
    expect(back).to_succeed()
    assert (workspace(user, "parser-again") / "notes.txt").read_text() == "not committed\n"
    assert (workspace(user, "parser") / "notes.txt").read_text() == "spoilt\n"
    expect(user.run("muster message parser-again -m 'Thank you!'")).to_succeed()
    expect(
        user.run(
            user.write_tutorial_block("""
            # throw it away
            muster snapshot destroy before
            """)
        )
    ).to_succeed()
    expect(user.run("muster snapshot list").stdout).not_to_contain("before")
    for words in ("snapshot restore before", "snapshot destroy before", "snapshot create nobody", "clone nobody"):
        expect(user.run(f"muster {words}")).to_have_exit_code(3).stderr.to_contain("error: ")
    expect(user.run("muster clone parser parser-b")).to_have_exit_code(5).stderr.to_contain("`parser-b`")
    assert [*agents(user)] == ["parser", "parser-b", "parser-again"]


def test_sending_away_and_bringing_back(user: E2eSession, fix: str) -> None:
    expect(user.run("muster rename fix parser")).to_succeed()
    expect(user.run("muster clone parser parser-b")).to_succeed()
    there, process = workspace(user, "parser"), _process(user, "parser")
    only_said = user.run(
        user.write_tutorial_block("""
        # what would be removed, and what kept?
        muster destroy parser --dry-run
        """)
    )
    expect(only_said).to_succeed().stdout.to_match(r"^ +removes +.*/work/").to_match(r"^ +keeps? ")
    assert fix in git(user, "branch --list muster/fix")
    assert (there / "notes.txt").exists()
    away = user.run(
        user.write_tutorial_block("""
        # send it away with its branch; its commits and files go to the attic
        muster destroy parser --branch
        """)
    )
    expect(away).to_succeed().stdout.to_match(r"^parser +destroyed")
    expect_eventually(lambda: gone(process))
    assert not there.exists()
    assert git(user, "branch --list muster/fix") == ""
    listed = user.run(
        user.write_tutorial_block("""
        # what is in the attic?
        muster restore --list
        """)
    )
    expect(listed).to_succeed().stdout.to_match(r"^parser +\S+ +scripted")
    back = user.run(
        user.write_tutorial_block("""
        # bring it back, work and conversation included
        muster restore parser
        muster start parser
        """)
    )
    expect(back).to_succeed()
    assert (workspace(user, "parser") / "notes.txt").read_text() == "not committed\n"
    assert git(user, "log -1 --format=%s muster/fix") == "Add instead of subtracting"
    assert said(user, "parser", "assistant") == ["A sign is wrong."]
    named = user.run(
        user.write_tutorial_block("""
        # under another name, where its own is taken by now
        muster destroy parser-b
        muster create parser-b scripted
        muster restore parser-b --as parser-c
        """)
    )
    expect(named).to_succeed()
    expect(user.run("muster restore parser-b")).to_fail().stderr.to_contain("`parser-b`")
    assert (workspace(user, "parser-c") / "notes.txt").read_text() == "not committed\n"
    for words in ("restore nobody", "destroy nobody", "destroy nobody --dry-run"):
        expect(user.run(f"muster {words}")).to_have_exit_code(3).stderr.to_contain("`nobody`")
    expect(user.run("muster destroy")).to_have_exit_code(2)
    end = user.run(
        user.write_tutorial_block("""
        # send everybody away
        muster destroy --all
        """)
    )
    expect(end).to_succeed()
    assert states(user) == {}


def test_the_attic(user: E2eSession, fix: str) -> None:
    expect(user.run("muster destroy fix --branch")).to_succeed()
    tidied = user.run(
        user.write_tutorial_block("""
        # expire what is older than the setting `attic.days`, and clear up what crashes left
        muster gc
        """)
    )
    expect(tidied).to_succeed()
    expect(user.run("muster restore --list").stdout).to_match(rf"^{fix} ")
    assert git(user, "for-each-ref refs/muster") != ""
    expect(user.run("muster gc --days -1")).to_have_exit_code(2)
    emptied = user.run(
        user.write_tutorial_block("""
        # empty the attic, for good
        muster gc --days 0
        """)
    )
    expect(emptied).to_succeed().stdout.to_contain("fix")
    assert git(user, "for-each-ref refs/muster") == ""
    expect(user.run("muster restore fix")).to_have_exit_code(3)
