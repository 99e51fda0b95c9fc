"""An expected value was changed: does what is written down speak for the new one, or against it?

A test may be wrong, so its expectation may be mended, and a person looks at it. It is refused where its docstring or the
documentation at the base gives the old value and not the new one; and where the test failed, the program was not changed,
no word speaks for the new value, and the test has no docstring: then it is itself all that says what is right.
"""

from __future__ import annotations

import ast

from muster.mend import Finding
from muster.mend.gate.checks import Check
from muster.mend.gate.diff import Diff
from muster.mend.gate.module import Unit
from muster.mend.gate.rules import found
from muster.mend.gate.syntax import leaves, says, value


def changed(old: Check, new: Check, unit: Unit, diff: Diff) -> Finding:
    """What is to be said of a changed expectation."""
    was, now = old.atom.wants or old.atom.words, new.atom.wants or new.atom.words
    words = f"`{_cut(was)}` became `{_cut(now)}` in `{unit.name}`"
    speaks = _speaks(old.atom.expected, new.atom.expected, _written(unit, diff))
    if speaks == "against":
        return found("expected-bent", new.file, new.line, f"{words}, and what is documented says the old value")
    bent = unit.id not in diff.green and not diff.changes_program and not ast.get_docstring(unit.node)
    if bent and speaks != "for":
        return found(
            "expected-bent", new.file, new.line, f"{words}, the program is as it was, and no word speaks for it"
        )
    reason = "documented so" if speaks == "for" else "nothing written decides it"
    return found("changed-expectation", new.file, new.line, f"{words} ({reason})")


def _cut(words: str) -> str:
    return words if len(words) <= 80 else f"{words[:77]}..."


def _written(unit: Unit, diff: Diff) -> str:
    """What was written down before the change: an agent's own words are no evidence."""
    own = [ast.get_docstring(unit.node) or "", (ast.get_docstring(unit.owner) if unit.owner else "") or ""]
    docs = [words for path, words in diff.beside.items() if diff.layout.of(path) == "docs"]
    changed = [data.decode(errors="replace") for path, data in diff.old.files.items() if diff.layout.of(path) == "docs"]
    return "\n".join([*own, *docs, *changed])


def _speaks(old: ast.expr | None, new: ast.expr | None, words: str) -> str:
    """`for` the new value, `against` it, or nothing."""
    if old is None or new is None or not words.strip():
        return ""
    before, after = [*_leaves(old)], [*_leaves(new)]
    was = [says(words, one) for one in before if one not in after]
    now = [says(words, one) for one in after if one not in before]
    was, now = [one for one in was if one is not None], [one for one in now if one is not None]
    old_said, new_said = bool(was) and all(was), bool(now) and all(now)
    if new_said and not old_said:
        return "for"
    return "against" if old_said and not new_said else ""


def _leaves(node: ast.expr) -> list[object]:
    """The values in it; a text line by line, so that only the lines that differ are looked for."""
    found = [*leaves(value(node))]
    return [line for one in found for line in (one.splitlines() if isinstance(one, str) and "\n" in one else [one])]
