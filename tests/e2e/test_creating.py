"""What an agent can be, and where it works."""

from __future__ import annotations

from pathlib import Path

import pytest

from e2e.looks import agents, git, said, states, workspace
from muster_testkit import E2eSession, expect, expect_eventually


def test_any_program(user: E2eSession, calc: Path) -> None:
    assert calc.is_dir()
    made = user.run(
        user.write_tutorial_block("""
        # any program can be one; it has the type `command`
        muster create tests -- python3 -m pytest -q
        """)
    )
    expect(made).to_succeed().stdout.to_equal("tests\n")
    ended = user.run(
        user.write_tutorial_block("""
        # how did it end? its exit status is the state, `done` or `failed`
        muster wait tests --for done,failed
        """)
    )
    expect(ended).to_succeed().stdout.to_match(r"^tests +failed +exit code 1")
    expect(user.run("muster logs tests")).to_succeed().stdout.to_contain("1 failed")
    never = user.run("muster wait tests --for done", comment="what can't come any more")
    expect(never).to_have_exit_code(7)
    wrong = user.run("muster wait tests --for finished")
    expect(wrong).to_have_exit_code(2).stderr.to_contain("`finished`", "hint: ")
    no_program = user.run("muster create nothing -- /no/such/program")
    expect(user.run("muster wait nothing --for failed", comment=f"made with {no_program.exit_code}")).to_succeed()


def test_names_and_records_for_scripts(user: E2eSession, calc: Path) -> None:
    assert calc.is_dir()
    named = user.run(
        user.write_tutorial_block("""
        # the name goes to standard output, so a script can have one made up
        name=$(muster create -- sleep 1000)
        muster destroy "$name"
        """)
    )
    expect(named).to_succeed().stdout.to_match(r"^\w+-\w+ +destroyed")
    assert agents(user) == {}
    quick = user.run(
        user.write_tutorial_block("""
        # all that is known of a new agent, for programs
        muster create quick --format json -- true
        """)
    )
    expect(quick).to_succeed().stdout.to_be_json().at("name").to_equal("quick")
    expect(quick.json()).at("workspace.mode").to_equal("worktree")
    nightly = user.write_tutorial_block("""
    # in a script that runs every night: take the one that is there
    muster create nightly scripted --reuse
    """)
    expect(user.run(nightly)).to_succeed().stderr.to_contain("is made")
    first = agents(user)["nightly"]["id"]
    expect(user.run(nightly, comment="the next night")).to_succeed().stderr.to_contain("was there already")
    assert agents(user)["nightly"]["id"] == first
    expect(user.run("muster create nightly scripted")).to_have_exit_code(5).stderr.to_contain("`nightly`")
    expect(user.run("muster create two names scripted")).to_have_exit_code(2).stderr.to_contain("one word too many")
    expect(user.run("muster create -- ")).to_have_exit_code(2)
    assert list(agents(user)) == ["quick", "nightly"]


