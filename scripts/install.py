"""Installs the pinned agent programs into a cache of the project's own, each once; never globally.

    scripts/install.py [--background] [NAME...]

Prints the folder to put on PATH. A program that is being installed by another process is waited for.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
CACHE = Path(os.environ.get("AGENT_PROGRAMS") or ROOT / ".cache" / "programs")
PINS = ROOT / "src" / "muster" / "agents" / "programs.toml"
# Compiling what pip brings takes both cores for a minute and saves nothing here.
PIP = "-m pip install --quiet --disable-pip-version-check --no-input --no-compile".split()
NPM = "npm install --no-audit --no-fund --no-update-notifier --loglevel=error".split()


def main(words: list[str]) -> int:
    names = [word for word in words if not word.startswith("-")]
    pins = tomllib.loads(PINS.read_text())
    if unknown := [name for name in names if name not in pins]:
        print(f"there is no program `{unknown[0]}` in {PINS}", file=sys.stderr)
        return 2
    if "--background" in words:
        CACHE.mkdir(parents=True, exist_ok=True)
        with (CACHE / "install.log").open("ab") as log:
            argv = [sys.executable, __file__, *names]
            subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        return 0
    wanted = [name for name in names or pins if not there(name, pins)]
    # Unpacking one package waits for the disk while another waits for the network.
    with ThreadPoolExecutor(3) as pool:
        failed = [message for message in pool.map(lambda name: attempt(name, pins), wanted) if message]
    print(CACHE / "bin")
    for message in failed:
        print(message, file=sys.stderr)
    return 1 if failed else 0


def attempt(name: str, pins: dict[str, Any]) -> str:
    """Install it; what went wrong."""
    try:
        with alone(name):
            if not there(name, pins):
                install(name, pins)
    except (OSError, subprocess.CalledProcessError) as error:
        return f"`{name}` could not be installed: {error}"
    return ""


def stamp(name: str, pins: dict[str, Any]) -> str:
    """What is installed if all went well."""
    return f"{CACHE / name} {sorted(pins[name].items())}"


def there(name: str, pins: dict[str, Any]) -> bool:
    try:
        return (CACHE / name / "installed").read_text() == stamp(name, pins)
    except OSError:
        return False


@contextmanager
def alone(name: str) -> Iterator[None]:
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def install(name: str, pins: dict[str, Any]) -> None:
    pin, place = pins[name], CACHE / name
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    print(f"installing {name} {pin['version']}", file=sys.stderr, flush=True)
    if "npm" in pin:
        require_npm()
        downloads = place / "downloads"
        run(
            [*NPM, "--cache", str(downloads), "--prefix", str(place), f"{pin['npm']}@{pin['version']}"],
            apart(downloads),
        )
        shutil.rmtree(downloads, ignore_errors=True)
        program = place / "node_modules" / ".bin" / name
    else:
        run([sys.executable, "-m", "venv", str(place)])
        run([str(place / "bin" / "python"), *PIP, f"{pin['pip']}=={pin['version']}", *pin.get("beside", [])])
        program = place / "bin" / name
    if not os.access(program, os.X_OK):
        raise OSError(f"there is no `{program}`")
    if pin.get("node") and (failure := attempt("node", pins)):
        raise OSError(failure)
    expose(name, program, pin.get("node", False))
    (place / "installed").write_text(stamp(name, pins))


def apart(home: Path) -> dict[str, str]:
    """An environment whose home is that folder, for a package's own script may run the program; npm's settings are the user's."""
    env = {key: value for key, value in os.environ.items() if not key.startswith("XDG_")}
    settings = os.environ.get("NPM_CONFIG_USERCONFIG") or os.path.expanduser("~/.npmrc")
    return {**env, "HOME": str(home), "NPM_CONFIG_USERCONFIG": settings}


def expose(name: str, program: Path, with_node: bool) -> None:
    """Make it a word on PATH; those that need our node get it in front."""
    folder = CACHE / "bin"
    folder.mkdir(exist_ok=True)
    (folder / name).unlink(missing_ok=True)
    if with_node:
        node = CACHE / "node" / "node_modules" / "node" / "bin"
        (folder / name).write_text(f"#!/bin/sh\nPATH='{node}':$PATH exec '{program}' \"$@\"\n")
        (folder / name).chmod(0o755)
    elif name != "node":  # found by those that need it; others run on the system's
        (folder / name).symlink_to(program)


def require_npm() -> None:
    with alone("npm"):
        if shutil.which("npm"):
            return
        if os.getuid() == 0 and shutil.which("apt-get"):
            apt = ["apt-get", "-o", "DPkg::Lock::Timeout=300", "-qq"]
            env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
            run([*apt, "update"], env)
            run([*apt, "install", "-y", "--no-install-recommends", "npm"], env)
            return
    raise OSError("npm is missing, please install Node.js with npm")


def run(argv: list[str], env: dict[str, str] | None = None) -> None:
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, check=False, env=env)
    if done.returncode:
        sys.stderr.buffer.write(done.stdout + done.stderr)
        done.check_returncode()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
