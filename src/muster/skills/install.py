"""Where skills are installed, and installing them; what a user has changed is not overwritten unasked."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from hashlib import sha256

import msgspec

from muster.core import git, names, paths
from muster.errors import NotFound, Refused
from muster.skills import PROGRAMS, SKILLS, Found, Place, Scope, text

# The last line of a file says what was written, so that a later version knows its own text from a user's.
_MARK = "<!-- written by `muster skill install`: "


def places(scope: Scope, programs: Sequence[str] = (), skills: Sequence[str] = ()) -> list[Place]:
    """Every file of these skills (all) for these programs (all)."""
    folders: dict[str, list[str]] = {}
    for program in programs or PROGRAMS:
        folders.setdefault(_known(program, PROGRAMS, "program"), []).append(program)
    wanted = [_known(skill, dict.fromkeys(SKILLS, skill), "skill") for skill in skills or SKILLS]
    return [_place(skill, scope, folder, those) for folder, those in folders.items() for skill in wanted]


def _known(name: str, known: dict[str, str], what: str) -> str:
    if name not in known:
        raise NotFound(f"there is no {what} `{name}`", hint=names.nearest(name, known, what))
    return known[name]


def _place(skill: str, scope: Scope, folder: str, programs: Sequence[str]) -> Place:
    root = os.path.expanduser("~") if scope == "user" else git.top(os.getcwd()) or os.getcwd()
    path = os.path.join(root, folder, skill, "SKILL.md")
    return Place(skill, scope, tuple(programs), path, _found(path, skill))


def _found(path: str, skill: str) -> Found:
    try:
        with open(path, "rb") as file:
            there = file.read()
    except FileNotFoundError:
        return "missing"
    except OSError as error:
        raise Refused(f"`{path}` can't be read: {error.strerror}") from None
    if there == _written(text(skill)):
        return "installed"
    body, mark, rest = there.rpartition(_MARK.encode())
    ours = mark and rest.startswith(_digest(body))
    return "outdated" if ours else "changed"


def _digest(body: bytes) -> bytes:
    return sha256(body).hexdigest()[:16].encode()


def _written(words: str) -> bytes:
    body = f"{words.rstrip()}\n\n".encode()
    return body + _MARK.encode() + _digest(body) + b" -->\n"


def install(those: Sequence[Place], *, force: bool = False) -> Iterator[Place]:
    """Write what is missing or outdated; nothing at all if a file is in the way that a user has changed."""
    if not force and (theirs := [place.path for place in those if place.found == "changed"]):
        hint = "`--force` overwrites it" if len(theirs) == 1 else "`--force` overwrites them"
        raise Refused(f"{', '.join(f'`{path}`' for path in theirs)} is not as muster wrote it", hint=hint)
    for place in those:
        if place.found != "installed":
            _write(place)
        yield msgspec.structs.replace(place, found="installed")


def _write(place: Place) -> None:
    try:
        os.makedirs(os.path.dirname(place.path), exist_ok=True)
    except OSError as error:
        raise paths.unwritable(os.path.dirname(place.path), error) from None
    paths.write(place.path, _written(text(place.skill)), 0o644)
