"""Agent programs that come with muster run from their folder, here and where there is no muster."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from muster.agents import Order, shipped
from muster.agents.scripted import program

FOLDER = str(Path(program.__file__).parent)


def shipped_to(folder: Path) -> str:
    """The program's folder on a machine that has what was shipped to it and nothing else."""
    (_, path), files = shipped.program(FOLDER, Order((), str(folder), "/work", remote=True))
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return path


def hostile(folder: Path) -> None:
    """Modules of the standard library's names, none of which is to be imported."""
    folder.mkdir(exist_ok=True)
    for name in ("json", "re", "select", "unicodedata", "program"):
        (folder / f"{name}.py").write_text(f"raise SystemExit('{folder}/{name}.py was imported')\n")


def said(*words: str, cwd: Path, **env: str) -> str:
    """What it says with nothing in its environment but these variables."""
    script = cwd / "talks.toml"
    script.write_text("step = [{run = 'echo it runs'}, {say = 'fine'}, {outcome = {status = 'done'}}]")
    done = subprocess.run(
        [*words, "--script", str(script)],
        cwd=cwd,
        env={"PATH": os.environ["PATH"], **env},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_here_it_is_run_where_it_is_installed(tmp_path: Path) -> None:
    argv, files = shipped.program(FOLDER, Order((), str(tmp_path), "/work"))
    assert argv == (sys.executable, FOLDER) and files == {}
    assert "● fine" in said(*argv, cwd=tmp_path)


def test_far_away_it_is_all_in_the_agents_folder(tmp_path: Path) -> None:
    argv, files = shipped.program(FOLDER, Order((), "/far/agent", "/work", remote=True))
    assert argv == ("python3", "/far/agent/program")
    assert set(files) == {f"program/{path.name}" for path in Path(FOLDER).glob("*.py")}
    assert "● fine" in said(sys.executable, "-I", "-S", shipped_to(tmp_path), cwd=tmp_path)


def test_a_folder_is_shipped_with_its_folders_and_without_bytecode(tmp_path: Path) -> None:
    for name in ("run/__main__.py", "run/rules/one.py", "run/rules/words.json", "run/rules/__pycache__/one.pyc"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    _, files = shipped.program(str(tmp_path / "run"), Order((), "/far", "/work", remote=True))
    assert files == {name: name.encode() for name in ("run/__main__.py", "run/rules/one.py", "run/rules/words.json")}


@pytest.mark.parametrize("pythonpath", ["", ".", "beside"])
def test_nothing_that_lies_around_is_imported(tmp_path: Path, pythonpath: str) -> None:
    work = tmp_path / "agent" / "work"
    path = shipped_to(tmp_path / "agent")
    for folder in (tmp_path / "agent", work, work / "beside"):
        hostile(folder)
    env = {"PYTHONPATH": pythonpath} if pythonpath else {}
    assert "● fine" in said(sys.executable, path, cwd=work, **env)
    assert "● fine" in said(sys.executable, os.path.relpath(path, work), cwd=work, **env)


def test_a_pythonpath_reaches_what_it_runs(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("print('mine was', 'imported')")
    script = tmp_path / "imports.toml"
    script.write_text(f"step = [{{run = '{sys.executable} -c \"import sys; sys.path.pop(0); import mine\"'}}]")
    argv = [sys.executable, FOLDER, "--script", str(script)]
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(argv, cwd="/", env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
    assert "mine was imported" in done.stdout


def test_no_module_of_a_program_has_a_name_of_the_standard_library() -> None:
    assert not {path.stem for path in Path(FOLDER).glob("*.py")} & sys.stdlib_module_names
