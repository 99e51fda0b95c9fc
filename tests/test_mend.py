"""The pipeline as a whole: real agents, real pytest, real git, and every claim checked."""

from __future__ import annotations

import json
import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import Muster, program
from muster.fleet import Fleet

CALC = '''\
"""Small sums."""


def add(a: int, b: int) -> int:
    """The sum of both."""
    return a - b


def twice(a: int) -> int:
    """Two times that number."""
    return a * 2


def share(total: int, heads: int) -> int:
    """What each gets, and nothing for nobody."""
    return total // heads


def loud(text: str) -> str:
    """The text in capitals."""
    return text.lower()
'''
TESTS = {
    "test_add.py": "from calc import add\n\n\ndef test_add():\n    assert add(2, 2) == 4\n",
    "test_sum.py": "from calc import add\n\n\ndef test_sum():\n    assert add(2, 3) == 5\n",
    "test_twice.py": "from calc import twice\n\n\ndef test_twice():\n    assert twice(2) == 4\n",
    "test_share.py": "from calc import share\n\n\ndef test_share_nobody():\n    assert share(4, 0) == 0\n\n\n"
    "def test_share_none():\n    assert share(0, 0) == 0\n",
    "test_loud.py": "from calc import loud\n\n\ndef test_loud():\n    assert loud('a') == 'A'\n",
}
FIX_ADD = """
[[step]]
edit = "calc.py"
find = "a - b"
replace = "a + b"
[[step]]
commit = "Add instead of subtracting"
"""
DONE = '[[step]]\noutcome = { status = "done", summary = "as asked", changes = [{ kind = "impl", commit = "HEAD" }] }\n'


