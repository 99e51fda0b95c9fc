"""`muster create` and what it takes from the configuration, with the real program."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from conftest import Muster
from muster.core import dotenv
from muster.errors import UsageError
from muster.fleet import Fleet
from terminal import Terminal, until

STAY = ("--", "sleep", "1000")
PRINT_ENV = ("--", "sh", "-c", "env >env.log; sleep 1000")


def workspace(fleet: Fleet, name: str) -> Path:
    return Path(fleet.registry.get(name).workspace.path)


def environment(fleet: Fleet, name: str) -> dict[str, str]:
    """The variables that agent's program found."""
    path = workspace(fleet, name) / "env.log"
    until(lambda: path.exists() and "PATH=" in path.read_text())
    return dict(line.partition("=")[::2] for line in path.read_text().splitlines())


def branches(repo: Path) -> list[str]:
    out = subprocess.run(["git", "-C", repo, "branch", "--format=%(refname:short)"], capture_output=True, text=True)
    return out.stdout.split()


# --- name, type, program


def test_the_name_alone_is_the_answer(repo: Path, fleet: Fleet, muster: Muster) -> None:
    done = muster("create", "fix", *STAY)
    assert done.out == "fix\n"
    assert str(workspace(fleet, "fix")) in done.err
    assert "branch `muster/fix`" in done.err
    assert "hint" not in done.err
    assert workspace(fleet, "fix").joinpath("README.md").exists()
    assert branches(repo) == ["main", "muster/fix"]


def test_a_fresh_name_is_made_up(repo: Path, fleet: Fleet, muster: Muster) -> None:
    assert repo.is_dir()
    name = muster("c", *STAY).out.strip()
    assert re.fullmatch(r"[a-z]+-[a-z]+", name)
    assert fleet.registry.get(name).args == ("sleep", "1000")


def test_arguments_survive_as_they_are(repo: Path, fleet: Fleet, muster: Muster) -> None:
    assert repo.is_dir()
    words = ["a  b", "$HOME", "--", "'", "*", "-m"]
    muster("create", "fix", "--", "sh", "-c", 'printf "%s\\n" "$@" >words.log; sleep 1000', "sh", *words)
    path = workspace(fleet, "fix") / "words.log"
    until(path.exists)
    until(lambda: len(path.read_text().splitlines()) == len(words))
    assert path.read_text().splitlines() == words


def test_json_is_the_whole_record(repo: Path, muster: Muster) -> None:
    found = muster("create", "fix@local", "command", "--label", "team=web", "--format", "json", *STAY).json
    assert (found["name"], found["type"], found["state"]["kind"], found["host"]) == (
        "fix",
        "command",
        "working",
        "local",
    )
    assert found["project"] == str(repo)
    assert found["branch"] == found["workspace"]["branch"] == "muster/fix"
    assert found["labels"] == {"team": "web"}
    assert found["archived"] is False
    assert "receipt" not in found


