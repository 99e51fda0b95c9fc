"""The page of artifacts, in a real browser: what it shows, what it takes, and that nothing in it can do harm."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import Browser, Page, expect

import artifacts
from artifacts import cast, leave
from conftest import Muster, program
from muster_testkit.page import write

if TYPE_CHECKING:
    from browser import Open

pytest_plugins = ["browser"]

PHONE = (390, 800)
# What the screen of this recording shows is known for each moment.
COUNT = cast([(1.0, "o", "one\r\n"), (2.0, "o", "two\r\n"), (3.0, "o", "\x1b[2J\x1b[Hthree"), (8.0, "o", "\r\nfour")])


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return artifacts.run(tmp_path / "artifacts")


def written(run: Path, **options: Any) -> Path:
    return Path(write(str(run.parent), **options).path)


def names(page: Page) -> list[str]:
    """The tests that the list shows, from top to bottom."""
    return page.locator("#list li:not([hidden]) .name").all_text_contents()


def focused(page: Page) -> str:
    text = page.evaluate("document.activeElement.querySelector?.('.name')?.textContent ?? document.activeElement.id")
    assert isinstance(text, str)
    return text


def glass(page: Page) -> list[str]:
    """What the terminal shows, without what is empty."""
    lines = page.locator(".glass").evaluate("glass => [...glass.children].map(line => line.textContent.trimEnd())")
    while lines and not lines[-1]:
        lines.pop()
    return list(lines)


def until(page: Page, condition: str) -> None:
    """Waits in the page, frame by frame; what the browser's driver has for this needs `eval`, which our pages forbid."""
    page.evaluate(
        f"new Promise(done => {{ const look = () => {condition} ? done() : requestAnimationFrame(look); look(); }})"
    )


def play(page: Page) -> None:
    """Opens the first recording."""
    page.click(".recording button")
    expect(page.locator(".player")).to_be_visible()


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def several(run: Path) -> Path:
    leave(run, "tests/test_b.py::test_good", seconds=3.0, blocks=["muster list"])
    leave(
        run,
        "tests/test_a.py::test_bad",
        "failed",
        message="e2e = <E2eSession>\n\n    def test_bad():\n>       1\nE       AssertionError: no `ready`\nE       more of it",
        seconds=1.0,
    )
    leave(run, "tests/test_a.py::TestKeys::test_slow[x-1]", "timed-out", seconds=61.0)
    leave(run, "tests/test_c.py::test_left_out", "skipped")
    return written(run)


# --- the list


def test_failures_come_first_and_are_counted(run: Path, opened: Open) -> None:
    page = opened(several(run))
    assert names(page) == ["test_bad", "TestKeys::test_slow[x-1]", "test_good", "test_left_out"]
    assert page.locator("#list h2").all_inner_texts() == ["failed1", "timed-out1", "passed1", "skipped1"]
    assert [text.split() for text in page.locator("#filters button").all_inner_texts()] == [
        ["✕", "1", "failed", "1"],
        ["◷", "1", "timed-out", "2"],
        ["✓", "1", "passed", "3"],
        ["–", "1", "skipped", "4"],
    ]
    assert page.locator(".row .said").first.inner_text() == "AssertionError: no `ready`"
    assert page.locator(".row .took").all_inner_texts() == ["1.00 s", "1m 01s", "3.00 s", "0.25 s"]
    assert "1 failed, 1 timed-out, 1 passed, 1 skipped" in page.title()
    page.select_option("#order", "seconds")
    assert names(page) == ["TestKeys::test_slow[x-1]", "test_good", "test_bad", "test_left_out"]
    page.select_option("#order", "file")
    assert page.locator("#list h2").all_inner_texts() == ["tests/test_a.py2", "tests/test_b.py1", "tests/test_c.py1"]


def test_all_is_reached_with_the_keyboard_alone(run: Path, opened: Open) -> None:
    page = opened(several(run))
    press(page, "j")
    assert focused(page) == "test_bad"
    press(page, "j", "ArrowDown", "k")
    assert focused(page) == "TestKeys::test_slow[x-1]"
    # Where one is can be seen.
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    press(page, "End")
    assert focused(page) == "test_left_out"
    press(page, "Home", "Enter")
    expect(page.locator("#detail h2")).to_have_text("test_bad")
    assert focused(page) == "detail"
    press(page, "j")
    expect(page.locator("#detail h2")).to_have_text("TestKeys::test_slow[x-1]")
    assert page.locator('.row[aria-current="true"] .name').inner_text() == "TestKeys::test_slow[x-1]"
    press(page, "Escape")
    assert focused(page) == "TestKeys::test_slow[x-1]"
    press(page, "?")
    expect(page.locator("#help")).to_be_visible()
    press(page, "Escape")
    expect(page.locator("#help")).to_be_hidden()
    press(page, "t")
    expect(page.locator("#detail h2")).to_have_text("Blocks that tests cite")


def test_tab_goes_through_every_control_once(run: Path, opened: Open) -> None:
    page = opened(several(run))
    seen = []
    for _ in range(12):
        press(page, "Tab")
        seen.append(page.evaluate("document.activeElement.id || document.activeElement.className || 'h1'"))
    assert seen[:10] == [
        "h1", "run", "coverage", "ask", "search", "failed", "timed-out", "passed", "skipped", "order"
    ]  # fmt: skip
    assert seen[10] == "row failed"
    unnamed = "[...document.querySelectorAll('button, select, input')].filter(one => !(one.ariaLabel || one.textContent.trim()))"
    assert page.evaluate(f"{unnamed}.length") == 0


