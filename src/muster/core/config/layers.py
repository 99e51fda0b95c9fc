"""Layers of settings: where each is found, what it may say, and what all of them say together."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from muster.core import paths, wire
from muster.core.config import Config, FileLayer, Origin
from muster.errors import UsageError

if TYPE_CHECKING:
    from muster.core.config.keys import Path

# A repository may be a stranger's: its file must not choose what runs on this machine outside of a
# workspace, where the work and the user's variables go, or how long the user's work is kept.
_NOT_PROJECT = (("pass_env",), ("host",))
_PROJECT_SECTIONS = ("create", "workspace", "templates", "list", "mend")
LOCAL = "muster.local.toml"


class Here(Struct, frozen=True):
    """This machine, as far as `core` needs to know it."""

    name: str = "local"

    def argv(self, command: Sequence[str], *, tty: bool = False) -> list[str]:
        return list(command)


def files(project_folder: str | None) -> dict[FileLayer, str]:
    """The file of each layer, whether it is there or not."""
    found: dict[FileLayer, str] = {"user": os.path.join(paths.home(), "config.toml")}
    if project_folder is not None:
        top = root(project_folder)
        found["project"] = os.path.join(top, "muster.toml")
        found["local"] = os.path.join(top, LOCAL)
    return found


def root(folder: str) -> str:
    """The root of the repository that folder is in, or where there is none, the folder."""
    here = at = os.path.realpath(folder)
    while not os.path.exists(os.path.join(at, ".git")):
        at, below = os.path.dirname(at), at
        if at == below:
            return here
    return at


def given(project_folder: str | None, overrides: Mapping[str, Any], *, strict: bool) -> dict[Path, Origin]:
    """What files, variables and flags set: of each key the word of the highest layer."""
    found: dict[Path, Origin] = {}
    for layer, file in files(project_folder).items():
        if text := read(file):
            found |= said(text, layer, file, os.path.dirname(file))
    found |= _environment(strict=strict)
    flags = {key: value for key, value in overrides.items() if value is not None}
    return found | _flags(flags) if flags else found


def defaults() -> dict[Path, Origin]:
    """What is in force where nothing is set."""
    from muster.core.config import keys

    return {path: Origin(value, "default") for path, value in keys.leaves(msgspec.to_builtins(Config()))}


def built(found: Mapping[Path, Origin]) -> Config:
    """Those settings as one record."""
    tree: dict[str, Any] = {}
    for path, origin in found.items():
        node = tree
        for name in path[:-1]:
            node = node.setdefault(name, {})
        if origin.value == {}:
            node.setdefault(path[-1], {})
        else:
            node[path[-1]] = origin.value
    return wire.convert(tree, Config)


def read(file: str) -> str:
    """A file's text; empty if it is not there."""
    try:
        with open(file, "rb") as stream:
            return stream.read().decode()
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except UnicodeDecodeError as error:
        raise UsageError(f"`{file}` is not UTF-8 text") from error


def said(text: str, layer: FileLayer, file: str, folder: str) -> dict[Path, Origin]:
    """What a file of that layer sets, checked; its folder tells whose repository it is in."""
    from muster.core.config import keys

    try:
        found = dict(keys.leaves(parsed(text, file)))
        permit(found, layer, folder)
    except keys.Wrong as error:
        line = _line(text, error.path)
        where = f"`{file}`, line {line}" if line else f"`{file}`"
        raise UsageError(f"{where}: {error}", hint=error.hint) from error
    return {path: Origin(value, layer, file) for path, value in found.items()}


def parsed(text: str, file: str) -> dict[str, Any]:
    """The tables of a TOML text; where it is broken, the line."""
    from tomllib import TOMLDecodeError, loads

    try:
        return loads(text)
    except TOMLDecodeError as error:
        what, _, place = str(error).partition(" (at ")
        number = re.match(r"line (\d+)", place)
        line = int(number[1]) if number else text.count("\n") + 1
        raise UsageError(f"`{file}`, line {line}: {what[:1].lower()}{what[1:]}", hint="it must be TOML") from error


