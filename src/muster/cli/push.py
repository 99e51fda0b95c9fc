"""`muster push`: send commits or files to an agent."""

from __future__ import annotations

import click

from muster.cli import answers
from muster.cli.options import agent_argument, output_format
from muster.core import out
from muster.core.out import Show
from muster.errors import UsageError
from muster.fleet import Fleet, Transfer


@click.command("push")
@agent_argument()
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--git", is_flag=True, help="Send commits, as without paths.")
@click.option("--to", "into", metavar="DIR", default="", help="Send files to this folder of its workspace.")
@click.option("--force", is_flag=True, help="Overwrite files that differ.")
@output_format
def command(name: str, paths: tuple[str, ...], git: bool, into: str, force: bool, show: Show) -> None:
    """Send commits or files to an agent.

    Without PATHs the commits checked out here: its branch is fast-forwarded where that is possible; otherwise
    nothing of its own changes, and the branch it can look at is named. Never merges. With PATHs files and folders
    from here; one that differs there is not overwritten unless forced.

    \b
    Examples:
      muster push fix
      muster push fix notes.md tests/data
      muster push fix .env --to config
    """
    if git and paths:
        raise UsageError("`--git` sends commits, so it takes no paths")
    moved = Fleet.open().push(name, paths, into=into, force=force)
    show.one(moved, lambda: _said(moved))
    if show.human and moved.left and not paths:
        shown = ", ".join(moved.left[:10]) + (" …" if len(moved.left) > 10 else "")
        out.talk(f"{answers.count(len(moved.left), 'uncommitted file')} stayed here: {out.safe(shown)}")
        out.hint(f"`muster push {moved.name} PATH...` sends them")


def _said(moved: Transfer) -> str:
    if moved.status == "fast-forward":
        return f"fast-forwarded {out.safe(moved.branch)} of {moved.name} by {answers.count(moved.commits, 'commit')}"
    if moved.status == "up-to-date":
        return f"{moved.name} has all these commits already"
    if moved.status == "branch":
        look = f"muster exec {moved.name} -- git log HEAD..{moved.branch}"
        return f"not a fast-forward: {moved.name} can look at branch {moved.branch} ({look})"
    return "\n".join(out.safe(file) for file in moved.files)
