"""A pull request from a run's branch, by the user's own `git` and `gh`."""

from __future__ import annotations

import shutil

from muster.core import git, proc
from muster.errors import CommandFailed, NotFound, UsageError
from muster.mend.project import HERE
from muster.mend.report import Report, text

REMOTE = "origin"


def check(top: str) -> None:
    """What would only fail at the end is said at the beginning."""
    if not shutil.which("gh"):
        raise NotFound("`--pr` needs the program `gh`", hint="without it: push the branch, and `PR.md` is the text")
    if git.run(HERE, top, "remote", "get-url", REMOTE, check=False).code:
        raise UsageError(f"`--pr` needs a remote `{REMOTE}` to push to", hint=f"`git remote add {REMOTE} URL`")


def opened(report: Report, body: str) -> str:
    """Push the branch and open a pull request with that file as its text; its address."""
    if not report.branch:
        return ""
    git.run(HERE, report.project, "push", "--quiet", REMOTE, f"refs/heads/{report.branch}")
    words = ["gh", "pr", "create", "--head", report.branch, "--title", text.title(report), "--body-file", body]
    shell = ["sh", "-c", 'cd "$1" && shift && exec "$@"', "sh", report.project, *words]
    result = proc.run(HERE, shell, check=False)
    if result.code:
        raise CommandFailed(f"the branch is pushed, but `gh` made no pull request: {result.said}")
    return result.text
