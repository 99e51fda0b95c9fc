"""The options that say what a new agent is to be: those of `create` and of `map`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from typing import Any, NamedTuple, TypeVar, cast

import click

from muster.core import dotenv
from muster.errors import UsageError

F = TypeVar("F", bound=Callable[..., Any])
_BEHIND = "muster.behind"


class Programmed(click.Command):
    """A command that hands over, as it is, what stands behind `--`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--" in args:
            at = args.index("--")
            ctx.meta[_BEHIND] = tuple(args[at + 1 :])
            args = args[:at]
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return [*super().collect_usage_pieces(ctx), "[-- ARGS...]"]


def behind() -> tuple[str, ...]:
    """What stands behind `--`."""
    found: tuple[str, ...] = click.get_current_context().meta.get(_BEHIND, ())
    return found


class Wished(NamedTuple):
    """What the command line says of an agent."""

    flags: dict[str, Any]
    templates: tuple[str, ...]
    args: tuple[str, ...]


def pairs(option: str, form: str, words: tuple[str, ...]) -> dict[str, str]:
    """`KEY=VALUE` words as a table. A value may be a secret, so what is wrong is not shown."""
    found = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not key or not equals:
            raise UsageError(f"`{option}` takes `{form}`")
        found[key] = value
    return found


def _complete_type(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    from muster.agents import TYPES
    from muster.core.config import load

    return sorted(name for name in {*TYPES, *load(os.getcwd()).types} if name.startswith(incomplete))


def _complete_template(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    from muster.core.config import load

    return sorted(name for name in load(os.getcwd()).templates if name.startswith(incomplete))


def _complete_variable(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    return sorted(name for name in os.environ if name.startswith(incomplete))


_PLACING = (
    click.option("--image", metavar="IMAGE", help="Of a new container: its image."),
    click.option("--snapshot", metavar="LABEL", help="Of a new container: the host snapshot that it is made from."),
    click.option("--network", metavar="none|full|allow:HOST,...", help="Of a new container: what it can reach."),
    click.option(
        "--host-set", metavar="KEY=VALUE", multiple=True, help="Of a new host: any key of [hosts.NAME]; repeatable."
    ),
)
_OPTIONS = (
    click.option("--type", metavar="TYPE", help="Agent type.", shell_complete=_complete_type),
    click.option(
        "--template",
        "templates",
        metavar="NAME",
        multiple=True,
        help="Settings of [templates.NAME]; of several the last word holds.",
        shell_complete=_complete_template,
    ),
    click.option("--from", "source", metavar="AGENT|PATH", help="Where the work comes from, instead of this folder."),
    click.option("--mode", type=click.Choice(["worktree", "clone", "copy", "in-place"]), help="Kind of workspace."),
    click.option(
        "--branch", metavar="BASE:NEW", help="What to start at, and the new branch; `*` stands for the agent's name."
    ),
    click.option(
        "--dirty",
        type=click.Choice(["refuse", "carry", "ignore"]),
        help="Uncommitted changes here: stop, take them along, or leave them.",
    ),
    click.option(
        "--permissions",
        type=click.Choice(["ask", "edit", "all"]),
        help="What it may do unasked: read, or edit too, or all (only on an isolated host).",
    ),
    click.option(
        "--unsafe-here", is_flag=True, default=None, help="Let `--permissions all` be, where nothing keeps it in."
    ),
    click.option(
        "--share",
        metavar="PATH",
        multiple=True,
        help="Link an ignored path of the project, or copy it to another host; repeatable.",
    ),
    click.option("--put", metavar="PATH", multiple=True, help="Copy an ignored path of the project; repeatable."),
    click.option("--setup", metavar="COMMAND", help="Run this once in the new workspace, before the agent."),
    click.option("--env", metavar="NAME=VALUE", multiple=True, help="A variable the agent gets; repeatable."),
    click.option("--env-file", metavar="FILE", multiple=True, help="A file of `NAME=VALUE` lines; repeatable."),
    click.option(
        "--pass-env",
        metavar="NAME|GLOB",
        multiple=True,
        help="Variables of yours the agent gets; repeatable.",
        shell_complete=_complete_variable,
    ),
    click.option("--label", metavar="KEY=VALUE", multiple=True, help="A label; repeatable."),
    click.option("--window", metavar="NAME=COMMAND", multiple=True, help="One more tmux window; repeatable."),
    *_PLACING,
    click.option("--log/--no-log", default=None, help="Keep all that the terminal shows, through a pipe."),
)


def making(function: F) -> F:
    """All those options, handed over as one `wished`."""

    @wraps(function)
    def gathered(**given: Any) -> Any:
        mine = {name: given.pop(name) for name in _NAMES}
        return function(wished=Wished(_flags(mine), mine["templates"], behind()), **given)

    for option in reversed(_OPTIONS):
        gathered = option(gathered)
    return cast(F, gathered)  # click calls it by names


def placing(function: F) -> F:
    """The options of a new host."""
    for option in reversed(_PLACING):
        function = option(function)
    return function


def placed(given: Mapping[str, Any]) -> dict[str, Any]:
    """What those options say, as settings of a host."""
    found: dict[str, Any] = dict(pairs("--host-set", "KEY=VALUE", given["host_set"] or ()))
    if given["image"] and given["snapshot"]:
        raise UsageError("`--image` and `--snapshot` say the same thing twice")
    if image := given["image"] or (given["snapshot"] and f"muster-snapshot:{given['snapshot']}"):
        found["image"] = image
    if given["network"]:
        kind, _, allowed = given["network"].partition(":")
        if kind not in ("none", "full", "allow") or bool(allowed) != (kind == "allow"):
            raise UsageError(f"`--network {given['network']}` is none of `none`, `full` and `allow:HOST,...`")
        found |= {"network": kind, "allow": allowed} if allowed else {"network": kind}
    return found


_NAMES = "type templates source mode branch dirty permissions unsafe_here share put setup env env_file pass_env label window log image snapshot network host_set".split()


def _flags(given: dict[str, Any]) -> dict[str, Any]:
    plain = "type source mode branch dirty permissions unsafe_here share put setup log".split()
    flags = {name: given[name] for name in plain}
    missing = [name for name in given["pass_env"] if dotenv.is_name(name) and name not in os.environ]
    if missing:
        raise UsageError(f"`--pass-env {missing[0]}`: there is no such variable")
    return {
        **flags,
        "env": dict(_environment(given["env_file"], given["env"])),
        "pass_env": given["pass_env"],
        "host": placed(given),
        "labels": pairs("--label", "KEY=VALUE", given["label"]),
        "windows": pairs("--window", "NAME=COMMAND", given["window"]),
    }


def _environment(files: tuple[str, ...], words: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for path in files:
        yield from dotenv.read(path).items()
    for word in words:
        name, equals, value = word.partition("=")
        if not dotenv.is_name(name):
            raise UsageError("`--env` takes `NAME=VALUE`")
        if not equals:
            raise UsageError(f"`--env {name}` has no value", hint=f"`--pass-env {name}` hands over your own")
        yield name, value
