"""`muster message`: say something to agents, with a receipt."""

from __future__ import annotations

import os
import sys

import click

from muster.cli import answers
from muster.cli.options import agents_argument, chosen, edited, output_format, where_options
from muster.core import out
from muster.core.out import Show
from muster.errors import NotDelivered, UsageError

_SAYS = "say it with `-m TEXT`, `--file FILE`, `--edit`, or on standard input"


@click.command("message")
@agents_argument(required=False)
@click.option("-m", "--message", "text", metavar="TEXT", help="What to say.")
@click.option("--file", metavar="FILE", help="Read what to say from a file; `-` is standard input.")
@click.option("--edit", is_flag=True, help="Write what to say in your editor.")
@click.option("--start", is_flag=True, help="First start those that don't run.")
@where_options
@output_format
def command(
    names: tuple[str, ...],
    text: str | None,
    file: str | None,
    edit: bool,
    start: bool,
    where: str | None,
    everyone: bool,
    show: Show,
) -> int:
    """Say something to agents, with a receipt.

    Prints what became of it, a line per agent: `delivered` (the agent's own record has it; what its program made different
    is said), `typed` (its type keeps no record), `queued` (a stopped agent gets it when it is started), `refused` (and
    why) or `failed`.
    A NAME of `-` reads names from standard input. Without `-m`, `--file` or `--edit` the text is read from there.

    Exits with 0 if every message is delivered, typed or queued, otherwise with 6.

    \b
    Examples:
      muster message fix -m 'Also cover the empty list.'
      muster message fix --edit
      git diff | muster message review
      To all that wait for somebody:
        muster message --where 'state == "waiting"' -m 'Commit what you have.'
      muster list --ids | muster message - --file instructions.md
      Start it first if it is stopped:
        muster message fix --start -m 'Go on.'
    """
    from muster.fleet import Fleet

    fleet = Fleet.open()
    saying = _text(text, file, edit, "-" in names)
    if not saying.strip():
        raise UsageError("there is nothing to say", hint=_SAYS)
    agents = chosen(fleet, names, where, everyone)
    width = max((out.width(agent.name) for agent in agents), default=0)
    receipts = []
    for receipt in fleet.message(agents, saying, start=start):
        receipts.append(receipt)
        if show.form != "json":
            name = receipt.name + " " * (width - out.width(receipt.name))
            show.line(receipt, answers.aligned([(name, receipt.status, receipt.reason)]))
    if show.form == "json":
        show.many(receipts, lambda _: "")
    arrived = all(one.status in ("delivered", "typed", "queued") for one in receipts)
    return 0 if arrived else NotDelivered.exit_code


def _text(text: str | None, file: str | None, edit: bool, input_has_names: bool) -> str:
    """What to say, from the one place that was given."""
    if sum((text is not None, file is not None, edit)) > 1:
        raise UsageError("`-m`, `--file` and `--edit` each say what to say", hint="give one of them")
    if text is not None:
        return text
    if edit:
        return edited()
    if file is not None and file != "-":
        with open(file, "rb") as stream:
            return _decoded(stream.read(), file)
    if input_has_names:
        raise UsageError("standard input gives the names, so it can't give the text, too", hint=_SAYS)
    if file is None and sys.stdin.isatty():
        raise UsageError("what should be said?", hint=_SAYS)
    return _decoded(sys.stdin.buffer.read(), "standard input")


def _decoded(data: bytes, source: str) -> str:
    try:
        return data.decode().removesuffix("\n")
    except UnicodeDecodeError as error:
        raise UsageError(f"`{os.path.basename(source)}` is not UTF-8 text") from error
