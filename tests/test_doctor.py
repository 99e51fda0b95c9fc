"""`muster doctor` finds what is wrong, names a remedy and changes nothing."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from conftest import Done, Muster
from muster.fleet import Fleet

CHECKS = ["python", "muster", "tmux", "git", "identity", "home", "disk", "socket", "settings", "registry"]


def found(done: Done) -> dict[str, tuple[str, str]]:
    """Grade and finding by the check's name."""
    return {one["name"]: (one["grade"], one["found"]) for one in done.json}


def examine(muster: Muster, **env: str) -> tuple[int, dict[str, tuple[str, str]]]:
    done = muster("doctor", "--format", "json", env=env, check=False)
    return done.code, found(done)


def files(folder: Path) -> dict[str, tuple[int, int]]:
    """Every file and folder with its size and its time; SQLite's own aside."""
    every = {path: path.lstat() for path in folder.rglob("*") if not path.name.startswith("muster.db-")}
    return {str(path): (stat.st_size, stat.st_mtime_ns) for path, stat in every.items() if path.is_file()}


def program(folder: Path, name: str, says: str) -> str:
    """A PATH on which that program says something else."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\necho '{says}'\n")
    (folder / name).chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


def test_all_is_well_before_the_first_agent_and_nothing_is_made(home: Path, repo: Path, muster: Muster) -> None:
    home.rmdir()
    done = muster("doctor")
    assert repo.is_dir()
    assert done.err == "all is well\n"
    assert {line.split()[0] for line in done.lines} == {"ok"}
    assert not home.exists()
    assert [name for name in CHECKS if name not in found(muster("doctor", "--format", "json"))] == []


def test_a_healthy_fleet_has_no_warning_and_is_not_touched(
    repo: Path, home: Path, fleet: Fleet, muster: Muster
) -> None:
    assert repo.is_dir()
    fleet.create("fix", "command", args=("cat",))
    fleet.create("gone", "command", args=("true",))
    fleet.wait(["gone"], ["done"])
    fleet.create("off", "command", args=("cat",))
    fleet.stop(["off"])
    before = files(home)
    code, checks = examine(muster)
    assert (code, {grade for grade, _ in checks.values()}) == (0, {"ok"}), checks
    assert files(home) == before


@pytest.mark.parametrize(
    ("name", "says", "grade"),
    [
        ("tmux", "tmux 3.1c", "fail"),
        ("tmux", "tmux 3.2", "ok"),
        ("tmux", "tmux next-3.6", "ok"),
        ("tmux", "tmux master", "warn"),
        ("git", "git version 2.37.9", "fail"),
        ("git", "git version 2.38.0", "ok"),
        ("git", "git version 3.0", "ok"),
    ],
)
def test_versions_that_are_too_old_fail(name: str, says: str, grade: str, muster: Muster, tmp_path: Path) -> None:
    code, checks = examine(muster, PATH=program(tmp_path / "bin", name, says))
    assert checks[name][0] == grade
    assert code == (1 if grade == "fail" else 0)


def test_missing_programs_fail_with_a_hint(muster: Muster, tmp_path: Path) -> None:
    done = muster("doctor", env={"PATH": str(tmp_path)}, check=False)
    assert done.code == 1
    lines = [line.split() for line in done.lines]
    assert ["fail", "tmux", "not", "installed"] in lines
    assert ["fail", "git", "not", "installed"] in lines
    assert ["hint:", "install", "tmux", "3.2", "or", "newer"] in lines


def test_who_commits_is_asked(muster: Muster, tmp_path: Path) -> None:
    (tmp_path / "none").write_text("")
    code, checks = examine(muster, GIT_CONFIG_GLOBAL=str(tmp_path / "none"))
    assert (code, checks["identity"][0]) == (0, "warn")


def test_the_home_is_looked_at(home: Path, muster: Muster) -> None:
    home.chmod(0o755)
    code, checks = examine(muster)
    assert (code, checks["home"][0]) == (0, "warn")
    home.rmdir()
    home.write_text("a file")
    code, checks = examine(muster)
    assert (code, checks["home"]) == (1, ("fail", f"`{home}` is not a folder"))


def test_a_home_that_cannot_be_written_fails(home: Path, muster: Muster) -> None:
    (home / "file").write_text("no folder can be made in a file, not even by root")
    code, checks = examine(muster, MUSTER_HOME=f"{home}/file/home")
    assert (code, checks["home"][0]) == (1, "fail")


def test_a_long_home_has_its_socket_elsewhere(home: Path, muster: Muster) -> None:
    code, checks = examine(muster, MUSTER_HOME=f"{home}/{'x' * 100}")
    assert (code, checks["socket"][0]) == (0, "ok")
    assert f"/tmp/muster-{os.getuid()}/" in checks["socket"][1]


def test_a_damaged_registry_fails(home: Path, muster: Muster) -> None:
    (home / "muster.db").write_bytes(b"not a database" * 1000)
    code, checks = examine(muster)
    assert (code, checks["registry"][0]) == (1, "fail")


def test_wrong_settings_fail_with_file_and_key(repo: Path, muster: Muster) -> None:
    (repo / "muster.toml").write_text("[create]\nmode = 3\n")
    done = muster("doctor", "--format", "json", check=False)
    assert done.code == 1
    grade, said = found(done)["settings"]
    assert grade == "fail"
    assert f"{repo}/muster.toml" in said
    assert "create.mode" in said
    code, checks = examine(muster, MUSTER_CREATE_MDOE="clone")
    assert (code, checks["settings"][0]) == (1, "fail")


def test_types_without_their_program_are_warned_of(home: Path, muster: Muster) -> None:
    (home / "config.toml").write_text(
        '[types.review]\nargs = ["no-such-program", "--fast"]\n[types.list]\nargs = ["ls"]\n'
    )
    code, checks = examine(muster)
    assert code == 0
    assert checks["type review"] == ("warn", "there is no program `no-such-program` on $PATH")
    assert checks["type list"][0] == "ok"


def test_what_crashes_leave_is_found_and_gc_clears_it(repo: Path, home: Path, fleet: Fleet, muster: Muster) -> None:
    assert repo.is_dir()
    agent = fleet.create("fix", "command", args=("cat",))
    with fleet.registry.locked(agent.id):
        half = fleet.registry.get("fix")
        fleet.registry.save(
            type(half)(**{**{f: getattr(half, f) for f in half.__struct_fields__}, "intent": "destroying"})
        )
    fleet.seat("local").server.run("new-session", "-d", "-s", "ghost", "sleep 1000")
    (home / "work" / "nobody").mkdir()
    (home / "agents" / "nobody").mkdir()
    (home / "locks" / "nobody").touch()
    code, checks = examine(muster)
    assert code == 0
    for name, what in {
        "half-made": "`fix` (destroying)",
        "sessions of no agent": "`ghost`",
        "workspaces of no agent": f"`{home}/work/nobody`",
        "folders of no agent": f"`{home}/agents/nobody`",
        "locks of no agent": "`nobody`",
    }.items():
        assert checks[name] == ("warn", what)
    muster("gc")
    code, checks = examine(muster)
    assert (code, {grade for grade, _ in checks.values()}) == (0, {"ok"}), checks
    assert not (home / "locks" / "nobody").exists()


def test_agents_whose_session_or_workspace_is_gone_are_named(repo: Path, fleet: Fleet, muster: Muster) -> None:
    assert repo.is_dir()
    agent = fleet.create("fix", "command", args=("cat",))
    fleet.seat("local").server.run("kill-server")
    subprocess.run(["rm", "-rf", agent.workspace.path], check=True)
    _, checks = examine(muster)
    assert checks["agents without session"] == ("warn", "`fix`")
    assert checks["agents without workspace"] == ("warn", "`fix`")


def test_a_lock_that_git_left_is_named_when_it_is_old(repo: Path, fleet: Fleet, muster: Muster) -> None:
    agent = fleet.create("fix", "command", args=("cat",))
    lock = repo / ".git" / "worktrees" / os.path.basename(agent.workspace.path) / "index.lock"
    lock.touch()
    assert examine(muster)[1]["locks that git left"][0] == "ok"
    os.utime(lock, (time.time() - 3600,) * 2)
    assert examine(muster)[1]["locks that git left"] == ("warn", f"`{lock}`")
