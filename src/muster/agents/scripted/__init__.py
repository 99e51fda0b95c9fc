"""`scripted`: a program that follows a script, so that anyone can try a fleet offline."""

from __future__ import annotations

import os
from collections.abc import Iterator

import msgspec
from msgspec import Struct

from muster.agents import AgentType, Event, Evidence, Kind, Launch, Note, Order, Press, logs, shipped
from muster.agents.state import note
from muster.core import wire
from muster.errors import UsageError

# One argument may have 128 KiB on Linux, its name and end included.
_LONGEST_ARGUMENT = 100_000
_MESSAGE = "its first message goes before the `--`: `--message TEXT`"


class _Status(Struct):
    pid: int
    status: Kind
    since: float
    reason: str = ""


class Scripted(AgentType):
    """The agent type `scripted`."""

    name = "scripted"
    about = "follows a script of steps, or answers what it hears: for trying things out, offline"
    notes = True
    resumable = True
    status_files = ("status.json",)
    conversation = "conversation.jsonl"

    def launch(self, order: Order) -> Launch:
        """Its script goes into the agent's folder, so a later start needs it no more; far away so does the program."""
        from muster.agents.scripted import program

        start, files = shipped.program(os.path.dirname(program.__file__), order)
        try:
            options = program.Options(order.args)
            if options.message is not None or options.resume or options.help:
                given = " ".join(order.args)
                raise UsageError(f"a scripted agent takes `--script` and `--screen`, not `{given}`", hint=_MESSAGE)
            if options.script and not order.resume:
                files[_copy(options.script)] = _checked(options.script)
        except program.BadScript as error:
            raise UsageError(str(error), hint=error.hint) from error
        argv = [*start]
        if options.script:
            argv += ["--script", f"{order.folder}/{_copy(options.script)}"]
        argv += ["--screen", options.screen, *(["--resume"] if order.resume else [])]
        taken = order.message is not None and _is_argument(order.message)
        if taken and order.message:
            argv += ["--", order.message]
        return Launch(tuple(argv), files=files, message_taken=taken)

    def noted(self, evidence: Evidence) -> Note | None:
        """What its status file says if this very process wrote it, else what it last reported."""
        try:
            status = wire.decode(evidence.files.get("status.json", b""), _Status)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return note(evidence.note)
        if status.pid == evidence.pid:
            return Note(status.status, status.since, status.reason)
        return note(evidence.note)

    def events(self, log: bytes) -> Iterator[Event]:
        """Its conversation; lines that a crash cut, and those that only the program needs, are left out."""
        return logs.events("scripted", log)

    def answer(self, answer: str, screen: str) -> list[Press]:
        if answer not in ("yes", "no"):
            raise UsageError(f"a scripted agent's question can't be answered with `{answer}`", hint="`yes` or `no`")
        return [Press((answer[0],))]


def _copy(script: str) -> str:
    return "script.json" if script.endswith(".json") else "script.toml"


def _checked(path: str) -> bytes:
    from muster.agents.scripted import program

    data = program.load(path)
    program.parse(data, path)
    return data


def _is_argument(message: str) -> bool:
    return "\0" not in message and len(message.encode(errors="surrogateescape")) < _LONGEST_ARGUMENT
