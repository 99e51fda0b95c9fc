"""What each verb does; those that work on files are in `edits`."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable
from typing import NoReturn

from . import edits, processes
from .dialog import Dialog
from .endings import Leave, Stopped, die
from .script import Step
from .session import Session


def say(session: Session, step: Step) -> None:
    session.say("assistant", step["say"])


def think(session: Session, step: Step) -> None:
    session.say("thinking", step["think"])


def ask(session: Session, step: Step) -> None:
    session.say("tool", step["ask"], "ask")
    dialog = session.dialog = Dialog(step.get("default", ""))
    session.view.asking = step["ask"]
    session.status.report("blocked", step["ask"])
    try:
        while not dialog.answer and not session.ended:
            session.pump()
    finally:
        session.view.asking = ""
    answer = dialog.answer or dialog.default or "n"
    session.say("result", "yes" if answer == "y" else "no", "ask")
    session.status.report("working")
    if answer == "n" and step.get("on_no", "stop") == "stop":
        raise Stopped


def wait(session: Session, step: Step) -> str:
    """The id of the message that it took."""
    pattern = re.compile("" if step["wait"] is True else step["wait"])
    wanted = session.wanted = lambda text: bool(pattern.search(text))
    queue = session.log.queue
    try:
        while not (found := [one for one in queue if wanted(one["text"])]):
            if session.ended:
                raise Leave(0)
            if session.view.kind != "waiting":
                session.status.report("waiting")
            session.pump()
    finally:
        session.wanted = None
    if session.view.kind != "working":
        session.status.report("working")
    queue.remove(found[0])
    session.view.queued = len(queue)
    session.log.message = found[0]["text"]
    return str(found[0]["id"])


def sleep(session: Session, step: Step) -> None:
    end = time.monotonic() + step["sleep"]
    while (left := end - time.monotonic()) > 0:
        session.pump(min(left, 86_400))


def gate(session: Session, step: Step) -> None:
    while not os.path.exists(step["gate"]):
        session.pump(0.02)


def hang(session: Session, step: Step) -> NoReturn:
    if step["hang"] == "deaf":
        _hang_deaf(session)
    while True:
        session.pump()


def _hang_deaf(session: Session) -> NoReturn:
    session.deaf = True
    session.signals.ignore()
    child = processes.sleeper()
    session.say("tool", f"deaf, with a deaf child {child}", "hang")
    try:
        while True:
            session.pump()
    finally:
        processes.kill(child)
        session.signals.listen()
        session.deaf = False


def flood(session: Session, step: Step) -> None:
    session.say("tool", f"{step['flood']:,} bytes", "flood")
    line = "".join(chr(33 + index) for index in range(79)) + "\n"
    left = step["flood"]
    while left:
        chunk = (line * 400)[:left]
        session.screen.text(chunk)
        left -= len(chunk)
        session.pump(0)


def state(session: Session, step: Step) -> None:
    session.status.report(step["state"]["kind"], step["state"].get("reason", ""))


def leave(_session: Session, step: Step) -> NoReturn:
    raise Leave(step["exit"])


def crash(session: Session, step: Step) -> NoReturn:
    import resource

    session.say("error", f"crashing by SIG{step['crash']}")
    session.screen.draw(session.view)
    session.terminal.close()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # no core file in somebody's workspace
    die(signal.Signals[f"SIG{step['crash']}"])


# A `repeat` is taken apart by the script. What a step returns is the id of the message that it took.
STEPS: dict[str, Callable[[Session, Step], str | None]] = {
    "say": say,
    "think": think,
    "edit": edits.edit,
    "delete": edits.delete,
    "run": edits.run,
    "commit": edits.commit,
    "ask": ask,
    "wait": wait,
    "outcome": edits.outcome,
    "artifact": edits.artifact,
    "sleep": sleep,
    "gate": gate,
    "hang": hang,
    "flood": flood,
    "state": state,
    "exit": leave,
    "crash": crash,
}
