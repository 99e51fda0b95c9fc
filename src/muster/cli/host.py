"""`muster host`: the places where agents run."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial

import click

from muster.cli.making import placed, placing
from muster.cli.options import Commands, output_format
from muster.core import fan, out
from muster.core.out import Show
from muster.errors import MusterError
from muster.fleet import Fleet, lodging, places, standing, upkeep
from muster.fleet.standing import Standing

_COLOURS = {"running": "green", "unreachable": "red", "gone": "red", "paused": "yellow", "stopped": "yellow"}


def complete_host(_context: click.Context, _argument: click.Parameter, incomplete: str) -> list[str]:
    """The hosts that begin so, for the shell's completion."""
    found = standing.standing(Fleet.open(), cached=True)
    return [one.name for one in found if one.name.startswith(incomplete)]


def _hosts(name: str = "names") -> Callable[[Callable[..., object]], Callable[..., object]]:
    return click.argument(name, nargs=-1, required=True, metavar="HOST...", shell_complete=complete_host)


@click.group("host", cls=Commands)
def command() -> None:
    """Show hosts, and make, stop, start and remove those that muster makes.

    A host is this machine (`local`), a machine that your ssh reaches, or a container. `NAME@HOST` makes an agent on
    one, `NAME@.docker` on a new container of its own.

    \b
    Examples:
      muster create fix@box scripted -m 'Make the tests pass'
      muster host list
      muster host stop shared
    """


@command.command("list")
@click.option("--cached", is_flag=True, help="Ask no host: how each was when it was last seen.")
@output_format
def list_(cached: bool, show: Show) -> None:
    """Show hosts and how each is.

    All are asked at once. One that can't be reached is `unreachable`, with how it was when it last could be; `new` is
    one of the settings that no agent was on yet.

    \b
    Examples:
      muster host list
      muster host list --cached --format json
    """
    show.many(standing.standing(Fleet.open(), cached=cached), _table)


@command.command("create")
@click.argument("names", nargs=-1, required=True, metavar="HOST...")
@placing
@click.option("--jobs", type=click.IntRange(1), default=4, help="How many at once.")
@output_format
def create(names: tuple[str, ...], jobs: int, show: Show, **given: object) -> int:
    """Make hosts, or start those that are there: `HOST.docker`, or one of the settings.

    \b
    Examples:
      One container for several agents:
        muster host create shared.docker
        muster create a@shared -- make test
      From a snapshot, without a network:
        muster host create one.docker two.docker --snapshot ready --network none
    """
    fleet, settings = Fleet.open(), placed(given)

    def make(name: str) -> str:
        host, fresh = lodging.create(fleet, places.read(name), settings)
        out.talk(out.safe(f"`{host.name}` ({host.provider}) {'is made' if fresh else 'was there already'}"))
        return host.name

    return _each(fleet, names, make, show, jobs)


@command.command("start")
@_hosts()
@click.option("--agents", is_flag=True, help="Start its agents as well.")
@output_format
def start(names: tuple[str, ...], agents: bool, show: Show) -> int:
    """Start stopped hosts again, with all that was on them.

    \b
    Examples:
      muster host start shared
      muster host start shared --agents
    """
    fleet = Fleet.open()
    return _each(fleet, names, partial(upkeep.start, fleet, agents=agents), show)


@command.command("stop")
@_hosts()
@output_format
def stop(names: tuple[str, ...], show: Show) -> int:
    """Stop hosts and the programs on them; files, commits and conversations stay.

    What is on a stopped host can still be read and pulled: it is started for that moment.

    \b
    Examples:
      muster host stop shared
    """
    fleet = Fleet.open()
    return _each(fleet, names, partial(upkeep.stop, fleet), show)


@command.command("destroy")
@_hosts()
@click.option("--agents", is_flag=True, help="Destroy its agents first; their work goes to the attic.")
@click.option(
    "--forget", is_flag=True, help="Ask nobody: for a host that is gone for good, and its agents' work with it."
)
@output_format
def destroy(names: tuple[str, ...], agents: bool, forget: bool, show: Show) -> int:
    """Take away hosts that muster made; others are only forgotten.

    A host with agents is not taken away unless `--agents` says so.

    \b
    Examples:
      muster host destroy shared --agents
      A machine that is gone for good, with what was on it:
        muster host destroy box --forget
    """
    fleet = Fleet.open()
    gone = []
    for name in names:
        upkeep.destroy(fleet, name, agents=agents, forget=forget)
        gone.append(name)
    show.many(gone, "\n".join)
    return 0


