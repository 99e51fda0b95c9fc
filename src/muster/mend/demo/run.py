"""One run of the pipeline on the sample, through the doors that everybody uses."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from importlib.util import find_spec

from muster.errors import MusterError, NotFound
from muster.fleet import Fleet
from muster.mend import folder as folders
from muster.mend import pipeline
from muster.mend import run as runs
from muster.mend.demo import TYPES, sample
from muster.mend.pipeline import Found
from muster.mend.project import find as find_project
from muster.mend.run import Run


def begin(fleet: Fleet, folder: str, python: str) -> Run:
    """The sample in that folder, or in a temporary one, and a run of it that has only to go; or nothing at all."""
    top = os.path.realpath(folder) if folder else os.path.realpath(tempfile.mkdtemp(prefix="muster-demo-"))
    there = os.path.isdir(top) and bool(folder)
    name = _name(fleet)
    sample.check(top)
    try:
        sample.make(top, name)
        interpreter = _interpreter(top, python)
        wanted = {"types": TYPES, "type": "mechanic", "python": interpreter, "jobs": None}
        return runs.begin(fleet, top, (), name, wanted)
    except MusterError:
        _taken_back(top, there)
        raise


def go(run: Run) -> Found:
    """All of it."""
    return pipeline.go(run)


def _name(fleet: Fleet) -> str:
    taken = folders.runs(fleet.home)
    return next(name for n in range(1, 10_000) if (name := f"demo-{n}" if n > 1 else "demo") not in taken)


def _interpreter(top: str, python: str) -> str:
    """muster's own if it has pytest, else what `muster mend` would take here."""
    if not python and find_spec("pytest"):
        return sys.executable
    try:
        return find_project(top, python).python
    except NotFound as error:
        hint = f"`{sys.executable} -m pip install pytest`, or name an interpreter that has it with `--python PATH`"
        raise NotFound("the sample's tests need pytest, and no Python here has it", hint=hint) from error


def _taken_back(top: str, there: bool) -> None:
    shutil.rmtree(top, ignore_errors=True)
    if there:
        os.mkdir(top)
