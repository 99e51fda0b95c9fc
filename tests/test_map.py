"""`muster map`: one agent per line of input."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from conftest import Muster, program
from muster.errors import UsageError
from muster.fleet import Fleet, Task, placeholders
from terminal import until


@pytest.fixture(autouse=True)
def in_a_repository(repo: Path) -> None:
    assert repo.is_dir()


def said_to(fleet: Fleet, name: str) -> list[str]:
    return [event.text for event in fleet.transcript(name) if event.role == "user"]


def test_each_line_is_an_agents_message(fleet: Fleet, muster: Muster) -> None:
    done = muster("map", "Do {} now", "--type", "scripted", "--name", "do-{}", stdin="a b\n\nc\n")
    assert sorted(line.split()[:2] for line in done.lines) == [["do-a-b", "waiting"], ["do-c", "waiting"]]
    assert said_to(fleet, "do-a-b") == ["Do a b now"]
    assert said_to(fleet, "do-c") == ["Do c now"]


def test_programs_get_the_line_as_one_word(fleet: Fleet, muster: Muster) -> None:
    program = ["--", "sh", "-c", 'printf %s "$1" >word; exit "${#1}"', "sh", "{}"]
    done = muster("map", "--name", "p", "--format", "jsonl", "--label", "x=y", *program, stdin="$(a)\n'\n", check=False)
    assert done.code == 1
    found = {one["name"]: one for one in map(json.loads, done.lines)}
    assert {name: one["state"]["code"] for name, one in found.items()} == {"p-1": 4, "p-2": 1}
    assert all(one["labels"] == {"x": "y"} for one in found.values())
    assert Path(found["p-1"]["workspace"]["path"], "word").read_text() == "$(a)"


def test_records_fill_in_their_fields(fleet: Fleet, muster: Muster) -> None:
    records = '{"n": 7, "t": "x y", "by": {"name": "me"}}\n'
    words = ["map", "#{n} {{n}} {t} by {by.name}", "--json", "--type", "scripted", "--name", "issue-{n}"]
    [one] = json.loads(muster(*words, "--format", "json", stdin=records).out)
    assert one["name"] == "issue-7"
    assert said_to(fleet, "issue-7") == ["#7 {n} x y by me"]


def test_so_many_at_once(repo: Path, fleet: Fleet) -> None:
    gate = repo.parent / "gate"
    argv = [*program(), "map", "--jobs", "2", "--name", "m", "--"]
    argv += ["sh", "-c", f"until [ -e {gate}{{}} ]; do sleep 0.02; done"]
    run = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert run.stdin
    assert run.stdout
    run.stdin.write("1\n2\n3\n")
    run.stdin.close()
    until(lambda: len(fleet.known()) == 2)
    (repo.parent / "gate2").touch()
    assert run.stdout.readline().split()[:2] == ["m-2", "done"]  # printed as it ends
    until(lambda: len(fleet.known()) == 3)
    (repo.parent / "gate1").touch()
    (repo.parent / "gate3").touch()
    assert sorted(line.split()[0] for line in run.stdout) == ["m-1", "m-3"]
    assert run.wait(timeout=30) == 0
    run.stdout.close()


def test_a_run_is_resumed(repo: Path, fleet: Fleet, muster: Muster) -> None:
    log = repo.parent / "log"
    words = ["map", "--run", "night", "--", "sh", "-c", f"echo {{}} >>{log}"]
    muster(*words, stdin="a\nb\n")
    ids = muster("list", "--ids", "--label", "run=night").lines
    done = muster(*words, stdin="a\nb\nc\n")
    assert sorted(line.split()[0] for line in done.lines) == ["night-1", "night-2", "night-3"]
    assert muster("list", "--ids", "--label", "run=night").lines[:2] == ids
    assert sorted(log.read_text().split()) == ["a", "b", "c"]


def test_for_is_what_is_waited_for(muster: Muster) -> None:
    done = muster("map", "--for", "working", "--name", "m", "--", "sleep", "{}", stdin="1000\n")
    assert done.out.split()[:2] == ["m-1", "working"]
    done = muster("map", "--for", "failed", "--name", "f", "--", "sh", "-c", "exit {}", stdin="3\n")
    assert done.out.split()[:2] == ["f-1", "failed"]


def test_what_can_not_be_made_is_an_error_after_the_rest(fleet: Fleet, muster: Muster) -> None:
    fleet.create("m-1", args=["sleep", "1000"])
    done = muster("map", "--name", "m", "--format", "json", "--", "test", "{}", stdin="a\nb\n", check=False)
    assert done.code == 5
    assert [one["name"] for one in done.json] == ["m-2"]
    assert "`m-1`" in done.err


@pytest.mark.parametrize(
    ("words", "stdin", "error"),
    [
        ([], "a\n", "what should each agent do?"),
        (["Do it", "--type", "scripted"], "a\n", "nothing says where the input goes"),
        (["Do {}"], "a\n", "which agent type?"),
        (["Do {}", "--type", "scriptd"], "a\n", "no agent type"),
        (["Do {nam}", "--json", "--type", "scripted"], '{"name": 1}\n', "did you mean `name`?"),
        (["Do {name}", "--json", "--type", "scripted"], "[1]\n", "line 1 of the input is no JSON object"),
        (["Do {name}", "--json", "--type", "scripted"], '{"name": 1}\n{', "line 2 of the input is no JSON"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_made(
    fleet: Fleet, muster: Muster, words: list[str], stdin: str, error: str
) -> None:
    done = muster("map", *words, stdin=stdin, check=False)
    assert (done.code in (2, 3), done.out) == (True, "")
    assert error in done.err
    assert fleet.known() == []


def test_no_input_is_no_agent(muster: Muster) -> None:
    done = muster("map", "Do {}", "--type", "scripted", stdin="")
    assert (done.code, done.out, done.err) == (0, "", "")


def test_names_made_of_the_input_are_names_and_differ() -> None:
    task = Task(args=("x", "{}"))
    made = placeholders.tasks(task, "a/b\na b\n///\nä\n" + "x" * 200, name="t-{}@local")
    found = [one.name for one in made]
    assert found[:4] == ["t-a-b@local", "t-a-b-2@local", "t@local", "t-ä@local"]
    assert re.fullmatch(r"t-x{62}@local", found[4])
    assert [one.args for one in made[:1]] == [("x", "a/b")]


def test_braces_that_mean_nothing_stay() -> None:
    [made] = placeholders.tasks(Task(message='{"a": {}} {x} {{}}'), "1\n")
    assert made.message == '{"a": 1} {x} {}'
    with pytest.raises(UsageError, match="no field `x`"):
        placeholders.tasks(Task(message="{x}"), '{"a": 1}\n', json=True)
