"""Integration: the same line of commits from the same changes, always green, each revertible or marked."""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from integration_lab import LOCAL, Files, Lab, Suite
from muster.errors import NotFound
from muster.mend import Request, branch
from muster.mend.folder import Folder
from muster.mend.integrate import Conflict, Fix, Integration
from muster.mend.integrate.run import integrate

LINES = "".join(f"line {number}\n" for number in range(1, 61))
NewLab = Callable[[Files], Lab]


@pytest.fixture
def new_lab(home: Path) -> NewLab:
    return lambda files: Lab(home.parent / "lab", files)


def changed(number: int, text: str, lines: str = LINES) -> str:
    return lines.replace(f"line {number}\n", f"{text}\n")


def reasons(found: Integration) -> dict[str, str]:
    return {one.fixes[0].agent: one.reason for one in found.aside}


def agents(found: Integration) -> list[str]:
    return [one.patch.agents[0] for one in found.picked]


# -- the line ----------------------------------------------------------------------------------------------------------


def test_tests_first_then_what_a_person_judges_then_fixes_by_rank(new_lab: NewLab) -> None:
    lab = new_lab({"a": LINES, "t/x": LINES, "doc": LINES})
    lab.fix("low", {"a": changed(3, "low")}, green=("one",), severity=2)
    lab.fix("high", {"a": changed(20, "high")}, green=("two", "three"), severity=1)
    lab.fix("grave", {"a": changed(40, "grave")}, green=("four",), severity=5)
    lab.fix("wrong", {"t/x": changed(3, "wrong")}, kind="test", subject="Mend a test")
    lab.fix("words", {"doc": changed(3, "words")}, kind="docs", subject="Mend a word")
    lab.fix("odd", {"t/x": changed(30, "odd")}, kind="review", subject="Loosen a test")
    found = lab.integrate()
    assert lab.line(found) == [
        "Test and documentation changes of 2 tasks",
        "Loosen a test",
        "Change of high",
        "Change of grave",
        "Change of low",
    ]
    assert "Muster-Review:" in lab.message(found.picked[2].commit)
    assert found.picked[0].commit == found.picked[1].commit == found.commits[0]
    assert not found.aside and not found.clashes
    assert lab.show(found.tip, "a").splitlines()[2] == "low" and lab.show(found.tip, "doc").splitlines()[2] == "words"


def test_a_commit_says_what_it_is(new_lab: NewLab) -> None:
    lab = new_lab({"a": LINES})
    more: dict[str, Any] = {
        "tests": ("t/a.py::test[x y]", "b"),
        "before": "failed",
        "after": "passed",
        "summary": "It was\n\nwrong.",
    }
    lab.fix("zed", {"a": changed(3, "good")}, subject="Mend it — süß", task="slug", **more)
    lab.fix("amy", {"a": changed(3, "good")}, subject="Mend it — süß", task="slug", **more)
    lab.fix("bob", {"a": changed(3, "other")}, task="rival")
    found = lab.integrate()
    assert lab.message(found.tip) == (
        "Mend it — süß\n\nIt was\n\nwrong.\n\n"
        "Muster-Test: b\nMuster-Test: t/a.py::test[x y]\nMuster-Agent: amy\nMuster-Agent: zed\n"
        "Muster-Verdict: failed -> passed\nMuster-Conflicts-With: rival (bob)"
    )
    base = lab.git("log", "-1", "--format=%cd", "--date=raw", lab.base)
    form = "--format=%an <%ae> %ad|%cn <%ce> %cd"
    who = f"muster <muster@localhost> {base}"
    assert lab.git("log", "-1", form, "--date=raw", found.tip) == f"{who}|{who}"


