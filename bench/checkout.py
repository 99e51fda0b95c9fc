"""Which way of making many worktrees of a large repository is the fastest? The table of docs/performance.md.

Nothing is removed between the ways: a file system is slow at making files where it has just removed as many.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

BASE = Path(tempfile.mkdtemp(prefix="mb-", dir="/tmp"))
REPOSITORY, WORK = BASE / "repository", BASE / "work"
WORKTREES = 12
GIT = ["git", "-C", str(REPOSITORY), "-c", "user.name=Bench", "-c", "user.email=bench@example.org"]


def run(*argv: str) -> None:
    subprocess.run(argv, check=True, capture_output=True)


def shell(script: str) -> None:
    run("sh", "-ec", script)


def prepare() -> None:
    REPOSITORY.mkdir()
    run(*GIT, "init", "--quiet")
    for number in range(2_000):
        file = REPOSITORY / f"d{number % 40}" / f"f{number}.py"
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"# file {number}\n" + "value = 1  # a line of a program\n" * 90)
    run(*GIT, "add", "--all")
    run(*GIT, "commit", "--quiet", "--message", "start")
    run(*GIT, "gc", "--quiet")
    WORK.mkdir()
    plain("base")


def add(name: str, *flags: str, settings: tuple[str, ...] = ()) -> None:
    run(*GIT, *settings, "worktree", "add", "-q", *flags, "-b", f"b/{name}", str(WORK / name))


def plain(name: str) -> None:
    add(name)


def workers(name: str) -> None:
    add(name, settings=("-c", "checkout.workers=2", "-c", "checkout.thresholdForParallelism=100"))


def copy(name: str, how: str = "-a") -> None:
    add(name, "--no-checkout")
    records = REPOSITORY / ".git" / "worktrees"
    shell(f"cp {how} {WORK}/base/d* {WORK}/{name}/; cp {records}/base/index {records}/{name}/index")
    run("git", "-C", str(WORK / name), "update-index", "-q", "--refresh")


def archive(name: str) -> None:
    add(name, "--no-checkout")
    shell(f"git -C {REPOSITORY} archive HEAD | tar -C {WORK}/{name} -xf -; git -C {WORK}/{name} reset -q")


def links(name: str) -> None:
    copy(name, "-al")


def main() -> None:
    prepare()
    numbers = count()
    ways: list[tuple[Callable[[str], None], int]] = [
        *((plain, at_once) for at_once in (1, 2, 4, 8)),
        (workers, 2),
        (copy, 2),
        (archive, 2),
        (links, 2),
    ]
    for way, at_once in ways:
        begin = time.perf_counter()
        with ThreadPoolExecutor(at_once) as pool:
            list(pool.map(way, [f"w{next(numbers)}" for _ in range(WORKTREES)]))
        each = (time.perf_counter() - begin) / WORKTREES
        print(f"{way.__name__:8} {at_once} at once {each * 1000:6.0f} ms a worktree", flush=True)
    print(f"{os.cpu_count()} cores; remove {BASE} when done")


if __name__ == "__main__":
    main()
