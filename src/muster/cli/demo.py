"""`muster demo`: the whole of `mend` on a sample project, with nothing but what is installed."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING

import click

from muster.core import out
from muster.core.out import Show
from muster.fleet import Fleet

if TYPE_CHECKING:
    from muster.mend.pipeline import Found


@click.command("demo")
@click.argument("folder", metavar="[FOLDER]", default="")
@click.option("--python", metavar="PATH", default="", help="An interpreter with pytest, if muster's own has none.")
@click.option(
    "--clean", is_flag=True, help="Remove a sample again, its runs and agents too; without FOLDER, all samples."
)
def command(folder: str, python: str, clean: bool) -> int:
    """Make a sample project with faults in it, and run `muster mend` on it.

    The sample is a small program with a tutorial and 28 tests. It has three faults, a test that is wrong, a feature that is
    missing and a flaky test. Most tests get the mechanic, which needs no model, key or network; four get agents that
    follow a script: one of them cheats, and two are in each other's way. The report shows each for what it is.

    It is made in FOLDER, which must be new or empty, or in a new temporary folder, and stays there for you to look around.
    The exit code is 0 when everything came out as it should.

    \b
    Examples:
      muster demo
      muster demo ~/ladle && cd ~/ladle && git log -p muster/mend/demo
      muster report demo
      muster demo --clean
    """
    fleet = Fleet.open()
    if clean:
        return _clean(fleet, folder)
    from muster.cli import mending
    from muster.mend.demo import run

    started = run.begin(fleet, folder, python)
    out.talk(f"a sample project with faults in it: {out.safe(started.request.top)}")
    with mending.progress(fleet, started, Show()):
        found = run.go(started)
    return _told(found)


def _told(found: Found) -> int:
    """Five lines of what happened, the branch, and the report."""
    from muster.cli import mending
    from muster.mend.demo.story import story

    report = found.report
    assert report is not None
    if report.interrupted:
        return mending.told(found, Show(), False)
    lines = story(report)
    for line in lines:
        out.say(f"{line.word:8} " + (out.safe(line.text) or out.paint("is not as it should be", "red")))
    out.say("\n".join(mending.results(found)))
    place = shlex.quote(report.project)
    out.hint(f"`cd {place}` to look around; `{_muster()} demo --clean {place}` removes all of it")
    return 0 if all(line.text for line in lines) else 1


def _muster() -> str:
    """How the fleet that has it is called."""
    home = os.environ.get("MUSTER_HOME")
    return f"MUSTER_HOME={shlex.quote(home)} muster" if home else "muster"


def _clean(fleet: Fleet, folder: str) -> int:
    from muster.mend.demo import sample

    for top in [os.path.abspath(folder)] if folder else sample.all_of(fleet):
        for gone in sample.clean(fleet, top):
            out.say(f"removed {out.safe(gone)}")
    return 0
