"""What test files say of the tutorial, read without running or importing them."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from textwrap import dedent

from muster_testkit.errors import KitError
from muster_testkit.tutorial import blocks, source

CALL = "write_tutorial_block"
_SECTION = re.compile(r"^([ \t]*)Tutorial block:[ \t]*$", re.MULTILINE)
_FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef
_PATTERNS = ("test_*.py", "*_test.py")


@dataclass(frozen=True)
class Citation:
    """A block that a test says it shows."""

    text: str
    file: str
    line: int
    test: str  # as pytest names it within the file: `TestClass::test_name`


@dataclass
class Reading:
    """What was found in the test files."""

    files: int = 0
    citations: list[Citation] = field(default_factory=list)
    unchecked: list[tuple[str, int]] = field(default_factory=list)  # calls whose text only a run would tell
    empty: list[tuple[str, int]] = field(default_factory=list)  # calls that cite nothing
    broken: list[tuple[str, int, str]] = field(default_factory=list)  # files that can't be read, with the reason


def cited(text: str) -> list[str]:
    """The blocks in a citation: its common indentation and the empty lines around it don't count."""
    return [one.text for one in blocks(dedent(text))]


def section(docstring: str) -> str | None:
    """The text of all `Tutorial block:` sections: what is indented deeper than that line."""
    if not (heads := list(_SECTION.finditer(docstring))):
        return None
    return "\n\n".join(_below(docstring[head.end() :], len(head[1].expandtabs())) for head in heads)


def _below(text: str, indent: int) -> str:
    lines = []
    for line in text.split("\n")[1:]:
        if line.strip() and len(line) - len(line.lstrip()) <= indent:
            break
        lines.append(line)
    return dedent("\n".join(lines))


def test_files(paths: list[str]) -> list[str]:
    """The files among those paths: a file as it is, of a folder what pytest would collect."""
    found: dict[str, None] = {}
    for path in paths:
        if os.path.isdir(path):
            found.update(dict.fromkeys(sorted(_inside(path))))
        elif os.path.exists(path):
            found[path] = None
        else:
            raise KitError(f"there is no file or folder `{path}`")
    if not found:
        raise KitError(f"no test file in {', '.join(f'`{path}`' for path in paths)}", hint="`test_*.py`, `*_test.py`")
    return list(found)


def _inside(folder: str) -> Iterator[str]:
    from fnmatch import fnmatch

    for place, folders, names in os.walk(folder):
        # A virtual environment or cache may lie below; pytest doesn't look there either.
        folders[:] = [name for name in folders if not name.startswith(".") and name != "__pycache__"]
        yield from (os.path.join(place, name) for name in names if any(fnmatch(name, one) for one in _PATTERNS))


def read(files: list[str]) -> Reading:
    """All citations in those test files."""
    reading = Reading(files=len(files))
    for file in files:
        try:
            text = source(file)
            tree = ast.parse(text, file)
        except KitError as error:
            reading.broken.append((file, 1, str(error)))
        except SyntaxError as error:
            reading.broken.append((file, error.lineno or 1, f"not read, for a syntax error: {error.msg}"))
        except (ValueError, RecursionError, MemoryError) as error:
            reading.broken.append((file, 1, f"not read: {error}"))
        else:
            # Walking the tree costs more than parsing it.
            if CALL in text or "Tutorial block:" in text:
                _walk(tree, file, (), reading)
    return reading


def _walk(node: ast.AST, file: str, names: tuple[str, ...], reading: Reading) -> None:
    for child in ast.iter_child_nodes(node):
        inside = names
        if isinstance(child, _FUNCTION | ast.ClassDef):
            inside = (*names, child.name)
            _docstring(child, file, "::".join(inside), reading)
        elif isinstance(child, ast.Call):
            _call(child, file, "::".join(names), reading)
        _walk(child, file, inside, reading)


def _docstring(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, file: str, test: str, out: Reading) -> None:
    first = node.body[0]
    if not (isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)):
        return
    if isinstance(first.value.value, str) and (text := section(first.value.value)) is not None:
        _cite(text, file, first.lineno, test, out)


def _call(node: ast.Call, file: str, test: str, out: Reading) -> None:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if name != CALL:
        return
    text = next(iter([*node.args, *(one.value for one in node.keywords if one.arg == "text")]), None)
    if (plain := _plain(text)) is None:
        out.unchecked.append((file, node.lineno))
    else:
        _cite(plain, file, node.lineno, test, out)


def _plain(node: ast.expr | None) -> str | None:
    """The text that a literal stands for; an f-string is one only if nothing is put into it."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        parts = [_plain(part) for part in node.values]
        return None if None in parts else "".join(part for part in parts if part)
    return None


def _cite(text: str, file: str, line: int, test: str, out: Reading) -> None:
    found = cited(text)
    out.citations += [Citation(one, file, line, test) for one in found]
    if not found:
        out.empty.append((file, line))
