"""Arguments and options that several commands share."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from muster.core.out import Show

if TYPE_CHECKING:
    from muster.agents import Agent, Kind
    from muster.fleet import Fleet

F = TypeVar("F", bound=Callable[..., Any])


class Commands(click.Group):
    """A group of commands, which names the nearest to a wrong one."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if not args[0].startswith("-") and args[0] not in self.commands:
            from muster.core.names import nearest
            from muster.errors import UsageError

            hint = nearest(args[0], self.commands, "command", f"muster {self.name} --help")
            raise UsageError(f"there is no command `{self.name} {args[0]}`", hint=hint)
        return super().resolve_command(ctx, args)


def duration(text: str) -> float:
    """The type of an option that takes a time, in seconds."""
    from muster.core.duration import seconds
    from muster.errors import UsageError

    found = seconds(text)
    if found is None:
        raise UsageError(f"`{text}` is no duration", hint="`90`, `1.5s`, `5m`, `2h` and `30d` are")
    return found


def pairs(_context: click.Context, option: click.Parameter, words: tuple[str, ...]) -> dict[str, str]:
    """The callback of an option that takes `KEY=VALUE` and may be repeated."""
    from muster.errors import UsageError

    found = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not (key and equals):
            raise UsageError(f"`{option.opts[0]} {word}`: it must be `KEY=VALUE`")
        found[key] = value
    return found


def states(_context: click.Context, _option: click.Parameter, words: tuple[str, ...]) -> tuple[Kind, ...]:
    """The callback of an option that takes STATE, or several with commas, and may be repeated."""
    from muster.agents import ENDED, KINDS, SETTLED
    from muster.core.names import nearest
    from muster.errors import UsageError

    sets: dict[str, tuple[Kind, ...]] = {"settled": SETTLED, "ended": ENDED, **{kind: (kind,) for kind in KINDS}}
    found: dict[Kind, None] = {}
    for word in (part.strip() for one in words for part in one.split(",")):
        if word not in sets:
            raise UsageError(f"there is no state `{word}`", hint=nearest(word, sets, "state"))
        found.update(dict.fromkeys(sets[word]))
    return tuple(found)


def output_format(function: F) -> F:
    """`--format`, handed over as the `show` that does it."""
    return click.option(
        "--format",
        "show",
        type=click.Choice(["human", "json", "jsonl"]),
        default="human",
        help="How to print the answer.",
        callback=lambda _context, _option, value: Show(value),
    )(function)


def complete_agent(_context: click.Context, _argument: click.Parameter, incomplete: str) -> list[str]:
    """The names that begin so, for the shell's completion."""
    from muster.fleet import Fleet

    return [agent.name for agent in Fleet.open().known() if agent.name.startswith(incomplete)]


def agents_argument(*, required: bool = True) -> Callable[[F], F]:
    """NAME... : names or ids; `-` reads them from standard input."""
    return click.argument("names", nargs=-1, metavar="NAME...", required=required, shell_complete=complete_agent)


def agent_argument(name: str = "name") -> Callable[[F], F]:
    """One NAME."""
    return click.argument(name, metavar="NAME", shell_complete=complete_agent)


def where_options(function: F) -> F:
    """`--where`, `--all`: agents by what they are instead of by name."""
    function = click.option("--where", metavar="EXPR", help="Agents for which this expression holds.")(function)
    return click.option("--all", "everyone", is_flag=True, help="All agents that are not archived.")(function)


def chosen(fleet: Fleet, names: tuple[str, ...], where: str | None = None, everyone: bool = False) -> list[Agent]:
    """The agents that the command line names, each once; asking for none is an error unless input said so."""
    from muster.errors import UsageError

    if "-" in names:
        given = tuple(word for line in sys.stdin for word in line.split())
        names = tuple(one for one in names if one != "-") + given
        if not names and where is None:
            return []
    elif not names and where is None and not everyone:
        raise UsageError(
            "which agents?", hint="give names, `--where EXPR`, `--all`, or `-` to read ids from standard input"
        )
    return fleet.pick(names, where=where, everyone=everyone)


def edited(text: str = "", name: str = "message.md") -> str:
    """What the user makes of that text in their editor: $VISUAL, else $EDITOR, else `vi`."""
    import os
    import shlex
    import tempfile

    from muster.core import paths, proc
    from muster.errors import MusterError
    from muster.hosts.local import Local

    editor = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi")
    # Messages may hold what nobody else should read; the folder is this user's own.
    with tempfile.TemporaryDirectory(prefix="muster-") as folder:
        draft = os.path.join(folder, name)
        paths.write(draft, text.encode())
        if code := proc.start(Local(paths.home()), [*editor, draft], group=False).wait():
            raise MusterError(f"`{editor[0]}` ended with {code}, so nothing was done")
        with open(draft, encoding="utf-8") as file:
            return file.read().removesuffix("\n")
