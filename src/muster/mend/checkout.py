"""Clean checkouts of a commit, for muster's own runs."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from msgspec import Struct

from muster.core import git, paths, proc
from muster.errors import UsageError
from muster.hosts.local import Local

HERE = Local("")


class Checkout(Struct, frozen=True):
    """The files of one commit in a folder of their own, and a repository of its own around them.

    It never changes its commit: what Python compiles in it therefore never belongs to other sources.
    """

    top: str
    commit: str
    aside: str  # an empty folder beside it, for what must not lie among its files
    lacking: tuple[str, ...] = ()  # submodules that are not on this machine


@contextmanager
def made(source: str, commit: str, below: str) -> Iterator[Checkout]:
    """A clean checkout of a commit of that repository, in a new folder in `below`; it is gone afterwards."""
    room = tempfile.mkdtemp(prefix="c", dir=paths.folder(os.path.realpath(below)))
    try:
        yield keep(source, commit, room)
    finally:
        remove(room)


def keep(source: str, commit: str, room: str) -> Checkout:
    """A clean checkout in that folder, which is the caller's to remove."""
    exact = git.commit_of(HERE, source, commit)
    if not exact:
        raise UsageError(f"there is no commit `{commit}` in `{source}`")
    return _filled(source, exact, room)


def _filled(source: str, commit: str, room: str) -> Checkout:
    # Some projects go by their folder's name.
    top, aside = os.path.join(room, "tree", os.path.basename(source)), os.path.join(room, "aside")
    os.makedirs(top)
    os.mkdir(aside)
    _repository(source, commit, top)
    git.run(HERE, top, "checkout", "--quiet", "--force", "--detach", commit)
    return Checkout(top, commit, aside, tuple(_submodules(source, top)))


def _repository(source: str, commit: str, top: str) -> None:
    """A repository that borrows the objects of the other: what a test does to it, the user's never sees.

    A worktree shares branches, tags and settings with the user's checkout; `git archive` leaves out what is marked
    `export-ignore`, often the tests.
    """
    kind = "sha256" if len(commit) == 64 else "sha1"
    git.run(HERE, top, "init", "--quiet", "--template=", f"--object-format={kind}")
    common = git.common(source)
    os.makedirs(f"{top}/.git/objects/info", exist_ok=True)
    paths.write(f"{top}/.git/objects/info/alternates", f"{common}/objects\n".encode())
    if os.path.exists(f"{common}/shallow"):
        with open(f"{common}/shallow", "rb") as file:
            paths.write(f"{top}/.git/shallow", file.read())
    if os.path.isdir(f"{common}/lfs"):
        git.run(HERE, top, "config", "lfs.storage", f"{common}/lfs")
    # Version numbers are often made from tags.
    if tags := git.run(HERE, source, "for-each-ref", "--format=%(objectname) %(refname)", "refs/tags").out:
        paths.write(f"{top}/.git/packed-refs", tags)


def _submodules(source: str, top: str) -> Iterator[str]:
    """Fill in those that the source has on disk, from there; the others are named."""
    if not os.path.exists(f"{top}/.gitmodules"):
        return
    listing = git.run(
        HERE, top, "config", "--file", ".gitmodules", "--get-regexp", r"^submodule\..*\.path$", check=False
    )
    for line in listing.text.splitlines():
        key, _, folder = line.partition(" ")
        theirs = f"{source}/{folder}"
        if not os.path.exists(f"{theirs}/.git"):
            yield folder
            continue
        url = git.text(HERE, theirs, "rev-parse", "--absolute-git-dir")
        settings = ["-c", "protocol.file.allow=always", "-c", f"{key.removesuffix('.path')}.url={url}"]
        result = git.run(HERE, top, *settings, "submodule", "--quiet", "update", "--", folder, check=False)
        if result.code:
            yield folder
        else:
            yield from (f"{folder}/{one}" for one in _submodules(theirs, f"{top}/{folder}"))


def clean(top: str, commit: str) -> None:
    """Undo what runs have left there: changed and new files, but not what git ignores."""
    git.run(HERE, top, "reset", "--quiet", "--hard", commit)
    git.run(HERE, top, "clean", "--quiet", "-ffd")


def remove(folder: str) -> None:
    """Take a folder away, also one that a test has made read-only."""
    if proc.run(HERE, ["rm", "-rf", folder], check=False).code:
        proc.run(HERE, ["chmod", "-R", "u+rwX", folder], check=False)
        proc.run(HERE, ["rm", "-rf", folder])
