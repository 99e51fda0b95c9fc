"""`muster report`: open a run's report, or print what is in it."""

from __future__ import annotations

import os
import shutil
import sys

import click

from muster.core import out, proc
from muster.core.out import Show
from muster.errors import NotFound
from muster.fleet import Fleet


@click.command("report")
@click.argument("run", metavar="[RUN]", default="last")
@click.option("--open/--no-open", "opens", default=None, help="Show the page in a browser, as it does at a terminal.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["human", "json", "markdown"]),
    default="human",
    help="`human` the page's path, `json` all that is known, `markdown` the text of a pull request.",
)
def command(run: str, opens: bool | None, form: str) -> None:
    """Open the report of a run of `mend`; without a name that of the newest one.

    \b
    Examples:
      muster report
      muster report m1119-1 --format markdown
      muster report last --format json | jq '.entries[] | select(.verdict == "refused")'
    """
    from muster.mend import folder
    from muster.mend.report import written

    home = folder.find(Fleet.open().home, run)
    report = written.read(home)
    if report is None:
        raise NotFound(
            f"the run `{home.run}` has no report yet", hint=f"`muster mend --resume {home.run}` goes on with it"
        )
    if form == "json":
        Show("json").one(report, "")
    elif form == "markdown":
        with open(home.file("PR.md"), "rb") as file:
            out.raw(file.read())
    else:
        out.say(home.file("report.html"))
        if opens or (opens is None and sys.stdout.isatty()):
            _open(home.file("report.html"))


def _open(path: str) -> None:
    program = "open" if sys.platform == "darwin" else "xdg-open"
    # Over ssh, or without a screen, a browser would open where nobody sits.
    if not shutil.which(program) or not (
        sys.platform == "darwin" or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    ):
        out.hint("open it in a browser")
        return
    from muster.hosts.local import Local

    proc.start(Local(""), [program, path], stdin=proc.DEVNULL, stdout=proc.DEVNULL, stderr=proc.DEVNULL)
