"""Agents on other hosts: what is only so there."""

from __future__ import annotations

import io
import os
import shutil
import signal
import subprocess
import sys
import tarfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from conftest import Muster, program
from muster.agents import Agent
from muster.errors import MusterError
from muster.fleet import Fleet
from muster.hosts.elsewhere import extract
from terminal import Terminal, until
from test_hosts import WORDS
from test_mend import calc as calc
from test_mend import mend, only
from test_survival import killed, sessions, steps

if TYPE_CHECKING:
    from machines import Box, Boxes, Cable

pytest_plugins = ["machines"]


def git(folder: Path | str, *words: str) -> str:
    return subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True, text=True).stdout.strip()


def heard(fleet: Fleet, name: str) -> list[str]:
    return [event.text for event in fleet.transcript(name) if event.role == "user"]


def test_an_agent_goes_on_elsewhere_and_comes_back(box: Box, repo: Path, muster: Muster, fleet: Fleet) -> None:
    muster("create", "fix", "scripted", "-m", "one", "--env", "COLOUR=blue")
    old = Path(fleet.agent("fix").workspace.path)
    work = "echo 1 >done && git add done && git commit -qm done && echo 2 >draft"
    muster("exec", "fix", "--", "sh", "-c", work)
    assert muster("migrate", "fix", "@box").out.startswith("fix  ")
    there = fleet.agent("fix")
    assert (there.host, there.workspace.branch, old.exists()) == ("box", "muster/fix", False)
    muster("message", "fix", "-m", "two")
    assert heard(fleet, "fix") == ["one", "two"]
    assert muster("exec", "fix", "--", "sh", "-c", "cat done draft; echo $COLOUR").out == "1\n2\nblue\n"
    assert muster("exec", "fix", "git", "status", "--porcelain").out == "?? draft\n"
    muster("exec", "fix", "--", "sh", "-c", "echo 3 >done && git commit -qam more")
    muster("stop", "fix")
    muster("migrate", "fix", "@local")
    back = fleet.agent("fix")
    assert (back.host, back.workspace.branch, back.id) == ("local", "muster/fix", there.id)
    assert back.state and back.state.kind == "stopped"
    assert git(back.workspace.path, "log", "--format=%s", "-2") == "more\ndone"
    assert (Path(back.workspace.path) / "draft").read_text() == "2\n"
    assert list((box.home / ".muster" / "work").iterdir()) == []
    assert list((box.home / ".muster" / "agents").iterdir()) == []
    assert git(repo, "for-each-ref", "refs/muster") == ""
    muster("start", "fix")
    muster("message", "fix", "-m", "three")
    assert heard(fleet, "fix") == ["one", "two", "three"]


def test_a_machine_that_boots_is_waited_for_and_hears_its_message(
    boxes: Boxes, repo: Path, fleet: Fleet, muster: Muster
) -> None:
    box = boxes("box")
    for met in (False, True):
        box.kill()
        argv = [*program(), "create", "fix@box", "scripted", "-m", "hello"]
        with subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as creating:
            assert creating.stderr and "it may be booting" in creating.stderr.readline()
            boxes.boot(box)
            box = boxes.made[-1]
            said = creating.communicate()[1]
        assert (creating.returncode, "its message is delivered" in said) == (0, True), said
        assert ("met for the first time" in said) is not met
        until(lambda: heard(fleet, "fix") == ["hello"], "its message")
        muster("destroy", "fix")
    box.kill()
    for limit in ("0", "0.1"):
        words = ("create", "fix@box", "scripted", "-m", "hello")
        done = muster(*words, env={"MUSTER_SSH_BOOT_TIMEOUT": limit}, check=False)
        assert (done.code, "Connection refused" in done.err, fleet.known()) == (4, True, []), done.err
    done = muster(*words, "-n", "5", env={"MUSTER_SSH_BOOT_TIMEOUT": "2"}, check=False)
    assert (done.code, done.err.count("it may be booting")) == (4, 1), done.err


