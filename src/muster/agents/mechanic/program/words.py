"""What is said of a change: for the commit, the summary and the screen."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping

from .candidates import Candidate
from .runs import Result
from .search import Tried
from .source import Source
from .subject import subject

_ROW = 100


def change(candidate: Candidate, sources: Mapping[str, Source]) -> str:
    """`old` should be `new`, in as few lines as tell it."""
    old, new = _rows(candidate, sources)
    if not old:
        return f"{_quoted(new)} was missing"
    if not new:
        return f"{_quoted(old)} should not be there"
    return f"{_quoted(old)} should be {_quoted(new)}"


def _rows(candidate: Candidate, sources: Mapping[str, Source]) -> tuple[list[str], list[str]]:
    before = [line for path in sorted(candidate.files) for line in sources[path].text.splitlines()]
    after = [line for path in sorted(candidate.files) for line in candidate.files[path].decode().splitlines()]
    rows = [row for row in difflib.ndiff(before, after) if row[:2] in ("- ", "+ ")]
    old = [row[2:].strip() for row in rows if row[0] == "-"]
    new = [row[2:].strip() for row in rows if row[0] == "+"]
    return [row for row in old if row not in new or len(old) == len(new)], [
        row for row in new if row not in old or len(old) == len(new)
    ]


def _quoted(rows: Iterable[str]) -> str:
    text = "; ".join(rows)
    return f"`{text if len(text) <= _ROW else text[: _ROW - 1] + '…'}`"


def where(candidate: Candidate) -> str:
    return ", ".join(dict.fromkeys(f"{edit.path}:{edit.line}" for edit in (*candidate.under, candidate.edit)))


def message(candidate: Candidate, sources: Mapping[str, Source], tests: Iterable[str], before: Result) -> str:
    """The commit's message: what was wrong, what was changed, what shows it."""
    lines = [
        subject(candidate, sources),
        "",
        f"{where(candidate)}: {change(candidate, sources)}.",
        "",
        "Failed before, pass now:",
    ]
    for test in tests:
        failure = before.failed.get(test)
        said = failure.message.strip().splitlines()[0] if failure and failure.message.strip() else ""
        lines.append(f"- {test}" + (f" ({failure.type}: {said[:200]})" if failure and said else ""))
    return "\n".join([*lines, ""])


def effort(tried: Tried, found: int, seconds: Mapping[str, float]) -> str:
    """What was tried, and where the time went, as Markdown."""
    kinds = ", ".join(
        f"{kind} {count}" for kind, count in sorted(tried.kinds.items(), key=lambda one: (-one[1], one[0]))
    )
    spent = ", ".join(f"{name} {value:.1f} s" for name, value in {**seconds, **tried.seconds}.items())
    return (
        f"Tried {tried.runs} of {found} candidates: {kinds or 'none'}.\n\n"
        f"{tried.broke} made the failing tests pass and broke others; {len(tried.partial)} got further than before.\n\n"
        f"Time: {spent}."
    )
