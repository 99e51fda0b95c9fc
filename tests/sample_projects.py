"""Small pytest projects, written by the tests that need them, and virtual environments for them."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import textwrap
from collections.abc import Mapping
from pathlib import Path

import muster_testkit

# Where the tools of this environment are, as lines of a `.pth` file: an editable install in the first is not followed,
# and pytest loads every plugin that it finds there.
HOUSE = (sysconfig.get_path("purelib"), str(Path(muster_testkit.__file__).parent.parent))


def write(folder: Path, files: Mapping[str, str]) -> None:
    """Put these files there."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))


def project(folder: Path, files: Mapping[str, str]) -> Path:
    """A repository with one commit of these files."""
    folder.mkdir(parents=True, exist_ok=True)
    write(folder, files)
    git(folder, "init", "--quiet")
    commit(folder, "first")
    return folder


def commit(folder: Path, subject: str) -> str:
    """Commit all there is; the commit."""
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--allow-empty", "--message", subject)
    return git(folder, "rev-parse", "HEAD")


def git(folder: Path, *words: str) -> str:
    """What git says."""
    argv = ["git", "-C", str(folder), *words]
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.strip()


def venv(folder: Path) -> Path:
    """A virtual environment with the tools of this one, where things can be installed without a network; its interpreter."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    python = folder / "bin" / "python"
    site = subprocess.run(
        [str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
    (Path(site) / "house.pth").write_text("".join(f"{line}\n" for line in HOUSE))
    return python


def install(python: Path, folder: Path, *words: str) -> None:
    """`pip install`, from what is on this machine."""
    argv = [str(python), "-m", "pip", "install", "--quiet", "--no-build-isolation", "--no-deps", "--no-index", *words]
    done = subprocess.run([*argv, str(folder)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
