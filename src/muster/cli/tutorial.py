"""`muster tutorial`: whether a tutorial and the tests that cite it agree, and agents that bring them together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypeVar

import click

from muster.cli.answers import count
from muster.cli.making import Programmed, behind
from muster.cli.options import Commands, duration, output_format
from muster.core import out
from muster.core.out import Show
from muster.errors import UsageError
from muster_testkit import KitError
from muster_testkit import tutorial as kit
from muster_testkit.tutorial import check, face

if TYPE_CHECKING:
    from muster.agents import Agent
    from muster.tutorial import Answer, Wish

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


@click.group("tutorial", cls=Commands)
def command() -> None:
    """Keep a tutorial and the tests that cite it in step.

    A tutorial is a shell script. Lines without an empty line between them are a block; a block of comments only is a
    heading. A test says which block it shows with `e2e.write_tutorial_block(...)`, or in a section `Tutorial block:`
    of its docstring. An empty line always ends a block, within a here-document too: its parts are blocks of their own.
    """


@command.command("blocks")
@click.argument("file", metavar="FILE")
@output_format
def blocks(file: str, show: Show) -> None:
    """List the blocks of a tutorial, each with its line.

    \b
    Examples:
      muster tutorial blocks docs/tutorial.sh
      Only the commands:
        muster tutorial blocks docs/tutorial.sh --format json | jq -r '.[] | select(.kind == "command") | .text'
    """
    found = _asked(lambda: kit.read(file))
    show.many([check.block_record(one) for one in found], lambda _: out.safe(face.listed(file, found), keep="\n\t"))


@command.command("check")
@click.argument("file", metavar="FILE")
@click.argument("tests", metavar="TESTS...", nargs=-1, required=True)
@output_format
def compare(file: str, tests: tuple[str, ...], show: Show) -> int:
    """Compare a tutorial with the tests that cite it, without running them.

    Every block with a command must be cited by a test, and every citation must be a block, word for word; where one
    has drifted, the nearest block and the difference are shown. TESTS are files, or folders of `test_*.py` and
    `*_test.py`. The exit code is 1 when something is to be mended. A test file that can't be read is named, and the
    others are still checked. With `--format jsonl` there is one line per problem, with `json` all blocks, too.

    \b
    Examples:
      muster tutorial check docs/tutorial.sh tests
      In an editor, jump from problem to problem:
        vim -q <(muster tutorial check docs/tutorial.sh tests)
    """
    report = _asked(lambda: check.check(file, list(tests)))
    if show.form == "jsonl":
        show.many([asdict(one) for one in report.problems], lambda _: "")
    else:
        show.one(report.record(), lambda: out.safe(face.verdict(report), keep="\n\t"))
    return 0 if report.ok else 1


def writing(function: F) -> F:
    """The options that say which agent writes, and how."""
    for option in (
        output_format,
        click.option(
            "--dirty",
            type=click.Choice(["refuse", "carry"]),
            default="refuse",
            help="Uncommitted changes here: stop, or take them along.",
        ),
        click.option("--timeout", type=duration, default="30m", metavar="TIME", help="How long it may take."),
        click.option(
            "--prompt", metavar="FILE", help="A template in place of the shipped one, or around `{{shipped}}`."
        ),
        click.option("--name", metavar="NAME", default="", help="The agent's name instead of a made-up one."),
        click.option("--type", "kind", metavar="TYPE", default="", help="Agent type."),
    ):
        function = option(function)
    return function


@command.command("draft", cls=Programmed)
@click.argument("file", metavar="FILE")
@writing
def draft(file: str, show: Show, **given: Any) -> int:
    """Have an agent fill the headings of a tutorial that have no example.

    A heading is filled when a block with a command follows it. The first block of the file is its title, and needs none.
    The agent works on a branch of its own; when it has settled, its commits are checked here, whatever it says: all that
    was there must be there still, and no heading may be bare. The difference is shown for review. Nothing of yours changes
    before you bring it here with `muster pull`.

    `--prompt FILE` replaces what it is told: `{{file}}`, `{{headings}}` and `{{rules}}` are the parts, `{{shipped}}` all of it.

    The exit code is 0 if the check passes now or there is nothing to do, 1 if not, 124 if the time was up before.

    \b
    Examples:
      muster tutorial draft docs/tutorial.sh --type scripted -- --script draft.toml
      With a coding agent, by your own words:
        muster tutorial draft docs/tutorial.sh --type claude --prompt how-we-write.md
    """
    from muster.fleet import Fleet
    from muster.tutorial import write

    wish = _wish("draft", **given)
    with _interruptible() as made:
        answer = _asked(lambda: write.draft(Fleet.open(), file, wish, made))
    return _told(answer, show, "every heading has an example")


@command.command("sync", cls=Programmed)
@click.argument("file", metavar="FILE")
@click.argument("tests", metavar="TESTS...", nargs=-1, required=True)
@writing
def sync(file: str, tests: tuple[str, ...], show: Show, **given: Any) -> int:
    """Have an agent write tests for the blocks that none cites, and repair what `muster tutorial check` finds.

    The agent works on a branch of its own; when it has settled, its commits are checked here, whatever it says: as `muster
    tutorial check` does it, and the tutorial must be as it was, and no citation lost. The difference is shown for review.
    Nothing of yours changes before you bring it here with `muster pull`. Whether the new tests pass is for you to see: `muster
    exec NAME pytest`.

    `--prompt FILE` replaces what it is told: `{{file}}`, `{{tests}}`, `{{problems}}`, `{{check}}` and `{{rules}}` are the parts,
    `{{shipped}}` all of it.

    The exit code is 0 if the check passes now or there is nothing to do, 1 if not, 124 if the time was up before.

    \b
    Examples:
      muster tutorial sync docs/tutorial.sh tests --type scripted -- --script sync.toml
      With a coding agent, for an hour at most:
        muster tutorial sync docs/tutorial.sh tests --type claude --timeout 1h
    """
    from muster.fleet import Fleet
    from muster.tutorial import write

    wish = _wish("sync", **given)
    with _interruptible() as made:
        answer = _asked(lambda: write.sync(Fleet.open(), file, tests, wish, made))
    return _told(answer, show, "every block is cited, and every citation is a block")


def _wish(what: str, *, kind: str, name: str, prompt: str | None, timeout: float, dirty: Any) -> Wish:
    from muster.tutorial import Wish, write

    template = write.template(prompt, what) if prompt else ""
    return Wish(type=kind, args=behind(), name=name, template=template, timeout=timeout, dirty=dirty)


@contextmanager
def _interruptible() -> Iterator[Callable[[Agent, int], None]]:
    """What says that the agent is made; a ^C ends the waiting for it, and not the agent."""
    name = ""

    def made(agent: Agent, missing: int) -> None:
        nonlocal name
        name = agent.name
        words = f"is to mend {count(missing, 'thing')}, on `{agent.workspace.branch}`"
        out.talk(out.safe(f"`{agent.name}` ({agent.type}) {words}"))

    try:
        yield made
    except KeyboardInterrupt:
        if name:
            out.hint(f"`{name}` goes on; `muster stop {name}` ends it")
        raise


def _told(answer: Answer, show: Show, fine: str) -> int:
    """The difference, which is the answer, and beside it what the check says and what can be done next."""
    if not answer.agent:
        show.one(answer, f"nothing to do: {fine}")
        return 0
    show.one(answer, lambda: out.safe(answer.diff.rstrip("\n"), keep="\n\t") or "it has committed nothing")
    for problem in answer.problems:
        out.talk(out.safe(problem, keep="\n\t"))
    _summed(answer, fine)
    return 0 if answer.ok else 124 if answer.late else 1


def _summed(answer: Answer, fine: str) -> None:
    ended = "was stopped, since its time was up" if answer.late else f"is {answer.state} ({answer.reason})"
    out.talk(out.safe(f"`{answer.agent}` {ended}, with {count(answer.commits, 'commit')}"))
    if answer.left:
        out.talk(out.safe(f"it has not committed {', '.join(answer.left[:10])}{' …' if answer.left[10:] else ''}"))
    before, now = len(answer.missing), len(answer.problems)
    out.talk(f"the check passes: {fine}" if answer.ok else f"the check finds {count(now, 'fault')}, before it {before}")
    name = answer.agent
    if answer.ok:
        out.hint(f"`muster pull {name}` brings it here, `muster destroy {name}` sends it away")
    else:
        out.hint(f"`muster transcript {name}` shows what it said, `muster message {name}` tells it what to mend")


def _asked(question: Callable[[], T]) -> T:
    try:
        return question()
    except KitError as error:
        raise UsageError(str(error), hint=error.hint) from error
