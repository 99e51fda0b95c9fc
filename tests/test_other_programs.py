"""Gemini CLI, pi, aider and mini-swe-agent, each the real program at its pinned version: one smoke test each."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from conftest import Muster
from muster.fleet import Fleet
from muster_testkit.model import Model
from programs import Install, install, model, network, prefix

__all__ = ["install", "model", "network", "prefix"]

STEPS = [{"bash": "echo hi >made"}, {"text": "Done."}, {"text": "Again."}]
PATIENCE = "60"


def waits(muster: Muster, kind: str = "waiting", reason: str = "") -> None:
    muster("wait", "fix", "--for", kind, "--timeout", PATIENCE)
    agent = muster("list", "fix", "--format", "json").json["agents"][0]
    assert reason in agent["state"].get("reason", ""), agent["state"]


def said(muster: Muster, role: str = "user") -> list[str]:
    events = muster("transcript", "fix", "--format", "json").json
    return [event["text"].strip() for event in events if event["role"] == role]


def works(muster: Muster, fleet: Fleet, *words: str) -> None:
    """It does its first task, hears another message, and goes on with both after a stop."""
    muster("create", "fix", *words)
    waits(muster)
    assert (Path(fleet.agent("fix").workspace.path) / "made").read_text() == "hi\n"
    assert muster("message", "fix", "-m", "Once more").out.split()[1] == "delivered"
    waits(muster)
    assert said(muster) == ["Do it", "Once more"]
    assert "Done." in said(muster, "assistant")
    muster("stop", "fix")
    muster("start", "fix")
    waits(muster)


def test_gemini(
    install: Install, model: Model, repo: Path, muster: Muster, fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    install("gemini")
    folder = Path(os.environ["HOME"]) / ".gemini"
    folder.mkdir()
    (folder / "settings.json").write_text('{"security": {"auth": {"selectedType": "gemini-api-key"}}}')
    monkeypatch.setenv("GEMINI_API_KEY", "k")
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", model.url)
    model.script(STEPS)
    arguments = ["--", "--model", "gemini-2.5-pro"]
    works(muster, fleet, "gemini", "-m", "Do it", "--permissions", "all", "--unsafe-here", *arguments)
    model.script(STEPS)
    muster("destroy", "fix")
    muster("create", "fix", "gemini", "-m", "Do it", "--permissions", "ask", *arguments)
    waits(muster, "blocked", "permission: ")
    made = Path(fleet.agent("fix").workspace.path) / "made"
    assert "3 (No, suggest changes (esc))" in muster("answer", "fix", "perhaps", check=False).err
    assert not made.exists()
    muster("answer", "fix", "yes")
    waits(muster, "waiting", "its turn ended")
    assert made.read_text() == "hi\n"
    model.script([{"fail": {"status": 401, "message": "not like this"}, "times": 0}])
    assert muster("message", "fix", "-m", "And now").out.split()[1] == "delivered"
    waits(muster, "waiting", "API failure: authentication")
    model.script(STEPS)
    assert muster("message", "fix", "-m", "Once more").out.split()[1] == "delivered"
    waits(muster, "blocked", "permission: ")
    muster("answer", "fix", "no")
    waits(muster, "waiting", "its turn ended")


def test_pi(install: Install, model: Model, repo: Path, muster: Muster, fleet: Fleet) -> None:
    install("pi")
    folder = Path(os.environ["HOME"]) / ".pi" / "agent"
    folder.mkdir(parents=True)
    one = {"id": "claude-scripted", "contextWindow": 200_000, "maxTokens": 8_192}
    provider = {"baseUrl": model.url, "api": "anthropic-messages", "apiKey": "k", "models": [one]}
    settings = {"defaultProvider": "scripted", "defaultModel": "claude-scripted", "enableInstallTelemetry": False}
    (folder / "models.json").write_text(json.dumps({"providers": {"scripted": provider}}))
    (folder / "settings.json").write_text(json.dumps(settings))
    model.script(STEPS)
    works(muster, fleet, "pi", "-m", "Do it", "--env", "PI_OFFLINE=1")
    model.script([{"fail": {"status": 400, "message": "not like this"}, "times": 0}])
    assert muster("message", "fix", "-m", "And now").out.split()[1] == "delivered"
    waits(muster, "waiting", "API failure: ")
    model.script([{"fail": {"status": 401, "message": "not you"}, "times": 0}])
    assert muster("message", "fix", "-m", "And me").out.split()[1] == "delivered"
    waits(muster, "waiting", "API failure: authentication: ")


def test_aider(
    install: Install, model: Model, repo: Path, muster: Muster, fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    install("aider")
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("OPENAI_API_BASE", f"{model.url}/v1")
    known = {"max_input_tokens": 200_000, "max_output_tokens": 8_192, "litellm_provider": "openai", "mode": "chat"}
    metadata = repo.parent / "home" / "meta.json"
    metadata.write_text(json.dumps({"openai/scripted-1": known}))
    edit = "made\n<<<<<<< SEARCH\n=======\nhi\n>>>>>>> REPLACE\n"
    steps = [{"when": {"body": "commit message"}, "text": "made it", "times": 0}, {"text": edit}, {"text": "Done."}]
    model.script({"main": "any", "steps": steps})
    options = "--model openai/scripted-1 --edit-format diff --no-show-model-warnings --analytics-disable --map-tokens 0"
    options += f" --no-detect-urls --model-metadata-file {metadata}"
    muster("create", "fix", "aider", "--permissions", "all", "--unsafe-here", "--", *options.split())
    waits(muster)
    assert muster("message", "fix", "-m", "Do it").out.split()[1] == "delivered"
    waits(muster)
    assert (Path(fleet.agent("fix").workspace.path) / "made").read_text() == "hi\n"
    assert muster("message", "fix", "-m", "Once more").out.split()[1] == "delivered"
    waits(muster)
    assert said(muster) == ["Do it", "Once more"]
    model.script({"main": "any", "steps": [{"fail": {"status": 401, "message": "not you"}, "times": 0}]})
    assert muster("message", "fix", "-m", "And now").out.split()[1] == "delivered"
    waits(muster, "waiting", "API failure: authentication")
    model.script({"main": "any", "steps": [{"text": "Done."}]})
    assert muster("message", "fix", "-m", "Go on").out.split()[1] == "delivered"
    waits(muster, "waiting", "its turn ended")


def test_mini(
    install: Install, model: Model, repo: Path, muster: Muster, fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    install("mini")
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("OPENAI_API_BASE", f"{model.url}/v1")
    monkeypatch.setenv("MSWEA_COST_TRACKING", "ignore_errors")
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    end = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
    model.script([{"bash": "echo hi >made", "text": "I write it."}, {"bash": end, "text": "Done."}])
    words = ["--permissions", "all", "--unsafe-here", "-m", "Do it", "--", "--model", "openai/scripted-1"]
    muster("create", "fix", "mini", *words)
    waits(muster, "done")
    assert (Path(fleet.agent("fix").workspace.path) / "made").read_text() == "hi\n"
    assert any("Do it" in text for text in said(muster))
