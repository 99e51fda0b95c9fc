"""`muster demo`: the whole of the pipeline on a sample project, by nothing but its public commands."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import click
import msgspec
import pytest
import tomlkit

import muster as package
from conftest import Muster
from muster.mend.demo import TYPES, sample

ROOT = Path(__file__).parent.parent
PROGRAMS = ("sh", "env", "git", "tmux", "tar", "rm", "cp", "ps")


def git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True, text=True).stdout.strip()


def test_what_keeps_it_from_being_made_leaves_nothing(muster: Muster, tmp_path: Path) -> None:
    (tmp_path / "mine").touch()
    done = muster("demo", str(tmp_path), check=False)
    assert (done.code, "not an empty folder" in done.err) == (5, True)
    sample.make(str(tmp_path / "a sample"), "demo")
    again = muster("demo", str(tmp_path / "a sample"), check=False)
    assert f"`muster demo --clean '{tmp_path}/a sample'`" in again.err
    muster("demo", "--clean", str(tmp_path / "a sample"))
    assert muster("demo", "--clean", str(tmp_path), check=False).code == 3
    assert [one.name for one in tmp_path.iterdir()] == ["mine"]
    folder = tmp_path / "sample"
    done = muster("demo", str(folder), "--python", "/nope", check=False)
    assert (done.code, "`--python /nope`" in done.err, folder.exists()) == (2, True, False)
    assert muster("runs").lines == ["run  age  step  project  branch  tasks"]


def test_without_pytest_it_says_what_to_install(tmp_path: Path, home: Path) -> None:
    """As after a plain `pip install pass-muster`: muster and what it needs, on a machine without a pytest."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "env")], check=True)
    [site] = (tmp_path / "env" / "lib").glob("python*/site-packages")
    for module in (click, msgspec, tomlkit, package):
        assert module.__file__
        (site / module.__name__).symlink_to(Path(module.__file__).parent)
    (site / "muster_testkit").symlink_to(ROOT / "src" / "muster_testkit")
    (tmp_path / "bin").mkdir()
    for name in PROGRAMS:
        (tmp_path / "bin" / name).symlink_to(str(shutil.which(name)))
    python = tmp_path / "env" / "bin" / "python"
    folder = tmp_path / "sample"
    done = subprocess.run(
        [str(python), "-m", "muster", "demo", str(folder)],
        env={**os.environ, "PATH": str(tmp_path / "bin")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3, done.stderr
    assert done.stderr.splitlines()[-2:] == [
        "error: the sample's tests need pytest, and no Python here has it",
        f"hint: `{python} -m pip install pytest`, or name an interpreter that has it with `--python PATH`",
    ]
    assert not folder.exists()


def test_the_sample_is_the_same_everywhere_and_cites_its_tutorial(muster: Muster, tmp_path: Path) -> None:
    commits = set()
    for name in ("one", "two"):
        sample.make(str(tmp_path / name), name)
        commits.add(git(tmp_path / name, "rev-parse", "HEAD"))
        assert git(tmp_path / name, "status", "--porcelain") == ""
    assert len(commits) == 1
    assert "7 of 7 blocks" in muster("tutorial", "check", f"{tmp_path}/one/tutorial.sh", f"{tmp_path}/one/tests").out
    tests = "".join(path.read_text() for path in (tmp_path / "one" / "tests").glob("test_*.py"))
    assert all(
        f"def {test}(" in tests and (tmp_path / "one" / "agents" / f"{kind}.toml").exists() for test, kind in TYPES
    )


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """muster as it is installed by everybody else."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)], cwd=ROOT, check=True)
    [path] = folder.glob("pass_muster-*.whl")
    return zipfile.ZipFile(path)


def test_the_sample_is_shipped(wheel: zipfile.ZipFile) -> None:
    here = {path.relative_to(ROOT / "src").as_posix() for path in Path(sample.SOURCE).rglob("*") if path.is_file()}
    assert {name for name in here if "__pycache__" not in name} <= {*wheel.namelist()}
