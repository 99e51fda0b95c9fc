"""What becomes of hosts: made, stopped, idle, snapshotted, adopted, dead, hostile."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import engine as engines
from conftest import Muster, program
from muster.agents import Agent, Workspace
from muster.core import proc
from muster.errors import Unreachable
from muster.fleet import Fleet, places, standing
from muster.fleet.registry import now
from terminal import until

if TYPE_CHECKING:
    from machines import Box, Boxes, Engine

pytest_plugins = ["machines"]

COMMIT = "echo work >new; git add new; git commit --quiet --message work; echo said; exec sleep 1000"


def conditions(muster: Muster, *words: str) -> dict[str, str]:
    return {one["name"]: one["condition"] for one in muster("host", "list", "--format", "json", *words).json}


def states(muster: Muster) -> dict[str, str]:
    return {one["name"]: one["state"]["kind"] for one in muster("list", "--format", "json").json["agents"]}


def test_a_container_of_an_agents_own(engine: Engine, repo: Path, muster: Muster) -> None:
    muster("create", "fix@.docker", "--", "sh", "-c", COMMIT)
    until(lambda: "said" in muster("capture", "fix").out)
    [pod] = engine.containers()
    muster("host", "stop", "fix")
    assert conditions(muster)["fix"] == "stopped"
    assert states(muster) == {"fix": "stopped"}
    assert "said" in muster("logs", "fix").out
    muster("pull", "fix")
    assert (repo / "new").read_text() == "work\n"
    assert conditions(muster)["fix"] == "stopped"  # it was started for that moment only
    muster("start", "fix")
    assert (conditions(muster)["fix"], states(muster)) == ("running", {"fix": "working"})
    engine.docker("kill", pod)
    assert states(muster) == {"fix": "stopped"}
    assert engine.docker("inspect", "--format", "{{.State.Status}}", pod) == "exited"
    muster("destroy", "fix")
    assert (engine.containers(), conditions(muster)) == ([], {"local": "running"})
    kept = subprocess.run(["git", "show", "muster/fix:new"], capture_output=True, text=True, check=True)
    assert kept.stdout == "work\n"


def test_nothing_is_left_of_what_came_to_nothing(engine: Engine, repo: Path, muster: Muster, home: Path) -> None:
    for words, code in (
        (["one@.docker", "--branch", "no-such:x", "--", "cat"], 2),
        (["one@.docker", "--setup", "exit 3", "--", "cat"], 4),
        (["one@.docker", "--image", "no-such:1", "--", "cat"], 4),
        (["one@.docker", "--host-set", "cpus=many", "--", "cat"], 2),
        (["one", "--network", "none", "--", "cat"], 2),
        (["one@box", "--image", "some:1", "--", "cat"], 2),
    ):
        assert muster("create", *words, check=False).code == code
        assert engine.containers() == []
    making = subprocess.Popen([*program(), "create", "one@.docker", "--", "cat"], stderr=subprocess.DEVNULL)
    until(engine.containers, "the container")
    making.send_signal(signal.SIGKILL)
    making.wait()
    muster("gc")
    assert (engine.containers(), conditions(muster), states(muster)) == ([], {"local": "running"}, {})


def test_where_no_engine_answers_nothing_is_begun(repo: Path, muster: Muster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUSTER_DOCKER_ENGINE", "unix:///nowhere/socket")
    for words, code, said in (
        (("create", "one@.docker", "--", "cat"), 4, "Cannot connect to the Docker daemon"),
        (("host", "create", "box.docker"), 4, "Cannot connect to the Docker daemon"),
        (("create", "one@.dokcer", "--", "cat"), 3, "no provider `dokcer`"),
        (("host", "create", "local.docker"), 2, "is this machine"),
    ):
        done = muster(*words, check=False)
        assert (done.code, said in done.err, "can't remove" in done.err) == (code, True, False), done.err
    assert conditions(muster) == {"local": "running"}


def test_a_paused_host_goes_on_and_a_gone_one_is_told(engine: Engine, repo: Path, muster: Muster) -> None:
    muster("create", "one@shared.docker", "--", "cat")
    [pod] = engine.containers()
    for words in (("host", "start", "shared"), ("create", "two@shared", "--", "cat")):
        engine.docker("pause", pod)
        assert conditions(muster)["shared"] == "paused"
        muster(*words)
        assert (conditions(muster)["shared"], set(states(muster).values())) == ("running", {"working"})
    engine.docker("pause", pod)
    muster("host", "stop", "shared")
    assert (conditions(muster)["shared"], set(states(muster).values())) == ("stopped", {"stopped"})
    muster("start", "one", "two")
    engine.docker("kill", pod)
    muster("create", "three@shared", "--", "cat")
    assert states(muster) == {"one": "stopped", "two": "stopped", "three": "working"}
    engine.docker("rm", "--force", pod)
    for command in (("start", "one"), ("destroy", "one"), ("exec", "one", "true"), ("host", "start", "shared")):
        done = muster(*command, check=False)
        assert (done.code, "is gone" in done.err, "--forget" in done.err) == (4, True, True), (command, done.err)
    assert "made anew" in muster("host", "create", "shared").err
    engine.docker("rm", "--force", pod)
    muster("host", "destroy", "shared", "--forget")
    assert (conditions(muster), states(muster)) == ({"local": "running"}, {})


def test_several_agents_on_one_and_the_host_goes_last(engine: Engine, repo: Path, muster: Muster) -> None:
    muster("host", "create", "shared.docker")
    muster("create", "a@shared", "-n", "3", "--", "cat")
    assert len(engine.containers()) == 1
    refused = muster("host", "destroy", "shared", check=False)
    assert refused.code == 5 and "--agents" in refused.err
    muster("destroy", "a-1")
    assert conditions(muster)["shared"] == "running"
    muster("host", "destroy", "shared", "--agents")
    assert (engine.containers(), states(muster)) == ([], {})
    assert muster("host", "destroy", "shared", check=False).code == 3


def test_a_snapshot_is_what_others_are_made_from(engine: Engine, box: Box, repo: Path, muster: Muster) -> None:
    muster("host", "create", "first.docker")
    muster("host", "exec", "first", "--", "sh", "-c", "echo ready >/opt/state; chmod 600 /opt/state")
    assert muster("host", "snapshot", "first", "--label", "ready").out == "muster-snapshot:ready\n"
    muster("host", "create", "two.docker", "three.docker", "--snapshot", "ready")
    muster("host", "destroy", "first")
    for name in ("two", "three"):
        assert muster("host", "exec", name, "--", "stat", "-c", "%a %s", "/opt/state").out == "600 6\n"
    engine.docker("rmi", "--force", "muster-snapshot:ready")
    done = muster("create", "four@.docker", "--snapshot", "redy", "--", "cat", check=False)
    assert (done.code, "no snapshot `redy`" in done.err) == (4, True), done.err


def test_a_snapshot_of_a_machine_brings_it_back_and_makes_no_other(
    engine: Engine, box: Box, repo: Path, muster: Muster
) -> None:
    muster("create", "fix@box", "--", "sh", "-c", "cat; exec sleep 1000")
    muster("exec", "fix", "--", "sh", "-c", "echo work >new && git add new && git commit -qm work && echo 2 >draft")
    tar = muster("host", "snapshot", "box", "--label", "ready").out.strip()
    assert os.stat(tar).st_mode & 0o777 == 0o600
    done = muster("create", "one@.docker", "--snapshot", "ready", "--", "cat", check=False)
    assert (done.code, "no container can be made from" in done.err, engine.containers()) == (4, True, []), done.err
    # The machine is lost, and another one takes its place.
    box.end_all()
    shutil.rmtree(box.home / ".muster")
    muster("host", "destroy", "box", "--forget")
    with open(tar, "rb") as file:
        # A session of the test's sshd begins in the home of the password file.
        ssh = ["ssh", "-F", os.environ["MUSTER_SSH_CONFIG"], "box"]
        subprocess.run([*ssh, f"tar -C {box.home} -xpf -"], stdin=file, check=True)
    assert muster("host", "adopt", "box").out == "fix\n"
    muster("start", "fix")
    assert muster("exec", "fix", "cat", "new", "draft").out == "work\n2\n"
    muster("pull", "fix")
    assert (repo / "new").read_text() == "work\n"


# Programs that stop in the middle of what they were asked for, where that is in `/stalled/at`.
STALLED = """#!/bin/sh
case "${0##*/} $*" in
  *"$(/usr/bin/cat /stalled/at)"*) echo >/stalled/there; exec /usr/bin/sleep 1000 ;;
