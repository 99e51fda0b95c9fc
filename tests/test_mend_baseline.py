"""How the tests of a project stand: what fails is run again, alone and in another order."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from muster.core import wire
from muster.mend import Attempt, Case, environment
from muster.mend import project as projects
from muster.mend.baseline import Baseline, Run, baseline, judged
from muster.mend.causes import groups
from muster.mend.collect import Collection, collect
from muster.mend.layout import of_collection
from sample_projects import git, project


def stand(tmp_path: Path, files: Mapping[str, str], **wishes: Any) -> tuple[Collection, Baseline]:
    """The baseline of a project with these files."""
    top = project(tmp_path / "p", files)
    subject = projects.find(str(top), sys.executable)
    below = str(tmp_path / "clean")
    with environment.at(subject, "HEAD", below) as made:
        found = collect(made)
    result = baseline(subject, "HEAD", found.cases, below=below, layout=found.layout, **({"timeout": 20.0} | wishes))
    assert not list(Path(below).iterdir()), "the checkouts are gone"
    assert [one.id for one in result.stands] == [case.id for case in found.cases]
    return found, result


def named(result: Baseline) -> dict[str, str]:
    return {one.id.rpartition("::")[2]: one.standing for one in result.stands}


def test_how_each_test_stands(tmp_path: Path) -> None:
    source = """
        import pytest
        from sample import double

        @pytest.fixture
        def broken(): raise LookupError("gone")

        def test_passing(): assert double(1) == 2
        def test_failing(): assert double(2) == 5
        def test_erroring(broken): pass
        def test_skipped(): pytest.skip("not here")
        @pytest.mark.xfail
        def test_known(): assert 0
    """
    files = {"sample.py": "def double(n): return 2 * n", "test_a.py": source, "test_b.py": "import nothing_there"}
    found, result = stand(tmp_path, files)
    assert named(result) == {
        "test_passing": "passing",
        "test_failing": "failing",
        "test_erroring": "erroring",
        "test_skipped": "skipped",
        "test_known": "passing",
        "test_b.py": "erroring",
    }
    assert result.commit == git(tmp_path / "p", "rev-parse", "HEAD")
    by_id = {one.id: one for one in result.stands}
    assert [run.how for run in by_id["test_a.py::test_failing"].runs] == ["suite", "alone", "alone", "reversed"]
    assert [run.how for run in by_id["test_a.py::test_passing"].runs] == ["suite", "reversed"]
    failures = [one.failure for one in result.stands if one.failure]
    assert [group.title for group in groups(failures, of_collection(found.cases).is_test)] == [
        "LookupError: gone (test_a.py:6 in broken)",
        "AssertionError: assert 4 == 5 (test_a.py:9 in test_failing)",
        "ModuleNotFoundError: No module named 'nothing_there' (test_b.py:1 in <module>)",
    ]
    assert wire.decode(msgspec.json.encode(result), Baseline) == result


def test_a_slow_test_is_slow_beside_the_others() -> None:
    times = {"a": 0.1, "b": 0.2, "c": 0.3, "d": 1.9, "e": 2.1}
    result = judged("0" * 40, {one: [Run("suite", Attempt(one, "passed", seconds))] for one, seconds in times.items()})
    assert result.median == 0.3 and not any(one.slow for one in result.stands)
    times |= {"f": 3.2, "g": 0.2}
    result = judged("0" * 40, {one: [Run("suite", Attempt(one, "passed", seconds))] for one, seconds in times.items()})
    assert [one.id for one in result.stands if one.slow] == ["f"]
    quick = judged(
        "0" * 40,
        {one: [Run("suite", Attempt(one, "passed", 0.001))] for one in "abc"}
        | {"d": [Run("suite", Attempt("d", "passed", 0.9))]},
    )
    assert not any(one.slow for one in quick.stands), "nobody notices"


def test_a_flaky_test_is_known_by_its_runs(tmp_path: Path) -> None:
    counter = tmp_path / "count"
    source = f"""
        from pathlib import Path
        def test_flaky():
            path = Path({str(counter)!r})
            count = int(path.read_text()) if path.exists() else 0
            path.write_text(str(count + 1))
            assert count % 2
        def test_solid(): pass
    """
    _, result = stand(tmp_path, {"test_a.py": source}, repeats=3)
    flaky, solid = result.stands
    assert (flaky.standing, solid.standing) == ("flaky", "passing")
    assert [run.attempt.green for run in flaky.runs] == [False, True, False, True, False]
    assert (flaky.evidence, flaky.order_dependent) == ("2 of 5 runs green", False)
    assert [bool(run.attempt.text) for run in flaky.runs] == [True, False, False, False, False], "it is kept once"


def test_a_test_that_needs_a_lucky_order_of_hashes_is_flaky(tmp_path: Path) -> None:
    source = "import os\ndef test_a(): assert os.environ['PYTHONHASHSEED'] != '0'"
    _, result = stand(tmp_path, {"test_a.py": source})
    assert named(result) == {"test_a": "flaky"}
    assert not result.stands[0].order_dependent, "it is as red alone, in the same order of hashes"


def test_a_test_that_another_one_spoils_depends_on_the_order(tmp_path: Path) -> None:
    source = """
        STATE = []
        def test_first(): STATE.append(1)
        def test_second(): assert not STATE
        def test_third(): pass
    """
    _, result = stand(tmp_path, {"test_a.py": source})
    assert named(result) == {"test_first": "passing", "test_second": "flaky", "test_third": "passing"}
    second = result.stands[1]
    assert second.order_dependent and second.evidence == "4 of 5 runs green, depends on the order"


def test_a_test_that_needs_another_one_depends_on_the_order(tmp_path: Path) -> None:
    files = {
        "state.py": "STATE = []",
        "test_a.py": "from state import STATE\ndef test_first(): STATE.append(1)\ndef test_red(): assert 0",
        "test_b.py": "from state import STATE\ndef test_second(): assert STATE",
    }
    _, result = stand(tmp_path / "one", files)
    assert named(result) == {"test_first": "passing", "test_red": "failing", "test_second": "flaky"}
    assert result.stands[2].order_dependent
    # Split over two processes it fails at first; in one and in order it does not.
    _, result = stand(tmp_path / "two", files, jobs=2)
    assert named(result) == {"test_first": "passing", "test_red": "failing", "test_second": "flaky"}
    assert result.stands[2].order_dependent
    assert {run.how: run.attempt.green for run in result.stands[2].runs} == {
        "suite": False,
        "alone": False,
        "reversed": False,
        "in-order": True,
    }


def test_what_hangs_or_crashes_is_failing_and_costs_little(tmp_path: Path) -> None:
    source = """
        import os, signal, time
        def test_hangs(): time.sleep(1000)
        def test_dies(): os.kill(os.getpid(), signal.SIGSEGV)
        def test_lives(): pass
    """
    _, result = stand(tmp_path, {"test_a.py": source}, timeout=1.5, repeats=2)
    hangs, dies, _ = result.stands
    assert named(result) == {"test_hangs": "failing", "test_dies": "failing", "test_lives": "passing"}
    assert [(run.how, run.attempt.ending) for run in hangs.runs] == [("suite", "timed-out"), ("alone", "timed-out")]
    assert [run.attempt.ending for run in dies.runs] == ["crashed"] * 3


def test_what_one_run_leaves_behind_the_next_does_not_find(tmp_path: Path) -> None:
    source = """
        from pathlib import Path
        HERE = Path(__file__).parent
        def test_leaves():
            assert not (HERE / "left").exists() and (HERE / "data").read_text() == "as committed"
            (HERE / "left").touch()
            (HERE / "data").write_text("changed")
        def test_red(): assert 0
    """
    _, result = stand(tmp_path, {"test_a.py": source, "data": "as committed"})
    assert named(result) == {"test_leaves": "passing", "test_red": "failing"}
    assert git(tmp_path / "p", "status", "--porcelain") == ""


@pytest.mark.parametrize(("jobs", "processes"), [(1, 1), (2, 2)])
def test_a_suite_that_passes_is_run_once_in_as_many_processes_as_jobs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jobs: int, processes: int
) -> None:
    monkeypatch.setenv("PIDS", str(tmp_path / "pids"))
    lines = [f"def test_{n}(): open(os.environ['PIDS'], 'a').write(f'{{os.getpid()}}\\n')" for n in range(50)]
    files = {f"test_{n}.py": "\n".join(["import os", *lines]) for n in range(6)}
    _, result = stand(tmp_path, files, jobs=jobs)
    assert len(result.of("passing")) == 300
    pids = (tmp_path / "pids").read_text().split()
    assert len(pids) == 300 and len(set(pids)) == processes


def test_nothing_to_run(tmp_path: Path) -> None:
    top = project(tmp_path / "p", {"a.txt": ""})
    subject = projects.find(str(top), sys.executable)
    cases: list[Case] = []
    with environment.at(subject, "HEAD", str(tmp_path / "clean")) as made:
        found = collect(made)
    assert found.cases == ()
    result = baseline(subject, "HEAD", cases, below=str(tmp_path / "clean"), layout=found.layout)
    assert result.stands == () and result.commit
