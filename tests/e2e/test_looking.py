"""Finding one's way: lists, labels, evidence and what was said."""

from __future__ import annotations

from pathlib import Path

import pytest

from e2e.looks import agents, said
from muster_testkit import E2eSession, expect, expect_eventually

# tmux may lose what a program writes in the very moment in which it ends.
ENDS = "echo no luck; while ! [ -e end.log ]; do sleep 0.05; done; exit 3"


@pytest.fixture
def lead(user: E2eSession, calc: Path) -> str:
    """An agent that waits, beside one that has failed."""
    assert calc.is_dir()
    made = user.run(
        user.write_tutorial_block("""
        # one with a label, beside those that are there
        muster create lead scripted -m 'Hello' --label team=core
        muster wait lead
        """)
    )
    expect(made).to_succeed()
    expect(user.run("muster create wrong scripted --label team")).to_have_exit_code(2).stderr.to_contain("KEY=VALUE")
    expect(user.run(f"muster create tests -- sh -c '{ENDS}'")).to_succeed()
    expect_eventually(lambda: user.run("muster capture tests").stdout == "no luck\n", interval=0.1)
    expect(user.run("muster exec tests touch end.log")).to_succeed()
    expect(user.run("muster wait lead tests")).to_succeed()
    return "lead"


def test_lists(user: E2eSession, lead: str) -> None:
    waiting = user.run(
        user.write_tutorial_block("""
        # only those that wait for somebody, the longest first
        muster list --state waiting,blocked --sort -idle
        """)
    )
    expect(waiting).to_succeed().stdout.to_match(r"^lead +scripted +waiting").not_to_contain("tests")
    chosen = user.run(
        user.write_tutorial_block("""
        # an expression over all fields
        muster list --where 'type == "scripted" and labels.team == "core"'
        """)
    )
    expect(chosen).to_succeed().stdout.to_match(r"^lead ").not_to_contain("tests")
    columns = user.run(
        user.write_tutorial_block("""
        # only this project, with the columns that you want
        muster list --project . --fields name,state,labels.team
        """)
    )
    expect(columns).to_succeed().stdout.to_equal("name   state    labels.team\nlead   waiting  core\ntests  failed\n")
    expect(user.run("muster list --project ~", comment="of another folder").stdout).not_to_contain(lead)
    records = user.run(
        user.write_tutorial_block("""
        # the same for programs: json, or a line for each
        muster list --format json
        """)
    )
    expect(records).to_succeed().stdout.to_be_json().at("agents[1].state.code").to_equal(3)
    told = user.run(
        user.write_tutorial_block("""
        # ids for another command
        muster list --state waiting --ids | muster message - -m 'Commit what you have'
        """)
    )
    expect(told).to_succeed().stdout.to_equal("lead  delivered\n")
    assert said(user, lead) == ["Hello", "Commit what you have"]

    for words, hint in (("--state wating", "waiting"), ("--where 'stat == 1'", "state"), ("--fields nme", "name")):
        wrong = user.run(f"muster list {words}")
        expect(wrong).to_have_exit_code(2).stderr.to_contain("hint: ", hint)
        expect(wrong.stdout).to_be_empty()
    nobody = user.run("muster list --state starting --ids | muster message - -m 'To nobody'")
    expect(nobody).to_succeed().stdout.to_be_empty()


def test_labels(user: E2eSession, lead: str) -> None:
    labelled = user.run(
        user.write_tutorial_block("""
        # labels are yours to use
        muster label lead team=core prio=1
        muster label lead --unset prio
        """)
    )
    expect(labelled).to_succeed().stdout.to_equal("lead  prio=1 team=core\nlead  team=core\n")
    assert agents(user)[lead]["labels"] == {"team": "core"}
    expect(user.run("muster label lead =1")).to_fail()
    expect(user.run("muster label nobody team=core")).to_have_exit_code(3)
    assert agents(user)[lead]["labels"] == {"team": "core"}


def test_a_list_that_changes(user: E2eSession, lead: str) -> None:
    user.write_tutorial_block("""
    # as it changes, until ^C
    muster list --watch
    """)
    with user.terminal(["muster", "list", "--watch"], cols=110) as terminal:
        terminal.wait_for("no luck")
        user.run(f"muster message {lead} -m 'What is new?'")
        terminal.wait_for("heard: What is new?")
        terminal.press("ctrl-c")
        assert terminal.exit() == 0


