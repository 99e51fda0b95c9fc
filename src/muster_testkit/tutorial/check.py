"""Whether the tutorial and the tests that cite it still agree, in both directions."""

from __future__ import annotations

import difflib
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal

from muster_testkit import tutorial
from muster_testkit.tutorial import Block
from muster_testkit.tutorial.citations import Citation, Reading, read, test_files

Fault = Literal["uncited", "unknown", "empty", "unreadable"]
Note = Literal["unchecked", "cut"]
_WORD = re.compile(r"[\w-]+")
_PIECE = re.compile(r"\w+|\s+|[^\w\s]")
# So many blocks are compared piece by piece with a citation that has drifted; they share its rarest words.
_CANDIDATES = 5
# So many pairs of a citation's word and a block that has it are counted to find them.
_BUDGET = 400


@dataclass(frozen=True)
class Problem:
    """Something to mend, or, of the kinds of `Note`, to know."""

    kind: Fault | Note
    file: str
    line: int
    message: str
    diff: str = ""

    @property
    def fails(self) -> bool:
        return self.kind not in ("unchecked", "cut")

    @property
    def head(self) -> str:
        """The line that editors jump by."""
        return f"{self.file}:{self.line}: {'' if self.fails else 'note: '}{self.message}"

    def __str__(self) -> str:
        return "\n".join([self.head, *(f"    {line}" for line in self.diff.splitlines())])


@dataclass(frozen=True)
class Report:
    """All blocks, who cites each, and what is wrong."""

    file: str
    blocks: list[Block]
    cited_by: dict[str, list[Citation]]  # by a block's text
    problems: list[Problem]
    files: int

    @property
    def ok(self) -> bool:
        return not any(one.fails for one in self.problems)

    @property
    def summary(self) -> str:
        commands = [one for one in self.blocks if one.kind == "command"]
        covered = sum(one.text in self.cited_by for one in commands)
        total = sum(len(found) for found in self.cited_by.values())
        shown = f"{covered} of {len(commands)} blocks with commands are cited, {counted(total, 'citation')}"
        return f"{shown} in {counted(self.files, 'test file')}"

    def record(self) -> dict[str, Any]:
        """As JSON has it."""
        listed = [
            {**block_record(one), "cited_by": [asdict(two) for two in self.cited_by.get(one.text, [])]}
            for one in self.blocks
        ]
        problems = [asdict(one) for one in self.problems]
        return {"file": self.file, "ok": self.ok, "summary": self.summary, "blocks": listed, "problems": problems}


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def block_record(block: Block) -> dict[str, Any]:
    return {"line": block.line, "last": block.last, "kind": block.kind, "text": block.text, "cut": block.cut}


def check(file: str, paths: list[str]) -> Report:
    """Compare a tutorial with the test files at those paths."""
    known = tutorial.read(file)
    reading = read(test_files(paths))
    texts = {one.text for one in known}
    cited_by: dict[str, list[Citation]] = defaultdict(list)
    for one in reading.citations:
        if one.text in texts:
            cited_by[one.text].append(one)
    problems = [*_tutorial(file, known, cited_by), *_tests(file, known, reading, texts)]
    return Report(file, known, dict(cited_by), problems, reading.files)


def _tutorial(file: str, known: list[Block], cited_by: dict[str, list[Citation]]) -> Iterator[Problem]:
    for one in known:
        if one.kind == "command" and one.text not in cited_by:
            yield Problem("uncited", file, one.line, f"no test cites this block: `{_title(one)}`")
        if one.cut:
            words = f"the here-document `{one.cut}` is cut off by an empty line, which always ends a block"
            yield Problem("cut", file, one.last, words)


def _title(block: Block) -> str:
    """Its first line that is a command."""
    lines = block.text.split("\n")
    return next((line for line in lines if not line.lstrip().startswith("#")), lines[0])


def _tests(file: str, known: list[Block], reading: Reading, texts: set[str]) -> Iterator[Problem]:
    for path, line, reason in reading.broken:
        yield Problem("unreadable", path, line, reason)
    for path, line in reading.empty:
        yield Problem("empty", path, line, "this cites no block: its text is empty")
    index = _Index(known)
    for one in reading.citations:
        if one.text not in texts:
            yield _unknown(file, one, index.nearest(one.text))
    for path, line in reading.unchecked:
        yield Problem("unchecked", path, line, "not checked: only a plain string can be read without a run")


def _unknown(file: str, one: Citation, near: Block | None) -> Problem:
    if near is None:
        return Problem("unknown", one.file, one.line, f"no block of `{file}` is like this citation")
    message = f"this citation is no block of `{file}`; the nearest is at {file}:{near.line}"
    lines = difflib.unified_diff(near.text.split("\n"), one.text.split("\n"), "tutorial", "test", n=99, lineterm="")
    shown = [line for line in lines if not line.startswith("@@")]
    return Problem("unknown", one.file, one.line, message, "\n".join(shown))


class _Index:
    """The blocks by their words, so that the nearest is sought among few."""

    def __init__(self, blocks: list[Block]) -> None:
        self._blocks = blocks
        self._places: dict[str, list[int]] = defaultdict(list)
        for number, one in enumerate(blocks):
            for word in set(_WORD.findall(one.text)):
                self._places[word].append(number)

    def nearest(self, text: str) -> Block | None:
        """The block that is most like that text, if any is."""
        shared: Counter[int] = Counter()
        budget = _BUDGET
        words = [word for word in set(_WORD.findall(text)) if word in self._places]
        for word in sorted(words, key=lambda one: (len(self._places[one]), one)):
            shared.update(self._places[word][:budget])
            budget -= len(self._places[word])
            if budget <= 0:
                break
        likely = sorted(shared, key=lambda number: (-shared[number], number))[:_CANDIDATES]
        matcher: difflib.SequenceMatcher[str] = difflib.SequenceMatcher(autojunk=False)
        matcher.set_seq2(_PIECE.findall(text))
        best, found = 0.3, None
        for number in likely:
            matcher.set_seq1(_PIECE.findall(self._blocks[number].text))
            if matcher.quick_ratio() > best and (ratio := matcher.ratio()) > best:
                best, found = ratio, self._blocks[number]
        return found
