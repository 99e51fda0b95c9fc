"""`muster destroy`: remove agents; their work goes to the attic."""

from __future__ import annotations

import click

from muster.cli import answers
from muster.cli.options import agents_argument, chosen, output_format, where_options
from muster.core import out
from muster.core.out import Show
from muster.fleet import Fleet, Kept
from muster.fleet.doom import Doom


@click.command("destroy")
@agents_argument(required=False)
@click.option("--dry-run", is_flag=True, help="Only show what would be removed and what kept.")
@click.option("--branch", is_flag=True, help="Remove their branches as well; the commits are kept in the attic.")
@where_options
@output_format
def command(names: tuple[str, ...], dry_run: bool, branch: bool, where: str | None, everyone: bool, show: Show) -> None:
    """Remove agents; their work goes to the attic.

    Every process, the session and the workspace are removed, and the name is free at once. A branch that the agent
    committed to stays, unless `--branch` is given. Commits, uncommitted files and the conversation are kept first:
    `muster restore` brings all of it back until `muster gc` finds it older than the setting `attic.days`. The folder
    of an in-place agent is left as it is.

    \b
    Examples:
      muster destroy fix
      muster destroy fix --branch --dry-run
      muster destroy --where 'state == "done"'
      muster list --ids | muster destroy -
    """
    fleet = Fleet.open()
    agents = chosen(fleet, names, where, everyone)
    if dry_run:
        show.many(fleet.doom(agents, branch=branch), lambda found: "\n".join(map(_doomed, found)))
        return
    kept = fleet.destroy(agents, branch=branch)
    show.many(kept, lambda found: answers.aligned([(one.agent.name, "destroyed", _kept(one)) for one in found]))
    if kept and show.human:
        back = kept[0].agent.name if len(kept) == 1 else "NAME"
        out.hint(f"`muster restore {back}` brings {'it' if len(kept) == 1 else 'each of them'} back")


def _kept(one: Kept) -> str:
    what = ["uncommitted files"] if one.work or "work.tar" in one.tars else []
    if one.tip and one.tip != one.agent.workspace.base:
        what.insert(0, f"commits up to {one.tip[:9]}")
    return f"kept {' and '.join([*what, 'record'])}"


def _doomed(one: Doom) -> str:
    lines = [f"ends      {process}" for process in one.processes]
    lines += [f"removes   {folder}" for folder in one.folders]
    lines += [f"removes   branch {one.branch}"] if one.branch else []
    lines += [f"keeps     {answers.count(one.commits, 'commit')} that no other branch has"] if one.commits else []
    lines += [f"keeps     {file}, uncommitted" for file in one.files]
    return "\n".join([out.paint(one.name, "bold"), *(f"  {out.safe(line)}" for line in lines)])
