"""The page of a run, in a real browser: what a reviewer sees, how it is worked, and that nothing in it can do harm."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import msgspec
import pytest
from playwright.sync_api import Page, expect

import reports
from muster.mend.baseline import Standing
from muster.mend.report import Report
from muster.mend.report.page import page as page_of

if TYPE_CHECKING:
    from browser import Open

pytest_plugins = ["browser"]

PHONE = (390, 844)
CAST = {"artifacts/totals/terminal.cast": reports.cast()}
Show = Callable[..., Page]


@pytest.fixture
def show(opened: Open, tmp_path: Path) -> Show:
    """Writes a report's page and opens it."""

    def shown(report: Report, at: str = "", size: tuple[int, int] = (1280, 860), scheme: str = "light") -> Page:
        file = tmp_path / "report.html"
        file.write_text(page_of(report, CAST))
        return opened(file, at, size=size, scheme=scheme)

    return shown


def kinds(page: Page) -> list[str]:
    return page.locator("#needs summary .word").all_text_contents()


def tasks(page: Page) -> list[str]:
    """The tasks that the list shows, by their addresses."""
    return page.locator("#list li:not([hidden]) a").evaluate_all("all => all.map(a => a.hash.replace('#task=', ''))")  # type: ignore[no-any-return]


def focused(page: Page) -> str:
    """What the keyboard is at: a task, or the words of an item."""
    return str(page.evaluate("document.activeElement.hash || document.activeElement.id || document.activeElement.querySelector('.name')?.textContent"))  # fmt: skip


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def open_item(page: Page, part: str, at: int) -> None:
    page.locator(f"{part} .items > li > details > summary").nth(at).click()
    expect(page.locator(f"{part} .items > li > details").nth(at)).to_have_attribute("data-filled", "")


# --- the minute


def test_the_head_answers_the_four_questions(show: Show) -> None:
    page = show(reports.ordinary())
    assert page.locator("#facts").inner_text().startswith("ledger · ")
    expect(page.locator("#title")).to_have_text("Mend 6 failing tests with 3 fixes")
    expect(page.locator("#route")).to_have_text("5f2c9e0b7 → muster/m0612-1 at 070707070")
    answers = page.locator("#answers a").all()
    assert [one.inner_text().split("\n") for one in answers] == [
        ["What changed", "5 commits", "3 fixes, 1 for tests, 1 to review · +14 −11"],
        ["What proves it", "6 tests turned green", "11 red before, 5 at the tip · 1 change found by several agents"],
        ["What was refused", "2 claims", "1 by the gate, 1 did not hold"],
        ["What needs you", "9 things", "1 refused, 1 broken, 1 blocked, 1 lost, 2 flaky, 1 shared, 1 review, 1 aside"],
    ]
    expect(page.locator("#interrupted")).to_be_hidden()


def test_the_picture_is_true_to_the_counts(show: Show) -> None:
    page = show(reports.ordinary(before={"passing": 30, "failing": 10}, after={"passing": 20}))
    widths = page.locator(".track").evaluate_all("all => all.map(t => [...t.children].map(c => c.getBoundingClientRect().width / t.clientWidth))")  # fmt: skip
    assert widths[0] == pytest.approx([0.75, 0.25], abs=0.01)
    # The tests that went away are missed, not stretched over.
    assert widths[1] == pytest.approx([0.5], abs=0.01)
    assert page.locator(".legend").all_inner_texts() == ["30 passing\n10 failing", "20 passing −10\n0 failing −10"]
    # Every word for how tests stand has a colour of its own, and a place among the red ones if it is one.
    page = show(reports.ordinary(before=dict.fromkeys(get_args(Standing), 1), after={"failing": 1}))
    hues = "all => all.map(one => getComputedStyle(one).backgroundColor + getComputedStyle(one).opacity)"
    assert len({*page.locator(".track").first.locator(".state").evaluate_all(hues)}) == 4  # failing as erroring
    expect(page.locator("#answers")).to_contain_text("2 red before, 1 at the tip")


