"""`muster events`: what happened in the fleet."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import closing

import click

from muster.cli import answers
from muster.cli.options import complete_agent, duration, output_format
from muster.core import out
from muster.core.out import Show
from muster.fleet import Fleet
from muster.fleet.history import Entry, entries

Wanted = Callable[[Entry], bool]


@click.command("events")
@click.option(
    "--agent",
    metavar="NAME",
    shell_complete=complete_agent,
    help="Only those of one agent, also of one that is no more.",
)
@click.option("--where", metavar="EXPR", help="Only those of agents for which this expression holds now.")
@click.option("--since", type=duration, help="Only those that are no older than this.")
@click.option("--limit", type=click.IntRange(min=0), metavar="N", help="Only the last N.")
@click.option("--follow", is_flag=True, help="Go on with what is happening, until interrupted.")
@output_format
def command(
    agent: str | None, where: str | None, since: float | None, limit: int | None, follow: bool, show: Show
) -> None:
    """Print what happened in the fleet, oldest first.

    What was done with agents, how they ended, and what they said of themselves. Never starts or changes one.

    \b
    Examples:
      muster events --limit 20
      muster events --agent fix --since 2h
      A desktop notification whenever an agent ends:
        muster events --follow --limit 0 --format jsonl | jq -r --unbuffered 'select(.event == "ended") | .name' |
          while read -r name; do notify-send "$name has ended"; done
    """
    fleet = Fleet.open()
    wanted = _wanted(fleet, agent, where, since)
    found = [one for one in entries(fleet, fleet.events()) if wanted(one)]
    if agent is not None and not any(agent in (one.name, one.agent) for one in found):
        fleet.registry.get(agent)
    if not follow:
        show.many(answers.last(found, limit), _lines)
        return
    with closing(fleet.events(follow=True)) as stream:
        for one in answers.last(found, limit, lambda: filter(wanted, entries(fleet, stream))):
            show.line(one, _lines([one]))


def _wanted(fleet: Fleet, agent: str | None, where: str | None, since: float | None) -> Wanted:
    """What says whether an event is wanted."""
    tests: list[Wanted] = []
    if agent is not None:
        tests.append(lambda one: agent in (one.name, one.agent))
    if where is not None:
        ids = {one.id for one in fleet.agents(where=where, archived=True)}
        tests.append(lambda one: one.agent in ids)
    if since is not None:
        begin = time.time() - since
        tests.append(lambda one: one.at >= begin)
    return lambda one: all(test(one) for test in tests)


def _lines(found: Iterable[Entry]) -> str:
    return "\n".join(_line(one) for one in found)


def _line(one: Entry) -> str:
    when = out.paint(answers.moment(one.at), "dim")
    event = out.paint(f"{one.event:<10}", answers.COLOURS.get(one.event, ""))
    return f"{when}  {one.name:<16}  {event}  {out.safe(one.detail)}".rstrip()
