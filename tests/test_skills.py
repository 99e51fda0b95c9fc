"""Skills are where the real agent programs look for them: the model is told of them, and of all of one that is called."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from conftest import Muster
from muster.skills import SKILLS, text
from muster_testkit.model import Model
from programs import Install, Network, install, model, network

__all__ = ["install", "model", "network"]

CODEX = """\
model = "gpt-5.5"
model_provider = "scripted"
[model_providers.scripted]
name = "scripted"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "SCRIPTED_API_KEY"
[projects."{repo}"]
trust_level = "trusted"
[analytics]
enabled = false
"""
NO_QUESTIONS = "--dangerously-bypass-approvals-and-sandbox"


@pytest.mark.parametrize("skill", SKILLS)
def test_a_skill_says_what_it_is_for(skill: str) -> None:
    head, _, body = text(skill).removeprefix("---\n").partition("\n---\n")
    words = dict(line.split(": ", 1) for line in head.splitlines())
    # What the open format asks for, https://agentskills.io/specification
    assert words["name"] == skill
    assert 0 < len(words["description"]) <= 1024
    assert body.strip()


@pytest.mark.parametrize(
    ("program", "argv"),
    [
        ("claude", ["-p", "/muster-tutorial"]),
        ("codex", ["exec", "--json", NO_QUESTIONS, "Use $muster-tutorial"]),
    ],
)
def test_programs_read_them(
    program: str, argv: list[str], install: Install, model: Model, network: Network, repo: Path, muster: Muster
) -> None:
    install(program)
    muster("skill", "install")
    codex = Path(os.environ["HOME"], ".codex")
    codex.mkdir()
    (codex / "config.toml").write_text(CODEX.format(url=model.url, repo=repo))
    model.script([{"text": "Done."}])
    keys = {"ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "any", "SCRIPTED_API_KEY": "any"}
    quiet = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_TELEMETRY": "1"}
    done = subprocess.run(
        [*network.prefix, program, *argv],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **keys, **quiet},
        timeout=90,
    )
    assert "Done." in done.stdout, done.stderr
    asked = json.dumps([one.body for one in model.asked()])
    assert "Run coding agents side by side with muster" in asked, "it is told what the other one is for"
    assert "A tutorial that stays true" in asked, "and has all of the one that is called"
    assert "Driving a fleet with muster" not in asked
