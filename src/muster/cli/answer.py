"""`muster answer`: answer the dialog that an agent shows."""

from __future__ import annotations

import click

from muster.cli import answers
from muster.cli.options import agent_argument, output_format
from muster.core.out import Show
from muster.fleet import Fleet


@click.command("answer")
@agent_argument()
@click.argument("answer", metavar="yes|no|N|TEXT")
@output_format
def command(name: str, answer: str, show: Show) -> None:
    """Answer the dialog that an agent shows.

    A dialog takes `yes` or `no`, the number of one of its answers, or the words of one; where it takes words of your
    own, any TEXT. `muster list` and `muster why` say what is asked, `muster capture` shows it. Returns when the agent's
    own evidence shows that the dialog is gone, and prints what the agent does then.

    \b
    Examples:
      muster answer fix yes
      muster answer fix 2
      muster answer fix 'Use the other database'
    """
    fleet = Fleet.open()
    answers.states(show, [fleet.answer(name, answer)])
