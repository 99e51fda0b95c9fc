"""`muster restart`: stop and start agents."""

from __future__ import annotations

import click

from muster.cli import answers
from muster.cli.options import agents_argument, chosen, output_format, where_options
from muster.core.out import Show
from muster.fleet import Fleet


@click.command("restart")
@agents_argument(required=False)
@where_options
@output_format
def command(names: tuple[str, ...], where: str | None, everyone: bool, show: Show) -> None:
    """Stop and start agents.

    As `muster stop` and then `muster start`: what runs is ended first.

    \b
    Examples:
      muster restart fix
      muster restart --where 'state == "failed"'
    """
    fleet = Fleet.open()
    answers.states(show, fleet.start(fleet.stop(chosen(fleet, names, where, everyone))))
