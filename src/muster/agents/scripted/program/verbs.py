"""What a script may say: each verb, what it wants, and what is said of a step that is none."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any


class BadScript(Exception):
    """The script, or the command line, is wrong."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0


def _whole(value: Any) -> bool:
    return isinstance(value, int) and _number(value)


def _pattern(value: Any) -> bool:
    try:
        return value is True or bool(re.compile(value))
    except (re.error, TypeError):
        return False


def _report(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and value.get("kind") in KINDS
        and isinstance(value.get("reason", ""), str)
        and value.keys() <= {"kind", "reason"}
    )


KINDS = ("starting", "working", "waiting", "blocked")
DEADLY = ("ABRT", "ALRM", "BUS", "FPE", "HUP", "ILL", "INT", "KILL", "PIPE", "QUIT", "SEGV", "TERM", "USR1", "USR2")
WANTS: dict[str, Callable[[Any], bool]] = {
    "text": lambda value: isinstance(value, str),
    "a number": _number,
    "a whole number": _whole,
    "a code from 0 to 255": lambda value: _whole(value) and value < 256,
    "`true` or a regular expression": _pattern,
    '`true` or "deaf"': lambda value: value is True or value == "deaf",
    "a table or text": lambda value: isinstance(value, dict | str),
    "{kind = ..., reason = ...} with a kind of " + ", ".join(KINDS): _report,
    "a signal: " + ", ".join(DEADLY): lambda value: value in DEADLY,
    '"y" or "n"': lambda value: value in ("y", "n"),
    '"stop" or "go on"': lambda value: value in ("stop", "go on"),
    "a list of steps": lambda value: isinstance(value, list),
}
# Each verb: what its value must be, and its options.
VERBS: dict[str, tuple[str, dict[str, str]]] = {
    "say": ("text", {}),
    "think": ("text", {}),
    "edit": ("text", {"find": "text", "replace": "text", "content": "text", "append": "text"}),
    "delete": ("text", {}),
    "run": ("text", {"expect": "a code from 0 to 255"}),
    "commit": ("text", {}),
    "ask": ("text", {"default": '"y" or "n"', "on_no": '"stop" or "go on"'}),
    "wait": ("`true` or a regular expression", {}),
    "outcome": ("a table or text", {}),
    "artifact": ("text", {"content": "text"}),
    "sleep": ("a number", {}),
    "gate": ("text", {}),
    "hang": ('`true` or "deaf"', {}),
    "flood": ("a whole number", {}),
    "state": ("{kind = ..., reason = ...} with a kind of " + ", ".join(KINDS), {}),
    "exit": ("a code from 0 to 255", {}),
    "crash": ("a signal: " + ", ".join(DEADLY), {}),
    "repeat": ("a whole number", {"steps": "a list of steps"}),
}


def verb_of(step: dict[str, Any]) -> str:
    """What a checked step does."""
    return next(key for key in step if key in VERBS)


def check(steps: Any, name: str, above: str) -> None:
    """Raise BadScript for the first step that is none."""
    if not isinstance(steps, list):
        raise BadScript(f"{name}: `{above.split()[0]}` is not a list of steps", "write each step as [[step]]")
    for index, step in enumerate(steps, 1):
        if fault := _fault(step):
            raise BadScript(f"{name}: {above}{index}: {fault[0]}", fault[1])
        if "repeat" in step:
            check(step["steps"], name, f"{above}{index}.")


def _fault(step: Any) -> tuple[str, str] | None:
    if not isinstance(step, dict) or not step:
        return "it is not a table with a step in it", 'for example: say = "hello"'
    verbs = [key for key in step if key in VERBS]
    if len(verbs) > 1:
        return f"it does two things, `{verbs[0]}` and `{verbs[1]}`", "make two steps of it"
    if not verbs:
        return f"there is no step `{next(iter(step))}`", nearest(next(iter(step)), list(VERBS))
    want, options = VERBS[verbs[0]]
    for key, value in step.items():
        wanted = want if key == verbs[0] else options.get(key)
        if wanted is None:
            return f"`{verbs[0]}` has no option `{key}`", nearest(key, [*options, *VERBS])
        if not WANTS[wanted](value):
            return f"`{key}` wants {wanted}, not {json.dumps(value, default=str)[:60]}", ""
    return _lacks(verbs[0], step)


def _lacks(verb: str, step: dict[str, Any]) -> tuple[str, str] | None:
    have = set(step) - {verb}
    if verb == "edit" and have not in ({"find", "replace"}, {"content"}, {"append"}):
        return "`edit` wants `find` and `replace`, or `content`, or `append`", ""
    if verb == "artifact" and not have:
        return "`artifact` wants `content`", ""
    if verb == "repeat" and not have:
        return "`repeat` wants `steps`", ""
    return None


def nearest(wrong: str, known: list[str]) -> str:
    """A hint that names what was probably meant."""
    from difflib import get_close_matches

    if found := get_close_matches(wrong, known, 1, 0.5):
        return f"did you mean `{found[0]}`?"
    return "there is " + ", ".join(f"`{one}`" for one in known)
