"""A script: its steps in the order of their turns, and reading one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from .verbs import BadScript, check, nearest, verb_of

Step = dict[str, Any]
GREETING = [{"say": "Hello, I am {agent}. I have no script, so I answer what I hear."}]
ANSWER = [{"say": "heard: {line}"}]


class Place:
    """One step's turn: the number it has among all that is ever done, and where its block ends."""

    def __init__(self, number: int, end: int, step: Step, n: int, where: str) -> None:
        self.number, self.end, self.step, self.n, self.where = number, end, step, n, where
        self.verb = verb_of(step)


class Script:
    """The steps, and what is done for each message after the last one."""

    def __init__(self, name: str, steps: list[Step], on_message: list[Step]) -> None:
        self.name, self.steps, self.on_message = name, steps, on_message
        self.size = _size(steps)

    def places(self) -> Iterator[Place]:
        """Every turn in order, for ever: the numbers are the same each time, so a log of them can be resumed."""
        number = 0
        for step, n, where in _flat(self.steps, 1):
            number += 1
            yield Place(number, self.size, step, n, where)
        answer = [{"wait": True}, *self.on_message]
        rounds = 0
        while True:
            rounds += 1
            end = number + _size(answer)
            for step, n, where in _flat(answer, rounds):
                number += 1
                yield Place(number, end, step, n, "on_message " + where)


def _size(steps: list[Step]) -> int:
    return sum(step["repeat"] * _size(step["steps"]) if "repeat" in step else 1 for step in steps)


def _flat(steps: list[Step], n: int, above: str = "") -> Iterator[tuple[Step, int, str]]:
    for index, step in enumerate(steps, 1):
        if "repeat" in step:
            for turn in range(step["repeat"]):
                yield from _flat(step["steps"], turn + 1, f"{above}{index}.")
        else:
            yield step, n, f"{above}{index}"


def filled(value: Any, words: dict[str, str]) -> Any:
    """That value with what stands for {message}, {line}, {agent} and {n}."""
    if isinstance(value, str):
        return re.sub(r"\{(message|line|agent|n)\}", lambda found: words[found[1]], value)
    if isinstance(value, list):
        return [filled(one, words) for one in value]
    if isinstance(value, dict):
        # A regular expression has braces of its own.
        return {key: one if key == "wait" else filled(one, words) for key, one in value.items()}
    return value


def load(path: str) -> bytes:
    """What is in that file."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise BadScript(f"can't read the script `{path}`: {error.strerror}") from error


def parse(data: bytes, name: str) -> Script:
    """A script from its bytes: JSON if the name says so, else TOML."""
    table = _table(data, name)
    if "step" in table and "steps" in table:
        raise BadScript(f"{name}: it has both `step` and `steps`")
    for key in table:
        if key not in ("step", "steps", "on_message"):
            raise BadScript(f"{name}: there is no `{key}` at the top of a script", nearest(key, ["step", "on_message"]))
    steps = table.get("step", table.get("steps", []))
    on_message = table.get("on_message", ANSWER)
    check(steps, name, "step ")
    check(on_message, name, "on_message step ")
    return Script(name, steps, on_message)


def _table(data: bytes, name: str) -> dict[str, Any]:
    import tomllib

    try:
        text = data.decode()
        table = json.loads(text) if name.endswith(".json") else tomllib.loads(text)
    except UnicodeDecodeError as error:
        raise BadScript(f"{name}: it is not UTF-8 text") from error
    except (json.JSONDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        form = "JSON" if name.endswith(".json") else "TOML"
        raise BadScript(f"{name}: it is not {form}: {error}") from error
    if not isinstance(table, dict):
        raise BadScript(f"{name}: it is a list", 'a script in JSON is {"steps": [...]}')
    return table