esac
exec "/usr/bin/${0##*/}" "$@"
"""


def test_what_is_on_the_way_to_a_frozen_container_is_lost(
    engine: Engine, home: Path, repo: Path, muster: Muster, monkeypatch: pytest.MonkeyPatch
) -> None:
    stalled = home.parent / "stalled"
    stalled.mkdir()
    for name in ("tar", "git", "cat"):
        (stalled / name).write_text(STALLED)
        (stalled / name).chmod(0o755)
    at, there = stalled / "at", stalled / "there"
    at.write_text("nothing at all")
    monkeypatch.setenv("MUSTER_DOCKER_MOUNTS", f"{engines.MOUNT},{stalled}:/stalled")
    monkeypatch.setenv("MUSTER_SSH_PATIENCE", "2")
    muster("create", "fix@.docker", "--host-set", "env=PATH=/stalled:/usr/bin:/bin", "--", "cat", "-")
    muster("exec", "fix", "--", "sh", "-c", "echo 1 >new && git add new && git commit -qm work")
    (repo / "ours").write_text("x")
    subprocess.run(["git", "add", "ours"], check=True)
    subprocess.run(["git", "commit", "--quiet", "--message", "ours"], check=True)
    [pod] = engine.containers()
    for moment, words, code in (
        ("tar -C", ("pull", "fix", "new"), 4),
        ("tar -xp", ("push", "fix", "ours", "--to", "deep"), 4),
        ("upload-pack", ("pull", "fix"), 4),
        ("receive-pack", ("push", "fix"), 4),
        ("tar -C", ("snapshot", "create", "fix"), 4),
        ("cat README.md", ("exec", "fix", "cat", "README.md"), 125),
    ):
        at.write_text(moment)
        with subprocess.Popen([*program(), *words], stderr=subprocess.PIPE, text=True) as going:
            until(there.exists, f"{moment} of {words}")
            engine.docker("pause", pod)
            try:
                said = going.communicate(timeout=30)[1]
            finally:
                going.kill()
                at.write_text("nothing at all")
                there.unlink()
                engine.docker("unpause", pod)
        assert (going.returncode, "broke" in said) == (code, True), (words, said)
        assert states(muster) == {"fix": "working"}
    muster("pull", "fix")
    kept = subprocess.run(["git", "show", "muster/fix:new"], capture_output=True, text=True, check=True)
    assert kept.stdout == "1\n"


def test_an_idle_container_stops_by_itself(engine: Engine, repo: Path, muster: Muster) -> None:
    # The busy one is older, so if both had been idle it would have stopped first.
    ticks = "while :; do date; sleep 0.3; done"
    muster("create", "busy@.docker", "--host-set", "idle_timeout=6s", "--", "sh", "-c", ticks)
    muster("create", "idle@.docker", "--host-set", "idle_timeout=6s", "--", "cat")
    muster("create", "old@.docker", "--host-set", "lifetime=8s", "--", "sh", "-c", ticks)
    for patience in (1, 2, 3):
        try:
            until(lambda: {"idle", "old"} == {name for name, one in conditions(muster).items() if one == "stopped"})
            break
        except AssertionError:
            if patience == 3:  # a busy machine takes long over each look
                raise
    assert states(muster) == {"busy": "working", "idle": "stopped", "old": "stopped"}
    muster("start", "idle")
    assert states(muster)["idle"] == "working"


def test_a_container_has_what_it_was_given_and_nothing_else(
    engine: Engine, home: Path, repo: Path, muster: Muster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSH_AUTH_SOCK", "/tmp/an-agent")
    monkeypatch.setenv("MUSTER_TEST_SECRET", "hunter2")
    shared = home.parent / "shared"
    shared.mkdir()
    more = [
        "read_only=true",
        f"mounts=/usr:/usr:ro,{shared}:/shared",
        "memory=64m",
        "cpus=0.5",
        "env=GREETING=hello you",
    ]
    flags = [word for one in more for word in ("--host-set", one)]
    muster("create", "fix@.docker", "--network", "none", *flags, "--", "sleep", "1000")
    script = "env; ls /sys/class/net; touch /root/x 2>&1; touch /shared/x; ls -a / ~"
    seen = muster("exec", "fix", "--", "sh", "-c", script, check=False)
    assert "GREETING=hello you\n" in seen.out
    assert "hunter2" not in seen.out and "SSH_AUTH_SOCK" not in seen.out and str(home) not in seen.out
    assert "eth0" not in seen.out and "docker.sock" not in seen.out and "Read-only" in seen.out
    assert (shared / "x").exists()
    [pod] = engine.containers()
    assert engine.docker("inspect", "--format", "{{.HostConfig.Memory}} {{.HostConfig.NanoCpus}}", pod) == (
        "67108864 500000000"
    )
    muster("host", "stop", "fix")
    muster("start", "fix")
    assert muster("exec", "fix", "--", "cat", "README.md").out == "# A project\n"  # its volume outlives its memory


def test_a_fence_lets_through_what_is_named(engine: Engine, muster: Muster) -> None:
    for name in ("open", "shut"):
        muster("host", "create", f"{name}.docker", "--network", "full")
        serve = "cd /tmp; setsid python3 -m http.server 8000 >/dev/null 2>&1 </dev/null &"
        muster("host", "exec", name, "--", "sh", "-c", serve)
    address = {name: muster("host", "exec", name, "--", "hostname", "-i").out.strip() for name in ("open", "shut")}
    muster("host", "create", "fenced.docker", "--network", f"allow:{address['open']}")
    script = "import socket, sys; socket.create_connection((sys.argv[1], 8000), 2)"
    for again in (False, True):
        if again:
            muster("host", "stop", "fenced")
            muster("host", "start", "fenced")
        tries = {
            name: muster("host", "exec", "fenced", "--", "python3", "-c", script, one, check=False).code
            for name, one in address.items()
        }
        assert tries == {"open": 0, "shut": 1}
    assert muster("host", "exec", "fenced", "--", "iptables", "-P", "OUTPUT", "ACCEPT", check=False).code
    left = muster("host", "create", "none.docker", "--network", "allow:no.such.host.invalid", check=False)
    assert left.code == 4 and "no.such.host.invalid" in left.err
    assert len(engine.containers()) == 3


def test_an_image_from_a_dockerfile_here_and_there(engine: Engine, boxes: Boxes, home: Path, muster: Muster) -> None:
    boxes("box", env=f"DOCKER_HOST={engine.url}")
    folder = home.parent / "image"
    folder.mkdir()
    (folder / "file").write_text("from the context\n")
    (folder / "Dockerfile").write_text("FROM muster-test:zero\nCOPY file /opt/file\n")
    settings = [f"dockerfile={folder}/Dockerfile"]
    for name, more in (("here", []), ("there", ["engine=ssh://box"])):
        flags = [word for one in [*settings, *more] for word in ("--host-set", one)]
        muster("host", "create", f"{name}.docker", *flags)
        assert muster("host", "exec", name, "--", "cat", "/opt/file").out == "from the context\n"


def test_another_computer_adopts_a_host(engine: Engine, box: Box, repo: Path, muster: Muster, home: Path) -> None:
    muster("host", "create", "shared.docker")
    muster("create", "fix@box", "--", "sh", "-c", COMMIT)
    muster("create", "two@shared", "--", "cat")
    there = {"MUSTER_HOME": str(home.parent / "tmux" / "n")}
    muster("create", "fix", "--", "cat", env=there)
    assert muster("host", "adopt", "box", env=there).out == "fix-2\n"
    assert muster("host", "adopt", "box", env=there).out == ""
    assert muster("host", "adopt", "shared.docker", env=there).out == "two\n"
    until(lambda: "said" in muster("capture", "fix-2", env=there).out)
    found = muster("list", "--format", "json", env=there).json["agents"]
    assert {one["name"]: (one["state"]["kind"], one["host"]) for one in found} == {
        "fix": ("working", "local"),
        "fix-2": ("working", "box"),
        "two": ("working", "shared"),
    }
    assert muster("exec", "fix-2", "--", "cat", "new", env=there).out == "work\n"
    muster("message", "two", "-m", "hello", env=there)
    until(lambda: "hello" in muster("capture", "two").out)
    refused = muster("host", "stop", "shared", env=there, check=False)
    assert refused.code == 5  # it is the other's
    muster("stop", "fix-2", env=there)
    assert states(muster)["two"] == "working"
    muster("destroy", "--all", env=there)
    muster("host", "destroy", "shared", env=there)
    assert len(engine.containers()) == 1


def test_a_record_of_a_hostile_host_is_not_taken_at_its_word(box: Box, muster: Muster, home: Path) -> None:
    good = {"id": "0123456789", "name": "ok", "type": "command", "created": 1.0, "intent": "started"}
    root = box.home / ".muster"
    faults: list[dict[str, Any]] = [
        {"id": "../../../x1"},
        {"id": "abcdefgh12", "name": "\x1b]0;owned\x07"},
        {"id": "abcdefgh13", "name": "a/../../b"},
        {"id": "abcdefgh14", "workspace": {"mode": "worktree", "path": "/etc"}},
        {"id": "abcdefgh15", "name": 7},
    ]
    for number, fault in enumerate([{}, *faults]):
        record = {
            **good,
            "workspace": {"mode": "worktree", "path": f"{root}/work/{good['id']}", "source": "/etc"},
            **fault,
        }
        folder = root / "agents" / f"agent{number}"
        folder.mkdir(parents=True)
        (folder / "record.json").write_text(json.dumps(record))
    done = muster("host", "adopt", "box")
    assert done.lines == ["ok"]
    assert done.err.count("warning: ") == len(faults) and "\x1b" not in done.err
    [agent] = Fleet.open().known()
    assert (agent.workspace.source, agent.project, agent.host) == ("", "", "box")


def test_a_hostile_host_can_not_drown_or_paint_us(boxes: Boxes, home: Path, fleet: Fleet, muster: Muster) -> None:
    evil = home.parent / "evil"
    evil.mkdir()
    boxes("box", env=f"PATH={evil}:/usr/bin:/bin")
    host = fleet.seat("box").host
    with pytest.raises(Unreachable, match="nobody can read"):
        proc.run(host, ["yes", "a" * 1000])
    (evil / "sh").write_text("#!/bin/bash\nprintf '\\033]0;owned\\007\\033[2Jlies\\n' >&2\nexit 1\n")
    (evil / "sh").chmod(0o755)
    said = muster("host", "exec", "other-box", "--", "true", check=False)
    assert said.code == 4
    place = Workspace("worktree", "/nowhere")
    fleet.registry.reserve(Agent("zzzzzzzzzz", "far", "command", now(), place, host="box", intent="started"))
    listed = muster("list")
    assert "unknown" in listed.out and "\x1b" not in listed.out + listed.err


def test_a_key_that_changed_is_refused_and_a_first_one_is_said(
    boxes: Boxes, home: Path, muster: Muster, tmp_path: Path
) -> None:
    box = boxes("box")
    said = muster("host", "exec", "box", "--", "true").err
    assert "ED25519" in said and "first" in said
    assert muster("host", "exec", "box", "--", "true").err == ""
    known = home.parent / "home" / "known_hosts"
    before = known.read_text()
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / "other")], check=True)
    key = (tmp_path / "other.pub").read_text().split()[1]
    known.write_text(" ".join([before.split()[0], "ssh-ed25519", key]) + "\n")
    places.find(Fleet.open(), places.parse("box")).close()  # type: ignore[attr-defined]
    refused = muster("host", "exec", "box", "--", "true", check=False)
    assert refused.code == 4 and "not the one that is known" in refused.err and "ssh-keygen -R" in refused.err
    assert box.sshd.poll() is None


def test_thirty_hosts_of_which_five_are_dead(
    box: Box, home: Path, muster: Muster, fleet: Fleet, monkeypatch: pytest.MonkeyPatch, silent: int
) -> None:
    monkeypatch.setenv("MUSTER_SSH_PATIENCE", "3")
    config = home.parent / "home" / "ssh_config"
    alive = [f"h{number}" for number in range(25)]
    text = config.read_text().replace("Host box\n", f"Host box {' '.join(alive)}\n")
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        ports = {"d1": closed.getsockname()[1], "d2": closed.getsockname()[1], "d3": silent, "d4": silent}
    for name, port in ports.items():
        text = f"Host {name}\nHostName 127.0.0.1\nPort {port}\n" + text
    config.write_text(text)
    dead = [*ports, "no-such-host.invalid"]
    root = str(box.home / ".muster")
    for number, name in enumerate([*alive, *dead]):
        settings = places.describe(fleet, places.parse(name)).settings
        places.save(fleet, places.Record(name, "ssh", settings, root))
        place = Workspace("worktree", "/nowhere")
        agent = Agent(f"zzzzzzzz{number:02}", f"on-{name}", "command", now(), place, host=name, intent="started")
        fleet.registry.reserve(agent)
    fleet.seat("box")
    from muster.agents import session

    session.prepare(fleet.seat("box"))
    found = muster("list", "--format", "json").json
    assert set(found["hosts"]) == set(dead)
    assert len(found["agents"]) == 30
    listed = conditions(muster)
    assert {name for name, one in listed.items() if one == "unreachable"} == set(dead)
    assert {name for name, one in listed.items() if one == "running"} == {"local", "box", *alive}
    assert {name for name, one in conditions(muster, "--cached").items() if one == "new"} == set(dead)
    assert len(muster("list", "--cached", "--format", "json").json["agents"]) == 30


@pytest.fixture
def silent() -> Iterator[int]:
    """A port where somebody listens and never says a word."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        one.listen(16)
        yield one.getsockname()[1]


