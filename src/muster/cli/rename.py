"""`muster rename`: give an agent another name."""

from __future__ import annotations

import click

from muster.cli import answers
from muster.cli.options import agent_argument, output_format
from muster.core.out import Show
from muster.fleet import Fleet


@click.command("rename")
@agent_argument()
@click.argument("new")
@output_format
def command(name: str, new: str, show: Show) -> None:
    """Give an agent another name.

    Its id, workspace and branch stay as they are, and it is not interrupted.

    \b
    Examples:
      muster rename calm-otter parser
    """
    answers.states(show, [Fleet.open().rename(name, new)])
