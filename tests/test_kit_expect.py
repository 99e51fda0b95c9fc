"""What the test kit expects holds or fails, and a failure shows the cause."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kit import Project
from muster_testkit import Result, expect, expect_eventually

SAID = "one\nUsage: tool [OPTIONS]\nthree\n"


def result(code: int = 0, out: str = SAID, err: str = "a warning\n") -> Result:
    return Result("tool --help", code, out.encode(), err.encode(), 0.5)


def failure(check: Callable[[], object]) -> str:
    with pytest.raises(AssertionError) as caught:
        check()
    return str(caught.value)


def test_what_holds_can_be_chained() -> None:
    done = result()
    expect(done).to_succeed().to_have_exit_code(0).stdout.to_contain("Usage", "three").not_to_contain("four")
    expect(done).stderr.to_equal("a warning\n").not_to_be_empty()
    expect(result(2)).to_fail().to_have_exit_code(2)
    expect(done.stdout).to_match("^Usage: .*]$").not_to_match("^tool").to_have_line("three").not_to_have_line("thre")
    expect("a\r\nb").to_have_line("a").to_have_line(re.compile("[bc]")).not_to_have_line(re.compile("x"))
    expect("").to_be_empty().not_to_equal("x")
    expect(result(out='{"a": [1, {"b.c": true}]}').stdout).to_be_json().at("a[1]").to_contain("b.c")


@pytest.mark.parametrize(
    ("check", "what"),
    [
        (lambda: expect(result(2)).to_succeed(), "expected the command to succeed"),
        (lambda: expect(result(0)).to_fail(), "expected the command to fail by itself"),
        (lambda: expect(result(3)).to_have_exit_code(4), "expected the exit code 4"),
        (lambda: expect(result(0)).to_time_out(), "expected the command to run out of time"),
        (lambda: expect(result(2).stdout).to_contain("usage: tool"), "expected stdout to contain 'usage: tool'"),
        (lambda: expect(result(2).stdout).not_to_contain("Usage"), "expected stdout not to contain 'Usage'"),
        (lambda: expect(result(2).stderr).to_be_empty(), "expected stderr to be empty"),
        (lambda: expect(result(2, err="").stderr).not_to_be_empty(), "expected stderr not to be empty"),
        (lambda: expect(result(2).stdout).to_match("^tool"), "expected stdout to match '^tool'"),
        (lambda: expect(result(2).stdout).not_to_match("on."), "expected stdout not to match 'on.'"),
        (lambda: expect(result(2).stdout).to_equal("one"), "expected stdout to be another text"),
        (lambda: expect(result(2).stdout).not_to_equal(SAID), "expected stdout not to be"),
        (lambda: expect(result(2).stdout).to_have_line("Usage: tool"), "expected stdout to have the line"),
        (lambda: expect(result(2).stdout).not_to_have_line("one"), "expected stdout not to have the line 'one'"),
        (lambda: expect(result(2).stdout).to_be_json(), "expected stdout to be JSON, but Expecting value"),
    ],
)
def test_a_failure_shows_the_command_and_all_it_said(check: Callable[[], object], what: str) -> None:
    text = failure(check)
    assert text.startswith(what)
    assert "\n$ tool --help\n" in text
    assert "exit code " in text
    assert " after 0.50 s" in text
    assert "stdout:\n  | one\n  | Usage: tool [OPTIONS]\n  | three\n" in text
    assert "\nstderr:\n  | a warning" in text or "\nstderr is empty" in text


def test_the_nearest_line_and_the_difference_are_shown() -> None:
    assert "nearest is line 2: 'Usage: tool [OPTIONS]'" in failure(lambda: expect(SAID).to_contain("usage: tool"))
    assert "nearest" not in failure(lambda: expect(SAID).to_contain("0000"))
    text = failure(lambda: expect("a\nb\nc\n").to_equal("a\nB\nc\n"))
    assert "-B\n+b\n" in text
    assert "only the line ends differ" in failure(lambda: expect("a").to_equal("a\n"))
    many = "".join(f"{number}\n" for number in range(10_000))
    assert "line 9001 differs\n- x\n+ 9000" in failure(lambda: expect(many).to_equal(many.replace("\n9000\n", "\nx\n")))
    assert "expected 10,002 lines, found 10,001" in failure(lambda: expect(many).to_equal(many + "\n"))


def test_long_output_is_cut_sensibly() -> None:
    many = "".join(f"line {number}\n" for number in range(1_000)) + "x" * 10_000
    text = failure(lambda: expect(result(1, many)).to_succeed())
    assert len(text) < 2_500
    assert "line 0\n" in text
    assert "line 999\n" in text
    assert "... 961 lines are left out here ..." in text
    assert "... (10,000 characters)" in text


def test_json_and_what_is_in_it() -> None:
    value: Any = {"items": [{"name": "a", "n": 1}, {"name": "b"}], "on": True, "a.b": None}
    found = expect(value)
    found.at("items[0].name").to_equal("a").to_match("^a$").to_have_length(1)
    found.at("items[-1].name").to_equal("b")
    found.at(["a.b"]).to_equal(None)
    found.at("items").to_contain({"n": 1, "name": "a"}).not_to_contain("a").to_have_length(2)
    found.at("on").to_equal(True).not_to_equal(1)
    found.to_contain("on").not_to_contain("off").not_to_equal({})
    assert found.at("items[0].n").value == 1
    expect(2.5).to_equal(2.5)
    expect(None).to_equal(None)
    assert "no 'c' in items[1]" in failure(lambda: found.at("items[1].c"))
    assert "no 5 in items" in failure(lambda: found.at("items[5].c"))
    assert "no 0 in items[0].name" in failure(lambda: found.at("items[0].name[0]"))
    text = failure(lambda: found.at("items[0]").to_equal({"name": "a", "n": 2}))
    assert text.startswith("expected `items[0]` to be another value")
    assert '-  "n": 2,\n+  "n": 1,' in text
    assert "length 3, not 2" in failure(lambda: found.at("items").to_have_length(3))
    assert "to match" in failure(lambda: found.at("on").to_match("x"))
    assert "to contain 'x'" in failure(lambda: found.at("items").to_contain("x"))
    assert "$ tool" in failure(lambda: expect(result(out="[]").stdout).to_be_json().at("[0]"))
    for path in ("", "a..b", "a[x]", "a["):
        with pytest.raises(ValueError, match="is no path"):
            found.at(path)


def test_files_and_what_is_in_them(tmp_path: Path) -> None:
    file = tmp_path / "report.txt"
    file.write_bytes(b"one\n\xff")
    expect(file).to_exist().to_contain("one").not_to_contain("two").to_have_content(b"one\n\xff")
    expect(file).not_to_have_content("one").content.to_have_line("one")
    expect(tmp_path / "none").not_to_exist()
    assert "the nearest name there is `report.txt`" in failure(lambda: expect(tmp_path / "reprot.txt").to_exist())
    assert "there are: report.txt" in failure(lambda: expect(tmp_path / "x").to_have_content(""))
    assert "no folder" in failure(lambda: expect(tmp_path / "a" / "b").to_exist())
    assert "to be a file" in failure(lambda: expect(tmp_path).to_contain("x"))
    assert "there is a folder" in failure(lambda: expect(tmp_path).not_to_exist())
    assert "-two\n" in failure(lambda: expect(file).to_have_content("two\n"))
    assert "not b'one" in failure(lambda: expect(file).to_have_content(b"two"))
    assert "to contain 'two'" in failure(lambda: expect(file).to_contain("two"))
    (tmp_path / "link").symlink_to("nowhere")
    assert "there is a file" in failure(lambda: expect(tmp_path / "link").not_to_exist())


def test_effects_may_take_time(tmp_path: Path) -> None:
    file = tmp_path / "file"
    begin = time.monotonic()

    def write() -> str:
        if time.monotonic() > begin + 0.2:
            file.write_text("[1]")
        return file.read_text()

    assert expect_eventually(write) == "[1]"

    def nothing() -> None:
        expect(file).to_exist()

    expect_eventually(nothing)
    text = failure(lambda: expect_eventually(lambda: "x" in file.read_text(), timeout=0.1))
    assert text == "it did not come within 0.1 s; the last look found False"
    # What a search did not find is not taken for nothing to say.
    assert "found None" in failure(lambda: expect_eventually(lambda: re.search("x", file.read_text()), timeout=0))
    text = failure(lambda: expect_eventually(lambda: expect(file).to_contain("x"), timeout=0.1))
    assert "the last look: AssertionError: expected `" in text
    with pytest.raises(TypeError):
        expect_eventually(lambda: len(3), timeout=5)  # type: ignore[arg-type]


def test_other_things_can_not_be_expected() -> None:
    with pytest.raises(TypeError, match="nothing can be expected of a `bytes`"):
        expect(b"")  # type: ignore[call-overload]


def test_the_traceback_ends_in_the_test(tmp_path: Path) -> None:
    out = Project(tmp_path).fails("""
        def test_result(e2e):
            expect(e2e.run("exit 3")).to_succeed()
        def test_text():
            expect("a").to_contain("b")
        def test_path():
            expect(Path("none")).to_have_content("b")
        def test_later():
            expect_eventually(lambda: False, timeout=0)
        def test_terminal(e2e):
            e2e.terminal("cat").wait_for("x", timeout=0.1)
    """)
    ends = [line for line in out.splitlines() if re.match(r"\S+\.py:\d+: ", line)]
    assert len(ends) == 5
    assert all(line.startswith("test_it.py:") for line in ends)
