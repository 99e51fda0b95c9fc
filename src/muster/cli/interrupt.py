"""`muster interrupt`: end what agents do now."""

from __future__ import annotations

import click

from muster.cli import answers
from muster.cli.options import agents_argument, chosen, output_format, where_options
from muster.core.out import Show
from muster.errors import MusterError
from muster.fleet import Fleet


@click.command("interrupt")
@agents_argument(required=False)
@where_options
@output_format
def command(names: tuple[str, ...], where: str | None, everyone: bool, show: Show) -> int:
    """End what agents do now; they wait for a message then.

    Presses the key that their program knows for it, and prints what became of it: `interrupted` (the agent's own evidence
    says so), `typed` (its type tells nothing), `idle` (there was nothing to end) or `failed`, which exits with 1. A NAME
    of `-` reads names from standard input.

    \b
    Examples:
      muster interrupt fix
      muster interrupt --all
      muster interrupt fix && muster message fix -m 'Not like that: ...'
    """
    fleet = Fleet.open()
    found = list(fleet.interrupt(chosen(fleet, names, where, everyone)))
    show.many(found, lambda all: answers.aligned([(one.name, one.status, one.reason) for one in all]))
    return MusterError.exit_code if any(one.status == "failed" for one in found) else 0
