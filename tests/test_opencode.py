"""opencode, the real program at its pinned version, with a scripted model: it is heavy, so one instance is asked much."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from conftest import Muster
from muster.fleet import Fleet
from muster_testkit.model import Model
from programs import Install, install, model, network, prefix

__all__ = ["install", "model", "network", "prefix"]

PATIENCE = "120"
WILD = "ä日本語🙂 \"quoted\" 'too' $HOME `id` \\n {n}\n\n  spaces  e\u0301 end"
TEXTS = ["x", "/models is what I ask", "!touch hacked", "look at @README", WILD, "trailing newline\n", "long " * 2_000]
# What it would fetch, where nothing can be fetched.
ENV = ["--env", "OPENCODE_DISABLE_MODELS_FETCH=1", "--env", "OPENCODE_DISABLE_LSP_DOWNLOAD=1"]
FAILURES = {401: "authentication", 400: ""}
LIMIT = {"context": 200_000, "output": 8_192}


@pytest.fixture
def config(install: Install, model: Model, repo: Path) -> Path:
    """The configuration of a user who has set opencode up."""
    install("opencode")
    options = {"baseURL": f"{model.url}/v1", "apiKey": "k"}
    models = {"scripted-1": {"limit": LIMIT}, "scripted-small": {"limit": LIMIT}}
    provider = {"npm": "@ai-sdk/openai-compatible", "options": options, "models": models}
    path = Path(os.environ["HOME"]) / ".config" / "opencode" / "opencode.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    # It installs its own package for plugins there at each start, and would wait for a network.
    (Path(os.environ["HOME"]) / ".npmrc").write_text("offline=true\n")
    path.write_text(
        json.dumps(
            {
                "$schema": "https://opencode.ai/config.json",
                "model": "scripted/scripted-1",
                "small_model": "scripted/scripted-small",
                "enabled_providers": ["scripted"],
                "provider": {"scripted": provider},
            }
        )
    )
    return path


class Opencode:
    """The agent `fix`, and what is said of it."""

    def __init__(self, muster: Muster) -> None:
        self.muster = muster

    def is_(self, kind: str, reason: str = "", name: str = "fix") -> None:
        self.muster("wait", name, "--for", kind, "--timeout", PATIENCE)
        agent = self.muster("list", name, "--format", "json").json["agents"][0]
        assert reason in agent["state"].get("reason", ""), agent["state"]

    def say(self, text: str, name: str = "fix") -> str:
        done = self.muster("message", name, "--file", "-", stdin=text, check=False)
        return done.out.removeprefix(name).strip()

    def said(self, role: str = "user", name: str = "fix") -> list[str]:
        events = self.muster("transcript", name, "--format", "json").json
        return [event["text"].strip() for event in events if event["role"] == role]


@pytest.fixture
def opencode(muster: Muster) -> Opencode:
    return Opencode(muster)


def test_states_messages_dialogs_and_failures(
    opencode: Opencode, muster: Muster, model: Model, config: Path, fleet: Fleet
) -> None:
    before = config.read_bytes()
    model.script([{"bash": "echo hi >made"}, {"text": "All done."}])
    muster("create", "fix", "opencode", "--permissions", "ask", *ENV, "-m", "Please do it")
    opencode.is_("blocked", "permission: command: echo hi >made")
    assert opencode.say("no").startswith("refused")
    muster("answer", "fix", "yes")
    opencode.is_("waiting", "its turn ended")
    place = Path(fleet.agent("fix").workspace.path)
    assert (place / "made").read_text() == "hi\n"
    assert opencode.said("assistant") == ["All done."]

    for text in TEXTS:
        assert opencode.say(text) == "delivered"
        opencode.is_("waiting")
    assert opencode.said() == [text.strip() for text in ["Please do it", *TEXTS]]
    assert not (place / "hacked").exists()

    model.script([{"bash": "touch never"}, {"text": "Never."}])
    assert opencode.say("Do it") == "delivered"
    opencode.is_("blocked", "touch never")
    muster("answer", "fix", "no")
    opencode.is_("waiting")
    assert not (place / "never").exists()

    model.script([{"gate": "busy", "text": "One."}, {"text": "Two."}])
    assert opencode.say("first") == "delivered"
    opencode.is_("working")
    assert opencode.say("second") == "delivered"
    model.release("busy")
    opencode.is_("waiting", "its turn ended")
    assert opencode.said()[-2:] == ["first", "second"]

    for status, reason in FAILURES.items():
        model.script([{"fail": {"status": status}, "times": 0}])
        assert opencode.say(f"now {status}") == "delivered"
        opencode.is_("waiting", f"API failure: {reason}")
    # Of these it tries again without an end.
    model.script([{"fail": {"status": 429, "message": "Rate limit reached"}, "times": 0}])
    assert opencode.say("now 429") == "delivered"
    while "API failure: rate limit: tried again" not in str(fleet.why("fix").state):
        fleet.wait(["fix"], ["working"], timeout=60)
    assert "interrupted" in muster("interrupt", "fix").out
    opencode.is_("waiting", "interrupted")
    assert config.read_bytes() == before


def test_its_conversation_goes_on(opencode: Opencode, muster: Muster, model: Model, config: Path, home: Path) -> None:
    """After a kill, in a clone, and for one from outside."""
    model.script([])
    muster("create", "fix", "opencode", "--permissions", "all", "--unsafe-here", *ENV)
    opencode.is_("waiting")
    assert opencode.say("one") == "delivered"
    opencode.is_("waiting")
    model.script([{"hang": 60}])
    assert opencode.say("two") == "delivered"
    [pid] = tmux(home, "list-panes", "-a", "-F", "#{pane_pid}").split()
    os.kill(int(pid), signal.SIGKILL)
    opencode.is_("failed", "SIGKILL")
    tmux(home, "kill-server")
    model.script([])
    muster("start", "fix")
    opencode.is_("waiting")
    assert opencode.say("three") == "delivered"
    opencode.is_("waiting")
    assert opencode.said() == ["one", "two", "three"]
    assert all(word in str(model.asked("k")[-1].body) for word in ("one", "two", "three"))
    muster("stop", "fix")
    muster("clone", "fix", "twin")
    opencode.is_("waiting", name="twin")
    assert opencode.say("four", "twin") == "delivered"
    opencode.is_("waiting", name="twin")
    assert all(word in str(model.asked("k")[-1].body) for word in ("one", "three", "four"))
    assert opencode.said(name="twin") == ["one", "two", "three", "four"]
    assert opencode.said() == ["one", "two", "three"]


def tmux(home: Path, *words: str) -> str:
    argv = ["tmux", "-S", f"{home}/tmux.sock", *words]
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout
