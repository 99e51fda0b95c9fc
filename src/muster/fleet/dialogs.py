"""Answering a dialog and interrupting a turn: keys, and then the evidence that they did it."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from muster.agents import Agent, AgentType, Press, State, agent_type, evidence
from muster.agents.session import Seat
from muster.core import fan, tmux
from muster.errors import MusterError, Refused, TimedOut, UsageError
from muster.fleet import Interrupted
from muster.fleet.look import look

if TYPE_CHECKING:
    from muster.fleet import Fleet

AT_ONCE = 8
GIVE_UP = 10.0
SHOWS = 5.0
# A program may close a dialog, or end its turn, without telling anybody: so it is looked at this often for a moment.
LOOK_AGAIN = 0.1


def answer(fleet: Fleet, agent: Agent, word: str) -> Agent:
    """Give that answer to the dialog it shows; the agent as it is when that dialog is gone."""
    if not word.strip() or not word.isprintable():
        raise UsageError("an answer is one line of text", hint="`yes`, `no`, a number, or words")
    with fleet.registry.locked(agent.id):
        agent = look(fleet, [agent]).agents[0]
        state = agent.state
        assert state is not None
        if state.kind != "blocked":
            raise Refused(f"`{agent.name}` asks nothing: it is {state.kind}", hint=f"`muster message {agent.name}`")
        seat, kind = fleet.seat(agent.host), agent_type(agent.type)
        presses = _presses(seat, agent, kind, word, _opening(state))
        # Keys that come before a person could have read what is asked are dropped by some programs.
        time.sleep(kind.dialog_after)
        _press(seat, agent, kind, presses)
        fleet.event(agent, "answered", word)
        asked = (state.kind, state.since, state.reason)
        gone = "the dialog is still there"
        return _until(fleet, agent, lambda now: (now.kind, now.since, now.reason) != asked, gone)


def _opening(state: State) -> bool:
    """Whether the dialog is one before its session: only the screen tells of these."""
    return state.kind == "blocked" and "screen" in state.sources


def _presses(seat: Seat, agent: Agent, kind: AgentType, word: str, opening: bool) -> Sequence[Press]:
    """A dialog may be on the screen a moment later than its program says so."""
    deadline = time.monotonic() + SHOWS
    while not (presses := _keys(kind, word, _screen(seat, agent, kind), opening)):
        if time.monotonic() > deadline:
            hint = f"`muster connect {agent.name}` shows it"
            raise Refused(f"`{agent.name}` shows no dialog that muster knows", hint=hint)
        time.sleep(LOOK_AGAIN)
    return presses


def _keys(kind: AgentType, word: str, screen: str, opening: bool) -> Sequence[Press]:
    if not opening:
        return kind.answer(word, screen)
    menu = kind.opening(screen)
    return menu.presses(word) if menu else ()


def interrupt(fleet: Fleet, agents: Sequence[Agent]) -> Iterator[Interrupted]:
    """End what they do now, and nothing else of theirs."""
    for agent, found in fan.out(lambda agent: _interrupt(fleet, agent), agents, AT_ONCE):
        if isinstance(found, MusterError):
            yield Interrupted(agent.id, agent.name, "failed", str(found))
        elif isinstance(found, Exception):
            raise found
        else:
            yield found


def _interrupt(fleet: Fleet, agent: Agent) -> Interrupted:
    with fleet.registry.locked(agent.id):
        agent = look(fleet, [agent]).agents[0]
        state, kind = agent.state, agent_type(agent.type)
        assert state is not None
        if state.kind not in ("working", "blocked"):
            return Interrupted(agent.id, agent.name, "idle", f"it is {state.kind}")
        if _opening(state):
            # There the key for it may mean yes, or end the program.
            return Interrupted(agent.id, agent.name, "idle", f"it is blocked: {state.reason}")
        seat = fleet.seat(agent.host)
        _press(seat, agent, kind, kind.interruption())
        fleet.event(agent, "interrupted")
        if not kind.notes:
            return Interrupted(agent.id, agent.name, "typed", "its program doesn't say what it does")
        now = _until(fleet, agent, lambda now: now.kind not in ("working", "blocked"), "it goes on").state
        assert now is not None
        return Interrupted(agent.id, agent.name, "interrupted", f"it is {now.kind}")


def _screen(seat: Seat, agent: Agent, kind: AgentType) -> str:
    return evidence.look(seat, [kind], screens=True).evidence(agent.id).screen


def _press(seat: Seat, agent: Agent, kind: AgentType, presses: Sequence[Press]) -> None:
    """Each by itself, when the screen shows that the one before did what it should: the same key means other things elsewhere."""
    for press in presses:
        seat.server.run("send-keys", "-t", tmux.pane(agent.id), *press.keys)
        deadline = time.monotonic() + SHOWS
        while press.shows and not re.search(press.shows, _screen(seat, agent, kind)):
            if time.monotonic() > deadline:
                hint = f"`muster connect {agent.name}` shows it"
                raise TimedOut(f"the dialog of `{agent.name}` did not take the answer, and is left as it is", hint=hint)
            time.sleep(LOOK_AGAIN)


def _until(fleet: Fleet, agent: Agent, done: Callable[[State], bool], otherwise: str) -> Agent:
    deadline = time.monotonic() + GIVE_UP
    while True:
        seen = look(fleet, [agent]).agents[0]
        assert seen.state is not None
        if done(seen.state):
            return seen
        if time.monotonic() > deadline:
            raise TimedOut(
                f"after {GIVE_UP:g} s {otherwise}: `{agent.name}` is {seen.state.kind} ({seen.state.reason})",
                hint=f"`muster connect {agent.name}` shows it",
            )
        time.sleep(LOOK_AGAIN)
