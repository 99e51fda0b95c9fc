"""`muster connect`: put your terminal on an agent's."""

from __future__ import annotations

import os
import shlex
import sys
from typing import TYPE_CHECKING

import click

from muster.cli.options import complete_agent
from muster.core import out
from muster.errors import NotFound, UsageError
from muster.fleet import Fleet

if TYPE_CHECKING:
    from collections.abc import Sequence

    from muster.agents import Agent

# For a terminal that this machine knows nothing of, the first of these that it knows.
TERMINALS = ("xterm-256color", "screen-256color", "screen", "xterm", "vt100")


@click.command("connect")
@click.argument("name", metavar="[NAME]", required=False, shell_complete=complete_agent)
@click.option("--print", "only_print", is_flag=True, help="Print the command line that attaches, and do nothing.")
def command(name: str | None, only_print: bool) -> None:
    """Put your terminal on an agent's.

    Leave it with `C-b d`: the agent goes on. A stopped agent is started first; one whose program has ended shows its
    last screen. It works inside another tmux. Without NAME you choose from a list.

    \b
    Examples:
      muster connect fix
      Choose from a list:
        muster connect
      In another terminal window:
        xterm -e $(muster connect fix --print)
      Record every session:
        muster config set connect.command 'asciinema rec -c "{}"'
    """
    fleet = Fleet.open()
    if not only_print:
        check(fleet)
    agent = fleet.registry.get(name) if name else _chosen(fleet)
    if only_print:
        out.say(shlex.join(fleet.seat(agent.host).server.attach(agent.id)))
    else:
        enter(fleet, agent)


def check(fleet: Fleet) -> None:
    """Refuse where there is no terminal to put on an agent's."""
    if _replacement(fleet) or (sys.stdin.isatty() and sys.stdout.isatty()):
        return
    hint = "`muster capture NAME` prints its screen, `muster message NAME` talks to it"
    raise UsageError("connecting needs a terminal, and standard input or output is none", hint=hint)


def enter(fleet: Fleet, agent: Agent) -> None:
    """Become the program that shows that agent's terminal."""
    # Said before and not after: what is still on its way when tmux takes the terminal over is thrown away.
    door = fleet.connect(agent, starting=lambda: out.talk(f"`{agent.name}` does not run, so it is started again"))
    if door.found == "ended":
        assert door.agent.state
        out.talk(f"`{agent.name}` has ended: {door.agent.state.reason}; `muster start {agent.name}` runs it again")
    argv = list(door.argv)
    if replacement := _replacement(fleet):
        line = shlex.join(argv)
        argv = ["sh", "-c", replacement.replace("{}", line) if "{}" in replacement else f"{replacement} {line}"]
    else:
        _know_terminal(fleet, agent)
    sys.stdout.flush()
    os.execvp(argv[0], argv)


def _replacement(fleet: Fleet) -> str:
    return fleet.config(os.getcwd()).connect.command


def _know_terminal(fleet: Fleet, agent: Agent) -> None:
    """tmux refuses a terminal that it finds no description of; most are close enough to a common one."""
    mine = os.environ.get("TERM", "")
    if known := next((name for name in (mine, *TERMINALS) if name and _usable(fleet, agent, name)), ""):
        if known != mine:
            where = "here" if agent.host == "local" else f"on `{agent.host}`"
            what = f"no description of `{out.safe(mine)}` is {where}" if mine else "$TERM is not set"
            out.talk(f"{what}, so it is taken for `{known}`")
        os.environ["TERM"] = known


def _usable(fleet: Fleet, agent: Agent, name: str) -> bool:
    from muster.core import proc

    described = proc.run(fleet.seat(agent.host).host, ["infocmp", "-1", name], check=False)
    return described.code == 0 and b"\tclear=" in described.out


def _chosen(fleet: Fleet) -> Agent:
    """Ask which; a number, a name, or a part of one."""
    agents = fleet.agents()
    if not agents:
        raise NotFound("there is no agent yet", hint="`muster create` makes one")
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError("which agent?", hint="`muster connect NAME`")
    if len(agents) == 1:
        return agents[0]
    size = max(out.width(agent.name) for agent in agents)
    for number, agent in enumerate(agents, 1):
        kind, reason = (agent.state.kind, agent.state.reason) if agent.state else ("", "")
        name = out.safe(agent.name) + " " * (size - out.width(agent.name))
        out.talk(out.clip(f"{number:3}  {name}  {kind:8}  {out.safe(reason)}", out.columns()))
    while True:
        text = click.prompt("which", default="", show_default=False, err=True).strip()
        if not text:
            raise click.Abort
        if len(found := _fitting(agents, text)) == 1:
            return found[0]
        out.talk("no agent is called so" if not found else f"that fits {', '.join(one.name for one in found)}")


def _fitting(agents: Sequence[Agent], text: str) -> list[Agent]:
    exact = [agent for agent in agents if text in (agent.name, agent.id)]
    if exact:
        return exact
    if text.isdecimal() and 1 <= int(text) <= len(agents):
        return [agents[int(text) - 1]]
    return [agent for agent in agents if text.casefold() in agent.name.casefold()]
