"""The page: a run's report as one HTML file that needs nothing else, and no network."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from typing import Any

import msgspec

from muster.agents import Event
from muster.mend.report import Entry, Report
from muster.mend.report.text import title
from muster_testkit.page.parts import packed
from muster_testkit.page.write import asset, framed, part

# What is long stays packed in the page until somebody opens it.
_LONG = ("diff", "transcript", "terminal")


def page(report: Report, recordings: Mapping[str, bytes] = {}) -> str:
    """The page of that run; `recordings` are asciicasts by their path in the run's folder."""
    style = asset("tokens.css", "text.css", "player.css") + _own("report.css")
    script = asset("terminal.js", "dom.js", "player.js") + _own("report.js")
    heard = {name: number for number, name in enumerate(recordings)}
    parts = [*_parts(report), *((f"recording{heard[name]}", data) for name, data in recordings.items())]
    inert = (part(name, packed(data)) for name, data in parts)
    return "".join(framed(_own("report.html"), style, script, _index(report, heard), inert))


def _own(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _index(report: Report, heard: Mapping[str, int]) -> dict[str, Any]:
    """All that the page opens with."""
    known: dict[str, Any] = msgspec.to_builtins(report)
    # Keys may be words of a project's own, and only values are cleaned when the page reads them.
    for name in ("before", "after", "skips", "commands"):
        known[name] = [*known[name].items()]
    known["title"] = title(report)
    known["commits"] = [_short(one) for one in known["commits"]]
    known["asides"] = [_short(one) for one in known["asides"]]
    known["flaky"] = _without_text(known["flaky"])
    known["entries"] = [_line(entry, heard) for entry in known["entries"]]
    return known


def _line(entry: dict[str, Any], heard: Mapping[str, int]) -> dict[str, Any]:
    """A task as the list of them needs it."""
    claim = entry["claim"]
    return {
        **_short(entry),
        "tests": _without_text(entry["tests"]),
        "hurt": _without_text(entry["hurt"]),
        "claim": claim and {"status": claim["status"], "changes": len(claim["changes"])},
        "recordings": [(name, heard.get(name)) for name in entry["recordings"]],
        "commands": [*entry["commands"].items()],
    }


def _short(record: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name not in _LONG}


def _without_text(tests: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**test, "text": ""} for test in tests]


def _parts(report: Report) -> Iterator[tuple[str, bytes]]:
    """All that is long, by a name that no agent chose."""
    yield "flaky", _json([seen.text for seen in report.flaky])
    yield from ((f"entry{number}", _json(_whole(entry))) for number, entry in enumerate(report.entries))
    yield from ((f"commit{number}", _json(commit.diff)) for number, commit in enumerate(report.commits))
    yield from ((f"aside{number}", _json(aside.diff)) for number, aside in enumerate(report.asides))


def _whole(entry: Entry) -> dict[str, Any]:
    return {
        "claim": msgspec.to_builtins(entry.claim),
        "texts": [seen.text for seen in entry.tests],
        "hurt": [seen.text for seen in entry.hurt],
        "diff": entry.diff,
        "transcript": [_spoken(event) for event in entry.transcript],
        "terminal": entry.terminal,
    }


def _spoken(event: Event) -> dict[str, Any]:
    return {"role": event.role, "text": event.text, "tool": event.tool, "at": event.at}


def _json(value: object) -> bytes:
    # Not msgspec's: names of files that are not UTF-8 have no place in its JSON.
    return json.dumps(value, separators=(",", ":")).encode()
