"""The branch of a run: made, and moved only while it is as the run left it."""

from __future__ import annotations

from itertools import count

from msgspec import Struct

from muster.core import git
from muster.errors import CommandFailed
from muster.mend import Request
from muster.mend.folder import Folder
from muster.mend.integrate import Integration
from muster.mend.project import HERE


class Written(Struct, frozen=True):
    """The branch as the run left it."""

    name: str
    tip: str


def write(folder: Folder, request: Request, found: Integration) -> str:
    """Its name; empty where nothing held. What somebody else has done to it since stays as it is."""
    if found.tip == request.base:
        return ""
    before = folder.read("branch.json", Written)
    for name in _names(request, before):
        old = git.commit_of(HERE, request.top, f"refs/heads/{name}")
        ours = before is not None and before.name == name and before.tip == old
        if old == found.tip or _moved(request, name, found.tip, old if ours else "0" * len(found.tip)):
            folder.write("branch.json", Written(name, found.tip))
            return name
    raise CommandFailed("there is no free name for the branch")


def _names(request: Request, before: Written | None) -> list[str]:
    plain = f"muster/mend/{request.run}"
    others = [f"{plain}-{number}" for number, _ in zip(count(2), range(50), strict=False)]
    return list(dict.fromkeys([*([before.name] if before else []), plain, *others]))


def _moved(request: Request, name: str, tip: str, old: str) -> bool:
    # A branch that is checked out somewhere is not moved under anybody's feet.
    listing = git.text(HERE, request.top, "worktree", "list", "--porcelain")
    if f"branch refs/heads/{name}\n" in f"{listing}\n":
        return False
    words = ["update-ref", "-m", f"muster mend {request.run}", f"refs/heads/{name}", tip, old]
    # Hooks are the user's, and may ask, refuse or do anything; the reference's log wants a name.
    quiet = ["-c", "core.hooksPath=/dev/null"]
    return git.run(HERE, request.top, *quiet, *words, check=False, env=git.IDENTITY).code == 0
