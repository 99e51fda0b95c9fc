"""`muster logs`: what an agent's terminal showed, also after its death."""

from __future__ import annotations

import click

from muster.cli.options import agent_argument, output_format
from muster.core.out import Show
from muster.fleet import Fleet


@click.command("logs")
@agent_argument()
@click.option("-n", "--tail", type=click.IntRange(min=0), metavar="N", help="Only the last N lines.")
@click.option("--colours", is_flag=True, help="Keep colours.")
@click.option("--setup", is_flag=True, help="What its set-up command printed.")
@output_format
def command(name: str, tail: int | None, colours: bool, setup: bool, show: Show) -> None:
    """Print what an agent's terminal showed, also after its death.

    From its earlier lives, too. A program with a full-screen interface leaves only its last screen; with the
    setting `create.log` everything is kept from the start on. Never starts or changes an agent.

    \b
    Examples:
      muster logs fix
      muster logs fix -n 50
      muster logs fix --setup
    """
    fleet = Fleet.open()
    text = fleet.setup_log(name) if setup else fleet.logs(name, colours=colours)
    lines = text.splitlines()
    if tail is not None:
        lines = lines[max(0, len(lines) - tail) :]
    show.many(lines, "\n".join)