def test_search_and_filters(run: Path, opened: Open) -> None:
    page = opened(several(run))
    press(page, "/")
    assert focused(page) == "search"
    page.keyboard.type("TEST_A bad")
    assert names(page) == ["test_bad"]
    expect(page.locator("#said")).to_have_text("1 test")
    page.fill("#search", "ready")  # of the message
    assert names(page) == ["test_bad"]
    page.fill("#search", "muster list")  # of a cited block
    assert names(page) == ["test_good"]
    press(page, "ArrowDown")
    assert focused(page) == "test_good"
    press(page, "/")
    page.keyboard.type("nothing like it")
    assert names(page) == []
    expect(page.locator("#list .none")).to_contain_text("No test is like that")
    press(page, "Escape")
    assert len(names(page)) == 4
    press(page, "1", "3")
    assert names(page) == ["test_bad", "test_good"]
    assert page.locator('#filters [aria-pressed="true"] b').count() == 2
    press(page, "1")
    assert names(page) == ["test_good"]
    press(page, "0")
    assert len(names(page)) == 4
    page.click("#filters .skipped")
    assert names(page) == ["test_left_out"]


def test_links_to_a_test_survive_a_reload(run: Path, opened: Open) -> None:
    page = opened(several(run))
    page.click("text=test_slow")
    expect(page.locator("#detail h2")).to_have_text("TestKeys::test_slow[x-1]")
    page.reload()
    expect(page.locator("#detail h2")).to_have_text("TestKeys::test_slow[x-1]")
    page.click("text=test_good")
    expect(page.locator("#detail h2")).to_have_text("test_good")
    page.go_back()
    expect(page.locator("#detail h2")).to_have_text("TestKeys::test_slow[x-1]")
    page.goto(page.url.partition("#")[0] + "#test=tests/test_b.py::test_good")
    expect(page.locator("#detail h2")).to_have_text("test_good")
    page.goto(page.url.partition("#")[0] + "#test=gone")
    expect(page.locator("#detail")).to_contain_text("There is no test gone")


def test_runs_are_apart_and_the_newest_is_shown(run: Path, opened: Open) -> None:
    leave(run, "tests/test_a.py::test_it", "failed", message="then")
    newer = artifacts.run(run.parent, "second", started=artifacts.STARTED + 5000)
    leave(newer, "tests/test_a.py::test_it", message="now")
    artifacts.run(run.parent, "empty", started=1.0)
    page = opened(written(run))
    assert page.locator("#run option").all_inner_texts() == ["second", "first", "empty"]
    page.click("text=test_it")
    expect(page.locator("#detail .said")).to_have_text("now")
    page.select_option("#run", "first")
    page.click("text=test_it")
    expect(page.locator("#detail .said")).to_have_text("then")
    page.reload()
    expect(page.locator("#detail .said")).to_have_text("then")
    page.select_option("#run", "empty")
    expect(page.locator("#list .none")).to_have_text("There are no tests in this run.")


def test_a_thousand_tests(run: Path, opened: Open) -> None:
    for number in range(1000):
        leave(
            run,
            f"tests/test_{number % 20}.py::test_{number}",
            recordings={"01-it.cast": COUNT} if number % 5 == 0 else {},
        )
    page = opened(written(run))
    assert page.locator(".row").count() == 1000
    # A recording is only text until somebody opens it.
    assert page.locator('script[type="application/octet-stream"]').count() == 1200
    assert page.locator(".player").count() == 0
    press(page, "End", "j", "End", "Enter")
    expect(page.locator("#detail h2")).to_have_text(names(page)[-1])


# --- one test


def test_a_transcript_in_colours(run: Path, opened: Open) -> None:
    text = (
        "# look at it\n$ muster list\n  \x1b[1;31mred\x1b[0m plain \x1b[38;5;46mgreen\n  still\x1b[0m not\n"
        "! \x1b[38;2;1;2;3mtrue\x1b[39m\n? 1\n$ again\n? 0\n"
    )
    leave(run, "t::it", transcript=text)
    page = opened(written(run), "#test=t::it")
    lines = page.locator(".transcript .line")
    assert lines.all_inner_texts() == [
        "look at it", "muster list", "red plain green", "still not", "true", "1", "again", "0",
    ]  # fmt: skip
    kinds = lines.evaluate_all("lines => lines.map(line => line.className)")
    assert kinds == [
        f"line {one}" for one in ["comment", "command", "out", "out", "err", "code bad", "command", "code"]
    ]
    colours = page.locator(".transcript .fc").evaluate_all(
        "all => all.map(one => [one.textContent, one.style.getPropertyValue('--fc')])"
    )
    assert colours == [
        ["red", "var(--t1)"],
        ["green", "rgb(0 255 0)"],
        ["still", "rgb(0 255 0)"],
        ["true", "rgb(1 2 3)"],
    ]
    assert page.locator(".transcript section").count() == 2


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_colour_can_be_read(run: Path, opened: Open, scheme: str) -> None:
    numbers = [*range(256)]
    leave(run, "t::it", transcript="".join(f"  \x1b[38;5;{number}mM\x1b[0m\n" for number in numbers))
    page = opened(written(run), "#test=t::it", scheme=scheme)
    ratios = page.evaluate(
        """() => {
            const light = (colour) => {
                const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
                canvas.fillStyle = colour;
                canvas.fillRect(0, 0, 1, 1);
                const part = (value) => (value /= 255) <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
                const [red, green, blue] = canvas.getImageData(0, 0, 1, 1).data;
                return 0.2126 * part(red) + 0.7152 * part(green) + 0.0722 * part(blue);
            };
            const paper = light(getComputedStyle(document.querySelector(".transcript")).backgroundColor);
            return [...document.querySelectorAll(".transcript .fc")].map((one) => {
                const ink = light(getComputedStyle(one).color);
                return (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
            });
        }"""
    )
    assert len(ratios) == 256
    assert min(ratios) > 3.4, min(enumerate(ratios), key=lambda pair: pair[1])


