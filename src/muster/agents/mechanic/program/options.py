"""The command line, taken apart."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from .task import NoTask

_LIMIT = 600.0


class BadOption(Exception):
    """The command line is wrong."""


@dataclass
class Options:
    """What the mechanic was started with."""

    limit: float = _LIMIT
    jobs: int = 0
    task: str = ""
    message: str | None = None
    help: bool = False

    @classmethod
    def parse(cls, argv: Sequence[str]) -> Options:
        found = cls(jobs=os.cpu_count() or 1)
        rest = list(argv)
        while rest:
            word, equals, value = rest.pop(0).partition("=")
            if word in ("--limit", "--jobs", "--task"):
                if not equals and not rest:
                    raise BadOption(f"`{word}` wants a value")
                found._set(word, value if equals else rest.pop(0))
            elif word in ("--help", "-h"):
                found.help = True
            elif word.startswith("-") and word != "--":
                raise BadOption(f"there is no option `{word}`; there are `--limit`, `--jobs` and `--task`")
            else:
                found._say(rest if word == "--" else [word + equals + value, *rest])
                break
        return found

    def _set(self, word: str, value: str) -> None:
        if word == "--task":
            self.task = value
            return
        try:
            number = float(value) if word == "--limit" else int(value)
        except ValueError:
            number = 0
        if not 0 < number < 1_000_000:
            raise BadOption(f"`{word}` wants a number above 0, not `{value}`")
        if word == "--limit":
            self.limit = float(number)
        else:
            self.jobs = int(number)

    def _say(self, words: Sequence[str]) -> None:
        if len(words) > 1:
            raise BadOption(f"one task, please: `{words[1]}` is one too many; quote the task")
        self.message = words[0] if words else None

    def text(self) -> str:
        """The task, from the command line or from the file."""
        if self.message is not None:
            return self.message
        if not self.task:
            raise NoTask("there is no task: give it as the agent's first message, `--message TEXT`")
        with open(self.task, encoding="utf-8") as file:
            return file.read()
