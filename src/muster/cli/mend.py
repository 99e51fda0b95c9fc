"""`muster mend`: one agent per test, every claim checked, one branch to review."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal

import click

from muster.cli.making import Programmed, behind
from muster.cli.options import duration, output_format
from muster.core.out import Show
from muster.errors import UsageError
from muster.fleet import Fleet

if TYPE_CHECKING:
    from muster.agents import Permissions


class _Passing(Programmed):
    """Options that are not ours are pytest's."""

    ignore_unknown_options = True

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return ["[OPTIONS]", "[PYTEST ARGS]...", "[-- AGENT ARGS...]"]


def _types(_context: click.Context, _option: click.Parameter, words: tuple[str, ...]) -> dict[str, Any]:
    """`TYPE` for all tests, `PATTERN=TYPE` for those that fit."""
    pairs = [word.rpartition("=") for word in words]
    plain = [kind for pattern, equals, kind in pairs if not equals]
    if len(plain) > 1:
        raise UsageError(f"`--type {plain[1]}`: `--type {plain[0]}` is given already", hint="`--type PATTERN=TYPE`")
    types = tuple((pattern, kind) for pattern, equals, kind in pairs if equals)
    return {**({"type": plain[0]} if plain else {}), "types": types}


def _jobs(_context: click.Context, _option: click.Parameter, word: str | None) -> int | None:
    if word is None:
        return None
    if word == "auto":
        return 0
    if not word.isdigit() or not int(word):
        raise UsageError(f"`--jobs {word}`: it must be a number from 1 on, or `auto`")
    return int(word)


@click.command("mend", cls=_Passing)
@click.argument("args", nargs=-1, type=click.UNPROCESSED, metavar="[PYTEST ARGS]...")
@click.option(
    "--type",
    "kinds",
    metavar="[PATTERN=]TYPE",
    multiple=True,
    callback=_types,
    help="Agent type, of all tests or of those that fit; repeatable. Without it, `mend.type` of the configuration.",
)
@click.option("--at", "address", metavar="ADDRESS", default="", help="Where agents run: `@`, `@HOST`, `@.PROVIDER`.")
@click.option(
    "--permissions",
    type=click.Choice(["ask", "edit", "all"]),
    help="What agents may do unasked; without it, as their programs are set up.",
)
@click.option("--unsafe-here", is_flag=True, help="Let `--permissions all` be, where nothing keeps agents in.")
@click.option("-j", "--jobs", callback=_jobs, metavar="N|auto", help="How many agents at once.")
@click.option("--timeout", type=duration, default="30m", metavar="TIME", help="How long an agent may take.")
@click.option("--test-timeout", type=duration, default="2m", metavar="TIME", help="How long a test may take.")
@click.option("--repeats", type=click.IntRange(1), help="How many runs of a test must agree.")
@click.option("--only", type=click.Choice(["failing", "passing", "all"]), default="all", help="Which tests get agents.")
@click.option("--group", type=click.Choice(["cause", "test"]), default="cause", help="One agent per cause or per test.")
@click.option("--plan", "plan_only", is_flag=True, help="Show tasks, groups and what is skipped; start nothing.")
@click.option("--prompt", metavar="FILE", help="A template in place of the shipped ones, or around `{{shipped}}`.")
@click.option("--integrator", metavar="TYPE|none", help="Who gets conflicts; `none` (the default) lists them.")
@click.option("--allow", metavar="RULE", multiple=True, help="A rule of the gate that is let through; repeatable.")
@click.option("--python", metavar="PATH", default="", help="The project's interpreter, if it is not found.")
@click.option("--name", metavar="RUN", help="The run's name instead of a made-up one.")
@click.option("--resume", metavar="RUN", help="Go on with a run that was cut short; `last` is the newest.")
@click.option("--reintegrate", metavar="RUN", help="Verify and integrate again what a run gathered; no agent runs.")
@click.option("--pr", is_flag=True, help="Push the branch and open a pull request with `gh`.")
@output_format
def command(
    args: tuple[str, ...],
    kinds: dict[str, Any],
    address: str,
    permissions: Permissions | None,
    unsafe_here: bool,
    jobs: int | None,
    timeout: float,
    test_timeout: float,
    repeats: int | None,
    only: Literal["failing", "passing", "all"],
    group: Literal["cause", "test"],
    plan_only: bool,
    prompt: str | None,
    integrator: str | None,
    allow: tuple[str, ...],
    python: str,
    name: str | None,
    resume: str | None,
    reintegrate: str | None,
    pr: bool,
    show: Show,
) -> int:
    """Give each test to an agent, check for yourself what each claims, and put what holds on one branch to review.

    The tests are collected and run first, at the commit that is checked out. Failing tests with one cause are one task;
    an agent gets each task in a workspace of its own. What it commits is inspected and tested in clean checkouts, and what
    holds becomes a branch `muster/mend/RUN`: one commit of tests and documents, then one commit per fix, each of
    which can be reverted. Your checkout is not touched. PYTEST ARGS choose tests as they do for pytest.

    ^C once begins no more agents and integrates what is done; twice stops at once. Both can be gone on with.

    The exit code is 0 when nothing is left for a person, 1 when something is, 130 after a ^C.

    \b
    Examples:
      muster mend --plan
      muster mend
      muster mend tests/test_parser.py -k quotes --type scripted -- --script fix.toml
      muster mend --type mechanic --type 'tests/e2e/*=claude' --jobs 8
      muster mend --type claude --permissions all --at @.docker
      muster mend --resume last
      muster report last
    """
    from muster.cli import mending
    from muster.mend import pipeline, pull_request
    from muster.mend import run as runs

    fleet = Fleet.open()
    if pr:
        pull_request.check(os.getcwd())
    later = {"jobs": jobs, "allow": allow, "integrator": _integrator(integrator)}
    if old := _old(resume, reintegrate, args):
        # What is not said stays as the run was begun.
        changed = {key: value for key, value in later.items() if value or value == ""}
        run = runs.find(fleet, old, changed, afresh=bool(reintegrate))
    else:
        said = {
            "address": _address(address),
            "permissions": permissions,
            "unsafe_here": unsafe_here,
            "timeout": timeout,
            "test_timeout": test_timeout,
            "repeats": repeats,
            "only": only,
            "group": group,
            "prompt": prompt or "",
            "python": python,
            "agent_args": behind(),
        }
        run = runs.begin(fleet, os.getcwd(), args, name or "", {**kinds, **later, **said})
    with mending.progress(fleet, run, show):
        answer = pipeline.plan(run) if plan_only else pipeline.go(run)
    return mending.told(answer, show, pr)


def _old(resume: str | None, reintegrate: str | None, args: tuple[str, ...]) -> str | None:
    """The run to go on with, if one is."""
    if resume and reintegrate:
        raise UsageError("`--resume` and `--reintegrate` can't both be")
    if (resume or reintegrate) and (args or behind()):
        raise UsageError(f"`--{'resume' if resume else 'reintegrate'}` takes the run's own arguments, and no others")
    return resume or reintegrate


def _integrator(word: str | None) -> str | None:
    return "" if word == "none" else word


def _address(word: str) -> str:
    if word in ("", "@", "local"):
        return ""
    if not word.startswith("@"):
        raise UsageError(f"`--at {word}`: it must begin with `@`", hint=f"`--at @{word}`")
    return word
