"""`muster create`: make an agent and start it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import msgspec

from muster.cli.making import Programmed, Wished, making
from muster.cli.options import output_format
from muster.core import fan, out
from muster.core.out import Show
from muster.errors import MusterError, NotDelivered, UsageError
from muster.fleet import Fleet, Receipt, Task, wishes

if TYPE_CHECKING:
    from muster.agents import Agent


@click.command("create", cls=Programmed)
@click.argument("words", nargs=-1, metavar="[ADDRESS] [TYPE]")
@click.option("-m", "--message", metavar="TEXT", help="The first message.")
@click.option("--message-file", metavar="FILE", help="The first message, from a file; `-` is standard input.")
@click.option("--edit-message", is_flag=True, help="Write the first message in your editor while the agent starts.")
@click.option("--connect/--no-connect", default=None, help="Put this terminal on the new agent's.")
@click.option("--adopt", metavar="SESSION", help="Begin with a copy of a conversation you had outside of muster.")
@click.option("--reuse", is_flag=True, help="Take the agent of that name if there is one.")
@click.option("-n", "--count", type=click.IntRange(1), help="Make so many: NAME-1, NAME-2, ...")
@making
@output_format
def command(
    words: tuple[str, ...],
    message: str | None,
    message_file: str | None,
    edit_message: bool,
    connect: bool | None,
    adopt: str | None,
    reuse: bool,
    count: int | None,
    wished: Wished,
    show: Show,
) -> int:
    """Make an agent and start it, in a workspace of its own.

    ADDRESS is NAME, or NAME@HOST; without one the agent gets a fresh name. TYPE is the agent type; with only a
    program behind `--` it is `command`. The name goes to standard output, all else to standard error.

    The workspace is a git worktree on a new branch `muster/NAME`, unless `--mode` and `--branch` say otherwise. Your
    own checkout is never touched.

    \b
    Examples:
      A coding agent with its task:
        muster create fix scripted -m 'Make the tests of the parser pass'
      Any program:
        muster create tests -- make test
      Five at once, from a template of the configuration, with the project's virtual environment:
        muster create try --template careful -n 5 --share .venv
      With your uncommitted changes, and a token from your environment:
        muster create fix --dirty carry --pass-env GH_TOKEN -- sh fix.sh
      In a script, however often it runs:
        name=$(muster create nightly --reuse -- ./nightly.sh)
    """
    flags = {**_flags(words, wished, message, message_file), "adopt": adopt}
    fleet = Fleet.open()
    task = wishes.task(fleet, {**flags, "reuse": reuse}, wished.templates, wished.args)
    if count is not None:
        if connect or edit_message:
            raise UsageError("`--connect` and `--edit-message` are for one agent, `--count` makes several")
        return _several(fleet, wishes.numbered(task, count), wishes.settings(fleet, flags).create.jobs, show)
    enter = _enters(fleet, flags, wished, connect)
    draft = task.message or ""
    agent = _one(fleet, msgspec.structs.replace(task, message=None) if edit_message else task, show)
    if edit_message:
        _edited(fleet, agent, draft)
    if enter:
        from muster.cli.connect import enter as onto

        onto(fleet, agent)
    elif show.human and sys.stderr.isatty():
        out.hint(f"`muster connect {agent.name}`")
    return 0


def _flags(words: tuple[str, ...], wished: Wished, message: str | None, message_file: str | None) -> dict[str, Any]:
    name, kind, *more = [*words, *[""] * (2 - len(words))]
    if more:
        program = " ".join(words[1:] if not wished.args else words[2:])
        raise UsageError(
            f"`{more[0]}` is one word too many", hint=f"a program goes behind `--`: `muster create {name} -- {program}`"
        )
    if kind and wished.flags["type"] not in (None, kind):
        raise UsageError(f"is it `{kind}` or `--type {wished.flags['type']}`?")
    if message_file is not None:
        if message is not None:
            raise UsageError("`--message` and `--message-file` say the same thing twice")
        message = _read(message_file)
    return {**wished.flags, "name": name, "type": kind or wished.flags["type"], "message": message}


def _read(path: str) -> str:
    try:
        if path == "-":
            return sys.stdin.buffer.read().decode().rstrip("\n")
        with open(path, "rb") as file:
            return file.read().decode().rstrip("\n")
    except UnicodeDecodeError:
        raise UsageError(f"`--message-file {path}`: it is not UTF-8 text") from None


def _enters(fleet: Fleet, flags: dict[str, Any], wished: Wished, connect: bool | None) -> bool:
    """Whether to connect afterwards; that it is possible is made sure of before anything is made."""
    if connect is None:
        wanted = wishes.connects(wishes.settings(fleet, flags), wished.templates)
        return wanted and sys.stdin.isatty() and sys.stdout.isatty()
    if connect:
        from muster.cli.connect import check

        check(fleet)
    return connect


class _Made(NamedTuple):
    agent: Agent
    receipts: Sequence[Receipt]
    reused: bool


def _make(fleet: Fleet, task: Task) -> _Made:
    there = fleet.registry.find(task.name.partition("@")[0]) if task.reuse else None
    receipts: list[Receipt] = []
    agent = fleet.create_task(task, told=receipts.append)
    reused = there is not None and there.id == agent.id
    if task.message is not None and not receipts and not reused:
        receipts.append(Receipt(agent.id, agent.name, "delivered", "it was started with it"))
    return _Made(agent, receipts, reused)


def _one(fleet: Fleet, task: Task, show: Show) -> Agent:
    made = _make(fleet, task)
    show.one(None if show.human else _record(fleet, made), out.safe(made.agent.name))
    _talk(made)
    if made.reused and task.message and not made.receipts:
        out.hint(f"the message was not sent again: `muster message {made.agent.name} -m TEXT`")
    return made.agent


def _several(fleet: Fleet, tasks: Sequence[Task], jobs: int, show: Show) -> int:
    """As each is ready; those that fail don't keep the others from being made."""
    failed: MusterError | None = None
    records = []
    alike: dict[str, list[str]] = {}  # what went wrong the same way is told once, and counted
    for task, made in fan.out(lambda task: _make(fleet, task), tasks, jobs):
        try:
            if isinstance(made, Exception):
                raise made
            records.append({} if show.human else _record(fleet, made))
            if show.form != "json":
                show.line(records[-1], out.safe(made.agent.name))
            _talk(made)
        except MusterError as error:
            failed = failed or error
            those = alike.setdefault(str(error).replace(f"`{task.name}`", "it"), [])
            those.append(task.name)
            if len(those) == 1:
                name = f"`{task.name}`: " if task.name and f"`{task.name}`" not in str(error) else ""
                out.failure(f"{name}{error}", error.hint, error.exit_code)
    if show.form == "json":
        show.many(records, lambda _: "")
    for names in alike.values():
        if more := len(names) - 1:
            which = ", ".join(filter(None, names[1:6]))
            out.talk(f"the same for {more} more{': ' if which else ''}{which}{' …' if which and more > 5 else ''}")
    return failed.exit_code if failed else 0


