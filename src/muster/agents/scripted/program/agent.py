"""The agent at work: it follows its script, turn by turn."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NoReturn

from .endings import Failed, Interrupted, Leave, Signalled, Stopped, die
from .options import USAGE, Options
from .script import ANSWER, GREETING, Place, Script, filled, load, parse
from .session import Session
from .steps import STEPS, wait
from .verbs import BadScript


class Agent:
    """Follows one script in one session, until something ends it."""

    def __init__(self, script: Script, session: Session) -> None:
        self._script, self._session = script, session

    def follow(self) -> NoReturn:
        for place in self._script.places():
            if place.number > self._session.log.done:
                self._turn(place)
        raise AssertionError("places never end")

    def _turn(self, place: Place) -> None:
        session, number, took = self._session, place.number, ""
        self._announce(place)
        if place.verb in ("exit", "crash"):
            session.log.completed(number)  # so that a start after it goes on behind it
        try:
            took = self._do(place)
        except Interrupted:
            session.say("error", "interrupted")
            session.view.doing = ""
            if number < self._script.size:
                took = wait(session, {"wait": True})
            else:
                number = place.end  # the next turn is a wait anyway, for a message that gets its answer
        except Stopped:
            number = place.end
        except (Failed, OSError, ValueError) as error:
            self._fail(place, error)
        session.log.completed(number, took)

    def _announce(self, place: Place) -> None:
        view, number, size = self._session.view, place.number, self._script.size
        view.progress = f"step {number} of {size}" if number <= size else ""
        view.doing = "" if place.verb == "wait" else f"{place.verb}: {place.step[place.verb]}"

    def _do(self, place: Place) -> str:
        session = self._session
        session.pump(0)
        if session.view.kind == "starting" and place.verb not in ("wait", "ask", "state"):
            session.status.report("working")
        return STEPS[place.verb](session, filled(place.step, self._words(place))) or ""

    def _words(self, place: Place) -> dict[str, str]:
        log = self._session.log
        message = log.message or (log.queue[0]["text"] if log.queue else "")
        line = message.strip().partition("\n")[0].rstrip()
        return {"message": message, "line": line, "agent": self._session.view.agent, "n": str(place.n)}

    def _fail(self, place: Place, error: Exception) -> NoReturn:
        message = f"{self._script.name}: step {place.where}: {place.verb}: {error}"
        self._session.say("error", message)
        raise Failed(message) from error


def main(argv: Sequence[str]) -> int:
    """The program."""
    try:
        options = Options(argv)
        if options.help:
            sys.stdout.write(USAGE)
            return 0
        greeting = Script("the greeting", GREETING, ANSWER)
        script = parse(load(options.script), options.script) if options.script else greeting
    except BadScript as error:
        return _bad(error)
    try:
        _live(script, options)
    except Leave as leave:
        return leave.code
    except (Failed, OSError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    except Signalled as signalled:
        die(signalled.number)


def _live(script: Script, options: Options) -> NoReturn:
    session = Session(options)
    session.open()
    try:
        session.take_up(options.message)
        Agent(script, session).follow()
    finally:
        session.close()


def _bad(error: BadScript) -> int:
    sys.stderr.write(f"error: {error}\n" + (f"hint: {error.hint}\n" if error.hint else ""))
    return 2