def test_kinds_of_workspaces(user: E2eSession, calc: Path) -> None:
    user.env.update(GH_REPO="ada/calc", SECRET="not this")
    user.write_file("left.log", "ignored\n")
    expect(
        user.run(
            user.write_tutorial_block("""
            # from another commit, to a branch that you name
            muster create again scripted --branch main:try-again
            """)
        )
    ).to_succeed()
    assert git(user, "branch --show-current", workspace(user, "again")) == "try-again"
    expect(
        user.run(
            user.write_tutorial_block("""
            # a clone has a repository of its own; a copy is the folder as it is, with all that git ignores
            muster create far scripted --mode clone
            muster create copied scripted --mode copy
            """)
        )
    ).to_succeed()
    far, copied = workspace(user, "far"), workspace(user, "copied")
    assert (far / ".git").is_dir()
    assert not (far / "left.log").exists()
    assert (copied / "left.log").read_text() == "ignored\n"
    expect(
        user.run(
            user.write_tutorial_block("""
            # in your own checkout, for once
            muster create here --mode in-place -- sh -c 'echo seen >seen.log'
            """)
        )
    ).to_succeed()
    expect_eventually(lambda: (calc / "seen.log").read_text() == "seen\n")
    expect(
        user.run(
            user.write_tutorial_block("""
            # variables: given, from a file, and from your own environment
            echo 'GREETING=hello there' >../.env
            muster create vars --env LEVEL=3 --env-file ../.env --pass-env 'GH_*' -- sh -c 'env >env.log'
            """)
        )
    ).to_succeed()
    expect(user.run("muster wait vars --for done")).to_succeed()
    expect(workspace(user, "vars") / "env.log").to_contain("LEVEL=3\n", "GREETING=hello there\n", "GH_REPO=ada/calc\n")
    expect(workspace(user, "vars") / "env.log").not_to_contain("SECRET")

    made = list(agents(user))
    for words, says in (
        ("--branch nowhere:new", "nowhere"),
        ("--branch main:main", "main"),
        ("--mode cloned", "cloned"),
        ("--env LEVEL", "LEVEL"),
        ("--env-file ../none", "none"),
        ("--pass-env NO_SUCH", "NO_SUCH"),
    ):
        expect(user.run(f"muster create wrong scripted {words}")).to_fail().stderr.to_contain(says)
    assert list(agents(user)) == made
    assert git(user, "worktree list").count("\n") == 2


def test_uncommitted_changes_are_never_forgotten(user: E2eSession, calc: Path) -> None:
    user.write_file("calc.py", "def add(a, b):\n    return b - a\n")
    user.write_file("new.py", "x = 1\n")
    refused = user.run("muster create draft scripted")
    expect(refused).to_have_exit_code(5).stderr.to_contain("calc.py", "new.py", "--dirty carry")
    assert agents(user) == {}
    expect(
        user.run(
            user.write_tutorial_block("""
            # take along what you have not committed yet (otherwise muster refuses, so that nothing is forgotten)
            muster create draft scripted --dirty carry
            """)
        )
    ).to_succeed()
    there = workspace(user, "draft")
    assert (there / "calc.py").read_text() == (calc / "calc.py").read_text()
    assert (there / "new.py").exists()
    assert git(user, "status --porcelain") == "M calc.py\n?? new.py"


def test_preparing_a_workspace(user: E2eSession, calc: Path) -> None:
    user.write_file(".venv/marker", "slow to make\n")
    expect(
        user.run(
            user.write_tutorial_block("""
            # link what git ignores and is slow to make, and prepare the workspace before the agent begins
            mkdir -p .venv
            muster create ready scripted --share .venv --setup 'echo prepared | tee setup.log'
            """)
        )
    ).to_succeed()
    there = workspace(user, "ready")
    assert (there / ".venv" / "marker").samefile(calc / ".venv" / "marker")
    assert (there / "setup.log").read_text() == "prepared\n"
    printed = user.run(
        user.write_tutorial_block("""
        # what did the preparation print?
        muster logs ready --setup
        """)
    )
    expect(printed).to_succeed().stdout.to_equal("prepared\n")
    broken = user.run("muster create broken scripted --setup 'echo no luck; exit 3'")
    expect(broken).to_fail().stderr.to_contain("no luck")
    expect(user.run("muster create broken scripted --share .nothing")).to_fail().stderr.to_contain(".nothing")
    assert list(agents(user)) == ["ready"]
    assert git(user, "branch --list 'muster/*'") == "+ muster/ready"


