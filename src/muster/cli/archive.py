"""`muster archive`: stop agents and leave them out of listings."""

from __future__ import annotations

import click

from muster.cli import answers
from muster.cli.options import agents_argument, chosen, output_format, where_options
from muster.core.out import Show
from muster.fleet import Fleet


@click.command("archive")
@agents_argument(required=False)
@click.option("--undo", is_flag=True, help="Show them in listings again; they stay stopped.")
@where_options
@output_format
def command(names: tuple[str, ...], undo: bool, where: str | None, everyone: bool, show: Show) -> None:
    """Stop agents and leave them out of listings.

    All of an archived agent stays, its name too. `muster start` brings it back into the listings as well.

    \b
    Examples:
      muster archive fix
      muster archive --where 'state == "done"'
      muster archive fix --undo
    """
    fleet = Fleet.open()
    answers.states(show, fleet.archive(chosen(fleet, names, where, everyone), undo=undo))
