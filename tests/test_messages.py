"""Messages: exact, once, in order, with a receipt that is true."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from conftest import Muster, program
from muster.fleet import Fleet

AWKWARD = [
    "x",
    "two\nlines",
    "ünïcödé 日本語 🎉",
    "$HOME `id` \"quotes\" 'and' \\ back",
    "; kill-server ;",
    "a;",
    "-x --help",
    "#{pane_id} #(id)",
    "{braces} %percent%",
    "tab\there",
    "!bang /slash @at",
]


def heard(fleet: Fleet, name: str) -> list[str]:
    return [event.text for event in fleet.transcript(name) if event.role == "user"]


@pytest.mark.parametrize("screen", ["plain", "full"])
def test_any_text_arrives_exactly_once(screen: str, repo: Path, fleet: Fleet) -> None:
    fleet.create("fix", "scripted", args=("--screen", screen))
    long = "".join(chr(0x4E00 + n % 5000) if n % 80 else "\n" for n in range(1, 33_000))
    assert len(long.encode()) > 95_000
    for text in [*AWKWARD, long]:
        [receipt] = fleet.message("fix", text)
        assert receipt.status == "delivered", (text[:50], receipt)
    assert heard(fleet, "fix") == [*AWKWARD, long]


def test_two_senders_do_not_interleave(repo: Path, fleet: Fleet) -> None:
    fleet.create("fix", "scripted", args=("--screen", "full"))
    texts = [f"{n} " * 3000 for n in range(8)]
    senders = [
        subprocess.Popen([*program(), "message", "fix"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in texts
    ]
    for sender, text in zip(senders, texts, strict=True):
        assert sender.stdin
        sender.stdin.write(text)
        sender.stdin.close()
    assert [sender.wait() for sender in senders] == [0] * len(texts)
    for sender in senders:
        assert sender.stdout
        sender.stdout.close()
    assert sorted(text.strip() for text in heard(fleet, "fix")) == sorted(text.strip() for text in texts)


def test_a_dialog_is_named_and_not_answered(repo: Path, tmp_path: Path, muster: Muster, fleet: Fleet) -> None:
    script = tmp_path / "ask.json"
    script.write_text(json.dumps({"steps": [{"ask": "May I delete the disk?"}]}))
    muster("create", "fix", "scripted", "--", "--script", str(script))
    muster("wait", "fix", "--for", "blocked")
    done = muster("message", "fix", "-m", "y", check=False)
    assert done.code == 6
    assert "refused" in done.out and "May I delete the disk?" in done.out
    assert heard(fleet, "fix") == []
    state = fleet.agent("fix").state
    assert state and (state.kind, state.reason) == ("blocked", "May I delete the disk?")


def test_a_stopped_agent_gets_it_later(repo: Path, muster: Muster, fleet: Fleet) -> None:
    muster("create", "fix", "scripted")
    muster("stop", "fix")
    for text in ("first", "second"):
        assert "queued" in muster("message", "fix", "-m", text).out
    assert heard(fleet, "fix") == []
    muster("start", "fix")
    assert heard(fleet, "fix") == ["first", "second"]
    muster("stop", "fix")
    assert "delivered" in muster("message", "fix", "--start", "-m", "third").out
    assert heard(fleet, "fix") == ["first", "second", "third"]


def test_an_ended_program_refuses(repo: Path, muster: Muster, fleet: Fleet) -> None:
    muster("create", "fix", "--", "true")
    muster("wait", "fix")
    done = muster("message", "fix", "-m", "hello", check=False)
    assert done.code == 6
    assert "has ended (exit code 0)" in done.out


def test_a_line_that_the_terminal_would_cut_is_refused(repo: Path, muster: Muster, fleet: Fleet) -> None:
    muster("create", "fix", "--", "sh", "-c", "cat >got")
    done = muster("message", "fix", "-m", "x" * 5000, check=False)
    assert done.code == 6
    assert "4095" in done.out
    many = "\n".join(["y" * 3000] * 10)
    assert "typed" in muster("message", "fix", "-m", many).out
    got = Path(fleet.agent("fix").workspace.path) / "got"
    muster("exec", "fix", "--timeout", "20", "--", "sh", "-c", "until [ $(wc -c <got) -ge 30010 ]; do sleep 0.01; done")
    assert got.read_text() == many + "\n"


def test_the_same_words_twice_are_two_messages(repo: Path, muster: Muster, fleet: Fleet) -> None:
    muster("create", "fix", "scripted")
    for _ in range(2):
        muster("message", "fix", "-m", "continue")
    assert heard(fleet, "fix") == ["continue", "continue"]


def test_a_conversation_goes_on_after_stop_kill_and_clone(repo: Path, muster: Muster, fleet: Fleet) -> None:
    muster("create", "fix", "scripted", "-m", "one")
    muster("stop", "fix")
    muster("start", "fix")
    muster("message", "fix", "-m", "two")
    muster("clone", "fix", "twin")
    muster("message", "twin", "-m", "three")
    assert heard(fleet, "fix") == ["one", "two"]
    assert heard(fleet, "twin") == ["one", "two", "three"]
