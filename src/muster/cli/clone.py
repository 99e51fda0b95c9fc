"""`muster clone`: make an agent from another, work included."""

from __future__ import annotations

from typing import Any

import click

from muster.cli import answers
from muster.cli.options import agent_argument, output_format, pairs
from muster.core.out import Show
from muster.fleet import Fleet


@click.command("clone")
@agent_argument()
@click.argument("new", required=False, default="", metavar="[NEW]")
@click.option("-m", "--message", metavar="TEXT", help="What to say to the new agent first.")
@click.option(
    "--label",
    "labels",
    metavar="KEY=VALUE",
    multiple=True,
    callback=pairs,
    help="Label it, beside the labels it inherits.",
)
@click.option("--branch", metavar="NEW", help="Its branch, where `*` stands for its name; otherwise `muster/*`.")
@output_format
def command(name: str, new: str, message: str | None, labels: dict[str, str], branch: str | None, show: Show) -> None:
    """Make an agent from another, work included.

    The new one has the same type, arguments, environment and labels, and its conversation where the type can. It
    starts at the other's commits with its uncommitted files, in a workspace and on a branch of its own. The other
    one goes on. Without NEW a name is made up.

    \b
    Examples:
      muster clone fix
      Two ways to go on:
        muster clone fix fix-b -m 'Try it without the cache.'
    """
    fleet = Fleet.open()
    wishes: dict[str, Any] = {}
    if message is not None:
        wishes["message"] = message
    if labels:
        wishes["labels"] = {**fleet.registry.get(name).labels, **labels}
    if branch is not None:
        wishes["branch"] = branch
    made = fleet.clone(name, new, **wishes)
    answers.states(show, [fleet.agent(made)])
