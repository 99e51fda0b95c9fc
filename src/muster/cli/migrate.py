"""`muster migrate`: let an agent go on elsewhere."""

from __future__ import annotations

import click

from muster.cli import answers
from muster.cli.options import agent_argument, output_format
from muster.core.out import Show
from muster.fleet import Fleet


@click.command("migrate")
@agent_argument()
@click.argument("address", metavar="@HOST")
@output_format
def command(name: str, address: str, show: Show) -> None:
    """Let an agent go on on another host.

    It is stopped, its commits, uncommitted files and conversation are brought there, and it is started again if it
    ran. Name, id and branch stay. What git ignores does not come along: the set-up command of its workspace runs
    again. `@local` is this machine. If it can't be done, the agent goes on where it was.

    \b
    Examples:
      muster migrate fix @box
      muster migrate fix @.docker
      Back home:
        muster migrate fix @local
    """
    answers.states(show, [Fleet.open().migrate(name, address)])
