"""A project under test: its checkout, its interpreter, and where its packages come from."""

from __future__ import annotations

import os
import re
import shutil
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from hashlib import sha256

import msgspec
from msgspec import Struct

from muster.core import git, proc, wire
from muster.errors import NotFound, Refused, UsageError
from muster.hosts.local import Local
from muster.mend import editable, sources

HERE = Local("")
INSIDE = os.path.join(os.path.dirname(__file__), "inside")
# So long may an interpreter take to say what it is.
PATIENCE = 60.0
_CONFIGURATIONS = ("pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg", "setup.py")


class Interpreter(Struct, frozen=True):
    """What an interpreter says of itself."""

    python: str
    base: str  # what runs where it is that of a virtual environment
    version: str
    prefix: str
    venv: bool
    pytest: str  # its version; empty: there is none
    sites: tuple[str, ...]
    library: str  # where a virtual environment like it keeps packages, from its prefix
    scripts: str
    standard: tuple[str, ...]
    origins: dict[str, tuple[str, ...]] = {}


class Project(Struct, frozen=True):
    """A pytest project in a git checkout; paths are from its top where nothing else is said."""

    top: str  # absolute
    folder: str  # where pytest is started
    interpreter: Interpreter
    roots: tuple[str, ...]  # what belongs on the import path
    packages: dict[str, str]  # by the name they are imported by
    renamed: dict[str, str]  # those whose folder has another name
    hooks: tuple[str, ...]  # `.pth` files (absolute) whose import hooks lead into the top
    programs: tuple[str, ...]  # Python programs of its environment (absolute)
    editable: bool  # whether the interpreter imports from the user's own checkout
    hidden: tuple[str, ...]  # checkouts (absolute) that nothing may be imported from

    @property
    def python(self) -> str:
        return self.interpreter.python


def find(folder: str, python: str = "") -> Project:
    """The project that folder is in, and the interpreter it is tested with."""
    top = git.top(folder)
    if not top:
        raise UsageError(
            f"`{folder}` is not in a git repository", hint="`muster mend` works on commits: `git init`, then commit"
        )
    names, place = list(sources.find(top).packages), os.path.realpath(folder)
    return described(top, place, _interpreter(_up(place, top), python, names))


def home_of(top: str, place: str) -> str:
    """The folder of the project that a place is in: the nearest with a configuration, or the whole checkout."""
    top = os.path.realpath(top)
    above = _up(os.path.realpath(place), top)
    return next((one for one in above if any(os.path.isfile(f"{one}/{name}") for name in _CONFIGURATIONS)), top)


def _up(place: str, top: str) -> list[str]:
    """That folder, and those above it as far as the top."""
    found = [place]
    while found[-1] != top and os.path.dirname(found[-1]) != found[-1]:
        found.append(os.path.dirname(found[-1]))
    return found


def described(top: str, folder: str, interpreter: Interpreter) -> Project:
    """That project with that interpreter."""
    led = editable.find(top, interpreter.prefix, interpreter.sites)
    mapped = {name: path for name, path in led.packages.items() if _stem(path) == name}
    renamed = {name: path for name, path in led.packages.items() if name not in mapped}
    built = [one for one in led.roots if "__editable__" not in one]
    tree = sources.find(top, [*built, *(os.path.dirname(path) or "." for path in mapped.values())])
    packages = {**tree.packages, **led.packages}
    own = {name: path for name, path in packages.items() if name not in interpreter.standard}
    return Project(
        top=top,
        folder=os.path.relpath(folder, top),
        interpreter=interpreter,
        roots=tree.roots,
        packages=own,
        renamed=renamed,
        hooks=led.hooks,
        programs=tuple(_programs(interpreter)),
        editable=bool(led.roots or led.hooks),
        hidden=(top,),
    )


def rebuilt(project: Project, top: str, python: str) -> Project:
    """The project with another interpreter, whose editable installs lead into the checkout at `top`."""
    found = ask(python, list(project.packages))
    if not found.pytest:
        raise UsageError(f"`{python}` has no pytest", hint="`[workspace] setup` must install it, too")
    made = described(top, top, found)
    users = editable.find(project.top, found.prefix, found.sites)
    hooks = tuple(dict.fromkeys([*made.hooks, *users.hooks]))
    return msgspec.structs.replace(made, folder=project.folder, hooks=hooks, hidden=(top, *project.hidden))


def importable(python: str, names: list[str], env: dict[str, str], cwd: str) -> str:
    """Why these packages can't be imported there; empty if they can."""
    result = proc.run(
        HERE, [python, "-c", f"import {', '.join(names)}"], env=env, cwd=cwd, check=False, timeout=PATIENCE
    )
    return result.said if result.code else ""


def _stem(path: str) -> str:
    return os.path.basename(path).removesuffix(".py")


def ask(python: str, names: list[str], *, env: dict[str, str] | None = None, cwd: str | None = None) -> Interpreter:
    """What an interpreter says of itself, and where it would import these packages from."""
    command = [python, os.path.join(INSIDE, "muster_where.py"), *names]
    result = proc.run(HERE, command, env=env, cwd=cwd, check=False, timeout=PATIENCE)
    try:
        # What its start-up files print comes first.
        return wire.decode(result.out.strip().rpartition(b"\n")[2], Interpreter)
    except msgspec.DecodeError:
        raise UsageError(f"`{python}` is no Python that can be used: {result.said}", hint="`--python PATH`") from None


# -- which interpreter -------------------------------------------------------------------------------------------------


