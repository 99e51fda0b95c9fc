"""`muster traces`: conversations kept, searched, and what they cost."""

from __future__ import annotations

import time
from typing import Any

import click

from muster.agents import Role
from muster.cli import answers
from muster.cli.options import Commands, agents_argument, complete_agent, duration, output_format
from muster.cli.transcript import ROLES
from muster.core import out
from muster.core.out import Show
from muster.errors import HostError
from muster.fleet import Fleet

# Marks of what was found that no text has: they never leave this file.
_FOUND = ("\x02", "\x03")


@click.group("traces", cls=Commands)
def command() -> None:
    """Keep conversations in one form, search them, and see what they cost.

    `ingest` reads what agents' programs have written down since the last time; the other commands read the store
    (`$MUSTER_HOME/traces.db`), which keeps conversations also when their agents are gone. No agent is started or
    changed by any of it.

    \b
    Examples:
      muster traces ingest
      What did they spend today?
        muster traces cost --by agent --since 24h
      Sessions from outside of muster:
        muster traces ingest --path ~/.claude/projects
    """


@command.command("ingest")
@agents_argument(required=False)
@click.option("--path", "paths", metavar="FILE", multiple=True, help="A log or a folder of logs; may be repeated.")
@output_format
def ingest(names: tuple[str, ...], paths: tuple[str, ...], show: Show) -> None:
    """Read what is new in the logs of agents, or of those named, or in files.

    A log in a file is known by its content: Claude Code, Codex, Gemini CLI, pi, mini-swe-agent, `opencode export`, and
    muster's own. Only what was appended since is read.

    \b
    Examples:
      muster traces ingest
      muster traces ingest fix --format json
      muster traces ingest --path ~/.codex/sessions
    """
    taken = [*Fleet.open().ingest(names or None, paths)]
    show.many([_news(one) for one in taken], _told)
    if show.human and not any(_is_news(one.news, one.events) for one in taken):
        out.talk("nothing new")
    failed = [one for one in taken if one.news == "failed"]
    if failed:
        raise HostError(f"{answers.count(len(failed), 'log')} could not be read: {failed[0].why}")


def _is_news(news: str, events: int) -> bool:
    return events > 0 or news == "anew"


def _news(one: Any) -> dict[str, Any]:
    source = {name: getattr(one.source, name) for name in ("name", "agent", "type", "host", "path")}
    return {**source, "news": one.news, "events": one.events, "bytes": one.bytes, "why": one.why}


def _told(found: list[dict[str, Any]]) -> str:
    rows = [
        [one["name"], one["type"], one["news"], answers.count(one["events"], "event"), _size(one["bytes"])]
        for one in found
        if _is_news(one["news"], one["events"])
    ]
    return answers.aligned(rows) if rows else ""


@command.command("list")
@output_format
def list_(show: Show) -> None:
    """Show the conversations that were read, the one that went on last first.

    \b
    Examples:
      muster traces list
      muster traces list --format json | jq 'map(select(.cost > 1) | .name)'
    """
    show.many(Fleet.open().traces.all(), _table)


def _table(found: list[Any]) -> str:
    rows = [
        (
            str(one.id),
            one.name,
            one.type,
            out.age(time.time() - one.ended) + " ago" if one.ended else "",
            str(one.events),
            *_sums(one),
            one.model,
        )
        for one in found
    ]
    return out.table(("id", "name", "type", "ended", "events", *_SUMS, "model"), rows) if rows else ""


@command.command("show")
@click.argument("name", metavar="NAME", shell_complete=complete_agent)
@click.option("--role", "roles", type=click.Choice(ROLES), multiple=True, help="Only what they said; may be repeated.")
@click.option("--tail", type=click.IntRange(min=0), metavar="N", help="Only the last N.")
@output_format
def show_(name: str, roles: tuple[Role, ...], tail: int | None, show: Show) -> None:
    """Print a conversation from the store: of an agent, of a file, or by its id from the list.

    Texts of more than 16,000 characters are cut in the store; `muster transcript` has all of an agent that is there.

    \b
    Examples:
      muster traces show fix
      muster traces show 12 --role error
    """
    traces = Fleet.open().traces
    found = [event for one in traces.find(name) for event in traces.events(one.id) if not roles or event.role in roles]
    show.many(answers.last(found, tail), lambda events: "\n".join(map(answers.said, events)).rstrip("\n"))


