"""`muster doctor`: check this machine and the fleet's health."""

from __future__ import annotations

import os

import click

from muster.cli import answers
from muster.cli.options import output_format
from muster.core import out, paths
from muster.core.out import Show
from muster.fleet.health import Check, examine


@click.command("doctor")
@output_format
def command(show: Show) -> int:
    """Check this machine and the fleet's health.

    Programs and their versions, muster's folder, the registry, the settings, agent types, and what crashes may
    have left. Changes nothing. Exits with 1 if a check fails.

    \b
    Examples:
      muster doctor
      muster doctor --format jsonl | jq -r 'select(.grade != "ok") | .hint'
    """
    checks = list(examine(paths.home(), os.getcwd()))
    show.many(checks, _lines)
    bad = {grade: sum(check.grade == grade for check in checks) for grade in ("fail", "warn")}
    if show.human:
        out.talk(
            f"{bad['fail']} failed, {answers.count(bad['warn'], 'warning')}" if any(bad.values()) else "all is well"
        )
    return 1 if bad["fail"] else 0


def _lines(checks: list[Check]) -> str:
    lines = answers.aligned([(one.grade, one.name, one.found) for one in checks]).split("\n")
    told = []
    for line, one in zip(lines, checks, strict=True):
        told.append(line)
        if one.hint:
            told.append(out.paint(f"      hint: {out.safe(one.hint)}", "cyan"))
    return "\n".join(told)
