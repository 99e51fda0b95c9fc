"""The test kit puts programs on terminals, sees what they show, and records it."""

from __future__ import annotations

import json
import re
import xml.dom.minidom
from pathlib import Path
from typing import Any

import pytest

from kit import Project, gone, meta, transcript
from muster_testkit.errors import KitError
from muster_testkit.screen import Screen, svg
from muster_testkit.terminal import key


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def events(folder: Path, number: int = 0) -> tuple[Any, list[Any]]:
    """The head of a recording and its events."""
    path = folder / meta(folder)["recordings"][number]["file"]
    head, *rest = map(json.loads, path.read_text().splitlines())
    return head, rest


def screen(text: str, columns: int = 20, rows: int = 5) -> Screen:
    made = Screen(columns, rows, lambda _: None)
    made.feed(text)
    return made


# --- programs on terminals


def test_a_program_is_used_as_a_person_does(project: Project) -> None:
    folder = project.passes("""
        def test_it(e2e):
            with e2e.terminal("stty size; tty; printf 'name? '; read name; echo hello $name", cols=50, rows=7) as it:
                it.wait_for("name?")
                assert it.exit_code is None
                assert it.screen.startswith("7 50\\n/dev/")
                it.send("Ada").press("backspace", "m", "enter")
                assert "hello Adm" in it.wait_for(re.compile("^hello", re.MULTILINE))
                assert it.exit() == 0
            assert it.exit_code == 0 and it.close() == 0
            again = e2e.terminal(["sh", "-c", "cat; exit 3"], comment="no shell")
            again.press("ctrl-d")
            assert again.exit() == 3
    """)
    head, rest = events(folder)
    assert (head["version"], head["width"], head["height"], head["env"]["TERM"]) == (2, 50, 7, "xterm-256color")
    assert all(kind == "o" for _, kind, _ in rest)
    assert [when for when, _, _ in rest] == sorted(when for when, _, _ in rest)
    assert "hello Adm\r\n" in "".join(data for _, _, data in rest)
    about = meta(folder)["recordings"]
    assert [(one["columns"], one["rows"]) for one in about] == [(50, 7), (80, 24)]
    assert about[0]["seconds"] == rest[-1][0]
    assert about[1]["title"] == "sh -c 'cat; exit 3'"
    lines = transcript(folder).splitlines()
    assert "# no shell" in lines
    assert [line for line in lines if line.startswith("? ")] == ["? 0", "? 3"]


def test_keys_signals_and_sizes_reach_the_program(project: Project) -> None:
    folder = project.passes("""
        def test_it(e2e):
            traps = "trap 'echo interrupted' INT; trap 'stty size' WINCH; echo ready; while :; do sleep .05; done"
            it = e2e.terminal(["sh", "-c", traps], cols=30, rows=5)
            it.wait_for("ready")
            it.press("ctrl-c")
            it.wait_for("interrupted")
            assert it.size == (30, 5)
            it.resize(44, 9)
            it.wait_for("9 44")
            assert it.size == (44, 9)
            it.send("\\x1c")
            assert it.exit() == 128 + signal.SIGQUIT
            keys = e2e.terminal("stty raw -echo; echo ready; exec od -An -c")
            keys.wait_for("ready")
            keys.press("up", "f1", "alt-x", "shift-left", "page-down")
            keys.send("é" + "." * 20)
            keys.wait_for("033   [   A 033   O   P 033   x 033   [   1   ;   2")
    """)
    _, rest = events(folder)
    assert [data for _, kind, data in rest if kind == "r"] == ["44x9"]


def test_colours_and_the_cursor_are_seen(project: Project) -> None:
    project.passes("""
        def test_it(e2e):
            it = e2e.terminal("printf '\\\\033[1;31mred\\\\033[0m\\\\033[48;2;1;2;3mblue\\\\033[0m \\\\033[6n'; cat", cols=20)
            it.wait_for("redblue")
            assert it.cells[0][0] == ("r", "red", "default", True, False, False, False, False)
            assert it.cells[0][3].background == "010203"
            assert "\\x1b[0;1;31mred\\x1b[0;48;2;1;2;3mblue" in it.coloured
            # The terminal answers where its cursor is, and the program's terminal echoes that.
            it.wait_for("^[[1;9R")
            assert it.cursor == (0, 15)
    """)