def test_evidence(user: E2eSession, lead: str) -> None:
    why = user.run(
        user.write_tutorial_block("""
        # why does muster think so? all the evidence
        muster why lead
        """)
    )
    expect(why).to_succeed().stdout.to_match(r"^lead is waiting for").to_match(r"^ +pane +process \d+ runs")
    expect(user.run("muster why tests").stdout).to_match(r"^tests is failed").to_contain("exit code 3")
    last = user.run(
        user.write_tutorial_block("""
        # the last lines of its terminal, also after its death
        muster logs lead -n 5
        """)
    )
    expect(last).to_succeed().stdout.to_contain("heard: Hello")
    expect(user.run("muster logs tests -n 1").stdout).to_equal("no luck\n")
    word = user.run(
        user.write_tutorial_block("""
        # its last word
        muster transcript lead --role assistant --tail 1
        """)
    )
    expect(word).to_succeed().stdout.to_contain("heard: Hello").not_to_contain("I am lead")
    happened = user.run(
        user.write_tutorial_block("""
        # what happened in the fleet
        muster events --limit 20
        """)
    )
    expect(happened).to_succeed().stdout.to_match(r" lead +created +scripted").to_match(r" tests +ended +exit code 3")
    for words in ("why nobody", "logs nobody", "transcript nobody", "events --agent nobody"):
        expect(user.run(f"muster {words}")).to_have_exit_code(3).stderr.to_contain("`nobody`")
    expect(user.run("muster logs lead -n -1")).to_have_exit_code(2)
    expect(user.run("muster transcript lead --role nobody")).to_have_exit_code(2)


def test_following(user: E2eSession, lead: str) -> None:
    user.write_tutorial_block("""
    # the conversation as it goes on, until ^C
    muster transcript lead --follow
    """)
    ends = user.write_tutorial_block("""
    # what happens next: a line for each agent that ends
    muster events --follow --limit 0 --format jsonl | grep --line-buffered '"event":"ended"'
    """)
    talk = ["muster", "transcript", "lead", "--follow"]
    with user.terminal(talk) as conversation, user.terminal(ends) as endings:
        conversation.wait_for("heard: Hello")

        def ended() -> bool:
            # Following begins some time after the program: nothing says when, so it is tried until it is seen.
            user.run(f"muster create once-{len(agents(user))} -- true")
            return '"event":"ended"' in endings.screen

        expect_eventually(ended, interval=0.3)
        assert '"name":"once-' in endings.screen.replace("\n", "")
        assert lead not in endings.screen
        expect(user.run("muster message lead -m 'Are you there?'")).to_succeed()
        conversation.wait_for("heard: Are you there?")
        conversation.press("ctrl-c")
        assert conversation.exit() == 130
        endings.press("ctrl-c")
        assert endings.exit() == 130


def test_conversations_that_are_kept(user: E2eSession, lead: str) -> None:
    kept = user.run(
        user.write_tutorial_block("""
        # keep the conversations of all agents, also of those that are no more
        muster traces ingest
        """)
    )
    expect(kept).to_succeed().stdout.to_match(r"^lead +scripted +new +\d+ events")
    expect(user.run("muster traces ingest", comment="nothing is new").stdout).not_to_contain("new")
    expect(user.run(f"muster destroy {lead}")).to_succeed()
    listed = user.run(
        user.write_tutorial_block("""
        # which are there?
        muster traces list
        """)
    )
    expect(listed).to_succeed().stdout.to_match(r"^1 +lead +scripted")
    shown = user.run(
        user.write_tutorial_block("""
        # read one of them
        muster traces show lead
        """)
    )
    expect(shown).to_succeed().stdout.to_contain("heard: Hello")
    found = user.run(
        user.write_tutorial_block("""
        # find words, whoever said them
        muster traces search hello
        """)
    )
    expect(found).to_succeed().stdout.to_match(r"^lead #\d+ +user")
    expect(user.run("muster traces search no-such-word").stdout).to_be_empty()
    spent = user.run(
        user.write_tutorial_block("""
        # what did the requests to models take? (one that follows a script asks none)
        muster traces cost --by agent
        """)
    )
    expect(spent).to_succeed().stdout.not_to_contain("lead")
    for words, code in (("show nobody", 3), ("cost --by moon", 2), ("search", 2), ("ingest nobody", 3)):
        expect(user.run(f"muster traces {words}")).to_have_exit_code(code).stderr.to_contain("error: ")
