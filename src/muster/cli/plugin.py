"""`muster plugin`: agent types and hosts, and where each comes from."""

from __future__ import annotations

import os

import click

from muster.cli.options import Commands, output_format
from muster.core import out
from muster.core.out import Show
from muster.fleet.plugins import Plugin, plugins


@click.group("plugin", cls=Commands)
def command() -> None:
    """Show agent types and hosts, and where each comes from.

    Packages add agent types by entry points of the group `muster.agent_types` and providers of hosts by `muster.hosts`,
    you add types by the settings `types.NAME.parent`, `.args` and `.env`.

    \b
    Examples:
      muster plugin list
    """


@command.command("list")
@output_format
def list_(show: Show) -> None:
    """Show agent types and providers of hosts, and where each comes from.

    \b
    Examples:
      muster plugin list
      muster plugin list --format json
    """
    show.many(plugins(os.getcwd()), _table)


def _table(found: list[Plugin]) -> str:
    rows = [[one.kind, one.name, one.origin, one.about or f"can't be used: {one.fault}"] for one in found]
    return out.table(["kind", "name", "from", "about"], rows)