def permit(found: Iterable[Path], layer: FileLayer, folder: str) -> None:
    """Refuse what a stranger's repository must not decide."""
    from muster.core.config import keys

    bad = next((path for path in found if not _harmless(path)), None)
    if bad is None or layer == "user" or (layer == "local" and _untracked(LOCAL, folder)):
        return
    key = keys.dotted(bad)
    if layer == "project":
        raise keys.Wrong(
            bad,
            f"`{key}` can't be set by a project, whose files may be a stranger's",
            hint=f"put it into `{files(None)['user']}` or `{LOCAL}`",
        )
    raise keys.Wrong(
        bad,
        f"`{key}` can only be set in a file that git is known not to track",
        hint=f"put it into `{files(None)['user']}`, or ignore `{LOCAL}` and `git rm --cached` it",
    )


def _harmless(path: Path) -> bool:
    return path[0] in _PROJECT_SECTIONS and (path[1:2] if path[0] == "create" else path[2:3]) not in _NOT_PROJECT


def _untracked(name: str, folder: str) -> bool:
    """Whether git says that it doesn't know that file; no answer is no."""
    if not os.path.exists(os.path.join(folder, ".git")):
        return False
    from muster.core import git

    # In any case of letters, for file systems that don't tell them apart. The repository's own
    # configuration must not start a program for this question.
    words = ("-c", "core.fsmonitor=false", "--icase-pathspecs", "ls-files", "--error-unmatch", "--", name)
    return git.run(Here(), folder, *words, check=False).code == 1


def _environment(*, strict: bool) -> dict[Path, Origin]:
    # Most variables of ours are no settings, such as $MUSTER_HOME: then nothing more is imported.
    names = [name for name in os.environ if name.startswith("MUSTER_") and _section(name)]
    if not names:
        return {}
    from muster.core.config import keys

    known = keys.variables()
    found: dict[Path, Origin] = {}
    for name in names:
        try:
            if path := known.get(name):
                kind = keys.kind(path)
                values = keys.leaves(keys.from_text(os.environ[name], kind), path, kind)
                found |= {one: Origin(value, "environment", name) for one, value in values}
            elif strict:
                raise _stranger(name)
        except keys.Wrong as error:
            raise UsageError(f"${name}: {error}", hint=error.hint) from error
    return found


def _section(name: str) -> str:
    """The section that a variable `MUSTER_SECTION_KEY` names; empty if it names none."""
    _, section, key = [*name.lower().split("_", 2), "", ""][:3]
    return section if key and section in Config.__struct_fields__ else ""


def _stranger(name: str) -> UsageError:
    from muster.core.config import keys

    section = _section(name)
    if not any(one == section for one, _ in keys.variables().values()):
        return UsageError(f"${name}: [{section}] can't be set by variables", hint="`muster config set` can")
    return keys.unknown((section, name.lower().split("_", 2)[2]), keys.kind((section,)))


def _flags(flags: Mapping[str, Any]) -> dict[Path, Origin]:
    from muster.core.config import keys

    return {
        one: Origin(inner, "flag")
        for key, value in flags.items()
        for one, inner in keys.leaves(value, keys.parts(key), keys.kind(keys.parts(key)))
    }


def _line(text: str, path: Path) -> int:
    """The line where a key stands: what parses before it hasn't got it, what parses with it has."""
    from tomllib import TOMLDecodeError, loads

    lines, begin = text.splitlines(keepends=True), 1
    for end in range(1, min(len(lines), 1_000) + 1):
        try:
            node: Any = loads("".join(lines[:end]))
        except TOMLDecodeError:
            continue
        for name in path:
            node = node.get(name) if isinstance(node, dict) else None
        if node is not None:
            return begin
        begin = end + 1
    return 0
