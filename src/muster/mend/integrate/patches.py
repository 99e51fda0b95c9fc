"""From commits to changes: each as a change of the base, equal ones once, ranked by what was measured."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from msgspec import Struct

from muster.errors import NotFound
from muster.mend.integrate import Fix, Kind, Patch, SetAside
from muster.mend.integrate.scratch import Scratch

# Equal patches may have been judged differently; the word that asks for most care stands.
_CAREFUL: tuple[Kind, ...] = ("review", "impl", "test", "docs")
# Finding the fewest commits that one needs takes a merge for each pair of those before it.
_FEW = 12


class Commit(Struct, frozen=True):
    """What we read of a commit."""

    tree: str
    parents: tuple[str, ...]
    subject: str
    when: str  # the committer's seconds and zone, as stored


class Alone(Struct, frozen=True):
    """A fix as a change of the base."""

    fix: Fix
    tree: str
    under: str  # the tree that it is a change of
    needs: tuple[str, ...] = ()  # commits


def read(scratch: Scratch, base: str, fixes: Sequence[Fix]) -> tuple[list[Patch], list[SetAside]]:
    """All changes, best first, and those that are none."""
    commits, lines, aside = _histories(scratch, base, fixes)
    found = _alone(scratch, base, [fix for fix in fixes if fix.commit in lines], commits, lines)
    real = [one for one in found if one.tree != one.under]
    aside += [
        SetAside((one.fix,), "empty", "empty: it changes nothing of the base") for one in found if one.tree == one.under
    ]
    return sorted(_patches(scratch, base, real, commits, lines), key=rank), aside


def base_of(scratch: Scratch, base: str) -> tuple[str, str]:
    """The base's tree, and when it was committed."""
    found = _commits(scratch, [base])[base]
    return found.tree, found.when


def rank(patch: Patch) -> tuple[int, int, int, int, str]:
    """What comes first: tests it turns green, agents that found it, severity, small size; the key settles the rest."""
    return (-len(patch.green), -len(patch.agents), -patch.severity, patch.size, patch.key)


# -- histories ---------------------------------------------------------------------------------------------------------


def _histories(
    scratch: Scratch, base: str, fixes: Sequence[Fix]
) -> tuple[dict[str, Commit], dict[str, tuple[str, ...]], list[SetAside]]:
    """Every commit in question, the commits before each fix's on its branch (oldest first), and what has no such line."""
    commits = _commits(scratch, sorted({base, *(fix.commit for fix in fixes)}))
    while missing := sorted(_parents(commits, base) - set(commits)):
        commits |= _commits(scratch, missing)
    lines, aside = {}, []
    for fix in fixes:
        line, at = [fix.commit], fix.commit
        while at != base and len(commits[at].parents) == 1:
            line.append(at := commits[at].parents[0])
        if at == base and fix.commit != base:
            lines[fix.commit] = tuple(line[-2:0:-1])
        else:
            reason = "its history has a merge in it" if commits[at].parents else "its history does not lead to the base"
            aside.append(SetAside((fix,), "history", reason))
    return commits, lines, aside


def _parents(commits: Mapping[str, Commit], base: str) -> set[str]:
    """What lies one step further back; nothing beyond the base, and nothing beyond a merge."""
    return {one.parents[0] for name, one in commits.items() if name != base and len(one.parents) == 1}


def _commits(scratch: Scratch, names: Sequence[str]) -> dict[str, Commit]:
    found = {}
    for name, raw in zip(names, scratch.raw(names), strict=True):
        if not raw.startswith(b"tree "):
            raise NotFound(f"commit {name} is not in {scratch.repo}", hint="a shallow clone lacks what is older")
        found[name] = _parse(raw)
    return found


def _parse(raw: bytes) -> Commit:
    head, _, message = raw.partition(b"\n\n")
    fields = [line.split(b" ", 1) for line in head.split(b"\n") if line[:1] != b" "]
    values = {key: value.decode(errors="replace") for key, *rest in reversed(fields) for value in rest}
    parents = tuple(value.decode() for key, *rest in fields for value in rest if key == b"parent")
    when = " ".join(values[b"committer"].rsplit(" ", 2)[1:])
    return Commit(values[b"tree"], parents, _line(_decoded(message, values.get(b"encoding", "utf-8"))), when)


def _decoded(message: bytes, encoding: str) -> str:
    try:
        return message.decode(encoding, errors="replace")
    except LookupError:  # an encoding that Python doesn't know
        return message.decode(errors="replace")


