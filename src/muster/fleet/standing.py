"""How every host is: one question each, all at once."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import Struct

from muster.core import fan
from muster.errors import MusterError
from muster.fleet import places
from muster.fleet.places import Record
from muster.fleet.registry import now

if TYPE_CHECKING:
    from muster.fleet import Fleet

Condition = Literal["running", "stopped", "paused", "unreachable", "gone", "new"]
AT_ONCE = 32


class Seen(Struct, frozen=True):
    """How a host was, and when."""

    condition: Condition
    at: float


class Standing(Struct, frozen=True):
    """A host as it is now, or as it was when it was last seen."""

    name: str
    provider: str
    condition: Condition
    seen: float  # when it was last known to be as it was then; 0: never
    last: Condition | None  # of one that can't be reached: how it was then
    agents: int
    root: str
    made: bool  # by muster
    own: bool  # its one agent's
    settings: dict[str, Any]


_seen = msgspec.json.Decoder(Seen)


def standing(fleet: Fleet, *, cached: bool = False) -> list[Standing]:
    """Every host: this machine, those that muster has to do with, and those of the settings."""
    records = places.all_recorded(fleet)
    known = {record.name for record in records}
    before = _all_seen(fleet)
    fresh = {} if cached else _conditions(fleet, records)
    _remember(fleet, fresh)
    on = [agent.host for agent in fleet.known()]
    found = [_local(fleet, on.count("local"))]
    for record in records:
        found.append(_standing(record, fresh.get(record.name), before.get(record.name), on.count(record.name)))
    for name in fleet.config().hosts:
        if name not in known:
            found.append(_standing(places.describe(fleet, places.parse(name)), None, None, 0))
    return found


def _local(fleet: Fleet, agents: int) -> Standing:
    return Standing("local", "local", "running", now(), None, agents, fleet.home, False, False, {})


def _standing(record: Record, fresh: Condition | None, last: Seen | None, agents: int) -> Standing:
    condition: Condition = fresh or (last.condition if last else "new")
    seen = time.time() if fresh and fresh != "unreachable" else last.at if last else 0.0
    was = last.condition if last and fresh == "unreachable" else None
    settings = {key: value for key, value in record.settings.items() if value not in ("", 0, False, [], {}, ())}
    if "env" in settings:  # a value may be a secret
        settings["env"] = sorted(settings["env"])
    return Standing(
        record.name, record.provider, condition, seen, was, agents, record.root, record.made, record.own, settings
    )


def _conditions(fleet: Fleet, records: Sequence[Record]) -> dict[str, Condition]:
    """All at once; hosts of one engine are asked for in one question."""
    groups: dict[str, list[Record]] = {}
    for record in records:
        key = f"{record.provider} {record.settings.get('engine', '')}" if record.made else f"one {record.name}"
        groups.setdefault(key, []).append(record)
    found: dict[str, Condition] = {}
    for group, answer in fan.out(lambda group: _ask(fleet, group), groups.values(), AT_ONCE):
        if isinstance(answer, Exception) and not isinstance(answer, MusterError):
            raise answer
        found.update({one.name: "unreachable" for one in group} if isinstance(answer, Exception) else answer)
    return found


def _ask(fleet: Fleet, group: Sequence[Record]) -> dict[str, Condition]:
    host = places.build(fleet, group[0])
    if len(group) > 1 and (ask := getattr(host, "conditions", None)):
        there: dict[str, Condition] = ask()
        ids = {one.name: places.build(fleet, one).id for one in group}
        return {name: there.get(identity, "gone") for name, identity in ids.items()}
    return {one.name: places.condition(fleet, one) for one in group}


def _all_seen(fleet: Fleet) -> dict[str, Seen]:
    rows = fleet.registry.rows("SELECT name, seen FROM hosts WHERE seen IS NOT NULL")
    return {name: _seen.decode(seen) for name, seen in rows}


def _remember(fleet: Fleet, fresh: dict[str, Condition]) -> None:
    at = time.time()
    for name, condition in fresh.items():
        if condition != "unreachable":
            seen = msgspec.json.encode(Seen(condition, at))
            try:
                fleet.registry.store.write("UPDATE hosts SET seen = ? WHERE name = ?", (seen, name))
            except MusterError:
                return  # a full disk must not hide what was seen
