"""The lab: tests run on clean checkouts of commits, and what was seen there, kept, since a commit never changes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from typing import TypeVar

import msgspec

from muster.core import paths
from muster.mend import Attempt, Request
from muster.mend.collect import Collection, collect
from muster.mend.environment import Environment, at
from muster.mend.folder import Folder
from muster.mend.probe import Layout
from muster.mend.project import Project
from muster.mend.trial import trial

T = TypeVar("T")


class Lab:
    """Looks at commits for one run."""

    def __init__(self, folder: Folder, request: Request, project: Project) -> None:
        self.folder, self.request, self.project = folder, request, project
        self.layout = Layout()
        self.cache = f"{os.path.dirname(os.path.dirname(folder.path))}/setup"

    @contextmanager
    def checkout(self, commit: str) -> Iterator[Environment]:
        """A clean checkout of that commit, with what its tests need."""
        below = paths.folder(self.folder.file("work"))
        with at(self.project, commit, below, setup=self.request.setup, cache=self.cache) as ready:
            yield ready

    def collect(self, commit: str, args: Sequence[str]) -> Collection:
        """The tests of that commit."""
        return self._kept(["collect", commit, *args], Collection, lambda: self._collected(commit, args))

    def _collected(self, commit: str, args: Sequence[str]) -> Collection:
        with self.checkout(commit) as ready:
            return collect(ready, args)

    def look(self, commit: str, ids: Iterable[str], times: int = 1) -> list[Attempt]:
        """These tests so many times on a clean checkout of the commit; what was seen before is not run again."""
        wanted = sorted(set(ids))
        if not wanted:
            return []
        return self._kept([commit, times, *wanted], list[Attempt], lambda: self._looked(commit, wanted, times))

    def _looked(self, commit: str, ids: Sequence[str], times: int) -> list[Attempt]:
        with self.checkout(commit) as ready:
            limit, layout = self.request.test_timeout, self.layout
            # Each repetition has another order of hashes.
            return [one for n in range(times) for one in trial(ready, ids, layout=layout, timeout=limit, seed=n)]

    def _kept(self, key: Sequence[object], kind: type[T], make: Callable[[], T]) -> T:
        name = sha256(msgspec.json.encode(key)).hexdigest()[:24]
        return self.folder.step(f"lab/{name}", kind, make)


def red(attempts: Iterable[Attempt]) -> set[str]:
    """Tests that failed at least once."""
    return {one.id for one in attempts if not one.green}


def steady(attempts: Iterable[Attempt]) -> set[str]:
    """Tests that never failed."""
    seen = list(attempts)
    return {one.id for one in seen} - red(seen)


def wavering(attempts: Iterable[Attempt]) -> set[str]:
    """Tests that passed once and failed once."""
    seen = list(attempts)
    return red(seen) & {one.id for one in seen if one.green}
