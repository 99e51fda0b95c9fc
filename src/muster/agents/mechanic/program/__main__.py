"""Starts the program from its folder, wherever that is: `python3 FOLDER`."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from types import ModuleType

# What stands before the standard library could shadow it: this folder, and a PYTHONPATH meant for the program under test.
_library = os.path.dirname(os.__file__)
if _library in sys.path:
    del sys.path[: sys.path.index(_library)]
# The folder is the package `program` by its path alone: what lies beside it is in nobody's way.
_package = ModuleType("program")
_package.__path__ = [os.path.dirname(os.path.abspath(__file__))]
sys.modules["program"] = _package

if __name__ == "__main__":
    sys.exit(import_module("program.agent").main(sys.argv[1:]))