def test_light_and_dark(run: Path, opened: Open) -> None:
    path = several(run)
    papers = [
        opened(path, scheme=scheme).evaluate("getComputedStyle(document.documentElement).backgroundColor")
        for scheme in ("light", "dark")
    ]
    assert papers == ["rgb(251, 251, 249)", "rgb(21, 23, 26)"]


def test_attempts_are_kept_apart(run: Path, opened: Open) -> None:
    last = leave(run, "t::it", attempts=3, message="", transcript="$ third\n")
    for number, outcome in ((1, "failed"), (2, "timed-out")):
        folder = last / "attempts" / str(number)
        leave(run, "t::it", outcome, folder=folder, message=f"number {number}", recordings={"01-x.cast": COUNT})
    page = opened(written(run), "#test=t::it")
    assert page.locator(".row .file").inner_text().endswith("3 attempts")
    expect(page.locator(".transcript")).to_have_text("third")
    page.click("text=attempt 2")
    expect(page.locator("#detail .said")).to_have_text("number 2")
    expect(page.locator("#detail .facts .outcome")).to_contain_text("timed-out")
    play(page)
    page.click(".player .play")
    expect(page.locator(".player")).to_be_visible()


def test_screens_are_pictures_that_can_do_nothing(run: Path, opened: Open) -> None:
    svg = (
        '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20" onload="alert(1)"><script>alert(2)</script>'
        '<image href="http://127.0.0.1:9/x.png"/><rect width="40" height="20" fill="red"/></svg>'
    )
    leave(run, "t::it", "failed", screens={"01-end.txt": "all of it", "01-end.svg": svg, "02-text.txt": "only\ntext"})
    page = opened(written(run), "#test=t::it")
    assert page.locator(".screen figcaption").all_inner_texts() == ["01-end", "02-text"]
    picture = page.locator(".screen img")
    assert picture.get_attribute("alt") == "all of it"
    until(page, "document.querySelector('.screen img').naturalWidth === 40")
    assert page.locator(".screen .text .line").all_inner_texts() == ["only", "text"]


def test_the_tutorials_coverage(run: Path, opened: Open, tmp_path: Path) -> None:
    script = tmp_path / "tutorial.sh"
    script.write_text("# A heading\n\n# make one\nmuster create fix\n\nmuster list\n\nmuster destroy fix\n")
    leave(run, "t::makes", blocks=["# make one\nmuster create fix"])
    leave(run, "t::fails", "failed", blocks=["    muster list", "# make one\nmuster create fix\n"])
    leave(run, "t::strange", blocks=["muster lits\n\nmuster list\n"])
    page = opened(written(run, script=str(script)))
    expect(page.locator("#coverage")).to_have_text("Tutorial 2/3")
    page.click("#coverage")
    expect(page.locator("#detail h2")).to_have_text("2 of 3 blocks cited by this run's tests")
    blocks = [
        re.sub(r"\s+", " ", text)
        for text in page.locator(".block").evaluate_all(
            "all => all.map(one => [...one.querySelectorAll('.line, pre, .cites > *')].map(part => part.textContent).join(' ').trim())"
        )
    ]
    assert blocks == [
        "1 # A heading",
        "3 # make one muster create fix ✕fails ✓makes",
        "6 muster list ✕fails ✓strange",
        "8 muster destroy fix no test cites it",
        "muster lits ✓strange",
    ]
    page.check("text=only blocks that no test cites")
    assert page.locator(".block pre").locator("visible=true").all_inner_texts() == ["muster destroy fix", "muster lits"]
    page.click("text=strange >> nth=-1")
    expect(page.locator("#detail h2")).to_have_text("strange")
    expect(page.locator("#detail .block pre")).to_have_text(["muster lits", "muster list"])


def test_one_test_in_two_folders_is_two_tests(run: Path, opened: Open) -> None:
    leave(run, "t::it", transcript="$ one\n", folder=run / "it-1")
    leave(run, "t::it", transcript="$ two\n", folder=run / "it-2")
    page = opened(written(run))
    for number, command in enumerate(["one", "two", "one"]):
        page.locator(".row").nth(number % 2).click()
        expect(page.locator(".transcript")).to_have_text(command)
    assert page.locator('.row[aria-current="true"]').count() == 1


# --- what is broken, and what is hostile


