"""From evidence to state: a pure function."""

from __future__ import annotations

import signal

from muster.agents import KINDS, Agent, AgentType, Evidence, Kind, Note, State

_NOTED: tuple[Kind, ...] = ("starting", "working", "waiting", "blocked")


def note(line: str) -> Note | None:
    """The line that hooks write: TIME KIND REASON."""
    at, _, rest = line.strip().partition(" ")
    kind, _, reason = rest.partition(" ")
    if not at.replace(".", "", 1).isdigit() or kind not in KINDS:
        return None
    return Note(kind, float(at), reason)


def judge(agent: Agent, kind: AgentType, evidence: Evidence | None, trouble: str = "", busy: bool = False) -> State:
    """What the agent is doing, by the most trustworthy evidence there is.

    `trouble` says why its host could not be looked at; `busy` that a process is changing the agent at this moment.
    """
    if evidence is None:
        return _unknown(agent, trouble or "its host was not looked at", ())
    if agent.intent == "creating" and evidence.alive is None:
        if busy:
            return State("starting", agent.created, "it is being created", ("registry",))
        return _unknown(agent, "its creation was cut short; `muster gc` undoes it", ("registry",))
    if agent.moving is not None:
        if busy:
            return State(
                "starting", agent.changed, f"it is being moved; the other end is `{agent.moving.host}`", ("registry",)
            )
        return _unknown(
            agent, "its migration was cut short; `muster migrate` goes on with it, `muster gc` ends it", ("registry",)
        )
    if agent.intent == "destroying":
        reason = "it is being destroyed" if busy else "its destruction was cut short; `muster destroy` finishes it"
        return _unknown(agent, reason, ("registry",))
    if evidence.alive and agent.intent == "stopped" and busy:
        return State("starting", agent.changed, "it is being started", ("registry", "tmux"))
    if evidence.alive:
        return _running(agent, kind, evidence)
    if agent.intent == "stopped":
        return State("stopped", agent.changed, "stopped by muster", ("registry", "tmux"))
    if evidence.code is not None or evidence.signal is not None:
        return _ended(evidence)
    if evidence.alive is False:
        # tmux tells how it ended, and wakes those who wait, once the process is gone as well.
        reason = f"process {evidence.pid} has closed its terminal, and has not ended yet"
        return State("working", agent.changed or agent.created, reason, ("tmux",))
    reason = "its terminal session is gone and no exit status was kept; `muster start` brings it back"
    return _unknown(agent, reason, ("tmux",))


def destroyed(evidence: Evidence) -> State:
    """Of an agent that is not in the registry any more."""
    return State("unknown", evidence.now, "it was destroyed", ("registry",))


def _running(agent: Agent, kind: AgentType, evidence: Evidence) -> State:
    if agent.intent == "stopped":
        return _unknown(agent, f"it was stopped, yet process {evidence.pid} runs in its session", ("registry", "tmux"))
    pid = f"process {evidence.pid} runs"
    if not kind.notes:
        return State("working", agent.changed or agent.created, pid, ("tmux",))
    if (noted := kind.noted(evidence)) is None:
        if dialog := kind.opening(evidence.screen):
            return State("blocked", agent.changed or agent.created, f"dialog: {dialog.name}", ("screen", "tmux"))
        return State("starting", agent.changed or agent.created, f"{pid}, and has not said that it is ready", ("tmux",))
    if noted.kind not in _NOTED:
        return _unknown(agent, f"it says `{noted.kind}`, yet {pid}", ("program", "tmux"))
    reason = noted.reason or ("its turn ended" if noted.kind == "waiting" else pid)
    return State(noted.kind, noted.since, reason, ("program", "tmux"))


def _ended(evidence: Evidence) -> State:
    since = evidence.ended or evidence.now
    if evidence.signal:
        return State("failed", since, f"ended by {_name(evidence.signal)}", ("exit status",), signal=evidence.signal)
    code = evidence.code or 0
    if code == 0:
        return State("done", since, "exit code 0", ("exit status",), code=0)
    reason = f"exit code {code}" + (f" (a shell's word for {_name(code - 128)})" if 128 < code < 160 else "")
    return State("failed", since, reason, ("exit status",), code=code)


def _unknown(agent: Agent, reason: str, sources: tuple[str, ...]) -> State:
    seen = agent.state
    last = (seen.last if seen.kind == "unknown" else seen.kind) if seen else None
    since = seen.since if seen else agent.changed or agent.created
    return State("unknown", since, reason, sources, last=last)


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