def test_what_needs_a_person_comes_first_and_by_urgency(show: Show) -> None:
    page = show(reports.ordinary())
    assert kinds(page) == ["refused", "broken", "blocked", "lost", "flaky", "flaky", "shared", "review", "aside"]
    order = page.evaluate("[...document.querySelectorAll('#overview > section')].map(one => one.id)")
    assert order == ["needs", "changes", "tasks", "rest", "next"]
    open_item(page, "#needs", 0)
    box = page.locator("#needs details").first
    assert "weakened-assertion" in box.inner_text()
    assert "tests/test_dates.py:21" in box.inner_text()
    open_item(page, "#needs", 2)
    assert "The test wants a feature: ODS files." in page.locator("#needs").inner_text()
    open_item(page, "#needs", 8)
    assert page.locator("#needs .diff .removed").all_inner_texts() == ["-    size = 9"]


def test_a_commit_shows_what_proves_it_and_how_to_undo_it(show: Show) -> None:
    page = show(reports.ordinary())
    lines = page.locator("#changes summary").all_inner_texts()
    assert [line.split("\n")[1] for line in lines] == ["tests", "fix", "fix", "fix", "review"]
    assert "found by 2 agents, each by itself" in lines[2]
    open_item(page, "#changes", 1)
    box = page.locator("#changes details").nth(1)
    facts = box.locator(".about").inner_text()
    assert "tests/test_totals.py::test_by_month" in facts
    assert "only together with 030303030" in facts
    assert box.locator(".diff .added").all_inner_texts() == ["+    for row in rows:", "+    # the last row counts, too"]
    # What needs it goes first.
    expect(box.locator(".command code").last).to_have_text(
        f"git revert --no-edit {reports.commit_id(3)} {reports.commit_id(1)}"
    )


def test_an_empty_run_needs_nobody(show: Show) -> None:
    page = show(reports.empty())
    expect(page.locator("#title")).to_have_text("No change that holds")
    expect(page.locator("#needs")).to_contain_text("Nothing needs you.")
    expect(page.locator("#changes")).to_contain_text("there is no branch")
    expect(page.locator("#tasks")).to_contain_text("No task was made.")
    expect(page.locator("#rest")).to_be_hidden()
    press(page, "j", "k", "1", "/", "Escape", "?")
    expect(page.locator("#help")).to_be_visible()


def test_an_interrupted_run_says_so_first(show: Show) -> None:
    page = show(reports.ordinary(interrupted=True, undone=("tests/test_a.py::test_b",)))
    expect(page.locator("#interrupted")).to_contain_text("1 task was not done")
    assert kinds(page)[0] == "interrupted"
    open_item(page, "#needs", 0)
    expect(page.locator("#needs .inside").first).to_have_text("tests/test_a.py::test_b")


# --- a task


def test_what_was_claimed_stands_beside_what_was_found(show: Show) -> None:
    page = show(reports.ordinary(), "#task=import")
    claimed, found = page.locator(".side.claimed"), page.locator(".side.found")
    assert "CSV with quotes is read as RFC 4180 says." in claimed.inner_text()
    text = re.sub(r"\s+", " ", found.inner_text())
    assert "broken it says the test passes, but it fails in 3 of 3 runs" in text
    assert "tests/test_import.py::test_csv_with_quotes failed → failed" in text
    assert "Other tests, hurt by it tests/test_import.py::test_csv_plain passed → failed" in text
    assert "2 files not committed ledger/csv_old.py scratch/notes.txt" in text
    left, right = claimed.bounding_box(), found.bounding_box()
    assert left and right and left["x"] + left["width"] <= right["x"]
    found.locator("summary").first.click()
    expect(found.locator(".text").first).to_contain_text("AssertionError: assert '0.00\\n' == '700.00\\n'")


def test_the_gates_findings_stand_at_their_lines(show: Show) -> None:
    page = show(reports.ordinary(), "#task=dates")
    lines = page.locator("#open .diff > div").all_inner_texts()
    at = next(number for number, line in enumerate(lines) if "weakened-assertion" in line)
    assert lines[at].split("\n")[0] == '-    assert out == "2024-01-02\\n2024-03-01\\n"'
    assert "removed-assertion" in lines[at + 1]
    expect(page.locator("#open .remark")).to_have_count(2)
    numbers = page.locator("#open .diff .line").evaluate_all("all => all.map(one => one.dataset.line)")
    assert numbers == ["", "20", "21", "22", "21", "22"]


def test_no_outcome_is_no_claim(show: Show) -> None:
    page = show(reports.ordinary(), "#task=sync")
    expect(page.locator(".side.claimed")).to_contain_text("no outcome")
    expect(page.locator(".side.claimed")).to_contain_text("it ended without an outcome, and did not answer")
    assert "started a second time" in page.locator("#open .facts").inner_text()
    expect(page.locator("#open")).to_contain_text("There is no diff.")


