"""`muster pull`: bring an agent's commits or files here."""

from __future__ import annotations

import click

from muster.cli import answers
from muster.cli.options import agent_argument, output_format
from muster.core import out
from muster.core.out import Show
from muster.errors import UsageError
from muster.fleet import Fleet, Transfer


@click.command("pull")
@agent_argument()
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--git", is_flag=True, help="Bring its commits, as without paths.")
@click.option(
    "--ref", metavar="REF", default="", help="Bring its commits under this reference; no checkout is touched."
)
@click.option("--artifacts", is_flag=True, help="Bring what it put into $MUSTER_ARTIFACTS.")
@click.option("--to", "into", metavar="DIR", default=".", help="Bring it to this folder instead of the current one.")
@click.option("--force", is_flag=True, help="Overwrite files that differ.")
@output_format
def command(
    name: str, paths: tuple[str, ...], git: bool, ref: str, artifacts: bool, into: str, force: bool, show: Show
) -> None:
    """Bring an agent's commits or files here.

    Without PATHs its commits: the branch checked out here is fast-forwarded where that is possible; otherwise
    nothing here changes, and a branch to look at is named. Never merges. With PATHs, given from the top of its
    workspace, files and folders, committed or not; one that differs here is not overwritten unless forced.

    \b
    Examples:
      muster pull fix
      muster pull fix src/parser.py docs
      muster pull fix --ref refs/heads/look-at-this
      Its uncommitted files, to look at them elsewhere:
        muster pull fix . --to /tmp/fix
    """
    if paths and (git or ref or artifacts):
        given = "--git" if git else "--ref" if ref else "--artifacts"
        raise UsageError(f"`{given}` says what to bring, so it takes no paths")
    if ref and artifacts:
        raise UsageError("`--ref` brings commits and `--artifacts` files: one of them at a time")
    if ref and not ref.startswith("refs/"):
        raise UsageError(f"`--ref {ref}`: it must begin with `refs/`", hint=f"`--ref refs/heads/{ref}`")
    fleet = Fleet.open()
    if ref:
        moved = fleet.fetch(name, ref)
    elif artifacts:
        moved = fleet.artifacts(name, into)
    else:
        moved = fleet.pull(name, paths, into=into, force=force)
    show.one(moved, lambda: _said(moved))
    if show.human and moved.left and not paths:
        shown = ", ".join(moved.left[:10]) + (" …" if len(moved.left) > 10 else "")
        hint = f"`muster pull {moved.name} PATH...` brings them"
        out.talk(f"{answers.count(len(moved.left), 'uncommitted file')} stayed in `{moved.name}`: {out.safe(shown)}")
        out.hint(hint)


def _said(moved: Transfer) -> str:
    if moved.status == "fast-forward":
        return f"fast-forwarded {moved.branch} by {answers.count(moved.commits, 'commit')}"
    if moved.status == "up-to-date":
        return f"{moved.branch} has all commits of {moved.name} already"
    if moved.status == "reference":
        return f"{moved.branch} is {moved.commit[:9]}"
    if moved.status == "branch":
        return f"not a fast-forward: look at branch {moved.branch} (git log HEAD..{moved.branch})"
    return "\n".join(out.safe(file) for file in moved.files)
