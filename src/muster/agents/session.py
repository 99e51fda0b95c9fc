"""An agent's seat on a host: its folder, its launch, its terminal session."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct

from muster import hosts
from muster.agents import Agent, AgentType, Launch, Order, Workspace
from muster.core import paths, proc, tmux
from muster.core.tmux import Server
from muster.errors import CommandFailed, UsageError
from muster.hosts import Host

# What a program needs of the user's environment to feel at home; the rest is asked for (`--pass-env`).
BASE_ENV = (
    "PATH HOME USER LOGNAME SHELL LANG LANGUAGE TZ TMPDIR EDITOR VISUAL PAGER COLORTERM SSH_AUTH_SOCK DISPLAY "
    "WAYLAND_DISPLAY XDG_RUNTIME_DIR XDG_CONFIG_HOME XDG_DATA_HOME XDG_CACHE_HOME XDG_STATE_HOME "
    "SSL_CERT_FILE SSL_CERT_DIR NODE_EXTRA_CA_CERTS REQUESTS_CA_BUNDLE CURL_CA_BUNDLE "
    "HTTP_PROXY HTTPS_PROXY NO_PROXY http_proxy https_proxy no_proxy"
).split()


WORKSPACE = "{workspace}"
# Where no session of the user's has set the scene: a locale that knows more than ASCII, if the host has one.
_ELSEWHERE = '[ -n "${LC_ALL-}${LC_CTYPE-}${LANG-}" ] || export LANG=C.UTF-8\n'
_SIZE = ["-x", str(tmux.WIDTH), "-y", str(tmux.HEIGHT)]


class Seat(Struct, frozen=True):
    """muster's folder, script and tmux server on one host."""

    host: Host

    @property
    def root(self) -> str:
        return self.host.root()

    @property
    def server(self) -> Server:
        return Server(self.host, paths.socket(self.root), f"{self.root}/tmux.conf")

    def script(self, *words: str) -> list[str]:
        """The command that runs our script there."""
        return ["sh", f"{self.root}/muster.sh", *words]

    def folder(self, agent: str) -> str:
        return f"{self.root}/agents/{agent}"

    def work(self, agent: str) -> str:
        return f"{self.root}/work/{agent}"


def prepare(seat: Seat, tmux_config: str = "") -> None:
    """Put our script and tmux configuration there, if they are not there already."""
    with open(os.path.join(os.path.dirname(__file__), "host.sh"), "rb") as file:
        script = file.read()
    server = seat.server
    script = script.replace(b"@TREE@", proc.tree_script().rstrip("\n").encode(), 1)
    script = script.replace(b"@ROOT@", shlex.quote(seat.root).encode(), 1)
    script = script.replace(b"@SOCKET@", shlex.quote(server.socket).encode(), 1)
    more = tmux_config if not hosts.far(seat.host) else ""
    files = {f"{seat.root}/muster.sh": script, server.config: tmux.config(f"{seat.root}/muster.sh", more)}
    if stale := hosts.stale(seat.host, files):
        hosts.write(seat.host, stale)
    if not server.socket.startswith(seat.root + "/"):
        hosts.folder(seat.host, os.path.dirname(server.socket))


def environment(names: Sequence[str], extra: Mapping[str, str], local: bool) -> dict[str, str]:
    """The variables an agent gets: the basics where it lives on this machine, those asked for, those given."""
    wanted = {*names, *(BASE_ENV if local else ())}
    if local:
        wanted.update(key for key in os.environ if key.startswith("LC_"))
    if globs := [name for name in names if "*" in name or "?" in name or "[" in name]:
        from fnmatch import fnmatchcase

        wanted.update(key for key in os.environ if any(fnmatchcase(key, glob) for glob in globs))
    if wrong := [key for key in extra if not key.isidentifier() or not key.isascii()]:
        raise UsageError(f"{wrong[0]!r} can't be the name of a variable")
    return {**{key: value for key, value in os.environ.items() if key in wanted}, **extra}


def variables(text: bytes, place: Workspace) -> dict[str, str]:
    """Those of the `env` file of an agent with that workspace."""
    text = text.replace(place.path.encode(), WORKSPACE.encode()) if place.mode != "in-place" else text
    try:
        words = shlex.split(text.decode(errors="surrogateescape"))
    except ValueError as error:
        raise CommandFailed(f"the variables in `{place.path}`'s environment can't be read: {error}") from error
    pairs = (word.partition("=") for word in words if "=" in word)
    return {key: value for key, _, value in pairs if not key.startswith("MUSTER_")}


def asked_for(env: Mapping[str, str]) -> dict[str, str]:
    """Those that are not the basics of one machine."""
    return {key: value for key, value in env.items() if key not in BASE_ENV and not key.startswith("LC_")}


