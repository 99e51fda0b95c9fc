"""`muster skill`: teach agent programs to drive muster, by files that they read."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from muster.cli.options import Commands, output_format
from muster.core import out
from muster.core.out import Show
from muster.errors import UsageError

if TYPE_CHECKING:
    from muster.skills import Place


@click.group("skill", cls=Commands)
def command() -> None:
    """Teach agent programs to use muster.

    A skill is a file that an agent program reads when a task asks for it, or when you call it by name (`/muster-fleet` in Claude
    Code and opencode, `$muster-fleet` in Codex, `/skill:muster-fleet` in pi). `muster-fleet` says how to drive a fleet,
    `muster-tutorial` how to keep a tutorial and its tests in step.

    \b
    Examples:
      muster skill install
      muster skill list
    """


@command.command("install")
@click.argument("skills", nargs=-1, metavar="[SKILL]...")
@click.option("--for", "programs", metavar="PROGRAM", multiple=True, help="Only for this agent program; repeatable.")
@click.option("--user", is_flag=True, help="For all your projects, in your home folder.")
@click.option("--project", is_flag=True, help="For this project, as it is without `--user`.")
@click.option("--force", is_flag=True, help="Overwrite files that were changed.")
@output_format
def install(
    skills: tuple[str, ...], programs: tuple[str, ...], user: bool, project: bool, force: bool, show: Show
) -> None:
    """Write skills where agent programs look for them.

    All skills for all programs that muster knows, unless you say which. What is there already is left as it is, an older
    version of muster's own is brought up to date, and a file that you have changed is not overwritten unless you say so.

    \b
    Examples:
      muster skill install
      For all your projects, but only for Codex and Claude Code:
        muster skill install --user --for codex --for claude
      muster skill install muster-tutorial
    """
    from muster.skills import install as skill

    if user and project:
        raise UsageError("is it `--user` or `--project`?")
    those = skill.places("user" if user else "project", programs, skills)
    before = {place.path: place.found for place in those}
    done = list(skill.install(those, force=force))
    show.many(done, lambda places: "\n".join(out.safe(one.path) for one in places))
    fresh = sum(before[place.path] != "installed" for place in done)
    out.talk(
        f"{fresh} written, {len(done) - fresh} there already; agents that run now read them when they are started anew"
    )


@command.command("list")
@output_format
def listing(show: Show) -> None:
    """Show which skills are installed where, and for whom.

    `outdated` was written by another version of muster, `changed` by somebody else.

    \b
    Examples:
      muster skill list
      muster skill list --format jsonl | jq -r 'select(.found == "outdated") | .path'
    """
    from muster.skills import install as skill

    show.many([*skill.places("project"), *skill.places("user")], _table)


def _table(places: Sequence[Place]) -> str:
    home = os.path.expanduser("~")
    rows = []
    for one in places:
        path = f"~{one.path.removeprefix(home)}" if one.scope == "user" else os.path.relpath(one.path)
        rows.append([one.skill, one.scope, one.found, ", ".join(one.programs), path])
    return out.table(["skill", "scope", "state", "read by", "path"], rows)