def test_what_is_broken_is_shown_for_what_it_is(run: Path, opened: Open) -> None:
    leave(run, "t::good")
    gone = subprocess.Popen(["true"])
    gone.wait()
    leave(run, "t::crashed", "running", pid=gone.pid)
    leave(run, "t::runs", "running", pid=os.getpid())
    leave(run, "t::odd", "splendid", line="x", seconds=float("inf"), blocks=7, message=["no"], attempts="many")
    for name, text in (
        ("half", b'{"schema": 1, "te'),
        ("list", b"[]"),
        ("bytes", b"\xff\xfe"),
        ("deep", b"[" * 100_000),
    ):
        (run / name).mkdir()
        (run / name / "meta.json").write_bytes(text)
    (run / "bare").mkdir()
    (run / "bare" / "transcript.txt").write_text("$ alone\n")
    os.symlink("/etc", run / "link")
    os.symlink("/etc/passwd", leave(run, "t::linked", transcript="") / "recordings")
    (pipe := run / "pipe").mkdir()
    os.mkfifo(pipe / "meta.json")
    os.mkfifo(pipe / "transcript.txt")
    (run / "run.json").write_text("{")
    page = opened(written(run))
    assert page.locator("#list h2").all_inner_texts() == ["crashed1", "unreadable7", "running1", "passed2"]
    assert page.locator("#run option").inner_text() == "first"
    said = dict(
        zip(
            names(page),
            page.locator(".row").evaluate_all("rows => rows.map(row => row.querySelector('.said')?.textContent ?? '')"),
            strict=True,
        )
    )
    assert "ended without a word" in said["crashed"]
    assert said["odd"] == "`meta.json` names no outcome that is known: `splendid`"
    assert said["half"].startswith("`meta.json` can't be read: Unterminated string")
    assert said["list"] == "`meta.json` is no JSON object"
    assert said["bytes"].startswith("`meta.json` can't be read")
    assert said["deep"].startswith("`meta.json` can't be read")
    assert said["bare"] == "there is no `meta.json`: the test ended before it was written"
    page.click("text=bare")
    expect(page.locator(".transcript")).to_have_text("alone")


HOSTILE = (
    "</script><script>alert(1)</script><img src=x onerror=alert(2)>",
    "<!--<script>",
    "]]></style><svg onload=alert(3)>",
    '"><a href="javascript:alert(4)">click</a>',
    "\u2028alert(5)\u2029",
    "\ud800 half a pair",
    "{{constructor.constructor('alert(6)')()}}",
)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_only_text(run: Path, opened: Open, text: str) -> None:
    plain = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    leave(
        run, f"t::{text}", "failed", message=text, blocks=[text], file=text,
        transcript=f"# {plain}\n$ {plain}\n  {plain}\n! {plain}\n? {plain}\n",
        recordings={"01-x.cast": cast([(0.1, "o", text)])}, screens={"01-x.txt": plain}, folder=run / "hostile",
    )  # fmt: skip
    artifacts.run(run.parent, "named", run=text, started=0.5)
    page = opened(written(run))
    page.click(".row")
    expect(page.locator("#detail h2")).to_have_text(
        plain.replace("\u2028", " ").replace("\u2029", " ").strip(), use_inner_text=False
    )
    for line in page.locator(".transcript .line").all():
        assert line.text_content() == plain
    play(page)
    until(page, "document.querySelector('.glass').textContent.trim().length > 3")
    page.keyboard.press("t")
    expect(page.locator(".block pre")).to_be_visible()
    # Only what the page itself is made of runs, and none of it can be a handler in markup.
    assert page.locator("script:not([type])").count() == 1
    assert (
        page.evaluate(
            "[...document.querySelectorAll('*')].filter(one => [...one.attributes].some(a => /^on|style/.test(a.name) && !one.style.length)).length"
        )
        == 0
    )
    assert page.locator("main img, main svg, main iframe, main a[href^='javascript']").count() == 0


def test_sequences_have_no_effect_but_colour(run: Path, opened: Open) -> None:
    text = (
        "  \x1b]0;title\x07a\x1b]8;;http://example.org/\x1b\\link\x1b]8;;\x1b\\\n"
        "  \x1b[2J\x1b[10;10Hmoved\x1b[?1049h\x1b(0\x1bM\n"
        "  \x1b[31\n"
        "  \x1b]0;never ended\n"
        "  bell\x07 back\x08 return\rover\n"
        "  \x1b[38;5;999mx\x1b[38;2;999;-1;mx\x1b[58;2;1;2;3mx\x1b[;;;mx\x1b[38mx\n"
        "  \u202edlrow\u2066\n"
    )
    leave(run, "t::it", transcript=text)
    page = opened(written(run), "#test=t::it")
    assert page.locator(".transcript .line").evaluate_all("all => all.map(one => one.textContent)") == [
        "alink", "moved", "␛[31", "␛]0;never ended", "bell␇ back␈ return␍over", "x␛[38;2;999;-1;mxxxx", "\ufffddlrow\ufffd",
    ]  # fmt: skip
    assert page.locator(".transcript a").count() == 0


def test_bytes_that_are_no_text_are_spelled_out(run: Path, opened: Open) -> None:
    leave(run, "t::it", transcript=b"  caf\xe9 \xff\x00\n")
    page = opened(written(run), "#test=t::it")
    expect(page.locator(".transcript .out")).to_have_text("caf\\xe9 \\xff␀")


def test_huge_output_is_cut_with_a_note(run: Path, opened: Open) -> None:
    line = "  " + "x" * 97 + "\n"
    folder = leave(run, "t::big", transcript="$ first\n$ of two\n" + line * 500_000 + "? 9\n")
    leave(run, "t::line", transcript="  " + "y" * 300_000 + "\n? 8\n")
    leave(run, "t::lines", transcript="  z\n" * 20_000 + "? 7\n")
    path = written(run)
    assert path.stat().st_size < 1_000_000
    page = opened(path, "#test=t::big")
    expect(page.locator(".transcript .cut")).to_have_text(
        re.compile(
            rf"^… 4\d,\d{{3}},\d{{3}} bytes are left out here: all of it is in first/{folder.name}/transcript.txt$"
        )
    )
    expect(page.locator(".transcript .command")).to_have_text(["first", "of two"])
    expect(page.locator(".transcript .code")).to_have_text("9")
    press(page, "j")
    expect(page.locator(".transcript .cut")).to_have_text(" … 295,000 more characters in this line")
    press(page, "j")
    expect(page.locator(".transcript .line")).to_have_count(6000)
    # What is open is scrolled with the keys of the browser.
    press(page, "End")
    until(page, "document.querySelector('#detail').scrollTop > 1000")
    page.click("text=Show more: 14,001 lines are folded here")
    expect(page.locator(".transcript .line")).to_have_count(9000)


