"""A docker engine of the tests' own: `python engine.py FOLDER` keeps it while anybody holds `FOLDER/users`.

It lives in namespaces of its own for mounts, processes and the network, so all of it is gone with its first process.
"""

from __future__ import annotations

import fcntl
import io
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

IMAGE = "muster-test:zero"
# What the host has is there, too: an image of nothing but this is made in a blink, and no registry is asked.
MOUNT = "/usr:/usr:ro"
_START = """
mount -t proc proc /proc && ip link set lo up
exec dockerd --host unix://$1/socket --data-root $1/data --exec-root $1/exec --pidfile $1/pid --cgroup-parent $2 \
  --iptables=false --ip6tables=false --ip-masq=false --bip 172.31.255.1/24 >$1/log 2>&1
"""


def main() -> int:
    folder = Path(sys.argv[1])
    base = Path(tempfile.mkdtemp(prefix="md-", dir="/tmp"))
    engine = start(base)
    try:
        answers(engine, base)
        image(base)
        (folder / "engine.new").write_text(str(base))
        (folder / "engine.new").rename(folder / "engine")
        with (folder / "users").open() as users:
            fcntl.flock(users, fcntl.LOCK_EX)  # until nobody holds it any more
            (folder / "engine").unlink()
            end(engine, base)
    except BaseException:
        end(engine, base)
        raise
    return 0


def start(base: Path) -> subprocess.Popen[bytes]:
    """The first process of its namespaces: with it they end, and all that is in them."""
    # A number an engine wrote down before it was killed is some other process's in the new namespace.
    for left in (base / "pid", base / "exec/containerd/containerd.pid"):
        left.unlink(missing_ok=True)
    space = ["setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--net", "--pid", "--fork", "--kill-child"]
    words = ["--propagation", "private", "--", "sh", "-c", _START, "sh", str(base), _group(base)]
    env = {"PATH": os.environ["PATH"]}  # it is no process of the test that asks for it
    return subprocess.Popen([*space, *words], stdin=subprocess.DEVNULL, env=env, start_new_session=True)


def _group(base: Path) -> str:
    return f"muster-{base.name}"


def docker(base: Path, *words: str, stdin: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
    argv = ["docker", "--host", f"unix://{base}/socket", *words]
    return subprocess.run(argv, input=stdin, capture_output=True, check=False, env={**os.environ, "HOME": str(base)})


def answers(engine: subprocess.Popen[bytes], base: Path) -> None:
    deadline = time.monotonic() + 60
    while docker(base, "version").returncode:
        log = base / "log"
        if engine.poll() is not None or time.monotonic() > deadline:
            raise SystemExit(log.read_text() if log.exists() else "dockerd could not be started")
        time.sleep(0.05)


def image(base: Path) -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name in "root run home proc sys dev opt var usr etc tmp var/tmp".split():
            entry = tarfile.TarInfo(name)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o1777 if name.endswith("tmp") else 0o755
            tar.addfile(entry)
        for name in "bin sbin lib lib64".split():
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = tarfile.SYMTYPE, f"usr/{name}"
            tar.addfile(entry)
        for name in "passwd group nsswitch.conf ld.so.conf ld.so.conf.d ld.so.cache alternatives".split():
            if os.path.exists(f"/etc/{name}"):
                tar.add(f"/etc/{name}", f"etc/{name}")
    made = docker(base, "import", "-", IMAGE, stdin=out.getvalue())
    if made.returncode:
        raise SystemExit(made.stderr.decode())


def end(engine: subprocess.Popen[bytes], base: Path) -> None:
    """Remove its containers and itself; nothing of it is left, neither mount nor control group."""
    if engine.poll() is None:
        listing = docker(base, "ps", "--all", "--quiet").stdout.decode().split()
        if listing:
            docker(base, "rm", "--force", "--volumes", *listing)
        engine.send_signal(signal.SIGKILL)  # and with it all that is in its namespaces
        engine.wait()
    shutil.rmtree(base, ignore_errors=True)
    for one in Path("/sys/fs/cgroup").glob(f"**/{_group(base)}"):
        _remove_group(one)


def _remove_group(folder: Path) -> None:
    for inner in sorted(folder.glob("**/"), key=lambda one: len(one.parts), reverse=True):
        for _ in range(100):
            try:
                inner.rmdir()
                break
            except FileNotFoundError:
                break
            except OSError:
                time.sleep(0.02)  # its last processes are on their way out


if __name__ == "__main__":
    sys.exit(main())