def _interpreter(folders: list[str], python: str, names: list[str]) -> Interpreter:
    if python:
        found = ask(_given(python), names)
        if not found.pytest:
            raise UsageError(f"`{found.python}` has no pytest", hint=f"`{found.python} -m pip install pytest`")
        return found
    tried = []
    for one in dict.fromkeys(_candidates(folders)):
        if os.access(one, os.X_OK):
            try:
                found = ask(one, names)
            except UsageError:
                tried.append(f"`{one}` doesn't start")
                continue
            if found.pytest:
                return found
            tried.append(f"`{one}` has no pytest")
    looked = "; ".join(tried) or "there is no Python at all"
    raise NotFound(
        f"no interpreter with pytest was found for `{folders[0]}`: {looked}",
        hint="install pytest into the project's environment, or name its interpreter with `--python PATH`",
    )


def _given(python: str) -> str:
    path = os.path.abspath(os.path.expanduser(python))
    if os.path.isdir(path):
        path = os.path.join(path, "bin", "python")
    elif os.sep not in python and not os.path.exists(path):
        path = shutil.which(python) or path
    if not os.access(path, os.X_OK):
        raise UsageError(
            f"`--python {python}`: there is no such interpreter",
            hint="give its path, or a virtual environment's folder",
        )
    return path


def _candidates(folders: list[str]) -> Iterator[str]:
    """Of the nearest folder first."""
    yield from (f"{one}/{name}/bin/python" for one in folders for name in (".venv", "venv", "env"))
    for variable in ("UV_PROJECT_ENVIRONMENT", "VIRTUAL_ENV", "CONDA_PREFIX"):
        if value := os.environ.get(variable):
            yield os.path.join(folders[-1], value, "bin", "python")
    for one in folders:
        yield from (*_pdm(one), *_poetry(one), *_hatch(one))
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        yield from (os.path.join(folder, name) for name in ("python3", "python") if folder)


def _pdm(top: str) -> Iterator[str]:
    try:
        with open(f"{top}/.pdm-python", encoding="utf-8") as file:
            yield file.read().strip()
    except OSError:
        pass  # it isn't used here


def _poetry(top: str) -> Iterator[str]:
    name = sources.named(top)
    clean = re.sub(r'[ $`!*@"\\\r\n\t]', "_", name.lower())[:42]
    cache = os.environ.get("POETRY_CACHE_DIR") or _cache("pypoetry")
    if name:
        yield from _pythons(f"{cache}/virtualenvs", f"{clean}-{_short_hash(top)}-py")


def _hatch(top: str) -> Iterator[str]:
    name = re.sub(r"[-_.]+", "-", sources.named(top)).lower()
    data = os.environ.get("HATCH_DATA_DIR") or os.path.join(
        os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share"), "hatch"
    )
    if name:
        yield from _pythons(f"{data}/env/virtual/{name}/{_short_hash(top)}", "")


def _pythons(folder: str, start: str) -> Iterator[str]:
    if os.path.isdir(folder):
        yield from (f"{folder}/{name}/bin/python" for name in sorted(os.listdir(folder)) if name.startswith(start))


def _short_hash(top: str) -> str:
    # Both tools name an environment after its project's folder in this way.
    return urlsafe_b64encode(sha256(top.encode()).digest()).decode()[:8]


def _cache(name: str) -> str:
    return os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), name)


# -- its programs ------------------------------------------------------------------------------------------------------


def _programs(interpreter: Interpreter) -> Iterator[str]:
    """What is installed beside the interpreter and is run by it."""
    folder = interpreter.scripts
    ours = re.compile(rb"(?:^#!|')\s*\"?" + re.escape(f"{folder}/python".encode()) + rb"[\w.]*")
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        path = f"{folder}/{name}"
        if os.path.isfile(path) and not name.startswith(("python", "activate")) and ours.search(_head(path)):
            yield path


def _head(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            start = file.read(512)
    except OSError:
        return b""
    return start if start.startswith(b"#!") else b""


# -- whose code runs ---------------------------------------------------------------------------------------------------


def refuse_foreign(project: Project, top: str, prefix: str, origins: dict[str, tuple[str, ...]]) -> None:
    """Refuse where a package that the checkout at `top` has is imported from elsewhere."""
    known = {name: places for name, places in origins.items() if name in project.packages}
    wrong = [(name, place) for name, places in known.items() for place in foreign(project, top, prefix, name, places)]
    if wrong:
        name, place = wrong[0]
        others = {other for other, _ in wrong} - {name}
        more = f" (and {len(others)} more packages don't, either)" if others else ""
        raise Refused(
            f"`{name}` does not come from the checkout under test but from `{place}`{more}",
            hint="let tests import it by its name (no absolute path in `conftest.py`, `pythonpath` or PYTHONPATH), "
            "name another interpreter with `--python PATH`, or a command that builds an environment in each checkout "
            "as `[workspace] setup`",
        )


def foreign(project: Project, top: str, prefix: str, name: str, places: tuple[str, ...]) -> list[str]:
    """The places of that package that it may not come from."""
    others = [one for one in project.hidden if one != top]
    users = [one for one in places if any(is_below(one, other, project.interpreter.prefix) for other in others)]
    here = os.path.join(top, project.packages[name])
    if users or not os.path.exists(here):
        return users  # what this commit doesn't have may come from anywhere else
    inside = [one for one in places if is_below(one, top, prefix)]
    # The parts of a package without an `__init__` may be spread over many distributions.
    spread = os.path.isdir(here) and not os.path.exists(f"{here}/__init__.py")
    return [] if inside and (spread or len(inside) == len(places)) else [one for one in places if one not in inside]


def is_below(path: str, top: str, prefix: str) -> bool:
    """Whether a path is in that checkout, and not in an environment that lies in it."""
    return bool(editable.within(path, os.path.realpath(top), prefix))
