"""Changing a settings file: its comments and layout stay, and what it can't hold is refused before it is written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from muster.core import paths
from muster.core.config import FileLayer, keys, layers
from muster.core.config.keys import Path
from muster.errors import MusterError, NotFound, Refused, UsageError


def put(layer: FileLayer, file: str, key: str, text: str) -> None:
    """Set a key in that file."""
    path = keys.parts(key)
    value = meant(text, path)
    layers.permit([one for one, _ in keys.leaves(value, path, keys.kind(path))], layer, os.path.dirname(file))
    with _held(file):
        _write(layer, file, _with(layers.read(file), file, path, value))


def take(layer: FileLayer, file: str, key: str) -> None:
    """Remove a key from that file, also one that no muster knows."""
    path = keys.parts(key)
    with _held(file):
        text = layers.read(file)
        node: Any = layers.parsed(text, file)
        for name in path:
            node = node.get(name) if isinstance(node, dict) else None
        if node is None:
            keys.kind(path)
            raise NotFound(f"`{keys.dotted(path)}` is not set in `{file}`", hint="`muster config list --origin`")
        _write(layer, file, _without(text, file, path))


def meant(text: str, path: Path) -> Any:
    """A value from the command line: TOML where that fits the key, otherwise as in a variable."""
    from tomllib import TOMLDecodeError, loads

    kind = keys.kind(path)
    if len(path) == 1:
        raise UsageError(f"`{path[0]}` is a section", hint=f"give a key in it: `{path[0]}.KEY`")
    try:
        table = loads(f"value = {text}")
        if len(table) == 1:
            list(keys.leaves(table["value"], path, kind))
            return table["value"]
    except (TOMLDecodeError, keys.Wrong):
        pass  # then it is no TOML
    value = keys.from_text(text, kind)
    list(keys.leaves(value, path, kind))
    return value


def by_hand(layer: FileLayer, file: str, editor: list[str]) -> bool:
    """Let the user edit a copy, which replaces the file if it holds; says whether anything changed."""
    before = layers.read(file)
    draft = os.path.join(paths.folder(paths.home()), f"config.{layer}.{os.getpid()}.toml")
    paths.write(draft, before.encode())
    try:
        if code := _run([*editor, draft]):
            raise MusterError(f"`{editor[0]}` ended with {code}, so nothing is changed")
        after = layers.read(draft)
        # An editor that left no file has said nothing.
        if after == before or not os.path.exists(draft):
            return False
        layers.said(after, layer, draft, os.path.dirname(file))
        _replace(layer, file, before, after)
        return True
    except MusterError as error:
        if _only_in(draft, before, file):
            error.hint = "; ".join(filter(None, [error.hint, f"your text is kept in `{draft}`"]))
        raise
    finally:
        if not _only_in(draft, before, file) and os.path.exists(draft):
            os.unlink(draft)


def _run(argv: list[str]) -> int:
    from muster.core import proc

    return proc.start(layers.Here(), argv, group=False).wait()


def _only_in(draft: str, before: str, file: str) -> bool:
    """Whether that draft has a text that would be lost with it."""
    try:
        return os.path.exists(draft) and layers.read(draft) not in (before, layers.read(file))
    except UsageError:
        return True  # not UTF-8


def _replace(layer: FileLayer, file: str, before: str, after: str) -> None:
    with _held(file):
        if layers.read(file) != before:
            raise Refused(f"`{file}` was changed by someone else meanwhile")
        _write(layer, file, after)


def _with(text: str, file: str, path: Path, value: Any) -> str:
    import tomlkit
    from tomlkit.items import InlineTable

    data, document = layers.parsed(text, file), tomlkit.parse(text)
    plain: Any = data
    table: Any = document
    for depth, name in enumerate(path[:-1], 1):
        plain = plain.setdefault(name, {})
        if name not in table:
            # A table that only holds tables needs no header of its own.
            inline = isinstance(table, InlineTable)
            empty = depth < len(path) - 1 and keys.is_table(keys.kind(path[: depth + 1]))
            table[name] = tomlkit.inline_table() if inline else tomlkit.table(is_super_table=empty)
        table = table[name]
        if not isinstance(plain, dict):
            raise UsageError(f"`{file}`: `{keys.dotted(path[:depth])}` is not a table")
    plain[path[-1]] = table[path[-1]] = value
    return _checked(tomlkit.dumps(document), data, file)


def _without(text: str, file: str, path: Path) -> str:
    import tomlkit

    data, document = layers.parsed(text, file), tomlkit.parse(text)
    for depth in range(len(path), 0, -1):
        plain: Any = data
        table: Any = document
        for name in path[: depth - 1]:
            plain, table = plain[name], table[name]
        del plain[path[depth - 1]], table[path[depth - 1]]
        # A table that is left with nothing goes, too; a comment in it is something.
        if plain or depth == 1 or table.as_string().strip():
            break
    return _checked(tomlkit.dumps(document), data, file)


def _checked(text: str, data: dict[str, Any], file: str) -> str:
    """That text, if it says what it should: not every layout survives a change."""
    from tomllib import TOMLDecodeError, loads

    try:
        right = loads(text) == data
    except TOMLDecodeError:
        right = False
    if not right:
        raise MusterError(f"can't change `{file}` and keep its layout", hint="do it by hand: `muster config edit`")
    return text


def _write(layer: FileLayer, file: str, text: str) -> None:
    # A user's file may be a link into a collection of dotfiles. A project's may be a stranger's link to anywhere.
    paths.write(os.path.realpath(file) if layer == "user" else file, text.encode(), 0o600)


@contextmanager
def _held(file: str) -> Iterator[None]:
    """One writer at a time; the folder is what is locked, as the file is replaced."""
    import fcntl

    descriptor = os.open(paths.folder(os.path.dirname(file)), os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
