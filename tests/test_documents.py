"""The generated documents are as the commands are, and every reader of man pages can print them."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from inspect import cleandoc
from pathlib import Path
from typing import Any

import click
import pytest

from muster.cli import TABLE
from muster.cli.app import app
from muster_testkit import tutorial
from muster_testkit.tutorial import check

ROOT = Path(__file__).parent.parent
SCRIPT = ROOT / "scripts" / "docs.py"


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, **environment}
    return subprocess.run([sys.executable, SCRIPT, *arguments], capture_output=True, text=True, env=env, check=False)


def generator() -> Any:
    spec = importlib.util.spec_from_file_location("docs", SCRIPT)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def printed(page: Path) -> str:
    """What groff makes of a page, having found nothing to warn of."""
    if not shutil.which("groff"):
        pytest.skip("needs groff")
    argv = ["groff", "-ww", "-man", "-Tutf8", "-P-cbou", "-rLL=200n", "-rHY=0", str(page)]
    done = subprocess.run(argv, capture_output=True, text=True, encoding="utf-8", check=True)
    assert not done.stderr
    return done.stdout


def commands(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        for name, part in command.commands.items():
            yield from commands(part, f"{path} {name}")


@pytest.mark.parametrize("environment", [{"COLUMNS": "20", "LC_ALL": "C"}, {"COLUMNS": "300", "FORCE_COLOR": "1"}])
def test_documents_are_up_to_date_whatever_the_environment(environment: dict[str, str]) -> None:
    done = run("--check", **environment)
    assert (done.returncode, done.stderr) == (0, "")


def test_what_is_stale_is_named_and_written_anew(tmp_path: Path) -> None:
    assert run("--to", str(tmp_path), "version").returncode == 0
    page, gone = tmp_path / "man" / "muster-version.1", tmp_path / "man" / "muster-no-more.1"
    page.write_text("old")
    gone.write_text("old")
    done = run("--check", "--to", str(tmp_path), "version")
    assert done.returncode == 1
    assert [line.split(" ")[0] for line in done.stderr.splitlines()] == [str(gone), str(page)]
    assert page.read_text() == "old"
    assert run("--to", str(tmp_path), "version").returncode == 0
    assert "muster version" in printed(page)
    assert not gone.exists()


def test_a_command_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    done = run("--to", str(tmp_path), "version", "nothing")
    assert done.returncode == 1
    assert "`nothing`" in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["muster", *(f"muster-{name}" for name in TABLE)])
def test_every_man_page_prints_without_a_warning(name: str) -> None:
    page = ROOT / "docs" / "man" / f"{name}.1"
    assert page.read_bytes().isascii()
    assert name.replace("-", " ", 1) in printed(page)


def test_no_text_is_taken_for_a_request(tmp_path: Path) -> None:
    lines = [".hidden 'quoted' \\n back\\\\slash", "'start of a line", '`--flag` ~/x ^ $HOME "a  b" -1', "fünf … 日本"]

    def nothing() -> None: ...

    nothing.__doc__ = ".dot first, `.dot` in bold.\n\n\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)
    docs = generator()
    page = tmp_path / "muster-x.1"
    page.write_text(docs.man(docs.page(click.command("x")(nothing), "muster x"), "'about' it"), encoding="ascii")
    text = printed(page).replace("\N{MINUS SIGN}", "-")
    for line in [".dot first, .dot in bold.", *lines, "muster-x - 'about' it"]:
        assert line in text


@pytest.mark.parametrize("name", TABLE)
def test_every_command_is_explained(name: str) -> None:
    found = app.get_command(click.Context(app), name)
    assert found
    for path, command in commands(found, name):
        assert command.help, f"`{path}` says nothing of itself"
        if not isinstance(command, click.Group):
            assert "\b\nExamples:\n" in cleandoc(command.help), f"`{path}` has no examples"
        for option in command.params:
            if isinstance(option, click.Option) and not option.hidden:
                assert (option.help or "").endswith("."), f"{option.opts[0]} of `{path}` has no sentence of help"


def test_every_block_of_the_tutorial_is_shown_by_a_test(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    report = check.check("docs/tutorial.sh", ["tests"])
    assert report.ok, "\n".join(map(str, report.problems))
    assert not report.problems, "each citation can be read without a run"
    assert len(report.blocks) > 80


@pytest.mark.parametrize("name", TABLE)
def test_the_tutorial_teaches_every_command(name: str) -> None:
    commands = [one.text for one in tutorial.read(str(ROOT / "docs" / "tutorial.sh")) if one.kind == "command"]
    assert [text for text in commands if re.search(rf"\bmuster {name}\b", text)]
