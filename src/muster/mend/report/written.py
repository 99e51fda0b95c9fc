"""The report's files: the page, the JSON, and the text of a pull request."""

from __future__ import annotations

from muster.core import paths, wire
from muster.mend.folder import Folder
from muster.mend.report import Report, text
from muster.mend.report.page import page


def all_of(folder: Folder, report: Report) -> tuple[str, str]:
    """Write them; where the page and the text are."""
    recordings = {}
    for name in (name for entry in report.entries for name in entry.recordings):
        with open(folder.file(name), "rb") as file:
            recordings[name] = file.read()
    folder.write("report.json", report)
    paths.write(folder.file("report.html"), page(report, recordings).encode(errors="replace"))
    paths.write(folder.file("PR.md"), text.pull_request(report).encode(errors="replace"))
    folder.note("reported", page=folder.file("report.html"))
    return folder.file("report.html"), folder.file("PR.md")


def read(folder: Folder) -> Report | None:
    """The report of a run, if it has come to one."""
    try:
        with open(folder.file("report.json"), "rb") as file:
            return wire.decode(file.read(), Report)
    except FileNotFoundError:
        return None
