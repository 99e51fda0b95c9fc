"""`python -m muster_testkit`: the kit's commands where muster is not installed."""

from __future__ import annotations

import sys
from collections.abc import Sequence

USAGE = """\
usage: python -m muster_testkit tutorial blocks FILE [--format human|json|jsonl]
       python -m muster_testkit tutorial check FILE TESTS... [--format human|json|jsonl]
       python -m muster_testkit record [--into DIR] -- COMMAND...
       python -m muster_testkit model [SCRIPT] [--port N] [--port-file FILE] [--log FILE]
"""


def main(words: Sequence[str]) -> int:
    """The exit code of one command line: 1 says that tutorial and tests disagree, 2 that it could not be asked."""
    from muster_testkit.errors import KitError

    try:
        if words[:1] == ["record"]:
            from muster_testkit.record import main as record

            return record(words[1:])
        if words[:1] == ["model"]:
            from muster_testkit.model.command import main as model

            return model(words[1:])
        if words[:1] == ["tutorial"]:
            from muster_testkit.tutorial.face import main as tutorial

            return tutorial(words[1:])
    except KitError as error:
        sys.stderr.write(f"error: {error}\n" + (f"hint: {error.hint}\n" if error.hint else ""))
        return 2
    if words and words[0] in ("-h", "--help"):
        sys.stdout.write(USAGE)
        return 0
    sys.stderr.write(USAGE)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
