"""The journal: what was done with agents, one line each, in the same file and form as the hosts' own events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from muster.agents import Agent
from muster.core import paths
from muster.fleet.registry import now

if TYPE_CHECKING:
    from muster.fleet import Fleet


def note(fleet: Fleet, agent: Agent, event: str, detail: str = "") -> None:
    """One line for everybody who follows; the same form as the hosts' own."""
    words = [f"{now():.3f}", agent.id, event, " ".join(f"{agent.name} {detail}".split())[:500]]
    paths.append(f"{fleet.home}/events", ("\t".join(words) + "\n").encode())
