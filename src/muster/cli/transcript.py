"""`muster transcript`: an agent's conversation, in one form for all types."""

from __future__ import annotations

from contextlib import closing
from typing import get_args

import click

from muster.agents import Role
from muster.cli import answers
from muster.cli.options import agent_argument, output_format
from muster.core.out import Show
from muster.errors import UsageError
from muster.fleet import Fleet

ROLES: tuple[Role, ...] = get_args(Role)


@click.command("transcript")
@agent_argument()
@click.option("--role", "roles", type=click.Choice(ROLES), multiple=True, help="Only what they said; may be repeated.")
@click.option("--head", type=click.IntRange(min=0), metavar="N", help="Only the first N.")
@click.option("--tail", type=click.IntRange(min=0), metavar="N", help="Only the last N.")
@click.option("--follow", is_flag=True, help="Go on with what is being said, until interrupted.")
@output_format
def command(name: str, roles: tuple[Role, ...], head: int | None, tail: int | None, follow: bool, show: Show) -> None:
    """Print an agent's conversation, in one form for all types.

    An agent of a type that keeps none has what was said to it, and what its terminal showed. Never starts or
    changes an agent.

    \b
    Examples:
      muster transcript fix
      Its last word:
        muster transcript fix --role assistant --tail 1
      muster transcript fix --follow --format jsonl | jq .text
    """
    if follow and head is not None:
        raise UsageError("`--head` ends where `--follow` begins", hint="give one of them")
    fleet = Fleet.open()
    wanted = roles or ROLES
    found = [event for event in fleet.transcript(name) if event.role in wanted]
    if follow:
        with closing(fleet.listen(name)) as stream:
            following = (event for event in stream if event.role in wanted)
            for event in answers.last(found, tail, lambda: following):
                show.line(event, answers.said(event))
        return
    if head is not None:
        found = found[:head]
    show.many(answers.last(found, tail), lambda events: "\n".join(map(answers.said, events)).rstrip("\n"))