def test_transcript_and_terminal_are_coloured_and_harmless(show: Show) -> None:
    page = show(reports.ordinary(), "#task=totals")
    expect(page.locator(".transcript article")).to_have_count(8)
    assert page.locator(".transcript .who").nth(2).inner_text().startswith("tool Bash")
    expect(page.locator(".transcript .error .line")).to_have_text("E   1 failed, 2 passed")
    result = page.locator(".transcript article.result")
    assert result.locator(".line").count() == 8
    result.locator("button").click()
    expect(result.locator(".line")).to_have_count(30)
    page.locator("[data-part=terminal] summary").click()
    expect(page.locator(".terminal .line")).to_have_text(["● Done. 3 tests pass", "✓ committed"])


def test_a_recording_plays_offline(show: Show) -> None:
    page = show(reports.ordinary(), "#task=totals")
    expect(page.locator("#open")).to_contain_text("artifacts/totals/lost.cast is in the run's folder")
    page.click(".recording button")
    expect(page.locator(".glass")).to_contain_text("700.00")


def test_a_task_that_is_not_there(show: Show) -> None:
    page = show(reports.ordinary(), "#task=%3Cb%3Enone")
    expect(page.locator("#open")).to_contain_text("There is no task <b>none in this run.")
    press(page, "Escape")
    expect(page.locator("#overview")).to_be_visible()


def test_a_diff_of_any_kind_is_read(show: Show) -> None:
    diff = (
        "diff --git a/old name.py b/new name.py\nsimilarity index 90%\nrename from old name.py\nrename to new name.py\n"
        "--- a/old name.py\n+++ b/new name.py\n@@ -1 +1,2 @@\n--- a comment in SQL\n+++ b\n+x\n\\ No newline at end of file\n"
        "diff --git a/pic.png b/pic.png\nBinary files a/pic.png and b/pic.png differ\n"
        "diff --git a/gone.py b/gone.py\ndeleted file mode 100644\n--- a/gone.py\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n"
    )  # fmt: skip
    changed = tuple(msgspec.structs.replace(one, diff=diff, cut=True) for one in reports.entries()[:1])
    page = show(reports.ordinary(entries=changed), "#task=totals")
    heads = [re.sub(r"\s+", " ", text) for text in page.locator(".file > summary").all_inner_texts()]
    assert heads == ["new name.py +2 −1", "a/pic.png b/pic.png +0 −0", "gone.py +0 −2"]
    assert page.locator(".diff .removed").all_inner_texts() == ["--- a comment in SQL", "-a", "-b"]
    expect(page.locator("#open .files")).to_contain_text("it was cut for the page")


# --- the keyboard


def test_all_is_reached_with_the_keyboard_alone(show: Show) -> None:
    page = show(reports.ordinary())
    press(page, "j")
    assert focused(page).startswith("test_dates_are_sorted")
    press(page, "j", "j", "k")
    assert focused(page).startswith("test_csv_with_quotes")
    press(page, "Enter")
    expect(page.locator("#needs details").nth(1)).to_have_attribute("data-filled", "")
    press(page, "/", *"filter", "ArrowDown")
    assert focused(page) == "#task=filter"
    press(page, "Enter")
    expect(page.locator("#open h1")).to_contain_text("test_upper_bound")
    press(page, "Escape")
    expect(page.locator("#overview")).to_be_visible()
    assert focused(page) == "#task=filter"
    press(page, "/", "Escape")
    assert len(tasks(page)) == 12


def test_tasks_follow_each_other(show: Show) -> None:
    page = show(reports.ordinary())
    order = tasks(page)
    page.click(f"#list a >> nth={order.index('import')}")
    expect(page.locator("#open")).to_have_attribute("data-task", "import")
    press(page, "j")
    expect(page.locator("#open")).to_have_attribute("data-task", order[order.index("import") + 1])
    press(page, "k", "k")
    expect(page.locator("#open")).to_have_attribute("data-task", order[0])
    page.go_back()
    expect(page.locator("#overview")).to_be_visible()
    press(page, "Enter", "/")
    expect(page.locator("#search")).to_be_focused()


