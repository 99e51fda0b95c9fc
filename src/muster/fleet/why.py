"""Why an agent is taken to be in its state: the evidence of one look."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from muster.agents import Agent, Evidence, State, evidence, state
from muster.errors import Unreachable
from muster.fleet.look import judged, known_type

if TYPE_CHECKING:
    from muster.fleet import Fleet


class Why(Struct, frozen=True):
    """An agent, its state, and what was found; no evidence where its host could not be looked at."""

    agent: Agent
    state: State
    evidence: Evidence | None


def why(fleet: Fleet, agent: Agent) -> Why:
    """One look at one agent."""
    kind = known_type(agent.type)
    try:
        found = evidence.look(fleet.seat(agent.host), [kind]).evidence(agent.id)
    except Unreachable as error:
        unknown = state.judge(agent, kind, None, str(error))
        return Why(msgspec.structs.replace(agent, state=unknown), unknown, None)
    seen = judged(fleet, agent, kind, found)
    assert seen.state is not None
    return Why(seen, seen.state, found)
