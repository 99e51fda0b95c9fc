"""`muster stop`: end agents' programs, keep all else."""

from __future__ import annotations

import click

from muster.cli import answers
from muster.cli.options import agents_argument, chosen, output_format, where_options
from muster.core.out import Show
from muster.fleet import Fleet


@click.command("stop")
@agents_argument(required=False)
@where_options
@output_format
def command(names: tuple[str, ...], where: str | None, everyone: bool, show: Show) -> None:
    """End agents' programs, keep all else.

    Every process of theirs is ended. Workspace, branch, conversation and scrollback stay, and `muster start` goes
    on from there. A NAME of `-` reads names from standard input.

    \b
    Examples:
      muster stop fix
      muster stop --all
      muster list --ids --state waiting | muster stop -
    """
    fleet = Fleet.open()
    answers.states(show, fleet.stop(chosen(fleet, names, where, everyone)))