@pytest.mark.parametrize(
    ("words", "code", "error", "hint"),
    [
        ([], 2, "which agent type?", "`mechanic`"),
        (["fix"], 2, "which agent type?", "`muster create fix -- PROGRAM`"),
        (["scripted"], 2, "`scripted` would be the agent's name", "--type scripted"),
        (["fix", "scriptd"], 3, "no agent type `scriptd`", "did you mean `scripted`?"),
        (["fix", "sleep"], 3, "no agent type `sleep`", "`muster create fix -- sleep`"),
        (["fix", "sleep", "9"], 2, "`9` is one word too many", "`muster create fix -- sleep 9`"),
        (["fix", "command"], 2, "which command?", "--"),
        (["fix", "command", "--type", "scripted"], 2, "is it `command` or `--type scripted`?", ""),
        (["fix", "--", "no-such-program"], 2, "no program `no-such-program`", "$PATH"),
        (["a b", *STAY], 2, "is not a name", "try `a-b`"),
        (["a b"], 2, "is not a name", "try `a-b`"),
        (["fix", "--env", "TOKEN", *STAY], 2, "`--env TOKEN` has no value", "`--pass-env TOKEN`"),
        (["fix", "--pass-env", "NO_SUCH", *STAY], 2, "`--pass-env NO_SUCH`", ""),
        (["fix", "--label", "web", *STAY], 2, "`--label` takes", ""),
        (["fix", "--window", "logs=", *STAY], 2, "a window has a name and a command", ""),
        (["fix", "-m", " ", *STAY], 2, "the message is empty", ""),
        (["fix", "-m", "x", "--message-file", "x", *STAY], 2, "twice", ""),
        (["fix", "--template", "x", *STAY], 3, "no template `x`", "templates."),
        (["fix", "--reus", *STAY], 2, "--reus", "muster create --help"),
        (["--reuse", *STAY], 2, "needs a name", ""),
        (["fix", "--from", "nobody", *STAY], 3, "nobody", ""),
        (["fix", "--mode", "worktre", *STAY], 2, "worktre", ""),
        (["fix", "-n", "2", "--connect", *STAY], 2, "--count", ""),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_made(
    repo: Path, home: Path, muster: Muster, words: list[str], code: int, error: str, hint: str
) -> None:
    done = muster("create", *words, check=False)
    assert (done.code, done.out) == (code, "")
    first, _, rest = done.err.partition("\n")
    assert first.startswith("error: ")
    assert error in first
    assert hint in rest
    assert branches(repo) == ["main"]
    assert not list(home.glob("agents/*"))


def test_reuse_takes_the_one_there_is(repo: Path, fleet: Fleet, muster: Muster) -> None:
    assert repo.is_dir()
    for _ in range(2):
        assert muster("create", "fix", "scripted", "--reuse", "-m", "only once").out == "fix\n"
    assert "the message was not sent again" in muster("create", "fix", "scripted", "--reuse", "-m", "only once").err
    fleet.wait(["fix"], ["waiting"], timeout=30)
    assert [one.text for one in fleet.transcript("fix") if one.role == "user"] == ["only once"]
    assert muster("create", "fix", *STAY, check=False).code == 5


# --- the first message


def test_a_message_is_delivered_and_said_so(repo: Path, fleet: Fleet, muster: Muster) -> None:
    assert repo.is_dir()
    done = muster("create", "fix", "scripted", "-m", "hello\nthere")
    assert "its message is delivered" in done.err
    until(lambda: [one.text for one in fleet.transcript("fix") if one.role == "user"] == ["hello\nthere"])


def test_a_message_too_long_for_an_argument_is_typed_and_read_back(repo: Path, fleet: Fleet, muster: Muster) -> None:
    text = "\n".join(f"line {number} of a long task" for number in range(6_000))
    (repo.parent / "task.md").write_text(text + "\n")
    found = muster("create", "fix", "scripted", "--message-file", repo.parent / "task.md", "--format", "json").json
    assert found["receipt"]["status"] == "delivered"
    assert [one.text for one in fleet.transcript("fix") if one.role == "user"] == [text]


def test_a_message_to_a_plain_program_is_typed(repo: Path, fleet: Fleet, muster: Muster) -> None:
    assert repo.is_dir()
    program = ("--", "sh", "-c", "read line; echo $line >heard.log; sleep 1000")
    done = muster("create", "ears", "--message-file", "-", *program, stdin="some words\n")
    assert "its message is typed" in done.err
    heard = workspace(fleet, "ears") / "heard.log"
    until(lambda: heard.exists() and heard.read_text() == "some words\n")


def test_the_library_delivers_too(repo: Path, fleet: Fleet) -> None:
    assert repo.is_dir()
    fleet.create("ears", args=["sh", "-c", "read line; echo $line >heard.log; sleep 1000"], message="some words")
    heard = workspace(fleet, "ears") / "heard.log"
    until(lambda: heard.exists() and heard.read_text() == "some words\n")
    assert fleet.deliver("ears") == []


def test_a_message_that_is_refused_is_an_error_and_the_agent_stays(repo: Path, fleet: Fleet, muster: Muster) -> None:
    script = repo.parent / "ask.toml"
    script.write_text('[[step]]\nask = "May I?"\n')
    long = "x\n" * 60_000  # not an argument, so it must be typed, and the dialog comes first
    (repo.parent / "long").write_text(long)
    words = ("--message-file", repo.parent / "long", "--", "--script", script)
    done = muster("create", "asks", "scripted", *words, check=False)
    assert (done.code, done.out) == (6, "asks\n")
    assert "was refused: it is blocked" in done.err
    assert fleet.agent("asks").name == "asks"


def editor(path: Path, script: str) -> dict[str, str]:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o700)
    return {"EDITOR": str(path)}


def test_the_editor_opens_while_the_agent_starts(repo: Path, fleet: Fleet, muster: Muster) -> None:
    seen = repo.parent / "seen"
    script = f"{os.environ['_PROGRAM']} list --ids >'{seen}'; cat \"$1\" >>'{seen}'; echo from the editor >\"$1\""
    done = muster("create", "fix", "scripted", "--edit-message", "-m", "draft", env=editor(repo.parent / "ed", script))
    assert "its message is delivered" in done.err
    assert seen.read_text() == f"{fleet.registry.get('fix').id}\ndraft"
    assert [one.text for one in fleet.transcript("fix") if one.role == "user"] == ["from the editor"]


def test_an_empty_text_from_the_editor_sends_nothing(repo: Path, fleet: Fleet, muster: Muster) -> None:
    env = editor(repo.parent / "ed", 'echo >"$1"')
    done = muster("create", "fix", "scripted", "--edit-message", env=env)
    assert "none is sent" in done.err
    fleet.wait(["fix"], ["waiting"], timeout=30)
    assert not [one for one in fleet.transcript("fix") if one.role == "user"]


def test_a_person_is_told_how_to_connect(home: Path, repo: Path) -> None:
    terminal = Terminal(home)
    terminal.shell(f"cd {repo}; {os.environ['_PROGRAM']} create fix -- sleep 1000")
    assert "hint: `muster connect fix`" in terminal.shows("ended with 0")


@pytest.fixture(autouse=True)
def program_for_shells(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from conftest import program

    assert home.is_dir()
    monkeypatch.setenv("_PROGRAM", " ".join(program()))


# --- variables


def test_variables_come_from_files_words_and_the_user(repo: Path, fleet: Fleet, muster: Muster) -> None:
    (repo.parent / "vars").write_text("# tokens\nexport A='from file'\nB=\"two\\nlines\" # why\nC=plain # not this\n")
    words = ["--env-file", repo.parent / "vars", "--env", "C=a=b", "--pass-env", "MINE", "--pass-env", "OUR_*"]
    env = {"MINE": "1", "OUR_ONE": "2", "OUR_TWO": "3", "THEIRS": "4"}
    muster("create", "fix", *words, *PRINT_ENV, env=env)
    found = environment(fleet, "fix")
    assert (found["A"], found["B"], found["C"]) == ("from file", "two", "a=b")
    assert (found["MINE"], found["OUR_ONE"], found["OUR_TWO"]) == ("1", "2", "3")
    assert "THEIRS" not in found
    assert "_PROGRAM" not in found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("A=1\nB = 2\n", {"A": "1", "B": "2"}),
        ("\ufeffA=1\r\nB=2\r\n", {"A": "1", "B": "2"}),
        ("A=\nB=''\nC=\"\"\n", {"A": "", "B": "", "C": ""}),
        ("A=x#y\nB=x # y\nC=# y\n", {"A": "x#y", "B": "x", "C": ""}),
        ("A='$HOME \\n'\nB=$HOME\n", {"A": "$HOME \\n", "B": "$HOME"}),
        ('KEY="-----BEGIN\nabc\n-----END"\nB=2', {"KEY": "-----BEGIN\nabc\n-----END", "B": "2"}),
        ('A="say \\"hi\\" \\\\ \\$x"', {"A": 'say "hi" \\ $x'}),
        ("  # only words\n\n\texport\tA=1", {"A": "1"}),
    ],
)
def test_files_of_variables_are_read_as_other_programs_do(tmp_path: Path, text: str, found: dict[str, str]) -> None:
    (tmp_path / "vars").write_bytes(text.encode())
    assert dotenv.read(str(tmp_path / "vars")) == found