def test_no_script_but_the_pages_own_may_run(run: Path, browser: Browser) -> None:
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(several(run).as_uri())
        policy = page.locator('meta[http-equiv="Content-Security-Policy"]').get_attribute("content") or ""
        assert policy.startswith("default-src 'none'; ")
        assert "connect-src 'none'" in policy
        assert "unsafe" not in policy
        asked: list[str] = []
        page.on("requestfinished", lambda request: asked.append(request.url))
        page.evaluate(
            """async () => {
                const button = document.createElement("button");
                button.setAttribute("onclick", "document.title = 'ran'");
                const script = document.createElement("script");
                script.textContent = "document.title = 'ran'";
                const image = document.createElement("img");
                image.src = "http://127.0.0.1:9/x.png";
                document.body.append(button, script, image);
                button.click();
                await fetch("data:,x").catch(() => 0);
            }"""
        )
        assert "1 failed" in page.title()
        assert not asked


# --- recordings


@pytest.fixture
def player(run: Path, opened: Open) -> Page:
    leave(run, "t::it", recordings={"01-count.cast": COUNT})
    page = opened(written(run), "#test=t::it")
    page.emulate_media(reduced_motion="reduce")  # it plays when it is told to
    play(page)
    expect(page.locator(".clock")).to_have_text("0:00.0 / 0:08.0")
    return page


def seek(page: Page, seconds: float) -> list[str]:
    page.locator(".player input[type=range]").fill(str(seconds))
    return glass(page)


def test_a_recording_shows_what_was_on_the_screen_at_each_moment(player: Page) -> None:
    assert glass(player) == []
    assert seek(player, 1.5) == ["one"]
    assert seek(player, 2.5) == ["one", "two"]
    assert seek(player, 3.5) == ["three"]
    assert seek(player, 2.5) == ["one", "two"]
    assert seek(player, 0.5) == []
    assert seek(player, 8) == ["three", "four"]


def test_a_recording_is_driven_by_keys(player: Page) -> None:
    assert player.evaluate("document.activeElement.className") == "play"
    press(player, "ArrowRight")
    expect(player.locator(".clock")).to_have_text("0:05.0 / 0:08.0")
    assert glass(player) == ["three"]
    press(player, ",", "ArrowLeft")
    expect(player.locator(".clock")).to_have_text("0:00.0 / 0:08.0")
    press(player, ".", "End")
    assert glass(player) == ["three", "four"]
    press(player, "Home", ">", ">")
    assert player.locator(".player select").input_value() == "4"
    press(player, "<")
    assert player.locator(".player select").input_value() == "2"


def test_a_recording_plays_and_pauses(player: Page) -> None:
    player.locator(".glass").focus()
    press(player, "Space")
    until(player, "document.querySelector('.glass').textContent.includes('one')")
    expect(player.locator(".play")).to_have_attribute("aria-label", "Pause")
    press(player, "Space")
    expect(player.locator(".play")).to_have_attribute("aria-label", "Play")
    at = player.locator(".clock").inner_text()
    assert at < "0:02.0"
    # A frame later it stands where it stood.
    player.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert player.locator(".clock").inner_text() == at
    player.select_option(".player select", "8")
    player.click(".play")
    until(player, "document.querySelector('.glass').textContent.includes('four')")
    expect(player.locator(".play")).to_have_attribute("aria-label", "Play")


def test_speed_is_time_by_time(player: Page) -> None:
    # The clock of the recording against the browser's own, both read in one frame.
    measure = """() => new Promise((done) => {
        const player = document.querySelector(".recording").player;
        player.seek(0);
        player.speed = SPEED;
        player.play();
        let first = null;
        const look = (now) => {
            if (first && player.time - first[1] > 0.4 * SPEED) return player.pause(), done((player.time - first[1]) / (now - first[0]) * 1000);
            first ??= [now, player.time];
            return requestAnimationFrame(look);
        };
        requestAnimationFrame(look);
    })"""
    for speed in (1, 4):
        assert player.evaluate(measure.replace("SPEED", str(speed))) == pytest.approx(speed, rel=0.1)


def test_pauses_can_be_skipped(player: Page) -> None:
    player.check("text=skip pauses")
    seek(player, 3.2)
    player.click(".play")
    until(player, "document.querySelector('.recording').player.time === 8")
    assert glass(player) == ["three", "four"]


def test_a_long_recording_is_scrubbed_through_from_any_side(run: Path, opened: Open) -> None:
    events: list[artifacts.Event] = [
        (float(number), "o", f"\x1b[2J\x1b[Hscreen {number} {'=' * 500}\r\n") for number in range(1000)
    ]
    leave(run, "t::it", recordings={"01-long.cast": cast(events)})
    page = opened(written(run), "#test=t::it")
    play(page)
    for at in (999, 3, 500, 499, 998, 0):
        assert seek(page, at + 0.5 if at < 999 else at)[0].startswith(f"screen {at} ")
    assert page.evaluate("document.querySelector('.recording').player.checkpoints.length") > 5


