"""The whole of it: read the task, see the failure, suspect, try, keep the best, commit, say so."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType

from .attempt import Attempt
from .options import BadOption, Options
from .runs import NoPytest
from .talk import Talk
from .task import NoTask, Outcome, read

USAGE = """\
usage: program [--limit SECONDS] [--jobs N] [--task FILE] [--] [TASK]

Repairs a small fault of the program in the current folder, so that the tests that TASK names pass.
"""


def main(argv: Sequence[str]) -> int:
    try:
        options = Options.parse(argv)
    except BadOption as error:
        sys.stderr.write(f"error: {error}\n\n{USAGE}")
        return 2
    if options.help:
        sys.stdout.write(USAGE)
        return 0
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _leave)
    talk = Talk(os.environ.get("MUSTER_DIR", ""))
    outcome = _outcome(options, talk)
    talk.say(outcome.summary.partition("\n")[0])
    if path := os.environ.get("MUSTER_OUTCOME"):
        outcome.write(path)
    return 0


def _leave(number: int, _: FrameType | None) -> None:
    # What was laid aside for the search is cleared up on the way out.
    raise SystemExit(128 + number)


def _outcome(options: Options, talk: Talk) -> Outcome:
    try:
        text = options.text()
        talk.heard(text)
        task = read(text)
        return Attempt(os.getcwd(), task, options.limit, options.jobs, talk).run()
    except (NoTask, NoPytest, OSError) as error:
        return Outcome("failed", str(error).strip())