@pytest.mark.parametrize(
    ("text", "line"),
    [("A=1\nhunter2\n", 2), ("A='hunter2\n", 1), ("A=1\n\n9=hunter2", 3), ("A='hunter2' x", 1), ("a b=hunter2", 1)],
)
def test_what_is_wrong_in_a_file_of_variables_is_named_by_its_line(tmp_path: Path, text: str, line: int) -> None:
    (tmp_path / "vars").write_text(text)
    with pytest.raises(UsageError, match=rf"vars`, line {line}: ") as error:
        dotenv.read(str(tmp_path / "vars"))
    assert "hunter2" not in str(error.value)


def test_a_secret_is_shown_nowhere(repo: Path, home: Path, muster: Muster) -> None:
    assert repo.is_dir()
    secret = "s3cr3t-value"
    (home.parent / "vars").write_text(f"TOKEN={secret}\n")
    told = muster("create", "fix", "--env-file", home.parent / "vars", "--format", "json", *PRINT_ENV)
    listed = muster("list", "--format", "json")
    again = muster("create", "fix", "--env", f"TOKEN={secret}", *STAY, check=False)
    wrong = muster("create", "x", "--env", f"{secret}=1", "--env", f"={secret}", *STAY, check=False)
    assert (again.code, wrong.code) == (5, 2)
    for done in (told, listed, again, wrong):
        assert secret not in done.out + done.err
    arguments = subprocess.run(["ps", "-A", "-ww", "-o", "args="], capture_output=True, text=True, check=True).stdout
    assert secret not in arguments
    holders = [path for path in home.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()]
    assert {path.name for path in holders} <= {"env", "env.log"}
    [env] = [path for path in holders if path.name == "env"]
    assert env.stat().st_mode & 0o777 == 0o600


