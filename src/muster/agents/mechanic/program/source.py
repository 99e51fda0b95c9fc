"""A file of the program: its text, its syntax tree, and where in the text each node stands."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

Function = ast.FunctionDef | ast.AsyncFunctionDef
Block = list[ast.stmt]
_ATOMS = (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.Constant, ast.List, ast.Dict, ast.Tuple, ast.JoinedStr)


@dataclass(frozen=True)
class Edit:
    """One small change of a file's text."""

    path: str
    start: int
    end: int
    text: str
    kind: str
    line: int
    prior: float  # how often such a change is the right one, as a guess made once for all programs
    harsh: bool = False  # it takes behaviour away, or fits the answer: the last choice


class Source:
    """One parsed file."""

    def __init__(self, path: str, data: bytes) -> None:
        self.path = path
        self.data = data
        self.text = data.decode("utf-8")
        self.tree = ast.parse(self.text)
        self.lines: list[str] = re.findall(r"[^\n]*\n|[^\n]+", self.text) or [""]
        self._starts = [0]
        for line in self.lines:
            self._starts.append(self._starts[-1] + len(line))
        self._parents = {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    def offset(self, line: int, column: int) -> int:
        """Where a position of the tree (a line, and a column in UTF-8 bytes) is in the text."""
        text = self.lines[line - 1] if line <= len(self.lines) else ""
        ahead = column if text.isascii() else len(text.encode()[:column].decode(errors="ignore"))
        return self._starts[line - 1] + ahead

    def span(self, node: ast.AST) -> tuple[int, int]:
        start = self.offset(node.lineno, node.col_offset)  # type: ignore[attr-defined]
        return start, self.offset(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]

    def of(self, node: ast.AST) -> str:
        start, end = self.span(node)
        return self.text[start:end]

    def atom(self, node: ast.expr) -> str:
        """Its text, in a form that an attribute or a call can be put behind."""
        text = self.of(node)
        return text if isinstance(node, _ATOMS) and not text.isdigit() else f"({text})"

    def parent(self, node: ast.AST) -> ast.AST | None:
        return self._parents.get(node)

    def above(self, node: ast.AST) -> Iterator[ast.AST]:
        while (found := self._parents.get(node)) is not None:
            yield found
            node = found

    def function(self, node: ast.AST) -> Function | None:
        return next((one for one in self.above(node) if isinstance(one, Function)), None)

    def klass(self, node: ast.AST) -> ast.ClassDef | None:
        return next((one for one in self.above(node) if isinstance(one, ast.ClassDef)), None)

    def block(self, statement: ast.stmt) -> Block:
        """The statements that this one stands among."""
        for _, value in ast.iter_fields(self._parents[statement]):
            if isinstance(value, list) and statement in value:
                block: Block = value
                return block
        return [statement]

    def indent(self, statement: ast.stmt) -> str:
        line: str = self.lines[statement.lineno - 1]
        return line[: len(line) - len(line.lstrip())]

    def alone(self, statement: ast.stmt) -> bool:
        """Whether it has its lines for itself."""
        start, end = self.span(statement)
        before = self.text[self._starts[statement.lineno - 1] : start]
        after = self.text[end : self._starts[(statement.end_lineno or statement.lineno)]]
        return not before.strip() and (not after.strip() or after.strip().startswith("#"))

    def rows(self, statement: ast.stmt) -> tuple[int, int]:
        """The whole lines of a statement, decorators with it."""
        first = min([statement.lineno, *(one.lineno for one in getattr(statement, "decorator_list", []))])
        return self._starts[first - 1], self._starts[statement.end_lineno or statement.lineno]

    def edit(
        self, node: ast.AST | tuple[int, int], text: str, kind: str, prior: float, line: int, harsh: bool = False
    ) -> Edit:
        start, end = node if isinstance(node, tuple) else self.span(node)
        if "\r\n" in self.text:
            text = text.replace("\r\n", "\n").replace("\n", "\r\n")
        return Edit(self.path, start, end, text, kind, line, prior, harsh)

    @cached_property
    def statements(self) -> list[ast.stmt]:
        found = [node for node in ast.walk(self.tree) if isinstance(node, ast.stmt)]
        return sorted(found, key=lambda one: (one.lineno, one.col_offset))

    @cached_property
    def globals(self) -> list[str]:
        """Names that are bound at the top of the file."""
        names = dict[str, None]()
        for statement in self.tree.body:
            names.update(dict.fromkeys(bound(statement)))
        return list(names)

    @cached_property
    def strings(self) -> list[str]:
        """Every text that stands in the file, but for its docstrings."""
        found = [node.value for node in ast.walk(self.tree) if isinstance(node, ast.Constant) and not self.is_doc(node)]
        return sorted({value for value in found if isinstance(value, str)})

    @cached_property
    def numbers(self) -> list[int | float]:
        found = [node.value for node in ast.walk(self.tree) if isinstance(node, ast.Constant)]
        return sorted({value for value in found if type(value) in (int, float)})  # type: ignore[misc]

    def is_doc(self, node: ast.Constant) -> bool:
        return isinstance(node.value, str) and isinstance(self._parents.get(node), ast.Expr)

    def locals(self, function: Function | None) -> list[str]:
        """Parameters and names bound in a function, in the order in which they come."""
        if function is None:
            return []
        names = dict.fromkeys(parameters(function))
        for statement in function.body:
            names.update(dict.fromkeys(bound(statement, deep=True)))
        return list(names)

    def attributes(self, klass: ast.ClassDef | None) -> list[str]:
        """What an object of that class has, as far as its own body shows."""
        if klass is None:
            return []
        names = dict[str, None]()
        for node in ast.walk(klass):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
                names[node.attr] = None
        for statement in klass.body:
            names.update(dict.fromkeys(bound(statement)))
        return list(names)


def parameters(function: Function) -> list[str]:
    spec = function.args
    plain = [*spec.posonlyargs, *spec.args, *spec.kwonlyargs]
    return [one.arg for one in [*plain, *([spec.vararg] if spec.vararg else []), *([spec.kwarg] if spec.kwarg else [])]]


def bound(statement: ast.stmt, deep: bool = False) -> Iterator[str]:
    """The names that a statement binds; `deep`: also those bound in the blocks within it."""
    if isinstance(statement, Function | ast.ClassDef):
        yield statement.name
    elif isinstance(statement, ast.Import | ast.ImportFrom):
        yield from ((alias.asname or alias.name.partition(".")[0]) for alias in statement.names)
    else:
        for node in ast.walk(statement) if deep else header(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id
            elif isinstance(node, ast.ExceptHandler) and node.name:
                yield node.name


def header(statement: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a statement without those of the statements inside it."""
    yield statement
    for child in ast.iter_child_nodes(statement):
        if not isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
            yield from header(child)