def test_an_engine_that_is_killed_and_comes_back(
    engine: Engine, repo: Path, muster: Muster, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = Path(tempfile.mkdtemp(prefix="md-", dir="/tmp"))
    monkeypatch.setenv("MUSTER_DOCKER_ENGINE", f"unix://{base}/socket")
    process = engines.start(base)
    try:
        engines.answers(process, base)
        engines.image(base)
        muster("create", "fix@.docker", "--", "sh", "-c", COMMIT)
        until(lambda: "said" in muster("capture", "fix").out)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        away = muster("list")
        assert "unknown" in away.out and "Docker daemon" in away.err
        assert conditions(muster)["fix"] == "unreachable"
        assert muster("destroy", "fix", check=False).code == 4  # what it did is there, and nowhere else
        process = engines.start(base)
        engines.answers(process, base)
        assert states(muster) == {"fix": "stopped"}
        muster("pull", "fix")
        assert (repo / "new").read_text() == "work\n"
        muster("start", "fix")
        assert states(muster) == {"fix": "working"}
        muster("destroy", "fix")
        assert conditions(muster) == {"local": "running"}
    finally:
        engines.end(process, base)


def test_a_full_disk_there_leaves_nothing_half_made(box: Box, repo: Path, muster: Muster) -> None:
    if os.getuid() != 0:
        pytest.skip("needs root")
    (repo / "big").write_bytes(os.urandom(1 << 20))
    subprocess.run(["git", "add", "big"], check=True)
    subprocess.run(["git", "commit", "--quiet", "--message", "big"], check=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=800k", "tmpfs", str(box.home)], check=True)
    try:
        failed = muster("create", "fix@box", "--", "cat", check=False)
        assert failed.code == 4 and "No space left" in failed.err
        assert states(muster) == {}
        assert list((box.home / ".muster").glob("agents/*/record.json")) == []
        subprocess.run(["mount", "-o", "remount,size=20m", str(box.home)], check=True)
        muster("create", "fix@box", "--", "cat")
        assert states(muster) == {"fix": "working"}
        muster("destroy", "fix")
    finally:
        subprocess.run(["tmux", "-S", f"{box.home}/.muster/tmux.sock", "kill-server"], capture_output=True, check=False)
        subprocess.run(["umount", "--lazy", str(box.home)], check=True)


def test_the_registry_knows_hosts_without_asking(engine: Engine, fleet: Fleet, muster: Muster) -> None:
    muster("host", "create", "one.docker", "two.docker")
    assert conditions(muster) == {"local": "running", "one": "running", "two": "running"}
    engine.docker("rm", "--force", *engine.containers())
    assert conditions(muster, "--cached") == {"local": "running", "one": "running", "two": "running"}
    assert conditions(muster) == {"local": "running", "one": "gone", "two": "gone"}
    [one] = [one for one in standing.standing(fleet) if one.name == "one"]
    assert one.made and not one.own


TWIN = """
from msgspec import Struct

class Twin(Struct, frozen=True):
    \"\"\"This machine with another home.\"\"\"

    name: str
    home: str
    at: str = "/nowhere"
    folder: str = "~/.muster"
    patience: float = 15.0
    provider: str = "twin"
    capabilities: frozenset[str] = frozenset()

    def argv(self, command, *, tty=False):
        return ["env", "-i", "PATH=/usr/bin:/bin", f"HOME={self.at}", *command]

    def root(self):
        return self.folder

    def busy(self, said):
        return False

    def unreachable(self, said):
        from muster.errors import Unreachable
        return Unreachable(f"no twin: {said}")
"""


def test_a_provider_of_another_package(
    home: Path, repo: Path, muster: Muster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info, far = tmp_path / "twins-1.0.dist-info", home.parent / "far"
    info.mkdir()
    far.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: twins\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[muster.hosts]\ntwin = twins:Twin\n")
    (tmp_path / "twins.py").write_text(TWIN)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]))
    (home / "config.toml").write_text(f'[hosts.other]\nprovider = "twin"\nat = "{far}"\n')
    muster("create", "fix@other", "--", "sh", "-c", COMMIT)
    until(lambda: "said" in muster("capture", "fix").out)
    assert (muster("exec", "fix", "--", "cat", "new").out, states(muster)) == ("work\n", {"fix": "working"})
    assert conditions(muster) == {"local": "running", "other": "running"}
    assert "twins 1.0" in muster("plugin", "list").out
    refused = muster("host", "stop", "other", check=False)
    assert refused.code == 5
    muster("destroy", "fix")
    assert os.listdir(far / ".muster" / "work") == []
