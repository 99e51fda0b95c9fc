"""`muster list`: its table, its JSON, and the expressions of `--where`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from conftest import Muster, program
from muster.agents import Agent, State, Workspace
from muster.core.duration import seconds
from muster.errors import UsageError
from muster.fleet import Fleet
from muster.fleet.registry import now
from muster.fleet.where import matching
from terminal import Terminal, until

STAY = ["sleep", "1000"]
HEAD = "name  type  state  host  project  branch  age  activity"
FIELDS = {
    *("id", "name", "type", "state", "host", "project", "branch", "workspace", "age", "activity", "labels", "created"),
    *("parent", "archived"),
}


@pytest.fixture
def three(repo: Path, fleet: Fleet) -> Fleet:
    """One that works, one that waits, one that failed."""
    assert repo.is_dir()
    fleet.create("works", args=STAY, labels={"team": "web", "n": "2"})
    fleet.create("waits", "scripted", labels={"team": "cli", "n": "10"})
    # tmux may lose what is written in the very moment of the end (docs/decisions.md).
    fleet.create("failed", args=["sh", "-c", "echo last words; sleep .5; exit 3"])
    fleet.wait(["waits"], ["waiting"], timeout=30)
    fleet.wait(["failed"], ["failed"], timeout=30)
    return fleet


def names(text: str) -> list[str]:
    return [line.split()[0] for line in text.splitlines()[1:]]


# --- what it shows


def test_an_empty_fleet_is_a_clean_table_and_leaves_nothing_behind(home: Path, muster: Muster) -> None:
    home.rmdir()
    before = sorted(home.parent.rglob("*"))
    done = muster("list", env={"PATH": os.path.dirname(program()[0]) + ":/usr/bin:/bin"})
    assert (done.out, done.err) == (HEAD + "\n", "")
    assert muster("ls", "--format", "json").json == {"agents": [], "hosts": {}}
    assert muster("ls", "--format", "jsonl").out == muster("ls", "--ids").out == ""
    assert muster("ls", "nobody", check=False).code == 3
    assert sorted(home.parent.rglob("*")) == before


def test_the_table(three: Fleet, muster: Muster) -> None:
    done = muster("list")
    assert done.err == ""
    assert done.lines[0].split() == HEAD.split()
    cells = [line.split(maxsplit=7) for line in done.lines[1:]]
    assert [row[:6] for row in cells] == [
        ["works", "command", "working", "local", "repo", "muster/works"],
        ["waits", "scripted", "waiting", "local", "repo", "muster/waits"],
        ["failed", "command", "failed", "local", "repo", "muster/failed"],
    ]
    assert cells[2][7] == "exit code 3 · last words"
    assert names(muster("list", "waits", three.registry.get("works").id).out) == ["works", "waits"]


def test_json_has_everything(three: Fleet, muster: Muster) -> None:
    found = muster("list", "--format", "json").json
    assert found["hosts"] == {}
    for record in found["agents"]:
        assert record.keys() >= FIELDS
    failed = found["agents"][2]
    assert (failed["state"]["kind"], failed["state"]["reason"], failed["state"]["code"]) == ("failed", "exit code 3", 3)
    assert failed["activity"] == "last words"
    lines = [json.loads(line) for line in muster("list", "--format", "jsonl").lines]
    assert [line["id"] for line in lines] == [agent.id for agent in three.known()]


def test_fields_ids_sort_and_limit(three: Fleet, muster: Muster) -> None:
    done = muster("list", "--fields", "name,labels.team,code,idle", "--sort", "-name")
    assert done.lines[0].split() == ["name", "labels.team", "code", "idle"]
    assert names(done.out) == ["works", "waits", "failed"]
    assert done.lines[1].split() == ["works", "web"]
    assert done.lines[3].split()[:2] == ["failed", "3"]
    [one] = muster("list", "waits", "--fields", "name,state,labels.no", "--format", "jsonl").lines
    assert json.loads(one) == {"name": "waits", "state": "waiting", "labels.no": None}
    assert muster("list", "--ids", "--limit", "2").lines == [agent.id for agent in three.known()[:2]]
    assert names(muster("list", "--sort", "labels.team").out) == ["waits", "works", "failed"]
    muster("config", "set", "list.fields", "name,mode")
    muster("config", "set", "list.sort", "name")
    assert muster("list").lines[1].split() == ["failed", "worktree"]


def test_filters(three: Fleet, muster: Muster, repo: Path, tmp_path: Path) -> None:
    assert names(muster("list", "--state", "waiting,failed").out) == ["waits", "failed"]
    assert names(muster("list", "--state", "working", "--state", "failed").out) == ["works", "failed"]
    assert names(muster("list", "--label", "team=web").out) == ["works"]
    assert names(muster("list", "--label", "team").out) == ["works", "waits"]
    assert len(names(muster("list", "--project", ".", cwd=repo / "src").out)) == 3
    assert names(muster("list", "--project", tmp_path).out) == []
    assert names(muster("list", "--where", 'activity == "last words"').out) == ["failed"]
    three.archive(["works"])
    assert names(muster("list").out) == ["waits", "failed"]
    assert names(muster("list", "--all").out) == ["works", "waits", "failed"]
    assert names(muster("list", "--archived").out) == ["works"]
    assert names(muster("list", "works").out) == ["works"]


@pytest.mark.parametrize(
    ("words", "code", "hint"),
    [
        (["--fields", "name,stat"], 2, "did you mean `state`?"),
        (["--sort", "-agee"], 2, "did you mean `age`?"),
        (["--state", "waitng"], 2, "did you mean `waiting`?"),
        (["--where", "stat == 1"], 2, "did you mean `state`?"),
        (["wats"], 3, "did you mean `waits`?"),
    ],
)
def test_the_nearest_to_a_wrong_word_is_named(
    three: Fleet, muster: Muster, words: list[str], code: int, hint: str
) -> None:
    assert three.known()
    done = muster("list", *words, check=False)
    assert (done.code, done.out) == (code, "")
    assert f"hint: {hint}" in done.err


def test_a_broken_host_never_empties_the_listing(three: Fleet, muster: Muster) -> None:
    place = Workspace("worktree", "/nowhere")
    three.registry.reserve(Agent("zzzzzzzzzz", "far", "command", now(), place, host="box", intent="started"))
    done = muster("list")
    assert names(done.out) == ["works", "waits", "failed", "far"]
    assert "unknown" in done.lines[4]
    assert "`box`" in done.err
    found = muster("list", "--format", "json").json
    assert len(found["agents"]) == 4
    assert "box" in found["hosts"]["box"]
    last = json.loads(muster("list", "--format", "jsonl").lines[-1])
    assert last.keys() == {"host", "error"}


def test_what_an_agent_prints_can_not_move_the_cursor(repo: Path, fleet: Fleet, muster: Muster) -> None:
    assert repo.is_dir()
    fleet.create("evil", args=["sh", "-c", r"printf 'a\033[2Jb\n'; sleep 1000"], labels={"x": "\x1b[2J\u202e"})
    done = muster("list", "--fields", "name,labels,activity")
    assert "\x1b" not in done.out
    assert "\u202e" not in done.out


# --- following


def test_watch_redraws_in_place_and_ends_with_the_last_table(repo: Path, home: Path, fleet: Fleet) -> None:
    terminal = Terminal(home)
    terminal.type("list", "--watch", "--every", "1h")
    terminal.shows("activity")
    assert repo.is_dir()
    fleet.create("one", args=STAY)
    terminal.shows("working")
    fleet.stop(["one"])
    screen = terminal.shows("stopped")
    assert "working" not in screen
    fleet.destroy(["one"])
    until(lambda: "one" not in terminal.screen)
    fleet.create("two", args=STAY)
    terminal.shows("two")
    terminal.keys("C-c")
    screen = until(lambda: terminal.screen if "two" in terminal.screen and "$" in terminal.screen else "")
    assert "interrupted" not in screen


def test_watch_to_a_pipe_prints_it_again_whenever_it_changes(repo: Path, fleet: Fleet) -> None:
    assert repo.is_dir()
    argv = [*program(), "list", "--watch", "--every", "0.2", "--fields", "name,state", "--format", "jsonl"]
    watch = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert watch.stdout
    try:
        fleet.create("one", args=STAY)
        assert json.loads(watch.stdout.readline())["name"] == "one"
        fleet.stop(["one"])
        seen: list[str] = []
        until(lambda: seen.append(json.loads(watch.stdout.readline())["state"]) or seen[-1] == "stopped")  # type: ignore[union-attr, func-returns-value]
    finally:
        watch.send_signal(signal.SIGINT)
        _, err = watch.communicate(timeout=30)
    assert (watch.returncode, err) == (0, b"")


# --- expressions


def agents() -> list[Agent]:
    place = Workspace("worktree", "/w/a", branch="muster/fix-1")
    then = now() - 700
    state = State("waiting", then, "its turn ended")
    labels = {"team": "web", "n": "12", "a-b": "c"}
    return [
        Agent("a000000000", "fix-1", "scripted", then, place, labels=labels, state=state, activity="done it"),
        Agent("b000000000", "other", "command", now(), place, state=State("working", now(), "process 1 runs")),
    ]


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ('state == "waiting"', ["fix-1"]),
        ('state != "waiting"', ["other"]),
        ('state in ("waiting", "blocked")', ["fix-1"]),
        ('state not in ["waiting"] and name == "other"', ["other"]),
        ('age > "10m"', ["fix-1"]),
        ('"10m" < age < 1000', ["fix-1"]),
        ("age < 60", ["other"]),
        ('idle > "10m"', ["fix-1"]),
        ('idle <= "1h"', ["fix-1"]),
        ("idle is None", ["other"]),
        ('labels.team == "web"', ["fix-1"]),
        ('labels["a-b"] == "c"', ["fix-1"]),
        ("not labels.team", ["other"]),
        ('"team" in labels', ["fix-1"]),
        ("labels.n > 9", ["fix-1"]),
        ("labels.n == 12", ["fix-1"]),
        ("labels.nothing > 9", []),
        ('like(name, "fix-*")', ["fix-1"]),
        ('like(branch, "*/fix-?") or like(labels.team, "*")', ["fix-1", "other"]),
        ('matches(activity, "^done")', ["fix-1"]),
        ('"turn" in reason', ["fix-1"]),
        ("archived", []),
        ("not archived", ["fix-1", "other"]),
        ('not (name == "other" or archived)', ["fix-1"]),
        ("-1 < age", ["fix-1", "other"]),
        ('name == "Ünï" or name == "other"', ["other"]),
        ('\n  name == "other"\n  and age >= 0\n', ["other"]),
        ("True", ["fix-1", "other"]),
    ],
)
def test_expressions(expression: str, found: list[str]) -> None:
    assert [agent.name for agent in matching(agents(), expression)] == found


@pytest.mark.parametrize(
    ("expression", "error"),
    [
        ("", "empty"),
        ("state = 'x'", "character 7"),
        ("state ==", "can't be understood"),
        ("(" * 500, "can't be understood"),
        ("not " * 2_400 + "archived", "nested"),
        ("not " * 60 + "archived", "nested more than 50"),
        ("[" * 60 + "]" * 60, "nested more than 50"),
        ("name == '" + "x" * 100_000 + "'", "at most 10,000 characters"),
        ("1" * 5_000, "can't be understood"),
        ("stat", "no field `stat` (character 1)"),
        ("name == 'ü' and stat", "no field `stat` (character 17)"),
        ("state == waiting", "no field `waiting`"),
        ("10**10**10", "can't be part"),
        ("age + 1 > 2", "can't be part"),
        ("[x for x in name]", "can't be part"),
        ("lambda: 1", "can't be part"),
        ("f'{name}'", "can't be part"),
        ("name if archived else type", "can't be part"),
        ("(name := 'x')", "can't be part"),
        ("{'a': 1}", "can't be part"),
        ("b'x'", "can't be part"),
        ("...", "can't be part"),
        ("-name", "can't be part"),
        ("name.__class__", "no field `name.__class__`"),
        ("labels.team.__class__", "no field"),
        ("labels[0]", "no field"),
        ("name[0]", "no field"),
        ("__import__('os')", "`__import__` can't be called"),
        ("name.upper()", "can't be called"),
        ("like(name)", "takes a field and a pattern"),
        ("like(name, type)", "can't be part"),
        ("like(name, 3)", "a text in quotes"),
        ("matches(name, '(')", "no regular expression"),
        ("age > '10q'", "no duration"),
        ("args > 3", "can't be compared"),
        ("\0", "can't be understood"),
        ("name; type", "can't be understood"),
        ("import os", "can't be understood"),
    ],
)
def test_nothing_but_the_grammar_is_evaluated(expression: str, error: str) -> None:
    with pytest.raises(UsageError) as raised:
        matching(agents(), expression)
    assert error in str(raised.value)
    assert len(str(raised.value)) < 400


@pytest.mark.parametrize(
    ("text", "found"),
    [("90", 90), ("1.5s", 1.5), ("250ms", 0.25), ("5m", 300), ("2 h", 7_200), ("30d", 2_592_000), ("0", 0)],
)
def test_durations(text: str, found: float) -> None:
    assert seconds(text) == found


@pytest.mark.parametrize("text", ["", "-1", "1e9", "inf", "nan", "5 minutes", "m", "1,5s", "٣s", "9" * 40])
def test_no_durations(text: str) -> None:
    assert seconds(text) is None