@command.command("search")
@click.argument("text", nargs=-1, required=True, metavar="TEXT...")
@click.option("--role", type=click.Choice(ROLES), help="Only in what they said.")
@click.option("--limit", type=click.IntRange(1), default=20, metavar="N", help="Only the best N.")
@output_format
def search(text: tuple[str, ...], role: Role | None, limit: int, show: Show) -> None:
    """Find events that hold all these words, the best first.

    Words are found whole, whatever their case; what stands in double quotes is looked for in that order.

    \b
    Examples:
      muster traces search connection refused
      muster traces search '"rate limit"' --role error
      muster traces search test_totals --format json | jq -r '.[].name' | sort | uniq -c
    """
    marks = _FOUND if show.human and out.coloured() else ("", "")
    # A word in single quotes of the shell is one of ours.
    found = Fleet.open().traces.search(" ".join(text), role, limit, marks)
    show.many(found, lambda hits: "\n".join(map(_hit, hits)))
    if show.human and not found:
        out.talk("nothing found")


def _hit(one: Any) -> str:
    words = [f"{one.name} #{one.number}", one.role, one.tool, answers.moment(one.at) if one.at else ""]
    text = out.safe(" ".join(one.text.split()), keep="".join(_FOUND))
    begin, end = ("\x1b[1m", "\x1b[0m") if _FOUND[0] in text else ("", "")
    text = text.replace(_FOUND[0], begin).replace(_FOUND[1], end)
    return f"{out.paint(out.safe('  '.join(filter(None, words))), answers.ROLES.get(one.role, 'bold'))}\n  {text}"


@command.command("cost")
@click.option("--by", default="agent", metavar="WHAT", help="`agent`, `model`, `type`, `day` or `labels.NAME`.")
@click.option("--since", type=duration, metavar="DURATION", help="Only requests of the last so long.")
@output_format
def cost(by: str, since: float | None, show: Show) -> None:
    """Show what requests to models took: tokens, and US dollars where the price is known.

    What a program says itself counts; else the price list of `genai-prices`, which comes with `pass-muster[cost]` and
    needs no network. Tokens of a model that is not in it are shown as such. Input has cached tokens in it.

    \b
    Examples:
      muster traces cost
      muster traces cost --by model --since 7d
      muster traces cost --by labels.team --format json
    """
    fleet = Fleet.open()
    found = fleet.spent(by, since=0.0 if since is None else time.time() - since)
    show.many(found, lambda groups: _bill(by, groups))
    if show.human and any(one.unpriced for one in found):
        _explain()


def _bill(by: str, groups: list[Any]) -> str:
    from muster.fleet.tracing import together

    rows = [(str(one.requests), *_sums(one), one.key or "(none)") for one in [*groups, together("total", groups)]]
    return out.table(("requests", *_SUMS, by), rows) if groups else ""


def _explain() -> None:
    from muster.traces.prices import Prices

    if Prices().known:
        out.talk("tokens of models that the price list does not know are `unpriced`")
    else:
        out.talk("tokens are `unpriced`: there is no price list")
        out.hint("`pip install 'pass-muster[cost]'`, then `muster traces ingest`")


_SUMS = ("input", "cached", "output", "cost", "unpriced")


def _sums(one: Any) -> tuple[str, ...]:
    unpriced = f"{one.unpriced:,}" if one.unpriced else ""
    return (
        f"{one.tokens.input:,}",
        f"{one.tokens.cached:,}",
        f"{one.tokens.output:,}",
        answers.dollars(one.cost),
        unpriced,
    )


def _size(number: int) -> str:
    return f"{number / 1e6:.1f} MB" if number >= 1_000_000 else f"{number / 1e3:.1f} kB"