def _line(text: str) -> str:
    """The first line that has something on it, as one line that any terminal can show."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    return "".join(one if one.isprintable() else " " for one in first).strip()


# -- each as a change of the base --------------------------------------------------------------------------------------


def _alone(
    scratch: Scratch,
    base: str,
    fixes: Sequence[Fix],
    commits: Mapping[str, Commit],
    lines: Mapping[str, tuple[str, ...]],
) -> list[Alone]:
    """Each fix put on the base itself; those that don't apply there, with as few of their predecessors as will do."""
    tree = commits[base].tree
    later = [fix for fix in fixes if lines[fix.commit]]
    onto = scratch.commits([(tree, commits[fix.commit].parents[0]) for fix in later])
    merged = scratch.merges([(one, fix.commit) for one, fix in zip(onto, later, strict=True)])
    picked = {fix.commit: merge for fix, merge in zip(later, merged, strict=True)}
    found = []
    for fix in fixes:
        if not lines[fix.commit]:
            found.append(Alone(fix, commits[fix.commit].tree, tree))
        elif picked[fix.commit].clean:
            found.append(Alone(fix, picked[fix.commit].tree, tree))
        else:
            found.append(_upon(scratch, base, fix, commits, lines[fix.commit]))
    return found


def _upon(scratch: Scratch, base: str, fix: Fix, commits: Mapping[str, Commit], before: tuple[str, ...]) -> Alone:
    needs = before
    for one in before if len(before) <= _FEW else ():
        fewer = tuple(other for other in needs if other != one)
        if _applied(scratch, base, (*fewer, fix.commit), commits):
            needs = fewer
    under, tree = _applied(scratch, base, needs, commits), _applied(scratch, base, (*needs, fix.commit), commits)
    return Alone(fix, tree, under, needs)


def _applied(scratch: Scratch, base: str, line: Sequence[str], commits: Mapping[str, Commit]) -> str:
    """The tree of the base with these commits on it; empty if they don't apply."""
    tree = commits[base].tree
    for one in line:
        merge = scratch.pick(commits[one].parents[0], one, tree)
        if not merge.clean:
            return ""
        tree = merge.tree
    return tree


# -- equal ones once ---------------------------------------------------------------------------------------------------


def _patches(
    scratch: Scratch,
    base: str,
    found: Sequence[Alone],
    commits: Mapping[str, Commit],
    lines: Mapping[str, tuple[str, ...]],
) -> list[Patch]:
    keys = {one.fix.commit: hashlib.sha256(f"{one.under} {one.tree}".encode()).hexdigest()[:20] for one in found}
    together: dict[str, list[Alone]] = {}
    for one in found:
        together.setdefault(keys[one.fix.commit], []).append(one)
    for equal in together.values():
        equal.sort(key=lambda one: _first(one, keys, commits))
    firsts = [equal[0] for equal in together.values()]
    tree = commits[base].tree
    unders = sorted({one.under for one in firsts} - {tree})
    roots = {tree: base, **dict(zip(unders, scratch.commits([(under, base) for under in unders]), strict=True))}
    owns = scratch.commits([(one.tree, roots[one.under]) for one in firsts])
    alones = scratch.commits([(one.tree, base) for one in firsts])
    touched = sizes(scratch, owns)
    patches = []
    for key, own, alone in zip(together, owns, alones, strict=True):
        one = together[key][0]
        before = [keys.get(name, "") for name in lines[one.fix.commit]]
        patches.append(
            Patch(
                key=key,
                kind=min((each.fix.kind for each in together[key]), key=_CAREFUL.index),
                fixes=tuple(dict.fromkeys(each.fix for each in together[key])),
                subject=commits[one.fix.commit].subject or _line(one.fix.summary) or f"Change of {one.fix.task}",
                root=roots[one.under],
                commit=own,
                alone=alone,
                paths=touched[own][0],
                size=touched[own][1],
                needs=tuple(keys[name] for name in one.needs if name in keys),
                lacks=tuple(name for name in one.needs if name not in keys),
                follows=tuple(name for name in before if name and name != key),
            )
        )
    return patches


def _first(one: Alone, keys: Mapping[str, str], commits: Mapping[str, Commit]) -> tuple[object, ...]:
    """Which of several equal ones speaks for all; commit ids hold the time they were made at, so they are asked last."""
    fix = one.fix
    lacking = sum(name not in keys for name in one.needs)
    return (
        lacking,
        -fix.severity,
        fix.task,
        fix.agent,
        commits[fix.commit].subject,
        fix.summary,
        fix.commit,
        repr(fix),
    )


def sizes(scratch: Scratch, commits: Sequence[str]) -> dict[str, tuple[tuple[str, ...], int]]:
    """Paths touched and lines changed, by commit."""
    stdin = "".join(f"{one}\n" for one in commits).encode()
    out = scratch.git("diff-tree", "--stdin", "-r", "-z", "--numstat", "--no-renames", stdin=stdin)
    found: dict[str, tuple[list[str], int]] = {}
    at = ""
    for entry in out.decode(errors="backslashreplace").split("\0"):
        if "\t" not in entry:
            at = entry or at
            continue
        added, removed, path = entry.split("\t", 2)
        paths, size = found.get(at, ([], 0))
        # A binary file counts as one line each way, so that no size is free.
        found[at] = ([*paths, path], size + sum(1 if count == "-" else int(count) for count in (added, removed)))
    return {one: (tuple(found[one][0]), found[one][1]) for one in commits}
