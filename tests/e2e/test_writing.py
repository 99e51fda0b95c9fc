"""Agents that write a tutorial and its tests: what they did is looked at, whatever they say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from e2e.conftest import typed
from e2e.looks import agents, git, said, states, workspace
from muster_testkit import E2eSession, expect, expect_eventually

TUTORIAL = "# Sums\n\n# add two numbers\nexpr 2 + 2\n\n# take one number away from another\n"
FILLED = TUTORIAL + "expr 3 - 2\n"
TEST = """\
def test_two(e2e):
    block = e2e.write_tutorial_block("# add two numbers\\nexpr 2 + 2")
    assert e2e.run(block).stdout == "4\\n"
"""
MINUS = """
def test_minus(e2e):
    block = e2e.write_tutorial_block("# take one number away from another\\nexpr 3 - 2")
    assert e2e.run(block).stdout == "1\\n"
"""
DRAFT = "muster tutorial draft tutorial.sh --type scripted --name"
SYNC = "muster tutorial sync tutorial.sh tests --type scripted --name"
CLAIM = {"say": "All done: I wrote every test, and all of them pass."}


def script(user: E2eSession, name: str, *steps: dict[str, Any]) -> None:
    """What an agent does that has been told its task; a JSON string is one of TOML, too."""
    lines = ["[[step]]\nwait = true\n"]
    for step in steps:
        lines += ["[[step]]\n", *(f"{key} = {json.dumps(value)}\n" for key, value in step.items())]
    user.write_file(f"../{name}.toml", "".join(lines))


@pytest.fixture
def sums(user: E2eSession, calc: Path) -> Path:
    """The tutorial's other project, whose own tutorial has a heading without an example."""
    expect(user.run(typed("mkdir tests"))).to_succeed()
    made = user.run(
        user.write_tutorial_block(r"""
        # a heading without an example, and what the agent will do that is to find one
        printf '\n# take one number away from another\n' >>tutorial.sh
        git commit --quiet --all -m 'Subtract'
        cat >../draft.toml <<'END'
        [[step]]
        wait = true
        [[step]]
        edit = "tutorial.sh"
        append = "expr 3 - 2\n"
        [[step]]
        commit = "Show how to subtract"
        END
        """)
    )
    expect(made).to_succeed()
    assert (calc / "tutorial.sh").read_text() == TUTORIAL
    assert (calc / "tests" / "test_sums.py").read_text() == TEST
    return calc


@pytest.fixture
def minus(user: E2eSession, sums: Path) -> Path:
    """The same, with the example, which no test shows."""
    user.write_file("tutorial.sh", FILLED)
    git(user, "commit --quiet --all --message 'Subtract'")
    return sums


def test_a_draft(user: E2eSession, sums: Path) -> None:
    base = git(user, "rev-parse HEAD")
    script(user, "half", {"edit": "tutorial.sh", "content": FILLED + "\n# Roots\n"}, {"commit": "Show"})
    half = user.run(f"{DRAFT} half -- --script ../half.toml", comment="one that leaves a heading bare")
    expect(half).to_have_exit_code(1).stderr.to_have_line("tutorial.sh:9: this heading has no example: `# Roots`")
    assert git(user, "rev-parse HEAD") == base
    assert (sums / "tutorial.sh").read_text() == TUTORIAL

    drafted = user.run(
        user.write_tutorial_block("""
        # have it found; you see the difference, and pull it if you like it
        muster tutorial draft tutorial.sh --name author --type scripted -- --script ../draft.toml
        muster pull author
        """)
    )
    expect(drafted).to_succeed().stdout.to_contain("+expr 3 - 2", "fast-forwarded").not_to_match(r"^-[^-]")
    expect(drafted.stderr).to_contain("the check passes", "`muster pull author`")
    assert (sums / "tutorial.sh").read_text() == FILLED
    [asked] = said(user, "author")
    assert "`tutorial.sh` is a tutorial" in asked
    assert "    # take one number away from another\n" in asked
    assert "# add two numbers" not in asked
    assert "{{" not in asked
    assert git(user, "for-each-ref refs/muster") == ""
    again = user.run(f"{DRAFT} third", comment="nothing is left to do")
    expect(again).to_succeed().stdout.to_equal("nothing to do: every heading has an example\n")
    assert [*agents(user)] == ["half", "author"]

    user.write_file("tutorial.sh", TUTORIAL)
    spoilt = '# Sums\n\n# take one number away from another\nexpr 3 - 2 "\n'
    script(user, "bad", {"edit": "tutorial.sh", "content": spoilt}, {"commit": "Shorten"})
    refused = user.run(f"{DRAFT} fourth -- --script ../bad.toml")
    expect(refused).to_have_exit_code(5).stderr.to_contain("tutorial.sh", "--dirty carry")
    worse = user.run(f"{DRAFT} fourth --dirty carry -- --script ../bad.toml", comment="one that spoils what was there")
    expect(worse).to_have_exit_code(1).stderr.to_contain(
        "a block that was there is gone or changed: `# add two numbers`", "`sh -n` finds a mistake in it"
    )


