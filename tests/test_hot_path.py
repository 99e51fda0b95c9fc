"""What the commands that are run all day import and start: the real program, looked at from outside."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest

from conftest import Muster

ALLOWED = {
    "muster": "ourselves",
    "click": "the command line",
    "msgspec": "the data",
    "typing_extensions": "msgspec takes it where it is installed",
}
# Each of these costs milliseconds, and none is needed to answer.
SLOW = {
    "argparse",
    "asyncio",
    "concurrent.futures",
    "ctypes",
    "dataclasses",
    "email",
    "http",
    "importlib.metadata",
    "logging",
    "multiprocessing",
    "pydoc",
    "socket",
    "ssl",
    "tomllib",
    "unittest",
    "urllib.request",
}
IMPORT = re.compile(r"^import time: +\d+ \| +\d+ \| +(\S+)$", re.MULTILINE)


def imported(*argv: str) -> frozenset[str]:
    """Every module that a run of the interpreter imports."""
    done = subprocess.run([sys.executable, "-X", "importtime", *argv], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return frozenset(IMPORT.findall(done.stderr))


@cache
def bare() -> frozenset[str]:
    return imported("-c", "pass")


def of_muster(*arguments: str) -> frozenset[str]:
    """What a command imports that a bare interpreter doesn't."""
    return imported("-m", "muster", *arguments) - bare()


def strangers(modules: frozenset[str]) -> set[str]:
    return {name.partition(".")[0] for name in modules} - sys.stdlib_module_names - ALLOWED.keys()


def test_version_imports_only_the_front_door() -> None:
    modules = of_muster("--version")
    assert {name for name in modules if name.startswith("muster")} <= {"muster", "muster.cli"}
    assert not {"click", "msgspec", *SLOW} & modules
    assert not strangers(modules)


def test_list_imports_nothing_slow() -> None:
    modules = of_muster("list")
    assert "muster.fleet.look" in modules  # the command itself comes through `import_module`, which is not told of
    assert not modules & SLOW
    assert not strangers(modules)


def test_create_imports_nothing_slow(repo: Path) -> None:
    assert repo.is_dir()
    modules = of_muster("create", "one", "command", "--no-connect", "--", "sleep", "1000")
    assert "muster.fleet.create" in modules
    assert not modules & SLOW
    assert not strangers(modules)


def test_list_starts_as_many_processes_for_ten_agents_as_for_one(repo: Path, muster: Muster, tmp_path: Path) -> None:
    assert repo.is_dir()
    muster("create", "a0", "command", "--no-connect", "--", "sleep", "1000")
    one = started(tmp_path / "one", "list")
    for number in range(1, 10):
        muster("create", f"a{number}", "command", "--no-connect", "--", "sleep", "1000")
    ten = started(tmp_path / "ten", "list")
    assert len(muster("list", "--ids").lines) == 10
    assert ten == one


def started(log: Path, *arguments: str) -> list[str]:
    """The programs that a muster command and all its children execute, in order of their names."""
    _needs_strace()
    argv = ["strace", "-f", "-qq", "-e", "trace=execve", "-o", str(log), sys.executable, "-m", "muster", *arguments]
    subprocess.run(argv, check=True, capture_output=True)
    return sorted(_programs(log.read_text().splitlines()))


def _programs(lines: Sequence[str]) -> list[str]:
    """Of `PID execve("/usr/bin/tmux", ...) = 0` the program; a call may be told in two lines."""
    begun: dict[str, str] = {}
    found = []
    for line in lines:
        pid = line.split(" ", 1)[0]
        if name := re.search(r'execve\("([^"]+)"', line):
            begun[pid] = os.path.basename(name[1])
        if line.endswith("= 0") and "execve" in line:
            found.append(begun[pid])
    return found


def _needs_strace() -> None:
    argv = ["strace", "-qq", "-o", os.devnull, "true"]
    if not shutil.which("strace") or subprocess.run(argv, capture_output=True, check=False).returncode:
        pytest.skip("needs strace to trace")
