"""What held, as the integrator takes it: each commit with what was measured of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from muster.mend import Change, Gathered, Piece, Task, Verified
from muster.mend.integrate import Fix, Kind

HELD = ("fixed", "improved")


def fixes(tasks: Sequence[Task], gathered: Mapping[str, Gathered], verified: Mapping[str, Verified]) -> list[Fix]:
    """Of all tasks whose claim held."""
    return [
        fix
        for task in tasks
        if task.slug in verified and verified[task.slug].verdict in HELD
        for fix in of(task, gathered[task.slug], verified[task.slug])
    ]


def of(task: Task, gathered: Gathered, found: Verified) -> Iterator[Fix]:
    """Of one task."""
    program = any(piece.kind == "impl" for piece in found.pieces)
    for piece in found.pieces:
        said = _said(gathered, piece)
        proves = piece.kind == "impl" or not program
        yield Fix(
            commit=piece.commit,
            kind=_kind(piece, found),
            task=task.slug,
            agent=gathered.name,
            tests=task.tests,
            green=found.green if proves and piece.kind != "docs" else (),
            verdict=found.verdict,
            before="passing" if task.why == "passing" else "failing",
            after="passing",
            severity=min(5, max(1, said.severity)) if said else 3,
            summary=said.summary if said else "",
        )


def _kind(piece: Piece, found: Verified) -> Kind:
    """Settings that a flag let through, and test changes that only a person can judge, are commits to be judged."""
    marked = {one.file for one in found.findings if one.level == "review"}
    if piece.kind == "settings" or (piece.kind != "impl" and marked & set(piece.files)):
        return "review"
    return piece.kind


def _said(gathered: Gathered, piece: Piece) -> Change | None:
    changes = gathered.outcome.changes if gathered.outcome else ()
    return next((one for one in changes if one.commit and piece.original.startswith(one.commit)), None)
