"""Where a project keeps its packages, read from its tree and its packaging settings."""

from __future__ import annotations

import configparser
import os
import tomllib
from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct

# Folders and modules at the top of a project that are not what it is about.
_ASIDE = set(
    "test tests testing doc docs example examples sample samples script scripts bench benchmarks build dist tools tasks "
    "vendor node_modules htmlcov site ci".split()
)
_PROGRAMS = set(
    "setup conftest noxfile tasks fabfile versioneer manage dodo toxfile wsgi asgi __init__ __main__".split()
)


class Sources(Struct, frozen=True):
    """The folders that belong on the import path, and what is imported from them; all paths from the top."""

    roots: tuple[str, ...]
    packages: dict[str, str]  # by the name it is imported by


def find(top: str, more: Iterable[str] = ()) -> Sources:
    """The project's packages; `more` are roots that an editable install names."""
    named = [*more, *_configured(top)]
    roots = [one for one in dict.fromkeys(os.path.normpath(one) for one in named) if _usable(top, one)]
    if "src" not in roots and _usable(top, "src") and dict(_packages(top, "src")):
        roots.append("src")
    if not roots:
        roots = ["."]
    found = {name: path for root in reversed(roots) for name, path in _packages(top, root)}
    return Sources(tuple(roots), found)


def _usable(top: str, root: str) -> bool:
    return (
        not os.path.isabs(root)
        and root.split(os.sep)[0] != ".."
        and os.path.isdir(os.path.join(top, root))
        and (root == "." or not os.path.exists(os.path.join(top, root, "__init__.py")))
    )


def _packages(top: str, root: str) -> Iterator[tuple[str, str]]:
    folder = os.path.join(top, root)
    for entry in sorted(os.scandir(folder), key=lambda one: one.name):
        name = entry.name.removesuffix(".py") if entry.is_file() and entry.name.endswith(".py") else entry.name
        if not name.isidentifier() or (root == "." and name in _ASIDE) or name in _PROGRAMS:
            continue
        if root == "." and name.startswith("test_"):
            continue
        if (entry.is_file() and entry.name.endswith(".py")) or (
            entry.is_dir()
            and (os.path.exists(f"{entry.path}/__init__.py") or (root != "." and _holds_python(entry.path)))
        ):
            yield name, os.path.normpath(os.path.join(root, entry.name))


def _holds_python(folder: str) -> bool:
    return any(name.endswith(".py") for _, _, names in os.walk(folder) for name in names)


def named(top: str) -> str:
    """What the project calls itself; empty where it has no `pyproject.toml`."""
    settings = _toml(f"{top}/pyproject.toml")
    name = _table(settings, "project").get("name") or _table(settings, "tool", "poetry").get("name")
    return name if isinstance(name, str) else ""


def _configured(top: str) -> Iterator[str]:
    tool = _toml(f"{top}/pyproject.toml").get("tool", {})
    setuptools = _table(tool, "setuptools")
    yield from _strings(_table(setuptools, "packages", "find").get("where", []))
    yield from _strings([_table(setuptools, "package-dir").get("", [])])
    yield from _strings(one.get("from", ".") for one in _tables(_table(tool, "poetry").get("packages")))
    wheel = _table(tool, "hatch", "build", "targets", "wheel")
    yield from (os.path.dirname(one) or "." for one in _strings(wheel.get("packages", [])))
    yield from _strings([_table(tool, "pdm", "build").get("package-dir", [])])
    yield from _from_setup_cfg(f"{top}/setup.cfg")


def _from_setup_cfg(path: str) -> Iterator[str]:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read(path, encoding="utf-8")
    except (configparser.Error, UnicodeDecodeError):
        return  # its own tools will say so
    for line in parser.get("options", "package_dir", fallback="").splitlines():
        name, _, folder = line.partition("=")
        if not name.strip() and folder.strip():
            yield folder.strip()
    if where := parser.get("options.packages.find", "where", fallback="").strip():
        yield where


def _toml(path: str) -> dict[str, Any]:
    try:
        with open(path, "rb") as file:
            return tomllib.load(file)
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError):
        return {}  # its own tools will say so


def _table(node: Any, *names: str) -> dict[str, Any]:
    for name in names:
        node = node.get(name) if isinstance(node, dict) else None
    return node if isinstance(node, dict) else {}


def _tables(node: Any) -> list[dict[str, Any]]:
    return [one for one in node if isinstance(one, dict)] if isinstance(node, list) else []


def _strings(node: Any) -> list[str]:
    return [] if isinstance(node, str) else [one for one in node if isinstance(one, str)]
