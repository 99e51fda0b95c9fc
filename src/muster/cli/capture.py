"""`muster capture`: an agent's screen as it is now."""

from __future__ import annotations

import click

from muster.cli.options import agent_argument, output_format
from muster.core.out import Show
from muster.fleet import Fleet


@click.command("capture")
@agent_argument()
@click.option("--colours", is_flag=True, help="Keep colours.")
@output_format
def command(name: str, colours: bool, show: Show) -> None:
    """Print an agent's screen as it is now.

    Never starts or changes an agent.

    \b
    Examples:
      muster capture fix
      muster capture fix --colours
      watch --color muster capture fix --colours
    """
    show.many(Fleet.open().capture(name, colours=colours).splitlines(), "\n".join)
