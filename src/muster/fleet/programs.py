"""The programs of agent types on this machine: which are there, at which version, and whether it is one that the tests run."""

from __future__ import annotations

import os
import re
import tempfile
import tomllib
from collections.abc import Iterable, Iterator
from shutil import which
from typing import Any, Literal

from msgspec import Struct

from muster import agents
from muster.agents import AgentType, Order
from muster.core import fan, proc
from muster.errors import MusterError
from muster.hosts.local import Local

# Some need seconds to say their version.
PATIENCE = 30.0
_VERSION = re.compile(r"\d+\.\d+\.\d+[-+.\w]*")


class Program(Struct, frozen=True):
    """What one agent type needs, and what of it is there."""

    type: str
    grade: Literal["ok", "warn"]
    found: str
    hint: str = ""


def programs(wanted: Iterable[tuple[str, AgentType, tuple[str, ...]]]) -> Iterator[Program]:
    """For each name, type and arguments of it, in that order; the programs are asked all at once."""
    items = list(wanted)
    kinds = {kind.program: kind for _, kind, _ in items if kind.program and which(kind.program)}
    versions = dict(fan.out(_version, kinds, 8))
    for name, kind, args in items:
        yield _shipped(name, kind, versions.get(kind.program)) if kind.program else _plain(name, kind, args)


def pins() -> dict[str, Any]:
    """The versions that the tests run, by program."""
    with open(os.path.join(os.path.dirname(agents.__file__), "programs.toml"), "rb") as file:
        return tomllib.load(file)


def _version(program: str) -> str:
    """What it says; in a home of its own, as some write there even for that."""
    with tempfile.TemporaryDirectory(prefix="muster-") as home:
        folders = {f"XDG_{kind}_HOME": f"{home}/{kind.lower()}" for kind in ("CONFIG", "DATA", "CACHE", "STATE")}
        env = {**os.environ, "HOME": home, **folders}
        done = proc.run(Local(home), [program, "--version"], check=False, timeout=PATIENCE, env=env)
    found = _VERSION.search((done.out + done.err).decode(errors="replace"))
    return found[0] if found else ""


def _shipped(name: str, kind: AgentType, version: str | Exception | None) -> Program:
    pin = pins().get(kind.program, {})
    if version is None:
        how = _how(pin)
        return Program(name, "ok", f"`{kind.program}` is not installed{how and f'; {how} installs it'}")
    place = f"`{which(kind.program)}`"
    if isinstance(version, Exception) or not version:
        return Program(name, "warn", f"{place} does not say its version", f"`{kind.program} --version`")
    tested = pin.get("version")
    known = "" if not tested else ", which is tested" if version == tested else f"; {tested} is tested"
    found = f"{place} {version}{known}"
    if lack := kind.lacks(os.environ):
        return Program(name, "warn", f"{found}: {lack[0]}", lack[1])
    return Program(name, "ok", found)


def _how(pin: dict[str, Any]) -> str:
    if "npm" in pin:
        return f"`npm install -g {pin['npm']}@{pin['version']}`"
    return f"`pipx install {pin['pip']}=={pin['version']}`" if "pip" in pin else ""


def _plain(name: str, kind: AgentType, args: tuple[str, ...]) -> Program:
    """One whose program depends on its arguments."""
    try:
        program = kind.launch(Order(args, folder="/", workspace="/")).argv[0]
    except MusterError as error:
        return Program(name, "warn", str(error), error.hint) if args else Program(name, "ok", "runs what it is given")
    if which(program):
        return Program(name, "ok", f"`{which(program)}`")
    return Program(name, "warn", f"there is no program `{program}` on $PATH", "install it to use this type")
