"""Is this machine fit for a fleet, and is the fleet well? Looks only, and makes nothing."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from muster import __version__
from muster.agents import Agent
from muster.core import config, git, paths, proc
from muster.core.tmux import Server
from muster.errors import MusterError
from muster.fleet import wishes
from muster.fleet.programs import programs
from muster.fleet.registry import Registry
from muster.hosts.local import Local

Grade = Literal["ok", "warn", "fail"]
TMUX, GIT = (3, 2), (2, 38)
# What runs out soon, and what is too little for a checkout.
LOW, TOO_LOW = 1_000_000_000, 100_000_000
# git holds its locks for seconds.
STALE = 600.0


class Check(Struct, frozen=True, omit_defaults=True):
    """One thing that was looked at."""

    name: str
    grade: Grade
    found: str
    hint: str = ""


def examine(home: str, folder: str) -> Iterator[Check]:
    """Every check, for the fleet of that home and somebody who works in that folder."""
    here = Local(home)
    yield Check("python", "ok", sys.version.partition(" ")[0])
    yield Check("muster", "ok", __version__)
    yield _program(here, "tmux", "-V", TMUX)
    yield _program(here, "git", "--version", GIT)
    yield _identity(here, folder)
    yield _home(home)
    yield _space(home)
    yield _socket(home)
    yield _settings(folder)
    yield from _types(folder)
    registry = _registry(home)
    if isinstance(registry, Check):
        yield registry
        return
    yield Check("registry", "ok", f"`{registry.store.path}`, {_count(len(registry.all()), 'agent')}")
    for check in (_half_made, _sessions, _workspaces, _folders, _locks):
        yield from check(registry)
    if any(agent.host != "local" for agent in registry.all()):
        from muster.fleet import Fleet
        from muster.fleet.outposts import checks

        yield from checks(Fleet(home))


def _program(here: Local, name: str, option: str, least: tuple[int, int]) -> Check:
    wanted = ".".join(map(str, least))
    try:
        said = proc.run(here, [name, option], check=False).text
    except MusterError:
        return Check(name, "fail", "not installed", f"install {name} {wanted} or newer")
    version = re.search(r"(\d+)\.(\d+)\S*", said)
    if not version:
        return Check(name, "warn", f"its version is not to be read from `{said}`", f"{wanted} or newer is needed")
    if (int(version[1]), int(version[2])) < least:
        return Check(name, "fail", version[0], f"install {name} {wanted} or newer")
    return Check(name, "ok", version[0])


def _identity(here: Local, folder: str) -> Check:
    try:
        found = git.run(here, folder, "var", "GIT_AUTHOR_IDENT", check=False)
        email = git.run(here, folder, "config", "user.email", check=False)
    except MusterError:
        return Check("identity", "fail", "git is not installed")
    if found.code or not (email.text or os.environ.get("GIT_AUTHOR_EMAIL") or os.environ.get("EMAIL")):
        hint = "`git config --global user.email ADDRESS`, and the same for `user.name`"
        return Check("identity", "warn", "git doesn't know who you are, so agents can't commit", hint)
    return Check("identity", "ok", found.text.rpartition("> ")[0] + ">")


def _home(home: str) -> Check:
    if not os.path.lexists(home):
        above = _existing(home)
        if not os.path.isdir(above) or not os.access(above, os.W_OK | os.X_OK):
            return Check(
                "home",
                "fail",
                f"`{home}` is not there, and `{above}` can't be written",
                "set $MUSTER_HOME to another folder",
            )
        return Check("home", "ok", f"`{home}`, not there yet")
    if not os.path.isdir(home):
        return Check("home", "fail", f"`{home}` is not a folder", "set $MUSTER_HOME to another one")
    if not os.access(home, os.R_OK | os.W_OK | os.X_OK):
        return Check("home", "fail", f"`{home}` can't be written", "set $MUSTER_HOME to another folder")
    mode = os.stat(home).st_mode & 0o777
    if mode & 0o077:
        return Check("home", "warn", f"`{home}` is open to other users (mode {mode:04o})", f"`chmod 700 {home}`")
    return Check("home", "ok", f"`{home}`")


def _existing(path: str) -> str:
    while not os.path.exists(path):
        path = os.path.dirname(path)
    return path


def _space(home: str) -> Check:
    disk = os.statvfs(_existing(home))
    free = disk.f_bavail * disk.f_frsize
    grade: Grade = "fail" if free < TOO_LOW else "warn" if free < LOW else "ok"
    hint = "make room there, or set $MUSTER_HOME to a folder on another disk"
    return Check("disk", grade, f"{free / 1e9:.1f} GB free", "" if grade == "ok" else hint)


def _socket(home: str) -> Check:
    socket = paths.socket(home)
    folder = os.path.dirname(socket)
    if socket.startswith(home + "/"):
        return Check("socket", "ok", f"{len(socket.encode())} bytes of path")
    if os.path.lexists(folder) and (os.path.islink(folder) or os.stat(folder).st_uid != os.getuid()):
        hint = "set $MUSTER_HOME to a folder with a shorter path"
        return Check("socket", "fail", f"`{folder}`, where it has to be, is not yours", hint)
    return Check("socket", "ok", f"`{socket}`, as a socket's path is short and that of the home is not")


def _settings(folder: str) -> Check:
    try:
        config.load(folder, strict=True)
    except MusterError as error:
        return Check("settings", "fail", str(error), error.hint)
    layers = sorted({one.file for one in config.origins(folder).values() if one.file})
    return Check("settings", "ok", ", ".join(f"`{file}`" for file in layers) or "all defaults")


def _types(folder: str) -> Iterator[Check]:
    from muster.fleet.plugins import plugins

    try:
        found = plugins(folder)
        settings = config.load(folder)
    except MusterError:
        return  # the settings were complained of already
    wanted = []
    for one in found:
        if one.kind != "type":
            continue
        if one.fault:
            yield Check(f"type {one.name}", "warn", f"can't be used: {one.fault}", f"it comes from {one.origin}")
            continue
        try:
            wanted.append((one.name, *wishes.behind(settings, one.name)))
        except MusterError as error:
            yield Check(f"type {one.name}", "warn", str(error), error.hint)
    for program in programs(wanted):
        yield Check(f"type {program.type}", program.grade, program.found, program.hint)


def _registry(home: str) -> Registry | Check:
    path = f"{home}/muster.db"
    # Opening it would make it.
    if not os.path.exists(path):
        return Check("registry", "ok", "there are no agents yet")
    try:
        registry = Registry(home)
        [(said,)] = registry.store.rows("PRAGMA quick_check(1)")
    except MusterError as error:
        return Check("registry", "fail", str(error), error.hint)
    if said != "ok":
        return Check(
            "registry", "fail", f"`{path}` is damaged: {said}", "the agents' own records are in `agents/*/record.json`"
        )
    return registry


def _half_made(registry: Registry) -> Iterator[Check]:
    half = [agent for agent in registry.half_done() if not registry.busy(agent.id)]
    found = [f"`{agent.name}` ({agent.intent})" for agent in half]
    moving = [agent for agent in registry.all() if agent.moving and not registry.busy(agent.id)]
    found += [f"`{agent.name}` (migrating)" for agent in moving]
    yield _each("half-made", found, "`muster gc` finishes what was cut short")


def _sessions(registry: Registry) -> Iterator[Check]:
    home = registry.home
    server = Server(Local(home), paths.socket(home), f"{home}/tmux.conf")
    listing = server.run("list-sessions", "-F", "#{session_name}", check=False).text.split()
    known = {agent.id: agent for agent in registry.all()}
    ghosts = [f"`{name}`" for name in listing if name not in known]
    yield _each("sessions of no agent", ghosts, "`muster gc` ends them")
    lost = [f"`{agent.name}`" for agent in known.values() if agent.id not in listing and _should_have_one(home, agent)]
    yield _each("agents without session", lost, "`muster start NAME` brings them back")


def _should_have_one(home: str, agent: Agent) -> bool:
    ended = os.path.exists(f"{home}/agents/{agent.id}/exit")
    return agent.host == "local" and agent.intent == "started" and not ended


def _workspaces(registry: Registry) -> Iterator[Check]:
    agents = [one for one in registry.all() if one.host == "local" and one.intent in ("started", "stopped")]
    gone = [f"`{one.name}`" for one in agents if not os.path.isdir(one.workspace.path)]
    yield _each("agents without workspace", gone, "`muster destroy NAME` keeps what is left of them")


def _folders(registry: Registry) -> Iterator[Check]:
    # The listing comes first: a create takes its name before it makes a folder.
    found = {kind: _names(f"{registry.home}/{kind}") for kind in ("work", "agents")}
    known = {agent.id for agent in registry.all()}
    orphans = [f"`{registry.home}/work/{name}`" for name in found["work"] if name not in known]
    yield _each("workspaces of no agent", orphans, "look at them before you remove them: `muster gc` doesn't")
    folders = [f"`{registry.home}/agents/{name}`" for name in found["agents"] if name.split(".")[0] not in known]
    yield _each("folders of no agent", folders, "`muster gc` removes those without a record")


def _locks(registry: Registry) -> Iterator[Check]:
    names = {name.split(".")[0] for name in _names(f"{registry.home}/locks") if not name.startswith("host-")}
    agents = registry.all()
    left = sorted(names - {agent.id for agent in agents})
    yield _each(
        "locks of no agent", [f"`{name}`" for name in left if not registry.busy(name)], "`muster gc` removes them"
    )
    stale = [lock for agent in agents if agent.host == "local" and _old(lock := _index_lock(agent))]
    yield _each("locks that git left", [f"`{lock}`" for lock in stale], "remove them if no git is at work there")


def _index_lock(agent: Agent) -> str:
    """Where git locks the index of that workspace."""
    path = f"{agent.workspace.path}/.git"
    try:
        with open(path) as file:
            path = os.path.join(agent.workspace.path, file.read().strip().removeprefix("gitdir: "))
    except OSError:
        pass  # a folder, or not there at all
    return f"{path}/index.lock"


def _old(path: str) -> bool:
    try:
        return time.time() - os.path.getmtime(path) > STALE
    except OSError:
        return False


def _each(name: str, found: list[str], hint: str) -> Check:
    """A check that is fine when nothing is found."""
    if not found:
        return Check(name, "ok", "none")
    more = f" and {len(found) - 5} more" if len(found) > 5 else ""
    return Check(name, "warn", ", ".join(found[:5]) + more, hint)


def _names(folder: str) -> list[str]:
    return sorted(os.listdir(folder)) if os.path.isdir(folder) else []


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