def test_the_second_agent_of_a_repository_costs_only_its_delta(
    box: Box, repo: Path, muster: Muster, fleet: Fleet
) -> None:
    (repo / "blob").write_bytes(os.urandom(2_000_000))
    git(repo, "add", "blob")
    git(repo, "commit", "--quiet", "-m", "large")
    git(repo, "tag", "v1")
    git(repo, "remote", "add", "origin", "https://me:secret@example.org/x.git")
    muster("create", "one@box", "--", "cat")
    [mirror] = (box.home / ".muster" / "repos").iterdir()
    first = objects(mirror)
    assert first > 2_000_000
    muster("create", "two@box", "--", "cat")
    muster("create", "three@box", "--mode", "clone", "--", "cat")
    assert objects(mirror) == first
    (repo / "small").write_text("small")
    git(repo, "add", "small")
    git(repo, "commit", "--quiet", "-m", "small")
    muster("destroy", "one", "two", "three")
    muster("create", "four@box", "--", "cat")
    assert first < objects(mirror) < first + 10_000
    place = fleet.agent("four").workspace.path
    assert git(place, "describe", "--tags") == "v1-1-g" + git(repo, "rev-parse", "--short", "HEAD")
    # It commits as whom its owner is here, and no password goes along.
    muster("exec", "four", "git", "commit", "--quiet", "--allow-empty", "-m", "empty")
    assert git(place, "log", "-1", "--format=%an <%ae>") == "Test <test@example.org>"
    assert git(place, "remote", "get-url", "origin") == "https://example.org/x.git"


def objects(repository: Path) -> int:
    return sum(one.stat().st_size for one in (repository / "objects").rglob("*") if one.is_file())


def test_shallow_sources_submodules_and_ignored_files(box: Box, repo: Path, muster: Muster, fleet: Fleet) -> None:
    library = repo.parent / "library"
    subprocess.run(["git", "clone", "--quiet", str(repo), str(library)], check=True)
    git(repo, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library), "lib")
    git(repo, "commit", "--quiet", "-m", "with a library")
    shallow = repo.parent / "shallow"
    words = ["clone", "--quiet", "--depth", "1", "--recurse-submodules", f"file://{repo}", str(shallow)]
    subprocess.run(["git", "-c", "protocol.file.allow=always", *words], check=True)
    shutil.rmtree(library)
    for name, text in {".env": "KEY=1", "a.log": "ignored", "vendor.log/x": "deep"}.items():
        path = shallow / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    with (shallow / ".git" / "info" / "exclude").open("a") as file:
        file.write(".env\n")
    words = ["--share", "vendor.log", "--put", ".env"]
    muster("create", "fix@box", *words, "--", "cat", cwd=shallow)
    place = Path(fleet.agent("fix").workspace.path)
    assert (place / "lib" / "src" / "one.py").exists()
    assert (place / "vendor.log" / "x").read_text() == "deep" and not (place / "vendor.log").is_symlink()
    assert (place / ".env").read_text() == "KEY=1" and not (place / "a.log").exists()
    assert git(place, "status", "--porcelain") == ""
    (place / "lib" / "src" / "one.py").write_text("changed\n")
    git(place / "lib", "commit", "--quiet", "-am", "only here")
    git(place, "commit", "--quiet", "-am", "with that")
    muster("destroy", "fix", cwd=shallow)
    muster("restore", "fix", cwd=shallow)
    place = Path(fleet.agent("fix").workspace.path)
    assert (place / "lib" / "src" / "one.py").read_text() == "changed\n"
    assert git(place / "lib", "log", "-1", "--format=%s") == "only here"
    assert "fast-forwarded" in muster("pull", "fix", cwd=shallow).out
    # What lies inside of repositories there might be run here, so it doesn't come by itself.
    done = muster("migrate", "fix", "@local", check=False, cwd=shallow)
    assert (done.code, fleet.agent("fix").host) == (5, "box")
    assert "repositories inside" in done.err
    done = muster("create", "two@box", "--mode", "in-place", "--", "cat", check=False, cwd=shallow)
    assert (done.code, "can't work in a folder of this machine" in done.err) == (5, True)
    done = muster("create", "two@box", "--dirty", "ignore", "--put", "README.md", "--", "cat", check=False, cwd=repo)
    assert (done.code, "of its own" in done.err) == (2, True)
    done = muster("create", "two@box", "--", "no-such-program", check=False, cwd=repo)
    assert (done.code, "no program `no-such-program` on `box`" in done.err) == (2, True)
    assert [agent.name for agent in fleet.known()] == ["fix"]


