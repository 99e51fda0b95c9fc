"""Codex, the real program at its pinned version, with a scripted model."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

import codex_home
from conftest import Muster
from muster.agents import Evidence
from muster.agents.codex import Codex as Type
from muster.fleet import Fleet
from muster_testkit.model import Model
from programs import Install, install, model, network, prefix
from sample_projects import git

__all__ = ["install", "model", "network", "prefix"]

# What a program might take for a command, a shell line, a file or a skill of its own.
WILD = "ä日本語🙂 \"quoted\" 'too' $HOME `id` \\n {n}\n\n  spaces  e\u0301 \u2028 end"
TEXTS = ["x", "/model is what I ask", "/quit", "!touch hacked", "look at @README", "use $skill", "-m flag"]
TEXTS += [WILD, "a tab\there", "trailing newline\n", "  led by spaces", "long " * 20_000]
FAILURES = {429: "rate limit", 401: "authentication", 402: "billing", 503: "overload or server error"}
ESCALATED = {"cmd": "touch ../outside", "sandbox_permissions": "require_escalated", "justification": "to see"}


@pytest.fixture
def fresh(install: Install, model: Model, repo: Path, monkeypatch: pytest.MonkeyPatch) -> Model:
    """A home in which Codex never ran, with nothing but a key."""
    install("codex")
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("OPENAI_BASE_URL", f"{model.url}/v1")
    return model


@pytest.fixture
def theirs(fresh: Model, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The configuration of a user who has set Codex up."""
    monkeypatch.delenv("OPENAI_BASE_URL")
    return codex_home.set_up(fresh)


class Codex:
    """The agent `fix`, and what is said of it."""

    def __init__(self, muster: Muster, model: Model) -> None:
        self.muster, self.model = muster, model

    def create(self, *words: str, name: str = "fix") -> None:
        self.muster("create", name, "codex", *words)

    def is_(self, kind: str, reason: str = "") -> bool:
        """Whether it comes to that state, and for that reason."""
        self.muster("wait", "fix", "--for", kind, "--timeout", "30")
        agent = self.muster("list", "fix", "--format", "json").json["agents"][0]
        assert reason in agent["state"].get("reason", ""), agent["state"]
        return bool(agent["state"]["kind"] == kind)

    def say(self, text: str) -> str:
        done = self.muster("message", "fix", "--file", "-", stdin=text, check=False)
        return done.out.removeprefix("fix").strip()

    def heard(self) -> list[str]:
        return [event["text"] for event in self.events() if event["role"] == "user"]

    def events(self, name: str = "fix") -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.muster("transcript", name, "--format", "json").json
        return found


@pytest.fixture
def codex(muster: Muster, fresh: Model) -> Codex:
    return Codex(muster, fresh)


def work(fleet: Fleet, name: str = "fix") -> Path:
    return Path(fleet.agent(name).workspace.path)


def test_it_works_with_nothing_but_a_key(codex: Codex, fresh: Model, fleet: Fleet) -> None:
    fresh.script([{"thinking": "Hm.", "bash": "echo hello >new.txt"}, {"text": "It is there.", "gate": "end"}])
    codex.create("-m", "Write a file", "--permissions", "all", "--unsafe-here")
    assert codex.is_("working")
    fresh.release("end")
    assert codex.is_("waiting", "its turn ended")
    assert (work(fleet) / "new.txt").read_text() == "hello\n"
    assert "Write a file" in str(fresh.asked("k")[0].body)
    roles = [event["role"] for event in codex.events()]
    assert roles == ["user", "thinking", "tool", "result", "assistant"]


def test_messages_arrive_as_they_are(codex: Codex, fresh: Model, theirs: Path, fleet: Fleet) -> None:
    """Also while it starts and while it is busy; and the user's configuration stays as it is."""
    before = theirs.read_bytes()
    fresh.script([])
    codex.create()
    for text in TEXTS:
        assert codex.say(text) == "delivered"
        assert codex.is_("waiting")
    fresh.script([{"gate": "busy", "text": "Now."}])
    assert codex.say("first") == "delivered"
    assert codex.say("/second\nof them").startswith("queued")
    assert codex.say("third").startswith("queued")
    fresh.release("busy")
    assert codex.is_("waiting")
    expected = [text.strip() for text in [*TEXTS, "first", "/second\nof them", "third"]]
    assert codex.heard() == expected
    assert fresh.asked("k")[-1].last == "third"
    assert not (work(fleet) / "hacked").exists()
    assert theirs.read_bytes() == before


