"""The gate: of a change to a project, what is cheating, and what must a person judge?

It reads syntax trees, so comments, formatting, names of local variables, the order of tests, helpers and parametrised
cases make no difference; what tests assert does. `rules.RULES` has all of it, one line each.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping

from muster.core.proc import Prefix
from muster.mend import Finding
from muster.mend.gate import commits, data, facts, marks, program, settings, tests
from muster.mend.gate.diff import Diff, diff
from muster.mend.gate.rules import RULES, check_names, table
from muster.mend.layout import Layout

__all__ = ["RULES", "inspect", "of_commits", "table"]

FAMILIES: tuple[Callable[[Diff], Iterator[Finding]], ...] = (
    tests.look,
    marks.look,
    facts.look,
    settings.look,
    program.look,
    data.look,
)


def inspect(
    before: Mapping[str, bytes | None],
    after: Mapping[str, bytes | None],
    layout: Layout,
    *,
    green: Collection[str] = (),
    allow: Collection[str] = (),
    beside: Mapping[str, bytes] | None = None,
    links: Collection[str] = (),
) -> list[Finding]:
    """Findings on the changed files, None being a file that isn't there; in order, each once.

    `green` are tests that passed before; `beside` are unchanged files that the change is judged by (the tests that run,
    the documents they cite); `links` are paths that are a symbolic link or a submodule now.
    """
    check_names(allow)
    change = diff(before, after, layout, green, beside or {}, links)
    # Refusals come before reviews of the same line, and win over them.
    found: dict[tuple[str, str, int], Finding] = {}
    for one in sorted((one for family in FAMILIES for one in family(change)), key=_order):
        if one.rule not in allow:
            found.setdefault((one.rule, one.file, one.line), one)
    return [*found.values()]


def _order(one: Finding) -> tuple[str, int, str, str, str]:
    return one.file, one.line, one.rule, one.level, one.detail


def of_commits(
    place: Prefix,
    repo: str,
    base: str,
    tip: str,
    layout: Layout,
    *,
    green: Collection[str] = (),
    allow: Collection[str] = (),
    beside: Collection[str] = (),
) -> list[Finding]:
    """Findings on what differs between two commits; `beside` are paths of files to judge it by, read at the base."""
    check_names(allow)
    read = commits.read(place, repo, base, tip, beside)
    return inspect(read.before, read.after, layout, green=green, allow=allow, beside=read.beside, links=read.links)
