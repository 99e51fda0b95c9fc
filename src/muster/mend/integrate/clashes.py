"""Which changes can't be had together: every pair that touches a common path, merged and looked at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from muster.mend.integrate import Clash, Patch
from muster.mend.integrate.scratch import Scratch


def find(scratch: Scratch, patches: Sequence[Patch], jobs: int) -> tuple[Clash, ...]:
    """The conflict map; pairs that touch no common path can't conflict and are not merged."""
    pairs = sorted(_pairs(patches))
    by_key = {patch.key: patch for patch in patches}
    merges = scratch.merges([(by_key[one].alone, by_key[other].alone) for one, other in pairs], jobs)
    return tuple(
        Clash(one, other, merge.files, merge.messages)
        for (one, other), merge in zip(pairs, merges, strict=True)
        if not merge.clean
    )


def _pairs(patches: Sequence[Patch]) -> set[tuple[str, str]]:
    touching: dict[str, set[str]] = {}
    for patch in patches:
        for path in patch.paths:
            touching.setdefault(path, set()).add(patch.key)
    found = set()
    for patch in patches:
        for path in patch.paths:
            for other in (key for above in _above(path) for key in touching.get(above, ())):
                if other != patch.key and other not in patch.needs:
                    found.add((min(other, patch.key), max(other, patch.key)))
    return found - {(min(a.key, b), max(a.key, b)) for a in patches for b in a.needs}


def _above(path: str) -> Iterator[str]:
    """The path, and every folder it is in: another change may make a file of that."""
    while path:
        yield path
        path = path.rpartition("/")[0]
