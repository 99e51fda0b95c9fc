"""`muster connect`, on a real terminal."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import pytest

from conftest import Muster
from muster.fleet import Fleet
from terminal import Terminal, until

SIZE = "trap 'stty size' WINCH; stty size; while :; do sleep 0.05; done"


@pytest.fixture
def terminal(home: Path) -> Terminal:
    return Terminal(home, 101, 31)


def kind(fleet: Fleet, name: str) -> str:
    state = fleet.agent(name).state
    assert state
    return state.kind


def test_the_program_gets_the_clients_size_and_outlives_it(repo: Path, fleet: Fleet, terminal: Terminal) -> None:
    assert repo.is_dir()
    fleet.create("big", args=["sh", "-c", SIZE])
    terminal.type("connect", "big")
    terminal.shows("30 101")  # one row is the status line's
    assert "leave: C-b d" in terminal.screen
    terminal.keys("C-b", "d")
    terminal.shows("ended with 0")
    assert kind(fleet, "big") == "working"


def test_keys_reach_the_program(repo: Path, fleet: Fleet, terminal: Terminal) -> None:
    fleet.create("ears", args=["sh", "-c", "read line; echo $line >heard; sleep 1000"])
    terminal.type("attach", fleet.agent("ears").id)
    terminal.shows("leave: C-b d")
    terminal.keys("some words", "Enter")
    heard = Path(fleet.agent("ears").workspace.path) / "heard"
    until(lambda: heard.exists() and heard.read_text() == "some words\n")
    assert not (repo / "heard").exists()


def test_a_stopped_agent_is_started_with_its_conversation(repo: Path, fleet: Fleet, terminal: Terminal) -> None:
    assert repo.is_dir()
    fleet.create("talk", "scripted", message="remember this")
    fleet.wait(["talk"], ["waiting"], timeout=30)
    fleet.stop(["talk"])
    terminal.type("connect", "talk")
    terminal.shows("leave: C-b d")
    terminal.keys("C-b", "d")
    assert "`talk` does not run, so it is started again" in terminal.shows("ended with 0")
    fleet.wait(["talk"], ["waiting"], timeout=30)
    assert [event.text for event in fleet.transcript("talk") if event.role == "user"] == ["remember this"]


def test_an_ended_agent_shows_its_last_screen_and_does_not_run_again(
    repo: Path, fleet: Fleet, terminal: Terminal
) -> None:
    fleet.create("once", args=["sh", "-c", f"echo ran >>{repo.parent}/ran; echo last words; exit 3"])
    fleet.wait(["once"], ["failed"], timeout=30)
    terminal.type("connect", "once")
    terminal.shows("last words")
    assert "ended · leave: C-b d" in terminal.screen
    terminal.keys("C-b", "d")
    terminal.shows("ended with 0")
    assert (repo.parent / "ran").read_text() == "ran\n"
    subprocess.run(["tmux", "-S", f"{fleet.home}/tmux.sock", "kill-server"], check=True)
    terminal.type("connect", "once")
    assert "its screen is gone" in terminal.shows("ended with 5")
    assert (repo.parent / "ran").read_text() == "ran\n"


def test_an_agent_whose_session_is_gone_is_started(repo: Path, fleet: Fleet, terminal: Terminal) -> None:
    assert repo.is_dir()
    fleet.create("lost", args=["sleep", "1000"])
    subprocess.run(["tmux", "-S", f"{fleet.home}/tmux.sock", "kill-server"], check=True)
    until(lambda: kind(fleet, "lost") in ("unknown", "failed"))
    found = kind(fleet, "lost")
    terminal.type("connect", "lost")
    if found == "unknown":
        terminal.shows("leave: C-b d")
        assert kind(fleet, "lost") == "working"
    else:
        terminal.shows("ended with 5")  # tmux had the time to keep how it ended


def test_it_works_inside_another_agents_terminal(repo: Path, fleet: Fleet, terminal: Terminal) -> None:
    assert repo.is_dir()
    fleet.create("outer", args=["sh", "-c", "PS1='outer> ' exec sh"])
    fleet.create("inner", args=["sh", "-c", "echo I am within; sleep 1000"])
    terminal.type("connect", "outer")
    terminal.shows("leave: C-b d")
    terminal.keys(fleet_command("connect", "inner"), "Enter")
    terminal.shows("I am within")


def fleet_command(*words: str) -> str:
    from conftest import program

    return shlex.join([*program(), *words])


@pytest.mark.parametrize("term", ["no-such-terminal", "dumb", ""])
def test_a_terminal_that_nobody_knows_is_taken_for_one_that_is_known(
    repo: Path, fleet: Fleet, terminal: Terminal, term: str
) -> None:
    assert repo.is_dir()
    fleet.create("plain", args=["sh", "-c", "echo here I am; sleep 1000"])
    terminal.shell(f"TERM={term} {fleet_command('connect', 'plain')}")
    terminal.shows("here I am")
    terminal.keys("C-b", "d")
    terminal.shows("ended with 0")


def test_the_picker_takes_numbers_names_and_parts_of_names(repo: Path, fleet: Fleet, terminal: Terminal) -> None:
    assert repo.is_dir()
    for name in ("alpha", "beta", "alphabet"):
        fleet.create(name, args=["sh", "-c", f"echo this is {name}; sleep 1000"])
    terminal.type("connect")
    screen = terminal.shows("which:")
    assert [line.split()[:3] for line in screen.splitlines()[:3]] == [
        ["1", "alpha", "working"],
        ["2", "beta", "working"],
        ["3", "alphabet", "working"],
    ]
    terminal.keys("phab", "Enter")
    terminal.shows("this is alphabet")
    terminal.keys("C-b", "d")
    terminal.shows("ended with 0")

    terminal.type("connect")
    terminal.shows("which:")
    terminal.keys("alp", "Enter")
    terminal.shows("that fits alpha, alphabet")
    terminal.keys("nobody", "Enter")
    terminal.shows("no agent is called so")
    terminal.keys("2", "Enter")
    terminal.shows("this is beta")
    terminal.keys("C-b", "d")
    terminal.shows("ended with 0")

    terminal.type("connect")
    terminal.shows("which:")
    terminal.keys("Enter")
    terminal.shows("ended with 130")


def test_the_only_agent_needs_no_picker(repo: Path, fleet: Fleet, terminal: Terminal) -> None:
    assert repo.is_dir()
    fleet.create("only", args=["sh", "-c", "echo just me; sleep 1000"])
    terminal.type("connect")
    terminal.shows("just me")


def test_a_command_of_the_configuration_takes_its_place(repo: Path, fleet: Fleet, muster: Muster) -> None:
    agent = fleet.create("seen", args=["sleep", "1000"])
    seen = repo.parent / "a folder" / "seen"
    seen.parent.mkdir()
    muster("config", "set", "connect.command", f"printf '%s\\n' {{}} >'{seen}'")
    muster("connect", "seen")
    assert seen.read_text().splitlines() == shlex.split(muster("connect", "seen", "--print").out)
    assert seen.read_text().splitlines()[-1] == f"={agent.id}"
    muster("config", "set", "connect.command", f">'{seen}' printf '<%s>'")
    muster("connect", "seen")
    assert seen.read_text().endswith(f"<={agent.id}>")


def test_create_connects_by_flag_and_by_setting(repo: Path, muster: Muster) -> None:
    seen = repo.parent / "seen"
    muster("config", "set", "connect.command", f"echo >>'{seen}'")
    muster("create", "one", "--connect", "--", "sleep", "1000")
    assert len(seen.read_text().splitlines()) == 1
    muster("config", "set", "create.connect", "true")
    muster("create", "two", "--", "sleep", "1000")  # nobody is there to connect
    muster("create", "three", "--no-connect", "--", "sleep", "1000")
    assert len(seen.read_text().splitlines()) == 1


def test_create_on_a_terminal_connects_if_the_setting_says_so(repo: Path, muster: Muster, terminal: Terminal) -> None:
    muster("config", "set", "create.connect", "true")
    terminal.shell(f"cd {repo}; {fleet_command('create', 'one', '--', 'sh', '-c', 'echo hello; sleep 1000')}")
    terminal.shows("leave: C-b d")
    assert "hello" in terminal.screen


def test_without_a_terminal_nothing_is_made_or_started(repo: Path, fleet: Fleet, muster: Muster) -> None:
    assert repo.is_dir()
    done = muster("create", "one", "--connect", "--", "sleep", "1000", check=False)
    assert done.code == 2
    assert "needs a terminal" in done.err
    assert fleet.known() == []
    fleet.create("two", args=["sleep", "1000"])
    fleet.stop(["two"])
    assert muster("connect", "two", check=False).code == 2
    assert kind(fleet, "two") == "stopped"


def test_print_starts_nothing(repo: Path, fleet: Fleet, muster: Muster) -> None:
    assert repo.is_dir()
    fleet.create("one", args=["sleep", "1000"])
    fleet.stop(["one"])
    argv = shlex.split(muster("connect", "one", "--print").out)
    assert f"{os.environ['MUSTER_HOME']}/tmux.sock" in argv
    assert kind(fleet, "one") == "stopped"


def test_wrong_names_are_named(repo: Path, muster: Muster, terminal: Terminal) -> None:
    assert repo.is_dir()
    terminal.type("connect")
    assert "there is no agent yet" in terminal.shows("ended with 3")
    muster("create", "parser", "--", "sleep", "1000")
    done = muster("connect", "parsr", "--print", check=False)
    assert (done.code, done.out) == (3, "")
    assert "did you mean `parser`?" in done.err
