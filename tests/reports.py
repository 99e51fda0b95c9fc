"""Reports of runs, as the pipeline would write them: an ordinary one, a large one, an empty one, a hostile one."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

from muster.agents import Event
from muster.mend import Change, Escalation, Finding, Outcome
from muster.mend.report import Aside, Commit, Entry, Handed, Report, Seen

BASE = "5f2c9e0b7d1a4c6e8f90123456789abcdef01234"
# What an agent may write to be more than text: markup, script, escapes of a terminal, marks that turn text around.
HOSTILE = (
    '<img src=x onerror="alert(1)">', "</script><script>alert(1)</script>", "<!--<script>", "\x1b]0;owned\x07\x1b[2J\x1b[31mred",
    "user\u202etxt.exe\u202c", "\u2066hidden\u2069", "`code` $(touch /tmp/x) ``` # h", "\u2028line\u2029", "javascript:alert(1)", "&lt;b&gt;&amp;", "\x00\x07\x9b31m", "\udce9.py", "__proto__", "a\rb",
)  # fmt: skip
ALL = " ".join(HOSTILE)


def commit_id(number: int) -> str:
    return f"{number:02x}" * 20


def change(file: str, line: int, before: str, after: str) -> str:
    return (
        f"diff --git a/{file} b/{file}\nindex 1111111..2222222 100644\n--- a/{file}\n+++ b/{file}\n"
        f"@@ -{line},3 +{line},4 @@ def totals(rows):\n     seen = set()\n-{before}\n+{after}\n+    # the last row counts, too\n     return seen\n"
    )


def seen(test: str, before: str = "failed", after: str = "passed", text: str = "") -> Seen:
    return Seen(f"tests/{test}", before, after, text)


FAILURE = """\
    def test_report_totals(ledger):
        ledger("add", "rent", "700")
>       assert ledger("total").out == "700.00\\n"
E       AssertionError: assert '0.00\\n' == '700.00\\n'
E         - 700.00
E         + 0.00

