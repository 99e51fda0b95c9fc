"""The first hour: what is here, the first agents, and their work brought home."""

from __future__ import annotations

import re
from pathlib import Path

from e2e.looks import agents, git, said, states, workspace
from muster.cli import TABLE
from muster_testkit import E2eSession, expect, expect_eventually


def test_help_succeeds(e2e: E2eSession) -> None:
    e2e.write_tutorial_block("""
    # or see the other commands--list, destroy, message, connect, push, pull, clone, and more!
    muster --help
    """)
    result = e2e.run("muster --help", comment="or see the other commands")
    expect(result).to_succeed()
    expect(result.stdout).to_contain("Usage")
    for name, (_, line) in TABLE.items():
        expect(result.stdout).to_match(rf"^ +{name}\b.* {re.escape(line[:30])}")


def test_help_of_a_command(e2e: E2eSession) -> None:
    result = e2e.run(
        e2e.write_tutorial_block("""
        # what does one of them take? `man muster-create` has the same text
        muster create --help
        """)
    )
    expect(result).to_succeed().stdout.to_contain("Usage: muster create", "--message", "Examples:")
    wrong = e2e.run("muster creat --help", comment="a slip of the finger")
    expect(wrong).to_have_exit_code(2).stderr.to_contain("`creat`", "hint: ", "create")
    expect(wrong.stdout).to_be_empty()
    assert not (e2e.home / ".muster").exists()


def test_what_is_here(user: E2eSession) -> None:
    versions = user.run(
        user.write_tutorial_block("""
        # which versions are these? (for a report of a fault)
        muster version
        """)
    )
    expect(versions).to_succeed().stdout.to_match(r"^muster +\d").to_match(r"^tmux +\d").to_match(r"^git +\d")
    expect(user.run("muster --version").stdout).to_match(r"\Amuster \d+\.\d+\.\d+\n\Z")
    checked = user.run(
        user.write_tutorial_block("""
        # is all there that muster needs?
        muster doctor
        """)
    )
    expect(checked).to_succeed().stderr.to_have_line("all is well")
    expect(checked.stdout).to_contain("Ada <ada@example.org>")
    assert not (user.home / ".muster").exists()
    user.env["PATH"] = str(_without_tmux(user))
    sick = user.run("muster doctor", comment="where tmux is missing")
    expect(sick).to_have_exit_code(1).stdout.not_to_match(r"^ok +tmux").to_match("^.*tmux")


def _without_tmux(user: E2eSession) -> Path:
    place = user.home / "bin"
    place.mkdir()
    for name in ("muster", "git", "sh"):
        (place / name).symlink_to(user.run(["sh", "-c", f"command -v {name}"]).stdout.strip())
    return place


def test_a_project_to_play_with(user: E2eSession) -> None:
    expect(
        user.run(
            user.write_tutorial_block(r"""
            # a small project with a fault in it; any other git repository will do
            mkdir calc && cd calc && git init --quiet
            printf 'def add(a, b):\n    return a - b\n' >calc.py
            printf 'from calc import add\n\n\ndef test_add():\n    assert add(2, 2) == 4\n' >test_calc.py
            mkdir docs && echo 'It adds.' >docs/index.md
            printf '__pycache__/\n.pytest_cache/\n.muster/\n.venv/\n*.log\n' >.gitignore
            git add . && git commit --quiet -m 'A calculator'
            """)
        )
    ).to_succeed()
    user.cwd /= "calc"
    expect(
        user.run(
            user.write_tutorial_block(r"""
            # a script for the agent to follow, so that you know what it will do (docs/scripted.md has all that a script can say)
            cat >../fix.toml <<'END'
            [[step]]
            say = "A sign is wrong."
            [[step]]
            edit = "calc.py"
            find = "a - b"
            replace = "a + b"
            [[step]]
            commit = "Add instead of subtracting"
            [[step]]
            edit = "notes.txt"
            content = "not committed\n"
            [[step]]
            artifact = "notes.md"
            content = "It was the sign.\n"
            [[step]]
            outcome = { status = "done", summary = "A wrong sign", changes = [{ kind = "impl", commit = "HEAD" }] }
            [[step]]
            wait = true
            [[step]]
            say = "You are welcome."
            END
            """)
        )
    ).to_succeed()
    assert git(user, "status --porcelain") == ""
    assert (user.cwd / "calc.py").read_text() == "def add(a, b):\n    return a - b\n"
    expect(user.cwd.parent / "fix.toml").to_contain('content = "It was the sign.\\n"\n')
    expect(user.run("python3 -m pytest -q")).to_fail().stdout.to_contain("test_add")


