"""The sample: made as a repository of its own, and taken away again with all that a run of it has left."""

from __future__ import annotations

import os
import shlex
import shutil

from muster.core import git, paths
from muster.core.config.layers import LOCAL
from muster.errors import NotFound, Refused
from muster.fleet import Fleet
from muster.mend import folder
from muster.mend.demo import TYPES
from muster.mend.project import HERE

SOURCE = os.path.join(os.path.dirname(__file__), "sample")
# In the repository's own settings: which run is this sample's.
_MARK = "muster.demo"
_IGNORED = f"__pycache__/\nagents/\n{LOCAL}\n"
# The same commit on every machine.
_WHEN = dict.fromkeys(("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"), "2025-01-01T12:00:00Z")


def check(top: str) -> None:
    """Refuse a folder in which something is."""
    if os.path.lexists(top) and (not os.path.isdir(top) or os.listdir(top)):
        raise Refused(
            f"`{top}` is there already and not an empty folder",
            hint="name another one"
            + (f", or remove it with `muster demo --clean {shlex.quote(top)}`" if mark(top) else ""),
        )


def make(top: str, run: str) -> None:
    """The sample in that folder, committed; its agents and settings lie beside it, and git ignores them."""
    try:
        shutil.copytree(SOURCE, top, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
    except OSError as error:
        raise paths.unwritable(top, error) from error
    paths.write(f"{top}/.gitignore", _IGNORED.encode(), 0o644)
    paths.write(f"{top}/{LOCAL}", "\n".join(_type(top, name) for _, name in TYPES).encode(), 0o644)
    # Neither the user's hooks nor signatures have a part in it.
    for words in (("init", "--quiet", "--template="), ("config", _MARK, run), ("add", "--all")):
        git.run(HERE, top, *words)
    commit = ("-c", "commit.gpgSign=false", "commit", "--quiet", "--message", "ladle 0.3")
    git.run(HERE, top, *commit, env={**git.IDENTITY, **_WHEN})


def _type(top: str, name: str) -> str:
    return f'[types.{name}]\nparent = "scripted"\nargs = ["--script", {_quoted(f"{top}/agents/{name}.toml")}]\n'


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def mark(top: str) -> str:
    """The run of the sample in that folder; empty if there is no sample."""
    if git.top(top) != os.path.realpath(top):
        return ""
    return git.run(HERE, top, "config", "--local", "--get", _MARK, check=False).text


def all_of(fleet: Fleet) -> list[str]:
    """The folders of all samples that a run of this fleet was made on."""
    tops = [home.request().top for run in folder.runs(fleet.home) if (home := folder.Folder(fleet.home, run)).begun()]
    return [top for top in dict.fromkeys(tops) if os.path.isdir(top) and mark(top)]


def clean(fleet: Fleet, top: str) -> list[str]:
    """Remove a sample with its runs and their agents; the names of what is gone."""
    if not mark(top):
        raise NotFound(f"`{top}` is not what `muster demo` makes")
    here = os.path.realpath(top)
    runs = [folder.Folder(fleet.home, run) for run in folder.runs(fleet.home)]
    own = [home for home in runs if home.begun() and home.request().top == here]
    for kept in fleet.destroy([agent for agent in fleet.known() if agent.project == here]):
        fleet.expire(kept)
    for home in own:
        with home.ours():
            home.remove()
    shutil.rmtree(here)
    return [*(f"run {home.run}" for home in own), here]
