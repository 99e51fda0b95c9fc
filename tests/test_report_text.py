"""The text of a pull request: what it counts, and that nobody's words become more than words in it."""

from __future__ import annotations

import re

import msgspec
import pytest

import reports
from muster.mend import Escalation
from muster.mend.report import Handed, Report
from muster.mend.report.text import SHOWN, pull_request, title

MARKUP = ("<", "*", "[", "~", "|", "`", "\x1b", "\u202e", "\n")


def sections(report: Report) -> dict[str, list[str]]:
    """The items of each section, and what is before the first one."""
    parts = re.split(r"(?m)^## (.*)\n", pull_request(report))
    found = {
        name: [line for line in text.splitlines() if line] for name, text in zip(parts[1::2], parts[2::2], strict=True)
    }
    return {"": parts[0].splitlines(), **found}


def outside_code(text: str) -> str:
    """The text without its code spans, read as CommonMark reads them, and without what is escaped."""
    left, at = "", 0
    while at < len(text):
        if text[at] == "\\":
            at += 2
        elif text[at] != "`":
            left, at = left + text[at], at + 1
        else:
            run = len(text) - at - len(text[at:].lstrip("`"))
            end = next((m for m in re.finditer("`+", text[at + run :]) if len(m[0]) == run), None)
            left, at = (left, at + run + end.end()) if end else (left + text[at : at + run], at + run)
    return left


def test_it_says_in_order_what_a_reviewer_asks() -> None:
    found = sections(reports.ordinary())
    assert [*found] == ["", "What needs a person", "What changed, and what proves it", "Set aside", "Handed on by agents", "Not given to an agent", "How to go on"]  # fmt: skip
    assert found[""][0] == "# Mend 6 failing tests with 3 fixes"
    assert (
        "Tests before: 14 passing, 11 failing, 1 flaky, 2 skipped. At the tip of this branch: 20 passing, 5 failing"
        in found[""][2]
    )


def test_what_needs_a_person_is_by_urgency_each_once() -> None:
    items = [line for line in sections(reports.ordinary())["What needs a person"] if line.startswith("- ")]
    words = [re.match(r"- \*\*(\w+)\*\*", line) for line in items]
    assert [word and word[1] for word in words] == ["refused", "broken", "blocked", "lost", "flaky", "flaky", "review"]
    assert sum("test_ticks_once_a_second" in line for line in items) == 1


def test_a_refusal_names_rule_and_line() -> None:
    items = sections(reports.ordinary())["What needs a person"]
    assert "  - `tests/test_dates.py:21` `weakened-assertion`: `out == '2024-01-02…'` became `'2024' in out`" in items


def test_a_commit_tells_its_proof_and_what_depends_on_it() -> None:
    items = sections(reports.ordinary())["What changed, and what proves it"]
    assert len(items) == 5
    assert items[1].endswith("and 1 more green. Needed by `030303030`.")
    assert (
        "(+2 −1, found by 2 agents, each by itself): turns `tests/test_money.py::test_rounding[0.005-up]`, " in items[2]
    )
    assert items[3].endswith("Conflicts with `060606060`.")
    assert items[4].endswith("**Only a person can judge this one.**")


def test_what_a_commit_conflicts_with_has_its_whole_name() -> None:
    report = reports.ordinary()
    rival = msgspec.structs.replace(report.commits[3], conflicts=("time-in-hours-53f3b (demo-time-in-hours-53f3b)",))
    text = pull_request(msgspec.structs.replace(report, commits=(rival,)))
    assert "Conflicts with `time-in-hours-53f3b (demo-time-in-hours-53f3b)`." in text


@pytest.mark.parametrize(
    ("kinds", "green", "expected"),
    [
        ((), 0, "No change that holds"),
        (("impl",), 1, "Mend 1 failing test with 1 fix"),
        (("impl", "impl"), 3, "Mend 3 failing tests with 2 fixes"),
        (("test",), 2, "Mend 2 failing tests with 1 change"),
        (("test", "docs"), 0, "2 changes, none of which turns a test green"),
    ],
)
def test_the_title_claims_no_more_than_there_is(kinds: tuple[str, ...], green: int, expected: str) -> None:
    tests = tuple(f"tests/test_a.py::test_{n}" for n in range(green))
    template = reports.commits()[0]
    made = tuple(msgspec.structs.replace(template, kind=kind, green=tests) for kind in kinds)
    assert title(reports.ordinary(commits=made, turned=tests)) == expected


def test_an_empty_run_says_so_and_no_more() -> None:
    assert pull_request(reports.empty()) == "# No change that holds\n\nTests before: 26 passing.\n"


def test_an_interrupted_run_says_what_is_left() -> None:
    assert "The run was interrupted: 17 tasks not done." in pull_request(reports.large(12))


def test_many_of_a_kind_are_cut_and_counted() -> None:
    items = [line for line in sections(reports.large())["What needs a person"] if line.startswith("- ")]
    wanting = 300 // 12 * 5 + 2 + 1  # five verdicts want a person; two flaky tests of the baseline; one commit
    assert len(items) == SHOWN + 1
    assert items[-1] == f"- … and {wanting - SHOWN} more: the page has them all"


def test_hostile_words_stay_words() -> None:
    text = pull_request(reports.hostile())
    text.encode()
    assert text.count("\n## ") == 6
    own = re.compile(r"^- \*\*\w+\*\* |\*\*Only a person can judge this one\.\*\*$|^ *- |@<!-- -->")
    for line in text.splitlines():
        left = outside_code(own.sub("", line))
        assert not [mark for mark in MARKUP if mark in left], left


@pytest.mark.parametrize(
    "text", ["`", "``", "a`b``c```d", "`` ` ``", "\\`", "`\\", "", " ", "a\n\n# heading\n- item", "\r\n```\n"]
)
def test_nothing_ends_a_code_span_early(text: str) -> None:
    report = reports.ordinary(commands={"look": text, "merge": text})
    lines = sections(report)["How to go on"]
    assert [line.partition(":")[0] for line in lines] == ["- look", "- merge"]
    for line in lines:
        assert outside_code(line.partition(": ")[2]) in ("", "(nothing)")


def test_nobody_is_called_by_name() -> None:
    told = Handed(("totals",), Escalation("shared", "ask @octocat", "and `@inside` mail me@example.org"))
    item = sections(reports.ordinary(handed=(told,)))["Handed on by agents"][0]
    assert item == "- shared: ask @<!-- -->octocat: and `@inside` mail me@<!-- -->example.org"
