"""`muster exec`: run a command in agents' workspaces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from muster.cli.options import chosen, complete_agent, duration, output_format, where_options
from muster.core import out
from muster.core.out import Show
from muster.errors import MusterError, NotFound, UsageError

if TYPE_CHECKING:
    from muster.agents import Agent
    from muster.fleet import Exit, Fleet
    from muster.fleet.execute import Commands

AT_ONCE = 32


class Exec(click.Command):
    """A command whose last words are another command, which keeps its options."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--" in args:
            # All before it is ours, in any order; all after it is not looked at.
            at = args.index("--")
            ctx.meta["command"] = tuple(args[at + 1 :])
            ctx.allow_interspersed_args = True
            args = args[:at]
        else:
            args = self._options_first(ctx, args)
        return super().parse_args(ctx, args)

    def _options_first(self, ctx: click.Context, args: list[str]) -> list[str]:
        """`NAME --timeout 5 COMMAND`: no command begins with a dash, so these options are ours."""
        given, rest = self._begun(ctx, args)
        if given.get("where") or given.get("everyone"):
            return args
        _, after = self._begun(ctx, rest[1:])
        return [*args[: len(args) - len(rest)], *rest[1 : len(rest) - len(after)], *rest[:1], *after]

    def _begun(self, ctx: click.Context, args: list[str]) -> tuple[dict[str, Any], list[str]]:
        """The options up to the first word, and all from there on."""
        given = self.make_parser(ctx).parse_args(list(args))[0]
        words = given["words"]
        return given, list(words) if isinstance(words, tuple) else []


@click.command("exec", cls=Exec, context_settings={"allow_interspersed_args": False})
@click.argument("words", nargs=-1, metavar="NAME... [--] COMMAND [ARG]...", shell_complete=complete_agent)
@click.option("--cwd", metavar="DIR", default="", help="Folder in the workspace to run it in.")
@click.option("--timeout", type=duration, help="End it with all it started after this long, and exit with 124.")
@where_options
@output_format
@click.pass_context
def command(
    ctx: click.Context,
    words: tuple[str, ...],
    cwd: str,
    timeout: float | None,
    where: str | None,
    everyone: bool,
    show: Show,
) -> int:
    """Run a command in agents' workspaces.

    It gets the agent's environment, and the agent goes on beside it. For one agent it has your terminal, and its
    exit code is passed through. For many it runs in all at once, each line of output after its agent's name; the
    largest exit code is passed on. With `--format json` the output is collected.

    The first word is the agent; `--` separates several agents from the command. COMMAND is run as it is: for pipes
    and variables use `sh -c`.

    \b
    Examples:
      muster exec fix git status
      muster exec fix -- git log --oneline -3
      muster exec a b c -- make test
      muster exec --all --timeout 5m -- make lint
      muster exec fix -- sh -c 'git diff | wc -l'
    """
    from muster.fleet import Fleet

    names, argv = _parsed(words, ctx.meta.get("command"), where is not None or everyone)
    fleet = Fleet.open()
    agents = _agents(fleet, names, where, everyone)
    if not show.human:
        return _collected(fleet, agents, argv, cwd, timeout, show)
    from muster.fleet.execute import Commands

    with Commands(fleet, argv, cwd=cwd, timeout=timeout) as commands:
        return commands.run(agents[0]) if len(agents) == 1 else _together(commands, agents)


def _parsed(
    words: tuple[str, ...], command: tuple[str, ...] | None, chosen_otherwise: bool
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names and the command."""
    if command is None:
        first = 0 if chosen_otherwise else 1
        words, command = words[:first], words[first:]
    if not command:
        raise UsageError("which command?", hint="`muster exec NAME COMMAND ARG...`")
    return words, command


def _agents(fleet: Fleet, names: tuple[str, ...], where: str | None, everyone: bool) -> list[Agent]:
    try:
        return chosen(fleet, names, where, everyone)
    except NotFound as error:
        if len(names) > 1 and fleet.registry.find(names[0]) and not error.hint.startswith("did you mean"):
            # `muster exec fix git checkout -- file`
            error.hint = "all before the first `--` are agents: `muster exec NAME -- COMMAND ARG...`"
        raise


def _together(commands: Commands, agents: Sequence[Agent]) -> int:
    from muster.core import fan

    width = max((out.width(agent.name) for agent in agents), default=0)

    def run(agent: Agent) -> int:
        return commands.run(agent, agent.name + " " * (width - out.width(agent.name)) + " | ")

    return max([_code(agent, code) for agent, code in fan.out(run, agents, AT_ONCE)], default=0)


def _code(agent: Agent, result: int | Exception) -> int:
    if isinstance(result, MusterError):
        return out.failure(f"{agent.name}: {result}", result.hint, result.exit_code)
    if isinstance(result, Exception):
        raise result
    return result


def _collected(
    fleet: Fleet, agents: Sequence[Agent], argv: Sequence[str], cwd: str, timeout: float | None, show: Show
) -> int:
    from muster.core import fan

    ended: dict[str, Exit] = {}
    codes = [0]
    for agent, result in fan.out(lambda one: fleet.exec(one, argv, cwd=cwd, timeout=timeout), agents, AT_ONCE):
        if isinstance(result, Exception):
            codes.append(_code(agent, result))
        else:
            ended[agent.id] = result
            codes.append(result.code)
    show.many([ended[agent.id] for agent in agents if agent.id in ended], lambda _: "")
    return max(codes)
