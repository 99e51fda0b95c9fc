"""The test kit leaves a folder per test, whatever becomes of the test."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from kit import Project, gone, meta, transcript

WAYS_TO_END = """
    def test_passed(e2e): e2e.run("echo on")
    def test_failed(e2e): assert e2e.run("echo on").stdout == "off"
    @pytest.fixture
    def broken(e2e): raise ValueError("no luck")
    def test_setup(e2e, broken): ...
    @pytest.fixture
    def late(e2e):
        yield
        raise ValueError("no luck at last")
    def test_teardown(e2e, late): ...
    def test_skipped(e2e): pytest.skip("not today")
    @pytest.mark.xfail(reason="known")
    def test_xfailed(e2e): assert False
    @pytest.mark.xfail
    def test_xpassed(e2e): ...
    @pytest.mark.xfail(strict=True)
    def test_strict(e2e): ...
    @pytest.mark.timeout(0.3, func_only=True)
    def test_timed_out(e2e): time.sleep(60)
"""
ENDED = {
    "test_passed": "passed",
    "test_failed": "failed",
    "test_setup": "error",
    "test_teardown": "error",
    "test_skipped": "skipped",
    "test_xfailed": "xfailed",
    "test_xpassed": "xpassed",
    "test_strict": "failed",
    "test_timed_out": "timed-out",
}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


@pytest.mark.parametrize("words", [(), ("-n", "2")])
def test_every_end_is_told(project: Project, words: tuple[str, ...]) -> None:
    project.tests(WAYS_TO_END)
    ran = project.pytest(*words)
    assert ran.code == 1, ran.out
    assert project.outcomes() == ENDED
    said = {one["test"].rpartition("::")[2]: one["message"] for one in project.metas()}
    assert said["test_passed"] == ""
    assert "off" in said["test_failed"]
    assert "no luck" in said["test_setup"]
    assert "no luck at last" in said["test_teardown"]
    assert (said["test_skipped"], said["test_xfailed"]) == ("not today", "known")
    assert "Timeout (>0.3s)" in said["test_timed_out"]


def test_what_the_files_hold(project: Project) -> None:
    before = time.time()
    folder = project.passes('''
        def test_it(e2e: E2eSession) -> None:
            """Show something.

            Tutorial block:
                # in the docstring
                muster list

            And nothing more.
            """
            e2e.write_tutorial_block("""
                muster create fix
            """)
            e2e.write_tutorial_block("muster create fix")
            (e2e.artifacts / "mine.txt").write_text("kept")
    ''')
    found = meta(folder)
    assert found["schema"] == 1
    assert (found["test"], found["file"], found["line"]) == ("test_it.py::test_it", "test_it.py", 11)
    assert before <= found["started"] <= time.time()
    assert 0 < found["seconds"] < 60
    assert found["blocks"] == ["# in the docstring\nmuster list", "muster create fix"]
    assert (found["attempts"], found["recordings"], found["screens"]) == (1, [], [])
    assert (folder / "mine.txt").read_text() == "kept"
    run = json.loads((project.artifacts / "latest" / "run.json").read_text())
    assert (run["schema"], run["run"], run["root"]) == (1, "latest", str(project.folder))
    assert before <= run["started"] <= run["finished"] <= time.time()


@pytest.mark.parametrize("words", [(), ("-n", "3")])
def test_every_test_has_a_folder_of_its_own(project: Project, words: tuple[str, ...]) -> None:
    project.tests("""
        @pytest.mark.parametrize("value", ["a/b", "a-b", "../..", "ü", "x" * 300, "A", "a", ""])
        def test_values(e2e, value): e2e.run(["echo", value])
        class TestIt:
            def test_it(self, e2e): e2e.run("pwd")
            def test_values(self, e2e): e2e.run("pwd")
        class TestOther(TestIt): ...
    """)
    project.tests("def test_it(e2e): ...", "below/test_other.py")
    ran = project.pytest(*words)
    assert ran.code == 0, ran.out
    assert len(project.folders()) == 13
    assert len({one["test"] for one in project.metas()}) == 13
    assert set(project.outcomes().values()) == {"passed"}
    names = [one.name for one in project.folders()]
    assert all(name.isascii() and len(name) < 100 and "test_" in name for name in names)
    assert [name for name in names if name.startswith("below-test_other-test_it-")]
    [shown] = [one for one in project.folders() if meta(one)["test"].endswith("test_values[a/b]")]
    assert transcript(shown) == "$ echo a/b\n  a/b\n? 0\n"
    run = json.loads((project.artifacts / "latest" / "run.json").read_text())
    assert run["finished"] >= max(one["started"] for one in project.metas())


def test_retries_are_kept_apart(project: Project) -> None:
    project.tests("""
        def test_it(e2e):
            e2e.run("echo try >>" + str(Path("tries").resolve()))
            e2e.terminal("cat")
            assert len(Path("tries").read_text().split()) == 3
    """)
    argv = ["-m", "pytest", "-p", "no:cacheprovider", "--reruns", "4"]
    ran = project.python(*argv)
    assert ran.code == 0, ran.out
    [folder] = project.folders()
    assert (meta(folder)["outcome"], meta(folder)["attempts"]) == ("passed", 3)
    assert sorted(one.name for one in (folder / "attempts").iterdir()) == ["1", "2"]
    for number in (1, 2):
        before = meta(folder / "attempts" / str(number))
        assert (before["outcome"], before["attempts"]) == ("failed", number)
        assert (folder / "attempts" / str(number) / "transcript.txt").exists()
        assert (folder / "attempts" / str(number) / before["recordings"][0]["file"]).exists()
        assert (folder / "attempts" / str(number) / before["screens"][0]).exists()
    # The next run begins anew.
    (project.folder / "tries").write_text("two tries\n")
    assert project.python(*argv).code == 0
    assert meta(folder)["attempts"] == 1
    assert not (folder / "attempts").exists()


def test_runs_are_kept_apart_by_name(project: Project) -> None:
    project.tests("def test_one(e2e): e2e.run('pwd')\ndef test_other(e2e): ...")
    assert project.pytest("--muster-run", "first").code == 0
    assert project.pytest("--muster-run", "second", "-k", "test_one").code == 0
    assert (len(project.folders("first")), len(project.folders("second"))) == (2, 1)
    # What doesn't run again stays, what does is emptied.
    kept = project.folders("first")[0] / "kept"
    assert "test_one" in kept.parent.name
    kept.touch()
    assert project.pytest("--muster-run", "first", "-k", "test_other").code == 0
    assert kept.exists()
    assert project.pytest("--muster-run", "first", "-k", "test_one").code == 0
    assert not kept.exists()
    assert len(project.folders("first")) == 2


def test_the_place_can_be_chosen(project: Project) -> None:
    project.tests("def test_it(e2e): ...")
    assert project.pytest("--muster-artifacts", "here").code == 0
    (project.folder / "pytest.ini").write_text("[pytest]\nmuster_artifacts = there\n")
    assert project.pytest("-n", "1").code == 0
    assert project.pytest("--muster-artifacts", str(project.folder / "full")).code == 0
    assert len([*project.folder.glob("*/latest/*/meta.json")]) == 3
    assert not project.artifacts.exists()
    for name in ("../up", "", ".", "a/b"):
        ran = project.pytest("--muster-run", name)
        assert ran.code == 4
        assert f"`--muster-run {name}`: it must be the name of a folder" in ran.out


CRASHES = {
    "exit": "os._exit(3)",
    "kill": "os.kill(os.getpid(), signal.SIGKILL)",
    "fault": "import ctypes; ctypes.string_at(0)",
}


@pytest.mark.parametrize("how", CRASHES)
def test_a_crash_leaves_the_folder(project: Project, how: str) -> None:
    project.tests(f"""
        def test_crash(e2e):
            e2e.run("echo said; sleep 300 >/dev/null 2>&1 & echo $! >" + str(Path("pid").resolve()))
            Path("work").write_text(str(e2e.home.parent))
            Path("python").write_text(str(os.getpid()))
            {CRASHES[how]}
    """)
    assert project.pytest().code not in (0, 1)
    [folder] = project.folders()
    # Who reads it finds no such process.
    assert meta(folder)["outcome"] == "running"
    assert meta(folder)["pid"] == int((project.folder / "python").read_text())
    assert gone(meta(folder)["pid"])
    assert "  said\n" in transcript(folder)
    # The same test clears up when it runs again. Under xdist there is somebody left who can tell, and do it at once.
    works = [Path((project.folder / "work").read_text())]
    project.tests("def test_other(e2e): ...", "test_other.py")
    ran = project.pytest("-n", "2")
    assert ran.code == 1, ran.out
    assert project.outcomes() == {"test_crash": "crashed", "test_other": "passed"}
    assert "crashed while running" in meta(folder)["message"]
    assert gone((project.folder / "pid").read_text().strip())
    works.append(Path((project.folder / "work").read_text()))
    assert len({*works}) == 2
    assert not [one for one in works if one.exists()]


def test_only_our_own_folders_are_cleared(project: Project) -> None:
    project.tests("def test_it(e2e): ...")
    assert project.pytest().code == 0
    [folder] = project.folders()
    mine = project.folder / "e-12345678"
    mine.mkdir()
    for work in (mine, project.folder, "", "/tmp", "/tmp/../tmp/e-12345678"):
        (folder / "meta.json").write_text(json.dumps({"outcome": "running", "pid": 0x7FFFFFFF, "work": str(work)}))
        assert project.pytest().code == 0
        assert mine.is_dir()
        assert meta(folder)["outcome"] == "passed"


def test_a_crash_under_way_of_a_terminal_leaves_a_recording(project: Project) -> None:
    project.tests("""
        def test_crash(e2e):
            terminal = e2e.terminal("echo hello; cat")
            terminal.wait_for("hello")
            os._exit(1)
    """)
    project.pytest("-n", "1")
    [folder] = project.folders()
    [recording] = meta(folder)["recordings"]
    lines = [json.loads(line) for line in (folder / recording["file"]).read_text().splitlines()]
    assert "hello" in lines[1][2]


def test_the_time_limit_that_ends_python_is_a_crash(project: Project) -> None:
    project.tests("def test_it(e2e): time.sleep(60)")
    project.pytest("-n", "1", "--timeout=2", "--timeout-method=thread")
    assert project.outcomes() == {"test_it": "crashed"}


def test_an_interrupted_run_says_so(project: Project) -> None:
    project.tests("""
        def test_it(e2e):
            e2e.run("echo on")
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(60)
    """)
    # A run in the background of a shell ignores ^C, and so would pytest.
    program = "import signal, sys, pytest; signal.signal(signal.SIGINT, signal.default_int_handler); "
    program += "sys.exit(pytest.main(['-p', 'no:cacheprovider', '-p', 'no:rerunfailures']))"
    ran = project.python("-c", program)
    assert ran.code == 2, ran.out
    [found] = project.metas()
    assert (found["outcome"], found["message"]) == ("error", "interrupted")


def test_the_same_test_at_the_same_time_disturbs_nobody(project: Project) -> None:
    project.tests("def test_it(e2e):\n    e2e.run('sleep 0.5; echo on')")
    ran = project.pytest("-n", "2", "--dist", "each")
    assert ran.code == 0, ran.out
    assert [transcript(one) for one in project.folders()] == ["$ sleep 0.5; echo on\n  on\n? 0\n"] * 2
    assert [one["outcome"] for one in project.metas()] == ["passed"] * 2


def test_a_run_without_it_is_left_as_it_is(project: Project) -> None:
    project.write(
        "test_it.py",
        """
        import sys

        def test_it():
            known = {name for name in sys.modules if name.startswith(("muster", "pyte.", "wcwidth"))}
            assert known == {"muster_testkit", "muster_testkit.plugin"}
        """,
    )
    for words in ([], ["-n", "2"]):
        ran = project.pytest(*words)
        assert ran.code == 0, ran.out
    for source in ("def test_it(): assert False", "import os\ndef test_it(): os._exit(1)"):
        project.write("test_it.py", source)
        project.pytest("-n", "1")
    assert not (project.folder / ".muster").exists()
