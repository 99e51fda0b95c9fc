"""Connect: what puts a terminal on an agent's, having started it if it does not run."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from muster.agents import Agent
from muster.core import tmux
from muster.errors import Refused

if TYPE_CHECKING:
    from muster.fleet import Fleet


class Door(Struct, frozen=True):
    """The way onto an agent's terminal."""

    agent: Agent
    argv: tuple[str, ...]  # to be executed in place of this process
    found: Literal["running", "ended", "started"]  # its program; `started` is by us, just now


def connect(fleet: Fleet, agent: Agent, starting: Callable[[], object] | None = None) -> Door:
    """The way onto its terminal. One whose program has ended still shows its last screen."""
    seat = fleet.seat(agent.host)
    argv = tuple(seat.server.attach(agent.id))
    pane = seat.server.run("display-message", "-p", "-t", tmux.pane(agent.id), "#{pane_dead}", check=False)
    if pane.code == 0 and pane.text:
        return Door(fleet.agent(agent), argv, "running" if pane.text == "0" else "ended")
    seen = fleet.agent(agent)
    if seen.state and seen.state.kind in ("done", "failed"):
        # Nobody who only wants to look should run a program a second time.
        hint = f"`muster start {agent.name}` runs it again, `muster logs {agent.name}` shows what it said"
        raise Refused(f"`{agent.name}` has ended ({seen.state.reason}), and its screen is gone", hint=hint)
    if starting:
        starting()
    [started] = fleet.start([agent])
    return Door(started, argv, "started")