def test_a_failure_keeps_what_was_shown(project: Project) -> None:
    out = project.fails("""
        def test_open(e2e):
            it = e2e.terminal("printf '\\\\033[32mgreen <&>\\\\033[0m\\\\n'; cat", rows=4)
            it.wait_for("green")
            it.wait_for("nothing like it", timeout=0.1)
        def test_with(e2e):
            with e2e.terminal("trap 'clear; exit' HUP; echo before the end; while :; do sleep .05; done") as it:
                it.wait_for("before the end")
                assert False
        def test_over(e2e):
            it = e2e.terminal("echo the end")
            it.wait_for(re.compile("no end"), timeout=60)
        def test_exit(e2e):
            e2e.terminal("echo here; cat").exit(timeout=0.3)
    """)
    assert "the terminal doesn't show 'nothing like it', and 0.1 s have passed" in out
    assert "| green <&>" in out
    assert "the terminal doesn't show 'no end', and the program has ended" in out
    assert "the program has not ended within 0.3 s" in out
    kept = {meta(one)["test"].rpartition("_")[2]: one for one in project.folders()}
    assert (kept["open"] / "screens" / "01-failed.txt").read_text() == "green <&>\n"
    assert (kept["with"] / "screens" / "01-failed.txt").read_text() == "before the end\n"
    assert meta(kept["open"])["screens"] == ["screens/01-failed.txt"]
    picture = (kept["open"] / "screens" / "01-failed.svg").read_text()
    assert "green &lt;&amp;&gt;" in picture
    assert 'fill="#0dbc79"' in picture
    assert xml.dom.minidom.parseString(picture)


def test_nothing_stays_behind_a_terminal(project: Project) -> None:
    project.passes("""
        def test_it(e2e):
            line = "trap '' HUP TERM; (setsid sleep 300 &); sh -c 'echo $$ >one; exec sleep 300' & echo $$ >two; cat"
            it = e2e.terminal(line + "; cat; while :; do sleep 1; done")
            expect_eventually(lambda: (e2e.cwd / "one").read_text() and (e2e.cwd / "two").read_text())
            assert it.close() in (128 + 9, 128 + 15)
            assert gone((e2e.cwd / "one").read_text()) and gone((e2e.cwd / "two").read_text())
            left = e2e.terminal("echo $$ >three; cat")
            expect_eventually(lambda: (e2e.cwd / "three").read_text())
            Path("three").write_text((e2e.cwd / "three").read_text())
    """)
    assert gone((project.folder / "three").read_text().strip())


def test_output_that_is_cut_anywhere_is_read_right(project: Project) -> None:
    folder = project.passes("""
        def test_it(e2e):
            e2e.write_file("slow.py", '''if True:
                import os, time
                for byte in "é漢\\\\x1b[31mrot\\\\x1b[0m".encode():
                    os.write(1, bytes([byte])); time.sleep(0.005)
                os.write(1, b"\\\\xff end"); input()
            ''')
            it = e2e.terminal([sys.executable, "slow.py"])
            assert it.wait_for("end") == "é漢rot\\ufffd end"
            assert it.cells[0][3].foreground == "red"
            it.press("enter")
            assert it.exit() == 0
    """)
    _, rest = events(folder)
    assert "".join(data for _, kind, data in rest) == "é漢\x1b[31mrot\x1b[0m\ufffd end\r\n"


def test_much_output_neither_hangs_nor_fills_the_disk(project: Project) -> None:
    project.passes("""
        def test_it(e2e):
            it = e2e.terminal("yes 0123456789 | head -c 400000; echo; echo the end; cat")
            it.wait_for("the end", timeout=60)
            it.press("ctrl-d")
            assert it.exit() == 0
    """)


# --- recording what somebody else starts


def test_an_agents_terminal_is_recorded_while_the_test_goes_on(project: Project) -> None:
    folder = project.passes("""
        def test_it(e2e):
            e2e.run("git init -q . && git -c user.name=T -c user.email=t@e.org commit -q --allow-empty -m first")
            expect(e2e.run("muster create fix command -- sh -c 'echo first words; cat'")).to_succeed()
            done = e2e.run("muster connect fix", env={"MUSTER_CONNECT_COMMAND": e2e.connect_command})
            expect(done).to_succeed()
            def said(words):
                [recording] = (e2e.artifacts / "recordings").glob("*.cast")
                return words in recording.read_text()
            expect_eventually(lambda: said("first words"), timeout=30)
            expect(e2e.run("muster message fix -m 'later words'")).to_succeed()
            expect_eventually(lambda: said("later words"), timeout=30)
            Path("base").write_text(str(e2e.home.parent))
    """)
    assert not Path((project.folder / "base").read_text()).exists()
    head, rest = events(folder)
    assert head["width"] == 80
    assert "later words" in "".join(data for _, _, data in rest)
    # The recorder was asked to end, and did by itself.
    assert "muster_testkit record" not in transcript(folder).partition("still running")[2]


def test_a_recording_passes_on_what_it_records(project: Project) -> None:
    project.passes("""
        def test_it(e2e):
            line = f"{sys.executable} -m muster_testkit record --into rec -- sh -c 'stty size; read a; echo got $a; exit 5'"
            it = e2e.terminal(line, cols=33, rows=9)
            it.wait_for("9 33")
            it.resize(40, 11)
            it.send("this\\r")
            it.wait_for("got this")
            assert it.exit() == 5
            kept = (e2e.cwd / "rec" / "01-sh.cast").read_text()
            assert "got this" in kept and '"r", "40x11"' in kept
            done = e2e.run([sys.executable, "-m", "muster_testkit", "record", "--into", "rec", "--", "no-such-program"])
            assert done.exit_code == 127 and "no-such-program: No such file" in done.stdout
            expect(e2e.run([sys.executable, "-m", "muster_testkit", "record"])).to_have_exit_code(2)
    """)


