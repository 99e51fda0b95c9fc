"""The tutorial and the tests that cite it are compared in both directions, without running anything."""

from __future__ import annotations

import difflib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent, indent

import pytest

from conftest import Muster
from kit import Project
from muster_testkit.tutorial import Block, blocks
from muster_testkit.tutorial.check import check

TUTORIAL = """\
#!/bin/sh
# A tutorial.

# Make an agent
muster create fix \\
  --type scripted

# See it
muster list

# To be written
"""
TESTS = '''\
class TestMaking:
    def test_create(self, e2e):
        e2e.write_tutorial_block("""
            # Make an agent
            muster create fix \\\\
              --type scripted
        """)

async def test_list(e2e):
    """List agents.

    Tutorial block:
        # See it
        muster list

    All of them.
    """
'''


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.chdir(tmp_path)
    made = Project(tmp_path)
    made.write("tutorial.sh", TUTORIAL)
    made.write("tests/test_it.py", TESTS)
    return made


# --- blocks


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        ("\n \n\t\n", []),
        ("# a\n#b", [Block("# a\n#b", 1, "heading")]),
        ("\n\n  # a\nls  \n", [Block("  # a\nls", 3, "command")]),
        ("a\r\n\r\nb\rc\n", [Block("a", 1, "command"), Block("b\nc", 3, "command")]),
        ("\ufeff# a\n \t \n# b", [Block("# a", 1, "heading"), Block("# b", 3, "heading")]),
        ("a\f\u2028b\n", [Block("a\f\u2028b", 1, "command")]),
        ("cat <<E\nx\nE\n", [Block("cat <<E\nx\nE", 1, "command")]),
        ("cat <<-'E'\nx\n\tE\n", [Block("cat <<-'E'\nx\n\tE", 1, "command")]),
        ("cat <<E\nx\n\ny\nE\n", [Block("cat <<E\nx", 1, "command", "E"), Block("y\nE", 4, "command")]),
        ("a $((1 << 2)) <<<b\n", [Block("a $((1 << 2)) <<<b", 1, "command")]),
        ("# see <<E\nls\n", [Block("# see <<E\nls", 1, "command")]),
    ],
)
def test_a_block_is_a_run_of_lines(text: str, found: list[Block]) -> None:
    assert blocks(text) == found
    assert [one.last for one in found] == [one.line + one.text.count("\n") for one in found]


def test_blocks_are_listed(project: Project, muster: Muster) -> None:
    done = muster("tutorial", "blocks", "tutorial.sh")
    assert done.lines == [
        "tutorial.sh:1: heading: #!/bin/sh (+1)",
        "tutorial.sh:4: command: # Make an agent (+2)",
        "tutorial.sh:8: command: # See it (+1)",
        "tutorial.sh:11: heading: # To be written",
    ]
    found = muster("tutorial", "blocks", "tutorial.sh", "--format", "json").json
    assert found[2] == {"line": 8, "last": 9, "kind": "command", "text": "# See it\nmuster list", "cut": ""}
    assert [json.loads(one) for one in muster("tutorial", "blocks", "tutorial.sh", "--format", "jsonl").lines] == found
    alone = project.python("-m", "muster_testkit", "tutorial", "blocks", "tutorial.sh")
    assert alone.out.splitlines() == done.lines


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "`t.sh` is empty: it has no block"),
        (b" \n\n", "`t.sh` is empty: it has no block"),
        (b"\x89PNG\r\n", "`t.sh` is not a text in UTF-8: line 1 has the byte 0x89"),
        (b"ls\n\xc3(", "`t.sh` is not a text in UTF-8: line 2 has the byte 0xc3"),
        (b"ls\n\0\n", "`t.sh` is no text: line 2 has a zero byte"),
        (None, "there is no file `t.sh`"),
    ],
)
@pytest.mark.parametrize("words", [("blocks", "t.sh"), ("check", "t.sh", "tests")])
def test_a_tutorial_that_is_none_is_an_error(
    project: Project, muster: Muster, data: bytes | None, message: str, words: tuple[str, ...]
) -> None:
    if data is not None:
        project.write("t.sh", data)
    done = muster("tutorial", *words, check=False)
    assert (done.code, done.out) == (2, "")
    assert f"error: {message}\n" in done.err
    alone = project.python("-m", "muster_testkit", "tutorial", *words)
    assert alone.code == 2
    assert f"error: {message}\n" in alone.out


def test_a_folder_is_no_tutorial(project: Project, muster: Muster) -> None:
    done = muster("tutorial", "blocks", "tests", check=False)
    assert (done.code, done.err) == (2, "error: `tests` can't be read: Is a directory\n")


