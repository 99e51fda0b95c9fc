"""A run: what is asked of it, checked before anything is made; or one that was begun before."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from muster.core import git
from muster.core.config import Config
from muster.errors import UsageError
from muster.fleet import Fleet, wishes
from muster.mend import Request, brief, capacity, folder
from muster.mend.folder import Folder
from muster.mend.gate.rules import check_names
from muster.mend.project import HERE, home_of


class Run:
    """One run: where it is kept, what was asked, and the fleet it works with."""

    def __init__(self, fleet: Fleet, home: Folder, request: Request, uncommitted: int = 0) -> None:
        self.fleet, self.folder, self.request = fleet, home, request
        self.uncommitted = uncommitted  # files in the user's checkout


def begin(fleet: Fleet, place: str, args: Sequence[str], name: str, wanted: dict[str, Any]) -> Run:
    """A new run of the project in that folder; what is wrong with the wishes is said before anything is made."""
    top = git.top(place)
    if not top:
        raise UsageError(
            f"`{place}` is not in a git repository", hint="`muster mend` works on commits: `git init`, then commit"
        )
    status = git.status(HERE, top)
    if not status.commit:
        raise UsageError(f"`{top}` has no commit yet", hint="`git add --all && git commit`")
    config = fleet.config(top)
    at = time.time()
    run = folder.checked(name) if name else folder.fresh(fleet.home, at)
    prompt = brief.read(wanted.pop("prompt")) if wanted.get("prompt") else ""
    given = {key: value for key, value in wanted.items() if value is not None and key != "prompt"}
    below = home_of(top, place)
    request = Request(
        run=run,
        at=at,
        top=top,
        base=status.commit,
        folder=os.path.relpath(below, os.path.realpath(top)),
        args=_from(below, place, args),
        prompt=prompt,
        setup=config.workspace.setup,
    )
    mend = config.mend
    said = {"type": mend.type, "integrator": mend.integrator, "jobs": mend.jobs, "repeats": mend.repeats}
    request = msgspec.structs.replace(request, **{**said, **given})
    kinds = sorted({*request.kinds, *filter(None, [request.integrator])})
    _permit(fleet, config, request, kinds)
    jobs = request.jobs or capacity.agents(wishes.behind(config, kind)[0] for kind in kinds)
    request = msgspec.structs.replace(request, jobs=jobs)
    check_names(request.allow)
    home = Folder(fleet.home, run)
    home.begin(request)
    return Run(fleet, home, request, len(status.dirty))


def _permit(fleet: Fleet, config: Config, request: Request, kinds: Sequence[str]) -> None:
    """Types that are not there, and permissions that agents would not get, are said before anything begins."""
    modes = {kind: wishes.mode(config, kind, request.permissions) for kind in kinds}
    if request.permissions and not any(modes.values()):
        raise UsageError(f"`--permissions` says nothing to agents of type {', '.join(f'`{kind}`' for kind in kinds)}")
    for kind, mode in modes.items():
        wanted = {"type": kind, "args": request.agent_args or ("true",), "source": request.top, "permissions": mode}
        task = wishes.task(fleet, {**wanted, "name": "any", "unsafe_here": request.unsafe_here})
        if not request.address:
            fleet.permit(task)


def _from(folder: str, place: str, args: Sequence[str]) -> tuple[str, ...]:
    """Paths among pytest's arguments as they are from that folder."""

    def moved(word: str) -> str:
        path, colons, rest = word.partition("::")
        there = os.path.join(place, path)
        return (
            os.path.relpath(os.path.realpath(there), folder) + colons + rest if path and os.path.exists(there) else word
        )

    return tuple(word if word.startswith("-") else moved(word) for word in args)


def find(fleet: Fleet, name: str, wanted: Mapping[str, Any], *, afresh: bool = False) -> Run:
    """A run that was begun before; `afresh` forgets what was verified and keeps what was gathered."""
    home = folder.find(fleet.home, name)
    request = msgspec.structs.replace(home.request(), **wanted)
    with home.ours():
        home.write("request.json", request)
        if afresh:
            home.forget_verdicts()
    return Run(fleet, home, request)
