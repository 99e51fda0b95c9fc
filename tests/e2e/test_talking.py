"""Messages with receipts, and waiting."""

from __future__ import annotations

from pathlib import Path

from e2e.looks import said, states
from e2e.test_creating import EDITOR
from muster_testkit import E2eSession, expect, expect_eventually


def test_messages(user: E2eSession, calc: Path) -> None:
    assert calc.is_dir()
    user.write_file("../task.md", "Mend the sign.\nThen stop.\n")
    user.env["EDITOR"] = f"{user.write_file('../editor', EDITOR, mode=0o755)} 'From the editor'"
    expect(user.run("muster create zero scripted")).to_succeed()
    made = user.run(
        user.write_tutorial_block("""
        # send all agents away that were made so far, and make two to talk to
        muster destroy --all
        muster create one scripted
        muster create two scripted
        """)
    )
    expect(made).to_succeed().stdout.to_match(r"\Azero +destroyed")
    assert states(user).keys() == {"one", "two"}
    both = user.run(
        user.write_tutorial_block("""
        # the same to several
        muster message one two -m 'Also cover the empty list'
        """)
    )
    expect(both).to_succeed().stdout.to_have_line("one  delivered").to_have_line("two  delivered")
    expect_eventually(lambda: "heard: Also cover the empty list" in said(user, "one", "assistant"))
    expect(user.run("muster wait one")).to_succeed()
    expect(user.run("muster stop two")).to_succeed()
    some = user.run(
        user.write_tutorial_block("""
        # to all of which something holds
        muster message --where 'state == "waiting"' -m 'Go on'
        """)
    )
    expect(some).to_succeed().stdout.to_equal("one  delivered\n")
    long = user.run(
        user.write_tutorial_block("""
        # something long: from a file, or what another program prints
        muster message one --file ../task.md
        git log -1 --stat | muster message one
        """)
    )
    expect(long).to_succeed().stdout.to_equal("one  delivered\none  delivered\n")
    written = user.run(
        user.write_tutorial_block("""
        # from your editor
        muster message one --edit
        """)
    )
    expect(written).to_succeed().stdout.to_equal("one  delivered\n")
    first, second, third, fourth, fifth = said(user, "one")
    assert [first, second, third, fifth] == [
        "Also cover the empty list",
        "Go on",
        "Mend the sign.\nThen stop.",
        "From the editor",
    ]
    assert "A calculator" in fourth
    assert "calc.py" in fourth


def test_messages_that_do_not_arrive_at_once(user: E2eSession, calc: Path) -> None:
    assert calc.is_dir()
    expect(user.run("muster create two scripted")).to_succeed()
    told = user.run(
        user.write_tutorial_block("""
        # a stopped agent gets it when it is started, or now
        muster stop two
        muster message two -m 'Later'
        muster message two --start -m 'Now'
        """)
    )
    expect(told).to_succeed().stdout.to_match(r"\Atwo  stopped .*\ntwo  queued .*\ntwo  delivered\n\Z")
    assert said(user, "two") == ["Later", "Now"]
    for words in ("two", "two -m ''", "-m Hello", "two --file ../nothing.md", "two -m a --file b"):
        wrong = user.run(f"muster message {words}", stdin="")
        expect(wrong).to_fail().stderr.to_contain("error: ", "hint: " if "nothing" not in words else "nothing.md")
    assert said(user, "two") == ["Later", "Now"]
    expect(user.run("muster create ended -- true")).to_succeed()
    expect(user.run("muster wait ended --for done")).to_succeed()
    late = user.run("muster message ended -m 'Too late'")
    expect(late).to_have_exit_code(6).stdout.to_match(r"^ended +refused")


def test_waiting(user: E2eSession, calc: Path) -> None:
    assert calc.is_dir()
    made = user.run(
        user.write_tutorial_block("""
        # two programs, of which one takes its time
        muster create fast -- true
        muster create slow -- sleep 3
        """)
    )
    expect(made).to_succeed()
    first = user.run(
        user.write_tutorial_block("""
        # until the first of them is done, for a minute at most
        muster wait fast slow --any --for done --timeout 1m
        """)
    )
    expect(first).to_succeed().stdout.to_match(r"\Afast +done")
    expect(user.run("muster create endless -- sleep 1000")).to_succeed()
    late = user.run("muster wait endless --timeout 0.2s", comment="what takes longer")
    expect(late).to_have_exit_code(124).stderr.to_contain("endless")
    assert states(user)["endless"] == "working"
    expect(user.run("muster destroy endless")).to_succeed()
    all_of_them = user.run(
        user.write_tutorial_block("""
        # until all of this project have settled
        muster list --project . --ids | muster wait - --timeout 1m
        """)
    )
    expect(all_of_them).to_succeed().stdout.to_match(r"^fast +done").to_match(r"^slow +done")
    expect(user.run("muster wait slow --timeout soon")).to_have_exit_code(2).stderr.to_contain("`soon`")
    expect(user.run("muster wait")).to_have_exit_code(2)


def test_dialogs_and_interruptions(user: E2eSession, calc: Path) -> None:
    assert calc.is_dir()
    asking = user.run(
        user.write_tutorial_block(r"""
        # an agent that asks before it does something
        printf '[[step]]\nask = "May I?"\n[[step]]\nsay = "I did it."\n[[step]]\nhang = true\n' >../ask.toml
        muster create careful scripted -- --script ../ask.toml
        muster wait careful --for blocked
        """)
    )
    expect(asking).to_succeed().stdout.to_match(r"^careful +blocked +May I\?")
    refused = user.run("muster message careful -m 'Hello?'", comment="a dialog takes no message")
    expect(refused).to_have_exit_code(6).stdout.to_match(r"^careful +refused .*May I\?")
    expect(user.run("muster answer careful perhaps")).to_fail().stderr.to_contain("error: ")
    assert states(user) == {"careful": "blocked"}
    answered = user.run(
        user.write_tutorial_block("""
        # answer what it asks, without sitting down at its terminal
        muster answer careful yes
        """)
    )
    expect(answered).to_succeed().stdout.to_match(r"^careful +working")
    expect_eventually(lambda: said(user, "careful", "assistant")[-1:] == ["I did it."])
    expect(user.run("muster answer careful yes", comment="it asks nothing now")).to_fail()
    ended = user.run(
        user.write_tutorial_block("""
        # end what it is doing; it waits for a message then
        muster interrupt careful
        """)
    )
    expect(ended).to_succeed().stdout.to_match(r"^careful +interrupted")
    expect(user.run("muster wait careful --for waiting")).to_succeed()
    expect(user.run("muster interrupt careful", comment="there is nothing to end")).to_succeed().stdout.to_contain(
        "idle"
    )
    for words in ("answer nobody yes", "interrupt nobody"):
        expect(user.run(f"muster {words}")).to_have_exit_code(3).stderr.to_contain("`nobody`")