def test_a_recording_that_was_cut_off_is_still_listed(project: Project) -> None:
    folder = project.passes("""
        def test_it(e2e):
            folder = e2e.artifacts / "recordings"
            folder.mkdir()
            head = '{"version": 2, "width": 80, "height": 24, "title": "cut"}\\\\n'.replace("\\\\n", "\\n")
            (folder / "01-cut.cast").write_text(head + '[1.5, "o", "whole"]\\n[2.5, "o", "ha')
            (folder / "02-none.cast").write_text('{"version": 2, "wid')
            (folder / "03-empty.cast").write_text("")
    """)
    assert meta(folder)["recordings"] == [
        {"file": "recordings/01-cut.cast", "title": "cut", "columns": 80, "rows": 24, "seconds": 2.5}
    ]


# --- keys and screens by themselves


@pytest.mark.parametrize(
    ("name", "sent"),
    [
        ("enter", "\r"),
        ("ctrl-c", "\x03"),
        ("ctrl-[", "\x1b"),
        ("ctrl-space", "\0"),
        ("alt-X", "\x1bX"),
        ("ctrl-alt-a", "\x1b\x01"),
        ("alt--", "\x1b-"),
        ("-", "-"),
        ("up", "\x1b[A"),
        ("ctrl-right", "\x1b[1;5C"),
        ("shift-tab", "\x1b[Z"),
        ("alt-enter", "\x1b\r"),
        ("delete", "\x1b[3~"),
        ("shift-page-up", "\x1b[5;2~"),
        ("f1", "\x1bOP"),
        ("shift-f1", "\x1b[1;2P"),
        ("f12", "\x1b[24~"),
        ("é", "é"),
    ],
)
def test_keys_are_those_of_a_terminal(name: str, sent: str) -> None:
    assert key(name) == sent
    assert key("up", application=True) == "\x1bOA"


@pytest.mark.parametrize("name", ["ctrl-é", "ctrl-1", "nothing", "f13", "super-x", "", "hello there"])
def test_a_key_that_is_not_there_is_said(name: str) -> None:
    with pytest.raises(KitError, match="there is no key"):
        key(name)


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("one\r\ntwo\x1b[Aup", "oneup\ntwo"),
        ("main\x1b[?1049h\x1b[2J\x1b[Hother", "other"),
        ("main\x1b[?1049h\x1b[2J\x1b[Hother\x1b[?1049l on", "main on"),
        ("a\x1b[3bb", "aaaab"),
        ("1\r\n2\r\n3\x1b[Sx", "2\n3\n x"),
        ("1\r\n2\x1b[T", "\n1\n2"),
        ("a\tb\x1b[Z|", "a       |"),
        ("\x1b(0lqk\x1b(B-", "┌─┐-"),
        ("a\x1b[>4;2mb\x1b[<uc\x1b[!pd\x1b[?1$pe\x1b[2 qf", "abcdef"),
        ("a\x1bP1$r0m\x1b\\b\x1b_hidden\x1b\\c\x1b]8;;http://x\x1b\\d\x1b]0;title\x07e", "abcde"),
        ("z\u200dw\u200bx\ufe0fy\x9b31m", "zwxy31m"),
        ("漢字\x1b[1;3H|", "漢|"),
        ("e\u0301", "é"),
        ("a\x1b[999999999999;5Hb", "a\n\n\n\n    b"),
        ("a\x1b[\x01b", "a[b"),
    ],
)
@pytest.mark.parametrize("step", [1, 3, 1_000])
def test_screens_show_what_terminals_do(written: str, shown: str, step: int) -> None:
    made = Screen(20, 5, lambda _: None)
    for start in range(0, len(written), step):
        made.feed(written[start : start + step])
    assert made.text == shown


def test_a_sequence_without_an_end_is_given_up() -> None:
    made = screen("\x1b]0;" + "x" * 100_000 + "\r\n\x1b[Hthe end")
    assert "the end" in made.text


def test_colours_with_colons_and_of_256_are_known() -> None:
    row = screen(
        "\x1b[38:2::255:0:9ma\x1b[38;5;208mb\x1b[4:3mc\x1b[4:0md\x1b[58:2::1:2:3m\x1b[58;5;4me\x1b[94mf"
    ).rows()[0]
    assert [cell.foreground for cell in row[:6]] == ["ff0009", "ff8700", "ff8700", "ff8700", "ff8700", "brightblue"]
    assert [cell.underline for cell in row[:5]] == [False, False, True, False, False]


def test_a_picture_holds_no_markup_of_others() -> None:
    picture = svg(screen("</text><script>alert(1)</script>\ufffe\"'&\x1b[7mx\x1b[105m y", 60).rows())
    found = xml.dom.minidom.parseString(picture)
    assert not found.getElementsByTagName("script")
    assert re.search("&lt;script&gt;", picture)
