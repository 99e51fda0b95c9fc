"""`muster wait`: until agents reach a state."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from muster.cli import answers
from muster.cli.options import agents_argument, chosen, duration, output_format, states
from muster.core.out import Show
from muster.errors import NotReached, TimedOut, UsageError
from muster.fleet import Fleet, fields

if TYPE_CHECKING:
    from muster.agents import Agent, Kind


@click.command("wait")
@agents_argument(required=False)
@click.option("--for", "kinds", metavar="STATE", multiple=True, callback=states, help="Until this state; repeatable.")
@click.option("--any/--all", "any_of", default=False, help="Until one of them has reached it, or all of them.")
@click.option("--timeout", type=duration, metavar="DURATION", help="Give up after so long: `90s`, `10m`, `2h`.")
@click.option("--where", metavar="EXPR", help="Agents for which this expression holds when the waiting begins.")
@output_format
def command(
    names: tuple[str, ...], kinds: tuple[Kind, ...], any_of: bool, timeout: float | None, where: str | None, show: Show
) -> None:
    """Wait until agents reach a state, and print what each does then.

    Without `--for` it is any in which an agent has settled: waiting, blocked, done, failed, stopped or unknown.
    `settled` and `ended` (done, failed, stopped) stand for several states.

    The exit code is 0 when it is reached, 7 when it can't come any more without somebody's hand, and 124 when the
    time is up.

    \b
    Examples:
      Until it wants something from me:
        muster wait fix
      Until the first of three has done its work, for half an hour at most:
        muster wait a b c --any --for done --timeout 30m
      All of a project:
        muster list --project . --ids | muster wait -
    """
    if not names and where is None:
        raise UsageError("which agents?", hint="give names, `--where EXPR`, or `-` to read ids from standard input")
    fleet = Fleet.open()
    agents = chosen(fleet, names, where)
    try:
        reached = (
            fleet.wait(agents, kinds, any=any_of, timeout=timeout)
            if kinds
            else fleet.wait(agents, any=any_of, timeout=timeout)
        )
    except (NotReached, TimedOut):
        shown(show, fleet.agents(agents))
        raise
    shown(show, reached)


def shown(show: Show, agents: list[Agent]) -> None:
    """A line per agent; in JSON all there is to say."""
    if show.human:
        answers.states(show, agents)
    else:
        show.many(map(fields.record, agents), lambda _: "")
