"""The test kit's own commands: a tutorial of one's own, its tests, and the page of what they leave."""

from __future__ import annotations

import re
import urllib.request
from pathlib import Path

import pytest

from muster_testkit import E2eSession, expect

TUTORIAL = "# Sums\n\n# add two numbers\nexpr 2 + 2\n"


@pytest.fixture
def sums(user: E2eSession, calc: Path) -> Path:
    """A project with a tutorial of its own."""
    made = user.run(
        user.write_tutorial_block(r"""
        # a tutorial for another program, and a test that shows its only block
        mkdir tests
        printf '# Sums\n\n# add two numbers\nexpr 2 + 2\n' >tutorial.sh
        cat >tests/test_sums.py <<'END'
        def test_two(e2e):
            block = e2e.write_tutorial_block("# add two numbers\nexpr 2 + 2")
            assert e2e.run(block).stdout == "4\n"
        END
        git add . && git commit --quiet -m 'A tutorial'
        """)
    )
    expect(made).to_succeed()
    assert (calc / "tutorial.sh").read_text() == TUTORIAL
    return calc


def test_a_tutorial_and_its_tests(e2e: E2eSession, sums: Path) -> None:
    listed = e2e.run(
        e2e.write_tutorial_block("""
        # a tutorial such as this one is made of blocks
        muster tutorial blocks tutorial.sh
        """)
    )
    expect(listed).to_succeed().stdout.to_have_line("tutorial.sh:3: command: # add two numbers (+1)")
    checked = e2e.run(
        e2e.write_tutorial_block("""
        # is every block shown by a test, and every citation in the tests still a block? no test is run
        muster tutorial check tutorial.sh tests
        """)
    )
    expect(checked).to_succeed().stdout.to_contain("1 of 1 blocks with commands are cited")
    assert not (sums / ".muster").exists()
    problems = e2e.write_tutorial_block("""
    # jump from one problem to the next in an editor, or read them in a program
    muster tutorial check tutorial.sh tests --format jsonl
    """)
    expect(e2e.run(problems)).to_succeed().stdout.to_be_empty()
    e2e.write_file("tutorial.sh", TUTORIAL.replace("2 + 2", "2 + 3") + "\nexpr 4 - 1\n")
    drifted = e2e.run(problems)
    expect(drifted).to_have_exit_code(1).stdout.to_contain('"kind":"uncited"', '"kind":"unknown"', "+expr 2 + 2")
    e2e.write_file("tests/test_broken.py", "def test_it(:\n")
    expect(e2e.run("muster tutorial check tutorial.sh tests")).to_have_exit_code(1).stdout.to_match(
        r"^tests/test_broken.py:1: not read, for a syntax error"
    )
    for words in ("check nothing.sh tests", "check tutorial.sh nowhere", "check tutorial.sh", "blocks tests"):
        expect(e2e.run(f"muster tutorial {words}")).to_have_exit_code(2).stderr.to_contain("rror: ")


def test_the_page_of_what_tests_leave(e2e: E2eSession, sums: Path) -> None:
    expect(e2e.run("muster artifacts", comment="before any test has run")).to_have_exit_code(3)
    ran = e2e.run(
        e2e.write_tutorial_block("""
        # run the tests: each leaves a transcript and its recordings in `.muster/artifacts`
        python3 -m pytest -q tests
        """)
    )
    expect(ran).to_succeed().stdout.to_contain("1 passed")
    [transcript] = (sums / ".muster" / "artifacts" / "latest").glob("*test_two*/transcript.txt")
    assert transcript.read_text() == "# add two numbers\n$ expr 2 + 2\n  4\n? 0\n"
    page = e2e.run(
        e2e.write_tutorial_block("""
        # a page of what they have left: transcripts, recordings, and the tutorial's coverage
        muster artifacts --tutorial tutorial.sh
        """)
    )
    expect(page).to_succeed().stdout.to_contain("1 passed")
    expect(sums / ".muster" / "artifacts" / "index.html").to_exist().to_contain("test_two", "add two numbers")
    e2e.write_tutorial_block("""
    # the same, live, while tests run, until ^C
    muster artifacts --tutorial tutorial.sh --serve
    """)
    # Without a shell between, whose exit code this would be after a ^C.
    with e2e.terminal(["muster", "artifacts", "--tutorial", "tutorial.sh", "--serve"]) as terminal:
        terminal.wait_for(re.compile(r"http://\S+ until"))
        [url] = re.findall(r"http://\S+", terminal.screen)
        assert url.startswith("http://127.0.0.1:")
        with urllib.request.urlopen(f"{url}index", timeout=10) as answer:
            assert b"test_two" in answer.read()
        terminal.press("ctrl-c")
        assert terminal.exit() == 0
    expect(e2e.run("muster artifacts --tutorial nothing.sh")).to_fail().stderr.to_contain("nothing.sh")
    expect(e2e.run("muster artifacts --serve --out page.html")).to_have_exit_code(2)
