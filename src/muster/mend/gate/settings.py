"""How tests are run: pytest's settings, its hooks, CI, coverage, git, and files that are loaded by themselves."""

from __future__ import annotations

import ast
import configparser
import tomllib
from collections.abc import Iterator
from typing import Any

from muster.mend import Finding
from muster.mend.gate.diff import Diff
from muster.mend.gate.module import Module
from muster.mend.gate.rules import found
from muster.mend.gate.syntax import Function, dotted

_PYTEST_FILES = ("pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml")
_COVERAGE_FILES = (".coveragerc", "codecov.yml", ".codecov.yml")
_GIT_FILES = (".gitattributes", ".gitmodules", ".pre-commit-config.yaml", "lefthook.yml")
_GIT_FOLDERS = (".githooks/", ".husky/")
_LOADED = ("sitecustomize.py", "usercustomize.py")
# A module of that name beside the code stands in front of the real one.
_SHADOWS = ("pytest.py", "_pytest.py", "unittest.py", "pluggy.py", "coverage.py", "xdist.py")
_COLLECTING = ("pytest_plugins", "collect_ignore", "collect_ignore_glob")
_Tables = dict[str, Any]


def look(diff: Diff) -> Iterator[Finding]:
    """What is to be said of settings."""
    for path in sorted({*diff.old.files, *diff.new.files}):
        yield from _file(path, diff)
    for path, module in diff.new.tests.items():
        if path.endswith("conftest.py"):
            yield from _hooks(diff.old.tests.get(path), module)
    for path, module in diff.old.tests.items():
        if path.endswith("conftest.py") and path not in diff.new.files:
            for name in _hook_texts(module):
                yield found("conftest-hook", path, 1, f"`{name}` is gone with `{path}`")


def _file(path: str, diff: Diff) -> Iterator[Finding]:
    name = path.rpartition("/")[2]
    old, new = diff.old.files.get(path), diff.new.files.get(path)
    if path in ("pyproject.toml", "setup.cfg", "tox.ini") or name in _PYTEST_FILES or name == ".coveragerc":
        yield from _tables(path, old, new)
    elif _same_code(path, diff):
        return
    elif new is not None and (name in _LOADED or name.endswith(".pth") or name in _SHADOWS):
        yield found("planted-file", path, 1, f"`{path}` is loaded by Python without being asked for")
    elif name == "conftest.py" and old is None and not _in_test_folder(path, diff):
        yield found("planted-file", path, 1, f"`{path}` is loaded by pytest, and stands outside of the tests")
    elif name in _COVERAGE_FILES:
        yield found("coverage-settings", path, 1, f"`{path}` {_what(old, new)}")
    elif path in _GIT_FILES or path.startswith(_GIT_FOLDERS) or name == ".gitattributes":
        yield found("git-settings", path, 1, f"`{path}` {_what(old, new)}")
    elif diff.layout.of(path) == "settings":
        yield found("ci-changed", path, 1, f"`{path}` {_what(old, new)}")


def _what(old: bytes | None, new: bytes | None) -> str:
    return "was added" if old is None else "is gone" if new is None else "was changed"


def _in_test_folder(path: str, diff: Diff) -> bool:
    # Asked of a file that is no test by its own name.
    return "/" in path and diff.layout.is_test(f"{path.rpartition('/')[0]}/data")


def _same_code(path: str, diff: Diff) -> bool:
    """A `noxfile.py` with other comments is the same."""
    old, new = diff.old.trees.get(path), diff.new.trees.get(path)
    return old is not None and new is not None and ast.dump(old) == ast.dump(new)


# -- tables -----------------------------------------------------------------------------------------------------------


def _tables(path: str, old: bytes | None, new: bytes | None) -> Iterator[Finding]:
    before, after = _parsed(path, old), _parsed(path, new)
    if before is None or after is None:
        yield found("test-configuration", path, 1, f"`{path}` can't be parsed")
        return
    for name in sorted({*before, *after}):
        if before.get(name) == after.get(name) or not (rule := _rule_of(path, name)):
            continue
        for key in _keys(before.get(name), after.get(name)):
            line = _line(new if new is not None else old, key.rpartition(".")[2])
            yield found(rule, path, line, f"`{key}` of `[{name}]` was changed")


def _rule_of(path: str, table: str) -> str:
    """The rule that a table's change breaks; empty: it is no setting of tests."""
    parts = table.replace(":", ".").split(".")
    if "coverage" in parts or path.endswith(".coveragerc") or parts[0] in ("coverage", "run", "report"):
        return "coverage-settings"
    if any(part.startswith("pytest") for part in parts) or path.rpartition("/")[2] in _PYTEST_FILES:
        return "test-configuration"
    if path == "tox.ini" or (len(parts) > 1 and parts[0] == "tool" and parts[1] in ("tox", "nox")):
        return "ci-changed"
    return "ci-changed" if parts[:3] == ["tool", "hatch", "envs"] else ""


def _keys(before: object, after: object) -> list[str]:
    old = before if isinstance(before, dict) else {}
    new = after if isinstance(after, dict) else {}
    return [str(key) for key in {**old, **new} if old.get(key) != new.get(key)] or [""]


def _line(data: bytes | None, key: str) -> int:
    lines = (data or b"").decode(errors="replace").splitlines()
    return next((count for count, line in enumerate(lines, 1) if line.strip().startswith(key)), 1)


def _parsed(path: str, data: bytes | None) -> _Tables | None:
    """A file's tables by their full names; None if it can't be parsed."""
    words = (data or b"").decode(errors="replace")
    try:
        if path.endswith(".toml"):
            return dict(_flat(tomllib.loads(words)))
        parser = configparser.RawConfigParser(strict=False, allow_no_value=True)
        parser.read_string(words)
        return {name: {key: _trim(one) for key, one in parser.items(name)} for name in parser.sections()}
    except (tomllib.TOMLDecodeError, configparser.Error):
        return None


def _trim(found: str | None) -> str:
    """A setting without its comments."""
    lines = [line.strip() for line in (found or "").splitlines()]
    return "\n".join(line for line in lines if line and not line.startswith(("#", ";")))


def _flat(tables: _Tables, prefix: str = "") -> Iterator[tuple[str, _Tables]]:
    own = {key: one for key, one in tables.items() if not isinstance(one, dict)}
    if own:
        yield prefix, own
    for key, one in tables.items():
        if isinstance(one, dict):
            yield from _flat(one, f"{prefix}.{key}" if prefix else key)


# -- conftest ---------------------------------------------------------------------------------------------------------


def _hooks(old: Module | None, new: Module) -> Iterator[Finding]:
    before, after = (_hook_texts(old) if old else {}), _hook_texts(new)
    for name in sorted({*before, *after}):
        was, now = before.get(name), after.get(name)
        if (was and was[0]) != (now and now[0]):
            what = "was added" if was is None else "is gone" if now is None else "was changed"
            line = (now or was or ("", 1))[1]
            yield found("conftest-hook", new.path, line, f"`{name}` {what}")


def _hook_texts(module: Module) -> dict[str, tuple[str, int]]:
    """Hooks and plugins of a conftest, with their code and line."""
    texts = {}
    for node in ast.walk(module.tree):
        if isinstance(node, Function) and node.name.startswith("pytest_"):
            texts[node.name] = (ast.dump(node), node.lineno)
        elif isinstance(node, ast.Assign | ast.AugAssign):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if dotted(target) in _COLLECTING:
                    texts[dotted(target)] = (ast.dump(node), node.lineno)
    return texts