def test_a_tutorial_can_not_touch_the_screen(project: Project, muster: Muster) -> None:
    project.write("t.sh", "echo \x1b]0;gotcha\x07\n")
    assert "\x1b" not in muster("tutorial", "blocks", "t.sh").out
    assert "\x1b" not in muster("tutorial", "check", "t.sh", "tests", check=False).out
    assert "\x1b" not in project.python("-m", "muster_testkit", "tutorial", "blocks", "t.sh").out


# --- citations


def test_what_agrees_passes(project: Project, muster: Muster) -> None:
    done = muster("tutorial", "check", "tutorial.sh", "tests")
    assert done.out == "2 of 2 blocks with commands are cited, 2 citations in 1 test file\n"
    report = muster("tutorial", "check", "tutorial.sh", "tests", "--format", "json").json
    assert report["ok"] is True
    assert [[one["test"] for one in block["cited_by"]] for block in report["blocks"]] == [
        [],
        ["TestMaking::test_create"],
        ["test_list"],
        [],
    ]
    assert report["blocks"][1]["cited_by"][0]["line"] == 3
    assert muster("tutorial", "check", "tutorial.sh", "tests", "--format", "jsonl").out == ""


def test_a_block_without_a_test_is_named(project: Project, muster: Muster) -> None:
    project.write("tutorial.sh", TUTORIAL + "\n# More\nmuster destroy fix\n")
    done = muster("tutorial", "check", "tutorial.sh", "tests", check=False)
    assert done.code == 1
    assert done.lines == [
        "tutorial.sh:13: no test cites this block: `muster destroy fix`",
        "2 of 3 blocks with commands are cited, 2 citations in 1 test file",
    ]
    [problem] = muster("tutorial", "check", "tutorial.sh", "tests", "--format", "jsonl", check=False).lines
    found = json.loads(problem)
    assert (found["kind"], found["file"], found["line"]) == ("uncited", "tutorial.sh", 13)


def test_a_citation_that_has_drifted_is_shown_beside_the_nearest_block(project: Project, muster: Muster) -> None:
    project.write("tutorial.sh", TUTORIAL.replace("--type scripted", "--type mechanic"))
    done = muster("tutorial", "check", "tutorial.sh", "tests", check=False)
    assert done.code == 1
    place = "tests/test_it.py:3: this citation is no block of `tutorial.sh`; the nearest is at tutorial.sh:4"
    at = done.lines.index(place)
    assert done.lines[at + 1 : at + 7] == [
        "    --- tutorial",
        "    +++ test",
        "     # Make an agent",
        "     muster create fix \\",
        "    -  --type mechanic",
        "    +  --type scripted",
    ]
    assert "tutorial.sh:4: no test cites this block: `muster create fix \\`" in done.lines
    alone = project.python("-m", "muster_testkit", "tutorial", "check", "tutorial.sh", "tests")
    assert (alone.code, alone.out) == (1, done.out)


def test_all_forms_of_a_citation(project: Project, muster: Muster) -> None:
    project.write("tutorial.sh", "a\n\nb 'c'\n\ncat <<E\n\n\nE\n\nd\n\ne\n\nf\n\ng\n")
    project.write(
        "test_forms.py",
        '''
        from x import write_tutorial_block
        def helper(e2e):
            write_tutorial_block("a")
        def test_it(e2e):
            e2e.write_tutorial_block(text="b 'c'")
            if e2e:
                e2e.session.write_tutorial_block(f"""
                    cat <<E

                    E
                """)
            e2e.write_tutorial_block("d\\n\\n" "e")
            e2e.write_tutorial_block(TEXT)
            e2e.write_tutorial_block(f"a {e2e}")
            e2e.write_tutorial_block("  ")
            e2e.write_tutorial_block("nothing of the kind")
            def inner():
                """Tutorial block:
                    f
                """
        class TestClass:
            """All of these.

            Tutorial block:

                g

            Tutorial block:
                a
            """
        ''',
    )
    done = muster("tutorial", "check", "tutorial.sh", "test_forms.py", check=False)
    assert done.code == 1
    unchecked = "not checked: only a plain string can be read without a run"
    assert done.lines == [
        "tutorial.sh:5: note: the here-document `E` is cut off by an empty line, which always ends a block",
        "test_forms.py:16: this cites no block: its text is empty",
        "test_forms.py:17: no block of `tutorial.sh` is like this citation",
        f"test_forms.py:14: note: {unchecked}",
        f"test_forms.py:15: note: {unchecked}",
        "8 of 8 blocks with commands are cited, 9 citations in 1 test file",
    ]


