"""Many of the real Codex at once: the pipeline over tests, and a fleet that is told, waited for and gathered."""

from __future__ import annotations

from pathlib import Path

import pytest

import codex_home
from conftest import Muster
from muster_testkit.model import Model
from programs import Install, install, model, network, prefix
from sample_projects import git, project

__all__ = ["install", "model", "network", "prefix"]

FILES = {
    "calc.py": '"""Small sums."""\n\n\ndef add(a: int, b: int) -> int:\n    return a - b\n\n\ndef twice(a: int) -> int:\n    return a * 1\n',
    "test_add.py": "from calc import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n",
    "test_twice.py": "from calc import twice\n\n\ndef test_twice():\n    assert twice(2) == 4\n",
    "pytest.ini": "[pytest]\npythonpath = .\n",
}
# As a model would work: edit, commit, and say what was done.
MEND = """\
sed -i 's/{old}/{new}/' calc.py
git commit --quiet --all --message "{subject}"
printf '{{"schema": 1, "status": "done", "summary": "as asked", "changes": [{{"kind": "impl", "commit": "%s"}}]}}' "$(git rev-parse HEAD)" >"$MUSTER_OUTCOME.new"
mv "$MUSTER_OUTCOME.new" "$MUSTER_OUTCOME"
"""
COUNT = 20


def known(folder: Path) -> None:
    """Agents commit as the project says; the user's own settings are at home, which is not the tests'."""
    git(folder, "config", "user.name", "Test")
    git(folder, "config", "user.email", "test@example.org")


@pytest.fixture
def codex(install: Install, model: Model, monkeypatch: pytest.MonkeyPatch) -> Model:
    install("codex")
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    codex_home.set_up(model)
    return model


def test_the_pipeline(muster: Muster, codex: Model, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = project(home.parent / "calc", FILES)
    monkeypatch.chdir(place)
    known(place)
    add = MEND.format(old="a - b", new="a + b", subject="Add instead of subtracting")
    twice = MEND.format(old="a [*] 1", new="a * 2", subject="Take it twice")
    codex.script(
        [
            {"when": {"last": "^# One failing test.*test_add.py::test_add"}, "bash": add},
            {"when": {"last": "^# One failing test.*test_twice.py::test_twice"}, "bash": twice},
        ]
    )
    words = "--type codex --permissions all --unsafe-here --only failing --jobs 2 --name try"
    done = muster("mend", *words.split(), check=False)
    assert done.code == 0, done.err + done.out
    assert sorted(git(place, "log", "--format=%s", "main..muster/mend/try").splitlines()) == [
        "Add instead of subtracting",
        "Take it twice",
    ]
    told = [str(one.body) for one in codex.asked("k")]
    assert any("One failing test to mend" in text and "$MUSTER_OUTCOME" in text for text in told)


def test_a_fleet(muster: Muster, codex: Model, repo: Path) -> None:
    known(repo)
    work = 'echo "$MUSTER_AGENT" >mine.txt; git add mine.txt; git commit --quiet --message "$MUSTER_AGENT"'
    codex.script([{"when": {"last": "^Write your name$"}, "times": COUNT, "bash": work}])
    muster("create", "c", "codex", "-n", str(COUNT), "--permissions", "all", "--unsafe-here")
    names = muster("list", "--ids").out
    receipts = muster("message", "-", "-m", "Write your name", stdin=names).lines
    assert [line.split()[1] for line in receipts] == ["delivered"] * COUNT
    muster("wait", "-", "--for", "waiting", "--timeout", "100", stdin=names)
    committed = git(repo, "for-each-ref", "--format=%(contents:subject)", "refs/heads/muster").splitlines()
    assert {*committed} == {agent["name"] for agent in muster("list", "--format", "json").json["agents"]}
