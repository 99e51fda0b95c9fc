"""An agent's fields, by the names that listings, expressions and JSON use."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from muster.agents import SETTLED, Agent
from muster.errors import UsageError
from muster.fleet.registry import now

# name: (what it is, how it is found). `labels.NAME` is one label.
FIELDS: dict[str, tuple[str, Callable[[Agent, float], Any]]] = {
    "id": ("ten characters that never change", lambda agent, _: agent.id),
    "name": ("its name", lambda agent, _: agent.name),
    "type": ("its agent type", lambda agent, _: agent.type),
    "state": ("what it is doing, in one word", lambda agent, _: agent.state.kind if agent.state else "unknown"),
    "reason": ("why we think so", lambda agent, _: agent.state.reason if agent.state else ""),
    "code": ("the exit code of its program", lambda agent, _: agent.state.code if agent.state else None),
    "host": ("where it runs", lambda agent, _: agent.host),
    "project": ("the folder it was made from", lambda agent, _: agent.project),
    "branch": ("its own branch", lambda agent, _: agent.workspace.branch),
    "base": ("the commit its branch started at", lambda agent, _: agent.workspace.base),
    "mode": ("the kind of its workspace", lambda agent, _: agent.workspace.mode),
    "path": ("its workspace", lambda agent, _: agent.workspace.path),
    "age": ("seconds since it was created", lambda agent, at: _since(agent.created, at)),
    "idle": ("seconds since it settled; nothing while it works", lambda agent, at: _idle(agent, at)),
    "activity": ("the last line on its screen", lambda agent, _: agent.activity),
    "labels": ("its labels", lambda agent, _: agent.labels),
    "created": ("when it was created, in seconds since 1970", lambda agent, _: agent.created),
    "parent": ("the agent or snapshot it was made from", lambda agent, _: agent.parent),
    "archived": ("whether listings leave it out", lambda agent, _: agent.archived),
    "args": ("the arguments of its program", lambda agent, _: list(agent.args)),
    "setup": ("what was run in its new workspace", lambda agent, _: agent.setup),
    "share": ("the paths it shares with its project", lambda agent, _: list(agent.share)),
    "windows": ("its other windows", lambda agent, _: agent.windows),
    "tokens": ("tokens in and out, as far as traces were read", lambda agent, _: agent.spent and agent.spent[0]),
    "cost": ("US dollars, where they are known", lambda agent, _: agent.spent and agent.spent[1]),
}
# What only the store of traces knows: looked up where it is asked for.
SPENT = ("tokens", "cost")
DURATIONS = ("age", "idle")
# A record has these in other places, or on demand only.
_ELSEWHERE = ("reason", "code", "base", "mode", "path", *SPENT)


def value(agent: Agent, field: str, at: float) -> Any:
    """What that field is of that agent at that time; None where there is nothing."""
    if field.startswith("labels."):
        return agent.labels.get(field[7:])
    return FIELDS[field][1](agent, at)


def check(names: Iterable[str]) -> tuple[str, ...]:
    """Those names, if all are fields."""
    wanted = tuple(names)
    for name in wanted:
        if name not in FIELDS and not (name.startswith("labels.") and name[7:]):
            raise unknown(name)
    return wanted


def unknown(name: str, where: str = "") -> UsageError:
    """There is no such field."""
    from difflib import get_close_matches

    near = get_close_matches(name.lower(), FIELDS, 1, 0.6)
    every = ", ".join(f"`{one}`" for one in [*FIELDS, "labels.NAME"])
    return UsageError(
        f"there is no field `{name[:80]}`{where}", hint=f"did you mean `{near[0]}`?" if near else f"there are {every}"
    )


def ordered(agents: Sequence[Agent], sort: str) -> list[Agent]:
    """Sorted by a field, `-FIELD` the other way round; what has no such value comes last."""
    name = sort.removeprefix("-")
    check([name])
    at = now()
    keys = {agent.id: value(agent, name, at) for agent in agents}
    having = [agent for agent in agents if keys[agent.id] not in (None, "")]
    having.sort(key=lambda agent: _comparable(keys[agent.id]), reverse=sort.startswith("-"))
    return [*having, *(agent for agent in agents if keys[agent.id] in (None, ""))]


def record(agent: Agent) -> dict[str, Any]:
    """All there is to say about an agent, for JSON."""
    at = now()
    found = {name: value(agent, name, at) for name in FIELDS if name not in _ELSEWHERE}
    found["state"] = (
        {name: getattr(agent.state, name) for name in agent.state.__struct_fields__} if agent.state else None
    )
    place = agent.workspace
    found["workspace"] = {name: getattr(place, name) for name in place.__struct_fields__}
    return found


def within(agents: Iterable[Agent], folder: str) -> list[Agent]:
    """Those whose project is the repository that folder is in, or lies in that folder."""
    from muster.core import git

    top = git.top(folder) or os.path.realpath(folder)
    return [agent for agent in agents if agent.project == top or agent.project.startswith(top.rstrip("/") + "/")]


def _since(then: float, at: float) -> int:
    return max(0, int(at - then))  # a clock may have been set back


def _idle(agent: Agent, at: float) -> int | None:
    return _since(agent.state.since, at) if agent.state and agent.state.kind in SETTLED else None


def _comparable(one: Any) -> Any:
    if isinstance(one, dict):
        return sorted(one.items())
    return one.casefold() if isinstance(one, str) else one
