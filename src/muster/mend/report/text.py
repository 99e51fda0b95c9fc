"""`PR.md`: what a reviewer reads first, and nothing that isn't known."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from muster.core import out
from muster.mend.report import WANTS_A_PERSON, Commit, Entry, Report

# A reviewer reads no more of one kind; the page has them all.
SHOWN = 20
DETAIL = 400  # characters of what an agent says beside its title
_ID = re.compile(r"[0-9a-f]{40,64}")
_CODE = re.compile(r"`([^`\n]+)`")
_MARKUP = re.compile(r"[\\`*\[\]~|]|(?<!\w)_|_(?!\w)")


def pull_request(report: Report) -> str:
    """The text of a pull request."""
    return "\n".join(_lines(report)).strip() + "\n"


def title(report: Report) -> str:
    """One line on the whole."""
    fixes = sum(1 for one in report.commits if one.kind == "impl")
    green = len(report.turned)
    if not report.commits:
        return "No change that holds"
    if not green:
        return f"{_many(len(report.commits), 'change')}, none of which turns a test green"
    with_what = _many(fixes, "fix", "fixes") if fixes else _many(len(report.commits), "change")
    return f"Mend {_many(green, 'failing test')} with {with_what}"


def wanting(report: Report) -> str:
    """What needs a person, counted; empty if nothing does."""
    counts: dict[str, int] = {word: report.counts.get(word, 0) for word in WANTS_A_PERSON}
    counts["flaky"] += len(report.flaky)
    counts["to judge"] = sum(1 for one in report.commits if one.kind == "review")
    counts["set aside"] = len(report.asides)
    counts["handed on"] = len(report.handed)
    return ", ".join(f"{number} {word}" for word, number in counts.items() if number)


def _lines(report: Report) -> Iterator[str]:
    yield f"# {title(report)}"
    yield ""
    at_tip = f" At the tip of this branch: {_counted(report.after)}." if report.tip else ""
    yield f"Tests before: {_counted(report.before)}.{at_tip}"
    if report.interrupted:
        left = f": {_many(len(report.undone), 'task')} not done" if report.undone else ": not every task was done"
        yield f"The run was interrupted{left}."
    yield from _section("What needs a person", _attention(report))
    yield from _section("What changed, and what proves it", map(_commit, report.commits))
    yield from _section(
        "Set aside", (f"{_code(a.commit[:9])} {_prose(a.subject)}: {_prose(a.reason)}" for a in report.asides)
    )
    yield from _section("Handed on by agents", _handed(report))
    yield from _section("Not given to an agent", _skipped(report))
    yield from _section("How to go on", (f"{about}: {_code(line)}" for about, line in report.commands.items()))


def _section(heading: str, items: Iterable[str]) -> Iterator[str]:
    listed = list(items)
    if listed:
        yield from ["", f"## {heading}", "", *(f"- {item}" for item in listed[:SHOWN])]
    if len(listed) > SHOWN:
        yield f"- … and {len(listed) - SHOWN} more: the page has them all"


def _commit(one: Commit) -> str:
    found = f", found by {len(one.agents)} agents, each by itself" if len(one.agents) > 1 else ""
    proof = f": turns {_ids(one.green)} green" if one.green else ""
    judge = " **Only a person can judge this one.**" if one.kind == "review" else ""
    alone = "" if one.reverts or one.needed_by else " It does not revert cleanly."
    needed = f" Needed by {_commits(one.needed_by)}." if one.needed_by else ""
    conflicts = f" Conflicts with {_commits(one.conflicts)}." if one.conflicts else ""
    size = f"(+{one.added} −{one.removed}{found})"
    return f"{_code(one.id[:9])} {_prose(one.subject)} {size}{proof}.{judge}{alone}{needed}{conflicts}"


def _attention(report: Report) -> Iterator[str]:
    wanting = [one for one in report.entries if one.verdict in WANTS_A_PERSON]
    for one in sorted(wanting, key=lambda entry: WANTS_A_PERSON.index(entry.verdict)):
        yield (
            f"**{one.verdict}** {_ids(tuple(seen.id for seen in one.tests)) or _prose(one.title)}: {_prose(one.reason)}"
            + _gate(one)
        )
    told = {seen.id for one in wanting for seen in one.tests}
    yield from (f"**flaky** {_code(seen.id)}: {_prose(seen.before)}" for seen in report.flaky if seen.id not in told)
    reviews = [one for one in report.commits if one.kind == "review"]
    yield from (f"**review** {_code(one.id[:9])} {_prose(one.subject)}: only a person can judge it" for one in reviews)


def _gate(one: Entry) -> str:
    """What the gate found, as lines of their own below the reason."""
    found = [f"{_code(f'{f.file}:{f.line}')} {_code(f.rule)}: {_prose(f.detail)}" for f in one.findings[:5]]
    return "".join(f"\n  - {line}" for line in found)


def _handed(report: Report) -> Iterator[str]:
    for one in report.handed:
        times = f" (by {len(one.tasks)} agents)" if len(one.tasks) > 1 else ""
        detail = f": {_prose(out.clip(_line(one.escalation.detail), DETAIL))}" if one.escalation.detail else ""
        yield f"{one.escalation.kind}: {_prose(one.escalation.title)}{times}{detail}"


def _skipped(report: Report) -> Iterator[str]:
    return (f"{_many(len(tests), 'test')}: {_prose(reason)}" for reason, tests in report.skips.items())


def _ids(tests: tuple[str, ...]) -> str:
    more = f" and {len(tests) - 2} more" if len(tests) > 2 else ""
    return ", ".join(map(_code, tests[:2])) + more


def _commits(names: tuple[str, ...]) -> str:
    """Commits, or titles of changes."""
    return ", ".join(_code(name[:9] if _ID.fullmatch(name) else name) for name in names)


def _code(text: str) -> str:
    """A code span that nothing in it can end."""
    line = _line(text)
    fence = "`" * (max((len(run) for run in re.findall("`+", line)), default=0) + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{pad}{line}{pad}{fence}" if line else "(nothing)"


def _prose(text: str) -> str:
    """Text in which code stays code, and nothing else is more than text."""
    parts = _CODE.split(_line(text))
    return "".join(_code(part) if at % 2 else _escaped(part) for at, part in enumerate(parts))


def _escaped(text: str) -> str:
    marked = _MARKUP.sub(lambda found: f"\\{found[0]}", text.replace("&", "&amp;").replace("<", "&lt;"))
    # An agent calls nobody's attention by name.
    return re.sub(r"@(?=\w)", "@<!-- -->", marked)


def _line(text: str) -> str:
    # A name that is not UTF-8 has its bytes spelled out.
    return out.safe(" ".join(text.encode(errors="backslashreplace").decode().split()))


def _many(number: int, noun: str, nouns: str = "") -> str:
    return f"{number} {noun if number == 1 else nouns or noun + 's'}"


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{number} {word}" for word, number in counts.items() if number) or "none"
