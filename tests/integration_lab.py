"""A repository with agents' commits in it, and a check that really runs what a commit holds."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from muster.hosts.local import Local
from muster.mend.integrate import Fix, Integration
from muster.mend.integrate.run import integrate

# Runs every script of `t/` in a namespace of its own, from the exported tree, and prints the names of those that fail.
_RUNNER = """
import pathlib, runpy, sys
sys.path.insert(0, ".")
sys.dont_write_bytecode = True
for path in sorted(pathlib.Path("t").glob("*.py")):
    try:
        runpy.run_path(str(path))
    except Exception:
        print(path.stem)
"""
Files = Mapping[str, "str | bytes | None"]


class Lab:
    """One repository; every commit is made with plain git, in its checkout."""

    def __init__(self, folder: Path, files: Files) -> None:
        self.folder = folder
        self.fixes: list[Fix] = []
        folder.mkdir(parents=True)
        self.git("init", "--quiet")
        self.git("config", "user.name", "Agent")
        self.git("config", "user.email", "agent@example.org")
        self.base = self._commit("base", files)

    def git(self, *words: str, cwd: Path | None = None) -> str:
        done = subprocess.run(["git", *words], capture_output=True, check=False, cwd=cwd or self.folder)
        assert done.returncode == 0, done.stderr
        return done.stdout.decode(errors="surrogateescape").rstrip("\n")

    def _commit(self, subject: str, files: Files) -> str:
        for name, content in files.items():
            path = self.folder / name
            if content is None:
                path.unlink()
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "-m", subject)
        return self.git("rev-parse", "HEAD")

    def at(self, commit: str) -> None:
        self.git("checkout", "--quiet", "--force", "--detach", commit)

    def fix(self, agent: str, files: Files, *, on: str = "", kind: str = "impl", **more: Any) -> Fix:
        """A commit of an agent's on top of the base, or of another commit."""
        self.at(on or self.base)
        commit = self._commit(more.pop("subject", f"Change of {agent}"), files)
        return self.made(commit, agent, kind=kind, **more)

    def made(self, commit: str, agent: str, *, kind: str = "impl", **more: Any) -> Fix:
        fix = Fix(commit=commit, kind=kind, task=more.pop("task", f"task-{agent}"), agent=agent, **more)  # type: ignore[arg-type]
        self.fixes.append(fix)
        return fix

    def integrate(self, fixes: Sequence[Fix] | None = None, **more: Any) -> Integration:
        return integrate(LOCAL, str(self.folder), self.base, self.fixes if fixes is None else fixes, **more)

    def show(self, commit: str, path: str) -> str:
        return self.git("show", f"{commit}:{path}")

    def tree(self, commit: str) -> str:
        return self.git("rev-parse", f"{commit}^{{tree}}")

    def message(self, commit: str) -> str:
        return self.git("log", "-1", "--format=%B", commit)

    def line(self, found: Integration) -> list[str]:
        """Subjects from the base to the tip."""
        return self.git("log", "--reverse", "--format=%s", f"{self.base}..{found.tip}").splitlines()


LOCAL = Local(folder="/")


class Suite:
    """Runs the scripts of a commit's `t/` in a process, on an exported tree, and remembers what it was asked."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.asked: list[str] = []

    def __call__(self, commit: str) -> frozenset[str]:
        self.asked.append(commit)
        argv = ["git", "archive", commit]
        archive = subprocess.run(argv, capture_output=True, check=True, cwd=self.lab.folder).stdout
        with tempfile.TemporaryDirectory() as folder:
            with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
                tar.extractall(folder, filter="data")
            environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
            argv = [sys.executable, "-c", _RUNNER]
            out = subprocess.run(argv, capture_output=True, check=True, cwd=folder, env=environment).stdout
        return frozenset(out.decode().split())