BROKEN: dict[str, tuple[str | bytes, str, list[str]]] = {
    "cut": (COUNT[:-12], "it is cut off in the middle of an event", ["three"]),
    "empty": ("", "it is empty", []),
    "headless": ("\n".join(COUNT.splitlines()[1:]) + "\n", "its first line is no header", ["three", "four"]),
    "noise": (COUNT.replace('[2.0, "o", "two\\r\\n"]', "%%%%"), "1 of its lines can't be read", ["three", "four"]),
    "bytes": (COUNT.encode().replace(b"four", b"\xff\xfe"), "", ["three", "\ufffd\ufffd"]),
    "version": (COUNT.replace('"version": 2', '"version": 9'), "it is of version 9, not 2", ["three", "four"]),
    "size": (COUNT.replace('"width": 80', '"width": 1e9').replace('"height": 24', '"height": -3'), "", ["three", "four"]),
    "kinds": ('{"version": 2}\n[0.1, "o", 5]\n[1, "o", "x"]\n[null, "o", "y"]\n[2, "q", "z"]\n', "2 of its lines can't be read", ["x"]),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_recording_plays_as_far_as_it_goes(run: Path, opened: Open, name: str) -> None:
    data, note, shown = BROKEN[name]
    leave(run, "t::it", recordings={"01-x.cast": data})
    page = opened(written(run), "#test=t::it")
    play(page)
    press(page, "End")
    assert glass(page) == shown
    assert page.locator(".player .note").all_inner_texts() == ([f"This recording: {note}."] if note else [])


# What a terminal does is what tmux does.
PROGRAMS = {
    "text": "one\r\ntwo\tthree\r\nback\bX\r\n" + "long " * 40,
    "moves": "\x1b[5;10Hhere\x1b[2A\x1b[3Dup\x1b[4Bdown\x1b[10Gcolumn\x1b[20;1H\x1b[3Cx\x1b[2Ey\x1b[Fz\x1b[7dq\x1b[99;99H!",
    "erase": "".join(f"\x1b[{y};1H{'x' * 70}" for y in range(1, 20)) + "\x1b[5;5H\x1b[K\x1b[6;5H\x1b[1K\x1b[7;5H\x1b[2K\x1b[8;5H\x1b[4X\x1b[9;5H\x1b[3P\x1b[10;5H\x1b[3@\x1b[12;9H\x1b[J",
    "above": "".join(f"line {y}\r\n" for y in range(20)) + "\x1b[10;3H\x1b[1J",
    "lines": "".join(f"line {y}\r\n" for y in range(12)) + "\x1b[3;1H\x1b[2Lnew\x1b[8;1H\x1b[3M\x1b[4;2HX",
    "region": "".join(f"line {y}\r\n" for y in range(20)) + "\x1b[5;10r\x1b[10;1Hlast\r\n\r\nmore\x1b[5;1H\x1bMtop\x1b[2Sup\x1b[1Tdown\x1b[r",
    "origin": "\x1b[5;10r\x1b[?6h\x1b[1;1Hfirst\x1b[99;1Hlast\x1b[?6l\x1b[1;1Hhome\x1b[r",
    "scroll": "".join(f"number {y}\r\n" for y in range(60)),
    "alternate": "before\x1b[?1049h\x1b[Hinside\x1b[?1049lafter",
    "alternate stays": "before\x1b[?1049h\x1b[H\x1b[2Jinside",
    "wide": "a漢字b\r\n😀 ok\r\ne\u0301te\u0301\r\n" + "漢" * 45 + "\x1b[1;3HX\x1b[2;1HY",
    "edge": "\x1b[3;80H漢\x1b[5;79H漢x\x1b[7;80Hab",
    "no wrap": "\x1b[?7l" + "y" * 90 + "z\x1b[?7h",
    "insert": "hello\x1b[1;3H\x1b[4hXY\x1b[4l",
    "tabs": "\x1b[3g\x1b[1;5H\x1bH\x1b[1;20H\x1bH\r\ta\tb\tc\x1b[2;40H\x1b[Zd",
    "saved": "\x1b[4;4H\x1b7\x1b[10;10Hthere\x1b8here\x1b[6;6H\x1b[s\x1b[Htop\x1b[uback",
    "repeat": "ab\x1b[5bc",
    "index": "\x1b[24;5Hlow\x1bDer\x1bEnext\x1b[1;5H\x1bMabove",
    "reset": "junk\x1b[5;10r\x1b[?6h\x1bcclean",
    "titles": "\x1b]2;a title\x07\x1bP+q544e\x1b\\\x1b_apc\x1b\\text\x1b[>c\x1b[?2004h.",
}  # fmt: skip


def in_tmux(base: Path, data: str, columns: int, rows: int) -> list[str]:
    """What tmux shows after that output."""
    (base / "data").write_text(data, newline="")
    tmux = ["tmux", "-S", str(base / "tmux" / "s"), "-f", "/dev/null"]
    script = f"stty raw -echo; cat '{base}/data'; tmux -S '{base}/tmux/s' wait-for -S done; exec sleep 1000"
    run = ["new-session", "-d", "-x", str(columns), "-y", str(rows), script]
    subprocess.run([*tmux, "start-server", ";", "set", "-g", "status", "off", ";", *run], check=True)
    subprocess.run([*tmux, "wait-for", "done"], check=True, timeout=60)
    # The signal may overtake the output, which tmux reads from the terminal.
    shown, last = None, ""
    while shown is None or shown != last:
        last = shown or ""
        shown = subprocess.run([*tmux, "capture-pane", "-p"], check=True, capture_output=True, text=True).stdout
        time.sleep(0.05)
    subprocess.run([*tmux, "kill-server"], check=True)
    return shown.rstrip("\n").split("\n")


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_terminal_does_what_tmux_does(home: Path, run: Path, opened: Open, name: str) -> None:
    leave(run, "t::it", recordings={"01-x.cast": cast([(0.0, "o", PROGRAMS[name])])})
    page = opened(written(run), "#test=t::it")
    play(page)
    assert glass(page) == [line.rstrip() for line in in_tmux(home.parent, PROGRAMS[name], 80, 24)]
    # However the output was cut into pieces on its way.
    split = """(text) => {
        const screen = new Terminal(80, 24);
        for (const unit of text) screen.write(unit);
        return screen.lines.map((line) => line.text.join("").trimEnd()).join("\\n").trimEnd();
    }"""
    assert page.evaluate(split, PROGRAMS[name]).split("\n") == glass(page)


def test_lines_are_drawn(run: Path, opened: Open) -> None:
    drawing = "\x1b(0lqqk\r\nx~`x\r\nmqqj\x1b(B plain \x1b)0\x0eqq\x0fqq"
    leave(run, "t::it", recordings={"01-x.cast": cast([(0.0, "o", drawing)])})
    page = opened(written(run), "#test=t::it")
    play(page)
    assert glass(page) == ["┌──┐", "│·◆│", "└──┘ plain ──qq"]


def test_a_terminal_is_resized(run: Path, opened: Open) -> None:
    events: list[artifacts.Event] = [
        (0.0, "o", "\x1b[24;1Hbottom\x1b[1;1Htop\x1b[24;7H"),
        (1.0, "r", "40x10"),
        (2.0, "o", "\x1b[1;1H\x1b[2K" + "w" * 41),
        (3.0, "r", "0xjunk"),
    ]
    leave(run, "t::it", recordings={"01-x.cast": cast(events)})
    page = opened(written(run), "#test=t::it")
    play(page)
    assert len(seek(page, 0.5)) == 24
    assert seek(page, 1.5)[-1] == "bottom"
    assert page.locator(".glass > div").count() == 10
    assert seek(page, 2.5)[:2] == ["w" * 40, "w"]
    assert seek(page, 3)[0] == "w"


# --- the page as a whole


@pytest.mark.parametrize("size", [PHONE, (320, 600), (1280, 800)])
def test_no_width_makes_it_scroll_sideways(run: Path, opened: Open, size: tuple[int, int], tmp_path: Path) -> None:
    script = tmp_path / "tutorial.sh"
    script.write_text("muster " + "x" * 400 + "\n")
    for number, outcome in enumerate(["failed", "error", "timed-out", "crashed", "skipped", "xfailed", "xpassed"]):
        leave(run, f"tests/test_{'long_' * 40}.py::test_{'name' * 50}_{number}", outcome, message="m" * 500)
    leave(
        run, "t::it", "failed", transcript="  " + "x" * 3000 + "\n$ " + "y" * 500 + "\n", attempts=2, blocks=["z" * 400],
        recordings={"01-wide.cast": cast([(0.0, "o", "w" * 300)], 300, 50)}, screens={"01-s.txt": "s" * 500},
    )  # fmt: skip
    page = opened(written(run, script=str(script)), size=size)
    fits = "[document.documentElement, document.querySelector('#detail'), document.querySelector('#list'), document.querySelector('header')].every(one => one.scrollWidth <= one.clientWidth)"
    assert page.evaluate(fits)
    press(page, "t")
    expect(page.locator("#detail h2")).to_be_visible()
    assert page.evaluate(fits)
    page.goto(page.url.partition("#")[0] + "#test=t::it")
    expect(page.locator(".transcript")).to_be_visible()
    assert page.evaluate(fits)
    play(page)
    assert page.evaluate(fits)


def test_on_a_phone_one_thing_is_shown_at_a_time(run: Path, opened: Open) -> None:
    page = opened(several(run), size=PHONE)
    expect(page.locator("#detail")).to_be_hidden()
    page.click("text=test_bad")
    expect(page.locator("#list")).to_be_hidden()
    expect(page.locator("#detail h2")).to_be_visible()
    page.click("text=← Tests")
    expect(page.locator("#list")).to_be_visible()
    press(page, "j", "Enter")
    expect(page.locator("#detail h2")).to_be_visible()
    press(page, "j")
    expect(page.locator("#detail h2")).to_have_text("test_good")
    press(page, "Escape")
    expect(page.locator("#list")).to_be_visible()
    assert focused(page) == "test_good"


# --- the command


def test_the_command_says_what_it_wrote(run: Path, muster: Muster) -> None:
    leave(run, "t::it", "failed")
    folder = run.parent
    done = muster("artifacts", folder, "--format", "json").json
    page = folder / "index.html"
    assert done == {
        "path": str(page),
        "bytes": page.stat().st_size,
        "runs": [{"run": "first", "tests": 1, "outcomes": {"failed": 1}}],
    }
    before = page.read_bytes()
    assert muster("artifacts", cwd=make_default(folder)).out == ".muster/artifacts/index.html: 1 failed\n"
    assert page.read_bytes() == before
    assert muster("artifacts", run, "--out", folder / "x.html").out == f"{folder}/x.html: 1 failed\n"
    kit = [sys.executable, "-c", "import sys; from muster_testkit.page.command import main; sys.exit(main())"]
    out = subprocess.run([*kit, str(folder), "--format", "json"], capture_output=True, text=True, check=True).stdout
    assert json.loads(out) == done


def test_the_page_is_opened_in_the_users_browser(run: Path, muster: Muster, tmp_path: Path) -> None:
    (script := tmp_path / "browser").write_text('#!/bin/sh\nprintf %s "$1" >"$0.asked"\n')
    script.chmod(0o755)
    muster("artifacts", run.parent, "--open", env={"BROWSER": f"{script} %s"})
    assert (tmp_path / "browser.asked").read_text() == (run.parent / "index.html").as_uri()


def make_default(folder: Path) -> Path:
    (folder.parent / ".muster").mkdir()
    (folder.parent / ".muster" / "artifacts").symlink_to(folder)
    return folder.parent


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["nowhere"], 3, "error: there is no folder `nowhere`\nhint: a run of the tests makes it\n"),
        (["."], 3, "error: there is no run in `.`\nhint: run the tests with the kit's plugin first\n"),
        (["artifacts", "--run", "x"], 3, "error: there is no run `x` in `artifacts`\nhint: there are: `first`\n"),
        (["artifacts", "--tutorial", "gone.sh"], 3, "error: there is no file `gone.sh`\n"),
        (["artifacts", "--out", "no/x.html"], 3, "error: can't write `no/x.html`: No such file or directory\nhint: `--out FILE` writes it elsewhere\n"),
        (["artifacts", "--serve", "--out", "x.html"], 2, "error: `--serve` writes no file, so it takes no `--out`\n"),
        (["artifacts", "--port", "1"], 2, "error: `--port` is for `--serve`\n"),
    ],
)  # fmt: skip
def test_bad_requests_make_nothing(tmp_path: Path, muster: Muster, arguments: list[str], code: int, said: str) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    if arguments != ["."]:
        artifacts.run(folder / "artifacts")
    before = sorted(str(path) for path in folder.rglob("*"))
    done = muster("artifacts", *arguments, check=False, cwd=folder)
    assert (done.code, done.err, done.out) == (code, said, "")
    assert sorted(str(path) for path in folder.rglob("*")) == before


