"""Settings: their layers, what each may say, and changing them; with real files and the real program."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, get_args

import pytest

from muster import agents
from muster.core import config
from muster.errors import UsageError

PAGE = Path(__file__).parent.parent / "docs" / "configuration.md"


class Done(NamedTuple):
    """How a run of the program ended."""

    code: int
    out: str
    err: str


Run = Callable[..., Done]


@pytest.fixture
def run(home: Path) -> Run:
    """`muster config ...` as a child process; its failure is for the test to look at."""
    assert os.environ["MUSTER_HOME"] == str(home)

    def run(*words: str, stdin: str = "", cwd: Path | None = None, **env: str) -> Done:
        done = subprocess.run(
            [sys.executable, "-m", "muster", "config", *words],
            input=stdin,
            capture_output=True,
            text=True,
            cwd=cwd,
            env={**os.environ, **env},
            check=False,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    return run


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True)


def editor(folder: Path, script: str) -> str:
    """A program that edits the file it is given."""
    path = folder / "editor"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o700)
    return str(path)


def child(script: str, *words: str, **env: str) -> str:
    """What a Python program prints, in a process of its own."""
    argv = [sys.executable, "-c", script, *words]
    done = subprocess.run(argv, capture_output=True, text=True, env={**os.environ, **env}, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def values(run: Run, *words: str, **env: str) -> dict[str, Any]:
    done = run("list", "--format", "json", *words, **env)
    assert done.code == 0, done.err
    return {record["key"]: record for record in json.loads(done.out)}


def test_words_are_the_same_as_the_agents() -> None:
    assert get_args(config.Mode) == get_args(agents.Mode)


def test_the_page_has_every_key() -> None:
    text = PAGE.read_text()
    found = re.search(r"<!-- keys -->\n(.*)\n<!-- /keys -->", text, re.DOTALL)
    assert found
    assert found[1] == config.keys_table()


def test_every_key_is_explained() -> None:
    from muster.core.config import keys

    assert [key.name for key in keys.documented() if not key.about] == []


def test_without_files_nothing_is_read_or_started(repo: Path) -> None:
    script = (
        "import subprocess, sys; from muster.core import config; "
        "sys.addaudithook(lambda name, _: name == 'subprocess.Popen' and sys.exit('a process')); "
        "config.load(sys.argv[1], {'create.type': 'scripted'}); print(*sys.modules)"
    )
    assert not {"tomllib", "tomlkit"} & set(child(script, str(repo)).split())


def test_reading_files_does_without_tomlkit_and_git(repo: Path, home: Path) -> None:
    (home / "config.toml").write_text("[attic]\ndays = 3\n")
    (repo / "muster.local.toml").write_text("[create]\njobs = 3\n")
    script = (
        "import subprocess, sys; from muster.core import config; "
        "sys.addaudithook(lambda name, _: name == 'subprocess.Popen' and sys.exit('a process')); "
        "print(config.load(sys.argv[1]).create.jobs, *sys.modules)"
    )
    found = child(script, str(repo)).split()
    assert found[0] == "3"
    assert "tomlkit" not in found


def test_each_layer_is_stronger_than_the_one_before(repo: Path, home: Path, run: Run) -> None:
    def jobs() -> tuple[int, str]:
        found = config.origins(str(repo / "src"))["create.jobs"]
        assert config.load(str(repo / "src")).create.jobs == found.value
        return found.value, f"{found.layer} {found.file}"

    assert jobs() == (8, "default ")
    for number, (layer, file) in enumerate(
        [("user", home / "config.toml"), ("project", repo / "muster.toml"), ("local", repo / "muster.local.toml")]
    ):
        assert run("set", "create.jobs", str(number + 1), "--layer", layer, cwd=repo / "src").code == 0
        assert jobs() == (number + 1, f"{layer} {file}")
    found = values(run, MUSTER_CREATE_JOBS="5")["create.jobs"]
    assert (found["value"], found["layer"], found["file"]) == (5, "environment", "MUSTER_CREATE_JOBS")
    flags = {"create.jobs": 6, "create.mode": None}
    script = "from muster.core import config; print(config.load('.', {'create.jobs': 6}).create.jobs)"
    assert child(script, MUSTER_CREATE_JOBS="5") == "6\n"
    assert config.load(str(repo), flags).create == config.Create(jobs=6)
    assert config.origins(str(repo), flags)["create.jobs"].layer == "flag"
    assert config.load(None).create.jobs == 1


def test_tables_are_joined_and_lists_are_not(repo: Path, home: Path) -> None:
    (home / "config.toml").write_text(
        '[create]\npass_env = ["A"]\nenv = { A = "1", B = "1" }\n[templates.t]\ntype = "scripted"\nmode = "clone"\n'
    )
    (repo / "muster.local.toml").write_text('[create]\npass_env = []\nenv.B = "2"\n[templates.t]\nmode = "copy"\n')
    found = config.load(str(repo))
    assert found.create.pass_env == ()
    assert found.create.env == {"A": "1", "B": "2"}
    assert found.templates == {"t": config.Template(type="scripted", mode="copy")}


def test_every_kind_of_value_arrives(repo: Path, home: Path) -> None:
    (home / "config.toml").write_text(
        '[create]\nready_timeout = 5\n[templates.a]\n[types.mine]\nargs = ["x"]\n'
        '[hosts.box]\nprovider = "ssh"\ntarget = "me@box"\nport = 22\noptions = { a = [1] }\n'
    )
    found = config.load(str(repo))
    assert found.create.ready_timeout == 5.0
    assert found.templates == {"a": config.Template()}
    assert found.types["mine"] == config.OwnType(parent="command", args=("x",))
    assert found.hosts["box"] == {"provider": "ssh", "target": "me@box", "port": 22, "options": {"a": [1]}}


def test_a_folder_without_a_repository_has_its_own_file(home: Path, run: Run) -> None:
    folder = home.parent / "plain"
    (folder / "below").mkdir(parents=True)
    (folder / "muster.toml").write_text('[create]\nmode = "copy"\n')
    assert run("get", "create.mode", cwd=folder).out == "copy\n"
    assert run("get", "create.mode", cwd=folder / "below").out == "worktree\n"


@pytest.mark.parametrize(
    ("variable", "text", "key", "value"),
    [
        ("MUSTER_CREATE_TYPE", "scripted", "create.type", "scripted"),
        ("MUSTER_CREATE_TYPE", "8", "create.type", "8"),
        ("MUSTER_CREATE_CONNECT", "1", "create.connect", True),
        ("MUSTER_CREATE_CONNECT", "false", "create.connect", False),
        ("MUSTER_CREATE_PASS_ENV", "A, B_*", "create.pass_env", ["A", "B_*"]),
        ("MUSTER_CREATE_PASS_ENV", '["a,b"]', "create.pass_env", ["a,b"]),
        ("MUSTER_CREATE_PASS_ENV", "", "create.pass_env", []),
        ("MUSTER_CREATE_LABELS", "a=1,b=x=y", "create.labels.b", "x=y"),
        ("MUSTER_CREATE_LABELS", '{"a": "1"}', "create.labels.a", "1"),
        ("MUSTER_CREATE_READY_TIMEOUT", "2.5", "create.ready_timeout", 2.5),
    ],
)
def test_a_variable_sets_a_key(run: Run, variable: str, text: str, key: str, value: object) -> None:
    found = values(run, **{variable: text})[key]
    assert (found["value"], found["layer"], found["file"]) == (value, "environment", variable)


@pytest.mark.parametrize("text", ["many", "0", "2.5"])
def test_a_variable_that_does_not_fit_is_an_error(run: Run, text: str) -> None:
    done = run("list", MUSTER_CREATE_JOBS=text)
    assert (done.code, done.out) == (2, "")
    assert "$MUSTER_CREATE_JOBS: `create.jobs` must be an integer, 1 or more" in done.err


def test_a_wrong_variable_is_an_error_for_config_only(run: Run) -> None:
    names = ("AGENT", "AGENT_ID", "DIR", "NOTE", "OUTCOME", "ARTIFACTS", "SOMETHING_ELSE")
    env = {f"MUSTER_{name}": "x" for name in names}
    assert run("list", **env).code == 0
    script = "from muster.core import config; print(config.load('.') == config.Config())"
    assert child(script, **env, MUSTER_SSH_CONFIG="", MUSTER_CREATE_TPYE="x") == "True\n"
    done = run("get", "create.mode", **env, MUSTER_CREATE_TPYE="x")
    assert done.code == 2
    assert "$MUSTER_CREATE_TPYE" in done.err
    assert "`create.type`" in done.err
    assert "$MUSTER_TEMPLATES_X: [templates] can't be set by variables" in run("list", MUSTER_TEMPLATES_X="x").err


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("[create]\nmode = 'copy'\ntpye = 'x'\n", 3, ["`create.tpye`", "did you mean `create.type`?"]),
        ("\n[crate]\n", 2, ["section `crate`", "did you mean `create`?"]),
        ("jobs = 3\n", 1, ["did you mean `create.jobs`?"]),
        ("[create]\njobs = '3'\n", 2, ["`create.jobs` must be an integer, 1 or more"]),
        ("[create]\njobs = true\n", 2, ["`create.jobs` must be an integer"]),
        ("[create]\npass_env = 'A'\n", 2, ["`create.pass_env` must be a list of strings"]),
        ("[create]\nenv = 'A'\n", 2, ["`create.env` must be a table of strings"]),
        ("[create.env]\nA = 1\n", 2, ["`create.env.A` must be a string"]),
        ("create = 1\n", 1, ["`create` must be a table"]),
        ("[create]\npass_env = [\n 'A', # ]\n 1,\n]\n", 2, ["`create.pass_env` must be"]),
        ("[create]\nmode = 'colne'\n", 2, ["one of `worktree`, `clone`, `copy`, `in-place`", "did you mean `clone`?"]),
        ("[templates.a]\ntype = 'x'\nmod = 'copy'\n", 3, ["`templates.a.mod`", "did you mean `templates.a.mode`?"]),
        ("[create]\nmode = \n", 2, ["invalid value"]),
        ("[create]\nmode = 'a'\nmode = 'b'\n", 3, ["cannot overwrite a value"]),
    ],
)
def test_a_wrong_file_is_an_error_that_says_where(home: Path, run: Run, text: str, line: int, words: list[str]) -> None:
    (home / "config.toml").write_text(text)
    done = run("list")
    assert (done.code, done.out) == (2, "")
    assert f"`{home / 'config.toml'}`, line {line}: " in done.err
    for word in words:
        assert word in done.err
    with pytest.raises(UsageError):
        config.load(None)


def test_a_file_that_is_no_text_is_an_error(home: Path, run: Run) -> None:
    (home / "config.toml").write_bytes(b"\xff\xfe")
    assert (run("list").code, run("set", "create.jobs", "1").code) == (2, 2)
    assert (home / "config.toml").read_bytes() == b"\xff\xfe"


FORBIDDEN = [
    ("create.pass_env", "[create]\npass_env = ['*']\n"),
    ("templates.a.pass_env", "[templates.a]\npass_env = ['*']\n"),
    ("connect.command", "[connect]\ncommand = 'evil {}'\n"),
    ("attic.days", "[attic]\ndays = 0\n"),
    ("types.claude.args", "[types.claude]\nargs = ['evil']\n"),
    ("types.claude", "[types.claude]\n"),
    ("hosts.box.target", "[hosts.box]\ntarget = 'evil'\n"),
]


@pytest.mark.parametrize(("key", "text"), FORBIDDEN)
def test_a_project_may_not_set_everything(repo: Path, home: Path, run: Run, key: str, text: str) -> None:
    (repo / "muster.toml").write_text(text)
    done = run("list")
    assert done.code == 2
    assert f"`{repo / 'muster.toml'}`, line " in done.err
    assert f"`{key}` can't be set by a project" in done.err
    assert f"`{home / 'config.toml'}`" in done.err
    with pytest.raises(UsageError):
        config.load(str(repo))


@pytest.mark.parametrize(("key", "text"), FORBIDDEN)
def test_a_local_file_is_trusted_if_git_does_not_track_it(repo: Path, run: Run, key: str, text: str) -> None:
    local = repo / "muster.local.toml"
    local.write_text(text)
    assert values(run)[key]["layer"] == "local"
    git(repo, "add", "muster.local.toml")
    done = run("list")
    assert done.code == 2
    assert f"`{key}` can only be set in a file that git is known not to track" in done.err
    local.write_text("[create]\nmode = 'clone'\n[workspace]\nsetup = 'true'\n")
    assert values(run)["create.mode"]["value"] == "clone"


def test_a_tracked_local_file_is_found_in_other_letters(repo: Path, run: Run) -> None:
    # As it would be on a file system where the two are one file.
    (repo / "Muster.Local.toml").write_text("")
    git(repo, "add", "Muster.Local.toml")
    (repo / "muster.local.toml").write_text("[attic]\ndays = 0\n")
    assert run("list").code == 2


def test_a_local_file_is_not_trusted_where_git_gives_no_answer(repo: Path, home: Path, run: Run) -> None:
    (repo / "muster.local.toml").write_text("[attic]\ndays = 0\n")
    assert run("list").code == 0
    (repo / ".git" / "HEAD").unlink()
    assert run("list").code == 2
    plain = home.parent / "plain"
    plain.mkdir()
    (plain / "muster.local.toml").write_text("[attic]\ndays = 0\n")
    assert run("list", cwd=plain).code == 2


def test_asking_git_runs_nothing_of_the_repository(repo: Path, run: Run) -> None:
    marker = repo.parent / "ran"
    git(repo, "config", "core.fsmonitor", editor(repo.parent, f"touch {marker}"))
    (repo / "muster.local.toml").write_text("[attic]\ndays = 1\n")
    assert run("get", "attic.days").out == "1\n"
    assert not marker.exists()


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("create.mode", "clone", "clone"),
        ("create.type", "true", "true"),
        ("create.type", '"a b"', "a b"),
        ("create.branch", "main:me/*", "main:me/*"),
        ("create.jobs", "3", 3),
        ("create.connect", "1", True),
        ("create.ready_timeout", "3", 3),
        ("create.pass_env", "A,B_*", ["A", "B_*"]),
        ("create.pass_env", '["A", "B"]', ["A", "B"]),
        ("create.env.TOKEN", "2024-01-01", "2024-01-01"),
        ("create.env", '{ A = "1" }', {"A": "1"}),
        ("templates.review.type", "scripted", "scripted"),
        ("templates.review.windows.tests", "make watch", "make watch"),
        ('templates."a.b c".mode', "copy", "copy"),
        ("templates.übung.mode", "copy", "copy"),
        ("hosts.box.port", "22", 22),
        ("connect.command", "x = 1\ny = 2", "x = 1\ny = 2"),
    ],
)
def test_set_get_unset(home: Path, run: Run, key: str, text: str, value: object) -> None:
    assert run("set", key, text) == (0, "", "")
    file = home / "config.toml"
    assert file.stat().st_mode & 0o777 == 0o600
    found = run("get", key, "--format", "json")
    if key != "create.env":
        assert json.loads(found.out) == value
    node: Any = tomllib.loads(file.read_text())
    while isinstance(node, dict) and node != value:
        [node] = node.values()
    assert node == value
    assert run("unset", key) == (0, "", "")
    assert file.read_text() == ""
    again = run("unset", key)
    assert again.code == 3
    assert f"is not set in `{file}`" in again.err


def test_get_prints_plainly(run: Run) -> None:
    run("set", "templates.t.type", "scripted")
    assert run("get", "create.connect").out == "false\n"
    assert run("get", "create.branch").out == ":muster/*\n"
    assert run("get", "create.pass_env").out == "[]\n"
    assert run("get", "templates.t", "--format", "json").out == '{"type":"scripted"}\n'
    assert run("get", "templates.other.type").code == 3
    assert run("get", "create.tpye").code == 2


@pytest.mark.parametrize(
    ("key", "text", "word"),
    [
        ("create.tpye", "x", "did you mean `create.type`?"),
        ("creat.type", "x", "did you mean `create`?"),
        ("create.mode", "cloen", "did you mean `clone`?"),
        ("create.jobs", "many", "must be an integer"),
        ("create.jobs", "0", "must be an integer, 1 or more"),
        ("create.env", "x", "must be a table of strings"),
        ("templates.t.nmae", "x", "there is no key `templates.t.nmae`"),
        ("create", "x", "is a section"),
        ("create.type = 1\n[attic]\ndays", "0", "there is no key"),
    ],
)
def test_set_refuses_before_it_writes(home: Path, run: Run, key: str, text: str, word: str) -> None:
    file = home / "config.toml"
    file.write_text("# mine\n")
    done = run("set", key, text)
    assert done.code == 2
    assert word in done.err
    assert file.read_text() == "# mine\n"


@pytest.mark.parametrize("key", ["create.pass_env", "templates.t.pass_env", "connect.command", "types.t.parent"])
def test_set_refuses_what_a_project_may_not_say(repo: Path, run: Run, key: str) -> None:
    done = run("set", key, "x", "--layer", "project")
    assert done.code == 2
    assert "can't be set by a project" in done.err
    assert not (repo / "muster.toml").exists()
    assert run("set", key, "x", "--layer", "local").code == 0


def test_comments_and_layout_stay(home: Path, run: Run) -> None:
    file = home / "config.toml"
    file.write_bytes(
        b"# top\r\n\r\n[create] # here\r\n  jobs=4    # four\r\nenv = {A='1'}\r\n\r\n# last\r\n[attic]\r\ndays = 1\r\n"
    )
    assert run("set", "create.jobs", "5").code == 0
    assert file.read_bytes() == (
        b"# top\r\n\r\n[create] # here\r\n  jobs=5    # four\r\nenv = {A='1'}\r\n\r\n# last\r\n[attic]\r\ndays = 1\r\n"
    )
    run("set", "create.env.B", "2")
    run("set", "attic.days", "2")
    run("unset", "create.env.A")
    text = file.read_text()
    assert [mark for mark in ("# top", "# here", "# four", "# last") if mark not in text] == []
    assert tomllib.loads(text) == {"create": {"jobs": 5, "env": {"B": "2"}}, "attic": {"days": 2}}


@pytest.mark.parametrize(
    "text",
    [
        "create.jobs = 1\ncreate.mode = 'copy'\n",
        "create = { jobs = 1, mode = 'copy' }\n",
        "[create]\njobs = 1\n[attic]\ndays = 3\n[create.env]\nA = '1'\n[templates.a]\n",
        "[create.env]\nA = '1'\n[create]\njobs = 1",
        "[templates.a.env]\n[create]\n[templates.b]\n",
        "templates = { a = { type = 'x' } }\n",
        "templates.a.type = 'x'\n",
    ],
)
@pytest.mark.parametrize(
    ("key", "value"), [("create.jobs", 7), ("create.labels.x", "y"), ("templates.a.env.B", "2"), ("attic.days", 9)]
)
def test_a_change_says_what_it_should_or_leaves_the_file(
    home: Path, run: Run, text: str, key: str, value: object
) -> None:
    file = home / "config.toml"
    file.write_text(text)
    expected = tomllib.loads(text)
    node = expected
    *before, last = key.split(".")
    for name in before:
        node = node.setdefault(name, {})
    node[last] = value
    done = run("set", key, str(value))
    if done.code:
        assert "`muster config edit`" in done.err
        assert file.read_text() == text
    else:
        assert tomllib.loads(file.read_text()) == expected


def test_unset_removes_tables_and_keys_that_no_one_knows(home: Path, run: Run) -> None:
    file = home / "config.toml"
    file.write_text("[create]\ntpye = 'x'\n\n[templates.a]\ntype = 'x'\n[templates.b]\n# why\nmode = 'copy'\n")
    assert run("list").code == 2
    assert run("unset", "create.tpye").code == 0
    assert run("unset", "templates.a").code == 0
    assert run("unset", "templates.b.mode").code == 0
    assert tomllib.loads(file.read_text()) == {"templates": {"b": {}}}
    assert "# why" in file.read_text()
    assert "did you mean `create.type`?" in run("unset", "create.tpye").err


def test_a_broken_file_is_not_changed(home: Path, run: Run) -> None:
    file = home / "config.toml"
    file.write_text("[create\n")
    for words in (["set", "create.jobs", "1"], ["unset", "create.jobs"]):
        done = run(*words)
        assert done.code == 2
        assert f"`{file}`, line 1: " in done.err
    assert file.read_text() == "[create\n"


def test_writers_do_not_lose_each_others_words(home: Path) -> None:
    argv = [sys.executable, "-m", "muster", "config", "set"]
    writers = [subprocess.Popen([*argv, f"create.labels.l{number}", "x"]) for number in range(12)]
    assert [writer.wait() for writer in writers] == [0] * 12
    assert len(tomllib.loads((home / "config.toml").read_text())["create"]["labels"]) == 12
    assert [path.name for path in home.iterdir()] == ["config.toml"]


def test_a_linked_user_file_stays_a_link(home: Path, run: Run) -> None:
    target = home.parent / "dotfiles.toml"
    target.write_text("# mine\n")
    (home / "config.toml").symlink_to(target)
    assert run("set", "create.jobs", "2").code == 0
    assert (home / "config.toml").is_symlink()
    assert tomllib.loads(target.read_text()) == {"create": {"jobs": 2}}


def test_a_projects_link_leads_no_writing_elsewhere(repo: Path, run: Run) -> None:
    target = repo.parent / "elsewhere.toml"
    target.write_text("# not muster's\n")
    (repo / "muster.toml").symlink_to(target)
    assert run("set", "create.jobs", "2", "--layer", "project").code == 0
    assert target.read_text() == "# not muster's\n"


def test_secrets_are_not_shown(home: Path, run: Run) -> None:
    word = "s3cr3t"
    for key in ("create.env.TOKEN", "templates.t.env.TOKEN", "types.t.env.TOKEN", "templates.env.env.TOKEN"):
        assert run("set", key, "-", stdin=f"{word}\n").code == 0
        assert run("get", key).out == f"{word}\n"
    for words in (
        ["list"],
        ["list", "--origin"],
        ["list", "--format", "json"],
        ["list", "--format", "jsonl"],
        ["get", "create"],
        ["get", "create.env"],
        ["get", "templates.t", "--format", "json"],
        ["get", "types"],
    ):
        done = run(*words)
        assert done.code == 0
        assert "TOKEN" in done.out
        assert "•••" in done.out
        assert word not in done.out + done.err
    found = run("list", MUSTER_CREATE_ENV=f'{{"OTHER": "{word}"}}')
    assert "create.env.OTHER" in found.out
    assert word not in found.out
    (home / "config.toml").write_text(f"[create]\nenv = ['{word}']\n")
    assert word not in run("list").err
    assert word not in run("set", "create.env", word).err


def test_list_is_a_table_with_origins(home: Path, run: Run) -> None:
    run("set", "create.mode", "clone")
    lines = run("list", "--origin", MUSTER_ATTIC_DAYS="3").out.splitlines()
    assert lines[0].split() == ["key", "value", "origin"]
    rows = {line.split()[0]: line.split()[1:] for line in lines}
    assert rows["create.mode"] == ['"clone"', "user", str(home / "config.toml")]
    assert rows["attic.days"] == ["3", "environment", "$MUSTER_ATTIC_DAYS"]
    assert rows["list.sort"] == ['"created"', "default"]
    assert run("list").out.splitlines()[0].split() == ["key", "value"]


def test_path_names_the_files(repo: Path, home: Path, run: Run) -> None:
    assert run("path").out == f"{home / 'config.toml'}\n"
    assert run("path", "--layer", "project", cwd=repo / "src").out == f"{repo / 'muster.toml'}\n"
    assert run("path", "--layer", "local").out == f"{repo / 'muster.local.toml'}\n"


def test_edit_replaces_the_file(home: Path, run: Run) -> None:
    file = home / "config.toml"
    file.write_text("# mine\n")
    program = editor(home.parent, 'test "$1" = --wait && printf "[attic]\\ndays = 9\\n" >>"$2"')
    assert run("edit", VISUAL=f"{program} --wait", EDITOR="false") == (0, "", "")
    assert file.read_text() == "# mine\n[attic]\ndays = 9\n"
    assert file.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in home.iterdir()] == ["config.toml"]


@pytest.mark.parametrize("text", ["[attic]\ndays = 'x'", "[attic", "\\377"])
def test_edit_keeps_a_wrong_text_aside(home: Path, run: Run, text: str) -> None:
    file = home / "config.toml"
    file.write_text("# mine\n")
    done = run("edit", EDITOR=editor(home.parent, f'printf "{text}" >"$1"'))
    assert done.code == 2
    assert file.read_text() == "# mine\n"
    [kept] = [path for path in home.iterdir() if path != file]
    assert f"your text is kept in `{kept}`" in done.err
    assert kept.stat().st_mode & 0o777 == 0o600
    assert kept.read_bytes() == text.encode().replace(b"\\377", b"\xff")


def test_edit_of_a_project_file_is_as_strict_as_reading_it(repo: Path, home: Path, run: Run) -> None:
    program = editor(home.parent, 'printf "[attic]\\ndays = 9\\n" >"$1"')
    done = run("edit", "--layer", "project", EDITOR=program)
    assert done.code == 2
    assert "can't be set by a project" in done.err
    assert not (repo / "muster.toml").exists()
    assert run("edit", "--layer", "local", EDITOR=program).code == 0


@pytest.mark.parametrize(
    ("script", "code"),
    [("exit 0", 0), ("exit 1", 1), ('rm "$1"', 0), ('printf "[attic]\\ndays = 2\\n" >"$1"; exit 3', 1)],
)
def test_edit_that_ends_without_a_word_changes_nothing(home: Path, run: Run, script: str, code: int) -> None:
    file = home / "config.toml"
    file.write_text("[attic]\ndays = 1\n")
    assert run("edit", EDITOR=editor(home.parent, script)).code == code
    assert file.read_text() == "[attic]\ndays = 1\n"
    assert len(list(home.iterdir())) == (2 if "exit 3" in script else 1)


def test_edit_without_an_editor_says_so(home: Path, run: Run) -> None:
    done = run("edit", EDITOR="/nowhere/editor")
    assert done.code == 1
    assert "/nowhere/editor" in done.err
    assert list(home.iterdir()) == []


def test_edit_does_not_undo_what_another_wrote(home: Path, run: Run) -> None:
    file = home / "config.toml"
    done = run("edit", EDITOR=editor(home.parent, f'echo "[attic]" >"$1"; echo "# theirs" >{file}'))
    assert done.code == 5
    assert file.read_text() == "# theirs\n"
    assert "your text is kept in" in done.err


def test_help_has_examples(run: Run) -> None:
    for words in ([], ["get"], ["set"], ["unset"], ["list"], ["edit"], ["path"]):
        assert "Examples:\n" in run(*words, "--help").out
    done = run("gte")
    assert done.code == 2
    assert "did you mean `get`?" in done.err
