"""`muster start`: start stopped agents again."""

from __future__ import annotations

import click

from muster.cli import answers
from muster.cli.options import agents_argument, chosen, output_format, where_options
from muster.core.out import Show
from muster.fleet import Fleet


@click.command("start")
@agents_argument(required=False)
@where_options
@output_format
def command(names: tuple[str, ...], where: str | None, everyone: bool, show: Show) -> None:
    """Start stopped agents again.

    Their programs begin anew in the same workspace, with the conversation where the type can. Also those that
    ended by themselves, or whose tmux server was killed. Messages that were queued are delivered. What runs
    already is left alone.

    \b
    Examples:
      muster start fix
      After the machine was restarted:
        muster start --where 'state == "unknown"'
    """
    fleet = Fleet.open()
    answers.states(show, fleet.start(chosen(fleet, names, where, everyone)))
