"""The gate over commits: the changed files are read in two processes, however many there are."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from msgspec import Struct

from muster.core import git
from muster.core.proc import Prefix
from muster.errors import CommandFailed

_ABSENT = "000000"
_LINKS = ("120000", "160000")


class Changed(Struct, frozen=True):
    """One path that differs between two commits."""

    path: str
    modes: tuple[str, str]  # git's file modes, before and after; zeros where it is not there
    blobs: tuple[str, str]


class Read(Struct, frozen=True):
    """The changed files of two commits."""

    before: dict[str, bytes | None]
    after: dict[str, bytes | None]
    beside: dict[str, bytes]
    links: frozenset[str]


def changed(place: Prefix, repo: str, base: str, tip: str) -> list[Changed]:
    """What differs between two commits, a renamed file as one that is gone and one that came."""
    words = ("diff-tree", "-r", "--raw", "-z", "--no-abbrev", "--no-renames", base, tip, "--")
    fields = git.run(place, repo, *words).out.decode(errors="surrogateescape").split("\0")
    found = []
    for entry, path in zip(fields[::2], fields[1::2], strict=False):
        old_mode, new_mode, old_blob, new_blob, _ = entry.removeprefix(":").split()
        found.append(Changed(path, (old_mode, new_mode), (old_blob, new_blob)))
    return found


def read(place: Prefix, repo: str, base: str, tip: str, beside: Collection[str] = ()) -> Read:
    """The changed files between two commits, and unchanged ones as they are at the base."""
    files = changed(place, repo, base, tip)
    names = {one.path for one in files}
    wanted = [
        (side, one.path, one.blobs[side])
        for one in files
        for side in (0, 1)
        if one.modes[side] not in (_ABSENT, "160000")
    ]
    others = [path for path in beside if path not in names and "\n" not in path]
    bodies = [*blobs(place, repo, [*(blob for _, _, blob in wanted), *(f"{base}:{path}" for path in others)])]
    found: tuple[dict[str, bytes | None], ...] = ({}, {})
    for one in files:
        found[0][one.path] = found[1][one.path] = None
    for (side, path, _), body in zip(wanted, bodies, strict=False):
        found[side][path] = body
    rest = {path: body for path, body in zip(others, bodies[len(wanted) :], strict=True) if body is not None}
    links = frozenset(one.path for one in files if one.modes[1] in _LINKS and one.modes[0] != one.modes[1])
    return Read(found[0], found[1], rest, links)


def blobs(place: Prefix, repo: str, names: list[str]) -> Iterator[bytes | None]:
    """The content of objects, in order, in one process; None for one that isn't there."""
    if not names:
        return
    given = "".join(f"{name}\n" for name in names).encode(errors="surrogateescape")
    out = git.run(place, repo, "cat-file", "--batch", stdin=given).out
    start = 0
    for name in names:
        end = out.index(b"\n", start)
        header = out[start:end].split(b" ")
        if header[-1] == b"missing":
            yield None
            start = end + 1
            continue
        if len(header) != 3:
            raise CommandFailed(f"git can't read `{name}`: {out[start:end].decode(errors='replace')}")
        size = int(header[2])
        yield out[end + 1 : end + 1 + size]
        start = end + 1 + size + 1
