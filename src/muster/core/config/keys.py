"""Dotted keys: which there are, and what fits them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta, Struct

from muster.core.config import Config, OwnType
from muster.errors import UsageError

Path = tuple[str, ...]
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_WORDS = {str: "a string", int: "an integer", float: "a number", bool: "`true` or `false`", Any: "any value"}


class Wrong(UsageError):
    """A key or a value that can't be, before it is known where it stands."""

    def __init__(self, path: Path, message: str, *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.path = path


class Key(Struct, frozen=True):
    """A key as it is documented."""

    name: str
    words: str
    default: str
    about: str


def parts(key: str) -> Path:
    """The parts of a dotted key, quoted where TOML wants quotes; outside of TOML any name does without."""
    plain = tuple(key.split("."))
    if not {'"', "'"} & set(key):
        return plain
    from tomllib import TOMLDecodeError, loads

    try:
        node: Any = loads(f"{key} = []")
    except TOMLDecodeError:
        return plain
    path = []
    while isinstance(node, dict) and len(node) == 1:
        [(name, node)] = node.items()
        path.append(name)
    # Anything but one key is more TOML than was asked for.
    return tuple(path) if node == [] else plain


def dotted(path: Path) -> str:
    """The key of those parts."""
    return ".".join(part if _BARE.fullmatch(part) else msgspec.json.encode(part).decode() for part in path)


def in_order(item: tuple[Path, Any]) -> tuple[int, Path]:
    """Sections as they are documented, then what is in them by name."""
    path = item[0]
    return Config.__struct_fields__.index(path[0]), path


def kind(path: Path) -> Any:
    """The type of what that key holds."""
    found: Any = Config
    for depth, name in enumerate(path, 1):
        following = _entry(found, name)
        if following is None:
            raise unknown(path[:depth], found)
        found = following
    return found


def is_table(kind: Any) -> bool:
    """Whether a value of that type has keys of its own."""
    core = _core(kind)
    return get_origin(core) is dict or _struct(core)


def leaves(value: Any, path: Path = (), kind: Any = Config) -> Iterator[tuple[Path, Any]]:
    """Every value in a table with its path, checked; a named table without entries is one, too."""
    if not is_table(kind):
        yield path, _fit(value, path, kind)
        return
    if not isinstance(value, Mapping):
        raise Wrong(path, f"`{dotted(path)}` must be {words(kind)}")
    if not value and len(path) > 1:
        yield path, {}
    for name, inner in value.items():
        following = _entry(kind, name)
        if following is None:
            raise unknown((*path, name), kind)
        yield from leaves(inner, (*path, name), following)


def from_text(text: str, kind: Any) -> Any:
    """What a plain text means for that type; the text itself where it means nothing."""
    core = _core(kind)
    try:
        if core in (int, float, bool):
            return msgspec.convert(text, core, strict=False)
        if get_origin(core) is tuple:
            return _json(text) if text.startswith("[") else [one.strip() for one in text.split(",") if one.strip()]
        if get_origin(core) is dict:
            return _json(text) if text.startswith("{") else _pairs(text)
    except (msgspec.MsgspecError, ValueError):
        pass  # the check that follows names what is expected
    return text


def unknown(path: Path, kind: Any) -> Wrong:
    """There is no such key in a table of that type."""
    what = "section" if len(path) == 1 else "key"
    return Wrong(path, f"there is no {what} `{dotted(path)}`", hint=_meant(path, _names(kind)))


def secret(path: Path) -> bool:
    """Whether that key is a variable's, whose value may be a secret."""
    at = 1 if path[0] == "create" else 2
    return path[0] in ("create", "templates", "types") and path[at : at + 1] == ("env",) and len(path) == at + 2


def words(kind: Any) -> str:
    """What a type expects, for people."""
    core = _core(kind)
    if get_origin(core) is Literal:
        return "one of " + ", ".join(f"`{word}`" for word in get_args(core))
    if get_origin(core) is tuple:
        return "a list of strings"
    if is_table(kind):
        return "a table of strings" if core == dict[str, str] else "a table"
    return _WORDS[core] + _bound(kind)


def documented() -> Iterator[Key]:
    """Every key there is, with NAME where the user gives the name."""
    for path, hint in _all(Config, ()):
        about = next((meta.description for meta in _metas(hint) if meta.description), "")
        yield Key(".".join(path), words(hint), _default(path), about)


def variables() -> dict[str, Path]:
    """The environment's name of every key that has one: those of sections without names of the user's."""
    return {
        f"MUSTER_{section}_{key}".upper(): (section, key)
        for section in Config.__struct_fields__
        for key in getattr(getattr(Config(), section), "__struct_fields__", ())
    }


@cache
def _hints(struct: type[Struct]) -> dict[str, Any]:
    return get_type_hints(struct, include_extras=True)


def _core(kind: Any) -> Any:
    """A type without its description, and without the None that says nothing was set."""
    if get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    if get_origin(kind) in (Union, UnionType):
        kind = next(one for one in get_args(kind) if one is not NoneType)
    return kind


def _metas(kind: Any) -> list[Meta]:
    return [meta for meta in getattr(kind, "__metadata__", ()) if isinstance(meta, Meta)]


def _struct(core: Any) -> bool:
    return isinstance(core, type) and issubclass(core, Struct)


def _entry(kind: Any, name: str) -> Any:
    core = _core(kind)
    if _struct(core):
        return _hints(core).get(name)
    return get_args(core)[1] if get_origin(core) is dict else None


def _names(kind: Any) -> list[str]:
    core = _core(kind)
    return list(core.__struct_fields__) if _struct(core) else []


def _fit(value: Any, path: Path, kind: Any) -> Any:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError:
        pass  # its words are about Python; and a value may be a secret, so it is not shown
    core = _core(kind)
    hint = _near(value, get_args(core)) if get_origin(core) is Literal and isinstance(value, str) else ""
    raise Wrong(path, f"`{dotted(path)}` must be {words(kind)}", hint=f"did you mean `{hint}`?" if hint else "")


def _json(text: str) -> Any:
    return msgspec.json.decode(text)


def _pairs(text: str) -> dict[str, str]:
    pairs = [one.partition("=") for one in text.split(",") if one.strip()]
    if not all(equals for _, equals, _ in pairs):
        raise ValueError("a pair without `=`")
    return {name.strip(): value.strip() for name, _, value in pairs}


def _near(wrong: str, names: Iterable[str]) -> str:
    from difflib import get_close_matches

    return next(iter(get_close_matches(wrong, names, 1)), "")


def _meant(path: Path, names: list[str]) -> str:
    name, before = path[-1], path[:-1]
    homes = [section for section, key in variables().values() if key == name]
    if not before and homes:
        return f"did you mean `{homes[0]}.{name}`?"
    if found := _near(name, names):
        return f"did you mean `{dotted((*before, found))}`?"
    return "there are " + ", ".join(f"`{dotted((*before, one))}`" for one in names) if names else ""


def _bound(kind: Any) -> str:
    for meta in _metas(kind):
        if meta.ge is not None:
            return f", {meta.ge} or more"
        if meta.gt is not None:
            return f", more than {meta.gt}"
    return ""


def _all(kind: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    core = _core(kind)
    if _struct(core):
        for name, hint in _hints(core).items():
            yield from _all(hint, (*path, name))
    elif get_origin(core) is dict and core != dict[str, str]:
        yield from _all(get_args(core)[1], (*path, "NAME" if len(path) == 1 else "KEY"))
    else:
        yield path, kind


def _default(path: Path) -> str:
    node: Any = Config()
    for name in path:
        node = OwnType() if name == "NAME" and path[0] == "types" else getattr(node, name, None)
    return "" if node is None else msgspec.json.encode(node).decode()
