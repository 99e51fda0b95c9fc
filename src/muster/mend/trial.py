"""Running tests: each gets its answer, whatever the others do."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence

from muster.mend import Attempt, Ending, probe
from muster.mend.collect import broken
from muster.mend.environment import Environment
from muster.mend.probe import Layout

# A command line is limited; beyond this pytest looks for the files itself.
_ARGUMENTS_MAX = 100_000
_PLAIN = Layout()


def trial(
    environment: Environment,
    ids: Sequence[str],
    *,
    layout: Layout = _PLAIN,
    timeout: float = 60.0,
    seed: int = 0,
    args: Sequence[str] = (),
) -> list[Attempt]:
    """Run these tests, in this order, in one process; after a crash or a test that hangs, the rest in another one.

    `timeout` is that of each test. There is one answer for each id, also for one that pytest doesn't know.
    """
    wanted = list(dict.fromkeys(ids))
    known: dict[str, Attempt] = {}
    while left := [one for one in wanted if one not in known]:
        found = _round(environment, layout, left, timeout, seed, args)
        if not found:
            found = {left[0]: Attempt(left[0], "error", message="pytest never came to run it")}
        known |= found
    return [known[one] for one in wanted]


def _round(
    environment: Environment, layout: Layout, ids: Sequence[str], timeout: float, seed: int, args: Sequence[str]
) -> dict[str, Attempt]:
    """What one process had to say."""
    known = {one: one for one in ids if os.path.exists(_file(environment, layout, one))}
    absent = {one: Attempt(one, "missing", text="there is no such file") for one in ids if one not in known}
    if not known:
        return absent
    words = [*args, *_paths(environment, layout, list(known))]
    ended = probe.run(environment, layout, words, only=list(known), limit=timeout, seed=seed)
    for event in ended.events:
        if isinstance(event, probe.Origins):
            environment.verify(event.origins)
    collected = next((one for one in ended.events if isinstance(one, probe.Collected)), None)
    failed = _uncollected(ended, list(known))
    if collected is None and not failed:
        return absent | _never_collected(environment, layout, ended, list(known), timeout, seed, args)
    missing = {
        one: Attempt(one, "missing", text=ended.said)
        for one in (known if collected else ())
        if collected and one not in collected.ids and one not in failed
    }
    return absent | missing | failed | _answers(environment, ended, float(timeout))


def _file(environment: Environment, layout: Layout, one: str) -> str:
    return os.path.join(environment.top, layout.file(one))


def _paths(environment: Environment, layout: Layout, ids: Sequence[str]) -> list[str]:
    """What pytest must look at to find them all; muster's plugin leaves out what else is there."""
    if layout.paths:
        return []  # they are among the arguments already
    files = dict.fromkeys(_file(environment, layout, one) for one in ids)
    # In an argument, `[` begins a parameter.
    words = list(dict.fromkeys(os.path.dirname(one) if "[" in one else one for one in files))
    clear = sum(map(len, words)) < _ARGUMENTS_MAX and not any("[" in one for one in words)
    return words if clear else []


def _answers(environment: Environment, ended: probe.Ended, timeout: float) -> dict[str, Attempt]:
    found: dict[str, Attempt] = {}
    begun = ""
    for event in ended.events:
        if isinstance(event, probe.Begin):
            begun = event.id
        elif isinstance(event, probe.End):
            begun = ""
            # Two tests may share an id; what went wrong counts.
            if event.id not in found or found[event.id].green:
                found[event.id] = _attempt(event)
    if begun:
        found[begun] = _cut_short(environment, ended, begun, timeout)
    return found


def _attempt(event: probe.End) -> Attempt:
    return Attempt(
        event.id, event.ending, event.seconds, event.exception, event.message, probe.frames(event.frames), event.text
    )


def _cut_short(environment: Environment, ended: probe.Ended, one: str, timeout: float) -> Attempt:
    ending: Ending = "timed-out" if ended.timed_out else "crashed"
    message = f"it had not ended after {timeout:g} s" if ended.timed_out else _how(ended)
    seconds = timeout if ended.timed_out else 0.0
    return Attempt(one, ending, seconds, "", message, probe.fault(environment, ended.said), ended.said)


def _how(ended: probe.Ended) -> str:
    if any(isinstance(one, probe.Done) for one in ended.events):
        return "it ended the whole run"
    if ended.code < 0:
        return f"its process was ended by {signal.Signals(-ended.code).name}"
    return f"its process ended with {ended.code}"


def _uncollected(ended: probe.Ended, ids: Sequence[str]) -> dict[str, Attempt]:
    """The tests of files, classes or folders that could not be collected."""
    errors = [one for one in ended.events if isinstance(one, probe.Error)]
    found = {}
    for error in errors:
        for one in ids:
            if one == error.id or one.startswith((f"{error.id}::", f"{error.id}/")) or error.id in ("", "."):
                found[one] = Attempt(
                    one, "error", 0.0, error.exception, error.message, probe.frames(error.frames), error.text
                )
    return found


def _never_collected(
    environment: Environment,
    layout: Layout,
    ended: probe.Ended,
    ids: Sequence[str],
    timeout: float,
    seed: int,
    args: Sequence[str],
) -> dict[str, Attempt]:
    """pytest could not start, or a file ended it when it was imported: each file is asked alone."""
    if not ended.timed_out and ended.code == 4:
        conftest = broken(environment, ended)
        above = os.path.join(environment.top, os.path.dirname(conftest.file))
        hit = [one for one in ids if _file(environment, layout, one).startswith(f"{os.path.normpath(above)}{os.sep}")]
        return {
            one: Attempt(one, "error", message=f"`{conftest.file}` can't be loaded", text=ended.said) for one in hit
        }
    files = dict.fromkeys(one.partition("::")[0] for one in ids)
    if len(files) == 1:
        ending: Ending = "timed-out" if ended.timed_out else "crashed"
        message = "its file had not been collected in time" if ended.timed_out else _how(ended)
        return {one: Attempt(one, ending, message=message, text=ended.said) for one in ids}
    found: dict[str, Attempt] = {}
    for file in files:
        mine = [one for one in ids if one.partition("::")[0] == file]
        found |= _round(environment, layout, mine, timeout, seed, args)
    return found
