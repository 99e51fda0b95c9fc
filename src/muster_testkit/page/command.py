"""`python -m muster_testkit artifacts`: the page without muster."""

from __future__ import annotations

import argparse
import json
import sys
import webbrowser
from collections.abc import Sequence

from muster_testkit.page.serve import Live
from muster_testkit.page.write import write


def main(argv: Sequence[str] | None = None) -> int:
    """Write the page, or serve it; the exit code."""
    given = _parser().parse_args(argv)
    return _serve(given) if given.serve else _write(given)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("muster_testkit artifacts", description="A page of what tests have left.")
    parser.add_argument("folder", nargs="?", default=".muster/artifacts", help="holds runs, or is one")
    parser.add_argument("--out", default="", metavar="FILE", help="instead of FOLDER/index.html")
    parser.add_argument("--run", default="", metavar="NAME", help="only this run")
    parser.add_argument("--tutorial", default="", metavar="FILE", help="show which of its blocks the tests cite")
    parser.add_argument("--open", action="store_true", help="show the page in the browser")
    parser.add_argument("--serve", action="store_true", help="show it live, for this machine alone, until ^C")
    parser.add_argument("--port", type=int, default=0, metavar="N", help="with --serve; a free one by default")
    parser.add_argument("--format", choices=["human", "json"], default="human", help="how to say what was written")
    return parser


def _write(given: argparse.Namespace) -> int:
    written = write(given.folder, given.out, run=given.run, script=given.tutorial)
    _say(given, f"{written.path}: {written.said}", written._asdict(), written.url)
    return 0


def _serve(given: argparse.Namespace) -> int:
    with Live(given.folder, given.port, run=given.run, script=given.tutorial) as live:
        _say(given, f"{live.url} until ^C", {"url": live.url}, live.url)
        try:
            live.serve_forever()
        except KeyboardInterrupt:
            pass  # that is how one stops it
    return 0


def _say(given: argparse.Namespace, line: str, record: object, url: str) -> None:
    sys.stdout.write((json.dumps(record) if given.format == "json" else line) + "\n")
    sys.stdout.flush()
    if given.open:
        webbrowser.open(url)
