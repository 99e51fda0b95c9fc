"""`muster list`: what is every agent doing?"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from muster.cli import answers
from muster.cli.options import complete_agent, duration, output_format, states
from muster.core import out
from muster.core.out import Show
from muster.fleet import Fleet, fields
from muster.fleet.registry import now

if TYPE_CHECKING:
    from muster.agents import Agent
    from muster.fleet.look import View

COLUMNS = ("name", "type", "state", "host", "project", "branch", "age", "activity")
_ENTER, _LEAVE, _HOME, _REST, _BELOW = (
    b"\x1b[?1049h\x1b[?25l",
    b"\x1b[?25h\x1b[?1049l",
    b"\x1b[H",
    b"\x1b[K\n",
    b"\x1b[J",
)


@click.command("list")
@click.argument("names", nargs=-1, metavar="[NAME...]", shell_complete=complete_agent)
@click.option("--where", metavar="EXPR", help="Only agents for which this expression over the fields holds.")
@click.option(
    "--state", "kinds", metavar="STATE", multiple=True, callback=states, help="Only in this state; repeatable."
)
@click.option("--project", metavar="PATH", help="Only of the project in this folder.")
@click.option("--label", metavar="KEY[=VALUE]", multiple=True, help="Only with this label; repeatable.")
@click.option("--sort", metavar="FIELD", help="Sort by this field; `-FIELD` turns the order round.")
@click.option("--limit", type=click.IntRange(0), metavar="N", help="Only the first so many.")
@click.option("--fields", "columns", metavar="FIELD,...", help="Show these fields; `labels.NAME` is one label.")
@click.option("--ids", is_flag=True, help="Print only ids, for other commands to read from `-`.")
@click.option("--all", "everyone", is_flag=True, help="Archived agents, too.")
@click.option("--archived", is_flag=True, help="Only archived agents.")
@click.option("--cached", is_flag=True, help="Ask no host: what each was last seen to do.")
@click.option("--watch", is_flag=True, help="Show it again whenever something happens, until ^C.")
@click.option("--every", type=duration, default="2", metavar="SECONDS", help="With --watch: at least so often.")
@output_format
def command(
    names: tuple[str, ...],
    where: str | None,
    kinds: tuple[str, ...],
    project: str | None,
    label: tuple[str, ...],
    sort: str | None,
    limit: int | None,
    columns: str | None,
    ids: bool,
    everyone: bool,
    archived: bool,
    cached: bool,
    watch: bool,
    every: float,
    show: Show,
) -> None:
    """Show agents and what each is doing.

    An expression compares fields with `==`, `<`, `in`, `like(FIELD, "GLOB")` and `matches(FIELD, "REGEX")`, and joins
    with `and`, `or`, `not`. What has no value is neither less nor more than anything.

    Fields: id, name, type, state, reason, code, host, project, branch, base, mode, path, age, idle, activity, labels,
    created, parent, archived, args, setup, share, windows, tokens, cost. `age` and `idle` are seconds; beside them "10m" is a number.
    `tokens` and `cost` are as of the last `muster traces ingest`.

    \b
    Examples:
      muster list
      What wants something from me, the longest first:
        muster list --state waiting,blocked --sort -idle
      Of this project, in place, as it changes:
        muster list --project . --watch
      An expression over all fields:
        muster list --where 'idle > "30m" and labels.team == "web"'
      At once, however many hosts are away:
        muster list --cached
      Ids for other commands:
        muster list --state failed --ids | muster start -
    """
    fleet = Fleet.open()
    settings = fleet.config(os.getcwd()).list
    shown = fields.check(_words(columns) or settings.fields or COLUMNS)
    order = sort or settings.sort
    fields.check([order.removeprefix("-")])
    wanted = {order.removeprefix("-"), *(shown if show.human or columns else ["activity"])}
    # Reading screens costs more than all the rest, so it is done where they are asked for.
    screens = ("activity" in wanted and not ids) or "activity" in (where or "")

    spent = bool(wanted.intersection(fields.SPENT)) or any(name in (where or "") for name in fields.SPENT)

    def ask() -> View:
        view = fleet.view(
            names or None,
            where=where,
            archived=everyone or archived,
            screens=screens,
            spent=spent,
            cached=cached,
        )
        found = _fitting(view.agents, kinds, project, label, archived)
        view.agents = fields.ordered(found, order)[:limit]
        return view

    form = _Form(show, shown, bool(columns), ids)
    if not watch:
        form.give(ask())
    elif show.human and not ids and sys.stdout.isatty():
        _redrawn(_looks(fleet, ask, every), form)
    else:
        _repeated(_looks(fleet, ask, every), form)


def _words(text: str | None) -> tuple[str, ...]:
    return tuple(word.strip() for word in (text or "").split(",") if word.strip())


def _fitting(
    agents: list[Agent], kinds: Sequence[str], project: str | None, labels: Iterable[str], archived: bool
) -> list[Agent]:
    found = fields.within(agents, project) if project is not None else agents
    found = [one for one in found if not kinds or (one.state and one.state.kind in kinds)]
    for label in labels:
        key, equals, value = label.partition("=")
        found = [one for one in found if key in one.labels and (not equals or one.labels[key] == value)]
    return [one for one in found if one.archived] if archived else found


class _Form(NamedTuple):
    """How a look at the fleet is shown."""

    show: Show
    shown: Sequence[str]
    only: bool  # these fields, in JSON too
    ids: bool

    def give(self, view: View) -> None:
        if self.ids:
            for agent in view.agents:
                out.say(agent.id)
        elif self.show.form == "json":
            self.show.one({"agents": self.records(view), "hosts": view.trouble}, "")
        elif self.show.form == "jsonl":
            for record in self.records(view):
                self.show.line(record)
            for host, why in view.trouble.items():
                self.show.line({"host": host, "error": why})
        else:
            out.say(self.table(view))
        if self.show.human:
            for host, why in view.trouble.items():
                out.talk(out.paint("host ", "yellow", sys.stderr) + out.safe(f"`{host}`: {why}"))

    def records(self, view: View) -> list[Mapping[str, Any]]:
        at = now()
        if self.only:
            return [{field: fields.value(agent, field, at) for field in self.shown} for agent in view.agents]
        return [fields.record(agent) for agent in view.agents]

    def table(self, view: View) -> str:
        at = now()
        rows = [[_cell(agent, field, at) for field in self.shown] for agent in view.agents]
        state = self.shown.index("state") if "state" in self.shown else -1
        return out.table(
            self.shown, rows, lambda row, column: answers.COLOURS.get(rows[row][column], "") if column == state else ""
        )


def _cell(agent: Agent, field: str, at: float) -> str:
    value: Any = fields.value(agent, field, at)
    if value is None:
        return ""
    if field in fields.DURATIONS:
        return out.age(value)
    if field == "cost":
        return answers.dollars(value)
    if field == "created":
        return out.age(at - value) + " ago"
    if field == "project":
        return str(os.path.basename(value) or value)
    if field == "activity" and agent.state and agent.state.kind in ("blocked", "failed", "unknown"):
        return " · ".join(filter(None, [agent.state.reason, value]))
    if isinstance(value, dict):
        return " ".join(f"{key}={inner}" for key, inner in value.items())
    if isinstance(value, list):
        import shlex

        return shlex.join(value)
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


def _looks(fleet: Fleet, ask: Any, every: float) -> Iterator[View]:
    from muster.fleet.follow import views

    return views(fleet, ask, max(every, 0.1))


def _redrawn(views: Iterator[View], form: _Form) -> None:
    """On one screen, in place; the last look stays behind when it ends."""
    view = None
    out.raw(_ENTER)
    try:
        for view in views:
            lines = form.table(view).splitlines() + [
                f"host `{host}`: {out.safe(why)}" for host, why in view.trouble.items()
            ]
            height = os.get_terminal_size(sys.stdout.fileno()).lines
            if len(lines) >= height > 2:
                lines = [*lines[: height - 2], f"… and {len(lines) - height + 2} more"]
            out.raw(_HOME + b"".join(line.encode() + _REST for line in lines) + _BELOW)
    except KeyboardInterrupt:
        pass  # that is how one stops watching
    finally:
        out.raw(_LEAVE)
    if view:
        form.give(view)


def _repeated(views: Iterator[View], form: _Form) -> None:
    """To a file or a program: again whenever it says something else."""
    last = None
    try:
        for view in views:
            said = [(agent.id, [fields.value(agent, field, 0.0) for field in fields.FIELDS]) for agent in view.agents]
            if said != last:
                form.give(view)
            last = said
    except KeyboardInterrupt:
        pass  # that is how one stops watching
