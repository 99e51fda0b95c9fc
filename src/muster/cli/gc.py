"""`muster gc`: expire the attic and clear what crashes left."""

from __future__ import annotations

import click

from muster.cli.options import output_format
from muster.core import out
from muster.core.out import Show
from muster.fleet import Fleet


@click.command("gc")
@click.option("--days", type=click.FloatRange(min=0), help="Expire what is older than this, instead of `attic.days`.")
@output_format
def command(days: float | None, show: Show) -> None:
    """Expire the attic and clear what crashes left.

    What was destroyed longer ago than the setting `attic.days` is removed for good. Half-made agents are undone,
    half-destroyed ones destroyed. A workspace that belongs to nobody is named and left alone.

    \b
    Examples:
      muster gc
      Empty the attic:
        muster gc --days 0
    """
    done = Fleet.open().gc(days=days)
    show.many(done, lambda lines: "\n".join(map(out.safe, lines)))
    if show.human and not done:
        out.talk("there was nothing to do")
