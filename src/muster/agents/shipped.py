"""What comes with muster and goes into an agent's folder: programs, which need Python 3.11 and nothing else, and scripts."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

from muster.agents import Order

# One argument may have 128 KiB on Linux, its name and end included.
_LONGEST_ARGUMENT = 100_000


def program(folder: str, order: Order) -> tuple[tuple[str, ...], dict[str, bytes]]:
    """How the command line that runs this folder begins, and what must be in the agent's folder for it."""
    if not order.remote:
        return (sys.executable, folder), {}
    name = os.path.basename(folder)
    return ("python3", f"{order.folder}/{name}"), {f"{name}/{path}": _read(folder, path) for path in _paths(folder)}


def _paths(folder: str) -> Iterator[str]:
    for above, folders, names in os.walk(folder):
        folders[:] = sorted(set(folders) - {"__pycache__"})
        yield from (os.path.relpath(os.path.join(above, name), folder) for name in sorted(names))


def _read(folder: str, path: str) -> bytes:
    with open(os.path.join(folder, path), "rb") as file:
        return file.read()


def scripts(module: str, *names: str) -> dict[str, bytes]:
    """These files, which lie beside that module."""
    return {name: _read(os.path.dirname(module), name) for name in names}


def is_argument(message: str | None) -> bool:
    """Whether there is a message, and it can be an argument."""
    return (
        message is not None
        and message != ""
        and "\0" not in message
        and len(message.encode(errors="surrogateescape")) < _LONGEST_ARGUMENT
    )