def _record(fleet: Fleet, made: _Made) -> dict[str, Any]:
    from muster.fleet import fields

    found = fields.record(fleet.agent(made.agent))
    return {**found, "receipt": made.receipts[-1]} if made.receipts else found


def _talk(made: _Made) -> None:
    agent, place = made.agent, made.agent.workspace
    branch = f" on branch `{place.branch}`" if place.branch else ""
    was = "was there already" if made.reused else "is made"
    out.talk(out.safe(f"`{agent.name}` ({agent.type}) {was}, in `{place.path}`{branch}"))
    _said(made.receipts)


def _said(receipts: Sequence[Receipt]) -> None:
    """What became of its message; that it did not arrive is an error, though the agent is there."""
    for receipt in receipts:
        why = f": {receipt.reason}" if receipt.reason else ""
        if receipt.status not in ("delivered", "typed", "queued"):
            hint = f"`muster connect {receipt.name}` shows it, `muster message {receipt.name}` tries again"
            raise NotDelivered(f"`{receipt.name}` is made, but its message was {receipt.status}{why}", hint=hint)
        out.talk(out.safe(f"its message is {receipt.status}{why}"))


def _edited(fleet: Fleet, agent: Agent, draft: str) -> None:
    from muster.cli.options import edited

    text = edited(draft)
    if not text.strip():
        out.talk("the message is empty, so none is sent")
        return
    _said(list(fleet.message([agent], text)))
