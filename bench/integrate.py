"""How long does integration take, without the tests' own time? 100 branches over a repository of 2,000 files.

Each branch is one fix; they fall on 120 files, so many share a file and some conflict. Then the same with a check that
answers at once and names one red test, so that the search for its cause is measured too.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from muster.hosts.local import Local
from muster.mend.integrate import Fix, Integration
from muster.mend.integrate import clashes as conflict_map
from muster.mend.integrate.patches import read
from muster.mend.integrate.run import integrate
from muster.mend.integrate.scratch import opened

T = TypeVar("T")
LOCAL = Local(folder="/")


def git(folder: Path, *words: str, stdin: str = "") -> str:
    done = subprocess.run(["git", *words], cwd=folder, input=stdin.encode(), capture_output=True, check=True)
    return done.stdout.decode().strip()


def text(number: int) -> list[str]:
    return [f"# file {number}\n", *(f"value_{line} = {line}  # a line of a program\n" for line in range(90))]


def stream(files: int, branches: int) -> str:
    """All of it for `git fast-import`: a base, and so many branches of one commit on top of it."""
    chance = random.Random(5)
    who = "Bench <bench@example.org> 1700000000 +0000"
    lines = [f"commit refs/heads/main\nmark :1\ncommitter {who}\ndata 4\nbase\n"]
    for number in range(files):
        lines.append(_file(number, text(number)))
    for branch in range(branches):
        number, line = chance.randrange(120), chance.randrange(2, 12)
        content = text(number)
        content[line] = f"value_{line} = {branch}\n"
        lines.append(f"commit refs/heads/b{branch}\ncommitter {who}\ndata 4\nfix \nfrom :1\n{_file(number, content)}")
    return "".join(lines)


def _file(number: int, lines: list[str]) -> str:
    content = "".join(lines)
    return f"M 100644 inline d{number % 40}/f{number}.py\ndata {len(content)}\n{content}\n"


class Clock:
    """What was measured, in order."""

    def __init__(self) -> None:
        self.figures: list[tuple[str, float, str]] = []

    def __call__(self, label: str, work: Callable[[], T]) -> T:
        begin = time.perf_counter()
        done = work()
        self.figures.append((label, time.perf_counter() - begin, ""))
        return done

    def beside(self, words: str) -> None:
        """What is to be said of the last figure."""
        label, seconds, _ = self.figures[-1]
        self.figures[-1] = (label, seconds, words)


def measure(repo: Path, branches: int) -> list[tuple[str, float, str]]:
    base = git(repo, "rev-parse", "main")
    kinds = ("impl", "impl", "impl", "test")
    fixes = [
        Fix(git(repo, "rev-parse", f"b{number}"), kinds[number % 4], f"task-{number}", f"agent-{number}")  # type: ignore[arg-type]
        for number in range(branches)
    ]
    timed = Clock()
    timed("beside it: 100 x `git --version`", lambda: [git(repo, "--version") for _ in range(100)])
    with opened(LOCAL, str(repo)) as scratch:
        patches, _ = timed(f"{branches} commits read, put on the base, ranked", lambda: read(scratch, base, fixes))
        timed("conflict map, pairs that share a path", lambda: conflict_map.find(scratch, patches, 2))
        every = [(one.alone, other.alone) for at, one in enumerate(patches) for other in patches[:at]]
        timed(f"beside it: all {len(every)} pairs merged", lambda: scratch.merges(every, 2))
    done = timed("the whole: map, line, proof that each reverts", lambda: integrate(LOCAL, str(repo), base, fixes))
    timed.beside(f"{len(done.commits)} commits, {len(done.clashes)} conflicts, {len(done.aside)} set aside")
    one = [each for each in done.picked if each.patch.kind == "impl"][-7].patch.paths[0]
    asked: list[str] = []

    def check(commit: str) -> frozenset[str]:
        """Red where a certain file differs from the base's."""
        asked.append(commit)
        return frozenset({"test"} if git(repo, "diff", "--name-only", base, commit, "--", one) else ())

    def red() -> Integration:
        return integrate(LOCAL, str(repo), base, fixes, check=check, expected=frozenset({"test"}), each=False)

    found = timed("the whole with a red change in it", red)
    red_ones = len([one for one in found.aside if one.why == "red"])
    timed.beside(f"{red_ones} red, found with {len(asked)} checks")
    return timed.figures


def figures(folder: Path, *, files: int, branches: int) -> list[tuple[str, float, str]]:
    """All of it, in a repository made in that folder."""
    git(folder.parent, "init", "--quiet", "--initial-branch=main", str(folder))
    git(folder, "fast-import", "--quiet", stdin=stream(files, branches))
    return measure(folder, branches)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=2_000)
    parser.add_argument("--branches", type=int, default=100)
    wanted = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="mb-", dir="/tmp"))
    os.environ.update(HOME=str(folder), GIT_CONFIG_NOSYSTEM="1")
    try:
        for label, seconds, beside in figures(folder / "repository", files=wanted.files, branches=wanted.branches):
            print(f"{label:58} {seconds * 1000:7.0f} ms  {beside}".rstrip())
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
