"""Messages: stored first, typed once, and their arrival read back from the agent's own record."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from muster import hosts
from muster.agents import ENDED, Agent, AgentType, State, agent_type
from muster.agents.session import Seat
from muster.agents.watch import Watch
from muster.core import fan, tmux
from muster.errors import MusterError
from muster.fleet import Receipt
from muster.fleet.look import look
from muster.fleet.registry import Message
from muster.fleet.wait import LOOK_FOR_DIALOG

if TYPE_CHECKING:
    from muster.fleet import Fleet

AT_ONCE = 8
# An Enter that came too early is lost by some programs: after this long without a trace of the message it is pressed again.
ENTER_AGAIN = 2.0
GIVE_UP = 10.0
# Where its screen shows that the program took it, a machine that has too much to do may need longer to write it down.
GIVE_UP_TAKEN = 30.0
# In the middle of a turn some programs only show that they have it.
LOOK_FOR_HELD = 0.3
HELD = "its program has it, and takes it when its turn allows"
RECORD_LAGS = 0.05
BEGINS = 5.0
COMPOSES = 3.0
# A terminal that edits lines itself takes no longer ones; the kernel drops the rest without a word.
LONGEST_LINE = 4_095


def send(fleet: Fleet, agents: list[Agent], text: str, *, start: bool = False) -> Iterator[Receipt]:
    """Say it to each agent, once."""
    if start:
        _revive(fleet, agents)
    for agent, receipt in fan.out(lambda agent: _send(fleet, agent, text), agents, AT_ONCE):
        if isinstance(receipt, MusterError):
            yield Receipt(agent.id, agent.name, "failed", str(receipt))
        elif isinstance(receipt, Exception):
            raise receipt
        else:
            yield receipt
            # Told only now: a sender that was killed before is answered for by the one that says the same again.
            fleet.registry.told(receipt.message)


def _revive(fleet: Fleet, agents: list[Agent]) -> None:
    ended = [agent for agent in look(fleet, agents).agents if agent.state and agent.state.kind in (*ENDED, "unknown")]
    fleet.start(ended)


def _send(fleet: Fleet, agent: Agent, text: str) -> Receipt:
    registry = fleet.registry
    with registry.locked(agent.id):
        agent = registry.get(agent.id)
        message = registry.untold(agent.id, text) or registry.store_message(agent.id, text)
        if message.step not in ("stored", "sending"):
            return Receipt(agent.id, agent.name, message.step, "it had arrived when its first sender died", message.id)  # type: ignore[arg-type]
        return _deliver_until(fleet, agent, message)


def flush(fleet: Fleet, agent: Agent) -> list[Receipt]:
    """Deliver what is queued for an agent that is locked by us."""
    receipts = []
    for message in fleet.registry.messages(agent.id, "stored", "sending"):
        receipts.append(_deliver_until(fleet, agent, message))
        if not _went(receipts[-1]):
            break
    return receipts


def _deliver_until(fleet: Fleet, agent: Agent, last: Message) -> Receipt:
    """Deliver all that was said before, in order, and then this one."""
    for message in fleet.registry.messages(agent.id, "stored", "sending"):
        receipt = _deliver(fleet, agent, message)
        if message.id == last.id or not _went(receipt):
            break
    if message.id != last.id:
        receipt = Receipt(agent.id, agent.name, receipt.status, f"an earlier message waits: {receipt.reason}", last.id)
    if receipt.status == "refused":
        # What is refused is not delivered later behind the sender's back.
        fleet.registry.message_at(last.id, "refused")
    return receipt


def _went(receipt: Receipt) -> bool:
    """Whether the program has it, and the next one may follow."""
    return receipt.status in ("delivered", "typed") or receipt.reason == HELD


def _deliver(fleet: Fleet, agent: Agent, message: Message) -> Receipt:
    seat, kind = fleet.seat(agent.host), agent_type(agent.type)
    state = _ready(fleet, agent)
    status, reason = _obstacle(state)
    if status:
        return Receipt(agent.id, agent.name, status, reason, message.id)  # type: ignore[arg-type]
    if reason := _too_long(seat, agent, kind, message.text):
        return Receipt(agent.id, agent.name, "refused", reason, message.id)
    if message.step == "stored":
        size = _size(seat, agent, kind)
        fleet.registry.message_at(message.id, "sending", size)
        message = Message(message.id, message.agent, message.text, "sending", size, message.at)
    _type(seat, agent, kind, message)
    receipt = _receipt(fleet, seat, agent, kind, message)
    if receipt.status == "delivered" and kind.notes:
        _begun(fleet, agent, state)
    return receipt


def _begun(fleet: Fleet, agent: Agent, before: State) -> None:
    """Whoever waits for it from now on must not find it waiting for what it was just told: its record can be ahead of its state."""
    deadline = time.monotonic() + BEGINS
    while before.kind == "waiting" and time.monotonic() < deadline:
        now = look(fleet, [agent]).agents[0].state
        if now is None or (now.kind, now.since) != (before.kind, before.since):
            return
        time.sleep(RECORD_LAGS)


def _ready(fleet: Fleet, agent: Agent) -> State:
    """Its state, once it is not `starting` any more."""
    view = look(fleet, [agent])
    state = view.agents[0].state
    assert state is not None
    if state.kind != "starting":
        return state
    deadline = time.monotonic() + fleet.config().create.ready_timeout
    with Watch(fleet.seat(agent.host), view.offsets[agent.host]) as watch:
        while state.kind == "starting" and (left := deadline - time.monotonic()) > 0:
            watch.next(min(left, LOOK_FOR_DIALOG))
            state = look(fleet, [agent]).agents[0].state or state
    return state


def _obstacle(state: State) -> tuple[str, str]:
    if state.kind == "stopped":
        return "queued", "it is stopped, and gets this when it is started"
    if state.kind == "starting":
        return "queued", "its program is not ready yet, and gets this with the next message or start"
    if state.kind == "blocked":
        return "refused", f"it is blocked: {state.reason}"
    if state.kind in ("done", "failed"):
        return "refused", f"its program has ended ({state.reason}); `--start` starts it again"
    if state.kind == "unknown":
        return "refused", state.reason
    return "", ""


def _too_long(seat: Seat, agent: Agent, kind: AgentType, text: str) -> str:
    """Whether the terminal would cut a line; only programs without a record of their own can be in that mode unnoticed."""
    if kind.conversation or all(len(line.encode()) < LONGEST_LINE for line in text.split("\n")):
        return ""
    from muster.core import proc

    tty = seat.server.run("display-message", "-p", "-t", tmux.pane(agent.id), "#{pane_tty}").text
    script = 'stty -a <"$1" | tr ";" " " | tr " " "\\n" | grep -qx icanon'
    if proc.run(seat.host, ["sh", "-c", script, "sh", tty], check=False).code:
        return ""
    return f"its terminal takes lines of at most {LONGEST_LINE} bytes, and would drop the rest of a longer one"


def _type(seat: Seat, agent: Agent, kind: AgentType, message: Message) -> None:
    """Paste and Enter, each at most once: tmux notes what it did in the same breath as it does it."""
    target, session = tmux.pane(agent.id), tmux.session(agent.id)
    marks = "#{@muster_pasted} #{@muster_entered}"
    pasted, _, entered = seat.server.run("display-message", "-p", "-t", target, marks).text.partition(" ")
    paste = [
        *([["send-keys", "-t", target, *kind.clear_keys]] if kind.clear_keys else []),
        ["load-buffer", "-b", f"muster-{message.id}", "-"],
        ["paste-buffer", "-p", "-r", "-d", "-b", f"muster-{message.id}", "-t", target],
        ["set-option", "-t", session, "@muster_pasted", message.id],
    ]
    enter = [["send-keys", "-t", target, "Enter"], ["set-option", "-t", session, "@muster_entered", message.id]]
    text = kind.typed(message.text).encode()
    if pasted != message.id and kind.composed(message.text) and _composed(seat, agent, kind, message.text):
        pasted = message.id
        seat.server.run("set-option", "-t", session, "@muster_pasted", message.id)
    if pasted != message.id and text and not kind.enter_after:
        seat.server.run(*tmux.chain([*paste, *enter]), stdin=text)
        return
    if pasted != message.id and text:
        seat.server.run(*tmux.chain(paste), stdin=text)
        time.sleep(kind.enter_after)  # the program's own need, measured for its type
    if entered != message.id:
        seat.server.run(*tmux.chain(enter))


def _composed(seat: Seat, agent: Agent, kind: AgentType, text: str) -> bool:
    """Have it filled in by the editor that its program opens; whether it went that way. Done again, it is filled in anew."""
    path, target = f"{seat.folder(agent.id)}/composed", tmux.pane(agent.id)
    hosts.write(seat.host, {path: kind.typed(text).encode()})
    seat.server.run("send-keys", "-t", target, *kind.clear_keys, *kind.compose_keys)
    deadline = time.monotonic() + COMPOSES
    while hosts.read(seat.host, path, limit=1) is not None:
        if time.monotonic() > deadline:
            # Its user has other keys for that, or it shows something else.
            hosts.write(seat.host, {}, gone=[path])
            return False
        time.sleep(RECORD_LAGS)
    while not kind.unsent(text, _shown(seat, agent)) and time.monotonic() < deadline:
        time.sleep(RECORD_LAGS)
    return True


def _receipt(fleet: Fleet, seat: Seat, agent: Agent, kind: AgentType, message: Message) -> Receipt:
    registry = fleet.registry
    if not kind.conversation:
        registry.message_at(message.id, "typed")
        return Receipt(agent.id, agent.name, "typed", "", message.id)
    begin, heard, press_at = time.monotonic(), False, ENTER_AGAIN
    offset = look(fleet, [agent]).offsets[agent.host]
    with Watch(seat, offset) as watch:
        while True:
            if (found := _arrived(seat, agent, kind, message)) is not None:
                registry.message_at(message.id, "delivered")
                return Receipt(agent.id, agent.name, "delivered", kind.lost(message.text, found), message.id)
            passed = time.monotonic() - begin
            if kind.queues and passed > LOOK_FOR_HELD and _held(seat, agent, kind, message):
                registry.message_at(message.id, "queued")
                return Receipt(agent.id, agent.name, "queued", HELD, message.id)
            if passed > GIVE_UP and (passed > GIVE_UP_TAKEN or kind.unsent(message.text, _shown(seat, agent))):
                reason = f"it was typed, but `{agent.name}` has no record of it after {passed:.0f} s; `muster capture` shows its screen"
                registry.message_at(message.id, "failed")
                return Receipt(agent.id, agent.name, "failed", reason, message.id)
            if passed > press_at:
                press_at = passed + ENTER_AGAIN if _pressed_again(fleet, seat, agent, kind, message) else GIVE_UP_TAKEN
            # A program tells of a message a moment before its record has it.
            pause = LOOK_FOR_HELD if kind.queues else ENTER_AGAIN
            heard = bool(watch.next(RECORD_LAGS if heard else min(pause, abs(GIVE_UP - passed) + 0.01))) or heard


def _pressed_again(fleet: Fleet, seat: Seat, agent: Agent, kind: AgentType, message: Message) -> bool:
    """Whether it is to be asked again; Enter is pressed where the text still stands, as it would answer a dialog elsewhere."""
    if not kind.unsent(message.text, _shown(seat, agent)):
        return True
    state = look(fleet, [agent]).agents[0].state
    if state and state.kind != "blocked":
        seat.server.run("send-keys", "-t", tmux.pane(agent.id), "Enter")
    return False


def _size(seat: Seat, agent: Agent, kind: AgentType) -> int:
    """Where its record ends: in bytes, or in what it was told where that is one document."""
    if not kind.conversation:
        return 0
    record = hosts.read(seat.host, f"{seat.folder(agent.id)}/{kind.receipts or kind.conversation}") or b""
    return len(list(kind.heard(record))) if kind.whole else len(record)


def _arrived(seat: Seat, agent: Agent, kind: AgentType, message: Message) -> str | None:
    """The text by which its record has it."""
    path = f"{seat.folder(agent.id)}/{kind.receipts or kind.conversation}"
    record = hosts.read(seat.host, path, skip=0 if kind.whole else message.mark) or b""
    heard = list(kind.heard(record))[message.mark if kind.whole else 0 :]
    return next((text for text in heard if kind.same(message.text, text)), None)


def _held(seat: Seat, agent: Agent, kind: AgentType, message: Message) -> bool:
    return kind.holds(message.text, _shown(seat, agent))


def _shown(seat: Seat, agent: Agent) -> str:
    shown = seat.server.run("capture-pane", "-p", "-t", tmux.pane(agent.id), check=False)
    return shown.out.decode(errors="replace")
