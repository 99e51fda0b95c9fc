"""`muster version`: what exactly is running here?"""

from __future__ import annotations

import os
import sys

import click
from msgspec import Struct

from muster import __version__
from muster.cli.options import output_format
from muster.core import paths, proc
from muster.core.out import Show
from muster.errors import Unreachable
from muster.hosts.local import Local


class Versions(Struct, frozen=True):
    """Of all that an answer may depend on; a program that isn't there has none."""

    muster: str
    python: str
    tmux: str | None
    git: str | None
    platform: str
    home: str


@click.command("version")
@output_format
def command(show: Show) -> None:
    """Print the versions of muster and of the programs it stands on.

    `muster --version` prints only muster's own, at once.

    \b
    Examples:
      muster version
      muster version --format json
    """
    here = os.uname()
    versions = Versions(
        muster=__version__,
        python=sys.version.partition(" ")[0],
        tmux=_said("tmux", "-V"),
        git=_said("git", "--version"),
        platform=f"{here.sysname} {here.release} {here.machine}",
        home=paths.home(),
    )
    show.one(versions, lambda: _lines(versions))


def _said(program: str, option: str) -> str | None:
    """The version at the end of a line like `git version 2.39.5` or `tmux 3.3a`."""
    try:
        words = proc.run(Local(paths.home()), [program, option]).text.removeprefix(program).removeprefix(" version")
    except Unreachable:
        return None
    return words.strip()


def _lines(versions: Versions) -> str:
    values = {name: getattr(versions, name) or "not installed" for name in versions.__struct_fields__}
    return "\n".join(f"{name:<10}{value}" for name, value in values.items())
