#!/usr/bin/env python3
"""What agents on other hosts cost, beside what `docker` and `ssh` themselves need: an sshd and an engine of its own."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parent.parent / "tests")]

import engine  # noqa: E402 (it is found by the line above)
from bench import MUSTER, environment, in_turns, ms, repository, row, rows, run, seconds  # noqa: E402 (as well)
from machines import Box, Boxes  # noqa: E402 (as well)

HOSTS = 50


def main() -> None:
    base = Path(tempfile.mkdtemp(prefix="mb-", dir="/tmp"))
    try:
        environment(base)
        os.environ["MUSTER_HOME"] = str(base / "m")
        with containers(base) as docker, machine(base):
            repo = repository(base / "repo", 200)
            connections(base, docker)
            hosts(repo, docker)
            many()
            run(MUSTER, "destroy", "--all")
            run(MUSTER, "host", "destroy", "shared", "--agents")
    finally:
        run("tmux", "-S", f"{base}/m/tmux.sock", "kill-server", check=False)
        shutil.rmtree(base, ignore_errors=True)
    widths = [max(len(one[i]) for one in rows) for i in range(4)]
    for one in rows:
        print("  ".join(cell.ljust(size) for cell, size in zip(one, widths, strict=True)).rstrip())


@contextmanager
def containers(base: Path) -> Iterator[list[str]]:
    """An engine; what speaks to it."""
    folder = base / "engine"
    folder.mkdir()
    with (folder / "users").open("w") as users:
        fcntl.flock(users, fcntl.LOCK_SH)
        keeper = subprocess.Popen([sys.executable, engine.__file__, str(folder)], env={"PATH": os.environ["PATH"]})
        while not (folder / "engine").exists():
            if keeper.poll() is not None:
                raise SystemExit("dockerd could not be started; is it there, and are you root?")
            time.sleep(0.02)
        url = f"unix://{(folder / 'engine').read_text()}/socket"
        settings = {"ENGINE": url, "IMAGE": engine.IMAGE, "MOUNTS": engine.MOUNT, "NETWORK": "none"}
        os.environ.update({f"MUSTER_DOCKER_{name}": value for name, value in settings.items()})
        yield ["docker", "--host", url]
    keeper.wait()


@contextmanager
def machine(base: Path) -> Iterator[Box]:
    """A machine behind an sshd."""
    config = base / "home" / "ssh_config"
    config.write_text(f"UserKnownHostsFile {base}/home/known_hosts\n")
    os.environ["MUSTER_SSH_CONFIG"] = str(config)
    for name in ("key", "host_key"):
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(base / name))
    box = Boxes(base, base)("box")
    try:
        yield box
    finally:
        box.kill()
        box.end_all()


def connections(base: Path, docker: list[str]) -> None:
    """One command there."""
    shared = ["ssh", "-F", str(base / "home" / "ssh_config"), "-o", "ControlMaster=auto", "-o", "ControlPersist=60"]
    shared += ["-o", "StrictHostKeyChecking=accept-new", "-S", str(base / "mux"), "box", "true"]
    run(*shared)
    run(MUSTER, "host", "exec", "box", "--", "true")
    run(MUSTER, "host", "create", "shared.docker")
    [pod] = run(*docker, "ps", "--format", "{{.Names}}").split()
    ssh, far, execed, inside, version = in_turns(
        lambda _: run(*shared),
        lambda _: run(MUSTER, "host", "exec", "box", "--", "true"),
        lambda _: run(*docker, "exec", pod, "true"),
        lambda _: run(MUSTER, "host", "exec", "shared", "--", "true"),
        lambda _: run(MUSTER, "host", "list", "--cached"),
    )
    row("`muster host exec box -- true`", ms(far), f"{ms(ssh)} `ssh box true` + {ms(version)} `host list --cached`")
    row("`muster host exec shared -- true`", ms(inside), f"{ms(execed)} `docker exec` + {ms(version)} the same")
    run(*shared[:-2], "-O", "exit", "box", check=False)


def hosts(repo: Path, docker: list[str]) -> None:
    """Agents on a host that runs, and each on a new one."""
    os.chdir(repo)
    keep = ["sh", "-c", "while :; do sleep 1d; done"]
    run(MUSTER, "create", "first@shared", "--", "cat")
    run(MUSTER, "create", "first-far@box", "--", "cat")
    words = ["--network", "none", "-v", engine.MOUNT, engine.IMAGE, *keep]
    near, there, behind, new, floor = in_turns(
        lambda n: run(MUSTER, "create", f"near-{n}", "--", "cat"),
        lambda n: run(MUSTER, "create", f"there-{n}@shared", "--", "cat"),
        lambda n: run(MUSTER, "create", f"behind-{n}@box", "--", "cat"),
        lambda n: run(MUSTER, "create", f"new-{n}@.docker", "--", "cat"),
        lambda n: run(*docker, "run", "-d", "--name", f"floor-{n}", *words),
        rounds=5,
    )
    run(*docker, "rm", "-f", *(f"floor-{n}" for n in range(5)))
    row("`muster create` here", ms(near), "200 files of 4 kB")
    row("`muster create` on a machine behind ssh", ms(behind), "its repository is there already")
    row("`muster create` in a container that runs", ms(there), "the same")
    row("`muster create` in a new container", ms(new), f"{ms(floor)} `docker run`; the repository goes there")
    local, far, inside = in_turns(
        lambda _: run(MUSTER, "message", "near-1", "-m", "hello"),
        lambda _: run(MUSTER, "message", "first-far", "-m", "hello"),
        lambda _: run(MUSTER, "message", "first", "-m", "hello"),
        rounds=5,
    )
    row("`muster message` behind ssh", ms(far), f"{ms(local)} here")
    row("`muster message` into a container", ms(inside), f"{ms(local)} here")
    run(MUSTER, "destroy", "--all")


def many() -> None:
    """Many hosts."""
    run(MUSTER, "create", "ten@.docker", "-n", "10", "--", "cat")
    listed, cached = in_turns(lambda _: run(MUSTER, "list"), lambda _: run(MUSTER, "host", "list"), rounds=5)
    row("`muster list` over 10 containers", ms(listed), f"`muster host list`: {ms(cached)}")
    made = seconds(lambda: run(MUSTER, "create", "more@.docker", "-n", str(HOSTS - 10), "--", "cat"))
    row(f"{HOSTS - 10} agents, each in a new container", f"{made:.1f} s", f"{ms(made / (HOSTS - 10))} each, 8 at once")
    listed, cached = in_turns(lambda _: run(MUSTER, "list"), lambda _: run(MUSTER, "host", "list"), rounds=5)
    row(f"`muster list` over {HOSTS} containers", ms(listed), f"`muster host list`: {ms(cached)}")
    gone = seconds(lambda: run(MUSTER, "destroy", "--all"))
    row(f"`muster destroy` of {HOSTS} agents and their containers", f"{gone:.1f} s", f"{ms(gone / HOSTS)} each")


if __name__ == "__main__":
    main()
