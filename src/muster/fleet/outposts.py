"""Is every other host fit for its agents, and are they what the registry says? Looks only, and makes nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from muster.agents import Agent
from muster.core import fan, proc
from muster.errors import MusterError
from muster.fleet.health import TMUX, Check
from muster.fleet.places import condition, recorded

if TYPE_CHECKING:
    from muster.fleet import Fleet

# The oldest that has all that is asked of it there, such as `git restore`.
GIT = (2, 25)
AT_ONCE = 32
# The versions, then a line for each agent: whether its workspace and its session are there, and how it ended.
_SCRIPT = """
tmux -V; git --version; root=$1; shift
for id do
  work=no session=no ended=no
  [ -d "$root/work/$id" ] && work=yes
  tmux -S "$root/tmux.sock" has-session -t "=$id" 2>/dev/null && session=yes
  [ -f "$root/agents/$id/exit" ] && ended=yes
  echo "$id $work $session $ended"
done
"""


def checks(fleet: Fleet) -> Iterator[Check]:
    """One a host that has agents of ours."""
    on: dict[str, list[Agent]] = {}
    for agent in fleet.known():
        if agent.host != "local" and agent.intent in ("started", "stopped"):
            on.setdefault(agent.host, []).append(agent)
    for host, found in sorted(fan.out(lambda host: _check(fleet, host, on[host]), on, AT_ONCE), key=lambda one: one[0]):
        if isinstance(found, MusterError):
            yield Check(f"host {host}", "warn", str(found), found.hint)
        elif isinstance(found, Exception):
            raise found
        else:
            yield found


def _check(fleet: Fleet, host: str, agents: Sequence[Agent]) -> Check:
    name, number = f"host {host}", f"{len(agents)} agent{'' if len(agents) == 1 else 's'}"
    record = recorded(fleet, host)
    if record and record.made and (now := condition(fleet, record)) != "running":
        return Check(name, "ok" if now == "stopped" else "warn", f"{now}, {number}", f"`muster host start {host}`")
    seat = fleet.seat(host)
    said = proc.run(seat.host, ["sh", "-c", _SCRIPT, "sh", seat.root, *(agent.id for agent in agents)], timeout=30)
    tmux, git, *rest = said.text.split("\n")
    for program, text, least in (("tmux", tmux, TMUX), ("git", git, GIT)):
        version = re.search(r"(\d+)\.(\d+)", text)
        if version and (int(version[1]), int(version[2])) < least:
            wanted = ".".join(map(str, least))
            return Check(name, "fail", f"{text}, {number}", f"install {program} {wanted} or newer there")
    return _agents(name, f"{tmux}, {git}, {number}", agents, dict(line.split(" ", 1) for line in rest if " " in line))


def _agents(name: str, about: str, agents: Sequence[Agent], found: dict[str, str]) -> Check:
    gone = [f"`{one.name}`" for one in agents if found.get(one.id, "no").startswith("no")]
    if gone:
        hint = "`muster destroy NAME` keeps what is left of them"
        return Check(name, "warn", f"{about}; without workspace: {', '.join(gone[:5])}", hint)
    lost = [f"`{one.name}`" for one in agents if one.intent == "started" and found[one.id].endswith("no no")]
    if lost:
        return Check(
            name, "warn", f"{about}; without session: {', '.join(lost[:5])}", "`muster start NAME` brings them back"
        )
    return Check(name, "ok", about)