def test_search_and_verdicts(show: Show) -> None:
    page = show(reports.ordinary())
    assert tasks(page)[:5] == ["dates", "import", "export", "sync", "clock"]
    press(page, "1")
    assert tasks(page) == ["dates"]
    press(page, "2")
    assert tasks(page) == ["dates", "import"]
    page.fill("#search", "RFC nothing like it")
    expect(page.locator("#none")).to_be_visible()
    page.fill("#search", "hurt")
    assert tasks(page) == ["import"]
    press(page, "Escape", "0")
    assert len(tasks(page)) == 12
    page.fill("#search", "weakened-assertion")
    assert tasks(page) == ["dates"]


def test_links_to_a_task_and_a_commit(show: Show) -> None:
    page = show(reports.ordinary(), f"#commit={reports.commit_id(3)}")
    commit = page.locator("#changes details[data-commit][open]")
    expect(commit).to_have_count(1)
    expect(commit).to_contain_text("Take the upper bound")
    commit.locator(".about a").first.click()
    expect(page.locator("#open h1")).to_contain_text("test_upper_bound")
    page.locator(".side.found a").click()
    expect(page.locator("#overview")).to_be_visible()


def test_a_command_is_copied_without_a_question(show: Show) -> None:
    page = show(reports.ordinary())
    command = page.locator("#next .command").nth(3)
    command.locator("button").click()
    expect(command.locator("button")).to_have_text("Copied")
    page.locator("#search").focus()
    press(page, "Control+v")
    expect(page.locator("#search")).to_have_value("muster message --where 'labels.run == \"m0612-1\"' 'TEXT'")


def test_tab_reaches_one_row_only(show: Show) -> None:
    page = show(reports.ordinary())
    assert page.locator("#list a[tabindex='0']").count() == 1
    page.locator("#list a").first.focus()
    press(page, "Tab")
    assert page.evaluate("document.querySelector('#rest').contains(document.activeElement)")


# --- harm


def test_hostile_words_are_only_words(show: Show) -> None:
    plain = show(reports.ordinary()).evaluate("document.querySelectorAll('#overview header *').length")
    page = show(reports.hostile())
    assert page.evaluate("document.querySelectorAll('#overview header *').length") == plain
    for part in ("#needs", "#changes", "#rest"):
        for at in range(page.locator(f"{part} .items > li").count()):
            open_item(page, part, at)
    unharmed(page)
    for row in range(12):
        page.locator("#list a").nth(row).click()
        expect(page.locator("#open .sides")).to_be_visible()
        page.evaluate("document.querySelectorAll('#open details').forEach(one => (one.open = true))")
        expect(page.locator("#open details:not(.file, [data-filled])")).to_have_count(0)
        unharmed(page)
        press(page, "Escape")
        expect(page.locator("#overview")).to_be_visible()


def unharmed(page: Page) -> None:
    """Nothing but our own elements is there, and no mark that acts."""
    found = page.evaluate(
        """() => {
          const all = [...document.querySelectorAll('*')];
          const text = document.body.innerText;
          return {
            scripts: all.filter(one => one.matches('script:not([type])')).length,
            strange: all.filter(one => one.matches('img, iframe, svg, object, embed, form:not(dialog form), base')).length,
            handlers: all.flatMap(one => [...one.attributes]).filter(one => one.name.startsWith('on') || /^javascript:/i.test(one.value)).length,
            marks: /[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069]/.test(text),
            shown: text.includes('<img src=x onerror="alert(1)">'),
          };
        }"""
    )
    assert found == {"scripts": 1, "strange": 0, "handlers": 0, "marks": False, "shown": True}


def test_nothing_but_its_own_script_may_run(show: Show) -> None:
    text = page_of(reports.hostile(), CAST)
    style, script = re.search(r"<style>(.*?)</style>", text, re.S), re.search(r"<script>(.*?)</script>", text, re.S)
    assert style and script
    own = [base64.b64encode(hashlib.sha256(found[1].encode()).digest()).decode() for found in (style, script)]
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    assert policy
    assert policy[1].replace("&#x27;", "'").split("; ") == [
        "default-src 'none'", f"style-src 'sha256-{own[0]}'", f"script-src 'sha256-{own[1]}'", "img-src data:",
        "connect-src 'none'", "base-uri 'none'", "form-action 'none'",
    ]  # fmt: skip


