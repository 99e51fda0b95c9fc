"""The kinds of repair. Each looks at one node of a program and proposes edits; none knows of a particular program."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from ..facts import Facts
from ..source import Edit, Function, Source


@dataclass
class View:
    """All that a repair may look at."""

    source: Source
    facts: Facts
    functions: dict[str, Function] = field(default_factory=dict)  # of the whole program, by name
    attributes: tuple[str, ...] = ()  # every attribute that the program sets or defines

    def edit(self, node: ast.AST | tuple[int, int], text: str, kind: str, prior: float, harsh: bool = False) -> Edit:
        start = node[0] if isinstance(node, tuple) else self.source.span(node)[0]
        line = self.source.text.count("\n", 0, start) + 1
        return self.source.edit(node, text, kind, prior, line, harsh)


Repair = Callable[[View, ast.AST], Iterator[Edit]]


def all_kinds() -> tuple[Repair, ...]:
    from . import calls, constants, guards, names, operators, statements

    return (
        *operators.REPAIRS,
        *constants.REPAIRS,
        *names.REPAIRS,
        *calls.REPAIRS,
        *guards.REPAIRS,
        *statements.REPAIRS,
    )
