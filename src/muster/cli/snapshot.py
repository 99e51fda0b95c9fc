"""`muster snapshot`: keep an agent as it is now, and go back to it."""

from __future__ import annotations

import time

import click

from muster.cli import answers
from muster.cli.options import Commands, agent_argument, output_format
from muster.core import out
from muster.core.out import Show
from muster.fleet import Fleet, Kept


def complete_snapshot(_context: click.Context, _argument: click.Parameter, incomplete: str) -> list[str]:
    """The labels and ids that begin so, for the shell's completion."""
    known = (one.label or one.id for one in Fleet.open().kept("snapshot"))
    return [word for word in known if word.startswith(incomplete)]


@click.group("snapshot", cls=Commands)
def command() -> None:
    """Keep an agent as it is now, and go back to it.

    A snapshot holds commits, uncommitted files (not those that git ignores), the agent's record and its
    conversation. It stays when the agent is destroyed.

    \b
    Examples:
      Before something daring:
        muster snapshot create fix --label before
      Go back to it, as a new agent:
        muster snapshot restore before fix-again
    """


@command.command("create")
@agent_argument()
@click.option("--label", default="", help="A name for it.")
@output_format
def create(name: str, label: str, show: Show) -> None:
    """Keep an agent as it is now; it goes on.

    \b
    Examples:
      muster snapshot create fix
      muster snapshot create fix --label before
    """
    made = Fleet.open().snapshot(name, label)
    show.one(made, made.id)


@command.command("list")
@output_format
def list_(show: Show) -> None:
    """Show snapshots, oldest first.

    \b
    Examples:
      muster snapshot list
      muster snapshot list --format jsonl
    """
    show.many(Fleet.open().kept("snapshot"), _table)


@command.command("restore")
@click.argument("snapshot", shell_complete=complete_snapshot)
@click.argument("new", required=False, default="", metavar="[NEW]")
@output_format
def restore(snapshot: str, new: str, show: Show) -> None:
    """Make an agent from a snapshot, stopped.

    SNAPSHOT is an id, a label, or the name of an agent, whose latest is taken. Without NEW the agent gets the old
    name, if that is free.

    \b
    Examples:
      muster snapshot restore before fix-again
      muster start fix-again
    """
    fleet = Fleet.open()
    made = fleet.restore(fleet.find(snapshot, "snapshot"), new)
    answers.states(show, [fleet.agent(made)])


@command.command("destroy")
@click.argument("snapshots", nargs=-1, required=True, metavar="SNAPSHOT...", shell_complete=complete_snapshot)
@output_format
def destroy(snapshots: tuple[str, ...], show: Show) -> None:
    """Throw snapshots away, for good.

    \b
    Examples:
      muster snapshot destroy before
      muster snapshot list --format jsonl | jq -r .id | xargs muster snapshot destroy
    """
    fleet = Fleet.open()
    # All are found before the first is gone.
    doomed = {one.id: one for one in [fleet.find(name, "snapshot") for name in snapshots]}
    gone = [fleet.expire(one) for one in doomed.values()]
    show.many(gone, lambda found: "\n".join(one.id for one in found))


def _table(found: list[Kept]) -> str:
    if not found:
        return ""
    rows = [[one.id, one.agent.name, out.age(time.time() - one.at), _work(one), one.label] for one in found]
    return out.table(["id", "agent", "age", "work", "label"], rows)


def _work(one: Kept) -> str:
    return (one.tip[:9] + (" + files" if one.work else "")) if one.tip else "files"
