"""`muster artifacts`: what has a run of the tests left?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from muster.cli.answers import count
from muster.cli.options import output_format
from muster.core.out import Show
from muster.errors import NotFound, UsageError

if TYPE_CHECKING:
    from muster_testkit.page import Live, Written


@click.command("artifacts")
@click.argument("folder", default=".muster/artifacts")
@click.option("--out", metavar="FILE", help="Write the page to this file instead of FOLDER/index.html.")
@click.option("--run", metavar="NAME", default="", help="Only this run; otherwise all, the newest first.")
@click.option("--tutorial", metavar="FILE", default="", help="Show which blocks of this tutorial the tests cite.")
@click.option("--open", "opening", is_flag=True, help="Show the page in the browser.")
@click.option("--serve", is_flag=True, help="Show it live while tests run, for this machine alone, until ^C.")
@click.option(
    "--port", type=click.IntRange(0, 65535), metavar="N", help="With --serve: on this port; a free one by default."
)
@output_format
def command(
    folder: str, out: str | None, run: str, tutorial: str, opening: bool, serve: bool, port: int | None, show: Show
) -> None:
    """Write a page of what tests that use the test kit have left: one file that needs no network.

    It has the tests by outcome, their transcripts and recordings, and the tutorial's coverage. FOLDER holds runs, or is
    one; it is `.muster/artifacts` by default.

    \b
    Examples:
      muster artifacts
      With the tutorial's coverage, in the browser:
        muster artifacts --tutorial docs/tutorial.sh --open
      Live, while tests run elsewhere:
        muster artifacts --serve
    """
    from muster_testkit.errors import KitError
    from muster_testkit.page import Live, write

    if serve and out:
        raise UsageError("`--serve` writes no file, so it takes no `--out`")
    if port is not None and not serve:
        raise UsageError("`--port` is for `--serve`")
    try:
        if serve:
            _serve(Live(folder, port or 0, run=run, script=tutorial), opening, show)
        else:
            written = write(folder, out or "", run=run, script=tutorial)
            show.one(written._asdict(), lambda: _line(written))
            if opening:
                _open(written.url)
    except KitError as error:
        raise NotFound(str(error), hint=error.hint) from error


def _serve(live: Live, opening: bool, show: Show) -> None:
    show.line({"url": live.url}, f"{live.url} until ^C")
    if opening:
        _open(live.url)
    try:
        live.serve_forever()
    except KeyboardInterrupt:
        pass  # that is how one stops it
    finally:
        live.server_close()


def _open(url: str) -> None:
    import webbrowser

    if not webbrowser.open(url):
        raise NotFound(f"there is no browser to show {url}")


def _line(written: Written) -> str:
    before = len(written.runs) - 1
    return f"{written.path}: {written.said}" + (f", and {count(before, 'run')} before it" if before else "")
