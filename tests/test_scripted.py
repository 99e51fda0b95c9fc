"""The scripted agent, as the real program: on a pipe, on a pseudo-terminal and in tmux."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from muster.agents import Event, Evidence, Note, Order
from muster.agents.scripted import Scripted, program
from muster.core import proc
from muster.errors import UsageError

T = TypeVar("T")
PROGRAM = str(Path(program.__file__).parent)
DOCUMENT = Path(__file__).parent.parent / "docs" / "scripted.md"
WILD = "ä日本語🙂 \"quoted\" 'too' $HOME `id` \\n {n} \t tab\n\n  spaces  \x01 e\u0301 \u2028 \x85\n"
# 100 kB whose characters have one to four bytes, so that reads cut through them.
HUGE = (WILD * 2_000).encode()[:99_990].decode(errors="ignore") + "the end"
HOOK = """\
#!/bin/sh
cat "$MUSTER_DIR/status.json" >>"$MUSTER_DIR/seen"
echo "$*" >>"$MUSTER_DIR/notes"
"""


def until(look: Callable[[], T], what: str = "") -> T:
    """What the look shows as soon as it shows something."""
    deadline = time.monotonic() + 30
    while not (found := look()):
        assert time.monotonic() < deadline, what or "it never came"
        time.sleep(0.005)
    return found


class Pty:
    """The program on a pseudo-terminal, its output read all the time."""

    def __init__(self, argv: list[str], cwd: Path, env: dict[str, str]) -> None:
        self._master, self.slave = os.openpty()
        self.found = termios.tcgetattr(self.slave)
        self.process = subprocess.Popen(
            argv, cwd=cwd, env=env, stdin=self.slave, stdout=self.slave, stderr=self.slave, start_new_session=True
        )
        self.out = bytearray()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        while data := os.read(self._master, 65_536):
            self.out += data
            if self.out.endswith(b"<closed>"):
                return

    def send(self, text: str | bytes) -> None:
        data = text if isinstance(text, bytes) else text.encode()
        while data:
            data = data[os.write(self._master, data) :]

    def paste(self, text: str) -> None:
        self.send(b"\x1b[200~" + text.encode() + b"\x1b[201~")

    def ended(self) -> int:
        return self.process.wait(30)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        # We hold the other end as well, so that a reader learns of the end by a word and not by an error.
        os.write(self.slave, b"<closed>")
        self._reader.join()
        os.close(self.slave)
        os.close(self._master)


class Agent:
    """A folder, a workspace that is a git repository, and the program in it."""

    def __init__(self, base: Path) -> None:
        self.folder, self.work = base / "agent", base / "work"
        self.folder.mkdir()
        self.work.mkdir()
        subprocess.run(["git", "init", "-q", str(self.work)], check=True)
        hook = self.folder / "note"
        hook.write_text(HOOK)
        hook.chmod(0o755)
        self.env = {
            **os.environ,
            "MUSTER_DIR": str(self.folder),
            "MUSTER_NOTE": str(hook),
            "MUSTER_OUTCOME": str(self.folder / "outcome.json"),
            "MUSTER_ARTIFACTS": str(self.folder / "artifacts"),
            "MUSTER_AGENT": "fix",
        }
        self._open: list[Pty] = []
        self._tmux = ["tmux", "-S", str(base / "m" / "tmux.sock"), "-f", "/dev/null"]

    def script(self, *steps: dict[str, Any], **more: Any) -> str:
        path = self.folder / "script.json"
        path.write_text(json.dumps({"steps": steps, **more}))
        return str(path)

    def run(self, *steps: dict[str, Any], stdin: str = "", resume: bool = False) -> subprocess.CompletedProcess[str]:
        """Follow the steps with what is read from a pipe, to the end."""
        argv = [sys.executable, PROGRAM, "--script", self.script(*steps), *(["--resume"] if resume else [])]
        return subprocess.run(
            argv, cwd=self.work, env=self.env, input=stdin, capture_output=True, text=True, timeout=60, check=False
        )

    def start(self, *steps: dict[str, Any], args: tuple[str, ...] = (), **more: Any) -> Pty:
        """Follow the steps on a terminal."""
        argv = [sys.executable, PROGRAM, "--script", self.script(*steps, **more), *args]
        self._open.append(Pty(argv, self.work, self.env))
        return self._open[-1]

    def tmux(self, *words: str, stdin: str | None = None) -> str:
        done = subprocess.run(
            [*self._tmux, *words], input=stdin, capture_output=True, text=True, timeout=30, check=True
        )
        return done.stdout

    def window(self, *steps: dict[str, Any], args: tuple[str, ...] = (), **more: Any) -> None:
        """Follow the steps in tmux; a shell is left when they end."""
        argv = [sys.executable, PROGRAM, "--script", self.script(*steps, **more), *args]
        starter = self.folder / "start"
        quoted = " ".join(f"'{word}'" for word in argv)
        starter.write_text(
            f"cd {self.work}\nstty -g >{self.folder}/before\n{quoted}\ncode=$?\n"
            f"stty -g >{self.folder}/after\necho ended with $code\nexec sleep 1000\n"
        )
        words = [f"{name}={self.env[name]}" for name in self.env if name.startswith("MUSTER_")]
        self.tmux("new-session", "-d", "-s", "a", "-x", "80", "-y", "24", "env", *words, "sh", str(starter))

    def screen(self) -> str:
        return self.tmux("capture-pane", "-p", "-t", "=a:")

    def close(self) -> None:
        for one in self._open:
            one.close()

    def lines(self) -> list[dict[str, Any]]:
        path = self.folder / "conversation.jsonl"
        # What is behind the last newline is still being written.
        return [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]] if path.exists() else []

    def said(self, role: str) -> list[str]:
        return [line["text"] for line in self.lines() if line.get("role") == role]

    def notes(self) -> list[str]:
        path = self.folder / "notes"
        return path.read_text().splitlines() if path.exists() else []

    @property
    def status(self) -> str:
        try:
            return str(json.loads((self.folder / "status.json").read_text())["status"])
        except FileNotFoundError:
            return "none"

    def until(self, kind: str) -> None:
        until(lambda: self.status == kind, f"it never was {kind}")


@pytest.fixture
def agent(home: Path) -> Iterator[Agent]:
    made = Agent(home.parent)
    try:
        yield made
    finally:
        made.close()


def git(agent: Agent, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=agent.work, capture_output=True, text=True, check=True).stdout.strip()


# Steps


def test_it_says_and_thinks(agent: Agent) -> None:
    done = agent.run({"say": "I am {agent}"}, {"think": "hm"})
    assert (done.returncode, done.stderr) == (0, "")
    assert "● I am fix" in done.stdout and "∴ hm" in done.stdout
    assert agent.said("assistant") == ["I am fix"] and agent.said("thinking") == ["hm"]
    assert [line["id"] for line in agent.lines() if "role" in line] == ["1", "2"]


def test_it_edits_and_deletes(agent: Agent) -> None:
    done = agent.run(
        {"edit": "deep/a.txt", "content": "one two one\r\n"},
        {"edit": "deep/a.txt", "find": "one", "replace": "ett"},
        {"edit": "deep/a.txt", "append": "three"},
        {"edit": "b.txt", "append": "new"},
        {"edit": "c.txt", "content": "gone"},
        {"delete": "c.txt"},
    )
    assert done.returncode == 0, done.stderr
    assert (agent.work / "deep" / "a.txt").read_bytes() == b"ett two one\r\nthree"
    assert (agent.work / "b.txt").read_text() == "new"
    assert not (agent.work / "c.txt").exists()


def test_it_runs_commands_and_keeps_what_they_print(agent: Agent) -> None:
    done = agent.run({"run": "echo out; echo err >&2; pwd; exit 3"}, {"run": "exit 4", "expect": 4})
    assert done.returncode == 0, done.stderr
    assert agent.said("tool") == ["echo out; echo err >&2; pwd; exit 3", "exit 4"]
    assert agent.said("result")[0] == f"out\nerr\n{agent.work}\n(exit code 3)"


def test_a_command_that_leaves_a_child_is_not_waited_for_longer(agent: Agent) -> None:
    assert agent.run({"run": "sleep 1000 & echo $! >pid"}).returncode == 0
    os.kill(int((agent.work / "pid").read_text()), signal.SIGKILL)


def test_it_commits_also_where_git_knows_no_name(agent: Agent) -> None:
    done = agent.run({"edit": "a", "content": "1"}, {"commit": "first\n\nwith a body"})
    assert done.returncode == 0, done.stderr
    assert git(agent, "log", "--format=%an %s") == "Test first"
    agent.env["GIT_CONFIG_GLOBAL"] = "/dev/null"
    done = agent.run({"edit": "a", "content": "2"}, {"commit": "second"})
    assert done.returncode == 0, done.stderr
    assert git(agent, "log", "-1", "--format=%an %ae %s") == "scripted scripted@muster.invalid second"
    assert agent.said("result")[-1] == git(agent, "rev-parse", "HEAD")
    assert git(agent, "status", "--porcelain") == ""


def test_the_outcome_names_the_commit(agent: Agent) -> None:
    outcome = {"status": "done", "summary": "{agent}", "changes": [{"kind": "impl", "commit": "HEAD", "severity": 2}]}
    done = agent.run({"edit": "a", "content": "1"}, {"commit": "c"}, {"outcome": outcome})
    assert done.returncode == 0, done.stderr
    assert json.loads((agent.folder / "outcome.json").read_text()) == {
        "schema": 1,
        "status": "done",
        "summary": "fix",
        "changes": [{"kind": "impl", "commit": git(agent, "rev-parse", "HEAD"), "severity": 2}],
    }


def test_an_outcome_may_be_broken_on_purpose(agent: Agent) -> None:
    assert agent.run({"outcome": '{"status": "do'}).returncode == 0
    assert (agent.folder / "outcome.json").read_text() == '{"status": "do'


def test_artifacts_stay_in_their_folder(agent: Agent) -> None:
    assert agent.run({"artifact": "logs/a.txt", "content": "kept"}).returncode == 0
    assert (agent.folder / "artifacts" / "logs" / "a.txt").read_text() == "kept"
    done = agent.run({"artifact": "../a.txt", "content": "x"})
    assert done.returncode == 1 and not (agent.folder / "a.txt").exists()


def test_it_floods_with_exactly_so_many_bytes(agent: Agent) -> None:
    quiet = len(agent.run({"flood": 0}).stdout) - len("0")
    assert len(agent.run({"flood": 1_000_000}).stdout) == quiet + len("1,000,000") + 1_000_000


def test_it_repeats_and_counts(agent: Agent) -> None:
    inner = {"repeat": 2, "steps": [{"say": "inner {n}"}]}
    assert agent.run({"repeat": 2, "steps": [{"say": "outer {n}"}, inner]}, {"say": "end"}).returncode == 0
    assert agent.said("assistant") == ["outer 1", "inner 1", "inner 2", "outer 2", "inner 1", "inner 2", "end"]


@pytest.mark.parametrize("code", [0, 1, 77, 255])
def test_it_exits(agent: Agent, code: int) -> None:
    assert agent.run({"exit": code}, {"say": "never"}).returncode == code
    assert agent.said("assistant") == [] and agent.status == "none"


@pytest.mark.parametrize("name", program.DEADLY)
def test_it_crashes_by_any_deadly_signal(agent: Agent, name: str) -> None:
    assert agent.run({"crash": name}).returncode == -signal.Signals[f"SIG{name}"]
    assert [path.name for path in agent.work.iterdir()] == [".git"]


def test_it_reports_what_it_is_told_to(agent: Agent) -> None:
    agent.start({"state": {"kind": "blocked", "reason": "a login"}}, {"hang": True})
    until(lambda: "blocked a login" in agent.notes())
    assert agent.status == "blocked"


def test_a_gate_opens_when_its_file_is_there(agent: Agent) -> None:
    agent.start({"gate": "go"}, {"say": "through"})
    agent.until("working")
    assert agent.said("assistant") == []
    (agent.work / "go").touch()
    until(lambda: agent.said("assistant") == ["through"])


def test_it_sleeps_working(agent: Agent) -> None:
    agent.start({"sleep": 0.01}, {"say": "awake"}, {"sleep": 1000})
    until(lambda: agent.said("assistant") == ["awake"])
    assert agent.status == "working"


@pytest.mark.parametrize(
    ("step", "why"),
    [
        ({"edit": "a", "find": "zwei", "replace": "two"}, 'edit: a: there is no "zwei"'),
        ({"edit": "none", "find": "a", "replace": "b"}, "edit: [Errno 2] No such file or directory: 'none'"),
        ({"edit": "binary", "find": "a", "replace": "b"}, "edit: 'utf-8' codec can't decode"),
        ({"delete": "none"}, "delete: [Errno 2]"),
        ({"run": "exit 3", "expect": 0}, "run: exit code 3, and 0 was expected"),
        ({"repeat": 1, "steps": [{"delete": "none"}]}, "step 2.1: delete"),
    ],
)
def test_a_step_that_fails_ends_it_and_is_named(agent: Agent, step: dict[str, Any], why: str) -> None:
    (agent.work / "a").write_text("one")
    (agent.work / "binary").write_bytes(b"\xff\xfe")
    done = agent.run({"say": "now"}, step, {"say": "never"})
    assert done.returncode == 1
    assert why in done.stderr and "script.json: step 2" in done.stderr
    assert agent.said("error") == [done.stderr.removeprefix("error: ").rstrip("\n")]
    assert agent.said("assistant") == ["now"] and agent.status == "none"


# Messages


def test_a_wait_takes_the_messages_in_order(agent: Agent) -> None:
    done = agent.run({"wait": True}, {"say": "1 {message}"}, {"wait": True}, {"say": "2 {line}"}, stdin="one\ntwo\n")
    assert done.returncode == 0, done.stderr
    assert agent.said("assistant") == ["1 one", "2 two"] and agent.said("user") == ["one", "two"]


def test_a_wait_for_a_pattern_leaves_the_others_for_later(agent: Agent) -> None:
    agent.run({"wait": "^go"}, {"say": "{message}"}, {"wait": True}, {"say": "{message}"}, stdin="stay\ngo now\n")
    assert agent.said("assistant") == ["go now", "stay"]


def test_each_further_message_is_answered(agent: Agent) -> None:
    agent.run({"say": "hello"}, stdin="one\ntwo")
    assert agent.said("assistant") == ["hello", "heard: one", "heard: two"]


def test_the_answer_can_be_scripted(agent: Agent) -> None:
    terminal = agent.start(on_message=[{"say": "{n}: {message}"}, {"edit": "{message}", "content": "x"}])
    terminal.send("one\rtwo\r")
    until(lambda: agent.said("assistant") == ["1: one", "2: two"] and agent.status == "waiting")
    assert (agent.work / "two").read_text() == "x"


def test_without_a_script_it_greets_and_answers(agent: Agent) -> None:
    argv = [sys.executable, PROGRAM, "first\nmessage"]
    done = subprocess.run(argv, input="second\n", capture_output=True, text=True, check=True, cwd=agent.work)
    assert "Hello, I am agent" in done.stdout
    assert "● heard: first\n" in done.stdout and "● heard: second\n" in done.stdout


def test_messages_are_receipted_while_it_works_and_taken_in_order(agent: Agent) -> None:
    steps = ({"gate": "go"}, {"wait": True}, {"say": "1 {message}"}, {"wait": True}, {"say": "2 {message}"})
    terminal = agent.start(*steps)
    until(lambda: agent.notes() == ["starting", "working"])
    terminal.send("one\r")
    terminal.paste("two\nlines")
    terminal.send("\r")
    until(lambda: agent.said("user") == ["one", "two\nlines"])
    until(lambda: agent.notes()[2:] == ["working", "working"])
    assert agent.said("assistant") == []
    (agent.work / "go").touch()
    until(lambda: agent.said("assistant") == ["1 one", "2 two\nlines"])


def test_who_finds_the_message_in_the_log_no_longer_finds_it_waiting(agent: Agent) -> None:
    terminal = agent.start({"wait": True}, {"gate": "go"})
    agent.until("waiting")
    terminal.send("now\r")
    until(lambda: agent.said("user"))
    assert agent.status == "working"
    until(lambda: agent.notes() == ["starting", "waiting", "working"])


def test_the_status_file_is_there_before_the_hook_runs(agent: Agent) -> None:
    terminal = agent.start({"wait": True}, {"ask": "Really?"}, {"exit": 0})
    terminal.send("go\r")
    agent.until("blocked")
    terminal.send("y")
    assert terminal.ended() == 0
    seen = [json.loads(line) for line in (agent.folder / "seen").read_text().splitlines()]
    assert [f"{one['status']} {one['reason']}".strip() for one in seen] == agent.notes()
    assert {one["pid"] for one in seen} == {terminal.process.pid}
    assert agent.notes()[-2:] == ["blocked Really?", "working"] and agent.status == "none"


# The terminal


@pytest.mark.parametrize("screen", ["plain", "full"])
@pytest.mark.parametrize("text", ["x", " ", "ä", "two\nlines\n", "crlf\r\n", WILD, HUGE], ids=lambda text: len(text))
def test_a_paste_is_one_message_to_the_byte(agent: Agent, screen: str, text: str) -> None:
    terminal = agent.start(args=("--screen", screen))
    agent.until("waiting")
    terminal.paste(text)
    terminal.send("\r")
    until(lambda: agent.said("user"))
    assert agent.said("user") == [text]


def test_a_paste_may_come_in_any_pieces() -> None:
    data = b"\x1b[200~" + WILD.encode() + b"\x1b[201~\rtyped \xe2\x82\xac\x7fx\r\x1b[1;5Cend\r"
    for size in (1, 2, 3, 7, 50):
        keys = program.Keys()
        pieces = [data[start : start + size] for start in range(0, len(data), size)]
        found = [one for piece in pieces for one in keys.feed(piece)]
        assert ("paste", WILD) in found
        typed = "".join(text for kind, text in found if kind == "text")
        assert typed == "typed €xend"
        assert [text for kind, text in found if kind == "key"] == ["\r", "\x7f", "\r", "\x1b[1;5C", "\r"]


def test_typing_can_be_corrected(agent: Agent) -> None:
    terminal = agent.start()
    agent.until("waiting")
    terminal.send("wrong\x15häx\x7f\x7fallo\r  \r\x03")
    terminal.paste("a\nb\nc\nd\ne")
    terminal.send("\x7fok\r")
    until(lambda: len(agent.said("user")) == 2)
    assert agent.said("user") == ["hallo", "ok"]


@pytest.mark.parametrize("screen", ["plain", "full"])
def test_tmux_delivers_a_huge_paste_exactly(agent: Agent, screen: str) -> None:
    agent.window(args=("--screen", screen))
    agent.until("waiting")
    text = HUGE
    agent.tmux("load-buffer", "-", stdin=text)
    agent.tmux("paste-buffer", "-p", "-r", "-d", "-t", "=a:")
    agent.tmux("send-keys", "-t", "=a:", "Enter")
    until(lambda: agent.said("assistant"))
    assert agent.said("user") == [text]
    until(lambda: "heard: ä日本語🙂" in agent.screen())


def test_the_full_screen_shows_conversation_status_and_composer(agent: Agent) -> None:
    steps = [{"say": f"line {number}"} for number in range(40)]
    agent.window({"wait": True}, *steps, {"ask": "May I?"}, {"gate": "go"}, args=("--screen", "full"))
    until(lambda: "● waiting" in agent.screen())
    assert agent.tmux("display", "-p", "-t", "=a:", "#{alternate_on}").strip() == "1"
    agent.tmux("send-keys", "-t", "=a:", "-l", "draft ä")
    until(lambda: agent.screen().splitlines()[-1] == "> draft ä")
    agent.tmux("send-keys", "-t", "=a:", "Enter")
    shown = until(lambda: agent.screen() if "● blocked" in agent.screen() else "")
    assert "fix · scripted" in shown.splitlines()[0] and "● line 39" in shown and "│ May I?" in shown
    assert "line 5\n" not in shown
    agent.tmux("send-keys", "-t", "=a:", "y")
    until(lambda: "● working" in agent.screen() and "Permission" not in agent.screen())
    agent.tmux("resize-window", "-t", "=a:", "-x", "60", "-y", "15")
    shown = until(lambda: agent.screen() if len(agent.screen().splitlines()[1]) == 60 else "")
    assert len(shown.splitlines()) == 15 and shown.splitlines()[-1] == ">" and "● working" in shown.splitlines()[-2]
    for _ in range(20):
        agent.tmux("send-keys", "-t", "=a:", "PageUp")
    until(lambda: "● line 0\n" in agent.screen() and "rows below" in agent.screen())
    agent.tmux("resize-window", "-t", "=a:", "-x", "5", "-y", "3")
    agent.tmux("resize-window", "-t", "=a:", "-x", "80", "-y", "24")
    until(lambda: "gate: go" in agent.screen())


def test_the_plain_screen_keeps_the_draft_under_what_is_said(agent: Agent) -> None:
    agent.window({"gate": "go"}, {"say": "meanwhile"}, {"gate": "again"})
    agent.until("working")
    agent.tmux("send-keys", "-t", "=a:", "-l", "my draft")
    until(lambda: agent.screen().rstrip().splitlines()[-1:] == ["> my draft"])
    (agent.work / "go").touch()
    until(lambda: agent.screen().rstrip().splitlines()[-2:] == ["● meanwhile", "> my draft"])


def test_text_can_not_move_the_cursor(agent: Agent) -> None:
    done = agent.run({"say": "a\x1b[2Jb\x07c\u009bd"})
    assert "● a\ufffd[2Jb\ufffdc\ufffdd" in done.stdout and "\x1b[2J" not in done.stdout
    assert agent.said("assistant") == ["a\x1b[2Jb\x07c\u009bd"]


ENDS = [
    ({"exit": 3}, "ended with 3"),
    ({"delete": "none"}, "ended with 1"),
    ({"crash": "SEGV"}, "ended with 139"),
    ({"run": "kill -TERM $PPID; sleep 1000"}, "ended with 143"),
    ({"run": "kill -HUP $PPID; sleep 1000"}, "ended with 129"),
    ({"wait": True}, "ended with 0"),
]


@pytest.mark.parametrize("screen", ["plain", "full"])
@pytest.mark.parametrize(("step", "words"), ENDS)
def test_the_terminal_is_restored_at_every_end(agent: Agent, screen: str, step: dict[str, Any], words: str) -> None:
    agent.window({"say": "hello"}, step, args=("--screen", screen))
    if "wait" in step:
        agent.until("waiting")
        agent.tmux("send-keys", "-t", "=a:", "C-d")
    shown = until(lambda: agent.screen() if words in agent.screen() else "")
    assert (agent.folder / "after").read_text() == (agent.folder / "before").read_text()
    assert agent.tmux("display", "-p", "-t", "=a:", "#{alternate_on} #{cursor_flag}").strip() == "0 1"
    assert ("● hello" in shown) == (screen == "plain")
    if "crash" not in step:
        assert agent.status == "none"


def test_bracketed_paste_is_turned_off_again(agent: Agent) -> None:
    terminal = agent.start({"exit": 0}, args=("--screen", "full"))
    assert terminal.ended() == 0
    until(lambda: b"\x1b[?1049l" in terminal.out)
    assert terminal.out.count(b"\x1b[?2004h") == terminal.out.count(b"\x1b[?2004l") == 1
    assert termios.tcgetattr(terminal.slave) == terminal.found


def test_a_long_line_typed_without_paste_is_not_cut(agent: Agent) -> None:
    terminal = agent.start()
    agent.until("waiting")
    terminal.send("ö" * 20_000 + "\r")
    until(lambda: agent.said("user"))
    assert agent.said("user") == ["ö" * 20_000]


# The dialog


@pytest.mark.parametrize(
    ("step", "keys", "answer", "goes_on"),
    [
        ({}, "y", "yes", True),
        ({}, "Y", "yes", True),
        ({}, "n", "no", False),
        ({}, "\rzz\ry", "yes", True),
        ({"default": "y"}, "\r", "yes", True),
        ({"default": "n"}, "\r", "no", False),
        ({"on_no": "go on"}, "n", "no", True),
        ({"on_no": "stop"}, "n", "no", False),
    ],
)
def test_a_dialog_takes_an_answer(agent: Agent, step: dict[str, str], keys: str, answer: str, goes_on: bool) -> None:
    terminal = agent.start({"ask": "May I?", **step}, {"say": "went on"})
    until(lambda: "blocked May I?" in agent.notes())
    terminal.send(keys)
    agent.until("waiting")
    assert agent.said("result") == [answer]
    assert agent.said("assistant") == (["went on"] if goes_on else [])
    terminal.send("still there\r")
    until(lambda: "heard: still there" in agent.said("assistant"))


def test_a_dialog_ignores_a_pasted_message_and_its_enter(agent: Agent) -> None:
    terminal = agent.start({"ask": "May I?", "default": "y"}, {"say": "went on"})
    agent.until("blocked")
    terminal.paste("yes, and also this")
    terminal.send("\r")
    terminal.paste("n")
    agent.until("waiting")
    assert agent.said("result") == ["no"] and agent.said("user") == [] and agent.said("assistant") == []


# Interrupting and killing


@pytest.mark.parametrize("step", [{"sleep": 1000}, {"hang": True}, {"hang": "deaf"}, {"gate": "no"}, {"ask": "May I?"}])
def test_an_interrupted_step_waits_for_a_message_and_goes_on_behind_it(agent: Agent, step: dict[str, Any]) -> None:
    terminal = agent.start({"say": "first"}, step, {"say": "after: {message}"})
    until(lambda: {"step": 1} in agent.lines())
    if "ask" in step or step.get("hang") == "deaf":
        until(lambda: agent.said("tool"))
    terminal.send("\x03")
    agent.until("waiting")
    assert agent.said("error") == ["interrupted"]
    terminal.send("go\r")
    until(lambda: agent.said("assistant") == ["first", "after: go"])


def test_an_interrupted_last_step_or_answer_leaves_the_next_message_to_be_answered(agent: Agent) -> None:
    on_message = [{"say": "heard {line}"}, {"gate": "{line}"}, {"say": "did {line}"}]
    terminal = agent.start({"hang": True}, on_message=on_message)
    agent.until("working")
    for name in ("one", "two"):
        terminal.send("\x03")
        agent.until("waiting")
        terminal.send(f"{name}\r")
        until(lambda: agent.said("assistant")[-1:] == [f"heard {name}"])  # noqa: B023  # called before the next turn
    (agent.work / "two").touch()
    until(lambda: agent.said("assistant") == ["heard one", "heard two", "did two"])


def test_interrupting_a_command_ends_all_of_it(agent: Agent) -> None:
    terminal = agent.start({"run": "sleep 1000 & echo $! >pid; mv pid child; wait"})
    child = int(until(lambda: (agent.work / "child").exists() and (agent.work / "child").read_text()))
    terminal.send("\x03")
    agent.until("waiting")
    until(lambda: not proc.alive(child))
    assert agent.said("error") == ["interrupted"]


def test_a_deaf_hang_ends_only_by_force(agent: Agent) -> None:
    terminal = agent.start({"hang": "deaf"})
    words = until(lambda: agent.said("tool"))[0]
    child = int(words.split()[-1])
    for pid in (child, terminal.process.pid):
        os.kill(pid, signal.SIGTERM)
        os.kill(pid, signal.SIGHUP)
    terminal.send("are you there?\r")
    until(lambda: agent.said("user"))
    assert proc.alive(child) and agent.status == "working"
    proc.end_tree(terminal.process.pid, grace=0.1)
    assert terminal.ended() == -signal.SIGKILL
    until(lambda: not proc.alive(child))


def test_a_hang_ends_when_it_is_asked_to(agent: Agent) -> None:
    terminal = agent.start({"hang": True})
    agent.until("working")
    terminal.process.terminate()
    assert terminal.ended() == -signal.SIGTERM
    assert agent.status == "none"


# Resuming


def test_after_a_kill_it_goes_on_at_the_right_step(agent: Agent) -> None:
    counting = {"repeat": 3, "steps": [{"edit": "count", "append": "{n}"}, {"gate": "go{n}"}]}
    steps = ({"say": "first"}, {"wait": True}, counting, {"say": "last, {message}"}, {"exit": 0})
    terminal = agent.start(*steps, args=("do it",))
    (agent.work / "go1").touch()
    until(lambda: {"step": 5} in agent.lines())
    terminal.send("for later\r")
    until(lambda: agent.said("user") == ["do it", "for later"])
    terminal.process.kill()
    terminal.ended()
    assert agent.status == "working", "a killed program leaves its status file"
    for name in ("go2", "go3"):
        (agent.work / name).touch()
    resumed = agent.start(*steps, args=("--resume", "do it"))
    assert resumed.ended() == 0
    assert (agent.work / "count").read_text() == "123"
    assert agent.said("assistant") == ["first", "last, do it"]
    assert agent.said("user") == ["do it", "for later"]
    until(lambda: "● first".encode() in resumed.out, "the earlier conversation is on the screen")
    again = agent.start(*steps, args=("--resume",))
    until(lambda: agent.said("assistant")[2:] == ["heard: for later"])
    agent.until("waiting")
    again.send("\x04")
    assert again.ended() == 0
    ids = [int(line["id"]) for line in agent.lines() if "role" in line]
    assert ids == list(range(1, len(ids) + 1))


def test_a_crash_is_not_repeated_and_a_cut_line_does_no_harm(agent: Agent) -> None:
    steps = ({"say": "one"}, {"crash": "KILL"}, {"say": "two"}, {"delete": "none"})
    assert agent.run(*steps).returncode == -signal.SIGKILL
    with (agent.folder / "conversation.jsonl").open("ab") as file:
        file.write('{"at": 1, "role": "user", "text": "hal\xe4'.encode()[:-1])
    assert agent.run(*steps, resume=True).returncode == 1
    events = list(Scripted().events((agent.folder / "conversation.jsonl").read_bytes()))
    assert [one.text for one in events if one.role == "assistant"] == ["one", "two"]
    assert agent.run(*steps, resume=True).returncode == 1, "a failed step is tried again"
    (agent.work / "none").touch()
    assert agent.run(*steps, resume=True).returncode == 0


def test_a_no_is_remembered(agent: Agent) -> None:
    steps = ({"ask": "May I?"}, {"say": "never"})
    assert agent.run(*steps).returncode == 0
    assert agent.run(*steps, resume=True, stdin="hello\n").returncode == 0
    assert agent.said("assistant") == ["heard: hello"] and agent.said("tool") == ["May I?"]


def test_a_start_without_resume_begins_anew_and_keeps_the_log(agent: Agent) -> None:
    for _ in range(2):
        assert agent.run({"say": "hello"}, {"exit": 0}).returncode == 0
    assert agent.said("assistant") == ["hello", "hello"]
    assert agent.run({"say": "hello"}, {"exit": 0}, {"say": "resumed"}, resume=True).returncode == 0
    assert agent.said("assistant") == ["hello", "hello", "resumed"]


# Bad scripts

BAD = [
    ("a.toml", "[[step]]\nsya = 'x'", "a.toml: step 1: there is no step `sya`", "did you mean `say`?"),
    ("a.toml", "step = [{say = 'x'}, {rnu = 'x'}]", "a.toml: step 2: there is no step `rnu`", "did you mean `run`?"),
    ("a.toml", "step = [{say = 1}]", "a.toml: step 1: `say` wants text, not 1", ""),
    ("a.toml", "step = [{sleep = true}]", "step 1: `sleep` wants a number, not true", ""),
    ("a.toml", "step = [{wait = '('}]", "step 1: `wait` wants `true` or a regular expression", ""),
    ("a.toml", "step = [{exit = 256}]", "step 1: `exit` wants a code from 0 to 255", ""),
    ("a.toml", "step = [{crash = 'STOP'}]", "step 1: `crash` wants a signal", ""),
    ("a.toml", "step = [{state = {kind = 'done'}}]", "step 1: `state` wants", ""),
    ("a.toml", "step = [{edit = 'x', find = 'y'}]", "step 1: `edit` wants `find` and `replace`", ""),
    ("a.toml", "step = [{run = 'x', expcet = 1}]", "`run` has no option `expcet`", "did you mean `expect`?"),
    ("a.toml", "step = [{say = 'x', run = 'y'}]", "does two things, `say` and `run`", "two steps"),
    ("a.toml", "step = [{repeat = 2, steps = [{say = 'x'}, {xyzzy = 1}]}]", "step 1.2: there is no step", "`say`"),
    ("a.toml", "on_message = [{sayy = 'x'}]", "on_message step 1: there is no step `sayy`", "`say`"),
    ("a.toml", "step = 'say'", "`step` is not a list of steps", "[[step]]"),
    ("a.toml", "on_mesage = []", "there is no `on_mesage`", "did you mean `on_message`?"),
    ("a.toml", "[[step]\nsay", "a.toml: it is not TOML: ", ""),
    ("a.json", '{"steps": [}', "a.json: it is not JSON: ", ""),
    ("a.json", "[]", "a.json: it is a list", '{"steps": [...]}'),
    ("a.json", '{"steps": ["say"]}', "a.json: step 1: it is not a table", "for example"),
    ("a.toml", None, "can't read the script `a.toml`: No such file or directory", ""),
]


@pytest.mark.parametrize(("name", "text", "message", "hint"), BAD)
def test_a_bad_script_is_named_with_step_and_nearest(
    agent: Agent, name: str, text: str | None, message: str, hint: str
) -> None:
    if text is not None:
        (agent.work / name).write_text(text)
    argv = [sys.executable, PROGRAM, "--script", name]
    done = subprocess.run(argv, cwd=agent.work, env=agent.env, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and message in done.stderr and hint in done.stderr
    assert agent.lines() == [] and agent.notes() == []
    os.chdir(agent.work)
    with pytest.raises(UsageError) as caught:
        Scripted().launch(Order(("--script", name), str(agent.folder), str(agent.work)))
    assert message in str(caught.value) and hint in caught.value.hint


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--scrpt", "x"), "there is no option `--scrpt`"),
        (("--script",), "`--script` wants a value"),
        (("--screen=wide",), "there is no screen `wide`"),
        (("one", "two"), "one message, please"),
        (("--", "one", "two"), "one message, please"),
    ],
)
def test_a_bad_command_line_is_refused(args: tuple[str, ...], message: str) -> None:
    done = subprocess.run([sys.executable, PROGRAM, *args], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and message in done.stderr
    with pytest.raises(UsageError):
        Scripted().launch(Order(args, "/folder", "/work"))


# The agent type


def test_a_launch_needs_the_script_only_once(agent: Agent) -> None:
    script = agent.work / "demo.toml"
    script.write_text("step = [{say = 'hi'}, {exit = 5}, {exit = 6}]")
    order = Order(("--script", str(script), "--screen", "full"), str(agent.folder), str(agent.work), message="-go")
    launch = Scripted().launch(order)
    assert launch.message_taken and launch.argv[-1] == "-go" and launch.argv[0] == sys.executable
    assert set(launch.files) == {"script.toml"}
    for name, data in launch.files.items():
        (agent.folder / name).write_bytes(data)
    script.unlink()
    env = {**agent.env, "PYTHONSAFEPATH": "1"}
    assert subprocess.run(launch.argv, env=env, cwd=agent.work, capture_output=True, check=False).returncode == 5
    assert agent.said("user") == ["-go"]
    again = Scripted().launch(Order(order.args, order.folder, order.workspace, resume=True))
    assert not again.files and "--resume" in again.argv and not again.message_taken
    assert subprocess.run(again.argv, env=env, cwd=agent.work, capture_output=True, check=False).returncode == 6


def test_a_launch_elsewhere_takes_the_python_that_is_there() -> None:
    launch = Scripted().launch(Order((), "/far/agent", "/far/work", remote=True))
    assert launch.argv == ("python3", "/far/agent/program", "--screen", "plain")
    assert launch.files == {f"program/{path.name}": path.read_bytes() for path in Path(PROGRAM).glob("*.py")}


@pytest.mark.parametrize("message", ["ä" * 60_000, "a\0b"])
def test_a_message_that_is_no_argument_is_left_to_be_typed(message: str) -> None:
    launch = Scripted().launch(Order((), "/folder", "/work", message=message))
    assert not launch.message_taken and message not in launch.argv


def test_the_program_needs_nothing_but_python(agent: Agent) -> None:
    alone = agent.folder / "program"
    shutil.copytree(PROGRAM, alone)
    script = agent.script({"run": "echo hi"}, {"say": "fine"})
    argv = [sys.executable, "-I", "-S", str(alone), "--script", script]
    env = {"PATH": os.environ["PATH"]}
    done = subprocess.run(argv, env=env, cwd=agent.work, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    assert done.returncode == 0 and "● fine".encode() in done.stdout, done.stderr


STATUS = b'{"pid": 7, "status": "waiting", "reason": "r", "since": 2.5, "conversation": "c"}'


@pytest.mark.parametrize(
    ("evidence", "note"),
    [
        (Evidence(9.0, pid=7, files={"status.json": STATUS}, note="1.0 working"), Note("waiting", 2.5, "r")),
        (Evidence(9.0, pid=8, files={"status.json": STATUS}, note="1.0 working"), Note("working", 1.0)),
        (
            Evidence(9.0, pid=7, files={"status.json": STATUS[:20]}, note="1.5 blocked May I go?\n"),
            Note("blocked", 1.5, "May I go?"),
        ),
        (Evidence(9.0, pid=7, files={"status.json": b"\xff"}), None),
        (Evidence(9.0, pid=7, note="1.0 dancing"), None),
        (Evidence(9.0, pid=7, note="soon working"), None),
        (Evidence(9.0, note="1.0"), None),
        (Evidence(9.0), None),
    ],
)
def test_what_it_notes(evidence: Evidence, note: Note | None) -> None:
    assert Scripted().noted(evidence) == note


def test_events_leave_out_what_is_broken_or_internal() -> None:
    log = (
        b'{"fresh": 1.0}\n{"at": 1.5, "role": "user", "text": "hi\\n", "id": "1"}\n{"step": 1, "took": "1"}\n'
        b'nonsense\n\xff\xfe\n[]\n{"role": "god", "text": "x"}\n\n'
        b'{"at": 2, "role": "tool", "text": "ls", "tool": "run", "id": "2"}\n{"at": 3, "role": "assis'
    )
    assert list(Scripted().events(log)) == [Event("user", "hi\n", 1.5, "", "1"), Event("tool", "ls", 2.0, "run", "2")]


# The document


def test_the_document_names_every_step_and_its_example_runs(agent: Agent) -> None:
    document = DOCUMENT.read_text()
    assert set(re.findall(r"^\| `(\w+) = ", document, re.MULTILINE)) == set(program.VERBS)
    for verb, (_, options) in program.VERBS.items():
        rows = "\n".join(line for line in document.splitlines() if line.startswith(f"| `{verb} = "))
        assert all(f"`{option}" in rows for option in options), verb
    example = agent.folder / "demo.toml"
    example.write_text(document.partition("```toml\n")[2].partition("```")[0])
    argv = [sys.executable, PROGRAM, "--script", str(example)]
    terminal = Pty(argv, agent.work, agent.env)
    try:
        terminal.send("please\r")
        agent.until("blocked")
        terminal.send("y")
        agent.until("waiting")
        terminal.send("thank you\r")
        until(lambda: "You said: thank you" in agent.said("assistant"))
    finally:
        terminal.close()
    assert agent.said("error") == [] and git(agent, "log", "--format=%s") == "Say hello properly"
    assert json.loads((agent.folder / "outcome.json").read_text())["status"] == "done"