# --- the workspace


def test_a_dirty_tree_is_refused_carried_or_left(repo: Path, fleet: Fleet, muster: Muster) -> None:
    (repo / "README.md").write_text("changed\n")
    (repo / "new.py").write_text("new\n")
    done = muster("create", "fix", *STAY, check=False)
    assert done.code == 5
    assert "README.md" in done.err
    assert "new.py" in done.err
    muster("create", "carries", "--dirty", "carry", *STAY)
    muster("create", "ignores", "--dirty", "ignore", *STAY)
    assert (workspace(fleet, "carries") / "README.md").read_text() == "changed\n"
    assert (workspace(fleet, "carries") / "new.py").exists()
    assert (workspace(fleet, "ignores") / "README.md").read_text() == "# A project\n"


def test_a_change_that_only_its_content_shows_is_carried_and_kept(repo: Path, fleet: Fleet, muster: Muster) -> None:
    # Changed within the tick of the clock in which the index was written, and of the same size: git finds it all the same,
    # since it reads every file that is as new as the index. Without the change of the inode, the tick may be long ago.
    subprocess.run(["git", "config", "core.checkStat", "minimal"], check=True)
    tick = (10**9, 10**9)
    os.utime("README.md", tick)
    subprocess.run(["git", "update-index", "--refresh"], check=True)
    (repo / "README.md").write_text("# A tractor\n")
    os.utime("README.md", tick)
    os.utime(".git/index", tick)
    muster("create", "carries", "--dirty", "carry", *STAY)
    assert (workspace(fleet, "carries") / "README.md").read_text() == "# A tractor\n"


def test_branch_mode_share_setup_and_windows(repo: Path, fleet: Fleet, muster: Muster) -> None:
    (repo / "build").mkdir()
    (repo / "build" / "heavy").write_text("heavy")
    words = [
        "--branch",
        "HEAD~1:try/*",
        "--share",
        "build",
        "--setup",
        "echo ready >set-up.log",
        "--window",
        "two=sleep 999",
    ]
    muster("create", "fix", *words, *STAY)
    place = workspace(fleet, "fix")
    assert "try/fix" in branches(repo)
    assert not (place / "src" / "two.py").exists()
    assert (place / "build" / "heavy").read_text() == "heavy"
    assert (place / "set-up.log").read_text() == "ready\n"
    listing = ["tmux", "-S", f"{fleet.home}/tmux.sock", "list-windows", "-a", "-F", "#{window_name}"]
    assert subprocess.run(listing, capture_output=True, text=True, check=True).stdout.split() == ["agent", "two"]
    muster("create", "copy", "--mode", "copy", "--from", repo / "src", *STAY)
    assert sorted(path.name for path in workspace(fleet, "copy").iterdir()) == ["one.py", "two.py"]


def test_the_work_may_come_from_an_agent(repo: Path, fleet: Fleet, muster: Muster, tmp_path: Path) -> None:
    assert repo.is_dir()
    muster("create", "first", *STAY)
    subprocess.run(
        ["git", "commit", "-q", "--allow-empty", "-m", "by first"], cwd=workspace(fleet, "first"), check=True
    )
    muster("create", "second", "--from", "first", *STAY, cwd=tmp_path)
    log = subprocess.run(
        ["git", "log", "-1", "--format=%s"], cwd=workspace(fleet, "second"), capture_output=True, text=True, check=True
    )
    assert log.stdout == "by first\n"


# --- several at once


def test_several_are_made_at_once(repo: Path, muster: Muster) -> None:
    done = muster("create", "try", "-n", "8", *STAY)
    assert sorted(done.lines) == [f"try-{number}" for number in range(1, 9)]
    assert {"muster/try-1", "muster/try-2", "muster/try-3"} < set(branches(repo))
    fresh = muster("create", "-n", "2", "--format", "json", *STAY).json
    assert len({one["name"] for one in fresh}) == 2
    assert all(one["state"]["kind"] == "working" for one in fresh)


def test_one_that_fails_does_not_keep_the_others(repo: Path, muster: Muster) -> None:
    assert repo.is_dir()
    muster("create", "try-2", *STAY)
    done = muster("create", "try", "-n", "3", "--format", "jsonl", *STAY, check=False)
    assert done.code == 5
    assert sorted(re.findall(r'"name":"([^"]+)"', done.out)) == ["try-1", "try-3"]
    assert done.err.count("error:") == 1
    assert "`try-2`" in done.err