def test_windows_and_logs(user: E2eSession, calc: Path) -> None:
    assert calc.is_dir()
    expect(
        user.run(
            user.write_tutorial_block("""
            # one more window in its terminal
            muster create pair scripted --window 'clock=sh -c "while :; do date; sleep 5; done"'
            """)
        )
    ).to_succeed()
    tmux = f"tmux -S {user.home}/.muster/tmux.sock"
    windows = user.run(f"{tmux} list-windows -t ={agents(user)['pair']['id']} -F '#W'").stdout.split()
    assert windows[1:] == ["clock"]
    expect(
        user.run(
            user.write_tutorial_block("""
            # keep all that its terminal shows, not only the last screen
            muster create noisy --log -- sh -c 'seq 3000; exec sleep 1000'
            """)
        )
    ).to_succeed()

    def kept() -> bool:
        return user.run("muster logs noisy").stdout.split()[-1:] == ["3000"]

    expect_eventually(kept, interval=0.2)
    expect(user.run("muster logs noisy").stdout).to_have_line("1").to_have_line("1500")
    expect(user.run("muster create wrong scripted --window clock")).to_have_exit_code(2)


def test_ways_to_say_the_task(user: E2eSession, calc: Path) -> None:
    user.env["EDITOR"] = f"{user.write_file('../editor', EDITOR, mode=0o755)} 'From the editor'"
    expect(
        user.run(
            user.write_tutorial_block("""
            # the task from a file, or from standard input
            echo 'Mend the sign' >../task.md
            muster create task scripted --message-file ../task.md
            echo 'Look at the parser' | muster create piped scripted --message-file -
            """)
        )
    ).to_succeed()
    assert said(user, "task") == ["Mend the sign"]
    assert said(user, "piped") == ["Look at the parser"]
    expect(
        user.run(
            user.write_tutorial_block("""
            # the task from your editor, while the agent starts
            muster create letter scripted --edit-message
            """)
        )
    ).to_succeed()
    assert said(user, "letter") == ["From the editor"]
    (calc / "calc.py").write_text("def add(a, b):\n    return a + b\n")
    git(user, "commit --quiet --all --message 'Mine'")
    expect(
        user.run(
            user.write_tutorial_block("""
            # begin where another agent is now
            muster create second scripted --from task
            """)
        )
    ).to_succeed()
    assert git(user, "log --format=%s", workspace(user, "second")) == "A calculator"
    expect(
        user.run(
            user.write_tutorial_block("""
            # three at once: try-1, try-2, try-3
            muster create try scripted -n 3 -m 'Find the fault'
            """)
        )
    ).to_succeed()
    assert {f"try-{n}" for n in (1, 2, 3)} <= {*states(user)}
    assert said(user, "try-3") == ["Find the fault"]
    made = [*agents(user)]
    expect(user.run("muster create wrong scripted -m a --message-file ../task.md")).to_have_exit_code(2)
    expect(user.run("muster create wrong scripted --message-file ../nothing.md")).to_fail().stderr.to_contain(
        "nothing.md"
    )
    expect(user.run("muster create wrong scripted --from nobody")).to_fail().stderr.to_contain("`nobody`")
    expect(user.run("muster create try scripted -n 0")).to_have_exit_code(2)
    assert [*agents(user)] == made


EDITOR = """#!/bin/sh
printf '%s\\n' "$1" >"$2"
"""


def test_made_and_sat_down_at(user: E2eSession, calc: Path) -> None:
    assert calc.is_dir()
    block = user.write_tutorial_block("""
    # and sit down at it at once
    muster create now scripted --connect
    """)
    expect(user.run(block)).to_have_exit_code(2).stderr.to_contain("connecting needs a terminal")
    assert agents(user) == {}
    with user.terminal(block) as terminal:
        terminal.wait_for("leave: C-b d")
        terminal.wait_for("Hello, I am now")
        terminal.press("ctrl-b").send("d")
        assert terminal.exit() == 0
    expect_eventually(lambda: states(user) == {"now": "waiting"})


@pytest.mark.parametrize("name", ["command", "scripted", "mechanic"])
def test_types(e2e: E2eSession, name: str) -> None:
    listed = e2e.run(
        e2e.write_tutorial_block("""
        # which types are there, and where does each come from?
        muster plugin list
        """)
    )
    expect(listed).to_succeed().stdout.to_match(rf"^type +{name} +muster +\w")
