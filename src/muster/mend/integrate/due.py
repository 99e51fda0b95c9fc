"""From which step on a test has to be green."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from muster.mend.integrate.chain import Step

Owner = tuple[str, str]  # task and agent


def due(steps: Sequence[Step], expected: Iterable[str]) -> dict[str, int]:
    """Steps that must be there before each test has to be green; 0: at the base already.

    What was green at the base has to stay so; what a fix turns green, from that fix on. A test that a test change of the
    same chain has touched may be red until the last fix of the task that touched it.
    """
    green, listed, touched = _positions(steps)
    wanted = dict.fromkeys(expected, 0)
    for test, owners in green.items():
        wanted.setdefault(test, min(owners.values()))
    for test in touched.keys() & wanted.keys():
        # The same task's fix may not list as green what was green before its test was made stricter.
        own = [listed[test][owner] for owner in touched[test]]
        wanted[test] = max(wanted[test], *own, *(min(green[test].values()),) if test in green else ())
    return wanted


def _positions(
    steps: Sequence[Step],
) -> tuple[dict[str, dict[Owner, int]], dict[str, dict[Owner, int]], dict[str, set[Owner]]]:
    """For each test: the last step of each task that turns it green, that lists it, and who changed the test itself."""
    green: dict[str, dict[Owner, int]] = {}
    listed: dict[str, dict[Owner, int]] = {}
    touched: dict[str, set[Owner]] = {}
    for position, step in enumerate(steps, 1):
        for fix in step.patch.fixes:
            owner = (fix.task, fix.agent)
            for test in fix.green:
                green.setdefault(test, {})[owner] = position
            for test in {*fix.tests, *fix.green}:
                listed.setdefault(test, {})[owner] = position
                if step.patch.kind in ("test", "review"):
                    touched.setdefault(test, set()).add(owner)
    return green, listed, touched
