"""Repositories as they are: submodules, sparse checkouts, detached heads, no commit, no git at all."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from conftest import Muster
from muster.fleet import Fleet


def git(*words: str, cwd: Path | str | None = None) -> str:
    done = subprocess.run(["git", *words], capture_output=True, text=True, check=False, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return done.stdout


def workspace(fleet: Fleet, name: str) -> Path:
    return Path(fleet.agent(name).workspace.path)


def test_submodules_come_along_and_their_work_is_kept(home: Path, repo: Path, muster: Muster, fleet: Fleet) -> None:
    library = home.parent / "library"
    library.mkdir()
    git("init", "--quiet", cwd=library)
    (library / "code.py").write_text("one\n")
    git("add", ".", cwd=library)
    git("commit", "--quiet", "-m", "library", cwd=library)
    git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library), "lib")
    git("commit", "--quiet", "-m", "with a library")
    library.rename(home.parent / "gone")  # there is no network: what is here must do
    muster("create", "fix", "--", "cat")
    inside = workspace(fleet, "fix") / "lib"
    assert (inside / "code.py").read_text() == "one\n"
    assert git("remote", "get-url", "origin", cwd=inside).strip() == str(library)
    (inside / "code.py").write_text("two\n")
    git("commit", "--quiet", "-am", "only here", cwd=inside)
    (inside / "new.py").write_text("uncommitted\n")
    muster("destroy", "fix")
    assert not inside.exists()
    muster("restore", "fix")
    assert (inside / "code.py").read_text() == "two\n"
    assert (inside / "new.py").read_text() == "uncommitted\n"
    assert "only here" in git("log", "--oneline", cwd=inside)
    assert git("status", "--porcelain") == ""


def test_a_repository_inside_the_workspace_is_kept(repo: Path, muster: Muster, fleet: Fleet) -> None:
    muster("create", "fix", "--", "cat")
    inner = workspace(fleet, "fix") / "inner"
    git("init", "--quiet", str(inner))
    (inner / "file").write_text("by the agent")
    git("add", ".", cwd=inner)
    git("commit", "--quiet", "-m", "inner", cwd=inner)
    muster("destroy", "fix")
    muster("restore", "fix")
    assert (inner / "file").read_text() == "by the agent"
    assert "inner" in git("log", "--oneline", cwd=inner)


def test_sparse_checkouts_stay_sparse(repo: Path, muster: Muster, fleet: Fleet) -> None:
    (repo / "big").mkdir()
    (repo / "big" / "file").write_text("big")
    git("add", ".")
    git("commit", "--quiet", "-m", "big")
    git("sparse-checkout", "set", "src")
    muster("create", "fix", "--", "cat")
    assert sorted(os.listdir(workspace(fleet, "fix"))) == [".git", ".gitignore", "README.md", "src"]
    assert git("status", "--porcelain", cwd=workspace(fleet, "fix")) == ""


def test_a_detached_head_is_a_start_like_any(repo: Path, muster: Muster, fleet: Fleet) -> None:
    git("checkout", "--quiet", "--detach", "HEAD~1")
    muster("create", "fix", "--", "cat")
    assert git("log", "--format=%s", cwd=workspace(fleet, "fix")) == "first\n"


def test_without_a_commit_and_without_git(home: Path, muster: Muster, fleet: Fleet) -> None:
    empty = home.parent / "empty"
    empty.mkdir()
    done = muster("create", "fix", "--", "cat", cwd=empty, check=False)
    assert done.code == 2 and "is not in a git repository" in done.err and "--mode copy" in done.err
    git("init", "--quiet", cwd=empty)
    done = muster("create", "fix", "--", "cat", cwd=empty, check=False)
    assert done.code == 2 and "has no commit yet" in done.err
    (empty / "file").write_text("content")
    muster("create", "fix", "--mode", "copy", "--", "cat", cwd=empty)
    assert (workspace(fleet, "fix") / "file").read_text() == "content"
    muster("create", "here", "--mode", "in-place", "--", "cat", cwd=empty)
    assert workspace(fleet, "here") == empty
    muster("destroy", "here")
    assert (empty / "file").read_text() == "content"


def test_a_copy_is_kept_as_a_tar(home: Path, muster: Muster, fleet: Fleet) -> None:
    folder = home.parent / "plain"
    folder.mkdir()
    (folder / "file").write_text("theirs")
    muster("create", "fix", "--mode", "copy", "--", "cat", cwd=folder)
    (workspace(fleet, "fix") / "file").write_text("the agent's")
    (workspace(fleet, "fix") / "locked").mkdir(mode=0o500)
    muster("destroy", "fix")
    muster("restore", "fix")
    assert (workspace(fleet, "fix") / "file").read_text() == "the agent's"
    assert (folder / "file").read_text() == "theirs"


def test_a_clone_is_independent(repo: Path, muster: Muster, fleet: Fleet) -> None:
    muster("create", "fix", "--mode", "clone", "--", "cat")
    place = workspace(fleet, "fix")
    (place / "new").write_text("new")
    git("add", "new", cwd=place)
    git("commit", "--quiet", "-m", "in the clone", cwd=place)
    git("branch", "side", cwd=place)
    assert git("branch", "--format=%(refname:short)") == "main\n"
    assert muster("pull", "fix").code == 0
    assert (repo / "new").exists()
    muster("destroy", "fix")
    refs = git("for-each-ref", "--format=%(refname)", "refs/muster/attic")
    assert any(ref.endswith("/heads/side") for ref in refs.splitlines())


def test_an_agent_that_breaks_its_checkout_loses_nothing(repo: Path, muster: Muster, fleet: Fleet) -> None:
    for number, harm in enumerate(
        [
            "rm -rf .git",
            'rm -rf "$PWD"',
            "git checkout -q --orphan lost",
            "rm -rf * .[a-z]*",
            "echo x >$(git rev-parse --git-dir)/index",
        ]
    ):
        name = f"harm-{number}"
        muster("create", name, "--", "cat")
        muster(
            "exec", name, "--", "sh", "-c", "echo work >work && git add work && git commit -qm work && echo new >new"
        )
        tip = git("rev-parse", f"muster/{name}").strip()
        muster("exec", name, "--", "sh", "-c", harm)
        muster("destroy", name, "--branch")
        [kept] = [kept for kept in fleet.kept("attic") if kept.agent.name == name]
        holding = git("for-each-ref", "--contains", tip, "--format=%(refname)", "refs/muster/attic").split()
        assert any(f"/{name}/" in ref for ref in holding), harm
        if number in (0, 2, 4):
            muster("restore", name)
            assert (workspace(fleet, name) / "new").read_text() == "new\n"
        assert kept.agent.name == name


def test_an_agent_made_from_anothers_workspace_outlives_it(repo: Path, muster: Muster, fleet: Fleet) -> None:
    muster("create", "first", "--", "cat")
    muster("exec", "first", "--", "sh", "-c", "echo one >one && git add one && git commit -qm one && echo two >two")
    muster("create", "second", "--from", "first", "--dirty", "carry", "--", "cat")
    muster("create", "third", "--dirty", "ignore", "--", "cat", cwd=workspace(fleet, "first"))
    muster("destroy", "first", "--branch")
    second, third = fleet.agent("second"), fleet.agent("third")
    assert {second.project, third.project, second.workspace.source} == {str(repo)}
    assert (workspace(fleet, "second") / "two").read_text() == "two\n"
    assert git("log", "-1", "--format=%s", cwd=workspace(fleet, "third")) == "one\n"
    muster("destroy", "second", "third", "--branch")
    assert git("worktree", "list").count("\n") == 1


def test_a_repository_that_is_gone_does_not_hold_its_agents_back(home: Path, repo: Path, muster: Muster) -> None:
    muster("create", "fix", "--", "cat")
    place = workspace(Fleet.open(), "fix")
    (place / "precious").write_text("precious")
    repo.rename(home.parent / "moved")
    os.chdir(home.parent)
    muster("destroy", "fix")
    assert not place.exists()
    [kept] = Fleet.open().kept("attic")
    listing = subprocess.run(
        ["tar", "-tf", f"{home}/attic/{kept.id}/work.tar"], capture_output=True, text=True, check=True
    )
    assert any(name.endswith("/precious") for name in listing.stdout.splitlines())


def test_hooks_of_git_that_call_muster(repo: Path, muster: Muster, fleet: Fleet) -> None:
    # git sets GIT_DIR and GIT_INDEX_FILE for its hooks, which would turn every git command of ours the wrong way.
    environment = {"GIT_DIR": str(repo / ".git"), "GIT_INDEX_FILE": str(repo / ".git" / "index"), "GIT_PREFIX": ""}
    muster("create", "fix", "--", "cat", env=environment)
    assert git("status", "--porcelain", cwd=workspace(fleet, "fix")) == ""
    assert git("status", "--porcelain") == ""