@pytest.fixture
def calc(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with faults, committed, as the current directory."""
    path = home.parent / "calc"
    (path / "tests").mkdir(parents=True)
    (path / "calc.py").write_text(CALC)
    (path / "pytest.ini").write_text("[pytest]\npythonpath = .\n")
    (path / ".gitignore").write_text("__pycache__/\n")
    for name, text in TESTS.items():
        (path / "tests" / name).write_text(text)
    monkeypatch.chdir(path)
    # What repeats are for is shown by the demo and by the tests of the baseline, which run with the default.
    monkeypatch.setenv("MUSTER_MEND_REPEATS", "1")
    git(path, "init", "--quiet")
    git(path, "add", ".")
    git(path, "commit", "--quiet", "--message", "Small sums")
    return path


def git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True, text=True).stdout.strip()


def types(home: Path, **scripts: str) -> None:
    """Agent types of the user's own, each with a script."""
    lines = []
    for name, script in scripts.items():
        path = home.parent / f"{name}.toml"
        path.write_text(script)
        lines.append(f'[types.{name}]\nparent = "scripted"\nargs = ["--script", "{path}"]\n')
    (home / "config.toml").write_text("".join(lines))


def mend(muster: Muster, *words: str, **more: Any) -> Any:
    """The report of a run, as a record."""
    done = muster("mend", "--name", "r", *words, check=False, **more)
    assert done.code in (0, 1), done.err + done.out
    return muster("report", "r", "--format", "json").json


def entries(report: Any) -> dict[str, Any]:
    return {entry["tests"][0]["id"].rpartition("::")[2]: entry for entry in report["entries"]}


def only(*names: str) -> tuple[str, ...]:
    return tuple(f"tests/{name}" for name in names)


# -- what holds --------------------------------------------------------------------------------------------------------


def test_a_fix_that_holds_is_on_the_branch_and_nothing_else_is_touched(
    calc: Path, home: Path, muster: Muster, fleet: Fleet
) -> None:
    types(home, fixer=FIX_ADD + DONE)
    (calc / "draft").write_text("mine")
    before = [git(calc, *words.split()) for words in ("status --porcelain", "rev-parse HEAD", "ls-files --stage")]
    done = muster("mend", "--name", "r", "--type", "fixer", *only("test_add.py", "test_sum.py"))
    assert [
        git(calc, *words.split()) for words in ("status --porcelain", "rev-parse HEAD", "ls-files --stage")
    ] == before
    assert "1 uncommitted file" in done.err
    words = {line.split()[0]: line for line in done.lines}
    assert list(words) == ["tasks", "tests", "branch", "person", "report"]
    assert "2 fixed" in words["tasks"]
    assert words["tests"].split(maxsplit=1)[1] == "2 failing  →  2 passing"
    # Two agents found the same by themselves: one commit, which says so.
    assert git(calc, "log", "--format=%s", "HEAD..muster/mend/r") == "Add instead of subtracting"
    message = git(calc, "log", "-1", "--format=%B", "muster/mend/r")
    assert "Muster-Test: tests/test_add.py::test_add" in message
    assert "Muster-Test: tests/test_sum.py::test_sum" in message
    assert {agent.state.kind for agent in fleet.agents() if agent.state} == {"stopped"}
    assert {agent.labels["run"] for agent in fleet.agents()} == {"r"}
    assert muster("report", "r", "--format", "markdown").out.startswith("# Mend 2 failing tests with 1 fix\n")
    assert muster("runs", "--format", "json").json[0]["step"] == "done"
    # The conversation can be gone on with.
    assert muster("message", "--where", 'labels.run == "r"', "--start", "-m", "thanks").code == 0


def test_a_fix_counts_for_every_test_that_it_turns_green(calc: Path, home: Path, muster: Muster) -> None:
    """That another agent had the test, and did nothing, changes nothing of what the fix is worth."""
    loud = (
        FIX_ADD.replace("a - b", "text.lower()").replace("a + b", "text.upper()").replace("Add instead", "Shout, not")
    )
    grave = DONE.replace('commit = "HEAD"', 'commit = "HEAD", severity = 5')
    types(home, fixer=FIX_ADD + DONE, louder=loud + grave, idle=DONE)
    words = ("--type", "fixer", "--type", "test_loud=louder", "--type", "test_sum=idle")
    report = mend(muster, *words, "--only", "failing", *only("test_add.py", "test_sum.py", "test_loud.py"))
    assert [commit["green"] for commit in report["commits"]] == [
        ["tests/test_add.py::test_add", "tests/test_sum.py::test_sum"],
        ["tests/test_loud.py::test_loud"],
    ]


def test_a_project_in_a_folder_of_its_repository(calc: Path, home: Path, muster: Muster) -> None:
    """From anywhere in it, its own tests are run from its own folder; the neighbours' are not."""
    names = git(calc, "ls-files", "tests", "calc.py", "pytest.ini").splitlines()
    for name in names:
        (calc / "pay" / name).parent.mkdir(parents=True, exist_ok=True)
        (calc / name).rename(calc / "pay" / name)
    more = {
        "test_two.py": "def test_two():\n    from calc import twice\n    assert open('calc.py').read()\n    assert twice(3) == 6\n",
        "test_gone.py": "import gone\n",
    }
    for name, text in more.items():
        (calc / "pay" / "tests" / name).write_text(text)
    (calc / "test_top.py").write_text("def test_top():\n    assert False\n")
    git(calc, "add", "--all")
    git(calc, "commit", "--quiet", "--message", "In a folder")
    edit = '[[step]]\nedit = "pay/tests/test_two.py"\nfind = "    assert twice(3) == 6\\n"\nreplace = ""\n[[step]]\ncommit = "Less"\n'
    find = '[[step]]\nedit = "pay/gone.py"\ncontent = ""\n[[step]]\ncommit = "Here"\n'
    fix = FIX_ADD.replace('"calc.py"', '"pay/calc.py"')
    types(home, fixer=fix + DONE, lesser=edit + DONE, finder=find + DONE)
    words = ("--type", "fixer", "--type", "test_two=lesser", "--type", "test_gone=finder")
    inside = [f"test_{name}.py" for name in ("add", "twice", "two", "gone")]
    report = mend(muster, *words, *inside, cwd=calc / "pay" / "tests")
    found = {entry["tests"][0]["id"]: entry for entry in report["entries"]}
    assert {test: entry["verdict"] for test, entry in found.items()} == {
        "tests/test_gone.py": "fixed",
        "tests/test_add.py::test_add": "fixed",
        "tests/test_twice.py::test_twice": "improved",
        "tests/test_two.py::test_two": "improved",
    }
    # It passed before, and others of its assertions stay: that is for a person to judge.
    [finding] = found["tests/test_two.py::test_two"]["findings"]
    assert (finding["rule"], finding["level"], finding["file"]) == (
        "removed-assertion",
        "review",
        "pay/tests/test_two.py",
    )
    assert git(calc, "diff", "--name-only", "HEAD", "muster/mend/r").split() == [
        "pay/calc.py",
        "pay/gone.py",
        "pay/tests/test_two.py",
    ]


def test_a_plan_starts_nothing(calc: Path, home: Path, muster: Muster, fleet: Fleet) -> None:
    types(home, fixer=FIX_ADD)
    done = muster("mend", "--plan", "--type", "scripted", "--type", "test_add=fixer")
    rows = [line.split()[:3] for line in done.lines]
    assert ["failing", "fixer", "tests/test_add.py::test_add"] in rows
    # Both fail on the same line of the program for the same reason, so they are one task.
    assert "tests/test_share.py::test_share_nobody and 1 more" in done.out
    assert ["passing", "scripted", "tests/test_twice.py::test_twice"] in rows
    assert fleet.known() == []
    assert git(calc, "branch", "--format=%(refname:short)") == "main"
    one = muster("mend", "--plan", "--group", "test", "--only", "failing", "--type", "scripted")
    assert len([line for line in one.lines if line.startswith("failing")]) == 5
    assert "only failing tests are asked for" in one.out


def test_what_a_clean_checkout_lacks_and_what_is_slow_is_said_before_it_begins(calc: Path, muster: Muster) -> None:
    (calc / "kit").mkdir()
    (calc / "kit" / "__init__.py").write_text("")
    (calc / ".gitignore").write_text("__pycache__/\n_version.py\n")
    (calc / "tests" / "test_nap.py").write_text(
        "import time\n\n\ndef test_nap():\n    time.sleep(1.5)\n\n\ndef test_a(): pass\n\n\ndef test_b(): pass\n"
    )
    (calc / "tests" / "test_kit.py").write_text("def test_kit():\n    from kit._version import VERSION\n")
    git(calc, "add", "--all")
    git(calc, "commit", "--quiet", "--message", "A package with a file that is made")
    (calc / "kit" / "_version.py").write_text("VERSION = 1\n")
    done = muster("mend", "--plan", *only("test_nap.py", "test_kit.py", "test_twice.py"))
    assert "not in a clean checkout, for git ignores them: kit/_version.py" in done.err
    assert "at the base: 4 passing, 1 failing; 1 slow: tests/test_nap.py::test_nap (" in done.err


def test_how_many_agents_is_what_was_configured_unless_it_is_said(calc: Path, home: Path, muster: Muster) -> None:
    (home / "config.toml").write_text("[mend]\njobs = 3\n")
    words = ("mend", "--plan", "--group", "test", "--only", "failing", "--type", "scripted")
    assert "5 tasks, 1 skipped; up to 3 agents at once" in muster(*words).err
    assert "5 tasks, 1 skipped; up to 4 agents at once" in muster(*words, "--jobs", "4").err


def test_a_type_made_from_the_mechanic_gets_no_passing_test_either(calc: Path, home: Path, muster: Muster) -> None:
    parents = {"quick": "mechanic", "quicker": "quick"}
    (home / "config.toml").write_text(
        "".join(f'[types.{name}]\nparent = "{parent}"\nargs = ["--limit", "60"]\n' for name, parent in parents.items())
    )
    done = muster("mend", "--plan", "--type", "quick", "--type", "test_add=quicker", "--type", "test_twice=quicker")
    assert ["failing", "quicker", "tests/test_add.py::test_add"] in [line.split()[:3] for line in done.lines]
    assert "1 of 6: it passes, and a quicker only repairs what fails: tests/test_twice.py::test_twice" in done.out


def test_what_is_left_of_a_group_becomes_a_task_again(calc: Path, home: Path, muster: Muster) -> None:
    half = '[[step]]\nedit = "calc.py"\nfind = "return total // heads"\nreplace = """if not heads and total:\n        return 0\n    return total // heads"""\n'
    types(home, fixer=f'[[step]]\nrun = "true"\n{half}[[step]]\ncommit = "Nothing for nobody"\n{DONE}')
    report = mend(muster, "--type", "fixer", *only("test_share.py"))
    # The agent of what is left does the same again, which helps nobody.
    found = [(entry["why"], entry["verdict"]) for entry in report["entries"]]
    assert found == [("failing", "fixed"), ("again", "broken")]
    assert [test["after"] for test in report["entries"][0]["tests"]] == ["passed", "failed"]
    assert report["entries"][1]["tests"][0]["id"] == "tests/test_share.py::test_share_none"
    assert report["after"] == {"passing": 1, "failing": 1}


def test_the_tests_of_a_file_that_could_not_be_collected_count_once_it_can(
    calc: Path, home: Path, muster: Muster
) -> None:
    tests = (
        "from gone import one\n\n\ndef test_one():\n    assert one() == 1\n\n\ndef test_number():\n    assert one()\n"
    )
    (calc / "tests" / "test_gone.py").write_text(tests)
    git(calc, "add", "--all")
    git(calc, "commit", "--quiet", "--message", "A test of what is gone")
    lines = 'content = "def one():\\n    return 2\\n"\n'
    types(home, finder=f'[[step]]\nedit = "gone.py"\n{lines}[[step]]\ncommit = "Here it is"\n{DONE}')
    done = muster("mend", "--name", "r", "--type", "finder", *only("test_gone.py", "test_loud.py"), check=False)
    assert "collected 1 test; 1 file can't be collected\nat the base: 1 failing\n" in done.err
    report = muster("report", "r", "--format", "json").json
    opened, _, again = report["entries"]
    assert (opened["why"], opened["verdict"]) == ("error", "fixed")
    assert opened["reason"] == "it can be collected now; 1 of its 2 tests fails"
    assert (again["why"], [test["id"] for test in again["tests"]]) == ("again", ["tests/test_gone.py::test_one"])
    assert report["before"] == {"failing": 1, "uncollected": 1}
    assert report["after"] == {"passing": 1, "failing": 2}
    assert report["turned"] == ["tests/test_gone.py"]


# -- what does not -----------------------------------------------------------------------------------------------------

DEEP = """printf '{"x":%0200000d' 0 | tr 0 '[' >$MUSTER_OUTCOME"""
LIARS = {
    # What it does, and what is found of it.
    "idle": (DONE, "broken", "changed nothing"),
    "vandal": (
        '[[step]]\nedit = "calc.py"\nfind = "a - b"\nreplace = "a + b"\n'
        '[[step]]\nedit = "calc.py"\nfind = "a * 2"\nreplace = "a * 3"\n[[step]]\ncommit = "x"\n' + DONE,
        "broken",
        "test_twice",
    ),
    "cheat": (
        '[[step]]\nedit = "tests/test_add.py"\nfind = "== 4"\nreplace = "!= 4"\n[[step]]\ncommit = "x"\n' + DONE,
        "refused",
        "tests/test_add.py:5",
    ),
    "mute": ("[[step]]\nexit = 0\n", "lost", "it wrote no outcome"),
    "babbler": ('[[step]]\noutcome = "{broken"\n', "lost", "can't be read"),
    "corpse": ('[[step]]\ncrash = "SEGV"\n', "lost", "SIGSEGV"),
    "honest": (
        '[[step]]\noutcome = { status = "blocked", escalations = [{ kind = "blocker", title = "No idea" }] }\n',
        "blocked",
        "No idea",
    ),
    "forger": (
        '[[step]]\nrun = "git checkout -q --orphan other && git -c user.name=x -c user.email=x commit -q -m x --allow-empty"\n'
        + DONE,
        "refused",
        "does not contain the commit",
    ),
    "razer": ('[[step]]\nrun = "rm -rf $PWD"\n[[step]]\noutcome = { status = "done" }\n', "broken", "changed nothing"),
    "amender": (
        '[[step]]\nrun = "git -c user.name=x -c user.email=x commit -q --amend -m x"\n' + DONE,
        "refused",
        "does not contain the commit",
    ),
    "piper": ('[[step]]\nrun = "mkfifo $MUSTER_OUTCOME"\n[[step]]\nexit = 0\n', "lost", "it wrote no outcome"),
    "digger": (f"[[step]]\nrun = {json.dumps(DEEP)}\n", "lost", "can't be read"),
    "asker": ('[[step]]\nask = "May I?"\n', "blocked", "May I?"),
    "flood": ("[[step]]\nflood = 3000000\n" + DONE, "broken", "changed nothing"),
}


def test_no_claim_is_taken_on_trust(calc: Path, home: Path, muster: Muster, fleet: Fleet) -> None:
    types(home, **{name: script for name, (script, _, _) in LIARS.items()})
    (calc / "tests" / "test_add.py").unlink()
    for name in LIARS:
        (calc / "tests" / f"test_{name}.py").write_text(
            "from calc import add\n\n\ndef test_it():\n    assert add(2, 2) == 4\n"
        )
    git(calc, "add", "--all")
    git(calc, "commit", "--quiet", "--message", "A test for each")
    script = LIARS["cheat"][0].replace("test_add", "test_cheat")
    (home.parent / "cheat.toml").write_text(script)
    words = [word for name in LIARS for word in ("--type", f"test_{name}={name}")]
    report = mend(muster, "--only", "failing", *words, "--type", "idle", "--repeats", "1", "--jobs", "4")
    found = {entry["tests"][0]["id"].partition("_")[2].partition(".")[0]: entry for entry in report["entries"]}
    for name, (_, verdict, reason) in LIARS.items():
        entry = found[name]
        assert (name, entry["verdict"]) == (name, verdict), entry["reason"]
        assert reason.replace("test_add", "test_cheat") in entry["reason"], name
    # Which tests of others it spoilt, and how they fail, is there to be read.
    [hurt] = found["vandal"]["hurt"]
    assert (hurt["id"], hurt["before"], hurt["after"]) == ("tests/test_twice.py::test_twice", "passed", "failed")
    assert "assert 6 == 4" in hurt["text"]
    assert report["branch"] == ""
    assert git(calc, "branch", "--list", "muster/mend/*") == ""
    # What was refused is kept to be looked at.
    assert git(calc, "rev-parse", "--verify", f"refs/muster/runs/r/{found['cheat']['task']}")
    assert all(agent.state and agent.state.kind in ("stopped", "unknown") for agent in fleet.agents())


def test_an_agent_without_an_outcome_is_asked_once(calc: Path, home: Path, muster: Muster) -> None:
    answer = DONE.replace("[[step]]\noutcome", "[[on_message]]\noutcome")
    types(home, late=FIX_ADD + answer, never='[[on_message]]\nsay = "What outcome?"\n')
    report = mend(muster, "--type", "late", "--type", "test_sum=never", *only("test_add.py", "test_sum.py"))
    found = entries(report)
    assert found["test_add"]["verdict"] == "fixed"
    assert found["test_sum"]["verdict"] == "lost"
    said = [event["text"] for event in found["test_sum"]["transcript"] if event["role"] == "user"]
    assert len([text for text in said if "without an outcome" in text]) == 1
    assert found["test_sum"]["asked"] and not found["test_sum"]["retried"]


def test_a_program_that_something_ended_is_started_again_once(calc: Path, home: Path, muster: Muster) -> None:
    # The script goes on behind the crash when it is started again.
    types(home, struck='[[step]]\ncrash = "KILL"\n' + FIX_ADD + DONE)
    report = mend(muster, "--type", "struck", *only("test_add.py"))
    assert entries(report)["test_add"]["verdict"] == "fixed"
    assert entries(report)["test_add"]["retried"]


def test_one_that_takes_too_long_is_stopped_and_lost(calc: Path, home: Path, muster: Muster, fleet: Fleet) -> None:
    # The second one doesn't hear SIGTERM or SIGHUP, and has a child that doesn't, either.
    types(home, slow="[[step]]\nhang = true\n", deaf='[[step]]\nhang = "deaf"\n')
    words = ("--type", "slow", "--type", "test_sum=deaf", *only("test_add.py", "test_sum.py"))
    report = mend(muster, "--timeout", "2s", *words)
    for entry in report["entries"]:
        assert entry["verdict"] == "lost"
        assert "still working after 2 s" in entry["reason"]
    assert [agent.state.kind for agent in fleet.agents() if agent.state] == ["stopped", "stopped"]


def test_what_a_project_calls_a_test_is_one_to_the_gate(calc: Path, home: Path, muster: Muster) -> None:
    (calc / "pytest.ini").write_text("[pytest]\npythonpath = .\npython_functions = sums_*\npython_classes = In*\n")
    asks = "class InSums:\n    def sums_up(self):\n        from calc import add\n        assert add(2, 2) == 4\n"
    (calc / "tests" / "test_add.py").write_text(asks)
    git(calc, "commit", "--quiet", "--all", "--message", "Our own words")
    less = '[[step]]\nedit = "tests/test_add.py"\nfind = "== 4"\nreplace = "in (0, 4)"\n[[step]]\ncommit = "x"\n'
    away = '[[step]]\nedit = "tests/test_add.py"\nfind = "sums_up"\nreplace = "test_up"\n[[step]]\ncommit = "x"\n'
    for name, script, rule in (("less", less, "weakened-assertion"), ("away", away, "uncollected-test")):
        types(home, cheat=script + DONE)
        done = muster("mend", "--name", name, "--type", "cheat", *only("test_add.py"), check=False)
        assert f"refused: {rule} in tests/test_add.py" in done.err


# -- changes that are in each other's way ------------------------------------------------------------------------------

LEFT = (
    '[[step]]\nedit = "calc.py"\nfind = "return a - b"\nreplace = "return b + a"\n[[step]]\ncommit = "b first"\n' + DONE
)
RIGHT = (
    '[[step]]\nedit = "calc.py"\nfind = "return a - b"\nreplace = "return sum([a, b])"\n[[step]]\ncommit = "sum"\n'
    + DONE
)


def test_a_conflict_is_set_aside_with_its_reason(calc: Path, home: Path, muster: Muster) -> None:
    types(home, left=LEFT, right=RIGHT)
    report = mend(muster, "--type", "left", "--type", "test_sum=right", *only("test_add.py", "test_sum.py"))
    assert report["counts"] == {"fixed": 2}
    assert len(report["commits"]) == 1
    [aside] = report["asides"]
    assert "conflict" in aside["reason"]
    assert report["after"] == {"passing": 2}


LABEL = 'def label(name, count):\n    return f"{name} {count}"\n'
LABEL_TESTS = {
    "test_name.py": "from label import label\n\n\ndef test_name():\n    assert label('a', 1).startswith('A')\n",
    "test_count.py": "from label import label\n\n\ndef test_count():\n    assert label('a', 1).endswith('01')\n",
}


def relabel(new: str) -> str:
    """A step that has the line of the label say that, whatever it says."""
    program = f"import re; t = open('label.py').read(); open('label.py', 'w').write(re.sub('return .*', {new!r}, t))"
    return f"[[step]]\nrun = {json.dumps(f'python3 -c {shlex.quote(program)}')}\nexpect = 0\n[[step]]\ncommit = 'A label'\n"


def test_an_agent_brings_together_what_git_cannot(calc: Path, home: Path, muster: Muster) -> None:
    for name, text in LABEL_TESTS.items():
        (calc / "tests" / name).write_text(text)
    (calc / "label.py").write_text(LABEL)
    git(calc, "add", "--all")
    git(calc, "commit", "--quiet", "--message", "Labels")
    both = relabel('return f"{name.upper()} {count:02}"')
    types(
        home,
        name=relabel('return f"{name.upper()} {count}"') + DONE,
        count=relabel('return f"{name} {count:02}"') + DONE,
        peace=both + DONE,
        liar=relabel('return f"{name.upper()} {count}!"') + DONE,
    )
    words = ("--type", "name", "--type", "test_count=count", *only(*LABEL_TESTS))
    report = mend(muster, "--integrator", "peace", *words)
    assert (report["after"], report["asides"]) == ({"passing": 2}, [])
    [conflict] = [entry for entry in report["entries"] if entry["why"] == "conflict"]
    assert (conflict["type"], conflict["verdict"], len(report["commits"])) == ("peace", "fixed", 2)
    assert "{name.upper()} {count:02}" in git(calc, "show", f"{report['branch']}:label.py")
    # Its word is taken no more than any other's.
    muster("mend", "--name", "liars", "--integrator", "liar", *words, check=False)
    report = muster("report", "liars", "--format", "json").json
    [conflict] = [entry for entry in report["entries"] if entry["why"] == "conflict"]
    assert (conflict["verdict"], len(report["commits"]), len(report["asides"])) == ("broken", 1, 1)


# -- what must survive -------------------------------------------------------------------------------------------------


def started(*words: str) -> subprocess.Popen[str]:
    argv = [*program(), "mend", *words]
    return subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def events(home: Path, run: str = "r") -> Iterator[dict[str, Any]]:
    path = home / "runs" / run / "journal.jsonl"
    for line in path.read_text().splitlines() if path.exists() else ():
        yield json.loads(line)


def until(home: Path, event: str) -> None:
    deadline = time.monotonic() + 60
    while not any(one["event"] == event for one in events(home)):
        assert time.monotonic() < deadline, f"{event} did not come"
        time.sleep(0.02)


def test_an_interrupt_integrates_what_is_done_and_can_be_gone_on_with(
    calc: Path, home: Path, muster: Muster, fleet: Fleet
) -> None:
    types(
        home,
        quick=FIX_ADD + DONE,
        patient=f'[[step]]\ngate = "{home.parent}/open"\n'
        + FIX_ADD.replace("a - b", "text.lower()").replace("a + b", "text.upper()")
        + DONE,
    )
    words = ("--name", "r", "--type", "quick", "--type", "test_loud=patient", "--jobs", "2")
    with started(*words, *only("test_add.py", "test_loud.py")) as process:
        until(home, "verified")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "1 fixed" in out
    assert "muster mend --resume r" in err
    assert all(agent.state and agent.state.kind == "stopped" for agent in fleet.agents())
    [undone] = muster("report", "r", "--format", "json").json["undone"]
    assert "tests/test_loud.py" in undone
    first = git(calc, "rev-parse", "muster/mend/r")
    (home.parent / "open").touch()
    done = muster("mend", "--resume", "r")
    assert "2 fixed" in done.out
    assert git(calc, "rev-parse", "muster/mend/r") != first
    assert [one["event"] for one in events(home)].count("gathered") == 2


def test_a_second_interrupt_stops_at_once_and_can_be_gone_on_with(
    calc: Path, home: Path, muster: Muster, fleet: Fleet
) -> None:
    types(home, patient=f'[[step]]\ngate = "{home.parent}/open"\n' + FIX_ADD + DONE)
    with started("--name", "r", "--type", "patient", *only("test_add.py")) as process:
        until(home, "begun")
        for _ in range(2):
            process.send_signal(signal.SIGINT)
            time.sleep(0.05)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert not git(calc, "branch", "--list", "muster/mend/*")
    (home.parent / "open").touch()
    assert "1 fixed" in muster("mend", "--resume", "r").out


KILLS = 20
# Each leaves a line when it begins, so that one that worked twice is known.
RAN = '[[step]]\nrun = "echo {agent} >>$HOME/ran"\n'
FIX_LOUD = FIX_ADD.replace("a - b", "text.lower()").replace("a + b", "text.upper()").replace("Add inst", "Shout inst")


def ran(home: Path) -> list[str]:
    path = home.parent / "home" / "ran"
    return path.read_text().split() if path.exists() else []


def noted(home: Path) -> int:
    path = home / "runs" / "r" / "journal.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


def killed(home: Path, more: int, later: float, *words: str) -> bool:
    """Begin or go on, and `kill -9` so many lines of the journal later, and a moment more; whether it was."""
    wanted = noted(home) + more
    with started(*words) as process:
        while process.poll() is None and noted(home) < wanted:
            time.sleep(0.002)
        # Steps take from some milliseconds to half a second; wherever this falls, the result has to be the same.
        time.sleep(later)
        process.kill()
        said = process.communicate()[1]
    journal = home / "runs" / "r" / "journal.jsonl"
    assert process.returncode in (0, -signal.SIGKILL), said + (journal.read_text() if journal.exists() else "")
    return process.returncode == -signal.SIGKILL


def forgotten(project: Path, home: Path, muster: Muster) -> None:
    """As if the run had never been."""
    muster("destroy", "--all", "--branch")
    shutil.rmtree(home / "runs")
    (home.parent / "home" / "ran").unlink(missing_ok=True)
    for ref in git(project, "for-each-ref", "--format=%(refname)", "refs/muster", "refs/heads/muster").split():
        git(project, "update-ref", "-d", ref)


def test_killed_at_any_moment_it_comes_to_the_same_branch(calc: Path, home: Path, muster: Muster) -> None:
    types(home, fixer=RAN + FIX_ADD + DONE, louder=RAN + FIX_LOUD + DONE)
    asked = "--name r --type fixer --type test_loud=louder --jobs 2 --repeats 1".split()
    words = (*asked, *only("test_add.py", "test_sum.py", "test_loud.py"))
    assert muster("mend", *words).code == 0
    wanted, undisturbed = git(calc, "rev-parse", "muster/mend/r"), noted(home)
    assert len(git(calc, "rev-list", f"main..{wanted}").split()) == 2
    seed = int(os.environ.get("KILL_SEED", 0)) or random.randrange(1, 10_000)
    sys.stdout.write(f"KILL_SEED={seed} chooses the same moments again\n")
    chance, kills = random.Random(seed), 0
    while kills < KILLS:
        forgotten(calc, home, muster)
        before: dict[str, int] = {}
        again: tuple[str, ...] = words
        # Each start notes again what it finds done, so there is some way to go before anything is new.
        while killed(
            home, chance.randrange(undisturbed * 3 // 4) if kills < KILLS else 1_000, chance.random() * 0.2, *again
        ):
            kills += 1
            again = ("--resume", "r") if (home / "runs" / "r").exists() else words
            for task in (one["task"] for one in events(home) if one["event"] == "gathered"):
                before.setdefault(task, ran(home).count(f"r-{task}"))
        assert git(calc, "rev-parse", "muster/mend/r") == wanted
        gathered = [one["task"] for one in events(home) if one["event"] == "gathered"]
        assert len(gathered) == len({*gathered}) == 3, "a task was gathered twice"
        assert {task: ran(home).count(f"r-{task}") for task in before} == before, "a gathered task's agent ran again"


def test_it_can_be_integrated_again_without_agents(calc: Path, home: Path, muster: Muster) -> None:
    cheat = LIARS["cheat"][0]
    types(home, cheat=cheat)
    report = mend(muster, "--type", "cheat", *only("test_add.py"))
    rule = report["entries"][0]["findings"][0]["rule"]
    begun = [one["event"] for one in events(home)].count("begun")
    done = muster(
        "mend",
        "--reintegrate",
        "r",
        *(word for found in report["entries"][0]["findings"] for word in ("--allow", found["rule"])),
        check=False,
    )
    assert "1 fixed" in done.out, (rule, done.err)
    assert [one["event"] for one in events(home)].count("begun") == begun


# -- what is asked -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["--type", "scriptd"], 3, "did you mean `scripted`?"),
        (["--jobs", "none"], 2, "`--jobs none`"),
        (["--resume", "nope"], 3, "there is no run `nope`"),
        (["--at", "box"], 2, "`--at @box`"),
        (["--prompt", "nope.md"], 3, "there is no file `nope.md`"),
        (["--allow", "deleted-tset"], 2, "deleted-test"),
        (["--name", "a b"], 2, "is not a name"),
        (["--type", "a", "--type", "b"], 2, "is given already"),
        (["tests/nope.py"], 2, "nope.py"),
        (["--python", "/nope"], 2, "`--python /nope`"),
        (["--resume", "r", "-k", "x"], 2, "takes the run's own arguments"),
    ],
)
def test_what_is_wrong_is_said(
    words: list[str], code: int, says: str, calc: Path, muster: Muster, fleet: Fleet
) -> None:
    done = muster("mend", *words, check=False)
    assert (done.code, says in done.err) == (code, True), done.err
    assert "Traceback" not in done.err
    assert fleet.known() == []


