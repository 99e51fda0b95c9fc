"""Environments that the project's own set-up command builds: once for each state of its lock files."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from hashlib import sha256

from muster.core import git, proc
from muster.core.proc import Result
from muster.errors import MusterError
from muster.mend.project import HERE, Project

# What such a command reads to know what is wanted.
_LOCKS = re.compile(
    r"(?:.*[-_.])?(?:requirements|constraints)[^/]*\.(?:txt|in)|requirements/[^/]*|pyproject\.toml|setup\.(?:py|cfg)|[^/]*\.lock|"
    r"Pipfile|environment\.ya?ml|pylock[^/]*\.toml|\.python-version|Makefile|justfile"
)
# So long may it take.
PATIENCE = 3600.0
IMPORTABLE = (".py", ".so", ".pyd")


def key(subject: Project, commit: str, setup: str) -> str:
    """Equal for commits whose lock files are."""
    listing = git.run(HERE, subject.top, "ls-tree", "-r", "-z", commit).out.decode(errors="surrogateescape")
    rows = [row for row in listing.split("\0") if _is_lock(row.partition("\t")[2])]
    parts = [setup, subject.interpreter.base, subject.interpreter.version, subject.interpreter.prefix, *rows]
    return sha256("\0".join(parts).encode(errors="surrogateescape")).hexdigest()[:20]


def _is_lock(path: str) -> bool:
    return bool(_LOCKS.fullmatch(os.path.basename(path)) or _LOCKS.fullmatch("/".join(path.split("/")[-2:])))


def build(setup: str, top: str, env: Mapping[str, str]) -> Result:
    """Run the command in that checkout; what it says goes into the error if it fails."""
    result = proc.run(HERE, ["sh", "-c", setup], cwd=top, env=env, check=False, timeout=PATIENCE)
    if result.code:
        how = f"took more than {PATIENCE:.0f} s" if result.timed_out else f"ended with {result.code}"
        raise MusterError(
            f"`{setup}` (`workspace.setup`) {how} in a clean checkout: {result.said}",
            hint="it must work in a folder that holds what is committed, and nothing else",
        )
    return result


def generated(subject: Project, top: str) -> list[str]:
    """What can be imported from the project's packages there and is ignored by git: made by a build."""
    where = [path for path in subject.packages.values() if os.path.exists(os.path.join(top, path))]
    if not where:
        return []
    words = ["ls-files", "--others", "--ignored", "--exclude-standard", "-z", "--", *where]
    found = git.run(HERE, top, *words).out.decode(errors="surrogateescape").split("\0")
    return sorted(one for one in found if one.endswith(IMPORTABLE))