@command.command("adopt")
@click.argument("name", metavar="HOST", shell_complete=complete_host)
@output_format
def adopt(name: str, show: Show) -> None:
    """Know the agents that another computer of yours has made on a host.

    Their records on the host are read. Both computers can use them from then on; neither hears of what the other one
    changes but by looking.

    \b
    Examples:
      muster host adopt box
      A container that another muster has made:
        muster host adopt shared.docker
    """
    agents, trouble = upkeep.adopt(Fleet.open(), name)
    for why in trouble:
        out.talk(out.paint("warning: ", "yellow", sys.stderr) + out.safe(why))
    show.many(agents, lambda found: "\n".join(out.safe(agent.name) for agent in found))
    if show.human and not agents:
        out.talk("there was no agent that is not known already")


@command.command("exec", context_settings={"ignore_unknown_options": True})
@click.argument("name", metavar="HOST", shell_complete=complete_host)
@click.argument("words", nargs=-1, required=True, metavar="-- COMMAND...")
def exec_(name: str, words: tuple[str, ...]) -> int:
    """Run a command on a host, in your home folder there.

    Its exit code is passed through; 125 is a host that was lost.

    \b
    Examples:
      muster host exec box -- df -h
      muster host exec shared -- sh
    """
    fleet = Fleet.open()
    host = fleet.seat(name).host
    tty = sys.stdin.isatty() and sys.stdout.isatty()
    script = 'cd 2>/dev/null || cd /; exec "$@"'
    return upkeep.run(host, ["sh", "-c", script, "sh", *words], tty=tty)


@command.command("snapshot")
@click.argument("name", metavar="HOST", shell_complete=complete_host)
@click.option("--label", default="", help="A name for it.")
@output_format
def snapshot(name: str, label: str, show: Show) -> None:
    """Keep what is on a host: others can be made from it.

    A container's whole file system is kept by its engine. Of a machine behind ssh, muster's folder there is, as a tar.

    \b
    Examples:
      muster host snapshot shared --label ready
      muster create a@.docker --snapshot ready -- make test
    """
    made = upkeep.snapshot(Fleet.open(), name, label)
    show.one({"host": name, "snapshot": made}, made)


@command.command("image")
@click.argument("name", required=False, default="", metavar="[IMAGE]")
@click.option("--suite", default="trixie", show_default=True, help="Which Debian.")
@click.option("--engine", default="", help="The engine it is for, instead of the setting `docker.engine`.")
def image(name: str, suite: str, engine: str) -> None:
    """Make the image of new containers, from nothing but Debian's packages.

    With `mmdebstrap` on the engine's machine no registry of images is asked; without it `debian:SUITE-slim` is.

    \b
    Examples:
      muster host image
      muster host image mine --suite bookworm
    """
    from muster.hosts import image as images

    fleet = Fleet.open()
    out.talk("making the image takes half a minute and more")
    made = images.build(places.engine(fleet, engine), name or fleet.config().docker.image, suite)
    out.say(made)


def _each(fleet: Fleet, names: tuple[str, ...], do: Callable[[str], object], show: Show, jobs: int = 8) -> int:
    """Do it to each; those that fail don't keep the others from it."""
    failed: MusterError | None = None
    done = []
    for name, result in fan.out(do, names, jobs):
        if isinstance(result, MusterError):
            failed = failed or result
            out.failure(str(result), result.hint, result.exit_code)
        elif isinstance(result, Exception):
            raise result
        else:
            done.append(places.read(name).host if not isinstance(result, str) else result)
    found = [one for one in standing.standing(fleet) if one.name in done] if not show.human else []
    if show.human:
        for name in done:
            out.say(name)
    else:
        show.many(found, _table)
    return failed.exit_code if failed else 0


def _table(found: list[Standing]) -> str:
    rows = [[one.name, one.provider, _word(one), str(one.agents), _about(one)] for one in found]
    colours = [_COLOURS.get(one.condition, "") for one in found]
    return out.table(
        ["name", "provider", "state", "agents", "about"], rows, lambda row, column: colours[row] if column == 2 else ""
    )


def _word(one: Standing) -> str:
    if one.condition != "unreachable":
        return one.condition
    if not one.last:
        return "unreachable"
    return f"unreachable ({one.last} {out.age(time.time() - one.seen)} ago)"


def _about(one: Standing) -> str:
    told = [
        f"{key}={_plain(value)}"
        for key, value in one.settings.items()
        if key not in ("patience", "boot_timeout", "provider", "env")
    ]
    return " ".join(told)


def _plain(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
