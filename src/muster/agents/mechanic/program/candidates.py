"""All repairs that could be tried, the most promising first."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from . import facts
from .facts import Facts
from .repairs import View, all_kinds
from .runs import Failure
from .source import Edit, Function, Source, header
from .suspicion import Lines, Spectrum, statements

_STATEMENTS = 400  # the most suspected, of which candidates are made


@dataclass(frozen=True)
class Candidate:
    """A file as it would be, and why."""

    edit: Edit
    source: Source
    score: float
    under: tuple[Edit, ...] = ()  # edits that come before it, where one was not enough
    texts: tuple[tuple[str, str], ...] = ()  # of other files that those changed

    @property
    def text(self) -> str:
        """The whole file."""
        return self.source.text[: self.edit.start] + self.edit.text + self.source.text[self.edit.end :]

    @property
    def files(self) -> dict[str, bytes]:
        return {**{path: text.encode() for path, text in self.texts}, self.edit.path: self.text.encode()}

    @property
    def harsh(self) -> bool:
        return self.edit.harsh or any(edit.harsh for edit in self.under)


def views(sources: Mapping[str, Source], known: Facts) -> dict[str, View]:
    functions: dict[str, Function] = {}
    attributes: dict[str, None] = {}
    for source in sources.values():
        for node in ast.walk(source.tree):
            if isinstance(node, Function):
                functions.setdefault(node.name, node)
            elif isinstance(node, ast.ClassDef):
                attributes.update(dict.fromkeys(source.attributes(node)))
                start = next((one for one in node.body if isinstance(one, Function) and one.name == "__init__"), None)
                if start:
                    functions.setdefault(node.name, start)
    return {path: View(source, known, functions, tuple(attributes)) for path, source in sources.items()}


def ranked(sources: Mapping[str, Source], spectrum: Spectrum, said: Facts) -> list[Candidate]:
    """Suspicion, times the prior of the kind of repair, times smallness."""
    found: dict[tuple[str, int, int, str], tuple[float, Edit]] = {}
    known = views(sources, said)
    for weight, source, statement in statements(spectrum, sources)[:_STATEMENTS]:
        for edit in _edits(known[source.path], statement):
            old = source.text[edit.start : edit.end]
            if old == edit.text:
                continue
            score = weight**1.2 * edit.prior * _small(old, edit.text) * (0.6 if edit.harsh else 1.0)
            key = _key(source, edit)
            if key not in found or found[key][0] < score:
                found[key] = (score, edit)
    ordered = sorted(found.values(), key=lambda one: (-one[0], one[1].path, one[1].start, one[1].end, one[1].text))
    return [Candidate(edit, sources[edit.path], score) for score, edit in ordered]


def _key(source: Source, edit: Edit) -> tuple[str, int, int, str]:
    """The same change, whichever repair proposed it: without what is equal at its ends."""
    old, new = source.text[edit.start : edit.end], edit.text
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    return edit.path, edit.start + start, edit.end - end, new[start : len(new) - end]


def _edits(view: View, statement: ast.stmt) -> Iterator[Edit]:
    kinds = all_kinds()
    nodes = list(header(statement))
    for handler in getattr(statement, "handlers", []):
        if handler.type is not None:
            nodes += header(handler.type)
    for node in nodes:
        if isinstance(node, ast.FormattedValue | ast.JoinedStr) or _certain(view.source, node):
            for kind in kinds:
                yield from kind(view, node)


def _certain(source: Source, node: ast.AST) -> bool:
    """Whether the place of a node is what the tree says: within an f-string, Python before 3.12 doesn't know."""
    if not any(isinstance(one, ast.JoinedStr) for one in source.above(node)):
        return True
    if not isinstance(node, ast.expr) or isinstance(node, ast.Constant):
        return isinstance(node, ast.Constant)
    try:
        return ast.dump(ast.parse(source.of(node).strip(), mode="eval").body) == ast.dump(node)
    except (SyntaxError, ValueError):
        return False


def _small(old: str, new: str) -> float:
    if len(old) + len(new) > 2_000:
        return 0.5
    same = sum(block.size for block in SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks())
    return 1 / (1 + (len(old) + len(new) - 2 * same) / 60)


def compiles(candidate: Candidate) -> bool:
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(candidate.text, candidate.edit.path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return True


def below(
    first: Candidate, sources: Mapping[str, Source], spectrum: Spectrum, failing: Sequence[tuple[Lines, Failure]]
) -> list[Candidate]:
    """What could be tried on top of a candidate that got part of the way: by what the failing tests run with it."""
    changed = {**sources, **{path: Source(path, data) for path, data in first.files.items()}}
    moved = _moved(spectrum, first, sources)
    for lines, failure in failing:
        moved.add_failing(lines, failure)
    found = ranked(changed, moved, facts.read([failure for _, failure in failing]))
    others = tuple((path, data.decode()) for path, data in first.files.items())
    return [
        Candidate(
            one.edit,
            one.source,
            one.score,
            (*first.under, first.edit),
            tuple(pair for pair in others if pair[0] != one.edit.path),
        )
        for one in found
    ]


def _moved(spectrum: Spectrum, first: Candidate, sources: Mapping[str, Source]) -> Spectrum:
    """What passing tests ran, as lines of the changed program: those below an edit may have other numbers."""
    path = first.edit.path
    shift = first.text.count("\n") - sources[path].text.count("\n")
    passed = {
        (one, line + shift if one == path and line > first.edit.line else line): count
        for (one, line), count in spectrum.passed.items()
    }
    return Spectrum(passing=spectrum.passing, passed=passed, covers=spectrum.covers)
