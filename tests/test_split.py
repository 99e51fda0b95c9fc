"""Commits are made into commits of one kind, of git objects alone."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from muster.errors import NotFound, Refused
from muster.hosts.local import Local
from muster.mend import Piece
from muster.mend.layout import Layout
from muster.mend.split import split

LAYOUT = Layout(tests=("tests/test_a.py",), testpaths=("tests",))
HERE = Local("/")


def git(*words: str, cwd: str | Path = ".", env: dict[str, str] | None = None) -> str:
    ended = subprocess.run(
        ["git", *words], check=True, capture_output=True, text=True, cwd=cwd, env={**os.environ, **(env or {})}
    )
    return ended.stdout.strip()


def commit(message: str, files: dict[str, str | None], author: str = "Ada <ada@example.org>") -> str:
    for path, text in files.items():
        if text is None:
            os.unlink(path)
        else:
            os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
            Path(path).write_text(text)
    git("add", "--all")
    git("commit", "--quiet", "--allow-empty", "--message", message, "--author", author, "--date", "1700000000 +0200")
    return git("rev-parse", "HEAD")


def tree(name: str, cwd: str | Path = ".") -> str:
    return git("rev-parse", f"{name}^{{tree}}", cwd=cwd)


def kinds(pieces: list[Piece]) -> list[str]:
    return [piece.kind for piece in pieces]


MIXED = {"src/one.py": "x = 1\n", "tests/test_a.py": "y = 1\n", "docs/a b\u00e9.md": "# A\n", "tox.ini": "[tox]\n"}


def test_a_mixed_commit_becomes_one_commit_of_each_kind(repo: Path) -> None:
    tip = commit("Mend all\n\nBecause.", dict(MIXED))
    pieces = split(HERE, str(repo), "main~1", "main", LAYOUT)
    assert kinds(pieces) == ["docs", "test", "settings", "impl"]
    assert [piece.files for piece in pieces] == [
        ("docs/a b\u00e9.md",),
        ("tests/test_a.py",),
        ("tox.ini",),
        ("src/one.py",),
    ]
    assert {piece.original for piece in pieces} == {tip}
    assert tree(pieces[-1].commit) == tree("main")
    line = git("rev-list", "--first-parent", f"main~1..{pieces[-1].commit}").split()
    assert line[::-1] == [piece.commit for piece in pieces]
    for piece in pieces:
        changed = git("-c", "core.quotePath=false", "diff", "--name-only", f"{piece.commit}~1", piece.commit)
        assert changed == piece.files[0]


def test_a_piece_says_whose_part_it_is(repo: Path) -> None:
    tip = commit("Mend all\n\nBecause.\n\nReviewed-by: Bob <bob@example.org>", dict(MIXED))
    piece = split(HERE, str(repo), "main~1", "main", LAYOUT)[1]
    assert piece.subject == "Mend all (tests)"
    message = f"Mend all (tests)\n\nThe tests of {tip}.\n\nBecause.\n\nReviewed-by: Bob <bob@example.org>"
    assert git("log", "-1", "--format=%B", piece.commit) == message
    assert (
        git("log", "-1", "--format=%an <%ae> %ad", "--date=raw", piece.commit)
        == "Ada <ada@example.org> 1700000000 +0200"
    )
    assert git("log", "-1", "--format=%cn", piece.commit) == "muster"
    assert git("log", "-1", "--format=%ct", piece.commit) == git("log", "-1", "--format=%ct", tip)


def test_a_commit_of_one_kind_keeps_its_message(repo: Path) -> None:
    commit("Add a test\n\nIt was missing.", {"tests/test_a.py": "y = 1\n"})
    (piece,) = split(HERE, str(repo), "main~1", "main", LAYOUT)
    assert (piece.kind, piece.subject) == ("test", "Add a test")
    assert git("log", "-1", "--format=%B", piece.commit) == "Add a test\n\nIt was missing."


def test_the_same_commits_give_the_same_ids(repo: Path, tmp_path: Path) -> None:
    commit("one", dict(MIXED))
    commit("two", {"src/one.py": "x = 2\n", "tests/test_a.py": None})
    first = split(HERE, str(repo), "main~2", "main", LAYOUT)
    git("clone", "--quiet", "--bare", str(repo), str(tmp_path / "bare.git"))
    git("config", "user.name", "Somebody else")
    again = split(HERE, str(tmp_path / "bare.git"), "main~2", "main", LAYOUT)
    assert kinds(first) == ["docs", "test", "settings", "impl", "test", "impl"]
    assert again == first


def test_the_checkout_is_left_alone(repo: Path) -> None:
    commit("one", dict(MIXED))
    (repo / "src" / "one.py").write_text("staged\n")
    git("add", "src/one.py")
    (repo / "src" / "two.py").write_text("not staged\n")
    (repo / "new").write_text("")
    before = git("status", "--porcelain"), (repo / ".git" / "index").read_bytes(), sorted(os.listdir(repo / ".git"))
    split(HERE, str(repo), "main~1", "main", LAYOUT)
    after = git("status", "--porcelain"), (repo / ".git" / "index").read_bytes(), sorted(os.listdir(repo / ".git"))
    assert after == before
    assert git("rev-parse", "HEAD") == git("rev-parse", "main")


def test_a_file_that_becomes_a_folder_and_moves_between_kinds(repo: Path) -> None:
    commit("base", {"data": "1\n", "src/helper.py": "x\n", "tests/golden/a": "g\n", "tests/golden/b": "g\n"})
    os.unlink("data")
    git("mv", "src/helper.py", "tests/helper.py")
    os.unlink("tests/golden/a")
    os.unlink("tests/golden/b")
    os.rmdir("tests/golden")
    os.symlink("helper.py", "tests/golden")
    commit("move", {"data/README.md": "# data\n", "run.sh": "#!/bin/sh\n"})
    os.chmod("run.sh", 0o755)
    commit("mode", {})
    pieces = split(HERE, str(repo), "main~2", "main", LAYOUT)
    assert kinds(pieces) == ["docs", "test", "impl", "impl"]
    assert tree(pieces[-1].commit) == tree("main")
    assert "100755" in git("ls-tree", pieces[-1].commit, "run.sh")
    assert "120000" in git("ls-tree", pieces[-1].commit, "tests/golden")


def test_a_merge_is_what_it_changed_against_its_first_parent(repo: Path) -> None:
    git("switch", "--quiet", "-c", "side")
    commit("side", {"src/side.py": "s\n", "tests/test_side.py": "s\n"})
    git("switch", "--quiet", "main")
    commit("here", {"src/one.py": "x\n"})
    base = git("rev-parse", "main~1")
    git("merge", "--quiet", "--no-ff", "-m", "merge", "side")
    pieces = split(HERE, str(repo), base, "main", LAYOUT)
    assert [(piece.kind, piece.files) for piece in pieces] == [
        ("impl", ("src/one.py",)),
        ("test", ("tests/test_side.py",)),
        ("impl", ("src/side.py",)),
    ]
    assert tree(pieces[-1].commit) == tree("main")


def test_nothing_to_split(repo: Path) -> None:
    assert split(HERE, str(repo), "main", "main", LAYOUT) == []
    commit("empty", {})
    assert split(HERE, str(repo), "main~1", "main", LAYOUT) == []


def test_a_message_that_is_no_unicode_and_an_author_without_a_name(repo: Path) -> None:
    tip = commit("x", dict(MIXED))
    raw = b"tree %s\nparent %s\nauthor <> 1 +0000\ncommitter <> 2 +0000\nencoding iso-8859-1\n\nM\xfcll\n" % (
        tree("main").encode(),
        git("rev-parse", "main~1").encode(),
    )
    made = subprocess.run(["git", "hash-object", "-t", "commit", "-w", "--stdin"], input=raw, capture_output=True)
    odd = made.stdout.decode().strip()
    assert odd
    assert odd != tip
    pieces = split(HERE, str(repo), "main~1", odd, LAYOUT)
    assert tree(pieces[-1].commit) == tree("main")
    assert git("log", "-1", "--format=%s", pieces[0].commit) == "M\u00fcll (documentation)"


def test_what_cannot_be_split_is_refused(repo: Path) -> None:
    commit("one", {"src/one.py": "x\n"})
    with pytest.raises(NotFound, match="no commit `nowhere`"):
        split(HERE, str(repo), "main", "nowhere", LAYOUT)
    with pytest.raises(Refused, match="`main~1` is not built on `main`"):
        split(HERE, str(repo), "main", "main~1", LAYOUT)
