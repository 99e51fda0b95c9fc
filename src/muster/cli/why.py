"""`muster why`: explain an agent's state by its evidence."""

from __future__ import annotations

import time
from typing import Any

import click

from muster.agents import Evidence
from muster.cli import answers
from muster.cli.options import agent_argument, output_format
from muster.core import out
from muster.core.out import Show
from muster.fleet import Fleet
from muster.fleet.why import Why


@click.command("why")
@agent_argument()
@output_format
def command(name: str, show: Show) -> None:
    """Explain an agent's state by its evidence.

    One look at the agent: its state and the reason, then all that was found. An exit status is trusted more than
    what the program says of itself; evidence that contradicts itself makes the state `unknown`.

    \b
    Examples:
      muster why fix
      muster why fix --format json | jq .evidence
    """
    found = Fleet.open().why(name)
    show.one(_record(found), lambda: _explained(found))


def _explained(why: Why) -> str:
    agent, state, evidence = why.agent, why.state, why.evidence
    since = out.age(time.time() - state.since)
    rows = [("reason", state.reason), ("sources", ", ".join(state.sources))]
    if state.kind == "unknown":
        rows.append(("last known", f"{state.last}, seen {since} ago" if state.last else "nothing"))
    rows += [("intent", f"{agent.intent}, since {answers.moment(agent.changed or agent.created)}")]
    rows += _found(evidence) if evidence else [("evidence", f"none: `{agent.host}` could not be looked at")]
    head = f"{agent.name} is {out.paint(state.kind, answers.COLOURS.get(state.kind, ''))} for {since}"
    return "\n".join([head, *(f"  {line}" for line in answers.aligned(rows).split("\n"))])


def _found(evidence: Evidence) -> list[tuple[str, str]]:
    """The evidence, absent things named as such."""
    note = evidence.note.strip().split(" ", 1)
    rows = [
        ("pane", _pane(evidence)),
        ("exit status", _ending(evidence)),
        ("its own word", f"{note[1]}, since {answers.moment(float(note[0]))}" if len(note) == 2 else "none"),
    ]
    return rows + [(name, data.decode(errors="replace").strip()) for name, data in evidence.files.items()]


def _pane(evidence: Evidence) -> str:
    if evidence.alive is None:
        return "none: no terminal session"
    if not evidence.alive:
        return f"process {evidence.pid} has ended, its screen is kept"
    active = f", screen changed {out.age(evidence.now - evidence.active)} ago" if evidence.active else ""
    return f"process {evidence.pid} runs{active}"


def _ending(evidence: Evidence) -> str:
    when = f", {out.age(evidence.now - evidence.ended)} ago" if evidence.ended else ""
    if evidence.signal:
        return f"signal {evidence.signal}{when}"
    return "none" if evidence.code is None else f"{evidence.code}{when}"


def _record(why: Why) -> dict[str, Any]:
    import msgspec

    evidence = why.evidence and {
        **msgspec.structs.asdict(why.evidence),
        "files": {name: data.decode(errors="replace") for name, data in why.evidence.files.items()},
    }
    return {"agent": why.agent, "state": why.state, "evidence": evidence}
