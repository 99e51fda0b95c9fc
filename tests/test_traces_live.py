"""Agents at work, here and on another machine: what they write down is taken in and counted."""

from __future__ import annotations

import time
from contextlib import closing
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from conftest import Muster
from muster.agents import Tokens
from muster.fleet import Fleet
from muster_testkit.model import Model
from programs import Install, install, model, network, prefix

if TYPE_CHECKING:
    from machines import Box

pytest_plugins = ["machines"]

__all__ = ["install", "model", "network", "prefix"]

KEY = "sk-ant-dummy-0123456789abcdefghijklmnop"


def is_written(fleet: Fleet) -> None:
    """A program says that its turn ended, and writes down what it said then."""
    deadline = time.monotonic() + 30
    while "All is done." not in [event.text for event in fleet.transcript("fix")]:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_real_agent_and_its_subagent(
    install: Install, model: Model, repo: Path, muster: Muster, fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each request that the model answered is counted once, in the trace of who asked."""
    install("claude")
    for name, value in {
        "ANTHROPIC_BASE_URL": model.url,
        "ANTHROPIC_API_KEY": KEY,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "SHELL": "/bin/bash",
    }.items():
        monkeypatch.setenv(name, value)
    usage = {"input": 1000, "output": 10}
    errand = {"description": "An errand", "prompt": "Run the errand", "subagent_type": "general-purpose"}
    model.script(
        [
            {"when": {"last": "Run the errand"}, "text": "The errand is done.", "usage": usage, "times": 0},
            {"tool": {"name": "Agent", "input": errand}, "text": "I send somebody.", "usage": usage},
            {"text": "All is done.", "usage": usage, "times": 0},
        ]
    )
    muster(
        "create", "fix", "claude", "--permissions", "edit", "-m", "Send somebody", "--", "--model", "claude-sonnet-4-5"
    )
    fleet.wait(["fix"], ["waiting"], timeout=60)
    # Its subagent may come back after its turn, which then goes on.
    deadline = time.monotonic() + 60
    while True:
        assert {one.source.name.partition("/")[0] for one in fleet.ingest()} == {"fix"}
        answered = len([one for one in model.asked() if one.step is not None])
        done = fleet.traces.search('"errand is done"', role="assistant")
        if (spent := fleet.spent()) and done and spent[0].requests == answered:
            break
        assert time.monotonic() < deadline, (spent, answered)
        time.sleep(0.1)
    main, errand_of = fleet.traces.find("fix")
    assert [event.text for event in fleet.traces.events(errand_of.id) if event.role == "assistant"] == [
        "The errand is done."
    ]
    said = [event for event in fleet.transcript("fix") if event.role == "assistant"]
    assert said[0].text == "I send somebody."
    [one] = spent
    assert (one.key, one.tokens) == ("fix", Tokens(1000 * answered, 10 * answered))
    assert one.cost
    [field] = muster("list", "--fields", "cost", "--format", "json").json["agents"]
    assert field["cost"] == one.cost
    assert main.requests + errand_of.requests == answered


def test_a_real_codex_is_followed_and_counted(
    install: Install, model: Model, repo: Path, muster: Muster, fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its counts come after what they count; who follows has each once, as the store has."""
    install("codex")
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("OPENAI_BASE_URL", f"{model.url}/v1")
    usage = {"input": 1000, "output": 10, "cache_read": 500}
    model.script([{"bash": "echo here", "text": "I look.", "usage": usage}, {"text": "All is done.", "usage": usage}])
    muster("create", "fix", "codex", "--permissions", "edit", "-m", "Do it")
    fleet.wait(["fix"], ["waiting"], timeout=60)
    is_written(fleet)
    with closing(fleet.listen("fix")) as stream:
        heard = [*takewhile(lambda event: event.text != "All is done.", stream)]
    assert [event.role for event in heard] == ["user", "assistant", "tool", "result"]
    assert [event.tokens for event in heard if event.tokens] == [Tokens(1500, 10, 500)]
    [*fleet.ingest()]
    [spent] = fleet.spent("model")
    assert (spent.requests, spent.tokens) == (2, Tokens(3000, 20, 1000))
    assert spent.key.startswith("gpt-")
    assert spent.cost
    [trace] = fleet.traces.all()
    told = [event for event in fleet.traces.events(trace.id) if event.tokens]
    assert sum(event.cost or 0 for event in told) == pytest.approx(spent.cost)


def test_an_agent_on_another_machine(box: Box, repo: Path, fleet: Fleet, muster: Muster) -> None:
    """Its log is read on through the host's prefix; a machine that is away is named, and the others are read."""
    far = fleet.create("far@box", "scripted", message="Hello there")
    here = fleet.create("here", "scripted", message="Hello here")
    fleet.wait([far, here], ["waiting"], timeout=60)
    assert {(one.source.host, one.source.name, one.news) for one in fleet.ingest()} == {
        ("box", "far", "new"),
        ("local", "here", "new"),
    }
    [*fleet.message([far], "And again")]
    fleet.wait([far], ["waiting"], timeout=60)
    [more] = fleet.ingest(["far"])
    assert more.news == "more"
    [trace] = fleet.traces.find("far")
    assert [*fleet.traces.events(trace.id)] == fleet.transcript("far")
    box.kill()
    [*fleet.message([here], "And here")]
    done = muster("traces", "ingest", check=False)
    assert done.code == 4, done.err
    assert "`box`" in done.err
    assert "here" in done.out
    assert [event.text for event in fleet.traces.events(fleet.traces.find("here")[0].id)][-1] == "heard: And here"
