"""`muster map`: one agent per line of input, so many at once."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from muster.cli.answers import COLOURS
from muster.cli.making import Programmed, Wished, making
from muster.cli.options import output_format, states
from muster.core import out
from muster.core.out import Show
from muster.errors import UsageError
from muster.fleet import Fleet, fields, placeholders, wishes

if TYPE_CHECKING:
    from muster.agents import Agent, Kind
    from muster.fleet import Task

GOOD = ("waiting", "done")


@click.command("map", cls=Programmed)
@click.argument("prompt", metavar="[PROMPT]", required=False)
@click.option("--json", is_flag=True, help="Each line is a JSON object; `{field}` stands for one of its fields.")
@click.option("-j", "--jobs", type=click.IntRange(1), default=8, show_default=True, help="How many work at once.")
@click.option("--for", "kinds", metavar="STATE", multiple=True, callback=states, help="Until this state; repeatable.")
@click.option("--name", metavar="PREFIX", help="PREFIX-1, PREFIX-2, ...; with a placeholder, names made of the input.")
@click.option("--ids", is_flag=True, help="Print only ids, for another command's input.")
@click.option("--run", metavar="NAME", default="", help="Remember it as a run: the same command again goes on with it.")
@making
@output_format
def command(
    prompt: str | None,
    json: bool,
    jobs: int,
    kinds: tuple[Kind, ...],
    name: str | None,
    ids: bool,
    run: str,
    wished: Wished,
    show: Show,
) -> int:
    """Make one agent per line of standard input, so many at once, and print each as it settles.

    `{}` stands for the line: in PROMPT, which is the agent's message, in the program behind `--` and in `--name`.
    Doubled braces stand for themselves. The agents stay when it ends.

    With `--run NAME` the names are the same each time, so a run that was cut short goes on where it was: what is there
    is not made again.

    The exit code is 0 when all agents reached a state of `--for`, or without it are waiting or done, otherwise 1.

    \b
    Examples:
      One agent per failing test, four at once:
        muster map 'Make {} pass' --type scripted --jobs 4 < failing.txt
      Any program, with names made of the input:
        ls tests | muster map --name 'test-{}' -- pytest tests/{}
      Records, resumable:
        muster map 'Solve #{number}: {title}' --json --type scripted --run issues < issues.jsonl
    """
    if not prompt and not wished.args:
        raise UsageError(
            "what should each agent do?", hint="`muster map 'PROMPT {}' --type TYPE`, or `muster map -- PROGRAM {}`"
        )
    if not placeholders.used([*([prompt] if prompt else []), *wished.args], json):
        raise UsageError(
            "nothing says where the input goes", hint="`{}` stands for it, in the prompt or in the program"
        )
    fleet = Fleet.open()
    flags = {**wished.flags, "message": prompt, "name": run or None}
    task = wishes.task(fleet, flags, wished.templates, wished.args)
    if sys.stdin.isatty():
        out.talk("a line for each agent, ^D ends them")
    try:
        text = sys.stdin.buffer.read().decode()
    except UnicodeDecodeError:
        raise UsageError("the input is not UTF-8 text") from None
    todo = placeholders.tasks(task, text, json=json, name=name or "", run=run)
    wanted: dict[str, Any] = {"for_states": kinds} if kinds else {}
    line = _id if ids else partial(_line, size=_widest(todo))
    return _each(fleet.map(todo, limit=jobs, run=run, **wanted), kinds or GOOD, show, line)


def _each(agents: Iterator[Agent], good: Sequence[str], show: Show, line: Callable[[Agent], str]) -> int:
    """The exit code, once each has been printed."""
    code = 0
    records = []
    try:
        for agent in agents:
            if show.form == "json":
                records.append(fields.record(agent))
            else:
                show.line({} if show.human else fields.record(agent), line(agent))
            if not agent.state or agent.state.kind not in good:
                code = 1
    finally:
        # What could not be made is an error that comes last; what was made is said first.
        if show.form == "json":
            show.many(records, lambda _: "")
    return code


def _widest(tasks: Sequence[Task]) -> int:
    return max((out.width(task.name) for task in tasks), default=0)


def _id(agent: Agent) -> str:
    return agent.id


def _line(agent: Agent, size: int) -> str:
    assert agent.state
    name = out.safe(agent.name) + " " * (size - out.width(agent.name))
    kind = out.paint(f"{agent.state.kind:8}", COLOURS.get(agent.state.kind, ""))
    return f"{name}  {kind}  {out.safe(agent.state.reason)}".rstrip()
