"""How many small faults the mechanic repairs, and at what price: `python bench/mechanic.py [--limit SECONDS] [WORD...]`.

Each fault is put into a small project of its own, the mechanic is started on the tests that fail then, and what it did is
checked from outside: all tests in a clean checkout of its commit, and whether the text is the one from before the fault.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from faults import FAULTS, Fault

HERE = Path(__file__).parent
PROGRAM = HERE.parent / "src" / "muster" / "agents" / "mechanic" / "program"
COMMAND = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]


def git(folder: Path, *words: str) -> str:
    identity = ["-c", "user.name=Bench", "-c", "user.email=bench@example.org", "-c", "init.defaultBranch=main"]
    return subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True, text=True).stdout


def project(folder: Path, fault: Fault) -> None:
    """The fault's module and its tests, committed with the fault in."""
    folder.mkdir()
    source = HERE / "corpus" / fault.file.replace(".py", ".txt")
    right = source.read_text()
    assert right.count(fault.right) == 1, f"{fault.file}: {right.count(fault.right)} times {fault.right!r}"
    (folder / fault.file).write_text(right.replace(fault.right, fault.wrong))
    shutil.copy(source.with_name(f"test_{source.name}"), folder / f"test_{fault.file}")
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "A project")


def failing(folder: Path) -> list[str]:
    done = subprocess.run(
        [*COMMAND, "-rfE", "--tb=no", "-n0"], cwd=folder, capture_output=True, text=True, check=False, timeout=120
    )
    return [
        line.split(" ", 1)[1].partition(" - ")[0]
        for line in done.stdout.splitlines()
        if line.startswith(("FAILED ", "ERROR "))
    ]


def repaired(folder: Path, tests: list[str], limit: float, jobs: int) -> dict[str, Any]:
    task = "Tests:\n" + "".join(f"    {test}\n" for test in tests) + f"\nCommand:\n    {' '.join(COMMAND)}\n"
    path = folder.parent / "outcome.json"
    env = {**os.environ, "MUSTER_OUTCOME": str(path)}
    argv = [sys.executable, str(PROGRAM), "--limit", str(limit), "--jobs", str(jobs), "--", task]
    subprocess.run(argv, cwd=folder, env=env, check=True, capture_output=True, timeout=limit * 2 + 60)
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def one(fault: Fault, limit: float, jobs: int) -> tuple[str, float]:
    """`same` (the text of before), `other` (all tests pass), `broken`, `blocked`, or `no fault` (no test fails)."""
    with tempfile.TemporaryDirectory(prefix="mechanic-") as base:
        folder = Path(base) / "project"
        project(folder, fault)
        tests = failing(folder)
        if not tests:
            return "no fault", 0.0
        began = time.monotonic()
        outcome = repaired(folder, tests, limit, jobs)
        took = time.monotonic() - began
        assert not git(folder, "status", "--porcelain").replace("?? __pycache__/\n", ""), "the workspace is not clean"
        if outcome["status"] != "done":
            return outcome["status"], took
        clean = Path(base) / "clean"
        git(folder, "worktree", "add", "-q", "--detach", str(clean), "HEAD")
        if failing(clean):
            return "broken", took
        return (
            "same"
            if (clean / fault.file).read_text() == (HERE / "corpus" / fault.file.replace(".py", ".txt")).read_text()
            else "other"
        ), took


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--limit", type=float, default=60, help="seconds for one fault")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("words", nargs="*", help="only faults whose kind or file holds one of these")
    given = parser.parse_args()
    chosen = [
        fault
        for fault in FAULTS
        if not given.words or any(word in f"{fault.file} {fault.kind}" for word in given.words)
    ]
    ends, times = Counter[str](), []
    for fault in chosen:
        end, took = one(fault, given.limit, given.jobs)
        ends[end] += 1
        times.append(took)
        print(
            f"{end:8} {took:6.1f} s  {fault.file:11} {fault.kind:18} {fault.wrong.strip().splitlines()[0] if fault.wrong.strip() else '(nothing)'}"[
                :120
            ],
            flush=True,
        )
    good = ends["same"] + ends["other"]
    times.sort()
    print(
        f"\n{good} of {len(chosen)} repaired ({ends['same']} as before the fault, {ends['other']} otherwise), {ends['broken']} broke another test"
    )
    print(f"{ends['blocked']} blocked, {ends['failed']} failed, {ends['no fault']} that no test notices")
    print(f"seconds: half within {times[len(times) // 2]:.1f}, the longest {times[-1]:.1f}")


if __name__ == "__main__":
    main()