def test_notes_alone_fail_nothing(project: Project, muster: Muster) -> None:
    project.write("tests/test_more.py", "def test_it(e2e):\n    e2e.write_tutorial_block(f'{1}')\n")
    done = muster("tutorial", "check", "tutorial.sh", "tests")
    assert done.lines[0].startswith("tests/test_more.py:2: note: not checked")


@pytest.mark.parametrize(
    ("source", "place"),
    [
        (b"def test_it(:\n", "tests/test_bad.py:1: not read, for a syntax error: "),
        (b"x = 1\n  y = 2\n", "tests/test_bad.py:2: not read, for a syntax error: unexpected indent"),
        (b"# \xff\n", "tests/test_bad.py:1: `tests/test_bad.py` is not a text in UTF-8"),
        (b"x = 1\0\n", "tests/test_bad.py:1: `tests/test_bad.py` is no text"),
        (b"(" * 5_000, "tests/test_bad.py:1: not read"),
    ],
)
def test_a_test_file_that_can_not_be_read_is_named_and_the_rest_checked(
    project: Project, muster: Muster, source: bytes, place: str
) -> None:
    project.write("tests/test_bad.py", source)
    project.write("tutorial.sh", TUTORIAL + "\nmuster why\n")
    done = muster("tutorial", "check", "tutorial.sh", "tests", check=False)
    assert done.code == 1
    assert done.lines[0].startswith("tutorial.sh:13: no test cites")
    assert done.lines[1].startswith(place)
    assert done.lines[2] == "2 of 3 blocks with commands are cited, 2 citations in 2 test files"


def test_folders_are_searched_as_pytest_does(project: Project, muster: Muster) -> None:
    project.write("tests/deep/it_test.py", "")
    project.write("tests/.venv/test_not.py", "(")
    project.write("tests/__pycache__/test_not.py", "(")
    project.write("tests/other.py", "(")
    assert muster("tutorial", "check", "tutorial.sh", "tests", "tests/test_it.py").out.endswith("in 2 test files\n")
    for word, message in (("nowhere", "there is no file or folder `nowhere`"), ("empty", "no test file in `empty`")):
        (project.folder / "empty").mkdir(exist_ok=True)
        done = muster("tutorial", "check", "tutorial.sh", word, check=False)
        assert done.code == 2
        assert f"error: {message}\n" in done.err


def test_carriage_returns_make_no_difference(project: Project, muster: Muster) -> None:
    project.write("tutorial.sh", TUTORIAL.replace("\n", "\r\n"))
    project.write("tests/test_it.py", TESTS.replace("\n", "\r\n"))
    assert muster("tutorial", "check", "tutorial.sh", "tests").code == 0


# --- speed: its cause, not its seconds


@pytest.fixture
def comparisons() -> Iterator[list[int]]:
    """How often texts were compared piece by piece, counted by the interpreter."""
    found = [0]
    code = difflib.SequenceMatcher.ratio.__code__

    def look(frame: object, event: str, _: object) -> None:
        if event == "call" and getattr(frame, "f_code", None) is code:
            found[0] += 1

    before = sys.getprofile()
    sys.setprofile(look)
    yield found
    sys.setprofile(before)


def many(folder: Path, drifted: int) -> None:
    texts = [f"# Step {n}\nmuster create agent-{n}\nmuster wait agent-{n} --for done" for n in range(300)]
    (folder / "tutorial.sh").write_text("\n\n".join(texts))
    lines = []
    for number, text in enumerate(texts):
        shown = text.replace("--for", "--until") if number < drifted else text
        lines.append(f'def test_{number}(e2e):\n    e2e.write_tutorial_block("""\n{indent(shown, "    ")}\n    """)\n')
    (folder / "test_many.py").write_text(dedent("\n".join(lines)))


def test_only_what_has_drifted_is_compared_and_with_few(tmp_path: Path, comparisons: list[int]) -> None:
    many(tmp_path, drifted=0)
    report = check(str(tmp_path / "tutorial.sh"), [str(tmp_path)])
    assert (report.ok, comparisons[0]) == (True, 0)
    many(tmp_path, drifted=20)
    report = check(str(tmp_path / "tutorial.sh"), [str(tmp_path)])
    unknown = [one for one in report.problems if one.kind == "unknown"]
    assert len(unknown) == 20
    assert 20 <= comparisons[0] <= 20 * 5
    assert unknown[7].message.endswith(f"tutorial.sh:{7 * 4 + 1}")
