"""Editable installs: which `.pth` files of an environment lead into a folder, and to what in it."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterable, Iterator

from msgspec import Struct

_IMPORTED = re.compile(r"\bimport\s+([\w.]+)")


class Editable(Struct, frozen=True):
    """What of an environment leads into a project; paths are from its top."""

    roots: tuple[str, ...] = ()  # folders that are put on the import path
    packages: dict[str, str] = {}  # packages that an import hook leads to, by name
    hooks: tuple[str, ...] = ()  # the `.pth` files that install such hooks


def find(top: str, prefix: str, sites: Iterable[str]) -> Editable:
    """What leads into the project, its own environment in it aside."""
    roots: list[str] = []
    packages: dict[str, str] = {}
    hooks: list[str] = []
    for path in pth_files(sites):
        for line in _lines(path):
            if line.startswith(("import ", "import\t")):
                led = dict(_led(line, os.path.dirname(path), top, prefix))
                packages |= led
                hooks += [path] if led else []
            elif inside := within(os.path.join(os.path.dirname(path), line), top, prefix):
                roots.append(inside)
    return Editable(tuple(dict.fromkeys(roots)), _importable(top, packages), tuple(dict.fromkeys(hooks)))


def pth_files(sites: Iterable[str]) -> list[str]:
    """In the order in which an interpreter reads them."""
    return [f"{site}/{name}" for site in sites for name in sorted(os.listdir(site)) if name.endswith(".pth")]


def within(path: str, top: str, prefix: str = "") -> str:
    """That path from the top; empty where it is elsewhere, or in the environment that lies in the top."""
    real = os.path.realpath(path)
    if real == top:
        return "."
    if not real.startswith(f"{top}{os.sep}") or (
        prefix and f"{real}{os.sep}".startswith(f"{os.path.realpath(prefix)}{os.sep}")
    ):
        return ""
    return os.path.relpath(real, top)


def _lines(path: str) -> list[str]:
    try:
        with open(path, encoding="utf-8-sig", errors="surrogateescape") as file:
            return [line.strip() for line in file if line.strip() and not line.startswith("#")]
    except OSError:
        return []


def _led(line: str, site: str, top: str, prefix: str) -> Iterator[tuple[str, str]]:
    """Name and place of each package that the module imported by that line leads to."""
    for module in _IMPORTED.findall(line):
        path = os.path.join(site, *module.split(".")) + ".py"
        if os.path.isfile(path):
            with open(path, encoding="utf-8", errors="surrogateescape") as file:
                source = file.read()
            for name, place in _pairs(source):
                if inside := within(place, top, prefix):
                    yield name, inside


def _pairs(source: str) -> Iterator[tuple[str, str]]:
    """Every absolute path in that source, with the name that it is mapped to where there is one."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):  # as setuptools writes it
            yield from (
                (_text(key), path) for key, value in zip(node.keys, node.values, strict=True) for path in _paths(value)
            )
        elif isinstance(node, ast.Call) and len(node.args) == 2:  # `F.map_module("name", "/path")`, of `editables`
            yield from ((_text(node.args[0]), path) for path in _paths(node.args[1]))
    yield from (("", path) for path in _paths(tree))


def _paths(node: ast.AST) -> Iterator[str]:
    texts = (one.value for one in ast.walk(node) if isinstance(one, ast.Constant) and isinstance(one.value, str))
    return (text for text in texts if os.path.isabs(text) and "\0" not in text)


def _text(node: ast.expr | None) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _importable(top: str, packages: dict[str, str]) -> dict[str, str]:
    """By top-level name; a module is a file, whatever the hook calls it."""
    found = {}
    for name, path in packages.items():
        # Of `space.part` at `src/space/part`, the place of `space` follows.
        first, *rest = name.split(".")
        above = os.path.normpath(path.removesuffix(".py").removesuffix(os.sep.join(rest))) if rest else path
        if first.isidentifier() and (not rest or path.removesuffix(".py").endswith(os.sep.join([first, *rest]))):
            is_module = not os.path.exists(f"{top}/{above}") and os.path.exists(f"{top}/{above}.py")
            found[first] = f"{above}.py" if is_module else above
    return found
