"""The tutorial's commands as text: what they print, and their command line where muster's is not there."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict

from muster_testkit import tutorial
from muster_testkit.tutorial import Block
from muster_testkit.tutorial.check import Report, block_record, check


def listed(file: str, blocks: Iterable[Block]) -> str:
    """One line per block, which editors can jump by."""
    lines = []
    for one in blocks:
        first, *rest = one.text.split("\n")
        more = f" (+{len(rest)})" if rest else ""
        lines.append(f"{file}:{one.line}: {one.kind}: {first}{more}")
        if one.cut:
            lines.append(f"{file}:{one.last}: note: the here-document `{one.cut}` is cut off by an empty line")
    return "\n".join(lines)


def verdict(report: Report) -> str:
    """All problems, then the sum of it."""
    return "\n".join([*map(str, report.problems), report.summary])


def main(words: Sequence[str]) -> int:
    """`tutorial blocks` and `tutorial check`."""
    given = _parser().parse_args(words)
    if given.what == "blocks":
        found = tutorial.read(given.file)
        records = [block_record(one) for one in found]
        _say(given.format, listed(given.file, found), records, records)
        return 0
    report = check(given.file, given.tests)
    _say(given.format, verdict(report), report.record(), [asdict(one) for one in report.problems])
    return 0 if report.ok else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m muster_testkit tutorial")
    parts = parser.add_subparsers(dest="what", required=True)
    for name, about in (("blocks", "List the blocks of a tutorial."), ("check", "Compare a tutorial with its tests.")):
        part = parts.add_parser(name, help=about, description=about)
        part.add_argument("file", metavar="FILE")
        if name == "check":
            part.add_argument("tests", metavar="TESTS", nargs="+")
        part.add_argument("--format", choices=("human", "json", "jsonl"), default="human")
    return parser


def _say(form: str, human: str, whole: object, lines: Iterable[object]) -> None:
    if form == "human":
        text = human
    elif form == "json":
        text = json.dumps(whole, ensure_ascii=False)
    else:
        text = "\n".join(json.dumps(one, ensure_ascii=False) for one in lines)
    if text:
        sys.stdout.write(_printable(text) if form == "human" else text)
        sys.stdout.write("\n")


def _printable(text: str) -> str:
    """Text that can't move the cursor, colour the screen or ring the bell."""
    return "".join(one if one in "\n\t" or one.isprintable() else "\N{REPLACEMENT CHARACTER}" for one in text)
