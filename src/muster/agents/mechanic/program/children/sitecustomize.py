"""Traces the programs that a test starts. Only in tracing runs is this folder on their PYTHONPATH."""

from __future__ import annotations

import atexit
import importlib.util
import json
import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def _trace(wish: str) -> None:
    with open(wish) as file:
        wanted = json.load(file)
    path = os.path.join(os.path.dirname(_HERE), "inside", "muster_mechanic_lines.py")
    spec = importlib.util.spec_from_file_location("muster_mechanic_lines", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    lines = module.Lines(wanted["root"], wanted["files"], wanted["elsewhere"])
    lines.start()

    def keep() -> None:
        aside = os.path.join(os.path.dirname(wish), "child-%d-%s" % (os.getpid(), os.urandom(4).hex()))  # noqa: UP031
        with open(aside + ".new", "w") as file:
            json.dump(lines.take(), file)
        os.rename(aside + ".new", aside + ".json")

    atexit.register(keep)


if "MUSTER_MECHANIC_CHILDREN" in os.environ:
    _trace(os.environ["MUSTER_MECHANIC_CHILDREN"])

# The environment's own one, which this one stands before, has its turn as well.
sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != _HERE]
sys.modules.pop("sitecustomize", None)
try:
    import sitecustomize  # type: ignore[import-not-found]  # noqa: F401
except ImportError:
    pass  # it has none
