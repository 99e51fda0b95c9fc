"""`mechanic`: an agent without a model, which repairs small faults by search and tests."""

from __future__ import annotations

import os
from collections.abc import Iterator

from muster.agents import AgentType, Event, Launch, Order, logs, shipped
from muster.errors import UsageError

_FOLDER = os.path.join(os.path.dirname(__file__), "program")
_HINT = "it takes `--limit SECONDS` and `--jobs N`; its task is its first message: `--message TEXT`"


class Mechanic(AgentType):
    """The agent type `mechanic`."""

    name = "mechanic"
    about = "repairs small faults by search and tests: no model, no key, no network"
    conversation = "conversation.jsonl"
    repairs = True

    def launch(self, order: Order) -> Launch:
        """The task goes into the agent's folder, so that its size and what is in it are nobody's concern."""
        from muster.agents.mechanic.program.options import BadOption, Options

        try:
            options = Options.parse(order.args)
        except BadOption as error:
            raise UsageError(str(error), hint=_HINT) from error
        if options.message is not None or options.task or options.help:
            raise UsageError(f"a mechanic takes no `{' '.join(order.args)}`", hint=_HINT)
        begin, files = shipped.program(_FOLDER, order)
        task = f"{order.folder}/task.md"
        if order.message is not None:
            files["task.md"] = order.message.encode(errors="surrogateescape")
        return Launch((*begin, *order.args, "--task", task), files=files, message_taken=order.message is not None)

    def events(self, log: bytes) -> Iterator[Event]:
        """Its conversation; lines that a crash cut are left out."""
        return logs.events("mechanic", log)