# --- live


@pytest.fixture
def live(run: Path) -> Iterator[str]:
    """The page of that run, served by the real program."""
    argv = [*program(), "artifacts", str(run.parent), "--serve"]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    yield process.stdout.readline().split()[0]
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 0
    process.stdout.close()


def test_the_page_follows_tests_that_run(run: Path, live: str, opened: Open) -> None:
    page = opened(live)
    expect(page.locator("#live")).to_have_text("live")
    expect(page.locator("#list .none")).to_have_text("There are no tests in this run.")
    folder = leave(run, "t::first", "running", transcript="$ one\n")
    expect(page.locator(".row .name")).to_have_text(["first"])
    page.click(".row")
    expect(page.locator(".transcript .line")).to_have_text(["one"])
    with open(folder / "transcript.txt", "a") as transcript:
        transcript.write("  and more\n")
    expect(page.locator(".transcript .line")).to_have_text(["one", "and more"])
    leave(run, "t::second", "failed", message="no")
    leave(run, "t::first", "passed", transcript="$ one\n  and more\n? 0\n", recordings={"01-x.cast": COUNT})
    expect(page.locator(".row .name")).to_have_text(["second", "first"])
    expect(page.locator("#detail .outcome")).to_contain_text("passed")
    play(page)
    seek(page, 8)
    assert glass(page) == ["three", "four"]
    # A recording that somebody watches stays, whatever else happens.
    leave(run, "t::first", "failed", recordings={"01-x.cast": COUNT})
    expect(page.locator(".row.failed")).to_have_count(2)
    assert glass(page) == ["three", "four"]


