"""The contract of a host, over every provider."""

from __future__ import annotations

import io
import os
import shlex
import signal
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from muster.core import fan, proc
from muster.core.proc import Result
from muster.errors import Unreachable
from muster.fleet import Fleet, lodging, places
from muster.hosts import Host
from terminal import Terminal, until

if TYPE_CHECKING:
    from machines import Box, Engine

pytest_plugins = ["machines"]

PROVIDERS = ("local", "ssh", "docker", "docker over ssh")
WORDS = ["", " ", "a b", "it's", '"', "\\", "\\n", "a\nb\n", "$HOME `id` $(id)", "!x", "é 世界 🎉"]
WORDS += ["-n", "*", "~", "\t\x01\x7f", "%s", "x;y&&z|"]


def reached(provider: str, request: pytest.FixtureRequest, fleet: Fleet) -> Host:
    """A host of that provider."""
    if provider == "local":
        return fleet.seat("local").host
    if provider == "ssh":
        request.getfixturevalue("box")
        return fleet.seat("box").host
    engine: Engine = request.getfixturevalue("engine")
    settings = {}
    if provider == "docker over ssh":
        request.getfixturevalue("boxes")("box", env=f"DOCKER_HOST={engine.url}")
        settings = {"engine": "ssh://box"}
    return lodging.create(fleet, places.parse("pod.docker"), settings)[0]


@pytest.fixture(params=PROVIDERS)
def host(request: pytest.FixtureRequest, fleet: Fleet) -> Host:
    return reached(request.param, request, fleet)


def there(host: Host, script: str, *words: str) -> str:
    return proc.run(host, ["sh", "-c", script, "sh", *words]).text


def running(host: Host, words: str) -> bool:
    """Whether a process there has these words in its command line; ours that ask have them in two halves."""
    script = 'for one in /proc/[0-9]*; do case $(tr "\\0" " " <"$one/cmdline") in *"$1$2"*) echo "$one" ;; esac; done'
    return bool(there(host, f"{{ {script}; }} 2>/dev/null", words[:8], words[8:]))


def test_what_goes_there_and_what_comes_back(host: Host) -> None:
    result = proc.run(host, ["printf", "%s\\0", *WORDS])
    assert result.out.decode().split("\0")[:-1] == WORDS
    data = bytes(range(256)) * 40_000
    assert proc.run(host, ["cat"], stdin=data).out == data
    assert proc.run(host, ["cat"]).out == b""  # the end of no input is an end
    for code in (0, 1, 124, 125, 255):
        done = proc.run(host, ["sh", "-c", f"echo out; printf err >&2; exit {code}"], check=False)
        assert (done.code, done.out, done.err) == (code, b"out\n", b"err")
        assert not done.lost and not done.timed_out


def test_fifty_commands_at_once(host: Host) -> None:
    answers = dict(fan.out(lambda number: proc.run(host, ["echo", str(number)]), range(50), 50))
    wrong = {number: one for number, one in answers.items() if not isinstance(one, Result) or one.text != str(number)}
    assert wrong == {}


def test_a_time_limit_ends_all_that_it_started_there(host: Host) -> None:
    mark = f"sleep 9{os.getpid()}.{os.urandom(2).hex().translate(str.maketrans('abcdef', '012345'))}"
    script = f"setsid {mark} & ({mark} & {mark}); {mark}"
    result = proc.attempt(host, ["sh", "-c", f"echo begun; {script}"], timeout=2)
    assert (result.timed_out, result.lost, result.code, result.out) == (True, False, 124, b"begun\n")
    assert not running(host, mark)


def test_a_terminal_there_outlives_who_made_it(host: Host, home: Path) -> None:
    socket = there(host, "cd; pwd") + "/.outlives"
    command = ["tmux", "-S", socket, "-f", "/dev/null", "new-session", "-d", "-s", "one", "sleep 1000"]
    program = "import subprocess, sys, time; subprocess.run(sys.argv[1:]); print('made', flush=True); time.sleep(1000)"
    maker = subprocess.Popen([sys.executable, "-c", program, *host.argv(command)], stdout=subprocess.PIPE)
    assert maker.stdout and maker.stdout.readline() == b"made\n"
    maker.send_signal(signal.SIGKILL)
    maker.communicate()
    if close := getattr(host, "close", None):
        close()
    assert there(host, 'tmux -S "$1" list-sessions -F "#{session_name}"', socket) == "one"
    there(host, 'tmux -S "$1" kill-server', socket)