def furnish(seat: Seat, agent: Agent, env: Mapping[str, str]) -> None:
    """Write what an agent's folder holds for its whole life: record, environment, its hook.

    `{workspace}` in a variable's value is the workspace's path, which nobody knows before.
    """
    folder = seat.folder(agent.id)
    given = {
        **{key: value.replace(WORKSPACE, agent.workspace.path) for key, value in env.items()},
        "MUSTER_AGENT": agent.name,
        "MUSTER_AGENT_ID": agent.id,
        "MUSTER_DIR": folder,
        "MUSTER_WORKSPACE": agent.workspace.path,
        "MUSTER_NOTE": f"{folder}/note",
        "MUSTER_OUTCOME": f"{folder}/outcome.json",
        "MUSTER_ARTIFACTS": f"{folder}/artifacts",
    }
    if not hosts.far(seat.host):
        given["MUSTER_HOME"] = seat.root
    exports = "".join(f"export {key}={shlex.quote(value)}\n" for key, value in given.items())
    enter = (
        f"{_ELSEWHERE if hosts.far(seat.host) else ''}"
        f"cd {shlex.quote(agent.workspace.path)} || exit 125\n. {shlex.quote(folder + '/env')}\n"
        'if [ $# -gt 0 ]; then exec "$@"; fi\n'
    )
    note = f'#!/bin/sh\nexec {shlex.join(seat.script("note", agent.id))} "$@"\n'
    files = {
        f"{folder}/env": exports.encode(),
        f"{folder}/enter": enter.encode(),
        f"{folder}/artifacts/.keep": b"",
        f"{folder}/record.json": msgspec.json.encode(agent),
    }
    hosts.write(seat.host, files, programs={f"{folder}/note": note.encode()})


def record(seat: Seat, agent: Agent) -> None:
    """The agent's record beside it, from which a lost registry can be made again."""
    hosts.write(seat.host, {f"{seat.folder(agent.id)}/record.json": msgspec.json.encode(agent)})


def begin(seat: Seat, agent: Agent, kind: AgentType, order: Order) -> Launch:
    """Start the program in a session of its own."""
    folder = seat.folder(agent.id)
    launch = kind.launch(order)
    exports = "".join(f"export {key}={shlex.quote(value)}\n" for key, value in launch.env.items())
    script = f"# Starts `{agent.name}`. Written by muster.\n. {shlex.quote(folder + '/enter')}\n{exports}exec {shlex.join(launch.argv)}\n"
    files = {f"{folder}/{name}": data for name, data in launch.files.items()}
    # Evidence of an earlier life must not be read as that of this one.
    stale = [f"{folder}/{name}" for name in ("exit", "state", "status.json") if f"{folder}/{name}" not in files]
    hosts.write(seat.host, {**files, f"{folder}/launch": script.encode()}, gone=stale)
    commands = [
        ["new-session", "-d", "-s", agent.id, "-n", "agent", *_SIZE, "sh", f"{folder}/launch"],
        ["set-option", "-t", tmux.session(agent.id), "@muster_name", agent.name],
    ]
    pipe = f"exec cat >>{shlex.quote(folder + '/log')}"
    if hosts.far(seat.host):
        # Asked there, in the same breath; not by `if-shell`, for which tmux can wait for ever (tmux issue 311).
        commands.append(
            ["pipe-pane", "-t", tmux.pane(agent.id), f"test ! -f {shlex.quote(folder + '/keep-log')} || {pipe}"]
        )
    elif os.path.exists(f"{folder}/keep-log"):
        commands.append(["pipe-pane", "-t", tmux.pane(agent.id), pipe])
    if kind.titles:
        commands.append(["set-hook", "-t", tmux.session(agent.id), "pane-title-changed", tmux.TITLED])
    for name, command in agent.windows.items():
        target = ["-t", tmux.session(agent.id), "-n", name]
        commands.append(["new-window", "-d", *target, "sh", f"{folder}/enter", "sh", "-c", command])
    env = environment((), {}, True) if not hosts.far(seat.host) else None
    result = seat.server.run(*tmux.chain(commands), check=False, env=env)
    if result.code and b"duplicate session" not in result.err:
        raise CommandFailed(
            f"tmux could not start `{agent.name}`: {result.said}", hint="`muster doctor` looks for the cause"
        )
    return launch


def end(seat: Seat, agents: Sequence[str]) -> None:
    """End these agents' sessions and every process in them."""
    if agents:
        proc.run(seat.host, seat.script("stop", *agents))


def clear(seat: Seat, agent: str) -> None:
    """End what a command that was cut short still does with that agent there; here its lock is waited for."""
    proc.run(seat.host, seat.script("clear", agent))


def keep_scrollback(seat: Seat, agent: Agent) -> None:
    """What the terminal showed, put into the agent's folder before its session goes."""
    if hosts.far(seat.host):
        proc.run(seat.host, seat.script("scrollback", agent.id))
        return
    target = tmux.pane(agent.id)
    shown = seat.server.run("capture-pane", "-p", "-e", "-J", "-S", "-", "-t", target, check=False)
    if shown.code == 0 and shown.out.strip():
        log = f"{seat.folder(agent.id)}/scrollback"
        earlier = hosts.read(seat.host, log) or b""
        hosts.write(seat.host, {log: (earlier + shown.out.rstrip(b"\n") + b"\n")[-20_000_000:]})


def alive(seat: Seat, agent: str) -> bool:
    """Whether the agent's session is there with its program running."""
    result = seat.server.run("display-message", "-p", "-t", tmux.pane(agent), "#{pane_dead}", check=False)
    return result.code == 0 and result.text == "0"
