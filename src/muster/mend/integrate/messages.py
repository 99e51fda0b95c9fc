"""What the branch's commits say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from muster.mend.integrate import Patch

REVIEW = "this test change is for a person to judge"


def single(patch: Patch, conflicts: Sequence[str], needs: Sequence[str], resolved: Sequence[str] = ()) -> str:
    """The message of a commit that is one change."""
    summary = _body(patch.fixes[0].summary)
    trailers = [*_trailers([patch]), *(f"Muster-Verdict: {verdict}" for verdict in _verdicts(patch))]
    trailers += [f"Muster-Conflicts-With: {_one_line(title)}" for title in conflicts]
    trailers += [f"Muster-Needs: {commit}" for commit in needs]
    trailers += [f"Muster-Resolved-With: {_one_line(title)}" for title in resolved]
    trailers += [f"Muster-Review: {REVIEW}"] if patch.kind == "review" else []
    return _message(patch.subject, summary, trailers)


def combined(parts: Sequence[Patch], conflicts: Sequence[str]) -> str:
    """The message of the one commit that holds all test and documentation changes."""
    if len(parts) == 1:
        return single(parts[0], conflicts, ())
    kinds = {part.kind for part in parts}
    what = "Test and documentation" if len(kinds) > 1 else "Test" if "test" in kinds else "Documentation"
    listing = "\n".join(f"- {part.subject} [{_one_line(part.title)}]" for part in parts)
    trailers = [*_trailers(parts), *(f"Muster-Conflicts-With: {_one_line(title)}" for title in conflicts)]
    return _message(f"{what} changes of {len({part.fixes[0].task for part in parts})} tasks", listing, trailers)


def _message(subject: str, body: str, trailers: Sequence[str]) -> str:
    return "\n\n".join(part for part in (subject, body, "\n".join(trailers)) if part) + "\n"


def _trailers(parts: Sequence[Patch]) -> Iterator[str]:
    for name in sorted({test for part in parts for test in part.tests}):
        yield f"Muster-Test: {_one_line(name)}"
    for name in sorted({agent for part in parts for agent in part.agents}):
        yield f"Muster-Agent: {_one_line(name)}"


def _verdicts(patch: Patch) -> list[str]:
    found = {f"{_one_line(fix.before)} -> {_one_line(fix.after)}" for fix in patch.fixes if fix.before or fix.after}
    return sorted(found)


def _body(text: str) -> str:
    lines = ["".join(c if c.isprintable() or c == "\t" else " " for c in line).rstrip() for line in text.splitlines()]
    return "\n".join(lines).strip("\n")


def _one_line(text: str) -> str:
    return " ".join(_body(text).split())