def test_a_tar_keeps_modes_and_links(host: Host) -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, mode, data in (("run", 0o755, b"#!/bin/sh\n"), ("é 世界", 0o600, b"\0\1"), ("only", 0o444, b"")):
            entry = tarfile.TarInfo(name)
            entry.mode, entry.size = mode, len(data)
            tar.addfile(entry, io.BytesIO(data))
        for name, kind, target in (("soft", tarfile.SYMTYPE, "no/where"), ("hard", tarfile.LNKTYPE, "run")):
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = kind, target
            tar.addfile(entry)
    folder = there(host, "cd; mkdir -m 700 packed; cd packed; pwd")
    proc.run(host, ["tar", "-C", folder, "-xpf", "-"], stdin=out.getvalue())
    packed = io.BytesIO(proc.run(host, ["tar", "-C", folder, "-cf", "-", "."]).out)
    with tarfile.open(fileobj=packed) as back:
        found = {one.name.removeprefix("./"): one for one in back.getmembers()}
    assert {name: one.mode for name, one in found.items() if one.isreg()}.items() >= {
        "é 世界": 0o600,
        "only": 0o444,
    }.items()
    assert found["soft"].linkname == "no/where"
    assert {found["run"].islnk(), found["hard"].islnk()} == {True, False}  # one file under two names


def test_a_terminal_has_the_real_size(host: Host, home: Path) -> None:
    script = 'trap "stty size" WINCH; trap "exit 7" INT; stty size; while :; do sleep 0.05; done'
    terminal = Terminal(home, 93, 27)
    terminal.shell(shlex.join(host.argv(["sh", "-c", script], tty=True)))
    terminal.shows("27 93")
    terminal.tmux("resize-window", "-x", "111", "-y", "33")
    terminal.shows("33 111")
    terminal.keys("C-c")
    terminal.shows("ended with 7")


@pytest.mark.parametrize("provider", PROVIDERS[1:])
def test_a_frozen_host_is_lost_and_comes_back(
    provider: str, request: pytest.FixtureRequest, fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MUSTER_SSH_PATIENCE", "1")
    host = reached(provider, request, fleet)
    freeze, thaw = frost(provider, request)
    cut = begun(host, f"sleep {os.getpid()}.7")
    freeze()
    assert cut().lost
    with pytest.raises(Unreachable):
        proc.run(host, ["true"])
    thaw()
    assert until(lambda: answered(host), "its answer")


@pytest.mark.parametrize("provider", PROVIDERS[1:])
def test_a_host_that_is_killed_under_a_command_is_lost(
    provider: str, request: pytest.FixtureRequest, fleet: Fleet
) -> None:
    host = reached(provider, request, fleet)
    cut = begun(host, f"sleep {os.getpid()}.8")
    if provider == "docker":
        engine: Engine = request.getfixturevalue("engine")
        engine.docker("kill", *engine.containers())
    else:
        box: Box = request.getfixturevalue("boxes").made[0]
        box.kill()
    result = cut()
    assert (result.lost, result.timed_out, result.out) == (True, False, b"begun\n")
    with pytest.raises(Unreachable):
        proc.run(host, ["true"])


def begun(host: Host, command: str) -> Callable[[], Result]:
    """A command that runs there by now; called, how it ended."""
    found: list[Result] = []
    script = f'echo begun; echo here >"$1.new" && mv "$1.new" "$1"; {command}'
    mark = f"/tmp/begun-{os.urandom(4).hex()}"
    thread = fan.aside(lambda: found.append(proc.attempt(host, ["sh", "-c", script, "sh", mark])))
    until(lambda: there(host, 'cat "$1" 2>/dev/null; rm -f "$1"', mark), "its begin")

    def ended() -> Result:
        thread.join(60)
        assert not thread.is_alive(), "it is waited for still"
        return found[0]

    return ended


def answered(host: Host) -> bool:
    try:
        return proc.run(host, ["echo", "yes"]).text == "yes"
    except Unreachable:
        return False


def frost(provider: str, request: pytest.FixtureRequest) -> tuple[Callable[[], object], Callable[[], object]]:
    """What freezes that host, and what thaws it."""
    if provider == "docker":
        engine: Engine = request.getfixturevalue("engine")
        [pod] = engine.containers()
        return (lambda: engine.docker("pause", pod)), (lambda: engine.docker("unpause", pod))
    box: Box = request.getfixturevalue("boxes").made[0]
    return box.freeze, box.thaw


def test_destroyed_twice(engine: Engine, fleet: Fleet) -> None:
    host, fresh = lodging.create(fleet, places.parse("pod.docker"))
    assert fresh and not lodging.create(fleet, places.parse("pod"))[1]
    made: Any = host
    made.destroy()
    made.destroy()
    assert (engine.containers(), made.condition()) == ([], "gone")
    with pytest.raises(Unreachable, match="gone"):
        proc.run(host, ["true"])
