"""git, in the agent's own workspace only."""

from __future__ import annotations

import os
import subprocess

_IDENTITY = {
    "GIT_AUTHOR_NAME": "muster",
    "GIT_AUTHOR_EMAIL": "muster@localhost",
    "GIT_COMMITTER_NAME": "muster",
    "GIT_COMMITTER_EMAIL": "muster@localhost",
}


class Repository:
    """The checkout that the agent was started in."""

    def __init__(self, top: str) -> None:
        self.top = top

    def _git(
        self, *words: str, check: bool = True, env: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        # Hooks and signatures are the user's, and may ask or wait for something.
        argv = [
            "git",
            "-c",
            "core.hooksPath=/dev/null",
            "-c",
            "commit.gpgSign=false",
            "-c",
            "core.quotePath=false",
            *words,
        ]
        return subprocess.run(
            argv,
            cwd=self.top,
            check=check,
            capture_output=True,
            text=True,
            errors="surrogateescape",
            stdin=subprocess.DEVNULL,
            env={**os.environ, **(env or {})},
        )

    def usable(self) -> bool:
        """Whether the workspace is the top of a checkout with a commit."""
        here = self._git("rev-parse", "--show-toplevel", "--verify", "HEAD", check=False)
        return here.returncode == 0 and os.path.samefile(here.stdout.splitlines()[0], self.top)

    def modules(self) -> list[str]:
        """The Python files that git knows, from the top."""
        names = self._git("ls-files", "-z", "--", "*.py").stdout.split("\0")
        return sorted(name for name in names if name and os.path.isfile(os.path.join(self.top, name)))

    def dirty(self) -> list[str]:
        """Tracked files that are not as they were committed."""
        lines = self._git("status", "--porcelain=v1", "-z", "--untracked-files=no").stdout.split("\0")
        return [line[3:] for line in lines if line]

    def loose(self) -> set[str]:
        """Files that git neither knows nor ignores."""
        out = self._git("ls-files", "-z", "--others", "--exclude-standard").stdout
        return {name for name in out.split("\0") if name}

    def restore(self, paths: list[str]) -> None:
        if paths:
            self._git("checkout", "-q", "HEAD", "--", *paths)

    def commit(self, paths: list[str], message: str) -> str:
        """Commit these files as they are; the id."""
        known = self._git("var", "GIT_AUTHOR_IDENT", check=False).returncode == 0
        self._git("add", "--", *paths)
        self._git("commit", "-q", "-m", message, env={} if known else _IDENTITY)
        return self._git("rev-parse", "HEAD").stdout.strip()
