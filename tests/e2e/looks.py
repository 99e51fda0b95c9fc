"""What is really there: asked in the least words, to be compared with what a command has said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from muster_testkit import E2eSession


def agents(user: E2eSession) -> dict[str, dict[str, Any]]:
    """The record of each agent by its name, archived ones too."""
    found = user.run("muster list --all --format json").json()["agents"]
    return {one["name"]: one for one in found}


def states(user: E2eSession) -> dict[str, str]:
    """What each agent is doing."""
    return {name: one["state"]["kind"] for name, one in agents(user).items()}


def workspace(user: E2eSession, name: str) -> Path:
    """Where an agent works."""
    return Path(agents(user)[name]["workspace"]["path"])


def said(user: E2eSession, name: str, role: str = "user") -> list[str]:
    """What was said to an agent, or by it."""
    events = user.run(f"muster transcript {name} --role {role} --format json").json()
    return [one["text"] for one in events]


def git(user: E2eSession, words: str, where: Path | None = None) -> str:
    """What git answers, here or in that folder."""
    return user.run(f"git {words}", cwd=where).stdout.strip()