# --- the configuration


def settings(muster: Muster, **values: str) -> None:
    for key, value in values.items():
        muster("config", "set", key.replace("__", "."), value)


def test_templates_stack_and_flags_win(repo: Path, fleet: Fleet, muster: Muster) -> None:
    (repo / "muster.toml").write_text(
        """
        [create]
        labels = { team = "web", from = "create" }
        env = { A = "create", B = "create", C = "create", D = "create" }
        [workspace]
        setup = "echo workspace >set-up.log"
        [templates.one]
        type = "command"
        args = ["sh", "-c", "env >env.log; sleep 1000"]
        labels = { from = "one", one = "yes" }
        env = { B = "one", C = "one", D = "one" }
        setup = "echo one >set-up.log"
        [templates.two]
        labels = { from = "two" }
        env = { C = "two", D = "two" }
        branch = ":two/*"
        """
    )
    words = ["--template", "one", "--template", "two", "--env", "D=flag", "--label", "flag=yes", "--dirty", "ignore"]
    muster("create", "fix", *words)
    agent = fleet.registry.get("fix")
    assert agent.labels == {"team": "web", "from": "two", "one": "yes", "flag": "yes"}
    assert agent.workspace.branch == "two/fix"
    assert agent.setup == "echo one >set-up.log"
    found = environment(fleet, "fix")
    assert [found[name] for name in "ABCD"] == ["create", "one", "two", "flag"]
    done = muster("create", "x", "--template", "tow", check=False)
    assert (done.code, "did you mean `two`?" in done.err) == (3, True)


def test_types_of_the_users_own_come_before_the_arguments(repo: Path, fleet: Fleet, muster: Muster) -> None:
    assert repo.is_dir()
    (fleet_home := Path(fleet.home)).joinpath("config.toml").write_text(
        """
        [create]
        env = { A = "create", B = "create" }
        [types.shell]
        args = ["sh", "-c"]
        env = { A = "shell", B = "shell" }
        [types.logged]
        parent = "shell"
        args = ["env >env.log; exec \\"$@\\"", "sh"]
        env = { B = "logged" }
        [types.scripted]
        parent = "scripted"
        args = ["--screen", "full"]
        [types.a]
        parent = "b"
        [types.b]
        parent = "a"
        """
    )
    assert fleet_home.is_dir()
    muster("create", "fix", "logged", *STAY)
    agent = fleet.registry.get("fix")
    assert agent.type == "command"
    assert agent.args == ("sh", "-c", 'env >env.log; exec "$@"', "sh", "sleep", "1000")
    found = environment(fleet, "fix")
    assert (found["A"], found["B"]) == ("shell", "logged")
    muster("create", "full", "scripted")
    assert fleet.registry.get("full").args == ("--screen", "full")
    assert "each other's parents" in muster("create", "x", "a", check=False).err
    assert "did you mean `logged`?" in muster("create", "x", "loged", check=False).err


def test_the_library_heeds_the_configuration_under_its_wishes(repo: Path, fleet: Fleet, muster: Muster) -> None:
    settings(muster, create__type="scripted", create__labels__team="web", create__branch=":agents/*")
    (repo / "muster.local.toml").write_text("")
    assert fleet.create("one", dirty="ignore").type == "scripted"
    two = fleet.create("two", "command", args=["sleep", "1000"], labels={"x": "y"}, dirty="ignore")
    assert (two.type, two.labels, two.workspace.branch) == ("command", {"team": "web", "x": "y"}, "agents/two")
    wrong: dict[str, Any] = {"massage": "hi"}
    with pytest.raises(TypeError, match="massage"):
        fleet.create("three", **wrong)


def test_a_project_is_asked_where_the_work_comes_from(repo: Path, fleet: Fleet, muster: Muster, tmp_path: Path) -> None:
    (repo / "muster.toml").write_text('[create]\nbranch = ":theirs/*"\ndirty = "ignore"\n')
    muster("create", "fix", "--from", repo, *STAY, cwd=tmp_path)
    assert fleet.registry.get("fix").workspace.branch == "theirs/fix"


def test_no_type_and_no_program_takes_the_type_of_the_configuration(repo: Path, fleet: Fleet, muster: Muster) -> None:
    assert repo.is_dir()
    settings(muster, create__type="scripted")
    muster("create", "one")
    assert fleet.registry.get("one").type == "scripted"
    muster("create", "two", "--type", "command", *STAY)
    assert fleet.registry.get("two").type == "command"
