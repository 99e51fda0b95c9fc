"""What makes the code that runs the code of a checkout."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import msgspec
from msgspec import Struct

from muster.core import lock, paths, wire
from muster.errors import Refused
from muster.mend import checkout, overlay, project, seed
from muster.mend.checkout import Checkout
from muster.mend.project import Project

# Of an outer pytest, an outer muster, git's hooks, and of Python settings that lead elsewhere.
_FOREIGN = ("MUSTER_", "GIT_", "PYTEST_", "TMUX", "COV_CORE_", "COVERAGE_")
_FOREIGN_WORDS = (
    "PYTHONHOME",
    "PYTHONSTARTUP",
    "PYTHONPATH",
    "PYTHONPYCACHEPREFIX",
    "PYTHONSAFEPATH",
    "PYTHONOPTIMIZE",
    "PYTHONINSPECT",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
)
_WELCOME = ("PYTEST_PLUGINS", "PYTEST_DISABLE_PLUGIN_AUTOLOAD")


class Environment(Struct, frozen=True):
    """A checkout, and an interpreter that imports the project from it and from nowhere else."""

    project: Project
    top: str
    python: str
    prefix: str  # where that interpreter lives
    env: dict[str, str]  # all variables of a process in it
    commit: str = ""  # of the checkout, where it is muster's own
    note: str = ""  # what a person should know

    def clean(self) -> None:
        """Undo what runs have left in muster's own checkout, but not what git ignores (build products, bytecode)."""
        if self.commit:
            checkout.clean(self.top, self.commit)

    def verify(self, origins: Mapping[str, tuple[str, ...]]) -> None:
        """Refuse where a package was imported from elsewhere."""
        project.refuse_foreign(self.project, self.top, self.prefix, dict(origins))


def over(subject: Project, top: str, aside: str) -> Environment:
    """An environment for the checkout at `top`, made in the folder `aside`, and asked whose code it runs."""
    prefix = overlay.lay(subject, os.path.realpath(top), os.path.join(aside, "env"))
    made = Environment(
        project=subject,
        top=os.path.realpath(top),
        python=f"{prefix}/bin/python",
        prefix=prefix,
        env=variables(subject, prefix),
    )
    found = project.ask(made.python, list(subject.packages), env=made.env, cwd=aside)
    made.verify(found.origins)
    return made


def variables(subject: Project, prefix: str) -> dict[str, str]:
    """The user's variables without those that would lead a test elsewhere; the checkout's programs come first on PATH."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name in _WELCOME or not (name.startswith(_FOREIGN) or name in _FOREIGN_WORDS)
    }
    before = [f"{prefix}/bin", subject.interpreter.scripts]
    after = [one for one in os.environ.get("PATH", os.defpath).split(os.pathsep) if one and one not in before]
    python_path = _moved(subject)
    more = {"PYTHONPATH": python_path} if python_path else {}
    return {**kept, **more, "PATH": os.pathsep.join([*before, *after]), "VIRTUAL_ENV": prefix}


def _moved(subject: Project) -> str:
    """What the user's PYTHONPATH has that is not the user's own checkout: that is on the import path already."""
    given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return os.pathsep.join(
        one for one in given if one and not project.is_below(one, subject.top, subject.interpreter.prefix)
    )


@contextmanager
def at(subject: Project, commit: str, below: str, *, setup: str = "", cache: str = "") -> Iterator[Environment]:
    """A clean checkout of a commit with an environment of its own, in a new folder in `below`; both are gone afterwards.

    `setup` is the command of `[workspace] setup`; what it makes is kept in the folder `cache` by the hash of the lock files.
    """
    with checkout.made(subject.top, commit, below) as tree:
        yield msgspec.structs.replace(prepared(subject, tree, setup, cache), commit=tree.commit)


def prepared(subject: Project, tree: Checkout, setup: str, cache: str) -> Environment:
    """That checkout's environment, set up as the project wants it."""
    if not setup:
        made = over(subject, tree.top, tree.aside)
        return msgspec.structs.replace(made, note=_note(tree, _unbuilt(made)))
    seeded = _seed(
        subject, tree.commit, setup, cache or os.path.join(os.path.dirname(os.path.dirname(tree.aside)), "setup")
    )
    if not seed.generated(seeded, seeded.top):
        return msgspec.structs.replace(over(seeded, tree.top, tree.aside), note=_note(tree, ""))
    # What it builds among the sources belongs to these sources only.
    return msgspec.structs.replace(over(_built(subject, tree, setup), tree.top, tree.aside), note=_note(tree, ""))


def _note(tree: Checkout, more: str) -> str:
    lacking = f"submodules that are not on this machine are empty: {', '.join(tree.lacking)}" if tree.lacking else ""
    return "; ".join(one for one in (lacking, more) if one)


def _unbuilt(made: Environment) -> str:
    """What the user's checkout has that a clean one lacks; refused where the packages can't be imported for it."""
    files = seed.generated(made.project, made.project.top)
    lacking = [one for one in files if not os.path.exists(os.path.join(made.top, one))]
    if not lacking:
        return ""
    words = (
        f"not in a clean checkout, for git ignores them: {', '.join(lacking[:5])}{' ...' if len(lacking) > 5 else ''}"
    )
    said = project.importable(made.python, list(made.project.packages), made.env, made.top)
    if said:
        raise Refused(
            f"the project must be built before its tests can run: {said}; {words}",
            hint="name the command that builds it: `muster config set workspace.setup COMMAND`",
        )
    return words


def _seed(subject: Project, commit: str, setup: str, cache: str) -> Project:
    """The project with the environment that its set-up command built for these lock files."""
    place = os.path.join(paths.folder(os.path.realpath(cache)), seed.key(subject, commit, setup))
    with lock.held(f"{place}.lock"):
        if not os.path.exists(f"{place}/ready"):
            checkout.remove(place)
            tree = checkout.keep(subject.top, commit, place)
            try:
                built = _built(subject, tree, setup)
            except BaseException:
                checkout.remove(place)
                raise
            paths.write(f"{place}/ready", msgspec.json.encode(built))
        with open(f"{place}/ready", "rb") as file:
            return wire.decode(file.read(), Project)


def _built(subject: Project, tree: Checkout, setup: str) -> Project:
    """Run the set-up in that checkout, in an environment of its own: what it installs never meets the user's."""
    room = os.path.join(tree.aside, "setup")
    prefix = overlay.lay(subject, tree.top, room)
    seed.build(setup, tree.top, variables(subject, prefix))
    own = [f"{tree.top}/{name}/bin/python" for name in (".venv", "venv", "env")]
    python = next((one for one in own if os.path.exists(one)), f"{prefix}/bin/python")
    return project.rebuilt(subject, tree.top, python)
