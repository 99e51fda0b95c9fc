"""What became of each thing that was put into the sample, read from the report like any reader would."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from muster.mend.report import Aside, Commit, Entry, Report


class Line(Struct, frozen=True):
    """One thing that happened; without a text it did not, and should have."""

    word: str
    text: str


def story(report: Report) -> tuple[Line, ...]:
    """Five lines."""
    return (
        Line("fixed", _one_cause(report)),
        Line("twice", _found_twice(report)),
        Line("conflict", _conflict(report)),
        Line("refused", _cheat(report)),
        Line("for you", _for_you(report)),
    )


def _one_cause(report: Report) -> str:
    """Several tests failed for one reason."""
    for entry in report.entries:
        commit = _commit(report, entry, "impl")
        if commit and len(commit.green) == len(entry.tests) > 2:
            return f"{len(entry.tests)} failing tests were one fault: one agent, one commit ({_named(commit)})"
    return ""


def _found_twice(report: Report) -> str:
    """Two agents came to the same repair."""
    shared = [one for one in report.commits if one.kind == "impl" and len(one.agents) == 2]
    return f"two agents found the same repair, each by itself: one commit ({_named(shared[0])})" if shared else ""


def _conflict(report: Report) -> str:
    """Two agents repaired the same line in two ways."""
    asides = [one for one in report.asides if one.reason.startswith("conflict with")]
    if len(asides) != 1 or not (rival := _rival(report, asides[0])):
        return ""
    return f"two agents repaired one line in two ways: `{rival.subject}` is in, `{asides[0].subject}` set aside"


def _rival(report: Report, aside: Aside) -> Commit | None:
    return next((one for one in report.commits if any(task in aside.reason for task in one.tasks)), None)


def _cheat(report: Report) -> str:
    """One agent made its test ask for less; nothing of it came through."""
    cheat = _entry(report, "test_scale_for_three")
    if not cheat or cheat.verdict != "refused" or cheat.commits or not cheat.findings:
        return ""
    finding = cheat.findings[0]
    return f"an agent made its test pass by asking for less: `{finding.rule}` in {finding.file}:{finding.line}"


def _for_you(report: Report) -> str:
    return "; ".join(parts) if all(parts := tuple(_wanting(report))) else ""


def _wanting(report: Report) -> Iterator[str]:
    """The wrong test, the missing feature, and the flaky test."""
    wrong, feature = _entry(report, "test_convert_to_a_quarter"), _entry(report, "test_convert_to_metric")
    judge = _commit(report, wrong, "review") if wrong else None
    yield f"a corrected test to judge ({judge.id[:9]})" if judge else ""
    yield "a feature that is missing (blocked)" if feature and feature.verdict == "blocked" else ""
    flaky = [seen.id.rpartition("::")[2] for seen in report.flaky]
    yield f"a flaky test ({flaky[0]})" if flaky == ["test_missing"] else ""


def _entry(report: Report, test: str) -> Entry | None:
    return next((one for one in report.entries if one.tests[0].id.endswith(f"::{test}")), None)


def _commit(report: Report, entry: Entry, kind: str) -> Commit | None:
    return next((one for one in report.commits if one.kind == kind and one.id in entry.commits), None)


def _named(commit: Commit) -> str:
    return f"{commit.id[:9]} {commit.subject}"