def test_dialogs_are_named_and_answered(codex: Codex, fresh: Model, theirs: Path, fleet: Fleet) -> None:
    ask = {"tool": {"name": "exec_command", "input": ESCALATED}}
    write = {"write": {"path": "new.txt", "content": "a\nb"}}
    fresh.script([{"times": 3, **ask}, {"text": "Well."}])
    codex.create("-m", "Do it", "--permissions", "edit")
    assert codex.is_("blocked", "permission: command: touch ../outside")
    assert codex.say("hello").startswith("refused")
    assert "blocked: permission: command" in codex.say("hello")
    codex.muster("answer", "fix", "yes")
    outside = work(fleet).parent / "outside"
    while not outside.exists():
        time.sleep(0.01)
    outside.unlink()
    assert codex.is_("blocked", "touch ../outside")
    codex.muster("answer", "fix", "no")
    assert codex.is_("waiting", "interrupted")
    fresh.script([ask, {"text": "As you say."}])
    assert codex.say("Again") == "delivered"
    assert codex.is_("blocked")
    assert "3 (No, and" in codex.muster("answer", "fix", "7", check=False).err
    codex.muster("answer", "fix", "Leave it alone")
    while codex.heard()[-1] != "Leave it alone":
        time.sleep(0.01)
    assert codex.is_("waiting", "its turn ended")
    assert codex.heard() == ["Do it", "Again", "Leave it alone"]
    assert not outside.exists()
    codex.muster("destroy", "fix")
    fresh.script([write, {"text": "Well."}])
    codex.create("-m", "Do it", "--permissions", "ask")
    assert codex.is_("blocked", "permission: edit: ")
    codex.muster("answer", "fix", "1")
    assert codex.is_("waiting", "its turn ended")
    assert (work(fleet) / "new.txt").exists()


def test_dialogs_before_its_session_are_named_and_answered(
    codex: Codex, fresh: Model, theirs: Path, fleet: Fleet, repo: Path
) -> None:
    """Another model, a folder that nobody trusted yet, hooks of the project; and how to sign in, where nobody has."""
    known, _, _ = theirs.read_text().partition("[notice.model_migrations]")
    theirs.write_text(known)
    fresh.script([])
    codex.create("-m", "one")
    assert codex.is_("blocked", "dialog: Meet GPT-6 Sol")
    assert codex.say("two") == "refused  it is blocked: dialog: Meet GPT-6 Sol"
    assert "idle" in codex.muster("interrupt", "fix").out
    assert "2 (Use existing model)" in codex.muster("answer", "fix", "perhaps", check=False).err
    codex.muster("answer", "fix", "no")
    assert codex.is_("waiting", "its turn ended")
    assert codex.heard() == ["one"] and fresh.asked("k")[-1].body["model"] == "gpt-5.5"
    codex.muster("destroy", "fix")

    hooks = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}}
    (repo / ".codex").mkdir()
    (repo / ".codex" / "hooks.json").write_text(json.dumps(hooks))
    codex.create("--mode", "in-place")
    assert codex.is_("blocked", "dialog: is this folder to be trusted?")
    codex.muster("answer", "fix", "yes")
    assert codex.is_("blocked", "dialog: Hooks need review")
    codex.muster("answer", "fix", "no")
    assert codex.is_("waiting")
    codex.muster("destroy", "fix")

    theirs.unlink()
    codex.muster("create", "fix", "codex", "--dirty", "ignore", env={"OPENAI_API_KEY": ""})
    assert codex.is_("blocked", "dialog: how to sign in?")


def test_it_commits_in_its_worktree_and_nothing_else_of_the_repository(
    codex: Codex, fresh: Model, theirs: Path, fleet: Fleet, repo: Path
) -> None:
    commit = "git add new && git -c user.name=A -c user.email=a@example.org commit --quiet -m new"
    others = [f"touch {repo}/.git/{name}" for name in ("config", "hooks/post-commit", "refs/heads/main", "new")]
    steps = [{"bash": f"echo new >new; {commit}"}, {"bash": "; ".join([*others, "true"])}, {"text": "Done."}]
    fresh.script(steps)
    before = {path: path.stat().st_mtime_ns for path in (repo / ".git" / "config", repo / ".git/refs/heads/main")}
    # What lies in the system's folder for temporary files, as this test does, may be written to otherwise.
    strict = ["-c", "sandbox_workspace_write.exclude_slash_tmp=true"]
    codex.create("-m", "Commit", "--permissions", "edit", "--", *strict)
    assert codex.is_("waiting", "its turn ended")
    assert git(repo, "log", "--format=%s", "-1", "muster/fix").strip() == "new"
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert not (repo / ".git" / "hooks" / "post-commit").exists() and not (repo / ".git" / "new").exists()


