"""Wishes: what the configuration, templates and the command line say of an agent, as one task."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from muster.agents import TYPES, AgentType, Permissions, agent_type
from muster.core import dotenv, names
from muster.errors import NotFound, UsageError
from muster.fleet import Task

if TYPE_CHECKING:
    from muster.core.config import Config, OwnType, Template
    from muster.fleet import Fleet

# What every layer adds to. Of all else the last word holds.
_TABLES = ("env", "labels", "windows")
_LISTS = ("share", "put", "pass_env")


def task(fleet: Fleet, flags: Mapping[str, Any], templates: Sequence[str] = (), args: Sequence[str] = ()) -> Task:
    """The configuration, over it the templates, over them the flags; a flag that is None says nothing."""
    given = {field: value for field, value in flags.items() if value is not None}
    if args:
        given["args"] = args
    config = settings(fleet, given)
    layers = [_configured(config), *(_said(_template(config, name)) for name in templates), given]
    wanted = _merged(layers)
    kind, own = _kind(config, wanted)
    # What a type of the user's sets is stronger than what every agent gets, and weaker than what this one is given.
    layers[1:1] = [{"env": one.env} for one in own]
    wanted = _merged(layers)
    before = [word for one in own for word in one.args]
    _check(wanted)
    if config.create.host and "@" not in wanted.get("name", ""):
        wanted["name"] = f"{wanted.get('name', '')}@{config.create.host}"
    return msgspec.structs.replace(Task(), **{**wanted, "type": kind, "args": (*before, *wanted.get("args", ()))})


def settings(fleet: Fleet, flags: Mapping[str, Any]) -> Config:
    """The settings in force where the agent's work comes from."""
    source = flags.get("source") or ""
    if not source or os.path.isdir(source):
        return fleet.config(os.path.realpath(source or os.getcwd()))
    # Not its workspace: what an agent writes there doesn't decide how others are made.
    agent = fleet.registry.find(source)
    return fleet.config(agent.project if agent and os.path.isdir(agent.project) else os.getcwd())


def connects(config: Config, templates: Sequence[str] = ()) -> bool:
    """Whether the settings want a terminal put on the new agent's at once."""
    said = [_template(config, name).connect for name in templates]
    return next((one for one in reversed(said) if one is not None), config.create.connect)


def numbered(task: Task, count: int) -> list[Task]:
    """So many tasks like this one; a name gets a number."""
    name, at, place = task.name.partition("@")
    if not name:
        return [task] * count
    return [msgspec.structs.replace(task, name=f"{name}-{number}{at}{place}") for number in range(1, count + 1)]


def _configured(config: Config) -> dict[str, Any]:
    create = config.create
    said = {field: getattr(create, field) for field in ("mode", "branch", "dirty", "pass_env", "env", "labels", "log")}
    return {
        **said,
        "type": create.type,
        "setup": config.workspace.setup,
        "share": config.workspace.share,
        "put": config.workspace.put,
    }


def _said(template: Template) -> dict[str, Any]:
    fields = {field: getattr(template, field) for field in template.__struct_fields__ if field != "connect"}
    return {field: value for field, value in fields.items() if value is not None}


def _merged(layers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    wanted: dict[str, Any] = {}
    for layer in layers:
        for field, value in layer.items():
            if field in _TABLES:
                wanted[field] = {**wanted.get(field, {}), **value}
            elif field in _LISTS:
                wanted[field] = tuple(dict.fromkeys((*wanted.get(field, ()), *value)))
            elif field != "type" or value:
                wanted[field] = value
    return wanted


def _template(config: Config, name: str) -> Template:
    if name in config.templates:
        return config.templates[name]
    hint = names.nearest(name, config.templates, "template") or "`muster config set templates.NAME.type TYPE` makes one"
    raise NotFound(f"there is no template `{name}`", hint=hint)


def _kind(config: Config, wanted: Mapping[str, Any]) -> tuple[str, list[OwnType]]:
    """The agent type, and the user's types that lead to it, the most general first."""
    kind = wanted.get("type") or ("command" if wanted.get("args") else "")
    if not kind:
        raise _no_type(config, wanted)
    own: list[OwnType] = []
    seen: set[str] = set()
    while kind in config.types and kind not in seen:
        seen.add(kind)
        own.insert(0, config.types[kind])
        # A type of the user's may have the name of one of ours, and add to it.
        if config.types[kind].parent == kind:
            break
        kind = config.types[kind].parent
    else:
        if kind in seen:
            raise UsageError(f"the types {', '.join(f'`{one}`' for one in sorted(seen))} are each other's parents")
    try:
        agent_type(kind)
    except NotFound as error:
        raise NotFound(str(error), hint=_meant(config, wanted, kind) or error.hint) from None
    return kind, own


def behind(config: Config, name: str) -> tuple[AgentType, tuple[str, ...]]:
    """The agent type that one of that name, which may be the user's, is made from, and the arguments that come with it."""
    kind, own = _kind(config, {"type": name})
    return agent_type(kind), tuple(word for one in own for word in one.args)


def mode(config: Config, kind: str, wanted: Permissions | None) -> Permissions | None:
    """What that type is to be allowed: one without modes asks for nothing by itself."""
    return wanted if behind(config, kind)[0].permissions else None


def _meant(config: Config, wanted: Mapping[str, Any], kind: str) -> str:
    from difflib import get_close_matches
    from shutil import which

    known = [*TYPES, *config.types]
    if near := get_close_matches(kind, known, 1, 0.6):
        return f"did you mean `{near[0]}`?"
    if "/" not in kind and which(kind):
        return f"to run that program: `muster create {wanted.get('name') or 'NAME'} -- {kind}`"
    return names.nearest(kind, known, "agent type")


def _no_type(config: Config, wanted: Mapping[str, Any]) -> UsageError:
    name = wanted.get("name") or ""
    names.Address.parse(name)  # a word that can't be a name is the first thing to mend
    known = sorted({*TYPES, *config.types})
    if name in known:
        return UsageError(
            f"`{name}` would be the agent's name, and it has no type", hint=f"`muster create --type {name}`"
        )
    types = ", ".join(f"`{one}`" for one in known)
    program = f"`muster create {name or 'NAME'} -- PROGRAM` runs a program"
    return UsageError("which agent type?", hint=f"the types are {types}; {program}")


def _check(wanted: Mapping[str, Any]) -> None:
    """What would only fail later, and worse. Values are not shown: they may be secrets."""
    for name, value in wanted["env"].items():
        if not dotenv.is_name(name):
            raise UsageError("a variable's name has letters, digits and `_`, and begins with no digit")
        if "\0" in value:
            raise UsageError(f"the variable `{name}` holds a NUL, which no variable can")
    if any("\0" in word for word in wanted.get("args", ())):
        raise UsageError("an argument holds a NUL, which no argument can")
    if any(not name or not command for name, command in wanted.get("windows", {}).items()):
        raise UsageError("a window has a name and a command", hint="`--window logs='tail -f app.log'`")
    message = wanted.get("message")
    if message is not None and not message.strip():
        raise UsageError("the message is empty", hint="leave it out to say nothing yet")
