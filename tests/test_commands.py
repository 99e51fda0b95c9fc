"""The commands that act on agents: each one's happy and unhappy path, through the real program."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from conftest import Muster, program
from muster.agents import Agent
from muster.agents.watch import Happening
from muster.core import proc
from muster.fleet import Fleet
from muster.fleet.history import entries

ONE_AGENT = {
    "message": ("-m", "x"),
    "exec": ("true",),
    "pull": (),
    "push": (),
    "stop": (),
    "start": (),
    "restart": (),
    "archive": (),
    "clone": (),
    "rename": ("other",),
    "label": ("--set", "a=1"),
    "snapshot create": (),
    "destroy": (),
    "logs": (),
    "capture": (),
    "transcript": (),
    "why": (),
}
MANY_AGENTS = ("message", "stop", "start", "restart", "archive", "label", "destroy")


@pytest.fixture
def fix(repo: Path, fleet: Fleet) -> Agent:
    """An agent that says again what it is told."""
    assert repo.is_dir()
    return fleet.create("fix", "command", args=("cat",))


def git(folder: Path | str, *words: str) -> str:
    return subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True, text=True).stdout.strip()


def commit(folder: Path | str, name: str) -> str:
    (Path(folder) / name).write_text(name)
    git(folder, "add", name)
    git(folder, "commit", "--quiet", "--message", f"add {name}")
    return git(folder, "rev-parse", "HEAD")


@contextmanager
def running(*words: str) -> Iterator[subprocess.Popen[str]]:
    """A muster command that goes on until it is interrupted."""
    with subprocess.Popen([*program(), *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=30)
    assert process.returncode == 130


def editor(folder: Path, script: str) -> dict[str, str]:
    path = folder / "editor"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o700)
    return {"VISUAL": str(path)}


# -- all of them ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ONE_AGENT)
def test_an_unknown_agent_is_an_error_that_names_the_nearest(command: str, fix: Agent, muster: Muster) -> None:
    assert fix.name == "fix"
    done = muster(*command.split(), "fxi", *ONE_AGENT[command], check=False)
    assert (done.code, done.out) == (3, "")
    assert done.err.splitlines() == ["error: there is no agent `fxi`", "hint: did you mean `fix`?"]


@pytest.mark.parametrize("command", MANY_AGENTS)
def test_no_agent_is_an_error_but_no_input_is_not(command: str, muster: Muster) -> None:
    more = ("-m", "x") if command == "message" else ()
    done = muster(command, *more, check=False)
    assert done.code == 2
    assert "which agents?" in done.err
    done = muster(command, "-", *more, "--format", "json", stdin="")
    assert done.json == []


@pytest.mark.parametrize("group", ["snapshot", "plugin", "config"])
def test_a_group_names_the_nearest_command(group: str, muster: Muster) -> None:
    done = muster(group, "lst", check=False)
    assert done.code == 2
    assert done.err.splitlines() == [f"error: there is no command `{group} lst`", "hint: did you mean `list`?"]


def test_ids_from_standard_input_and_expressions_choose_agents(repo: Path, fleet: Fleet, muster: Muster) -> None:
    assert repo.is_dir()
    agents = [fleet.create(name, "command", args=("cat",), labels={"n": name}) for name in ("a", "b", "c")]
    done = muster("stop", "-", stdin=f"{agents[0].id}\n{agents[1].id}\n", cwd="/")
    assert [line.split()[:2] for line in done.lines] == [["a", "stopped"], ["b", "stopped"]]
    done = muster("start", "--where", 'labels.n == "b"', "--format", "jsonl")
    assert [json.loads(line)["name"] for line in done.lines] == ["b"]
    assert [record["state"]["kind"] for record in muster("stop", "--all", "--format", "json").json] == ["stopped"] * 3


# -- message ----------------------------------------------------------------------------------------------------------


def test_a_message_arrives_and_has_a_receipt(repo: Path, fleet: Fleet, muster: Muster) -> None:
    assert repo.is_dir()
    fleet.create("talk", "scripted")
    done = muster("message", "talk", "-m", "hello there")
    assert done.lines == ["talk  delivered"]
    assert [event.text for event in fleet.transcript("talk") if event.role == "user"] == ["hello there"]


def test_a_message_comes_from_a_file_from_standard_input_or_from_the_editor(
    repo: Path, home: Path, fleet: Fleet, muster: Muster
) -> None:
    fleet.create("talk", "scripted")
    (repo / "text.md").write_text("from a file\n\n")
    muster("message", "talk", "--file", "text.md")
    muster("message", "talk", stdin="from standard input\n")
    muster("message", "talk", "--file", "-", stdin="from there, too")
    muster("message", "talk", "--edit", env=editor(home.parent, 'printf "from\nan editor\n" >"$1"'))
    said = [event.text for event in fleet.transcript("talk") if event.role == "user"]
    # One line end is the file's, any other is the message's, which programs trim.
    assert [text.strip() for text in said] == [
        "from a file",
        "from standard input",
        "from there, too",
        "from\nan editor",
    ]


def test_what_nobody_can_hear_is_an_error(fix: Agent, home: Path, muster: Muster) -> None:
    for words, stdin in (((), ""), (("-m", " \n"), None), (("--file", "/dev/null"), None)):
        done = muster("message", fix.name, *words, stdin=stdin, check=False)
        assert (done.code, done.out) == (2, "")
        assert "there is nothing to say" in done.err
    for more in (["-m", "x", "--edit"], ["-m", "x", "--file", "y"]):
        assert "give one of them" in muster("message", fix.name, *more, check=False).err
    done = muster("message", "-", "--file", "-", stdin="fix\n", check=False)
    assert done.code == 2
    assert "standard input gives the names" in done.err
    done = muster("message", fix.name, "--edit", env=editor(home.parent, "exit 3"), check=False)
    assert done.code == 1
    assert "ended with 3" in done.err
    done = muster("message", fix.name, stdin=b"\xff", check=False)
    assert (done.code, "not UTF-8" in done.err) == (2, True)
    done = muster("message", fix.name, "--file", "nothing", check=False)
    assert (done.code, "`nothing`" in done.err) == (1, True)


def test_each_agent_has_its_own_receipt(repo: Path, fleet: Fleet, muster: Muster) -> None:
    assert repo.is_dir()
    fleet.create("fix", "command", args=("cat",))
    fleet.create("gone", "command", args=("true",))
    fleet.create("off", "command", args=("cat",))
    fleet.wait(["gone"], ["done"])
    fleet.stop(["off"])
    done = muster("message", "--all", "-m", "hi", "--format", "json", check=False)
    assert done.code == 6
    found = {one["name"]: (one["status"], one.get("reason", "")) for one in done.json}
    assert found["fix"] == ("typed", "")
    assert found["off"][0] == "queued"
    assert found["gone"][0] == "refused"
    assert "exit code 0" in found["gone"][1]
    done = muster("message", "off", "fix", "-m", "hi", "--format", "jsonl")
    assert {json.loads(line)["status"] for line in done.lines} == {"queued", "typed"}


def test_start_revives_before_it_says(fix: Agent, fleet: Fleet, muster: Muster) -> None:
    fleet.stop([fix])
    assert muster("message", "fix", "--start", "-m", "awake").lines == ["fix  typed"]
    assert fleet.agent("fix").intent == "started"


# -- exec -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        ("fix", "sh", "-c", "echo $MUSTER_AGENT; pwd; cat; exit 7"),
        ("fix", "--", "sh", "-c", "echo $MUSTER_AGENT; pwd; cat; exit 7"),
        ("fix", "--timeout", "60", "sh", "-c", "echo $MUSTER_AGENT; pwd; cat; exit 7"),
    ],
)
def test_exec_streams_and_passes_the_exit_code_on(words: tuple[str, ...], fix: Agent, muster: Muster) -> None:
    done = muster("exec", *words, stdin="given\n", check=False)
    assert (done.code, done.err) == (7, "")
    assert done.lines == ["fix", fix.workspace.path, "given"]


def test_exec_leaves_the_words_of_the_command_alone(fix: Agent, muster: Muster) -> None:
    words = ["a  b", "$HOME", "--cwd", "-x", "*", "--help", ""]
    assert muster("exec", fix.name, "printf", "<%s>", *words).out == "".join(f"<{word}>" for word in words)
    assert (
        muster("exec", "fix", "--", "printf", "<%s>", "--", *words).out == "<--><a  b><$HOME><--cwd><-x><*><--help><>"
    )


def test_exec_in_many_prefixes_each_line(repo: Path, fleet: Fleet, muster: Muster) -> None:
    assert repo.is_dir()
    for name in ("a", "long"):
        fleet.create(name, "command", args=("cat",))
    script = 'echo "$MUSTER_AGENT"; echo oh >&2; [ $MUSTER_AGENT = a ] && exit 3; exit 5'
    done = muster("exec", "a", "long", "--", "sh", "-c", script, check=False)
    assert done.code == 5
    assert sorted(done.lines) == ["a    | a", "long | long"]
    assert sorted(done.err.splitlines()) == ["a    | oh", "long | oh"]
    done = muster("exec", "--all", "--format", "json", "sh", "-c", script, check=False)
    assert done.code == 5
    assert [(one["name"], one["code"], one["out"], one["err"]) for one in done.json] == [
        ("a", 3, "a\n", "oh\n"),
        ("long", 5, "long\n", "oh\n"),
    ]


def test_exec_ends_the_whole_tree_when_the_time_is_up(fix: Agent, muster: Muster) -> None:
    pids = Path(fix.workspace.path) / "pids"
    script = "sleep 1000 & echo $! >pids; echo $$ >>pids; wait"
    done = muster("exec", "fix", "--timeout", "1s", "sh", "-c", script, check=False)
    assert (done.code, done.err) == (124, "`fix`: the command was ended after 1 s\n")
    for pid in map(int, pids.read_text().split()):
        assert not proc.alive(pid)


@pytest.mark.parametrize("names", [["fix"], ["fix", "other"]])
def test_an_interrupted_exec_ends_its_commands(names: list[str], fix: Agent, fleet: Fleet) -> None:
    fleet.create("other", "command", args=("cat",))
    with running("exec", *names, "--timeout", "1h", "--", "sh", "-c", "echo $$; exec sleep 1000") as process:
        assert process.stdout
        pids = [int(process.stdout.readline().split()[-1]) for _ in names]
    assert not [pid for pid in pids if proc.alive(pid)], fix.name


def test_exec_in_a_folder_of_the_workspace(fix: Agent, muster: Muster) -> None:
    assert muster("exec", "fix", "--cwd", "src", "ls").lines == ["one.py", "two.py"]
    done = muster("exec", "fix", "--cwd", "nothing", "ls", check=False)
    assert (done.code, f"{fix.workspace.path}/nothing" in done.err) == (3, True)


def test_exec_says_what_is_missing(fix: Agent, muster: Muster) -> None:
    assert "which command?" in muster("exec", fix.name, check=False).err
    done = muster("exec", "fix", "git", "log", "--", "src", check=False)
    assert (done.code, "`muster exec NAME -- COMMAND ARG...`" in done.err) == (3, True)
    done = muster("exec", "fix", "--timeout", "soon", "ls", check=False)
    assert (done.code, "`soon` is no duration" in done.err) == (2, True)


# -- pull and push ----------------------------------------------------------------------------------------------------


def test_pull_brings_commits_by_fast_forward(repo: Path, fix: Agent, muster: Muster) -> None:
    for name in ("x", "y"):
        tip = commit(fix.workspace.path, name)
    (Path(fix.workspace.path) / "draft").write_text("not yet")
    done = muster("pull", "fix")
    assert done.lines == ["fast-forwarded main by 2 commits"]
    assert "1 uncommitted file stayed in `fix`: draft" in done.err
    assert git(repo, "rev-parse", "HEAD") == tip
    assert (repo / "y").exists()
    assert not (repo / "draft").exists()
    assert muster("pull", "fix", "--git").lines == ["main has all commits of fix already"]


def test_pull_that_is_no_fast_forward_changes_nothing_here(repo: Path, fix: Agent, muster: Muster) -> None:
    theirs, ours = commit(fix.workspace.path, "x"), commit(repo, "z")
    done = muster("pull", "fix")
    assert done.lines == ["not a fast-forward: look at branch muster/fix (git log HEAD..muster/fix)"]
    assert git(repo, "rev-parse", "HEAD", "muster/fix").split() == [ours, theirs]
    assert muster("pull", "fix", "--format", "json").json["status"] == "branch"


def test_pull_brings_files_and_overwrites_none_unforced(repo: Path, fix: Agent, muster: Muster, tmp_path: Path) -> None:
    (Path(fix.workspace.path) / "README.md").write_text("theirs\n")
    done = muster("pull", "fix", "README.md", check=False)
    assert (done.code, "--force" in done.err) == (5, True)
    assert (repo / "README.md").read_text() == "# A project\n"
    assert muster("pull", "fix", "README.md", "src", "--to", tmp_path).lines == [
        "README.md",
        "src/one.py",
        "src/two.py",
    ]
    assert (tmp_path / "README.md").read_text() == "theirs\n"
    muster("pull", "fix", "README.md", "--force")
    assert (repo / "README.md").read_text() == "theirs\n"


def test_pull_to_a_reference_touches_no_checkout(repo: Path, fix: Agent, fleet: Fleet, muster: Muster) -> None:
    commit(Path(fix.workspace.path), "new")
    (repo / "README.md").write_text("mine\n")
    assert muster("pull", "fix", "--ref", "refs/look/fix").out.startswith("refs/look/fix is ")
    there = git(repo, "rev-parse", "refs/look/fix")
    assert there == git(Path(fix.workspace.path), "rev-parse", "HEAD")
    assert git(repo, "status", "--porcelain") == "M README.md"
    # An agent that has lost its checkout still has its branch.
    shutil.rmtree(fix.workspace.path)
    assert fleet.fetch(fix, "refs/look/again").commit == there
    assert "hint: `--ref refs/heads/x`" in muster("pull", "fix", "--ref", "x", check=False).err


def test_artifacts_and_the_outcome_are_brought(repo: Path, fleet: Fleet, muster: Muster, tmp_path: Path) -> None:
    script = 'mkdir "$MUSTER_ARTIFACTS/a"; echo 1 >"$MUSTER_ARTIFACTS/a/x"; echo "{}" >"$MUSTER_OUTCOME"'
    agent = fleet.create("one", args=("sh", "-c", script))
    assert fleet.outcome(fleet.create("two", args=("true",))) is None
    fleet.wait([agent], ["done"])
    assert fleet.outcome(agent) == b"{}\n"
    assert muster("pull", "one", "--artifacts", "--to", tmp_path).lines == ["a/x"]
    assert (tmp_path / "a" / "x").read_text() == "1\n"


def test_a_variable_may_name_the_workspace(repo: Path, fleet: Fleet) -> None:
    agent = fleet.create("one", args=("cat",), env={"PYTHONPATH": "{workspace}/src"})
    copy = fleet.clone(agent)
    for one in (agent, copy):
        script = 'echo "$PYTHONPATH $MUSTER_WORKSPACE"'
        place = one.workspace.path
        assert fleet.exec(one, ["sh", "-c", script]).out == f"{place}/src {place}\n"


def test_pull_refuses_what_makes_no_sense(fix: Agent, muster: Muster, tmp_path: Path) -> None:
    assert muster("pull", fix.name, "nothing", check=False).code == 3
    assert muster("pull", "fix", "../..", check=False).code == 2
    assert "takes no paths" in muster("pull", "fix", "--git", "README.md", check=False).err
    done = muster("pull", "fix", cwd=tmp_path, check=False)
    assert (done.code, "not in the repository" in done.err) == (2, True)


def test_push_sends_commits_and_files(repo: Path, fix: Agent, muster: Muster) -> None:
    tip = commit(repo, "x")
    assert muster("push", "fix").lines == ["fast-forwarded muster/fix of fix by 1 commit"]
    assert git(fix.workspace.path, "rev-parse", "HEAD") == tip
    assert muster("push", "fix").lines == ["fix has all these commits already"]
    (repo / "notes").write_text("look here")
    assert muster("push", "fix", "notes", "--to", "deep/er").lines == ["notes"]
    assert (Path(fix.workspace.path) / "deep" / "er" / "notes").read_text() == "look here"
    assert muster("push", "fix", "notes", "--to", "../out", check=False).code == 2
    (repo / "x").write_text("other")
    assert muster("push", "fix", "x", check=False).code == 5


def test_push_that_is_no_fast_forward_leaves_the_agent_alone(repo: Path, fix: Agent, muster: Muster) -> None:
    theirs, ours = commit(fix.workspace.path, "x"), commit(repo, "z")
    done = muster("push", "fix")
    assert "not a fast-forward" in done.out
    assert git(fix.workspace.path, "rev-parse", "HEAD", "main").split() == [theirs, ours]


# -- stop, start, restart, archive ------------------------------------------------------------------------------------


def test_stop_start_and_restart_say_what_is_then(fix: Agent, fleet: Fleet, muster: Muster) -> None:
    first = pid(fleet)
    assert muster("stop", fix.name).lines == ["fix  stopped  stopped by muster"]
    assert not proc.alive(first)
    assert Path(fix.workspace.path).is_dir()
    [record] = muster("start", "fix", "--format", "json").json
    assert (record["name"], record["state"]["kind"]) == ("fix", "working")
    second = pid(fleet)
    assert muster("start", "fix").lines == [f"fix  working  process {second} runs"]
    assert muster("restart", "fix").lines == [f"fix  working  process {pid(fleet)} runs"]
    assert pid(fleet) not in (first, second)


def pid(fleet: Fleet) -> int:
    """Of the program of `fix`."""
    evidence = fleet.why("fix").evidence
    assert evidence
    assert evidence.pid
    return evidence.pid


def test_archive_stops_and_hides_until_undone(fix: Agent, fleet: Fleet, muster: Muster) -> None:
    assert muster("archive", fix.name).lines == ["fix  archived"]
    assert fleet.agents() == []
    assert muster("archive", "fix", "--undo").lines == ["fix  stopped  stopped by muster"]
    assert [agent.name for agent in fleet.agents()] == ["fix"]


# -- clone, rename, label ---------------------------------------------------------------------------------------------


def test_clone_has_the_work_and_a_branch_of_its_own(fix: Agent, fleet: Fleet, muster: Muster) -> None:
    tip = commit(fix.workspace.path, "x")
    (Path(fix.workspace.path) / "draft").write_text("not yet")
    muster("clone", "fix", "other", "--label", "a=1", "--branch", "try/*", "-m", "go on")
    other = fleet.agent("other")
    assert (other.parent, other.labels, other.workspace.branch) == (fix.id, {"a": "1"}, "try/other")
    assert git(other.workspace.path, "rev-parse", "HEAD") == tip
    assert (Path(other.workspace.path) / "draft").read_text() == "not yet"
    assert len(muster("clone", "fix", "--format", "json").json) == 1
    assert muster("clone", "fix", "other", check=False).code == 5
    assert muster("clone", "fix", "more", "--branch", "main:x", check=False).code == 2
    assert len(fleet.known()) == 3


def test_rename_keeps_all_but_the_name(fix: Agent, fleet: Fleet, muster: Muster) -> None:
    fleet.create("taken", "command", args=("cat",))
    assert muster("rename", "fix", "parser").lines[0].startswith("parser  working")
    found = fleet.agent("parser")
    assert (found.id, found.workspace) == (fix.id, fix.workspace)
    assert muster("rename", "parser", "taken", check=False).code == 5
    done = muster("rename", "parser", "../up", check=False)
    assert (done.code, "hint: try `up`" in done.err) == (2, True)


def test_labels_are_set_shown_and_removed(fix: Agent, fleet: Fleet, muster: Muster) -> None:
    fleet.create("other", "command", args=("cat",))
    assert muster("label", "fix", "other", "--set", "team=web", "--set", "x=a=b").lines == [
        "fix    team=web x=a=b",
        "other  team=web x=a=b",
    ]
    assert muster("label", "fix", "--unset", "x").lines == ["fix  team=web"]
    assert muster("label", "fix", "y=1").lines == ["fix  team=web y=1"]
    assert muster("label", "fix", "--unset", "y").lines == ["fix  team=web"]
    assert muster("label", "fix", "--format", "json").json == [
        {"id": fix.id, "name": "fix", "labels": {"team": "web"}},
    ]
    assert fleet.agent("other").labels == {"team": "web", "x": "a=b"}
    done = muster("label", "fix", "--unset", "taem", check=False)
    assert (done.code, "did you mean `team`?" in done.err) == (3, True)
    assert "it must be `KEY=VALUE`" in muster("label", "fix", "--set", "plain", check=False).err


# -- snapshot, destroy, restore, gc -----------------------------------------------------------------------------------


def test_a_snapshot_is_made_listed_restored_and_destroyed(fix: Agent, fleet: Fleet, muster: Muster) -> None:
    commit(fix.workspace.path, "x")
    (Path(fix.workspace.path) / "draft").write_text("first")
    identity = muster("snapshot", "create", "fix", "--label", "before").out.strip()
    (Path(fix.workspace.path) / "draft").write_text("second")
    [record] = muster("snapshot", "list", "--format", "json").json
    assert (record["id"], record["label"], record["agent"]["name"]) == (identity, "before", "fix")
    assert muster("snapshot", "list").lines[1].split()[:2] == [identity, "fix"]
    assert muster("snapshot", "restore", "before", "again").lines == ["again  stopped  stopped by muster"]
    again = Path(fleet.agent("again").workspace.path)
    assert (again / "draft").read_text() == "first"
    assert (again / "x").exists()
    assert muster("snapshot", "create", "fix", "--label", "before", check=False).code == 5
    assert muster("snapshot", "restore", "before", check=False).code == 5
    done = muster("snapshot", "destroy", "before", "beforr", check=False)
    assert (done.code, "did you mean `before`?" in done.err) == (3, True)
    assert muster("snapshot", "destroy", "before").lines == [identity]
    assert (muster("snapshot", "list").out, muster("snapshot", "list", "--format", "json").json) == ("", [])


def test_destroy_says_what_it_kept_and_restore_brings_it_back(fix: Agent, fleet: Fleet, muster: Muster) -> None:
    tip = commit(fix.workspace.path, "x")
    (Path(fix.workspace.path) / "draft").write_text("not yet")
    done = muster("destroy", "fix")
    assert done.lines == [f"fix  destroyed  kept commits up to {tip[:9]} and uncommitted files and record"]
    assert done.err.splitlines() == ["hint: `muster restore fix` brings it back"]
    assert not Path(fix.workspace.path).exists()
    assert fleet.known() == []
    [row] = muster("restore", "--list", "--format", "json").json
    assert (row["agent"]["name"], row["days_left"]) == ("fix", 30.0)
    assert row["size"] > 0
    assert muster("restore", "--list").lines[1].split()[0] == "fix"
    done = muster("restore", "fxi", check=False)
    assert (done.code, "did you mean `fix`?" in done.err) == (3, True)
    assert muster("restore", "fix", "--as", "back").lines == ["back  stopped  stopped by muster"]
    back = Path(fleet.agent("back").workspace.path)
    assert git(back, "rev-parse", "HEAD") == tip
    assert (back / "draft").read_text() == "not yet"
    assert muster("restore", "--list").out == ""
    assert "which agent?" in muster("restore", check=False).err


def test_a_dry_run_lists_what_goes_and_changes_nothing(repo: Path, fix: Agent, fleet: Fleet, muster: Muster) -> None:
    commit(fix.workspace.path, "x")
    (Path(fix.workspace.path) / "draft").write_text("not yet")
    process = f"{pid(fleet)} cat"
    [row] = muster("destroy", "fix", "--branch", "--dry-run", "--format", "json").json
    assert row["processes"] == [process]
    assert fix.workspace.path in row["folders"]
    assert (row["branch"], row["commits"], row["files"]) == ("muster/fix", 1, ["draft"])
    done = muster("destroy", "fix", "--branch", "--dry-run")
    for line in (f"ends      {process}", "removes   branch muster/fix", "keeps     draft, uncommitted"):
        assert line in [one.strip() for one in done.lines]
    assert f"{pid(fleet)} cat" == process
    assert git(repo, "branch", "--list", "muster/fix")


def test_gc_expires_the_attic(fix: Agent, fleet: Fleet, muster: Muster) -> None:
    assert "nothing to do" in muster("gc").err
    fleet.destroy([fix])
    assert muster("gc").out == ""
    assert muster("gc", "--days", "0").lines == ["expired `fix` from the attic"]
    assert fleet.kept() == []
    assert muster("gc", "--format", "json").json == []
    assert muster("gc", "--days", "-1", check=False).code == 2


# -- reading ----------------------------------------------------------------------------------------------------------


def test_logs_outlive_the_program_and_the_session(repo: Path, fleet: Fleet, muster: Muster) -> None:
    assert repo.is_dir()
    fleet.create("two", "command", args=("sh", "-c", "seq 5; exit 3"), setup="echo prepared")
    fleet.wait(["two"], ["failed"])
    assert muster("logs", "two").lines == ["1", "2", "3", "4", "5"]
    fleet.stop(["two"])
    assert muster("logs", "two", "-n", "2").lines == ["4", "5"]
    assert muster("logs", "two", "--tail", "0").out == ""
    assert muster("logs", "two", "--setup").lines == ["prepared"]
    fleet.create("plain", "command", args=("cat",))
    done = muster("logs", "plain", "--setup", check=False)
    assert (done.code, "had no set-up" in done.err) == (3, True)


def test_capture_shows_the_screen_and_starts_nothing(repo: Path, fleet: Fleet, muster: Muster) -> None:
    assert repo.is_dir()
    fleet.create("two", "command", args=("printf", "\\033[31mred\\033[0m and plain"))
    fleet.wait(["two"], ["done"])
    assert muster("capture", "two").lines == ["red and plain"]
    assert "\x1b[31mred" in muster("capture", "two", "--colours").out
    fleet.stop(["two"])
    done = muster("capture", "two", check=False)
    assert (done.code, "`muster logs two`" in done.err) == (5, True)
    assert fleet.agent("two").intent == "stopped"


def test_transcript_has_one_form_and_can_be_cut(repo: Path, fleet: Fleet, muster: Muster) -> None:
    assert repo.is_dir()
    fleet.create("talk", "scripted")
    assert [receipt.status for receipt in fleet.message(["talk"], "one")] == ["delivered"]
    fleet.wait(["talk"], ["waiting"])
    events = muster("transcript", "talk", "--format", "json").json
    assert [event["role"] for event in events] == ["assistant", "user", "assistant"]
    assert muster("transcript", "talk", "--role", "user").lines[1:] == ["  one"]
    [last] = muster("transcript", "talk", "--tail", "1", "--format", "jsonl").lines
    assert json.loads(last) == events[-1]
    assert muster("transcript", "talk", "--head", "1", "--format", "json").json == events[:1]
    assert muster("transcript", "talk", "--role", "boss", check=False).code == 2
    assert muster("transcript", "talk", "--head", "1", "--follow", check=False).code == 2


def test_transcript_follows_what_is_said(repo: Path, fleet: Fleet, muster: Muster) -> None:
    assert repo.is_dir()
    fleet.create("talk", "scripted")
    fleet.wait(["talk"], ["waiting"])
    with running("transcript", "talk", "--follow", "--role", "user", "--format", "jsonl") as process:
        list(fleet.message(["talk"], "said later"))
        assert process.stdout
        assert json.loads(process.stdout.readline())["text"] == "said later"
    fleet.create("fix", "command", args=("cat",))
    done = muster("transcript", "fix", "--follow", check=False)
    assert (done.code, "`muster logs fix`" in done.err) == (5, True)


def test_events_are_told_with_names_and_can_be_chosen(fix: Agent, fleet: Fleet, muster: Muster) -> None:
    fleet.create("two", "command", args=("sh", "-c", "exit 3"), labels={"n": "2"})
    fleet.wait(["two"], ["failed"])
    fleet.rename("fix", "parser")
    fleet.destroy(["parser"])
    every = muster("events", "--format", "json").json
    told = [(one["name"], one["event"], one["detail"]) for one in every]
    for one in [("fix", "created", "command"), ("two", "ended", "exit code 3"), ("parser", "destroyed", "")]:
        assert one in told
    assert {one["name"] for one in muster("events", "--agent", fix.id, "--format", "json").json} == {"fix", "parser"}
    assert {one["name"] for one in muster("events", "--where", 'labels.n == "2"', "--format", "json").json} == {"two"}
    assert len(muster("events", "--limit", "2").lines) == 2
    assert muster("events", "--since", "0s").out == ""
    done = muster("events", "--agent", "tow", check=False)
    assert (done.code, "did you mean `two`?" in done.err) == (3, True)


def test_events_are_followed_from_the_last_on(fix: Agent, fleet: Fleet) -> None:
    with running("events", "--follow", "--limit", "1", "--format", "jsonl") as process:
        assert process.stdout
        assert json.loads(process.stdout.readline())["event"] == "created"
        fleet.label([fix], {"a": "1"})
        fleet.stop([fix])
        assert [json.loads(process.stdout.readline())["event"] for _ in range(2)] == ["labelled", "stopped"]


def test_what_ends_at_once_is_told_by_its_name(repo: Path, fleet: Fleet) -> None:
    assert repo.is_dir()

    def happening() -> Iterator[Happening]:
        yield Happening(0.0, fleet.create("quick", args=["true"]).id, "ended", "=0 =")

    assert [one.name for one in entries(fleet, happening())] == ["quick"]


def test_why_names_the_evidence(repo: Path, fleet: Fleet, muster: Muster) -> None:
    assert repo.is_dir()
    fleet.create("two", "command", args=("sh", "-c", "kill -9 $$"))
    fleet.wait(["two"], ["failed"])
    done = muster("why", "two")
    assert done.lines[0].startswith("two is failed for ")
    assert "SIGKILL" in done.lines[1]
    found = muster("why", "two", "--format", "json").json
    assert (found["state"]["kind"], found["evidence"]["signal"], found["evidence"]["alive"]) == ("failed", 9, False)


def test_why_tells_the_last_known_state_when_nothing_is_there(fix: Agent, fleet: Fleet, muster: Muster) -> None:
    server = fleet.seat("local").server
    server.run("kill-server")
    done = muster("why", fix.name)
    assert done.lines[0].startswith("fix is unknown")
    assert [line for line in done.lines if line.split()[:2] == ["last", "known"]]
    assert "none: no terminal session" in done.out


# -- plugins ----------------------------------------------------------------------------------------------------------


def test_plugins_are_listed_with_where_they_come_from(home: Path, repo: Path, muster: Muster, tmp_path: Path) -> None:
    (home / "config.toml").write_text('[types.review]\nparent = "scripted"\nargs = ["--screen", "plain"]\n')
    info = tmp_path / "other_agents-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other-agents\nVersion: 1.2\n")
    (info / "entry_points.txt").write_text(
        "[muster.agent_types]\nparrot = other_agents:Parrot\nbroken = nowhere_at_all:Broken\n"
    )
    (tmp_path / "other_agents.py").write_text('class Parrot:\n    about = "says it again"\n')
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    found = {one["name"]: one for one in muster("plugin", "list", "--format", "json", env={"PYTHONPATH": path}).json}
    assert (found["command"]["kind"], found["command"]["origin"]) == ("type", "muster")
    assert (found["local"]["kind"], found["local"]["about"]) == ("provider", "This machine")
    assert (found["review"]["origin"], found["review"]["about"]) == (f"{home}/config.toml", "scripted --screen plain")
    assert (found["parrot"]["origin"], found["parrot"]["about"]) == ("other-agents 1.2", "says it again")
    assert "nowhere_at_all" in found["broken"]["fault"]
    assert repo.is_dir()
    assert "can't be used" in muster("plugin", "list", env={"PYTHONPATH": path}).out
