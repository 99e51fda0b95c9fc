"""The test kit runs commands: in a home of their own, to their end, and nothing outlives them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kit import Project, gone, transcript


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_the_test_of_the_issue_runs_as_it_stands(project: Project) -> None:
    folder = project.passes('''
        def test_help_succeeds(e2e: E2eSession) -> None:
            e2e.write_tutorial_block("""
            # or see the other commands--list, destroy, message, connect, push, pull, clone, and more!
            muster --help
            """)
            result = e2e.run("muster --help", comment="or see the other commands")
            expect(result).to_succeed()
            expect(result.stdout).to_contain("Usage")
    ''')
    lines = transcript(folder).splitlines()
    assert lines[:2] == ["# or see the other commands", "$ muster --help"]
    assert lines[2].startswith("  Usage: muster")
    assert lines[-1] == "? 0"


def test_a_block_can_be_run_as_it_is(project: Project) -> None:
    folder = project.passes('''
        def test_it(e2e):
            block = e2e.write_tutorial_block("""
                # say hello,
                #   twice
                echo hello # here
                # and again
                echo hello

                # then stop
                echo stop
            """)
            assert e2e.run(block).stdout == "hello\\nhello\\nstop\\n"
            assert e2e.run("# nothing\\ntrue", comment="#1 counts").exit_code == 0
    ''')
    assert transcript(folder).splitlines() == [
        "# say hello,",
        "# twice",
        "$ echo hello # here",
        "$ # and again",
        "$ echo hello",
        "$ ",
        "$ # then stop",
        "$ echo stop",
        "  hello",
        "  hello",
        "  stop",
        "? 0",
        "# #1 counts",
        "$ # nothing",
        "$ true",
        "? 0",
    ]


def test_a_command_knows_nothing_of_the_user(project: Project) -> None:
    project.passes(
        """
        def test_it(e2e):
            env = dict(line.split("=", 1) for line in e2e.run(["env"]).stdout.splitlines())
            assert "SECRET" not in env
            assert env["HOME"] == str(e2e.home) != os.environ["HOME"]
            assert env["LANG"] == "C.UTF-8"
            assert os.listdir(e2e.home) == []
            assert e2e.run("pwd").stdout == f"{e2e.cwd}\\n"
            e2e.env["KEPT"] = "1"
            seen = e2e.run('echo "$KEPT-$ONE-${LANG-none}"', env={"ONE": "2", "LANG": None}).stdout
            assert seen == "1-2-none\\n"
            # A unix socket's path may have 100 bytes.
            assert len(str(e2e.home)) < 40
            (e2e.cwd / "below").mkdir()
            assert e2e.run("pwd", cwd="below").stdout == f"{e2e.cwd}/below\\n"
            assert not sys.stdin.isatty() and e2e.run("cat").stdout == ""
        """,
        SECRET="1",
    )


def test_streams_are_apart_and_in_order_of_arrival(project: Project) -> None:
    folder = project.passes("""
        def test_it(e2e):
            # Each waits until what came before it is in the transcript.
            e2e.write_file("after", f"until grep -q \\"$1\\" '{e2e.artifacts}/transcript.txt'; do sleep .01; done")
            e2e.write_file("say", "printf one; sh after '^  o'; echo two >&2; sh after '^! t'; echo three; "
                                  "sh after '^  t'; printf end >&2; exit 3")
            done = e2e.run("sh say", comment="several\\nlines")
            assert (done.stdout, done.stderr, done.exit_code) == ("onethree\\n", "two\\nend", 3)
            assert done.stdout_bytes == b"onethree\\n" and 0 < done.duration < 60
            e2e.run("echo a\\necho b")
    """)
    expected = "# several\n# lines\n$ sh say\n  one\n! two\n  three\n! end\n? 3\n"
    expected += "$ echo a\n$ echo b\n  a\n  b\n? 0\n"
    assert transcript(folder) == expected


def test_what_is_not_text_is_kept_as_bytes(project: Project) -> None:
    folder = project.passes("""
        def test_it(e2e):
            done = e2e.run("cat", stdin=b"\\xff\\xfe\\0 \\xc3\\xa9\\r\\n\\x1b[31m")
            assert done.stdout_bytes == b"\\xff\\xfe\\0 \\xc3\\xa9\\r\\n\\x1b[31m"
            assert done.stdout == "\\ufffd\\ufffd\\0 é\\r\\n\\x1b[31m"
            assert e2e.run("cat", stdin="é").stdout_bytes == "é".encode()
            # A character whose bytes arrive apart.
            assert e2e.run("printf '\\\\303'; sleep .1; printf '\\\\251'").stdout == "é"
    """)
    text = (folder / "transcript.txt").read_bytes().decode()
    assert "  \ufffd\ufffd\0 é\r\n  \x1b[31m\n" in text
    assert text.endswith("  é\n? 0\n")


def test_input_that_nobody_reads_and_much_that_somebody_does(project: Project) -> None:
    project.passes("""
        def test_it(e2e):
            assert e2e.run("true", stdin="x" * 3_000_000).exit_code == 0
            assert len(e2e.run("cat", stdin="x" * 3_000_000).stdout) == 3_000_000
            assert e2e.run("exec <&-; sleep .1; echo on", stdin="x" * 3_000_000).stdout == "on\\n"
    """)


def test_when_its_time_is_up_nothing_of_it_is_left(project: Project) -> None:
    folder = project.passes("""
        def test_it(e2e):
            # A child, one in a session of its own, one whose parent is gone, and one that doesn't want to go.
            e2e.write_file("fork.sh", '''
                sleep 300 & echo $! >>pids
                setsid sh -c 'echo $$ >>pids; exec sleep 300' &
                (setsid sh -c 'echo $$ >>pids; exec sleep 300' &)
                sh -c 'trap "" TERM HUP; echo $$ >>pids; while :; do sleep 1; done' &
                sleep 300
            ''')
            kept = e2e.run("setsid sleep 300 >/dev/null 2>&1 & echo $!")
            done = e2e.run("echo begun; sh fork.sh", timeout=3)
            expect(done).to_time_out()
            assert (done.timed_out, done.exit_code, done.stdout) == (True, 124, "begun\\n")
            pids = (e2e.cwd / "pids").read_text().split()
            assert len(pids) == 4
            assert all(map(gone, pids))
            assert not gone(int(kept.stdout))
            with pytest.raises(AssertionError, match="time was up"):
                expect(done).to_fail()
            Path("left").write_text(kept.stdout)
    """)
    lines = transcript(folder).splitlines()
    assert "# its time of 3 s was up, so it was ended" in lines
    assert "? 124" in lines
    # What was left in the background on purpose ends with the test.
    assert lines[-1] == "# still running at the end of the test, so it was ended: sleep 300"
    assert gone((project.folder / "left").read_text().strip())


def test_what_goes_on_in_the_background_is_not_waited_for(project: Project) -> None:
    project.passes("""
        def test_it(e2e):
            assert e2e.run("sleep 300 & echo on", timeout=30).stdout == "on\\n"
    """)


def test_fifty_megabytes_are_kept_and_cut_in_the_transcript(project: Project) -> None:
    folder = project.passes("""
        def test_it(e2e):
            done = e2e.run("echo first; yes 0123456789abcde | head -c 52428800; echo last; echo and this >&2")
            assert len(done.stdout_bytes) == 52_428_800 + 11
            assert done.stdout.endswith("last\\n") and done.left_out == 0
            with pytest.raises(AssertionError) as caught:
                expect(done.stdout).to_contain("0123456789abcdf")
            assert len(str(caught.value)) < 20_000
            assert "lines are left out here" in str(caught.value)
            with pytest.raises(AssertionError):
                expect(done.stdout).to_equal(done.stdout + "x")
    """)
    text = transcript(folder)
    assert 200_000 < len(text) < 300_000
    assert text.splitlines()[1] == "  first"
    assert [line for line in text.splitlines() if line.startswith("#")] == [
        "# 52,228,820 characters of output are left out here"
    ]
    assert "  last\n" in text
    assert "! and this\n" in text


def test_signals_and_programs_that_are_not_there(project: Project) -> None:
    project.passes("""
        def test_it(e2e):
            killed = e2e.run("kill -9 $$")
            assert (killed.exit_code, killed.signal) == (137, 9)
            with pytest.raises(AssertionError, match="ended by signal 9"):
                expect(killed).to_fail()
            expect(killed).to_have_exit_code(137)
            for cmd in (["no-such-program"], "no-such-program"):
                done = e2e.run(cmd)
                assert done.exit_code == 127 and "no-such-program" in done.stderr
                with pytest.raises(AssertionError, match="to fail by itself"):
                    expect(done).to_fail()
            e2e.write_file("plain.txt", "text")
            assert e2e.run(["./plain.txt"]).exit_code == 126
            tool = e2e.write_file("bin/tool", "#!/bin/sh\\necho \\"$1\\"\\n", mode=0o755)
            assert e2e.run([tool, "a  b; c"]).stdout == "a  b; c\\n"
    """)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("run('  ')", "there is no command"),
        ("run([])", "there is no command"),
        ("run('ls', cwd='nowhere')", "there is no folder `.*/nowhere`"),
        ("run('ls\\0')", "this can't be run: embedded null byte"),
        ("run('ls', timeout=0)", "a time limit of 0 s"),
        ("terminal('ls', cwd='nowhere')", "there is no folder `.*/nowhere`"),
        ("terminal('ls', cols=0)", "can't have 0 columns"),
        ("write_tutorial_block('  ')", "cites? no block|citation of no block"),
    ],
)
def test_what_can_not_be_done_is_said(project: Project, call: str, message: str) -> None:
    project.passes(f"""
        def test_it(e2e):
            with pytest.raises(KitError, match={message!r}):
                e2e.{call}
    """)


def test_an_interrupted_test_leaves_no_process(project: Project) -> None:
    folder = project.folder
    out = project.fails(
        """
        def test_it(e2e):
            e2e.run("echo $$ >" + os.environ["OUT"] + "; echo said; exec sleep 300")
        """.replace('os.environ["OUT"]', repr(str(folder / "pid"))),
        "--timeout=3",
    )
    assert "Timeout (>3.0s)" in out
    assert gone((folder / "pid").read_text().strip())
    [left] = project.folders()
    assert transcript(left).endswith("  said\n# interrupted: Failed\n")


def test_folders_that_nobody_may_write_are_removed(project: Project) -> None:
    project.passes("""
        def test_it(e2e):
            e2e.write_file("a/b/c", "x")
            (e2e.cwd / "a" / "b").chmod(0o500)
            (e2e.cwd / "a").chmod(0)
            os.symlink("/nowhere", e2e.cwd / "link")
            Path("where").write_text(str(e2e.home.parent))
    """)
    assert not os.path.lexists((project.folder / "where").read_text())