def test_outside_of_a_project(home: Path, muster: Muster, tmp_path: Path) -> None:
    assert "is not in a git repository" in muster("mend", cwd=tmp_path, check=False).err
    assert muster("runs").lines == ["run  age  step  project  branch  tasks"]
    assert "`muster mend` makes the first one" in muster("report", check=False).err


def test_the_brief_says_it_all_and_a_user_may_say_more(calc: Path, home: Path, muster: Muster, tmp_path: Path) -> None:
    types(home, mute=DONE)
    own = tmp_path / "own.md"
    own.write_text("Be brief.\n\n{{shipped}}\n")
    report = mend(muster, "--type", "mute", "--prompt", str(own), *only("test_add.py"))
    told = report["entries"][0]["transcript"][0]["text"]
    assert told.startswith("Be brief.\n\n# One failing test to mend")
    assert "\nTests:\n    tests/test_add.py::test_add\n" in told
    assert re.search(r"\nCommand, .*:\n    \S+/python -m pytest\n", told)
    assert "assert 0 == 4" in told
    (tmp_path / "bad.md").write_text("{{tests}}")
    assert "placeholder" in muster("mend", "--prompt", str(tmp_path / "bad.md"), check=False).err


def test_a_pull_request_is_opened_by_the_users_own_program(
    calc: Path, home: Path, muster: Muster, tmp_path: Path
) -> None:
    types(home, fixer=FIX_ADD + DONE)
    git(calc, "init", "--quiet", "--bare", str(tmp_path / "remote.git"))
    words = ("mend", "--name", "r", "--type", "fixer", "--pr", *only("test_add.py"))
    program = tmp_path / "bin" / "gh"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >{tmp_path}/asked\necho https://example.org/pull/1\n')
    program.chmod(0o755)
    env = {"PATH": f"{program.parent}:{os.environ['PATH']}"}
    assert "needs a remote" in muster(*words, env=env, check=False).err
    git(calc, "remote", "add", "origin", str(tmp_path / "remote.git"))
    done = muster(*words, env=env)
    assert done.lines[-1] == "https://example.org/pull/1"
    assert git(tmp_path / "remote.git", "rev-parse", "muster/mend/r") == git(calc, "rev-parse", "muster/mend/r")
    assert "Mend 1 failing test with 1 fix" in (tmp_path / "asked").read_text()


def test_events_as_lines(calc: Path, home: Path, muster: Muster) -> None:
    types(home, fixer=FIX_ADD + DONE)
    lines = [
        json.loads(line) for line in muster("mend", "--type", "fixer", "--format", "jsonl", *only("test_add.py")).lines
    ]
    assert [line["event"] for line in lines if line.get("event") in ("begun", "gathered", "verified")] == [
        "begun",
        "gathered",
        "verified",
    ]
    assert lines[-1]["counts"] == {"fixed": 1}