def test_tests_for_what_no_test_shows(user: E2eSession, minus: Path) -> None:
    prepared = user.run(
        user.write_tutorial_block(r'''
        # what another agent will do, which is to write the test
        cat >../sync.toml <<'END'
        [[step]]
        wait = true
        [[step]]
        edit = "tests/test_sums.py"
        append = """
        def test_minus(e2e):
            block = e2e.write_tutorial_block("# take one number away from another\\nexpr 3 - 2")
            assert e2e.run(block).stdout == "1\\n"
        """
        [[step]]
        commit = "Test subtraction"
        END
        ''')
    )
    expect(prepared).to_succeed()
    synced = user.run(
        user.write_tutorial_block("""
        # have the missing tests written; what an agent says is not believed, the check is run again
        muster tutorial sync tutorial.sh tests --name tester --type scripted -- --script ../sync.toml
        muster pull tester
        """)
    )
    expect(synced).to_succeed().stdout.to_contain("+def test_minus(e2e):", "fast-forwarded")
    expect(synced.stderr).to_contain("the check passes", "1 commit")
    [asked] = said(user, "tester")
    assert "    tutorial.sh:6: no test cites this block: `expr 3 - 2`" in asked
    assert "    muster tutorial check tutorial.sh tests\n" in asked
    expect(user.run("python3 -m pytest -q tests")).to_succeed().stdout.to_contain("2 passed")
    expect(user.run("muster tutorial check tutorial.sh tests")).to_succeed()
    again = user.run(f"{SYNC} second --format json", comment="nothing is left to do")
    expect(again).to_succeed().stdout.to_be_json().at("agent").to_equal("")
    assert [*agents(user)] == ["tester"]
    assert "def test_minus" in (minus / "tests" / "test_sums.py").read_text()


def test_what_an_agent_says_is_not_believed(user: E2eSession, minus: Path) -> None:
    """The check fails when nothing is done, when the tutorial is made to fit, and when a test is lost."""
    script(user, "claim", CLAIM)
    claimed = user.run(f"{SYNC} claim --format json -- --script ../claim.toml")
    expect(claimed).to_have_exit_code(1).stdout.to_be_json().at("commits").to_equal(0)
    expect(claimed.json()).at("problems[0]").to_contain("no test cites this block")
    script(user, "lazy", {"edit": "tests/test_sums.py", "content": TEST + MINUS}, CLAIM, {"exit": 0})
    lazy = user.run(f"{SYNC} lazy -- --script ../lazy.toml", comment="one that does not commit")
    expect(lazy).to_have_exit_code(1).stderr.to_contain("it has not committed tests/test_sums.py")
    assert (workspace(user, "lazy") / "tests" / "test_sums.py").read_text() == TEST + MINUS
    script(user, "sly", {"edit": "tutorial.sh", "content": TUTORIAL}, {"commit": "Simplify"}, {"exit": 0})
    sly = user.run(f"{SYNC} sly -- --script ../sly.toml", comment="one that changes the tutorial instead")
    expect(sly).to_have_exit_code(1).stderr.to_contain("tutorial.sh was changed")
    moved = MINUS.replace("test_minus", "minus")
    script(user, "rash", {"edit": "tests/test_sums.py", "content": moved}, {"commit": "Test minus"}, {"exit": 0})
    rash = user.run(f"{SYNC} rash -- --script ../rash.toml", comment="one that loses a test")
    expect(rash).to_have_exit_code(1).stderr.to_contain("`test_two` is gone", "a citation that is in no test: `minus`")
    assert git(user, "status --porcelain", minus) == ""


