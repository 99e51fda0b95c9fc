"""A run's folder: what was asked, a journal of what happened, and each step's result, written once and whole."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import msgspec

from muster.core import lock, names, paths, proc, wire
from muster.errors import NotFound, Refused, UsageError
from muster.hosts.local import Local
from muster.mend import Request

T = TypeVar("T")
# So that the names of a run's agents, `RUN-SLUG`, are names.
LONGEST = 24
HERE = Local("")


class Folder:
    """`$MUSTER_HOME/runs/RUN`."""

    def __init__(self, home: str, run: str) -> None:
        self.run = run
        self.path = f"{home}/runs/{run}"
        self.listeners: list[Callable[[dict[str, Any]], object]] = []

    def file(self, *parts: str) -> str:
        return "/".join((self.path, *parts))

    # -- what was asked ------------------------------------------------------------------------------------------------

    def begin(self, request: Request) -> None:
        """Take the run's name, once and for all."""
        aside = paths.folder(f"{os.path.dirname(self.path)}/.{self.run}.{os.getpid()}")
        paths.write(f"{aside}/request.json", msgspec.json.encode(request))
        try:
            # Whole at once: a run that is there can be gone on with.
            os.rename(aside, self.path)
        except OSError as error:
            proc.run(HERE, ["rm", "-rf", aside])
            if not os.path.isdir(self.path):
                raise paths.unwritable(self.path, error) from error
            raise Refused(
                f"there is a run `{self.run}` already", hint=f"`muster mend --resume {self.run}` goes on with it"
            ) from None

    def remove(self) -> None:
        """Take it all back."""
        proc.run(HERE, ["rm", "-rf", self.path])

    def begun(self) -> bool:
        """Whether it was not cut short before it began."""
        return os.path.exists(self.file("request.json"))

    def request(self) -> Request:
        found = self.read("request.json", Request)
        if found is None:
            raise NotFound(f"the run `{self.run}` was cut short before it began", hint="`muster mend` begins a new one")
        return found

    # -- steps: a result that is there is not made again ----------------------------------------------------------------

    def step(self, name: str, kind: type[T], make: Callable[[], T]) -> T:
        """What was found earlier, or is found now and kept."""
        found = self.read(f"{name}.json", kind)
        if found is None:
            found = make()
            self.write(f"{name}.json", found)
        return found

    def read(self, name: str, kind: type[T]) -> T | None:
        try:
            with open(self.file(name), "rb") as file:
                return wire.decode(file.read(), kind)
        except FileNotFoundError:
            return None

    def write(self, name: str, value: object) -> None:
        paths.folder(os.path.dirname(self.file(name)))
        paths.write(self.file(name), msgspec.json.encode(value))

    def forget_verdicts(self) -> None:
        """Take back what was found of the tasks, so that it is found anew; what was gathered stays."""
        for entry in os.scandir(self.file("tasks")) if os.path.isdir(self.file("tasks")) else ():
            if os.path.exists(f"{entry.path}/verified.json"):
                os.unlink(f"{entry.path}/verified.json")

    # -- the journal ---------------------------------------------------------------------------------------------------

    def note(self, event: str, **detail: Any) -> None:
        """One more line, for those who follow and those who come later."""
        entry = {"at": round(time.time(), 3), "event": event, **detail}
        paths.append(self.file("journal.jsonl"), msgspec.json.encode(entry) + b"\n")
        for listener in self.listeners:
            listener(entry)

    def journal(self) -> Iterator[dict[str, Any]]:
        """All of it so far; a line that a crash cut is left out."""
        try:
            with open(self.file("journal.jsonl"), "rb") as file:
                lines = file.read().split(b"\n")
        except FileNotFoundError:
            return
        for line in lines:
            try:
                yield msgspec.json.decode(line, type=dict[str, Any])
            except msgspec.DecodeError:
                continue

    @contextmanager
    def ours(self) -> Iterator[None]:
        """Nobody else works on this run meanwhile."""
        with lock.held(self.file("lock"), wait=False) as free:
            if not free:
                raise Refused(f"another muster works on the run `{self.run}`")
            yield


def fresh(home: str, at: float) -> str:
    """A name for a run that begins now: the day, and a number that nobody has."""
    day = time.strftime("%m%d", time.localtime(at))
    taken = set(runs(home))
    return next(name for number in range(1, 10_000) if (name := f"m{day}-{number}") not in taken)


def checked(run: str) -> str:
    """The name itself, if a run can have it."""
    names.check(run)
    if len(run) > LONGEST:
        raise UsageError(
            f"`{run}` is too long for a run: at most {LONGEST} characters, as its agents' names begin with it"
        )
    return run


def runs(home: str) -> list[str]:
    """All there are, oldest first."""
    try:
        found = [entry for entry in os.scandir(f"{home}/runs") if entry.is_dir() and entry.name[0] != "."]
    except FileNotFoundError:
        return []
    return [entry.name for entry in sorted(found, key=lambda entry: (_begun(entry.path), entry.name))]


def _begun(path: str) -> float:
    try:
        return os.path.getmtime(f"{path}/request.json")
    except FileNotFoundError:
        return 0.0


def find(home: str, run: str) -> Folder:
    """The run of that name; `last` is the newest."""
    known = runs(home)
    if run == "last" and known:
        run = known[-1]
    if run not in known:
        hint = names.nearest(run, known, "run", "muster runs") if known else "`muster mend` makes the first one"
        raise NotFound(f"there is no run `{run}`", hint=hint)
    return Folder(home, run)