tests/test_totals.py:14: AssertionError
"""


def outcome(status: Any = "done", summary: str = "", *changes: Change, handed: tuple[Escalation, ...] = ()) -> Outcome:
    return Outcome(1, status, summary, changes, handed)


def entry(task: str, verdict: Any, reason: str, *tests: Seen, **more: Any) -> Entry:
    known: dict[str, Any] = {
        "task": task, "title": tests[0].id if tests else task, "why": "failing", "agent": f"m0612-1-{task}", "type": "claude", "state": "waiting", "seconds": 184.0,
        "claim": outcome("done", "Found the cause and mended it."), "diff": change("ledger/totals.py", 40, "    for row in rows[:-1]:", "    for row in rows:"),
        "commands": {"connect": f"muster connect m0612-1-{task}", "look": f"git show refs/muster/runs/m0612-1/{task}", "rerun": f"muster mend {tests[0].id if tests else ''}"},
        "transcript": TALK,
    }  # fmt: skip
    return Entry(verdict=verdict, reason=reason, tests=tests, **{**known, **more})


TALK = (
    Event("user", "Make the test `tests/test_totals.py::test_report_totals` pass.\n\nIts contract is its docstring:\n\n    The total counts every row.", 1.75e9),
    Event("thinking", "The total is short by the last row. Let me look at the loop."),
    Event("tool", "sed -n 30,60p ledger/totals.py", 1.75e9 + 4, "Bash"),
    Event("result", "\n".join(f"{n:4d}      line {n} of the file" for n in range(30, 60)), 1.75e9 + 5),
    Event("assistant", "The loop leaves out the last row (`rows[:-1]`). I take the slice away and run the tests again.", 1.75e9 + 9),
    Event("tool", "pytest -q tests/test_totals.py", 1.75e9 + 12, "Bash"),
    Event("error", "\x1b[31mE   1 failed\x1b[0m, 2 passed"),
    Event("assistant", "All three pass now. **Done.**", 1.75e9 + 40),
)  # fmt: skip


def cast() -> bytes:
    events = [[0.1, "o", "$ ledger total\r\n"], [0.9, "o", "\x1b[32m700.00\x1b[0m\r\n"], [1.4, "o", "$ "]]
    return "\n".join(json.dumps(one) for one in ({"version": 2, "width": 60, "height": 10}, *events)).encode() + b"\n"


CHEAT = (
    "diff --git a/tests/test_dates.py b/tests/test_dates.py\nindex 1..2 100644\n--- a/tests/test_dates.py\n+++ b/tests/test_dates.py\n"
    '@@ -20,4 +20,3 @@ def test_dates_are_sorted(ledger):\n     out = ledger("list").out\n-    assert out == "2024-01-02\\n2024-03-01\\n"\n'
    '-    assert out.count("\\n") == 2\n+    assert "2024" in out\n     assert ledger("list").code == 0\n'
)


def entries() -> tuple[Entry, ...]:
    """Each verdict once, as the sample project gives them."""
    fixed = outcome(
        "done",
        "The total left out the **last row**.\n\n- `rows[:-1]` is now `rows`\n- nothing else changed",
        Change("impl", commit_id(1), "Count the last row", 4),
    )
    return (
        entry("totals", "fixed", "3 tests that failed pass, in 3 of 3 runs", seen("test_totals.py::test_report_totals", text=FAILURE), seen("test_totals.py::test_empty"), seen("test_totals.py::test_by_month"),
              claim=fixed, commits=(commit_id(1),), recordings=("artifacts/totals/terminal.cast", "artifacts/totals/lost.cast"), terminal="\x1b[1m● Done.\x1b[0m 3 tests pass\n\x1b[32m✓\x1b[0m committed\n", files=("artifacts/totals/notes.md",)),
        entry("rounding", "fixed", "1 test that failed passes, in 3 of 3 runs", seen("test_money.py::test_rounding[0.005-up]"), commits=(commit_id(2),), diff=change("ledger/money.py", 8, "    return round(x, 2)", "    return x.quantize(CENT)")),
        entry("rounding-cli", "fixed", "its change equals another's: found by 2 agents", seen("test_cli.py::test_rounded_output"), commits=(commit_id(2),), type="mechanic", diff=change("ledger/money.py", 8, "    return round(x, 2)", "    return x.quantize(CENT)")),
        entry("filter", "fixed", "1 test that failed passes, in 3 of 3 runs", seen("test_filter.py::test_upper_bound"), commits=(commit_id(3),)),
        entry("wrong-test", "improved", "the test asserted what its docstring does not say", seen("test_help.py::test_usage_names_every_command", "passed", "passed"), why="passing", commits=(commit_id(4),),
              findings=(Finding("removed-assertion", "review", "tests/test_help.py", 41, "`assert 'v0.9' in out` is gone; 2 assertions stay"),), claim=outcome("done", "Removed what goes beyond the docstring.", Change("test", commit_id(4), "Drop the version from the usage test", 2))),
        entry("dates", "refused", "2 rules of the gate: `weakened-assertion` in tests/test_dates.py:21, `removed-assertion` in tests/test_dates.py:22", seen("test_dates.py::test_dates_are_sorted", "failed", "passed"), diff=CHEAT,
              findings=(Finding("weakened-assertion", "refuse", "tests/test_dates.py", 21, "`out == '2024-01-02…'` became `'2024' in out`"), Finding("removed-assertion", "refuse", "tests/test_dates.py", 22, "`out.count('\\n') == 2` is gone, and the test failed before")),
              claim=outcome("done", "The test was too strict about the order. It **passes** now.", Change("impl", commit_id(9), "Sort by date", 3))),
        entry("import", "broken", "it says the test passes, but it fails in 3 of 3 runs; 1 other test is hurt", seen("test_import.py::test_csv_with_quotes", "failed", "failed", FAILURE), hurt=(seen("test_import.py::test_csv_plain", "passed", "failed", FAILURE),), left=("ledger/csv_old.py", "scratch/notes.txt"),
              claim=outcome("done", "CSV with quotes is read as RFC 4180 says.", Change("impl", commit_id(8), "Read quotes", 3))),
        entry("export", "blocked", "there is no `export` command to mend", seen("test_export.py::test_export_as_ods", "failed", "failed", FAILURE), diff="", claim=outcome("blocked", "I tried 214 repairs; none passes.", handed=(Escalation("blocker", "`ledger export` does not exist", "The test wants a feature: ODS files."),))),
        entry("clock", "flaky", "passes in 2 of 3 runs, before and after", seen("test_clock.py::test_ticks_once_a_second", "flaky", "flaky", FAILURE), claim=outcome("done", "It passes here.")),
        entry("sync", "lost", "its agent died twice within 3 seconds: exit status 137", seen("test_sync.py::test_two_writers", "failed", "failed"), claim=None, said="it ended without an outcome, and did not answer", diff="", transcript=(), retried=True, asked=True, state="failed"),
        entry("cache-size", "fixed", "1 test that failed passes, in 3 of 3 runs", seen("test_cache.py::test_size"), aside=("conflicts with `filter` in ledger/cache.py, and the integrator found no way",)),
        entry("names", "unchanged", "the test says what its docstring says", seen("test_names.py::test_names_are_unique", "passed", "passed"), why="passing", diff="", claim=outcome("done", "No change is needed.")),
    )  # fmt: skip


def commits() -> tuple[Commit, ...]:
    diff = change("ledger/totals.py", 40, "    for row in rows[:-1]:", "    for row in rows:")
    return (
        Commit(id=commit_id(5), subject="Tests: say what their docstrings say", kind="test", tasks=("names",), agents=("m0612-1-names",), files=("tests/test_names.py",), added=3, removed=5, diff=change("tests/test_names.py", 3, "    x", "    y")),
        Commit(id=commit_id(1), subject="Count the last row in totals", kind="impl", tasks=("totals",), agents=("m0612-1-totals",), green=("tests/test_totals.py::test_report_totals", "tests/test_totals.py::test_empty", "tests/test_totals.py::test_by_month"), severity=4, files=("ledger/totals.py",), added=2, removed=1, needed_by=(commit_id(3),), diff=diff),
        Commit(id=commit_id(2), subject="Round money half up, as decimals", kind="impl", tasks=("rounding", "rounding-cli"), agents=("m0612-1-rounding", "m0612-1-rounding-cli"), green=("tests/test_money.py::test_rounding[0.005-up]", "tests/test_cli.py::test_rounded_output"), files=("ledger/money.py",), added=2, removed=1, diff=change("ledger/money.py", 8, "    return round(x, 2)", "    return x.quantize(CENT)")),
        Commit(id=commit_id(3), subject="Take the upper bound of a filter as its last day", kind="impl", tasks=("filter",), agents=("m0612-1-filter",), green=("tests/test_filter.py::test_upper_bound",), severity=2, files=("ledger/filter.py", "ledger/cache.py"), added=7, removed=3, conflicts=(commit_id(6),), diff=diff + change("ledger/cache.py", 80, "    size = 9", "    size = 10")),
        Commit(id=commit_id(4), subject="Drop the version from the test of the usage", kind="review", tasks=("wrong-test",), agents=("m0612-1-wrong-test",), files=("tests/test_help.py",), added=0, removed=1, diff=change("tests/test_help.py", 40, "    assert 'v0.9' in out", "    assert out")),
    )  # fmt: skip


def ordinary(**more: Any) -> Report:
    """A run of the sample project: three fixes, one of them found twice, and everything that can go wrong."""
    listed = entries()
    known: dict[str, Any] = {
        "run": "m0612-1", "project": "ledger", "base": BASE, "branch": "muster/m0612-1", "tip": commit_id(7), "at": 1.75e9, "seconds": 1294.0,
        "counts": _counts(listed), "before": {"passing": 14, "failing": 11, "flaky": 1, "skipped": 2}, "after": {"passing": 20, "failing": 5, "flaky": 1, "skipped": 2}, "commits": commits(),
        "turned": tuple(sorted(test for one in commits() for test in one.green)), "entries": listed,
        "asides": (Aside("cache-size", commit_id(6), "Let the cache grow to ten", "conflicts with `filter` in ledger/cache.py, and the integrator found no way", change("ledger/cache.py", 80, "    size = 9", "    size = 12")),),
        "handed": (Handed(("export",), Escalation("blocker", "`ledger export` does not exist", "The test wants a feature: ODS files.")), Handed(("totals", "filter"), Escalation("shared", "The same slice is in `ledger/months.py`", "It leaves out the last month, too.\n\n- line 12\n- line 31"))),
        "skips": {"it is skipped by its own mark": ("tests/test_win.py::test_console", "tests/test_win.py::test_paths")},
        "flaky": (seen("test_clock.py::test_ticks_once_a_second", "flaky", "flaky", FAILURE), seen("test_clock.py::test_drift", "flaky", "passed", FAILURE)),
        "commands": {"look": "git log -p 5f2c9e0b7..muster/m0612-1", "merge": "git merge --ff-only muster/m0612-1", "rerun": "muster mend --resume m0612-1", "message": "muster message --where 'labels.run == \"m0612-1\"' 'TEXT'"},
    }  # fmt: skip
    return Report(**{**known, **more})


def large(number: int = 300) -> Report:
    """Many tasks, each with a diff of some hundred lines and a conversation."""
    kinds = entries()
    diff = "".join(change(f"ledger/part{n}.py", n, f"    old = {n}", f"    new = {n}") for n in range(30))
    listed = []
    for at in range(number):
        one = kinds[at % len(kinds)]
        tests = tuple(msgspec.structs.replace(test, id=f"{test.id}[{at}]") for test in one.tests)
        listed.append(
            msgspec.structs.replace(
                one, task=f"{one.task}-{at}", title=tests[0].id, tests=tests, diff=diff, transcript=TALK * 8
            )
        )
    undone = tuple(f"tests/test_late.py::test_{n}" for n in range(17))
    return ordinary(entries=tuple(listed), counts=_counts(tuple(listed)), interrupted=True, undone=undone)


def empty() -> Report:
    """Nothing failed, and nothing was changed."""
    return ordinary(branch="", tip="", counts={}, before={"passing": 26}, after={}, turned=(), commits=(), entries=(), asides=(), handed=(), skips={}, flaky=(), commands={})  # fmt: skip


def hostile() -> Report:
    """Every text that could come from an agent or a project is one that would like to be more."""
    found = _poisoned(msgspec.to_builtins(ordinary()))
    found["skips"] = {ALL: [ALL]}
    for entry in found["entries"]:
        for change in (entry["claim"] or {}).get("changes", ()):
            change["commit"] = ALL
    return msgspec.convert(found, Report)


def _poisoned(value: Any, key: str = "") -> Any:
    if isinstance(value, dict):
        return {name: _poisoned(one, name) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_poisoned(one, key) for one in value]
    if (
        not isinstance(value, str)
        or key in ("verdict", "kind", "why", "level", "status", "role")
        or re.fullmatch(r"[0-9a-f]{40}", value)
    ):
        return value
    return f"{value} {ALL}" if value else value


def _counts(listed: tuple[Entry, ...]) -> dict[str, int]:
    return {one.verdict: sum(1 for other in listed if other.verdict == one.verdict) for one in listed}