def test_what_is_long_is_packed_under_names_of_ours() -> None:
    parts = dict(re.findall(r'<script type="application/octet-stream" id="part:([^"]*)">(.*?)</script>', page_of(reports.hostile(), CAST)))  # fmt: skip
    assert {re.sub(r"\d+", "", name) for name in parts} == {"flaky", "entry", "commit", "aside", "recording"}
    whole = json.loads(gzip.decompress(base64.b64decode(parts["entry5"])))
    assert whole["diff"] == reports.hostile().entries[5].diff
    assert gzip.decompress(base64.b64decode(parts["recording0"])) == reports.cast()


def test_equal_reports_make_equal_pages() -> None:
    assert page_of(reports.ordinary(), CAST) == page_of(reports.ordinary(), CAST)


# --- looks


@pytest.mark.parametrize("at", ["", "#task=dates", "#task=totals", f"#commit={reports.commit_id(3)}"])
@pytest.mark.parametrize("hostile", [False, True])
def test_a_phone_does_not_scroll_sideways(show: Show, at: str, hostile: bool) -> None:
    page = show(reports.hostile() if hostile else reports.large(24) if not at else reports.ordinary(), at, size=PHONE)
    if hostile and at.startswith("#task"):
        page.evaluate(f"location.hash = document.querySelectorAll('#list a')[{0 if 'dates' in at else 5}].hash")
        expect(page.locator("#open .sides")).to_be_visible()
    for one in page.locator("summary:visible").all()[:12]:
        one.click()
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE[0]


def test_light_and_dark(show: Show) -> None:
    def lightness(scheme: str) -> float:
        colour = show(reports.ordinary(), scheme=scheme).evaluate("getComputedStyle(document.documentElement).backgroundColor")  # fmt: skip
        return sum(map(int, re.findall(r"\d+", colour)))

    assert lightness("light") > 700
    assert lightness("dark") < 120


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("at", ["", "#task=dates"])
def test_every_word_can_be_read(show: Show, at: str, scheme: str) -> None:
    page = show(reports.ordinary(), at, scheme=scheme)
    assert page.evaluate(CONTRASTS) == []


# The words whose contrast with what is behind them is below 4.5 to 1.
CONTRASTS = """() => {
  const canvas = Object.assign(document.createElement('canvas'), { width: 1, height: 1 }).getContext('2d', { willReadFrequently: true });
  const over = (colour, behind) => {
    canvas.globalAlpha = 1;
    for (const one of [behind, colour]) { canvas.fillStyle = one; canvas.fillRect(0, 0, 1, 1); }
    return `rgb(${[...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3)})`;
  };
  const behind = (one) => (one ? over(getComputedStyle(one).backgroundColor, behind(one.parentElement)) : '#fff');
  const light = (colour) => colour.match(/\\d+/g).map(Number).map(v => v / 255).map(v => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, at) => sum + v * [0.2126, 0.7152, 0.0722][at], 0);
  const bad = [];
  for (const one of document.querySelectorAll('main *')) {
    if (![...one.childNodes].some(node => node.nodeType === 3 && node.data.trim()) || !one.checkVisibility()) continue;
    const [back, fore] = [behind(one), over(getComputedStyle(one).color, behind(one))].map(light);
    const ratio = (Math.max(back, fore) + 0.05) / (Math.min(back, fore) + 0.05);
    if (ratio < 4.5) bad.push(`${one.className} ${one.textContent.slice(0, 30)}: ${ratio.toFixed(2)}`);
  }
  return bad;
}"""


def test_three_hundred_tasks_are_a_light_page(show: Show) -> None:
    page = show(reports.large())
    assert len(tasks(page)) == 300
    expect(page.locator("#needs summary")).to_have_count(1 + 5 * 6 + 4)
    assert page.evaluate("document.querySelectorAll('*').length") < 6000
    page.get_by_role("button", name="19 more refused").click()
    assert kinds(page).count("refused") == 25
    press(page, "/", *"clock", "Enter", "Enter")
    expect(page.locator("#open h1")).to_contain_text("test_ticks_once_a_second")


def test_print_shows_the_report_and_not_its_controls(show: Show) -> None:
    page = show(reports.ordinary(), scheme="dark")
    page.emulate_media(media="print")
    for hidden in ("#bar", "#search", ".command button"):
        expect(page.locator(hidden).first).to_be_hidden()
    expect(page.locator("#list a").last).to_be_visible()
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == "rgb(255, 255, 255)"
    assert page.pdf().startswith(b"%PDF")