def test_a_terminal_on_one_elsewhere(box: Box, repo: Path, fleet: Fleet, home: Path) -> None:
    shown = "printf '\\033[31mred\\033[0m é\\n'; trap 'stty size' WINCH; stty size; while :; do sleep 0.05; done"
    fleet.create("big@box", args=["sh", "-c", shown])
    terminal = Terminal(home, 101, 31)
    terminal.type("connect", "big")
    terminal.shows("30 101")  # one row is the status line's
    assert "leave: C-b d" in terminal.screen and "red é" in terminal.screen
    assert "\x1b[31mred" in terminal.tmux("capture-pane", "-p", "-e", "-t", "0")
    terminal.tmux("resize-window", "-t", "0", "-x", "90", "-y", "25")
    terminal.shows("24 90")
    terminal.keys("C-b", "d")
    terminal.shows("ended with 0")
    terminal.type("exec", "big", "sh", "-c", "stty size; echo $TERM; exec cat")
    terminal.shows("25 90")
    terminal.keys("C-c")
    terminal.shows("ended with 130")
    state = fleet.agent("big").state
    assert state and state.kind == "working"


def test_the_pipeline_works_with_agents_elsewhere(
    calc: Path, boxes: Boxes, home: Path, muster: Muster, fleet: Fleet
) -> None:
    # The project's interpreter is what that machine calls `python`.
    boxes("box", env=f"PATH={Path(sys.executable).parent}:/usr/bin:/bin")
    report = mend(muster, "--at", "@box", "--type", "mechanic", *only("test_add.py"))
    [entry] = report["entries"]
    assert entry["verdict"] == "fixed", entry
    assert "return a + b" in git(calc, "show", f"{report['branch']}:calc.py")
    assert {agent.host for agent in fleet.known()} <= {"box"}
    assert git(calc, "status", "--porcelain") == ""


# -- ways there --------------------------------------------------------------------------------------------------------


def used_there(repo: Path, muster: Muster, fleet: Fleet) -> None:
    """What one does with an agent on `box`; it is there still."""
    muster("create", "fix@box", "scripted", "-m", "one", "--setup", "echo set up >>README.md")
    until(lambda: heard(fleet, "fix") == ["one"], "its message")
    assert muster("message", "fix", "-m", "two\n!! 'it\\'").code == 0
    assert heard(fleet, "fix") == ["one", "two\n!! 'it\\'"]
    [seen] = muster("list", "--format", "json").json["agents"]
    assert (seen["host"], seen["state"]["kind"]) == ("box", "waiting")
    assert muster("exec", "fix", "printf", "%s|", *WORDS).out == "".join(f"{word}|" for word in WORDS)
    muster("exec", "fix", "--", "sh", "-c", "git commit -qam done && echo 2 >draft")
    assert muster("pull", "fix").out.startswith("fast-forwarded")
    assert (repo / "README.md").read_text() == "# A project\nset up\n"
    muster("pull", "fix", "draft")
    assert (repo / "draft").read_text() == "2\n"


@pytest.mark.parametrize("shell", ["fish", "tcsh"])
def test_whatever_the_login_shell_is(
    shell: str, boxes: Boxes, repo: Path, muster: Muster, fleet: Fleet, home: Path
) -> None:
    if not (program := shutil.which(shell)):
        pytest.skip(f"needs {shell}")
    boxes("box", env=f"SHELL={program}", more=f'ForceCommand exec {program} -c "$SSH_ORIGINAL_COMMAND"')
    used_there(repo, muster, fleet)
    terminal = Terminal(home, 90, 30)
    terminal.type("exec", "fix", "sh", "-c", "stty size; echo 'it'\\''s!'; exit 3")
    terminal.shows("ended with 3")
    assert "30 90" in terminal.screen and "it's!" in terminal.screen
    muster("destroy", "fix")


