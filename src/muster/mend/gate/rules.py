"""The rules of the gate, one line each. What it refuses can be let through by name: `--allow RULE`."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from msgspec import Struct

from muster.errors import UsageError
from muster.mend import Finding

Level = Literal["refuse", "review"]


class Rule(Struct, frozen=True):
    """What a rule finds, and what becomes of it."""

    levels: tuple[Level, ...]
    line: str


REFUSE: tuple[Level, ...] = ("refuse",)
REVIEW: tuple[Level, ...] = ("review",)
EITHER: tuple[Level, ...] = ("refuse", "review")

RULES: dict[str, Rule] = {
    # tests that are gone
    "deleted-test": Rule(REFUSE, "a test is gone, and what it asserted is in no other"),
    "renamed-test": Rule(REFUSE, "a test has another name (its body is known again by its likeness)"),
    "moved-test": Rule(REVIEW, "a test of the same name is in another file or class"),
    "uncollected-test": Rule(
        REFUSE, "pytest doesn't collect it any more: prefix, class, `__test__`, nested, shadowed, a yield"
    ),
    "unreadable-test": Rule(REFUSE, "a test file can't be parsed any more"),
    "linked-file": Rule(REFUSE, "a symbolic link or a submodule stands where a file of the tests or the program was"),
    # tests that don't run to their end
    "added-skip": Rule(REFUSE, "a skip, a condition to skip on, or an `importorskip` was added or changed"),
    "added-xfail": Rule(REFUSE, "a test is expected to fail, and wasn't"),
    "unreachable-assertion": Rule(REFUSE, "an assertion is never reached: an early return, `if False`, a raise"),
    "conditional-assertion": Rule(REFUSE, "an assertion holds under a condition that wasn't there"),
    "swallowed-assertion": Rule(REFUSE, "what an assertion raises is caught: `except`, `suppress`, a broad `raises`"),
    "wrapped-test": Rule(
        EITHER, "a test got a decorator that is no mark; refused where the change defines the decorator"
    ),
    # assertions that say less
    "emptied-test": Rule(REFUSE, "a test asserts nothing any more"),
    "removed-assertion": Rule(
        EITHER, "an assertion is gone; `review` where the test passed before and others stay in it"
    ),
    "constant-assertion": Rule(REFUSE, "an assertion became one that always holds: `True`, `x == x`, `len(x) >= 0`"),
    "weakened-assertion": Rule(REFUSE, "an assertion says less: `==` to `in`, to truth, to a prefix, to an `or`"),
    "ignored-order": Rule(REFUSE, "`sorted`, `set` or the like was put around what is compared"),
    "widened-tolerance": Rule(REFUSE, "a tolerance was added or made wider"),
    "broader-raises": Rule(REFUSE, "`raises` takes more exceptions, or its `match` says less"),
    "loosened-pattern": Rule(REFUSE, "a regular expression matches more than it did"),
    "removed-case": Rule(REFUSE, "a parametrised case, or an item of a loop over cases, is gone"),
    "fewer-items": Rule(REFUSE, "a loop with assertions in it runs over a part of what it ran over"),
    "changed-subject": Rule(REVIEW, "an assertion looks at something else than it did"),
    # expectations
    "expected-bent": Rule(
        REFUSE, "the expected value of a failing test was changed, not the program, or against what is documented"
    ),
    "changed-expectation": Rule(REVIEW, "an expected value was changed, and documentation or the program with it"),
    "expected-from-program": Rule(REFUSE, "the expected value is computed by the program under test"),
    "rewritten-snapshot": Rule(REFUSE, "a file of expected output was rewritten"),
    "emptied-data": Rule(REFUSE, "test data is gone or emptied"),
    "changed-data": Rule(REVIEW, "test data was changed"),
    # time and doubles
    "added-sleep": Rule(REFUSE, "a test sleeps, or sleeps for longer"),
    "changed-time-limit": Rule(REFUSE, "a time limit, a deadline or a number of retries was changed"),
    "patched-program": Rule(REFUSE, "code under test is replaced while it is tested"),
    "added-double": Rule(REVIEW, "something that is not the program is replaced while it is tested"),
    # settings
    "test-configuration": Rule(REFUSE, "pytest's settings were changed"),
    "conftest-hook": Rule(REFUSE, "a hook or plugin of pytest was added, changed or removed"),
    "autouse-fixture": Rule(REFUSE, "a fixture runs around tests that didn't ask for it"),
    "coverage-settings": Rule(REFUSE, "what coverage measures or demands was changed"),
    "ci-changed": Rule(REFUSE, "how the project is checked (CI, tox, nox) was changed"),
    "git-settings": Rule(REFUSE, "git attributes or hooks were changed"),
    "planted-file": Rule(REFUSE, "a file that Python or pytest loads by itself: `sitecustomize`, `.pth`, a `conftest`"),
    # the program
    "asks-if-tested": Rule(REFUSE, "the program asks whether it is being tested"),
    "asks-environment": Rule(REVIEW, "the program asks a variable that CI or test runs set"),
    "special-case": Rule(EITHER, "an input of a test is answered with a constant; `review` where it is a mere word"),
}


def found(rule: str, file: str, line: int, detail: str, level: Level | None = None) -> Finding:
    """A finding of that rule; a rule with two levels is told which."""
    return Finding(rule, level or RULES[rule].levels[0], file, line, detail)


def check_names(names: Collection[str]) -> None:
    """Refuse the name of a rule that there isn't."""
    for name in names:
        if name not in RULES:
            raise UsageError(f"the gate has no rule `{name}`", hint=f"its rules: {', '.join(RULES)}")


def table() -> str:
    """The rules as a table in Markdown."""
    rows = [f"| `{name}` | {' or '.join(rule.levels)} | {rule.line} |" for name, rule in RULES.items()]
    return "\n".join(["| rule | level | what it finds |", "|---|---|---|", *rows, ""])
