"""Reading: screens, logs, conversations, events. Nothing here starts or changes an agent."""

from __future__ import annotations

import os
import re
from collections.abc import Generator
from typing import TYPE_CHECKING

from muster import hosts
from muster.agents import Agent, Event, agent_type
from muster.agents.watch import Happening, Watch, parse
from muster.core import tmux
from muster.errors import NotFound, Refused

if TYPE_CHECKING:
    from muster.fleet import Fleet

# Colours and styles are kept on demand; every other escape sequence never leaves this file.
_STYLE = re.compile(r"\x1b\[[0-9;:]*m")
_OUTCOME_MAX = 1_000_000
_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_].*?(?:\x07|\x1b\\)|[@-Z\\^_])", re.DOTALL)


def capture(fleet: Fleet, agent: Agent, colours: bool = False) -> str:
    """The screen as it is now."""
    shown = _pane(fleet, agent, colours, [])
    if shown is None:
        hint = f"`muster logs {agent.name}` shows what is kept, `muster start {agent.name}` starts it again"
        raise Refused(f"`{agent.name}` has no screen: its session is not there", hint=hint)
    return shown


def logs(fleet: Fleet, agent: Agent, colours: bool = False) -> str:
    """What the terminal showed in this life and in those before, oldest first."""
    seat = fleet.seat(agent.host)
    parts = []
    for name in ("scrollback", "log"):
        if kept := hosts.read(seat.host, f"{seat.folder(agent.id)}/{name}"):
            parts.append(plain(kept.decode(errors="replace"), colours))
            if name == "log":
                return parts[-1]
    if shown := _pane(fleet, agent, colours, ["-J", "-S", "-"]):
        parts.append(shown)
    return "\n".join(part.strip("\n") for part in parts if part.strip("\n"))


def setup_log(fleet: Fleet, agent: Agent) -> str:
    """What the set-up command of the workspace printed."""
    seat = fleet.seat(agent.host)
    kept = hosts.read(seat.host, f"{seat.folder(agent.id)}/setup.log")
    if kept is None:
        raise NotFound(f"`{agent.name}` had no set-up", hint="`muster create --setup COMMAND` runs one")
    return plain(kept.decode(errors="replace"))


def _pane(fleet: Fleet, agent: Agent, colours: bool, more: list[str]) -> str | None:
    style = ["-e"] if colours else []
    server = fleet.seat(agent.host).server
    result = server.run("capture-pane", "-p", *style, *more, "-t", tmux.pane(agent.id), check=False)
    return result.out.decode(errors="replace").rstrip("\n") if result.code == 0 else None


def plain(text: str, colours: bool = False) -> str:
    """Text without what moves a cursor; with its colours if wanted."""
    kept = [match.group() for match in _STYLE.finditer(text)] if colours else []
    text = _STYLE.sub("\0", text) if colours else _STYLE.sub("", text)
    text = _ESCAPE.sub("", text).replace("\r\n", "\n")
    # A bare return goes back to the line's start: what was written over is gone from the screen, too.
    text = "\n".join(line.rpartition("\r")[2] for line in text.split("\n"))
    text = "".join(c for c in text if c in "\n\t\0" or (c >= " " and not "\x7f" <= c <= "\x9f"))
    styles = iter(kept)
    return re.sub("\0", lambda _: next(styles, ""), text)


def outcome(fleet: Fleet, agent: Agent) -> bytes | None:
    """What it wrote to $MUSTER_OUTCOME; a file that floods the disk is not taken whole."""
    seat = fleet.seat(agent.host)
    return hosts.read(seat.host, f"{seat.folder(agent.id)}/outcome.json", limit=_OUTCOME_MAX)


def transcript(fleet: Fleet, agent: Agent) -> list[Event]:
    """The conversation; of a type that keeps none, what was said to it and what its terminal showed."""
    kind = agent_type(agent.type)
    seat = fleet.seat(agent.host)
    if kind.conversation:
        log = f"{seat.folder(agent.id)}/{kind.conversation}"
        # What was kept has a copy beside the link to where its program had it.
        return list(kind.events(hosts.read(seat.host, log) or hosts.read(seat.host, f"{log}.kept") or b""))
    said = [
        Event("user", message.text, message.at) for message in fleet.registry.messages(agent.id, "typed", "delivered")
    ]
    shown = logs(fleet, agent)
    return [*said, Event("output", shown)] if shown else said


def events(fleet: Fleet, follow: bool) -> Generator[Happening, None, None]:
    """What happened, oldest first; followed, until the listener stops."""
    seat = fleet.seat("local")
    if elsewhere := {agent.host for agent in fleet.known()} - {"local"}:
        from muster.fleet import far_events

        yield from far_events.events(fleet, sorted(elsewhere), follow)
        return
    if not follow:
        text = hosts.read(seat.host, f"{seat.root}/events") or b""
        yield from filter(None, map(parse, text.split(b"\n")))
        return
    if not os.path.exists(f"{seat.root}/muster.sh"):
        from muster.agents import session

        session.prepare(seat)
    with Watch(seat, 0) as watch:
        while True:
            yield from watch.next(None)