def test_an_agent_that_never_ends(user: E2eSession, minus: Path) -> None:
    script(user, "hang", {"hang": True})
    late = user.run(f"{SYNC} hang --timeout 1s -- --script ../hang.toml")
    expect(late).to_have_exit_code(124).stderr.to_contain("`hang` was stopped, since its time was up", "with 0 commits")
    expect(late.stderr).to_contain("tutorial.sh:6: no test cites this block: `expr 3 - 2`")
    assert states(user) == {"hang": "stopped"}
    assert git(user, "status --porcelain", minus) == ""


def test_an_interrupted_wait_leaves_the_agent_at_work(user: E2eSession, minus: Path) -> None:
    script(user, "slow", {"hang": True})
    words = ["muster", *"tutorial sync tutorial.sh tests --type scripted --name slow -- --script ../slow.toml".split()]
    with user.terminal(words, cols=120) as terminal:
        terminal.wait_for("`slow` (scripted) is to mend 1 thing")
        terminal.press("ctrl-c")
        terminal.wait_for("`slow` goes on; `muster stop slow` ends it")
        assert terminal.exit() == 130
    expect_eventually(lambda: states(user) == {"slow": "working"}, timeout=30)
    assert git(user, "for-each-ref refs/muster", minus) == ""


def test_templates_and_wrong_words(user: E2eSession, minus: Path) -> None:
    user.write_file("../bad.md", "Write tests for {{problms}}.\n")
    user.write_file("../vague.md", "Write tests.\n")
    user.write_file("../empty.md", "\n")
    user.write_file("../own.md", "In our manner.\n\n{{shipped}}\n\nThank you for {{tests}}.\n")
    for words, says in (
        ("sync tutorial.sh tests --type scripted --prompt ../bad.md", "unknown `{{problms}}`"),
        ("sync tutorial.sh tests --type scripted --prompt ../vague.md", "does not say what is missing"),
        ("sync tutorial.sh tests --type scripted --prompt ../empty.md", "is empty"),
        ("sync tutorial.sh tests --type scripted --prompt ../none.md", "no file `../none.md`"),
        ("draft tutorial.sh --type scripted --prompt ../bad.md", "unknown `{{problms}}`"),
        ("sync tutorial.sh tests --type scriptd", "`scriptd`"),
        ("sync tutorial.sh tests", "type"),
        ("sync tutorial.sh tests --type scripted --timeout soon", "`soon`"),
        ("sync tutorial.sh", "TESTS"),
        ("sync nothing.sh tests --type scripted", "`nothing.sh`"),
        ("draft tests --type scripted", "`tests`"),
        ("draft ../fix.toml --type scripted", "not in a git repository"),
    ):
        expect(user.run(f"muster tutorial {words}")).to_fail().stderr.to_contain("error: ", says)
    assert agents(user) == {}
    script(user, "own", CLAIM, {"exit": 0})
    expect(user.run(f"{SYNC} own --prompt ../own.md -- --script ../own.toml")).to_have_exit_code(1)
    [asked] = said(user, "own")
    assert asked.startswith("In our manner.\n\n# Tests for the blocks of a tutorial\n")
    assert asked.endswith("Thank you for `tests`.\n")
    assert minus.is_dir()
