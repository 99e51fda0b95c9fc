"""A branch's commits, each made into commits of one kind: what is to be reviewed apart can be integrated apart.

Made of git objects and an index of its own: no checkout, and the user's index stays as it is. A merge is taken for what
it changed against its first parent, so every branch has a line of commits that ends in its very tree.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from msgspec import Struct

from muster.core import git, proc
from muster.core.proc import Prefix
from muster.errors import CommandFailed, NotFound, Refused
from muster.mend import Part, Piece
from muster.mend.gate.commits import Changed, blobs, changed
from muster.mend.layout import Layout

ORDER: tuple[Part, ...] = ("docs", "test", "settings", "impl")
_WORDS: dict[Part, str] = {"docs": "documentation", "test": "tests", "settings": "settings", "impl": "implementation"}
_GONE = "000000"
# Whatever the user has set: an index of ours writes no other file and starts no program.
_PLAIN = ("-c", "core.splitIndex=false", "-c", "core.fsmonitor=false", "-c", "core.untrackedCache=false")


class _Original(Struct, frozen=True):
    """A commit as it was made, in bytes."""

    commit: str
    author: bytes  # name, address and date
    date: bytes  # of the committer
    encoding: bytes
    subject: bytes
    body: bytes


def split(place: Prefix, repo: str, base: str, tip: str, layout: Layout) -> list[Piece]:
    """The commits of base..tip in pieces, each on top of the one before it; the last one's tree is the tip's."""
    start, end = (_commit(place, repo, name) for name in (base, tip))
    if not git.ancestor(place, repo, start, end):
        raise Refused(
            f"`{tip}` is not built on `{base}`", hint="its history was rewritten: nothing tells what it changed"
        )
    line = git.text(place, repo, "rev-list", "--reverse", "--first-parent", f"{start}..{end}").split()
    pieces: list[Piece] = []
    parent = before = start
    with _index(place, repo, start) as index:
        for original in _read(place, repo, line):
            parts = _parts(changed(place, repo, before, original.commit), layout)
            for kind, files in parts:
                parent = _commit_part(place, repo, index, parent, original, kind if len(parts) > 1 else None, files)
                subject = _subject(original, kind if len(parts) > 1 else None).decode(errors="replace")
                pieces.append(Piece(parent, kind, original.commit, subject, tuple(one.path for one in files)))
            before = original.commit
    if _tree(place, repo, parent) != _tree(place, repo, end):
        raise CommandFailed(f"the pieces of `{tip}` don't add up to it")
    return pieces


def _commit(place: Prefix, repo: str, name: str) -> str:
    found = git.commit_of(place, repo, name)
    if not found:
        raise NotFound(f"there is no commit `{name}` in `{repo}`")
    return found


def _tree(place: Prefix, repo: str, commit: str) -> str:
    return git.text(place, repo, "rev-parse", f"{commit}^{{tree}}")


def _parts(files: Sequence[Changed], layout: Layout) -> list[tuple[Part, list[Changed]]]:
    """What a commit changed, by kind."""
    kinds = {kind: [one for one in files if layout.of(one.path) == kind] for kind in ORDER}
    return [(kind, found) for kind, found in kinds.items() if found]


@contextmanager
def _index(place: Prefix, repo: str, start: str) -> Iterator[str]:
    """An index of our own, filled with the files of a commit."""
    folder = git.text(place, repo, "rev-parse", "--absolute-git-dir")
    index = f"{folder}/muster-split-{os.urandom(6).hex()}"
    try:
        git.run(place, repo, *_PLAIN, "read-tree", start, env={"GIT_INDEX_FILE": index})
        yield index
    finally:
        proc.run(place, ["rm", "-f", index, f"{index}.lock"])


def _commit_part(
    place: Prefix, repo: str, index: str, parent: str, original: _Original, kind: Part | None, files: Sequence[Changed]
) -> str:
    """The commit of some of a commit's files."""
    env = {"GIT_INDEX_FILE": index}
    entries = "".join(f"{_entry(one)}\t{one.path}\0" for one in sorted(files, key=lambda one: one.modes[1] != _GONE))
    given = entries.encode(errors="surrogateescape")
    # `--replace`: a file may have become a folder.
    git.run(place, repo, *_PLAIN, "update-index", "--add", "--replace", "-z", "--index-info", env=env, stdin=given)
    tree = git.run(place, repo, *_PLAIN, "write-tree", env=env).text
    made = _object(tree, parent, original, kind)
    return git.run(place, repo, "hash-object", "-t", "commit", "-w", "--stdin", stdin=made).text


def _entry(one: Changed) -> str:
    mode, blob = one.modes[1], one.blobs[1]
    return f"0 {'0' * len(blob)}" if mode == _GONE else f"{mode} {blob} 0"


# -- commits as bytes: the author is copied as it is, the committer is ours ---------------------------------------------


def _read(place: Prefix, repo: str, line: Sequence[str]) -> list[_Original]:
    return [_parsed(commit, data or b"") for commit, data in zip(line, blobs(place, repo, [*line]), strict=True)]


def _parsed(commit: str, data: bytes) -> _Original:
    head, _, message = data.partition(b"\n\n")
    fields: dict[bytes, bytes] = {}
    for line in head.split(b"\n"):
        name, _, words = line.partition(b" ")
        fields.setdefault(name, words)
    subject, _, body = message.strip(b"\n").partition(b"\n")
    date = b" ".join(fields[b"committer"].split(b" ")[-2:])
    return _Original(commit, fields[b"author"], date, fields.get(b"encoding", b""), subject, body.strip(b"\n"))


def _subject(original: _Original, kind: Part | None) -> bytes:
    subject = original.subject or b"(no subject)"
    return subject if kind is None else subject + f" ({_WORDS[kind]})".encode()


def _object(tree: str, parent: str, original: _Original, kind: Part | None) -> bytes:
    """A commit as git writes it: the same in, the same id out."""
    name, address = git.IDENTITY["GIT_COMMITTER_NAME"], git.IDENTITY["GIT_COMMITTER_EMAIL"]
    head = [
        f"tree {tree}".encode(),
        f"parent {parent}".encode(),
        b"author " + original.author,
        f"committer {name} <{address}> ".encode() + original.date,
        *([b"encoding " + original.encoding] if original.encoding else []),
    ]
    note = f"The {_WORDS[kind]} of {original.commit}.".encode() if kind else b""
    message = [part for part in (_subject(original, kind), note, original.body) if part]
    return b"\n".join(head) + b"\n\n" + b"\n\n".join(message) + b"\n"