def test_failures_have_each_a_reason_of_their_own(codex: Codex, fresh: Model, theirs: Path) -> None:
    codex.create()
    for status, reason in FAILURES.items():
        fresh.script([{"fail": {"status": status}, "times": 0}])
        assert codex.say(f"now {status}") == "delivered"
        assert codex.is_("waiting", f"API failure: {reason}: ")
        assert codex.events()[-1]["role"] == "error"
    fresh.script([])
    assert codex.say("and now") == "delivered"
    assert codex.is_("waiting", "its turn ended")


def test_it_is_interrupted_and_ends(codex: Codex, fresh: Model, theirs: Path, home: Path) -> None:
    fresh.script([{"bash": "sleep 1000"}, {"text": "Now."}])
    codex.create("-m", "Do it", "--permissions", "all", "--unsafe-here")
    assert codex.is_("working")
    fresh.wait_for(lambda one: one.last == "Do it")
    assert "interrupted" in codex.muster("interrupt", "fix").out
    assert codex.is_("waiting", "interrupted")
    assert codex.say("Go on") == "delivered"
    assert codex.is_("waiting", "its turn ended")
    subprocess.run(["tmux", "-S", f"{home}/tmux.sock", "send-keys", "-t", ":0.0", "C-c"], check=True)
    assert codex.is_("done")


def test_its_conversation_goes_on(codex: Codex, fresh: Model, theirs: Path, fleet: Fleet, home: Path) -> None:
    """After a stop, a kill and the end of all sessions; in a clone; and one from outside."""
    fresh.script([])
    codex.create("-m", "one")
    assert codex.is_("waiting")
    codex.muster("stop", "fix")
    assert codex.say("two").startswith("queued")
    codex.muster("start", "fix")
    assert codex.is_("waiting")
    fresh.script([{"hang": 60}])
    assert codex.say("three") == "delivered"
    os.kill(pid(home), signal.SIGKILL)
    assert codex.is_("failed")
    fresh.script([])
    codex.muster("start", "fix")
    assert codex.is_("waiting")
    subprocess.run(["tmux", "-S", f"{home}/tmux.sock", "kill-server"], check=True)
    codex.muster("start", "fix")
    assert codex.say("four") == "delivered"
    assert codex.is_("waiting")
    assert codex.heard() == ["one", "two", "three", "four"]
    assert all(word in str(fresh.asked("k")[-1].body) for word in ("one", "two", "three", "four"))

    codex.muster("clone", "fix", "twin")
    codex.muster("message", "twin", "-m", "five")
    codex.muster("wait", "twin", "--for", "waiting", "--timeout", "30")
    assert all(word in str(fresh.asked("k")[-1].body) for word in ("one", "four", "five"))
    assert codex.heard() == ["one", "two", "three", "four"]

    ours = (home / "agents" / fleet.agent("fix").id / "rollout").read_text()
    codex.create("--adopt", ours[-43:].removesuffix(".jsonl\n"), "-m", "six", name="taken")
    codex.muster("wait", "taken", "--for", "waiting", "--timeout", "30")
    assert all(word in str(fresh.asked("k")[-1].body) for word in ("one", "four", "six"))
    assert "five" not in str(fresh.asked("k")[-1].body)


def pid(home: Path) -> int:
    """Of the program itself."""
    argv = ["tmux", "-S", f"{home}/tmux.sock", "list-panes", "-a", "-F", "#{pane_pid}"]
    return int(subprocess.run(argv, check=True, capture_output=True, text=True).stdout)


RECORDED = Path(__file__).parent / "data" / "states" / "codex-0.169.0.jsonl"


def test_recorded_evidence_is_still_understood() -> None:
    """As the real program left it; a version that tells otherwise is caught by the tests above."""
    for row in map(json.loads, RECORDED.read_text().splitlines()):
        log = "\n".join(json.dumps(line) for line in row["log"]).encode()
        files = {"begun": row["begun"].encode(), "conversation.jsonl": b'cut line"}\n' + log + b'\n{"half'}
        found = Evidence(row["now"], active=row["active"], title=row["title"], note=row["note"], files=files)
        noted = Type().noted(found)
        assert noted and (noted.kind, noted.reason) == (row["kind"], row["reason"]), row
    assert Type().noted(Evidence(1.0, title="a shell")) is None
