"""`muster label`: show, set and remove labels."""

from __future__ import annotations

import click

from muster.agents import Agent
from muster.cli import answers
from muster.cli.options import agents_argument, chosen, output_format, pairs, where_options
from muster.core.out import Show
from muster.fleet import Fleet


@click.command("label")
@agents_argument(required=False)
@click.option(
    "--set", "given", metavar="KEY=VALUE", multiple=True, callback=pairs, help="Set a label; may be repeated."
)
@click.option("--unset", "taken", metavar="KEY", multiple=True, help="Remove a label; may be repeated.")
@where_options
@output_format
def command(
    names: tuple[str, ...],
    given: dict[str, str],
    taken: tuple[str, ...],
    where: str | None,
    everyone: bool,
    show: Show,
) -> None:
    """Show, set and remove labels.

    Without a word on which, only shows them. `KEY=VALUE` is short for `--set KEY=VALUE`. Expressions of `--where` know
    them as `labels.KEY`.

    \b
    Examples:
      muster label fix
      muster label fix review team=core prio=1
      muster label --where 'labels.prio == "1"' --unset prio
    """
    fleet = Fleet.open()
    given = {**dict(name.split("=", 1) for name in names if "=" in name[1:]), **given}
    names = tuple(name for name in names if "=" not in name[1:])  # no agent's name has one
    agents = chosen(fleet, names, where, everyone)
    if given or taken:
        agents = fleet.label(agents, {**given, **dict.fromkeys(taken)})
    records = [{"id": agent.id, "name": agent.name, "labels": agent.labels} for agent in agents]
    show.many(records, lambda _: answers.aligned([(agent.name, _shown(agent)) for agent in agents]))


def _shown(agent: Agent) -> str:
    return " ".join(f"{key}={value}" for key, value in sorted(agent.labels.items()))
