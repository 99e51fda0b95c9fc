"""Files of tests that are no code: data, snapshots, links in their place."""

from __future__ import annotations

import re
from collections.abc import Iterator

from muster.mend import Finding
from muster.mend.gate.diff import Diff
from muster.mend.gate.rules import found

_SNAPSHOT = re.compile(
    r"(^|[/_.-])(golden|snapshots?|__snapshots__|expected|approved|cassettes?)([/_.-]|$)|\.ambr$", re.I
)


def look(diff: Diff) -> Iterator[Finding]:
    """What is to be said of test data."""
    for path in sorted(diff.links):
        if diff.layout.of(path) in ("test", "impl", "settings") and path in {*diff.old.files, *diff.new.files}:
            yield found("linked-file", path, 1, f"`{path}` points elsewhere now")
    kept = {data for path, data in diff.new.files.items() if path not in diff.old.files}
    for path, old in diff.old.files.items():
        if diff.layout.of(path) == "test" and not path.endswith(".py") and path not in diff.links:
            yield from _data(path, old, diff.new.files.get(path), kept)


def _data(path: str, old: bytes, new: bytes | None, kept: set[bytes]) -> Iterator[Finding]:
    if not old.strip() or (new is None and old in kept):
        return  # it was empty, or it was moved
    if new is None or not new.strip():
        yield found("emptied-data", path, 1, f"`{path}` {'is gone' if new is None else 'is empty'}")
    elif old.split() == new.split():
        return
    elif _SNAPSHOT.search(path):
        yield found("rewritten-snapshot", path, _line(old, new), f"what `{path}` expects was rewritten")
    elif len(new) * 4 < len(old):
        yield found("emptied-data", path, 1, f"of {len(old)} bytes of `{path}`, {len(new)} are left")
    else:
        yield found("changed-data", path, _line(old, new), f"`{path}` was changed")


def _line(old: bytes, new: bytes) -> int:
    """The first line that differs."""
    pairs = zip(old.splitlines(), new.splitlines(), strict=False)
    return next((count for count, (was, now) in enumerate(pairs, 1) if was != now), 1)
