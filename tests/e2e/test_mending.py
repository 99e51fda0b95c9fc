"""An agent per test: what is planned, what is found, and the branch that comes of it."""

from __future__ import annotations

from pathlib import Path

from e2e.looks import agents, git
from muster_testkit import E2eSession, expect


def test_from_a_red_test_to_a_reviewed_branch(user: E2eSession, calc: Path) -> None:
    (calc / "calc.py").write_text("def add(a, b):\n    return a + b\n")
    git(user, "commit --quiet --all --message 'Take over the repair'")
    reverted = user.run(
        user.write_tutorial_block("""
        # your last commit taken back, so that there is something to mend again
        git revert --no-edit HEAD
        """)
    )
    expect(reverted).to_succeed()
    base = git(user, "rev-parse HEAD")
    planned = user.run(
        user.write_tutorial_block("""
        # which tests fail, and which have one cause? nothing is changed yet
        muster mend --plan
        """)
    )
    expect(planned).to_succeed().stdout.to_match(r"^failing +mechanic +test_calc.py::test_add")
    assert agents(user) == {}
    mended = user.run(
        user.write_tutorial_block("""
        # give each to an agent, check what they claim, and put what holds on one branch (the mechanic needs no model and no key)
        muster mend --name first
        """),
        timeout=120,
    )
    expect(mended).to_succeed().stdout.to_contain("1 fixed", "1 failing  →  1 passing", "muster/mend/first")
    assert git(user, "rev-parse HEAD") == base
    assert "a - b" in (calc / "calc.py").read_text()
    runs = user.run(
        user.write_tutorial_block("""
        # which runs were there?
        muster runs
        """)
    )
    expect(runs).to_succeed().stdout.to_match(r"^first +.* muster/mend/first")
    page = user.run(
        user.write_tutorial_block("""
        # what was claimed, and what was found?
        muster report first
        """)
    )
    expect(page).to_succeed()
    expect(Path(page.stdout.strip())).to_exist().to_contain("test_add")
    texts = user.run(
        user.write_tutorial_block("""
        # the same as the text of a pull request, and for programs
        muster report first --format markdown
        muster report first --format json
        """)
    )
    expect(texts).to_succeed().stdout.to_contain("test_calc.py::test_add", '"verdict":"fixed"')
    again = user.run(
        user.write_tutorial_block("""
        # go on with a run that was cut short
        muster mend --resume last
        """)
    )
    expect(again).to_succeed().stdout.to_contain("1 fixed")
    tip = git(user, "rev-parse muster/mend/first")
    expect(
        user.run(
            user.write_tutorial_block("""
            # take the branch over; every fix is a commit of its own that can be reverted
            git merge --quiet muster/mend/first
            """)
        )
    ).to_succeed()
    assert git(user, "rev-parse HEAD") == tip
    assert git(user, f"rev-list --count {base}..HEAD") == "1"
    expect(user.run("python3 -m pytest -q")).to_succeed()
    expect(user.run("muster mend --only failing --plan", comment="nothing is left")).to_succeed()


def test_an_agent_of_your_choice(user: E2eSession, calc: Path) -> None:
    assert calc.is_dir()
    for words, code, says in (
        ("--type scriptd", 3, "scripted"),
        ("--name no/name", 2, "no/name"),
        ("no_such_test.py", 2, "no_such_test.py"),
        ("--resume nothing", 3, "nothing"),
        ("--jobs none", 2, "none"),
    ):
        wrong = user.run(f"muster mend {words}")
        expect(wrong).to_have_exit_code(code).stderr.to_contain(says)
    expect(user.run("muster report", comment="where no run is")).to_have_exit_code(3)
    assert agents(user) == {}
    mended = user.run(
        user.write_tutorial_block("""
        # an agent type of your choice, for some of the tests, with what it takes behind `--`
        muster mend test_calc.py --name second --only failing --type scripted -- --script ../fix.toml
        """),
        timeout=120,
    )
    expect(mended).to_succeed().stdout.to_contain("1 fixed", "muster/mend/second")
    assert git(user, "show muster/mend/second:calc.py") == "def add(a, b):\n    return a + b"
    assert git(user, "log -1 --format=%s muster/mend/second") == "Add instead of subtracting"
