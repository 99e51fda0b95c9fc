"""Briefs: what an agent is told, from templates that a user may replace or extend."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from muster.core import prompt
from muster.mend import Attempt, Case, Task

_TEMPLATES = {"failing": "fix", "passing": "improve", "error": "error", "again": "again"}
# A traceback's end says most, and an agent can run the test itself.
_EVIDENCE_MAX = 6_000


def brief(
    task: Task, cases: Mapping[str, Case], seen: Sequence[Attempt], command: Sequence[str], override: str = ""
) -> str:
    """What the agent of that task is told."""
    words = {"contract": _contract(task, cases), "evidence": _evidence(seen), "which": _which(task.tests, command)}
    return _told(_TEMPLATES[task.why], words, override)


def conflict(tests: Sequence[str], evidence: str, command: Sequence[str], override: str = "") -> str:
    """What an agent is told that is to bring two changes together."""
    return _told("conflict", {"evidence": evidence, "which": _which(tests, command)}, override)


def ask() -> str:
    """What an agent is told that has ended its turn without an outcome."""
    return shipped("ask").strip()


def read(path: str) -> str:
    """A user's own template, checked before anything begins."""
    return prompt.read(path, ("contract", "evidence", "which", "rules"), "which", "which tests are meant")


def shipped(name: str) -> str:
    """A template of the package."""
    return prompt.shipped(__file__, name)


def _told(template: str, words: dict[str, str], override: str) -> str:
    words = {"contract": "", "rules": shipped("rules").strip(), **words}
    return prompt.told(shipped(template), words, override)


def _which(tests: Sequence[str], command: Sequence[str]) -> str:
    lines = "\n".join(f"    {one}" for one in tests)
    return prompt.filled(shipped("which").strip(), {"tests": lines, "command": shlex.join(command)})


def _contract(task: Task, cases: Mapping[str, Case]) -> str:
    parts = []
    for case in (cases[test] for test in task.tests if test in cases):
        if case.doc:
            parts.append(f"The docstring of `{case.id}`:\n\n{_indented(case.doc)}")
        parts += [f"The tutorial block that `{case.id}` cites:\n\n{_indented(block)}" for block in case.blocks]
    return "\n\n".join(dict.fromkeys(parts))


def _evidence(seen: Sequence[Attempt]) -> str:
    texts = {one.id: one.text.strip() or one.message for one in seen if not one.green}
    share = _EVIDENCE_MAX // max(1, min(len(texts), 4))
    shown = [f"`{test}`:\n\n{_indented(_tail(text, share))}" for test, text in [*texts.items()][:4]]
    more = [f"… and {len(texts) - 4} more tests fail alike"] if len(texts) > 4 else []
    return "\n\n".join([*shown, *more]) or "Nothing that was kept."


def _tail(text: str, size: int) -> str:
    return text if len(text) <= size else "… " + text[-size:]


def _indented(text: str) -> str:
    return "\n".join(f"    {line}".rstrip() for line in text.strip("\n").split("\n"))