def test_ten_shuffled_runs_and_two_repositories_one_id(
    new_lab: NewLab, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = new_lab(
        {f"f{number}": LINES for number in range(5)} | {".gitattributes": "* merge=evil filter=evil eol=crlf\n"}
    )
    chance = random.Random(7)
    for number in range(16):
        text = changed(chance.randrange(1, 12), f"by {number % 12}")
        kind = ("impl", "impl", "test", "docs", "review")[number % 5]
        lab.fix(f"agent-{number}", {f"f{number % 5}": text}, kind=kind, green=(f"t{number}",) * (number % 3 == 0))
    hostile, marker = _hostile(lab, home)
    seen = set()
    for number in range(10):
        chance.shuffle(lab.fixes)
        seen.add(msgspec.json.encode(lab.integrate(jobs=1 + number % 3)))
    assert len(seen) == 1
    elsewhere = {"TZ": "Asia/Tokyo", "LC_ALL": "tr_TR.ISO-8859-9", "GIT_AUTHOR_NAME": "Someone"}
    elsewhere |= {"GIT_COMMITTER_DATE": "@5 +0500", "GIT_EXTERNAL_DIFF": f"touch {marker}", "GIT_CONFIG_COUNT": "2"}
    elsewhere |= {"GIT_CONFIG_KEY_0": "merge.evil.driver", "GIT_CONFIG_VALUE_0": f"touch {marker}; exit 1"}
    elsewhere |= {
        "GIT_CONFIG_KEY_1": "core.attributesFile",
        "GIT_CONFIG_VALUE_1": str(hostile / ".git/info/attributes"),
    }
    for name, value in elsewhere.items():
        monkeypatch.setenv(name, value)
    found = integrate(LOCAL, str(hostile), lab.base, lab.fixes)
    assert written(home, hostile, "mended", found) == "muster/mend/mended"
    assert {msgspec.json.encode(found)} == seen
    assert not marker.exists()
    assert len(found.clashes) > 0 and len(found.commits) > 5
    # Asked in that clone, git does run what it finds there.
    pair = [found.clashes[0].one, found.clashes[0].other]
    commits = [one.patch.fixes[0].commit for one in found.picked if one.patch.key in pair]
    commits += [one.fixes[0].commit for one in found.aside if one.key in pair]
    subprocess.run(["git", "merge-tree", "--write-tree", *commits], cwd=hostile, check=False, capture_output=True)
    assert marker.exists()


def _hostile(lab: Lab, home: Path) -> tuple[Path, Path]:
    """A clone in which much would come out otherwise, or run a program, if git were asked in it."""
    clone, marker = home.parent / "hostile", home.parent / "marker"
    script = home.parent / "script"
    script.write_text(f"#!/bin/sh\ntouch {marker}\nexit 1\n")
    script.chmod(0o755)
    hooks = home.parent / "hooks"
    hooks.mkdir()
    for hook in ("reference-transaction", "post-commit", "pre-commit", "post-checkout", "post-index-change"):
        (hooks / hook).write_text(script.read_text())
        (hooks / hook).chmod(0o755)
    lab.git("clone", "--quiet", "--no-checkout", str(lab.folder), str(clone))
    commits = [fix.commit for fix in lab.fixes]
    lab.git("fetch", "--quiet", "origin", *commits, cwd=clone)
    lab.git("replace", commits[0], commits[1], cwd=clone)
    (clone / ".git/info/attributes").write_text("* merge=evil filter=evil -diff\n")
    (home.parent / "home/.config/git").mkdir(parents=True)
    (home.parent / "home/.config/git/attributes").write_text("* merge=evil\n")
    settings = {
        "core.autocrlf": "true",
        "core.hooksPath": str(hooks),
        "core.fsmonitor": str(script),
        "commit.gpgSign": "true",
        "gpg.program": str(script),
        "user.name": "Somebody Else",
        "i18n.commitEncoding": "ISO-8859-1",
        "merge.evil.driver": str(script),
        "filter.evil.clean": str(script),
        "filter.evil.smudge": str(script),
        "filter.evil.required": "true",
        "merge.renames": "false",
        "diff.renames": "false",
        "merge.renormalize": "true",
        "diff.external": str(script),
        "diff.algorithm": "patience",
        "merge.conflictStyle": "merge",
    }
    for name, value in settings.items():
        lab.git("config", name, value, cwd=clone)
    return clone, marker


def test_nothing_of_the_users_is_touched(new_lab: NewLab, home: Path) -> None:
    lab = new_lab({"a": LINES})
    lab.fix("one", {"a": changed(3, "one")})
    lab.git("checkout", "--quiet", "main")
    (lab.folder / "a").write_text("unsaved")
    before = _state(lab)
    found = lab.integrate()
    assert _state(lab) == before
    assert [written(home, lab.folder, "r", found) for _ in range(2)] == ["muster/mend/r"] * 2
    assert lab.git("rev-parse", "muster/mend/r") == found.tip
    assert lab.git("fsck", "--strict", "--no-dangling") == ""
    # A branch of that name that is somebody's, or that a checkout is on, stays theirs.
    lab.git("branch", "muster/mend/taken", "main")
    assert written(home, lab.folder, "taken", found) == "muster/mend/taken-2"
    lab.git("symbolic-ref", "HEAD", "refs/heads/muster/mend/unborn")
    assert written(home, lab.folder, "unborn", found) == "muster/mend/unborn-2"
    assert lab.git("rev-parse", "muster/mend/taken") == lab.base


def written(home: Path, repo: Path, run: str, found: Integration) -> str:
    """The name of the branch that a run makes of it."""
    return branch.write(Folder(str(home), run), Request(run=run, at=0, top=str(repo), base=found.base), found)


def _state(lab: Lab) -> tuple[str, bytes, str, str]:
    index = (lab.folder / ".git/index").read_bytes()
    return lab.git("for-each-ref"), index, (lab.folder / "a").read_text(), lab.git("symbolic-ref", "HEAD")


def test_the_scratch_folder_is_gone_afterwards(
    new_lab: NewLab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    lab = new_lab({"a": LINES})
    lab.fix("one", {"a": changed(3, "one")})
    lab.integrate()
    with pytest.raises(ZeroDivisionError):
        lab.integrate(check=lambda _: frozenset(str(1 // 0)), expected=frozenset({"x"}))
    assert os.listdir(tmp_path) == []


def test_a_commit_that_is_not_there(new_lab: NewLab) -> None:
    lab = new_lab({"a": LINES})
    with pytest.raises(NotFound, match=r"commit 1111.* is not in"):
        lab.integrate([Fix("1" * 40, "impl", "task", "agent")])
    with pytest.raises(NotFound, match="nowhere"):
        integrate(LOCAL, str(lab.folder), "nowhere", [])
    assert lab.integrate([]).tip == lab.base


def test_a_shallow_clone_will_do(new_lab: NewLab, home: Path) -> None:
    lab = new_lab({"a": LINES})
    lab.at(lab.base)
    lab.base = lab._commit("second", {"b": LINES})
    lab.git("update-ref", "refs/heads/main", lab.base)
    first = lab.fix("one", {"a": changed(3, "one")})
    lab.fix("one", {"b": changed(3, "one")}, on=first.commit)
    for number, fix in enumerate(lab.fixes):
        lab.git("branch", f"b{number}", fix.commit)
    shallow = home.parent / "shallow"
    lab.git("clone", "--quiet", "--depth", "3", "--no-single-branch", f"file://{lab.folder}", str(shallow))
    lab.git("fetch", "--quiet", "--depth", "1", "origin", "main", cwd=shallow)
    assert integrate(LOCAL, str(shallow), lab.base, lab.fixes).tip == lab.integrate().tip


# -- equal, near, far --------------------------------------------------------------------------------------------------


def test_equal_patches_come_once_and_more_finders_rank_higher(new_lab: NewLab) -> None:
    lab = new_lab({"a": LINES, "b": LINES})
    lab.fix("alone", {"a": changed(3, "alone")}, severity=5)
    first = lab.fix("other", {"b": changed(50, "aside")})
    for agent in ("ben", "amy", "amy"):
        lab.fix(agent, {"a": changed(30, "found")}, subject=f"{agent} found it")
    lab.fix("zoe", {"a": changed(30, "found")}, on=first.commit)  # the same, on top of something else
    lab.fix("spaces", {"a": changed(31, "    found")})
    lab.fix("tabs", {"a": changed(31, "\tfound")})
    found = lab.integrate()
    assert found.picked[0].patch.agents == ("amy", "ben", "zoe")
    assert lab.line(found)[0] == "amy found it"
    # Indentation is meaning: these two are not equal, so they conflict.
    assert len([one for one in found.clashes if "a" in one.files]) >= 1
    assert {"spaces", "tabs"} & set(reasons(found))


def test_of_equal_patches_the_most_careful_judgement_stands(new_lab: NewLab) -> None:
    lab = new_lab({"t/x": LINES, "doc": LINES})
    lab.fix("sure", {"t/x": changed(3, "same")}, kind="test")
    lab.fix("unsure", {"t/x": changed(3, "same")}, kind="review")
    lab.fix("writer", {"doc": changed(3, "words")}, kind="docs")
    found = lab.integrate()
    assert [one.patch.kind for one in found.picked] == ["docs", "review"] and len(found.commits) == 2


def test_any_repository_will_do(new_lab: NewLab, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_DEFAULT_HASH", "sha256")
    lab = new_lab({"a": LINES})
    first = lab.fix("one", {"a": changed(3, "one")})
    lab.fix("two", {"a": changed(9, "two")}, on=first.commit)
    tree, bare = home.parent / "a tree: 'süß' \"x\"", home.parent / "bare"
    lab.git("worktree", "add", "--quiet", str(tree), lab.base)
    lab.git("clone", "--quiet", "--mirror", "--shared", str(lab.folder), str(bare))
    found = lab.integrate()
    assert len(found.tip) == 64 and len(found.commits) == 2
    for repo in (tree, bare):
        assert integrate(LOCAL, str(repo), lab.base, lab.fixes) == found
        name = written(home, repo, f"in-{repo.name[0]}", found)
        assert lab.git("rev-parse", name, cwd=repo) == found.tip
    assert lab.git("status", "--porcelain", cwd=tree) == ""


def test_the_same_words_in_another_place_are_another_patch(new_lab: NewLab) -> None:
    block = "same\n" * 4 + "return\n" + "same\n" * 4
    lab = new_lab({"a": block + "middle\n" * 9 + block})
    guarded = block.replace("return", "guard\nreturn")
    lab.fix("one", {"a": guarded + "middle\n" * 9 + block})
    lab.fix("two", {"a": block + "middle\n" * 9 + guarded})
    found = lab.integrate()
    assert lab.show(found.tip, "a").count("guard") == 2


@pytest.mark.parametrize("binary", [b"\0" + bytes(range(256)), b"text\r\nwith carriage\r\n", "süß\n".encode("latin-1")])
def test_bytes_stay_as_they_are(new_lab: NewLab, binary: bytes) -> None:
    names = ["plain", "with space", "süß/Ünï", "new\nline", 'quote"d\\', "-dash"]
    lab = new_lab({"a": LINES, "old": binary})
    for number, name in enumerate(names):
        lab.fix(f"agent-{number}", {name: binary + bytes([65 + number])})
    lab.fix("rival", {"new\nline": binary + b"Z"})
    lab.fix("edit", {"old": binary + b"more\n"})
    found = lab.integrate()
    assert len(found.aside) == 1 and found.aside[0].files == ("new\nline",)
    for name in [*names, "old"]:
        out = subprocess.run(["git", "show", f"{found.tip}:{name}"], capture_output=True, check=True, cwd=lab.folder)
        assert out.stdout.startswith(binary)
    assert msgspec.json.decode(msgspec.json.encode(found), type=Integration) == found


def test_two_binary_changes_of_one_file_conflict(new_lab: NewLab) -> None:
    lab = new_lab({"a": b"\0base"})
    lab.fix("one", {"a": b"\0one"}, severity=4)
    lab.fix("two", {"a": b"\0two"})
    found = lab.integrate()
    assert agents(found) == ["one"] and reasons(found) == {"two": "conflict with task-one (one)"}


def test_a_name_that_is_no_utf8(new_lab: NewLab) -> None:
    lab = new_lab({"a": LINES})
    lab.fix("one", {os.fsdecode(b"f\xff"): "one\n"}, severity=4)
    lab.fix("two", {os.fsdecode(b"f\xff"): "two\n"})
    found = lab.integrate(resolve=lambda _: None)
    assert reasons(found) == {"two": "conflict with task-one (one)"}
    assert msgspec.json.decode(msgspec.json.encode(found), type=Integration) == found


def test_a_rename_and_an_edit_go_together(new_lab: NewLab) -> None:
    lab = new_lab({"old": LINES})
    lab.fix("mover", {"old": None, "folder/new": LINES})
    lab.fix("editor", {"old": changed(3, "edited")})
    found = lab.integrate()
    assert "edited" in lab.show(found.tip, "folder/new") and not found.clashes
    assert lab.git("ls-tree", "-r", "--name-only", found.tip) == "folder/new"


def test_modes_additions_and_removals(new_lab: NewLab) -> None:
    lab = new_lab({"run": LINES, "dir/a": LINES, "dir/b": LINES})
    lab.at(lab.base)
    os.chmod(lab.folder / "run", 0o755)
    lab.git("commit", "--quiet", "-am", "Make it a program")
    lab.made(lab.git("rev-parse", "HEAD"), "mode", severity=5)
    lab.fix("editor", {"run": changed(3, "edited")})
    lab.fix("adds", {"new": "one\n"}, severity=5)
    lab.fix("adds-too", {"new": "two\n"})
    lab.fix("removes", {"dir/a": None, "dir/b": None}, severity=5)
    lab.fix("edits-removed", {"dir/b": changed(3, "edited")})
    lab.at(lab.base)
    lab.git("rm", "-rq", "dir")
    lab.made(lab._commit("A file for a folder", {"dir": "file\n"}), "flat")
    found = lab.integrate()
    assert lab.git("ls-tree", found.tip, "run").startswith("100755") and "edited" in lab.show(found.tip, "run")
    assert set(reasons(found)) == {"adds-too", "edits-removed"}
    assert lab.show(found.tip, "dir") == "file"


def test_what_changes_nothing_and_what_has_no_line(new_lab: NewLab) -> None:
    lab = new_lab({"a": LINES})
    lab.fix("empty", {})
    small = lab.fix("small", {"a": changed(3, "same")})
    both = changed(40, "more", changed(3, "same"))
    lab.fix("big", {"a": both}, green=("x",))
    other = lab.fix("side", {"b": "b\n"})
    lab.at(small.commit)
    lab.git("merge", "--quiet", "--no-edit", other.commit)
    lab.made(lab.git("rev-parse", "HEAD"), "merger")
    lab.git("checkout", "--quiet", "--orphan", "island")
    lab.made(lab._commit("Far away", {"a": "island\n"}), "island")
    found = lab.integrate()
    assert reasons(found) == {
        "empty": "empty: it changes nothing of the base",
        "small": "empty: already there",
        "merger": "its history has a merge in it",
        "island": "its history does not lead to the base",
    }


def test_a_second_try_after_the_others(new_lab: NewLab) -> None:
    lab = new_lab({"a": LINES})
    lab.fix("upper", {"a": changed(3, "upper")}, severity=5)
    lab.fix("both", {"a": changed(4, "lower", changed(3, "upper"))}, severity=4)
    lab.fix("lower", {"a": LINES}, severity=1)
    lab.fix("lower", {"a": changed(4, "lower", changed(3, "upper"))}, on=lab.fixes[0].commit, severity=2)
    found = lab.integrate()
    assert lab.show(found.tip, "a") == changed(4, "lower", changed(3, "upper")).strip()
    assert reasons(found)["both"] == "empty: already there"


def test_a_commit_built_upon_another_comes_after_it(new_lab: NewLab) -> None:
    lab = new_lab({"a": LINES, "b": LINES})
    first = lab.fix("dev", {"a": changed(3, "first")}, severity=1, subject="First")
    second = lab.fix("dev", {"b": changed(3, "second")}, on=first.commit, severity=2, subject="Second")
    third = lab.fix("dev", {"a": changed(3, "third")}, on=second.commit, severity=5, subject="Third")
    found = lab.integrate()
    assert lab.line(found) == ["First", "Second", "Third"]
    assert [len(one.patch.needs) for one in found.picked] == [0, 0, 1]
    assert f"Muster-Needs: {found.picked[0].commit}" in lab.message(found.tip)
    assert [one.needed_by for one in found.picked] == [(found.tip,), (), ()]
    alone = lab.integrate([third, second])
    assert lab.line(alone) == ["Second"]
    assert reasons(alone) == {"dev": f"needs {first.commit}, which is not in the branch"}


# -- green -------------------------------------------------------------------------------------------------------------


def project(**values: object) -> dict[str, str]:
    """A program of constants, far enough apart to be changed one by one, and a test for what they should be."""
    return {f"{name}.py": f"value = {value!r}\n" for name, value in values.items()}


def script(text: str) -> dict[str, str]:
    return {f"t/{line.split(':')[0]}.py": line.partition(":")[2].strip() + "\n" for line in text.strip().splitlines()}


def test_the_tip_is_green_and_each_commit_was_looked_at(new_lab: NewLab) -> None:
    lab = new_lab(
        project(a=0, b=0) | script("x: import a; assert a.value == 1\ny: import b; assert b.value == 1\nz: 1")
    )
    lab.fix("one", {"a.py": "value = 1\n"}, green=("x",), tests=("x",))
    lab.fix("two", {"b.py": "value = 1\n"}, green=("y",), tests=("y",))
    suite = Suite(lab)
    found = lab.integrate(check=suite, expected=frozenset({"z"}))
    assert found.checks[found.tip] == () and set(found.checks) == set(found.commits)
    assert sorted(suite.asked) == sorted(set(suite.asked))
    memory = {commit: frozenset(red) for commit, red in found.checks.items()}
    again = lab.integrate(check=suite, expected=frozenset({"z"}), checks=memory)
    assert again == found and len(suite.asked) == 2


def test_a_red_one_is_found_with_few_checks(new_lab: NewLab) -> None:
    names = [f"m{number}" for number in range(32)]
    lab = new_lab(
        project(**dict.fromkeys(names, 0))
        | script("all: import glob; [exec(open(p).read()) for p in glob.glob('m*.py')]")
    )
    for number, name in enumerate(names):
        text = "raise SystemError\n" if number == 21 else f"value = {number + 1}\n"
        lab.fix(name, {f"{name}.py": text}, severity=1 + number % 5)
    suite = Suite(lab)
    found = lab.integrate(check=suite, expected=frozenset({"all"}), each=False)
    assert reasons(found) == {"m21": "red: all"} and found.aside[0].red == ("all",)
    assert len(found.picked) == 31 and found.checks[found.tip] == ()
    # The tip, five halvings of 32, the change by itself, the new tip.
    assert len(suite.asked) <= 8 and len(set(suite.asked)) == len(suite.asked)


def test_green_apart_and_red_together(new_lab: NewLab) -> None:
    lab = new_lab(project(a=0, b=0, c=0, d=0, e=0) | script("sum: import a, c; assert a.value + c.value < 2"))
    for severity, name in enumerate("ebcda", 1):
        lab.fix(name, {f"{name}.py": "value = 1\n"}, severity=severity)
    suite = Suite(lab)
    found = lab.integrate(check=suite, expected=frozenset({"sum"}))
    assert reasons(found) == {"c": "red together with task-a (a): sum"}
    assert found.aside[0].why == "red-together" and found.aside[0].against == ("task-a (a)",)
    assert agents(found) == ["a", "d", "b", "e"] and not any(found.checks[one] for one in found.commits)


def test_several_red_ones_at_once(new_lab: NewLab) -> None:
    tests = (
        "x: import a; assert a.value < 2\ny: import b; assert b.value < 2\nz: import a, c; assert a.value + c.value < 3"
    )
    lab = new_lab(project(a=0, b=0, c=0, d=0) | script(tests))
    lab.fix("a", {"a.py": "value = 5\n"}, severity=5)
    lab.fix("a2", {"a.py": "value = 1\n"}, severity=1)  # gets in because the better one is red
    lab.fix("b", {"b.py": "value = 5\n"})
    lab.fix("c", {"c.py": "value = 2\n"}, severity=4)
    lab.fix("d", {"d.py": "value = 5\n"})
    found = lab.integrate(check=Suite(lab), expected=frozenset("xyz"))
    assert reasons(found) == {"a": "red: x", "b": "red: y", "a2": "red together with task-c (c): z"}
    assert sorted(agents(found)) == ["c", "d"]


def test_what_was_set_aside_because_of_a_red_one_comes_back(new_lab: NewLab) -> None:
    lab = new_lab(
        project(a=0, c=0) | script("p: import a, c; assert a.value + c.value < 2\nq: import a; assert a.value < 1")
    )
    lab.fix("a", {"a.py": "value = 1\n"}, severity=5)
    lab.fix("c", {"c.py": "value = 1\n"}, severity=1)
    found = lab.integrate(check=Suite(lab), expected=frozenset("pq"))
    assert agents(found) == ["c"] and reasons(found) == {"a": "red: q"}


def test_a_test_change_may_be_red_until_its_fix(new_lab: NewLab) -> None:
    lab = new_lab(project(a=0, b=0, c=0) | script("x: import a\ny: import b\nz: import c"))
    test = lab.fix("dev", {"t/x.py": "import a; assert a.value == 1\n"}, kind="test", tests=("x",))
    fix = lab.fix("dev", {"a.py": "value = 1\n"}, tests=("x",))
    lab.fix("docs", {"README": "words\n"}, kind="docs")
    lab.fix("other", {"c.py": "value = 1\n"}, severity=5)
    lab.fix("strict", {"t/y.py": "import b; assert b.value == 1\n"}, kind="test", tests=("y",), severity=5)
    found = lab.integrate(check=Suite(lab), expected=frozenset("xyz"))
    assert reasons(found) == {"strict": "red: y"}
    assert set(agents(found)) == {"dev", "docs", "other"} and len(found.commits) == 3
    assert found.checks[found.commits[0]] == ("x",) and found.checks[found.tip] == ()
    assert lab.show(found.tip, "t/y.py") == "import b"
    without = lab.integrate([one for one in lab.fixes if one != fix], check=Suite(lab), expected=frozenset("xyz"))
    assert reasons(without) == {"strict": "red: y", "dev": "red: x"}
    assert test.commit in {one.fixes[0].commit for one in without.aside}


def test_a_claim_that_does_not_hold_in_the_line(new_lab: NewLab) -> None:
    lab = new_lab(project(a=0, b=0) | script("x: import a; assert a.value == 1\ny: 1"))
    lab.fix("right", {"a.py": "value = 1\n"}, green=("x",))
    lab.fix("liar", {"b.py": "value = 1\n"}, green=("w", "y"), severity=5)
    lab.fix("w", {"t/w.py": "assert False\n"}, kind="test")
    found = lab.integrate(check=Suite(lab), expected=frozenset("y"))
    assert set(reasons(found)) == {"liar"} and agents(found) == ["w", "right"]


def test_a_fix_goes_after_what_it_was_seen_to_need(new_lab: NewLab) -> None:
    lab = new_lab(project(a=0, b=0) | script("x: import a, b; assert a.value <= b.value"))
    lab.fix("user", {"a.py": "value = 1\n"}, severity=5)
    lab.fix("maker", {"b.py": "value = 1\n"}, severity=1)
    found = lab.integrate(check=Suite(lab), expected=frozenset("x"))
    assert agents(found) == ["maker", "user"] and not found.aside
    assert found.picked[0].needed_by == (found.tip,)
    assert f"Muster-Needs: {found.picked[0].commit}" in lab.message(found.tip)
    assert not any(found.checks[one] for one in found.commits)


def test_what_is_red_at_the_base_is_nobodys_fault(new_lab: NewLab) -> None:
    lab = new_lab(project(a=0, b=0) | script("broken: assert False\nx: import a; assert a.value < 2"))
    lab.fix("one", {"a.py": "value = 1\n"})
    lab.fix("two", {"b.py": "value = 1\n"})
    found = lab.integrate(check=Suite(lab), expected=frozenset({"broken", "x"}))
    assert found.unsteady == ("broken",) and len(found.picked) == 2


def test_what_needs_a_red_one_goes_with_it(new_lab: NewLab) -> None:
    lab = new_lab({"a.py": "value = 0\n" + LINES.replace("line", "# line")} | script("x: import a; assert a.value < 5"))
    first = lab.fix("dev", {"a.py": "value = 6\n" + LINES.replace("line", "# line")}, subject="Six")
    lab.fix("dev", {"a.py": "value = 7\n" + LINES.replace("line", "# line")}, on=first.commit, subject="Seven")
    found = lab.integrate(check=Suite(lab), expected=frozenset("x"))
    assert [one.reason for one in found.aside] == [
        "red: x",
        "needs task-dev (dev): Six, which is not in the branch",
    ] or [one.reason for one in found.aside] == ["needs task-dev (dev): Six, which is not in the branch", "red: x"]
    assert found.tip == lab.base


# -- conflicts ---------------------------------------------------------------------------------------------------------


def rivals(new_lab: NewLab) -> Lab:
    lab = new_lab({"a.py": "value = 0\n", "b.py": "value = 0\n"} | script("x: import a; assert a.value < 10"))
    lab.fix("strong", {"a.py": "value = 1\n"}, severity=5, summary="One is right")
    lab.fix("weak", {"a.py": "value = 2\n"}, severity=1, summary="Two is right")
    lab.fix("other", {"b.py": "value = 1\n"}, severity=2)
    return lab


def test_the_higher_rank_wins_a_conflict(new_lab: NewLab) -> None:
    lab = rivals(new_lab)
    found = lab.integrate()
    assert agents(found) == ["strong", "other"] and reasons(found) == {"weak": "conflict with task-strong (strong)"}
    [clash] = found.clashes
    assert clash.files == ("a.py",) and "CONFLICT" in clash.messages[0]
    assert found.picked[0].conflicts == ("task-weak (weak)",)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (3, ""),
        (30, "conflict with task-strong (strong); resolved, it is red: x"),
        (1, "changes nothing"),
        (None, "conflict with task-strong (strong)"),
    ],
)
def test_an_answer_to_a_conflict_is_tested(new_lab: NewLab, value: int | None, reason: str) -> None:
    lab = rivals(new_lab)
    asked: list[Conflict] = []

    def resolve(conflict: Conflict) -> str | None:
        asked.append(conflict)
        if value is None:
            return None
        lab.at(conflict.tip)
        return lab._commit("By the integrator", {"a.py": f"value = {value}\n"})

    found = lab.integrate(check=Suite(lab), expected=frozenset("x"), resolve=resolve)
    [conflict] = asked
    assert [fix.agent for fix in conflict.fixes] == ["weak"] and [fix.agent for fix in conflict.against] == ["strong"]
    assert conflict.files == ("a.py",)
    for piece in ("One is right", "Two is right", "<<<<<<<", "value = 1", "value = 2", "||||||| "):
        assert piece in conflict.evidence
    if reason:
        assert reason in reasons(found)["weak"] and agents(found) == ["strong", "other"]
    else:
        assert agents(found) == ["strong", "other", "weak"] and found.picked[2].resolved
        assert lab.show(found.tip, "a.py") == "value = 3" and lab.line(found)[-1] == "Change of weak"
        assert "Muster-Resolved-With: task-strong (strong)" in lab.message(found.tip)
        assert found.picked[0].needed_by == (found.tip,)


def test_an_answer_has_to_be_on_top_of_the_tip(new_lab: NewLab) -> None:
    lab = rivals(new_lab)
    found = lab.integrate(resolve=lambda _: lab.base)
    assert "is not on top of" in reasons(found)["weak"]
    found = lab.integrate(resolve=lambda _: "nonsense")
    assert "the answer nonsense is no commit here" in reasons(found)["weak"]


# -- taking back -------------------------------------------------------------------------------------------------------


def test_each_reverts_cleanly_or_says_what_goes_first(new_lab: NewLab) -> None:
    lab = new_lab({"a": LINES, "b": LINES})
    first = lab.fix("dev", {"a": changed(10, "first")})
    second = lab.fix("dev", {"a": changed(10, "second")}, on=first.commit)
    lab.fix("dev", {"a": changed(10, "third")}, on=second.commit)
    lab.fix("far", {"a": changed(50, "far")}, severity=1)
    lab.fix("else", {"b": changed(50, "else")}, severity=1)
    found = lab.integrate()
    assert len(found.picked) == 5
    for one in found.picked:
        lab.at(found.tip)
        for commit in (*one.needed_by, one.commit):
            lab.git("revert", "--no-edit", commit)  # fails on a conflict
    assert [len(one.needed_by) for one in found.picked] == [2, 1, 0, 0, 0]


# -- at random ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [1, 2])
def test_sixty_random_fixes(new_lab: NewLab, seed: int) -> None:
    chance = random.Random(seed)
    lab = new_lab({f"d{number % 3}/f{number}": LINES for number in range(12)})
    while len(lab.fixes) < 60:
        _random_fix(lab, chance)
    found = lab.integrate()
    assert _applied_one_by_one(lab, found) == lab.tree(found.tip)
    chance.shuffle(lab.fixes)
    assert lab.integrate(jobs=3) == found
    inside = {fix for one in found.picked for fix in one.patch.fixes}
    outside = [fix for one in found.aside for fix in one.fixes]
    assert sorted([*inside, *outside], key=repr) == sorted(lab.fixes, key=repr)
    assert found.aside and len(found.picked) > 20


def _random_fix(lab: Lab, chance: random.Random) -> None:
    agent = f"agent-{chance.randrange(25)}"
    own = [fix for fix in lab.fixes if fix.agent == agent]
    lab.at(own[-1].commit if own else lab.base)
    paths = sorted(path for path in lab.folder.rglob("*") if path.is_file() and ".git" not in path.parts)
    path = chance.choice(paths)
    what = chance.random()
    if what < 0.08:
        path.rename(path.with_name(f"{path.name}-moved"))
    elif what < 0.12:
        path.unlink()
    elif what < 0.2:
        (path.parent / f"new{chance.randrange(4)}").write_text(f"{chance.randrange(3)}\n")
    else:
        lines = path.read_text().splitlines(keepends=True)
        start = chance.randrange(len(lines))
        lines[start : start + chance.randrange(3)] = [f"text {chance.randrange(5)}\n"]
        path.write_text("".join(lines))
    lab.git("add", "--all")
    lab.git("commit", "--quiet", "--allow-empty", "-m", f"Change {len(lab.fixes)}")
    kind = chance.choice(["impl", "impl", "impl", "docs", "test", "review"])
    lab.made(lab.git("rev-parse", "HEAD"), agent, kind=kind, severity=chance.randrange(1, 6))


def _applied_one_by_one(lab: Lab, found: Integration) -> str:
    """What `git cherry-pick` makes of them: each put on the base with what it needs, and from there on the line."""
    commits = {one.patch.key: one.patch.fixes[0].commit for one in found.picked}
    pick = ("-c", "merge.directoryRenames=false", "cherry-pick")
    tip = lab.base
    for one in found.picked:
        change = one.patch.fixes[0].commit
        if lab.git("rev-parse", f"{change}^") != lab.base:
            lab.at(lab.base)
            lab.git(*pick, *(commits[key] for key in one.patch.needs), change)
            change = lab.git("rev-parse", "HEAD")
        lab.at(tip)
        lab.git(*pick, change)
        tip = lab.git("rev-parse", "HEAD")
    return lab.tree("HEAD")


@pytest.mark.parametrize("seed", [1, 2])
def test_random_red_ones_are_set_aside_and_no_more_than_must_be(new_lab: NewLab, seed: int) -> None:
    chance = random.Random(seed)
    names = [f"m{number}" for number in range(12)]
    bad = [frozenset(chance.sample(names, size)) for size in (1, 2, 2, 2, 3)]
    tests = [
        f"t{at}: import {', '.join(one)}; assert {' + '.join(f'{name}.value' for name in one)} < {len(one)}"
        for at, one in enumerate(bad)
    ]
    lab = new_lab(project(**dict.fromkeys(names, 0)) | script("\n".join(tests)))
    for name in names:
        lab.fix(name, {f"{name}.py": "value = 1\n"}, severity=chance.randrange(1, 6))
    found = lab.integrate(check=Suite(lab), expected=frozenset(f"t{at}" for at in range(len(bad))))
    kept = set(agents(found))
    assert not any(found.checks[commit] for commit in found.commits)
    assert kept | set(reasons(found)) == set(names)
    assert not [one for one in bad if one <= kept]
    for name in reasons(found):
        assert [one for one in bad if one <= kept | {name}], f"{name} could have stayed"
    for one in found.aside:
        assert {one.fixes[0].agent, *(title[title.index("(") + 1 : -1] for title in one.against)} in bad


def test_submodules_and_links_are_carried_along(new_lab: NewLab) -> None:
    lab = new_lab({"a": LINES})
    for agent, number in (("one", "1"), ("two", "2")):
        lab.at(lab.base)
        lab.git("update-index", "--add", "--cacheinfo", f"160000,{number * 40},library")
        lab.git("commit", "--quiet", "-m", f"Library {number}")
        lab.made(lab.git("rev-parse", "HEAD"), agent, severity=5 - int(number))
    lab.at(lab.base)
    (lab.folder / "link").symlink_to("a")
    lab.made(lab._commit("Link", {}), "linker")
    for agent in ("zed", "zoe"):  # a conflict that is told of after the submodules'
        lab.fix(agent, {"a": changed(3, agent)}, severity=4 if agent == "zoe" else 1)
    found = lab.integrate()
    assert lab.git("ls-tree", found.tip, "library").split()[2] == "1" * 40
    assert lab.git("ls-tree", found.tip, "link").startswith("120000")
    assert reasons(found) == {"two": "conflict with task-one (one)", "zed": "conflict with task-zoe (zoe)"}
    assert sorted(clash.files for clash in found.clashes) == [("a",), ("library",)]
    assert lab.integrate(resolve=lambda _: None) == found


def test_a_change_may_remove_all_there_is(new_lab: NewLab) -> None:
    lab = new_lab({"a": LINES})
    first = lab.fix("one", {"a": None})
    lab.fix("one", {"b": "new\n"}, on=first.commit)
    lab.git("update-ref", "refs/heads/kept", first.commit)
    found = lab.integrate()
    assert lab.git("ls-tree", "-r", "--name-only", found.tip) == "b" and len(found.commits) == 2
    assert lab.tree(lab.integrate([first]).tip) == lab.tree(first.commit)
