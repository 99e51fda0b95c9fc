"""Failures with one cause are put together, and no others."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from muster.mend import Attempt, Ending, Frame
from muster.mend.causes import Group, groups, normal


def is_test(path: str) -> bool:
    return path.startswith("tests/")


TEST = "tests/test_a.py:10:test_a"
PARSE = "src/app/parse.py:5:parse"
LOAD = "src/app/load.py:7:load"


def failed(one: str, exception: str, message: str, *frames: str, ending: Ending = "failed") -> Attempt:
    rows = [place.split(":") for place in frames]
    return Attempt(
        one, ending, 0.1, exception, message, tuple(Frame(file, int(line), name) for file, line, name in rows)
    )


def ids(found: Sequence[Group]) -> list[list[str]]:
    return [list(group.ids) for group in found]


def together(*attempts: Attempt) -> bool:
    return len(groups(attempts, is_test)) == 1


def test_one_place_in_the_program_is_one_cause() -> None:
    a = failed("a", "ValueError", "bad row 17 in '/tmp/x1/data.csv'", TEST, LOAD, PARSE)
    b = failed("b", "ValueError", "bad row 4 in '/tmp/x2/other.csv'", "tests/test_b.py:99:test_b", PARSE)
    [group] = groups([b, a], is_test)
    assert group.ids == ("a", "b")
    assert group.title == "ValueError: bad row 17 in '/tmp/x1/data.csv' (src/app/parse.py:5 in parse)"


def test_what_is_green_has_no_cause() -> None:
    assert groups([Attempt("a", "passed"), Attempt("b", "skipped"), Attempt("c", "xfailed")], is_test) == []


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (failed("a", "KeyError", "'x'", TEST, PARSE), failed("b", "KeyError", "'x'", TEST, LOAD)),
        (failed("a", "KeyError", "'x'", TEST, PARSE), failed("b", "IndexError", "'x'", TEST, PARSE)),
        (failed("a", "ValueError", "bad row", TEST, PARSE), failed("b", "ValueError", "bad column", TEST, PARSE)),
        (failed("a", "AssertionError", "assert 1 == 2", TEST), failed("b", "AssertionError", "assert 1 == 2", TEST)),
        # the program called back into the test, which found fault
        (
            failed("a", "AssertionError", "assert 0", TEST, PARSE, TEST),
            failed("b", "AssertionError", "assert 0", TEST, PARSE, TEST),
        ),
        (
            failed("a", "ImportError", "cannot import name 'x' from 'app'", TEST),
            failed("b", "ImportError", "cannot import name 'y' from 'app'", TEST),
        ),
        (
            failed("a", "", "it had not ended after 2 s", TEST, ending="timed-out"),
            failed("b", "", "it had not ended after 2 s", TEST, ending="timed-out"),
        ),
        (failed("a", "", "", ending="missing"), failed("b", "", "", ending="missing")),
    ],
    ids=["place", "type", "message", "assertions", "callback", "imports", "hangs-in-tests", "missing"],
)
def test_different_causes_stay_apart(first: Attempt, second: Attempt) -> None:
    assert not together(first, second)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (failed("a", "AssertionError", "", TEST, PARSE), failed("b", "AssertionError", "", TEST, LOAD, PARSE)),
        (failed("a", "KeyError", "'x'", TEST, PARSE), failed("b", "KeyError", "'a \"y\"'", TEST, PARSE)),
        (
            failed("a", "ModuleNotFoundError", "No module named 'app.late'", TEST, ending="error"),
            failed("b", "ModuleNotFoundError", "No module named 'app.late'", TEST, PARSE),
        ),
        (
            failed("a", "ImportError", "cannot import name 'x' from 'app' (/one/app.py)", TEST),
            failed("b", "ImportError", "cannot import name 'x' from 'app' (/two/app.py)", "tests/test_b.py:1:<module>"),
        ),
        (
            failed("a", "OSError", "port 80", "tests/conftest.py:3:server", ending="error"),
            failed("b", "OSError", "port 81", "tests/conftest.py:3:server", ending="error"),
        ),
        (
            failed("a", "", "`tests/conftest.py` can't be loaded", ending="error"),
            failed("b", "", "`tests/conftest.py` can't be loaded", ending="error"),
        ),
        (
            failed("a", "", "it had not ended after 2 s", TEST, "src/app/load.py:7:wait", ending="timed-out"),
            failed("b", "", "it had not ended after 2 s", TEST, "src/app/load.py:8:wait", ending="timed-out"),
        ),
        (
            failed("a", "RecursionError", "maximum depth", TEST, *[PARSE, LOAD] * 9),
            failed(
                "b",
                "RecursionError",
                "maximum depth while calling",
                TEST,
                *[LOAD, PARSE] * 8,
                LOAD,
                "src/app/x.py:1:leaf",
            ),
        ),
    ],
    ids=["program-assertion", "values", "module", "name", "fixture", "conftest", "hangs", "recursion"],
)
def test_one_cause_is_one_group(first: Attempt, second: Attempt) -> None:
    assert together(first, second)


def test_recursion_in_another_circle_is_another_cause() -> None:
    a = failed("a", "RecursionError", "maximum depth", TEST, *[PARSE, LOAD] * 9)
    b = failed("b", "RecursionError", "maximum depth", TEST, *[PARSE] * 9)
    only_tests = failed("c", "RecursionError", "maximum depth", *[TEST] * 9)
    assert ids(groups([a, b, only_tests], is_test)) == [["a"], ["b"], ["c"]]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("<object at 0x7f00dead>", "<object at 0x7f11beef>"),
        ("took 0.31 s", "took 12 s"),
        ("took 5ms", "took 77ms"),
        ("no file /tmp/a/b.txt", "no file /var/c.txt"),
        ("no `a`", "no `b`"),
        ("job 0b0c7a52-8a53-4b4f-9c51-1ab2c3d4e5f6 lost", "job 9f0c7a52-8a53-4b4f-9c51-1ab2c3d4e5f6 lost"),
        ("commit 1a2b3c4d5e", "commit 99aa88bb77"),
        ("at 2024-01-02T03:04:05.678Z", "at 2025-11-12 13:14:15"),
        ("expected -3.5e-7 of 1_000", "expected 4 of 2"),
        ("\x1b[31mred\x1b[0m 1", "red 2"),
        ("first line 1\nthen 1", "first line 2\nthen something else"),
        ("didn't find 'a' or \"b\"", "didn't find 'c' or \"d 'e'\""),
    ],
)
def test_what_varies_does_not_matter(first: str, second: str) -> None:
    assert normal(first) == normal(second)


@pytest.mark.parametrize(
    ("first", "second"),
    [("bad row", "bad column"), ("no utf8 codec", "no ascii codec"), ("can't read it", "can't write it"), ("", "x")],
)
def test_what_is_said_does_matter(first: str, second: str) -> None:
    assert normal(first) != normal(second)


def test_groups_do_not_depend_on_the_order() -> None:
    attempts = [failed(f"{n:02}", "KeyError", f"'{n}'", TEST, f"src/app/parse.py:{n % 4}:parse") for n in range(30)]
    attempts += [failed(f"x{n}", "AssertionError", "assert 0", TEST) for n in range(3)]
    attempts += [failed("00", "ValueError", "another run of it", TEST, LOAD)]
    expected = groups(attempts, is_test)
    assert [len(group.ids) for group in expected] == [8, 8, 7, 7, 1, 1, 1]
    assert len({group.key for group in expected}) == 7
    for seed in range(10):
        random.Random(seed).shuffle(attempts)
        assert groups(attempts, is_test) == expected
