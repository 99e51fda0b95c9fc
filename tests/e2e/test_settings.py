"""Settings, templates, types of one's own, completion and the library."""

from __future__ import annotations

from pathlib import Path

from e2e.looks import agents, git, said, workspace
from muster_testkit import E2eSession, expect


def test_reading_and_writing_settings(user: E2eSession, calc: Path) -> None:
    file = user.home / ".muster" / "config.toml"
    listed = user.run(
        user.write_tutorial_block("""
        # what is set, and by whom?
        muster config list --origin
        """)
    )
    expect(listed).to_succeed().stdout.to_match(r'^create\.mode +"worktree" +default')
    got = user.run(
        user.write_tutorial_block("""
        # one of them
        muster config get create.mode
        """)
    )
    expect(got).to_succeed().stdout.to_equal("worktree\n")
    expect(
        user.run(
            user.write_tutorial_block("""
            # set it, for yourself
            muster config set create.mode clone
            """)
        )
    ).to_succeed()
    assert 'mode = "clone"' in file.read_text()
    expect(user.run("muster config list --origin").stdout).to_match(r'^create\.mode +"clone" +.*config\.toml')
    expect(
        user.run(
            user.write_tutorial_block("""
            # set it for everybody who works on this project, in `muster.toml`
            muster config set workspace.setup 'echo prepared' --layer project
            git add muster.toml && git commit --quiet -m 'Prepare workspaces'
            """)
        )
    ).to_succeed()
    assert git(user, "show HEAD:muster.toml") == '[workspace]\nsetup = "echo prepared"'
    expect(user.run("muster create made -- true")).to_succeed()
    assert (workspace(user, "made") / ".git").is_dir()
    expect(user.run("muster logs made --setup").stdout).to_equal("prepared\n")
    expect(
        user.run(
            user.write_tutorial_block("""
            # remove it
            muster config unset create.mode
            """)
        )
    ).to_succeed()
    expect(user.run("muster config get create.mode").stdout).to_equal("worktree\n")
    where = user.run(
        user.write_tutorial_block("""
        # where is the file?
        muster config path
        """)
    )
    expect(where).to_succeed().stdout.to_equal(f"{file}\n")
    edit = user.write_tutorial_block("""
    # open it in your editor; a text that can't be is not taken over
    muster config edit
    """)
    user.env["EDITOR"] = str(user.write_file("../editor", '#!/bin/sh\necho "$TEXT" >"$1"\n', mode=0o755))
    expect(user.run(edit, env={"TEXT": "[list]\nsort = 'name'"})).to_succeed()
    expect(user.run("muster config get list.sort").stdout).to_equal("name\n")
    expect(user.run(edit, env={"TEXT": "[lst]\nsort = 'age'"})).to_have_exit_code(2).stderr.to_contain("lst", "list")
    expect(user.run("muster config get list.sort").stdout).to_equal("name\n")
    before = file.read_text()
    for words in (
        "get create.mod",
        "set create.mode cloned",
        "set create.mod clone",
        "unset create.mod",
        "set connect.command x --layer project",
    ):
        expect(user.run(f"muster config {words}")).to_have_exit_code(2).stderr.to_contain("error: ")
    assert file.read_text() == before
    assert git(user, "status --porcelain", calc) == ""


def test_templates_and_types_of_your_own(user: E2eSession, calc: Path) -> None:
    assert calc.is_dir()
    expect(
        user.run(
            user.write_tutorial_block("""
            # a template, and an agent made from it
            muster config set templates.review.type scripted
            muster config set templates.review.message 'Review the last commit'
            muster create check --template review
            """)
        )
    ).to_succeed()
    assert agents(user)["check"]["type"] == "scripted"
    assert said(user, "check") == ["Review the last commit"]
    expect(
        user.run(
            user.write_tutorial_block("""
            # an agent type of your own
            muster config set types.timer.args 'sleep,1000'
            muster create tick timer
            """)
        )
    ).to_succeed()
    expect(user.run("muster exec tick -- ps -A -o args").stdout).to_have_line("sleep 1000")
    expect(user.run("muster create wrong --template reviw")).to_fail().stderr.to_contain("`reviw`", "review")
    expect(user.run("muster create wrong timr")).to_fail().stderr.to_contain("`timr`", "timer")
    assert [*agents(user)] == ["check", "tick"]
    library = user.run(
        user.write_tutorial_block("""
        # the same verbs are a library: docs/library.md
        python3 -c 'from muster import Fleet; print(*(agent.name for agent in Fleet.open().agents()))'
        """)
    )
    expect(library).to_succeed().stdout.to_equal("check tick\n")


def test_recorded_sessions_and_completion(user: E2eSession, calc: Path) -> None:
    assert calc.is_dir()
    expect(user.run("muster create hello scripted -m 'Hello there'")).to_succeed()
    expect(user.run("muster wait hello")).to_succeed()
    expect(
        user.run(
            user.write_tutorial_block("""
            # record every session that you connect to
            muster config set connect.command 'python3 -m muster_testkit record --into ~/recordings --'
            """)
        )
    ).to_succeed()
    with user.terminal("muster connect hello") as terminal:
        terminal.wait_for("leave: C-b d")
        terminal.press("ctrl-b").send("d")
        assert terminal.exit() == 0
    [recording] = (user.home / "recordings").glob("*.cast")
    expect(recording).to_contain("heard: Hello there")
    block = user.write_tutorial_block("""
    # complete commands, options and names of agents in your shell
    eval "$(muster completion bash)"
    """)
    expect(user.run(["bash", "-c", block + "\ncomplete -p muster"])).to_succeed().stdout.to_contain("muster")
    words = {"COMP_WORDS": "muster stop he", "COMP_CWORD": "2", "_MUSTER_COMPLETE": "bash_complete"}
    expect(user.run("muster", env=words, comment="what the shell asks").stdout).to_contain("hello")
    expect(user.run("muster completion csh")).to_have_exit_code(2).stderr.to_contain("csh")
