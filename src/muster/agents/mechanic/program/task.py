"""The task, as it stands in the text that the agent is given, and the outcome that it leaves."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any


class NoTask(Exception):
    """The text doesn't say what to do."""


@dataclass(frozen=True)
class Task:
    """Which tests, and the command that runs tests."""

    tests: tuple[str, ...]
    command: tuple[str, ...]


def read(text: str) -> Task:
    """The tests are the indented lines below `Tests:`, the command is the one below `Command …:`."""
    lines = text.splitlines()
    tests = [line for start in _below(lines, lambda line: line == "Tests:") for line in start]
    commands = _below(lines, lambda line: line.startswith("Command") and line.endswith(":"))
    if not tests:
        raise NoTask("the task names no tests: a line `Tests:` with ids below it, indented by four spaces, is missing")
    if not commands or not commands[0]:
        raise NoTask(
            "the task has no command: a line `Command …:` with one below it, indented by four spaces, is missing"
        )
    try:
        words = shlex.split(commands[0][0])
    except ValueError as error:
        raise NoTask(f"the command `{commands[0][0]}` can't be taken apart: {error}") from error
    return Task(tuple(dict.fromkeys(tests)), tuple(words))


def _below(lines: Sequence[str], is_head: Any) -> list[list[str]]:
    """Under each heading: its indented lines."""
    found = []
    for number, line in enumerate(lines):
        if is_head(line):
            block = []
            for one in lines[number + 1 :]:
                if not one.startswith("    ") or not one.strip():
                    break
                block.append(one[4:])
            found.append(block)
    return found


@dataclass
class Outcome:
    """What the mechanic says it did."""

    status: str = "failed"
    summary: str = ""
    changes: list[dict[str, Any]] = field(default_factory=list)
    escalations: list[dict[str, str]] = field(default_factory=list)

    def write(self, path: str) -> None:
        data = {"schema": 1, **vars(self)}
        aside = f"{path}.{os.getpid()}.new"
        with open(aside, "w", encoding="utf-8") as file:
            json.dump(data, file, ensure_ascii=False, indent=1)
            file.write("\n")
        os.replace(aside, path)
