"""What a tutorial and its tests lack, before an agent and after it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from muster_testkit.tutorial import Block
from muster_testkit.tutorial.check import Report


def headings(blocks: Sequence[Block]) -> list[Block]:
    """Those without an example. The first block of several is the title, which needs none."""
    after = [*blocks[1:], None]
    bare = [one for one, two in zip(blocks, after, strict=True) if one.kind == "heading" and _ends(two)]
    return bare[1:] if len(blocks) > 1 and bare[:1] == [blocks[0]] else bare


def _ends(block: Block | None) -> bool:
    return block is None or block.kind == "heading"


def drafted(file: str, before: Sequence[Block], after: Sequence[Block]) -> Iterator[str]:
    """What is wrong with the tutorial that an agent has filled."""
    texts = [one.text for one in after]
    for one in before:
        # A command may have been written straight below the comment that asked for it.
        grown = one.kind == "heading" and any(text.startswith(f"{one.text}\n") for text in texts)
        if one.text not in texts and not grown:
            yield f"{file}: a block that was there is gone or changed: `{first(one)}`"
    for one in headings(after):
        yield f"{file}:{one.line}: this heading has no example: `{first(one)}`"


def synced(before: Report, after: Report, folder: str) -> Iterator[str]:
    """What is wrong with the tests that an agent has written, which lie in that folder."""
    if [one.text for one in before.blocks] != [one.text for one in after.blocks]:
        yield f"{after.file.removeprefix(folder)} was changed: the tests follow it, not it the tests"
    yield from (str(one).replace(folder, "") for one in after.problems if one.fails)
    cited, cites = _citations(before, ""), _citations(after, folder)
    for file, test, text in sorted(cited - cites):
        yield f"{file}: `{test}` is gone, or no longer cites `{text.splitlines()[-1]}`"
    for file, test, _ in sorted(cites - cited):
        if not test.rpartition("::")[2].startswith("test"):
            yield f"{file}: a citation that is in no test{f': `{test}`' if test else ''}"


def _citations(report: Report, folder: str) -> set[tuple[str, str, str]]:
    cited = [one for found in report.cited_by.values() for one in found]
    return {(one.file.removeprefix(folder), one.test, one.text) for one in cited}


def first(block: Block) -> str:
    """Its first line."""
    return block.text.partition("\n")[0]
