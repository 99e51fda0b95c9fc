"""`muster config`: what is set, by whom, and setting it."""

from __future__ import annotations

import json
import os
import shlex
import sys
from typing import Any

import click

from muster.cli.options import Commands, output_format
from muster.core import config, out
from muster.core.config import FILE_LAYERS, FileLayer, Origin
from muster.core.out import Show

MASK = "•••"


def complete_key(_context: click.Context, _argument: click.Parameter, incomplete: str) -> list[str]:
    """The keys that begin so, for the shell's completion."""
    return [key for key in config.origins(os.getcwd()) if key.startswith(incomplete)]


key_argument = click.argument("key", shell_complete=complete_key)
layer_option = click.option(
    "--layer", type=click.Choice(FILE_LAYERS), default="user", show_default=True, help="Whose file."
)


@click.group("config", cls=Commands)
def command() -> None:
    """Read and change settings.

    Each layer is stronger than the one before: defaults, the user's file, the project's `muster.toml`,
    `muster.local.toml` beside it, variables such as `MUSTER_CREATE_TYPE`, flags.

    \b
    Examples:
      What is set, and by whom:
        muster config list --origin
      Always make clones:
        muster config set create.mode clone
    """


@command.command("get")
@key_argument
@output_format
def get(key: str, show: Show) -> None:
    """Print a setting's value.

    Tables and lists are printed as JSON. Values of variables are only shown by their own keys.

    \b
    Examples:
      muster config get create.mode
      muster config get create.env.TOKEN
      muster config get templates.review --format json
    """
    value = _value(key)
    show.one(value, lambda: _plain(value))


@command.command("set")
@key_argument
@click.argument("value")
@layer_option
def set_(key: str, value: str, layer: FileLayer) -> None:
    """Set a key in a file.

    VALUE is read as TOML where that fits the key, otherwise as plain text; a list may be written with commas.
    `-` reads it from standard input, which keeps a secret out of process lists and shell histories.

    \b
    Examples:
      muster config set create.mode clone
      muster config set create.pass_env 'GH_TOKEN,AWS_*'
      muster config set create.env.TOKEN - <token.txt
      Settings that everyone who works on this project shares:
        muster config set workspace.setup 'make deps' --layer project
      A template, for `muster create --template review`:
        muster config set templates.review.type scripted
    """
    from muster.core.config import edit

    edit.put(layer, _file(layer), key, sys.stdin.read().rstrip("\n") if value == "-" else value)


@command.command("unset")
@key_argument
@layer_option
def unset(key: str, layer: FileLayer) -> None:
    """Remove a key, or a whole table, from a file.

    \b
    Examples:
      muster config unset create.mode
      muster config unset templates.review --layer project
    """
    from muster.core.config import edit

    edit.take(layer, _file(layer), key)


@command.command("list")
@click.option("--origin", is_flag=True, help="Also show who says so.")
@output_format
def list_(origin: bool, show: Show) -> None:
    """Show every setting in force.

    Values of variables are not shown, only their names. JSON always says the origin.

    \b
    Examples:
      muster config list
      muster config list --origin
      Only what is not a default:
        muster config list --format jsonl | grep -v '"layer":"default"'
    """
    found = {key: _masked(key, one) for key, one in _origins().items()}
    records = [
        {"key": key, "value": one.value, "layer": one.layer, "file": one.file or None} for key, one in found.items()
    ]
    head = ["key", "value", "origin"] if origin else ["key", "value"]
    show.many(records, lambda _: out.table(head, [_row(key, one)[: len(head)] for key, one in found.items()]))


@command.command("edit")
@layer_option
def edit_(layer: FileLayer) -> None:
    """Open a file in your editor, and take it over if it is right.

    The editor is $VISUAL, else $EDITOR, else `vi`. It opens a copy: a text that can't be is kept aside, and the
    file stays as it was.

    \b
    Examples:
      muster config edit
      EDITOR='code --wait' muster config edit --layer project
    """
    from muster.core.config import edit

    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    if not edit.by_hand(layer, _file(layer), shlex.split(editor)):
        out.talk("nothing is changed")


@command.command("path")
@layer_option
def path(layer: FileLayer) -> None:
    """Print where a file is, or would be.

    \b
    Examples:
      muster config path
      cat "$(muster config path --layer project)"
    """
    out.say(_file(layer))


def _file(layer: FileLayer) -> str:
    from muster.core.config import layers

    return layers.files(os.getcwd())[layer]


def _origins() -> dict[str, Origin]:
    return config.origins(os.getcwd(), strict=True)


def _value(key: str) -> Any:
    from muster.core.config import keys
    from muster.errors import NotFound

    path = keys.parts(key)
    keys.kind(path)
    found = {keys.parts(name): (name, one) for name, one in _origins().items()}
    if path in found:
        return found[path][1].value
    inside = {one: _masked(*named).value for one, named in found.items() if one[: len(path)] == path}
    if not inside:
        raise NotFound(f"`{keys.dotted(path)}` is not set", hint=f"`muster config set {key} VALUE`")
    if hidden := next((named[0] for one, named in found.items() if inside.get(one) == MASK), None):
        out.hint(f"values of variables are only shown by their own keys, such as `{hidden}`")
    return _tree(inside, len(path))


def _tree(inside: dict[tuple[str, ...], Any], depth: int) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for path, value in inside.items():
        node = tree
        for name in path[depth:-1]:
            node = node.setdefault(name, {})
        node[path[-1]] = value
    return tree


def _masked(key: str, one: Origin) -> Origin:
    from muster.core.config import keys

    return Origin(MASK, one.layer, one.file) if keys.secret(keys.parts(key)) else one


def _row(key: str, one: Origin) -> list[str]:
    where = f"${one.file}" if one.layer == "environment" else one.file
    return [key, MASK if one.value == MASK else _json(one.value), f"{one.layer} {where}".rstrip()]


def _plain(value: Any) -> str:
    text = value if isinstance(value, str) else _json(value)
    # A value may come from a stranger's repository; a script gets it as it is.
    return out.safe(text, keep="\n\t") if sys.stdout.isatty() else text


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
