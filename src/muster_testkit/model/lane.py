"""One client's place in its script."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from muster_testkit.errors import KitError
from muster_testkit.model.requests import Asked, Json

Script = Sequence[Mapping[str, Any]] | Mapping[str, Any]

_SCRIPT = frozenset({"main", "end", "side", "steps"})
_WHEN = frozenset({"api", "model", "system", "last", "body", "tools"})
_CALLS = frozenset({"bash", "read", "write", "edit", "tool"})
_STEP = _CALLS | {
    *("when", "text", "thinking", "tools", "delay", "chunk_delay", "gate", "usage", "stop", "times"),
    *("fail", "stream_error", "hang", "after", "disconnect"),
}


class BadScript(KitError):
    """A script that can't be followed."""


def checked(script: Script) -> Json:
    """A script in its long form; a misspelt word would be a step that silently does nothing."""
    whole: Json = {"steps": list(script)} if not isinstance(script, Mapping) else dict(script)
    _known("script", whole, _SCRIPT)
    if whole.get("main", "tools") not in ("tools", "any"):
        raise BadScript(f"`main` is `tools` or `any`, not `{whole['main']}`")
    steps = whole.get("steps", [])
    if not isinstance(steps, list) or not all(isinstance(step, Mapping) for step in steps):
        raise BadScript("`steps` is a list of tables")
    for number, step in enumerate(steps, 1):
        _known(f"step {number}", step, _STEP)
        _known(f"`when` of step {number}", step.get("when") or {}, _WHEN)
        for call in step.get("tools") or []:
            _known(f"`tools` of step {number}", call, _CALLS)
    return whole


def _known(where: str, given: Mapping[str, Any], words: frozenset[str]) -> None:
    if unknown := sorted(given.keys() - words):
        raise BadScript(f"{where}: there is no `{unknown[0]}`", hint=f"there is {', '.join(sorted(words))}")


class Lane:
    """What is left of a script, which was checked."""

    def __init__(self, script: Json) -> None:
        self.served = 0
        self.context = 0  # tokens of the last request: so many of the next one are cached
        self.set(script)

    def set(self, whole: Json) -> None:
        self.any = whole.get("main", "tools") == "any"
        self.end, self.side = whole.get("end", "Done."), whole.get("side", "scripted")
        self.steps = [dict(step) for step in whole.get("steps", [])]

    def push(self, steps: Sequence[Mapping[str, Any]]) -> None:
        self.steps += [dict(step) for step in steps]

    def take(self, asked: Asked) -> Json:
        """The step that answers: the first unused one that matches, or the script's last words."""
        main = self.any or bool(asked.tools and not asked.schema)
        for number, step in enumerate(self.steps):
            if _matches(step.get("when"), asked) if "when" in step else main:
                # `times` of 0 stays for ever.
                left = step.get("times", 1) - 1
                if left > 0:
                    step["times"] = left
                elif left == 0:
                    del self.steps[number]
                return dict(step)
        if asked.schema and not main:
            texts = [key for key, value in asked.schema.get("properties", {}).items() if value.get("type") == "string"]
            return {"text": json.dumps(dict.fromkeys(texts, self.side))}
        return {"text": self.end if main else self.side}


def _matches(when: Mapping[str, Any] | None, asked: Asked) -> bool:
    for key, wanted in (when or {}).items():
        if key == "tools":
            if bool(asked.tools) != wanted:
                return False
        elif not re.search(wanted, json.dumps(asked.body) if key == "body" else str(getattr(asked, key)), re.DOTALL):
            return False
    return True
