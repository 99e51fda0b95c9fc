"""Starts the program from its folder, wherever that is: `python3 FOLDER`."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from types import ModuleType


def _main() -> int:
    # What stands before the standard library could shadow it: this folder, and a PYTHONPATH for what the agent runs.
    library = os.path.dirname(os.__file__)
    if library in sys.path:
        del sys.path[: sys.path.index(library)]
    # The folder is the package `program` by its own path, so nothing that lies beside it can be imported.
    package = ModuleType("program")
    package.__path__ = [os.path.dirname(os.path.abspath(__file__))]
    sys.modules["program"] = package
    code: int = import_module("program.agent").main(sys.argv[1:])
    return code


if __name__ == "__main__":
    sys.exit(_main())