def test_a_login_shell_that_talks_is_named(boxes: Boxes, muster: Muster) -> None:
    boxes("box", more='ForceCommand echo hello; exec sh -c "$SSH_ORIGINAL_COMMAND"')
    done = muster("host", "exec", "box", "true", check=False)
    assert (done.code, "'hello" in done.err, ".bashrc" in done.err) == (4, True, True), done.err


def test_a_machine_behind_another_and_a_cut_cable(
    boxes: Boxes, cable: Cable, repo: Path, home: Path, muster: Muster, fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    boxes("jump", cable=cable, address=cable.address)
    box = boxes("box", cable=cable)  # the loopback of that network
    config = home.parent / "home" / "ssh_config"
    config.write_text(f"Host box\nProxyJump jump\n{config.read_text()}")
    monkeypatch.setenv("MUSTER_SSH_PATIENCE", "2")
    used_there(repo, muster, fleet)
    with subprocess.Popen(
        [*program(), "exec", "fix", "--", "sh", "-c", "echo begun; sleep 1000"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as going:
        assert going.stdout and going.stdout.readline() == "begun\n"
        cable.cut()
        said = going.communicate(timeout=60)[1]
    assert (going.returncode, "broke" in said) == (125, True), said
    away = muster("list", "--format", "json").json["agents"][0]["state"]
    assert (away["kind"], away["last"]) == ("unknown", "waiting")
    cable.mend()
    muster("message", "fix", "-m", "three")
    assert heard(fleet, "fix")[2:] == ["three"]
    box.kill()
    done = muster("exec", "fix", "true", check=False)
    assert (done.code, "Connection refused" in done.err) == (4, True), done.err


# -- cut short: the same command again finishes it, and nothing is lost or left over -----------------------------------


def points(home: Path, *command: str) -> list[str]:
    """Some of the steps, spread over the whole command."""
    found = list(steps(home, *command))
    return found[2 :: max(1, len(found) // 10)]


def whole(box: Box, home: Path, repo: Path, agents: list[Agent]) -> None:
    """Here and there is what the registry says, and nothing else."""
    far = box.home / ".muster"
    ids = {agent.id for agent in agents if agent.host == "box"}
    for room in ("agents", "work"):
        assert {one.name for one in (far / room).iterdir()} == ids, room
        here = home / room
        mine = {agent.id for agent in agents} - ids
        assert {one.name for one in here.iterdir()} == mine if here.exists() else not mine
    assert set(sessions(far)) == ids
    [mirror] = (far / "repos").glob("*.git")
    heads = {agent.workspace.branch for agent in agents if agent.host == "box"}
    assert set(git(mirror, "for-each-ref", "--format=%(refname:short)", "refs/heads").split()) == {"main", *heads}
    assert git(mirror, "for-each-ref", "refs/muster/carried", "refs/muster/attic", "refs/muster/snapshots") == ""
    assert len(git(mirror, "worktree", "list").splitlines()) == 1 + len(heads)


def test_a_killed_create_elsewhere(box: Box, home: Path, repo: Path, muster: Muster) -> None:
    (repo / "draft").write_text("carried\n")
    command = ("create", "fix@box", "--dirty", "carry", "--", "cat")
    some = points(home, *command)
    muster("destroy", "fix", "--branch")
    for point in some:
        killed(point, *command)
        muster("create", "fix@box", "--reuse", *command[2:])
        [agent] = Fleet.open().agents()
        assert agent.state and agent.state.kind == "working", (point, agent.state)
        assert (Path(agent.workspace.path) / "draft").read_text() == "carried\n"
        whole(box, home, repo, [agent])
        muster("destroy", "fix", "--branch")
        whole(box, home, repo, [])


def test_a_killed_destroy_elsewhere(box: Box, home: Path, repo: Path, muster: Muster) -> None:
    command = ("destroy", "fix", "--branch")

    def prepare() -> str:
        muster("create", "fix@box", "--", "cat")
        work = "echo 1 >new && git add new && git commit -qm work && echo precious >uncommitted"
        muster("exec", "fix", "--", "sh", "-c", work)
        return muster("exec", "fix", "git", "rev-parse", "HEAD").out.strip()

    prepare()
    some = points(home, *command)
    for entry in Fleet.open().kept("attic"):
        Fleet.open().expire(entry)
    for point in some:
        tip = prepare()
        killed(point, *command)
        again = muster(*command, check=False)
        assert again.code in (0, 3), again.err
        whole(box, home, repo, [])
        [kept] = Fleet.open().kept("attic")
        assert kept.tip == tip, point
        assert git(repo, "show", f"{kept.work}:uncommitted") == "precious", point
        Fleet.open().expire(kept)
        assert git(repo, "for-each-ref", "refs/muster") == "", point


def test_a_killed_migration(box: Box, home: Path, repo: Path, muster: Muster) -> None:
    there, back = ("migrate", "fix", "@box"), ("migrate", "fix", "@local")
    muster("create", "fix", "scripted", "-m", "hello")
    muster("exec", "fix", "--", "sh", "-c", "echo 1 >new && git add new && git commit -qm work && echo 2 >draft")
    some = points(home, *there)
    muster(*back)
    for point, command in zip(some, [there, back] * len(some), strict=False):
        killed(point, *command)
        muster(*command)
        [agent] = Fleet.open().agents()
        assert agent.state and agent.state.kind in ("starting", "working", "waiting"), (point, agent.state)
        assert agent.moving is None
        whole(box, home, repo, [agent])
        path = Path(agent.workspace.path)
        assert (path / "draft").read_text() == "2\n", point
        assert git(path, "log", "-1", "--format=%s") == "work"
        assert heard(Fleet.open(), "fix") == ["hello"]
        assert git(repo, "for-each-ref", "refs/muster") == "", point


# -- the way there breaks ----------------------------------------------------------------------------------------------

# A git that takes its own connection down once, when it is about to do that.
CUT = """#!/bin/sh
case "$*" in
  *"$CUT"*)
    if mkdir "$HOME/cut" 2>/dev/null; then
      pid=$$
      until [ "$(ps -o comm= -p $pid)" = sshd ]; do pid=$(ps -o ppid= -p $pid | tr -d ' '); done
      kill -9 "$pid"
      sleep 0.2
    fi ;;
esac
exec /usr/bin/git "$@"
"""


@pytest.mark.parametrize(
    ("command", "moment"),
    [
        ("create", "receive-pack"),
        ("create", "worktree add"),
        ("create", "checkout"),
        ("pull", "upload-pack"),
        ("destroy", "commit-tree"),
        ("destroy", "upload-pack"),
        ("destroy", "worktree remove"),
    ],
)
def test_a_connection_that_breaks_loses_and_doubles_nothing(
    command: str, moment: str, boxes: Boxes, home: Path, repo: Path, muster: Muster
) -> None:
    broken = home.parent / "broken"
    broken.mkdir()
    (broken / "git").write_text(CUT)
    (broken / "git").chmod(0o700)
    box = boxes("box", env=f'PATH={broken}:/usr/bin:/bin "CUT={moment}"')
    create = ("create", "fix@box", "--", "cat")
    if command != "create":
        muster(*create)
        work = "echo 1 >new && git add new && git commit -qm work && echo precious >uncommitted"
        muster("exec", "fix", "--", "sh", "-c", work)
    words = create if command == "create" else (command, "fix")
    done = muster(*words, check=False)
    assert done.code == 4, (done.out, done.err)
    assert (box.home / "cut").is_dir()
    if command == "destroy":
        assert [agent.name for agent in Fleet.open().known()] == ["fix"]
    muster(*words)
    agents = Fleet.open().agents()
    assert [agent.state.kind for agent in agents if agent.state] == ["working"] * (command != "destroy")
    whole(box, home, repo, agents)
    if command == "pull":
        assert (repo / "new").read_text() == "1\n"
    if command == "destroy":
        [kept] = Fleet.open().kept("attic")
        assert git(repo, "show", f"{kept.work}:uncommitted") == "precious"
        assert git(repo, "log", "-1", "--format=%s", "muster/fix") == "work"


def test_a_wait_outlives_its_connection(box: Box, repo: Path, muster: Muster, fleet: Fleet) -> None:
    gate = box.home / "gate"
    muster("create", "fix@box", "--", "sh", "-c", f"until [ -e {gate} ]; do sleep 0.02; done; exit 3")
    argv = [*program(), "wait", "fix", "--for", "failed"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as waiting:
        until(lambda: tails(box))
        cut(box)
        gate.touch()
        out, err = waiting.communicate(timeout=30)
    assert (waiting.returncode, out.split()[:2], err) == (0, ["fix", "failed"], "")
    until(lambda: not tails(box), "the end of the tail there")


def tails(box: Box) -> list[str]:
    """What follows the event log there."""
    listing = subprocess.run(["ps", "-A", "-ww", "-o", "args="], capture_output=True, text=True, check=True).stdout
    return [line for line in listing.splitlines() if line.startswith("tail ") and f"{box.home}/.muster/events" in line]


def cut(box: Box) -> None:
    """Every connection breaks; its door stays open."""
    for pid in box.doors()[1:]:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def test_a_host_that_is_gone_takes_nothing_along(box: Box, repo: Path, muster: Muster, fleet: Fleet) -> None:
    muster("create", "fix@box", "--", "cat")
    before = fleet.agent("fix")
    box.kill()
    done = muster("destroy", "fix", check=False)
    assert (done.code, "nothing was destroyed" in done.err) == (4, True)
    assert fleet.known()[0].intent == before.intent
    seen = muster("list", "--format", "json").json["agents"][0]
    assert seen["state"]["kind"] == "unknown" and seen["state"]["last"] == "working"
    for words in (("stop", "fix"), ("exec", "fix", "true"), ("pull", "fix"), ("migrate", "fix", "@local")):
        done = muster(*words, check=False)
        assert (done.code, "can't reach `box`" in done.err) == (4, True), words
    assert fleet.known()[0].intent == before.intent
    # Nobody here waits for it.
    muster("create", "other", "--", "cat")
    muster("destroy", "other")


def test_a_log_is_kept_elsewhere(box: Box, repo: Path, muster: Muster, fleet: Fleet) -> None:
    gate = box.home / "gate"
    script = f"until [ -e {gate} ]; do sleep 0.02; done; echo it says so"
    muster("create", "fix@box", "--log", "--", "sh", "-c", script)
    gate.touch()
    fleet.wait(["fix"], ["done"], timeout=30)
    log = box.home / ".muster" / "agents" / fleet.agent("fix").id / "log"
    assert until(lambda: log.exists() and "it says so" in log.read_text())


def test_a_folder_there_may_lie_behind_a_link(box: Box, repo: Path, muster: Muster) -> None:
    (box.home / "elsewhere").mkdir()
    (box.home / ".muster").symlink_to("elsewhere")
    muster("create", "fix@box", "--", "cat")
    muster("exec", "fix", "--", "sh", "-c", "git checkout -q --detach && git commit -q --allow-empty -m lonely")
    muster("destroy", "fix")
    [kept] = Fleet.open().kept("attic")
    assert git(repo, "log", "-1", "--format=%s", kept.head) == "lonely" and kept.tars == ("agent.tar",)
    assert list((box.home / "elsewhere" / "work").iterdir()) == []
    [mirror] = (box.home / ".muster" / "repos").iterdir()
    assert len(git(mirror, "worktree", "list").splitlines()) == 1
    muster("restore", "fix")
    assert muster("exec", "fix", "git", "log", "-1", "--format=%s").out == "lonely\n"


def test_the_doctor_visits_other_hosts(box: Box, repo: Path, muster: Muster, fleet: Fleet) -> None:
    for name in ("one", "two"):
        muster("create", f"{name}@box", "--", "cat")
    assert found(muster) == ("ok", "2 agents")
    far = box.home / ".muster"
    subprocess.run(["tmux", "-S", str(far / "tmux.sock"), "kill-session", "-t", fleet.agent("one").id], check=True)
    assert found(muster) == ("warn", "without session: `one`")
    shutil.rmtree(fleet.agent("two").workspace.path)
    assert found(muster) == ("warn", "without workspace: `two`")
    box.kill()
    grade, said = found(muster)
    assert (grade, "can't reach `box`" in said) == ("warn", True)


def found(muster: Muster) -> tuple[str, str]:
    """What the doctor says of that host, in its last words."""
    checks = muster("doctor", "--format", "json", check=False).json
    [one] = [one for one in checks if one["name"] == "host box"]
    return one["grade"], one["found"].rpartition("; ")[2].rpartition("2.39.5, ")[2]


def test_commits_of_a_repository_that_is_gone_are_kept(box: Box, repo: Path, muster: Muster, home: Path) -> None:
    muster("create", "fix@box", "--", "cat")
    muster("exec", "fix", "--", "sh", "-c", "echo 1 >new && git add new && git commit -qm work")
    repo.rename(repo.parent / "away")
    muster("destroy", "fix", cwd="/")
    [kept] = (home / "attic").iterdir()
    heads = subprocess.run(
        ["git", "bundle", "list-heads", str(kept / "commits.bundle")], capture_output=True, text=True
    )
    assert "refs/heads/muster/fix" in heads.stdout


# -- a hostile host ----------------------------------------------------------------------------------------------------


def member(name: str, kind: bytes = tarfile.REGTYPE, target: str = "", data: bytes = b"evil") -> tarfile.TarInfo:
    one = tarfile.TarInfo(name)
    one.type, one.linkname, one.size = kind, target, len(data) if kind == tarfile.REGTYPE else 0
    return one


ESCAPES = {
    "climbs": [member("../out")],
    "is absolute": [member("/tmp/../../out")],
    "through its own link": [member("link", tarfile.SYMTYPE, ".."), member("link/out")],
    "through a link that was there": [member("old/out")],
    "hard link to the outside": [member("hard", tarfile.LNKTYPE, "../secret"), member("hard")],
    "hard link through a link": [member("hard", tarfile.LNKTYPE, "old/secret"), member("hard")],
    "over a link that was there": [member("leads")],
    "a device": [member("device", tarfile.CHRTYPE)],
}


@pytest.mark.parametrize("case", ESCAPES)
def test_a_tar_writes_nowhere_else(case: str, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("mine")
    into = tmp_path / "a" / "into"
    into.mkdir(parents=True)
    (into / "old").symlink_to(tmp_path)
    (into / "leads").symlink_to(tmp_path / "secret")
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as tar:
        for one in ESCAPES[case]:
            tar.addfile(one, io.BytesIO(b"evil"))
    stream.seek(0)
    with suppress(MusterError):
        extract(stream, str(into))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "secret"]
    assert (tmp_path / "secret").read_text() == "mine"
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["into"]
    assert not (into / "device").exists()


# A git that tells lies, where the option that it gives away would run a program here.
LIES = """#!/bin/sh
case "$*" in
  *"status --porcelain"*) printf '# branch.oid --upload-pack=touch %s;\\0# branch.head main\\0' "$OWNED" ;;
  *rev-parse*) printf -- '--upload-pack=touch %s;' "$OWNED" ;;
  *) exec /usr/bin/git "$@" ;;
esac
"""


def test_a_lying_git_runs_nothing_here(boxes: Boxes, home: Path, repo: Path, muster: Muster) -> None:
    evil, owned = home.parent / "evil", home.parent / "owned"
    evil.mkdir()
    boxes("box", env=f"PATH={evil}:/usr/bin:/bin OWNED={owned}")
    muster("create", "fix@box", "--", "cat")
    # The commits it sends carry hooks and settings of its own, too.
    (repo.parent / "far" / ".muster").exists()
    work = "mkdir -p .git-hooks && printf 'x\\033]0;owned\\007' >'na\033me' && git add . && git commit -qm work"
    muster("exec", "fix", "--", "sh", "-c", work)
    shown = muster("pull", "fix", b"na\033me".decode("unicode_escape"), check=False)
    assert "\x1b" not in shown.out + shown.err
    (evil / "git").write_text(LIES)
    (evil / "git").chmod(0o700)
    for words in (
        ("pull", "fix"),
        ("clone", "fix", "two@local"),
        ("pull", "fix", "--ref", "refs/x/y"),
        ("destroy", "fix"),
    ):
        done = muster(*words, check=False)
        assert done.code != 0, words
        assert not owned.exists()
    (evil / "git").unlink()
    assert [agent.name for agent in Fleet.open().known()] == ["fix"]
    muster("destroy", "fix")