def test_from_the_first_agent_to_its_work(user: E2eSession, calc: Path) -> None:
    user.write_tutorial_block("""
    # make an agent; it works in a git worktree of its own, on a branch `muster/fix`, and never in your checkout
    muster create fix scripted -- --script ../fix.toml
    """)
    made = user.run("muster create fix scripted -- --script ../fix.toml", comment="make an agent")
    expect(made).to_succeed().stdout.to_equal("fix\n")
    hello = user.run(
        user.write_tutorial_block("""
        # one that has something said to it at once
        muster create hello scripted -m 'Hello there'
        """)
    )
    expect(hello).to_succeed().stderr.to_contain("its message is delivered")
    waited = user.run(
        user.write_tutorial_block("""
        # wait until it wants something from you
        muster wait fix
        """)
    )
    expect(waited).to_succeed().stdout.to_match(r"^fix +waiting")
    listed = user.run(
        user.write_tutorial_block("""
        # what is everybody doing?
        muster list
        """)
    )
    expect(listed).to_succeed().stdout.to_match(r"^fix +scripted +waiting +.* muster/fix ")
    expect(listed.stdout).to_match(r"^hello +scripted +waiting ")
    seen = user.run(
        user.write_tutorial_block("""
        # look at its screen, without touching it
        muster capture fix
        """)
    )
    expect(seen).to_succeed().stdout.to_contain("● A sign is wrong.")
    thanked = user.run(
        user.write_tutorial_block("""
        # say something; the receipt tells you that it has arrived
        muster message fix -m 'Thank you!'
        """)
    )
    expect(thanked).to_succeed().stdout.to_match(r"^fix +delivered")
    expect_eventually(lambda: "You are welcome." in said(user, "fix", "assistant"))
    told = user.run(
        user.write_tutorial_block("""
        # read the whole conversation
        muster transcript fix
        """)
    )
    expect(told).to_succeed().stdout.to_contain("A sign is wrong.", "Thank you!", "You are welcome.")

    where = workspace(user, "fix")
    assert git(user, "branch --show-current", where) == "muster/fix"
    assert git(user, "status --porcelain", calc) == ""
    assert "a - b" in (calc / "calc.py").read_text()
    shown = user.run(
        user.write_tutorial_block("""
        # look at the change where it was made
        muster exec fix -- git show --stat
        """)
    )
    expect(shown).to_succeed().stdout.to_contain("Add instead of subtracting", "calc.py | 2 +-")
    pulled = user.run(
        user.write_tutorial_block("""
        # take it over: your branch is fast-forwarded to what the agent has committed
        muster pull fix
        """)
    )
    expect(pulled).to_succeed().stdout.to_equal("fast-forwarded main by 1 commit\n")
    expect(pulled.stderr).to_contain("1 uncommitted file stayed in `fix`: notes.txt")
    assert (calc / "calc.py").read_text() == "def add(a, b):\n    return a + b\n"
    expect(user.run("python3 -m pytest -q")).to_succeed()
    undone = user.run(
        user.write_tutorial_block("""
        # what came in is a commit like any other: this takes it back, so that there is something to mend again
        git reset --quiet --hard HEAD~1
        """)
    )
    expect(undone).to_succeed()
    assert "a - b" in (calc / "calc.py").read_text()
    gone = user.run(
        user.write_tutorial_block("""
        # send the agents away; what they did is kept in the attic
        muster destroy fix hello
        """)
    )
    expect(gone).to_succeed()
    assert agents(user) == {}
    assert not where.exists()


def test_who_is_not_there_is_named(user: E2eSession, calc: Path) -> None:
    assert calc.is_dir()
    expect(user.run("muster create fix scripted -- --script ../fix.toml")).to_succeed()
    for words in ("wait fxi", "capture fxi", "transcript fxi", "message fxi -m Hello", "pull fxi", "destroy fix fxi"):
        wrong = user.run(f"muster {words}")
        expect(wrong).to_have_exit_code(3).stderr.to_contain("`fxi`", "hint: ", "`fix`")
        expect(wrong.stdout).to_be_empty()
    expect(user.run("muster exec fxi -- git show --stat")).to_have_exit_code(3)
    assert list(agents(user)) == ["fix"]
    twice = user.run("muster create fix scripted", comment="a name that is taken")
    expect(twice).to_have_exit_code(5).stderr.to_contain("`fix`")
    unknown = user.run("muster create other scriptd")
    expect(unknown).to_fail().stderr.to_contain("`scriptd`", "`scripted`")
    missing = user.run("muster create other scripted -- --script ../nothing.toml")
    expect(missing).to_fail().stderr.to_contain("nothing.toml")
    assert list(agents(user)) == ["fix"]
    assert git(user, "branch --list 'muster/*'") == "+ muster/fix"


def test_sitting_down_at_a_terminal(user: E2eSession, calc: Path) -> None:
    assert calc.is_dir()
    expect(user.run("muster create hello scripted -m 'Hello there'")).to_succeed()
    block = user.write_tutorial_block("""
    # sit down at its terminal, and leave it with C-b d: the agent goes on
    muster connect hello
    """)
    nowhere = user.run(block)
    expect(nowhere).to_have_exit_code(2).stderr.to_contain("connecting needs a terminal", "muster capture")
    with user.terminal(block, cols=90, rows=20) as terminal:
        terminal.wait_for("leave: C-b d")
        terminal.wait_for("heard: Hello there")
        terminal.send("Typed by hand").press("enter")
        terminal.wait_for("heard: Typed by hand")
        terminal.press("ctrl-b").send("d")
        assert terminal.exit() == 0
    expect_eventually(lambda: states(user) == {"hello": "waiting"})
    assert said(user, "hello") == ["Hello there", "Typed by hand"]
    user.env["MUSTER_CONNECT_COMMAND"] = user.connect_command
    expect(user.run("muster connect hello", comment="the same, recorded in the background")).to_succeed()
    expect(user.run("muster message hello -m 'And a message'")).to_succeed()
    expect_eventually(lambda: "And a message" in "".join(one.read_text() for one in _recordings(user)[1:]))


def _recordings(user: E2eSession) -> list[Path]:
    return sorted((user.artifacts / "recordings").glob("*.cast"))
