"""`python -m muster_testkit model SCRIPT`: a scripted model for programs of another process."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from collections.abc import Sequence

from muster_testkit.errors import KitError
from muster_testkit.model.lane import Script


def main(words: Sequence[str]) -> int:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(prog="python -m muster_testkit model", description=__doc__)
    parser.add_argument("script", nargs="?", help="a JSON file; without one every answer is `Done.`")
    parser.add_argument("--port", type=int, default=0, help="default: any that is free")
    parser.add_argument("--port-file", metavar="FILE", help="the port is written there once it listens")
    parser.add_argument("--log", metavar="FILE", help="each request is added to it as a line of JSON")
    try:
        given = parser.parse_args(list(words))
    except SystemExit as left:
        return int(left.code or 0)
    from muster_testkit.model import serve

    ends = [signal.SIGINT, signal.SIGTERM]
    signal.pthread_sigmask(signal.SIG_BLOCK, ends)  # in every thread, so that they wait for the one that asks
    try:
        with serve(_read(given.script) if given.script else (), port=given.port, log=given.log) as model:
            if given.port_file:
                _write(given.port_file, model.url.rpartition(":")[2])
            sys.stdout.write(f"{model.url}\n")
            sys.stdout.flush()
            signal.sigwait(ends)
    except OSError as error:
        raise KitError(f"the model could not be started: {error}") from error
    return 0


def _read(path: str) -> Script:
    try:
        with open(path, "rb") as file:
            script = json.load(file)
    except (OSError, ValueError) as error:
        raise KitError(f"`{path}` could not be read: {error}", hint="it is a JSON file; docs/testkit.md") from error
    if not isinstance(script, (list, dict)):
        raise KitError(f"`{path}` holds neither a list of steps nor a table")
    whole: Script = script
    return whole


def _write(path: str, text: str) -> None:
    # Who waits for the file finds it whole.
    with open(f"{path}.new", "w") as file:
        file.write(text)
    os.replace(f"{path}.new", path)
