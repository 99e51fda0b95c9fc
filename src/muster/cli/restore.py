"""`muster restore`: bring a destroyed agent back from the attic."""

from __future__ import annotations

import time
from typing import Any

import click
import msgspec

from muster.cli import answers
from muster.cli.options import output_format
from muster.core import out
from muster.core.out import Show
from muster.errors import UsageError
from muster.fleet import Fleet, Kept, keep


def complete_kept(_context: click.Context, _argument: click.Parameter, incomplete: str) -> list[str]:
    """The names in the attic that begin so, for the shell's completion."""
    return [one.agent.name for one in Fleet.open().kept("attic") if one.agent.name.startswith(incomplete)]


@click.command("restore")
@click.argument("name", required=False, metavar="[NAME]", shell_complete=complete_kept)
@click.option("--as", "new", metavar="NEW", default="", help="Give it another name.")
@click.option("--list", "listing", is_flag=True, help="Show what is in the attic, oldest first.")
@output_format
def command(name: str | None, new: str, listing: bool, show: Show) -> None:
    """Bring a destroyed agent back from the attic.

    It comes back stopped, with its branch, its uncommitted files and its conversation; `muster start` starts it.
    NAME is its name, of which the latest is taken, or its id.

    \b
    Examples:
      muster restore --list
      muster restore fix && muster start fix
      When the name is taken by now:
        muster restore fix --as fix-old
    """
    fleet = Fleet.open()
    if listing:
        _list(fleet, show)
        return
    if name is None:
        raise UsageError("which agent?", hint="`muster restore --list` shows them")
    answers.states(show, [fleet.agent(fleet.restore(name, new))])


def _list(fleet: Fleet, show: Show) -> None:
    days = fleet.config().attic.days
    records = [_record(fleet, one, days) for one in fleet.kept("attic")]
    show.many(records, _table)


def _record(fleet: Fleet, one: Kept, days: float) -> dict[str, Any]:
    left = days - (time.time() - one.at) / 86_400
    sizes = {"size": keep.size(fleet, one), "days_left": round(max(0.0, left), 1)}
    return {**msgspec.to_builtins(one), **sizes}


def _table(found: list[dict[str, Any]]) -> str:
    if not found:
        return ""
    rows = [
        [
            one["agent"]["name"],
            one["id"],
            one["agent"]["type"],
            out.age(time.time() - one["at"]),
            f"{one['days_left']:.0f}d",
            _bytes(one["size"]),
            one["agent"].get("project", ""),
        ]
        for one in found
    ]
    return out.table(["name", "id", "type", "age", "left", "size", "project"], rows)


def _bytes(size: float) -> str:
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"
