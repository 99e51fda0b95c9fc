"""The local fleet's tests again with only the address changed: every agent lives in a container."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

import test_commands
import test_messages
import test_wait
from conftest import Muster
from muster.fleet import Fleet
from test_commands import fix as fix
from test_commands import git
from test_wait import in_a_repository as in_a_repository

if TYPE_CHECKING:
    from machines import Engine

pytest_plugins = ["machines"]

# Those that look at nothing but what muster itself says: no file of a container can be seen from here.
AGAIN: dict[ModuleType, str] = {
    test_commands: """
        each_agent_has_its_own_receipt
        exec_in_many_prefixes_each_line
        archive_stops_and_hides_until_undone
        labels_are_set_shown_and_removed
        transcript_follows_what_is_said
    """,
    test_messages: """
        a_stopped_agent_gets_it_later
        a_conversation_goes_on_after_stop_kill_and_clone
    """,
    test_wait: """
        what_can_not_come_any_more_is_said
        an_agent_that_is_stopped_meanwhile_ends_the_wait
    """,
}
globals().update(
    {f"test_{name}": getattr(module, f"test_{name}") for module, names in AGAIN.items() for name in names.split()}
)


@pytest.fixture(autouse=True)
def elsewhere(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing but this is different."""
    assert engine.base
    monkeypatch.setenv("MUSTER_CREATE_HOST", "shared.docker")


def test_nothing_of_it_is_on_this_machine(engine: Engine, repo: Path, muster: Muster, fleet: Fleet) -> None:
    """All that a local agent's files are asked for, of one whose files nobody here can open."""
    (repo / "README.md").write_text("carried\n")
    (repo / "x.log").write_text("ignored\n")
    words = ["--dirty", "carry", "--put", "x.log", "--setup", "echo set up >setup.log"]
    muster(
        "create",
        "fix@.docker",
        *words,
        "--",
        "sh",
        "-c",
        'echo 1 >"$MUSTER_ARTIFACTS/a"; echo "{}" >"$MUSTER_OUTCOME"; cat',
    )
    place = fleet.agent("fix").workspace.path
    assert not Path(place).exists()
    assert muster("exec", "fix", "cat", "README.md", "x.log", "setup.log").out == "carried\nignored\nset up\n"
    muster("exec", "fix", "--", "sh", "-c", "echo 1 >new && git add new && git commit -qm work && echo 2 >draft")
    assert muster("pull", "fix").lines == ["fast-forwarded main by 1 commit"]
    assert muster("pull", "fix", "draft", "src").lines == ["draft", "src/one.py", "src/two.py"]
    assert muster("pull", "fix", "README.md", check=False).code == 0  # they are the same
    muster("exec", "fix", "--", "sh", "-c", "echo theirs >README.md")
    assert muster("pull", "fix", "README.md", check=False).code == 5
    assert muster("pull", "fix", "--artifacts", "--to", repo / "build").lines == ["a"]
    assert fleet.outcome("fix") == b"{}\n"
    git(repo, "commit", "--quiet", "--allow-empty", "-m", "ours")
    assert muster("push", "fix").lines == ["fast-forwarded muster/fix of fix by 1 commit"]
    assert muster("push", "fix", "draft", "--to", "deep").lines == ["draft"]
    assert muster("push", "fix", "README.md", check=False).code == 5
    muster("snapshot", "create", "fix", "--label", "safe")
    muster("clone", "fix", "here@local")
    here = Path(fleet.agent("here").workspace.path)
    assert (here / "README.md").read_text() == "theirs\n" and (here / "deep" / "draft").read_text() == "2\n"
    assert "commit" in muster("destroy", "fix", "--dry-run").out
    muster("destroy", "fix")
    assert engine.containers() == []
    muster("restore", "fix")
    assert fleet.agent("fix").host == "fix"
    assert (
        muster("exec", "fix", "--", "sh", "-c", "cat README.md new draft; git log -1 --format=%s").out
        == "theirs\n1\n2\nours\n"
    )
    muster("migrate", "fix", "@local")
    assert (Path(fleet.agent("fix").workspace.path) / "README.md").read_text() == "theirs\n"
    assert engine.containers() == []
