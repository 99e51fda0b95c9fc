"""`muster runs`: the runs of `mend`, and how far each has come."""

from __future__ import annotations

from typing import Any

import click

from muster.cli.options import output_format
from muster.core import out
from muster.core.out import Show
from muster.fleet import Fleet
from muster.fleet.registry import now


@click.command("runs")
@output_format
def command(show: Show) -> None:
    """Show the runs of `mend`, oldest first.

    \b
    Examples:
      muster runs
      muster runs --format json | jq '.[-1].report'
    """
    from muster.mend import folder

    home = Fleet.open().home
    show.many([_record(folder.Folder(home, run)) for run in folder.runs(home)], _table)


def _record(home: Any) -> dict[str, Any]:
    from muster.errors import NotFound
    from muster.mend.report import written

    try:
        request = home.request()
    except NotFound:
        return {
            "run": home.run,
            "at": None,
            "project": "",
            "step": "cut short",
            "counts": {},
            "branch": "",
            "report": "",
        }
    report = written.read(home)
    step = next((entry["name"] for entry in reversed([*home.journal()]) if entry["event"] == "step"), "begun")
    done = report is not None and not report.interrupted
    return {
        "run": home.run,
        "at": request.at,
        "project": request.top,
        "step": "done" if done else "interrupted" if report else step,
        "counts": report.counts if report else {},
        "branch": report.branch if report else "",
        "report": home.file("report.html") if report else "",
    }


def _table(rows: list[dict[str, Any]]) -> str:
    cells = [
        (
            row["run"],
            out.age(now() - row["at"]) if row["at"] else "",
            row["step"],
            row["project"].rpartition("/")[2],
            row["branch"],
            ", ".join(f"{number} {word}" for word, number in row["counts"].items()),
        )
        for row in rows
    ]
    return out.table(("run", "age", "step", "project", "branch", "tasks"), cells)