def test_it_is_served_to_this_machine_alone(run: Path, live: str) -> None:
    leave(run, "t::it")
    (run.parent / "secret").write_text("no")
    host, port = "127.0.0.1", int(live.rstrip("/").rpartition(":")[2])

    def get(path: str, **headers: str) -> tuple[int, bytes]:
        connection = HTTPConnection(host, port, timeout=30)
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        found = answer.status, answer.read()
        connection.close()
        return found

    found = json.loads(get("/index?since=")[1])
    if not found["index"]["runs"][0]["tests"]:  # it looked before the test was there
        found = json.loads(get(f"/index?since={found['version']}")[1])
    index = found["index"]
    part = index["runs"][0]["tests"][0]["part"]
    assert get(f"/part?name={part}")[0] == 200
    for name in ("secret", "../secret", "/etc/passwd", f"{part}/meta.json", "first/run.json", ""):
        assert get(f"/part?name={name}")[0] == 404
    for path in ("/secret", "/../../etc/passwd", "/first/run.json", "/index.html"):
        assert get(path)[0] == 404
    assert get("/", Host="evil.example:80")[0] == 403
    assert b"connect-src &#x27;self&#x27;" in get("/")[1]
    listening = socket.socket()
    with listening, pytest.raises(OSError):
        # Another address of this same machine reaches nothing.
        listening.connect(("127.0.0.2", port))


def test_a_server_waits_for_the_first_run_and_its_end_is_noticed(tmp_path: Path, browser: Browser) -> None:
    folder = tmp_path / "later"
    argv = [*program(), "artifacts", str(folder), "--serve", "--format", "json"]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(json.loads(process.stdout.readline())["url"])
        expect(page.locator("#live")).to_have_text("live")
        expect(page.locator("#list .none")).to_have_text(f"there is no folder `{folder}`")
        leave(artifacts.run(folder), "t::it")
        expect(page.locator(".row")).to_have_count(1)
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
        process.stdout.close()
        expect(page.locator("#live")).to_have_text("not live any more")
        expect(page.locator(".row")).to_have_count(1)
