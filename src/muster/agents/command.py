"""Any command as an agent: no hooks, no log, so it claims no more than its terminal shows."""

from __future__ import annotations

from muster.agents import AgentType, Launch, Order
from muster.errors import UsageError


class Command(AgentType):
    """An argv in a terminal."""

    name = "command"
    about = "any command line; `working` while it runs"

    def launch(self, order: Order) -> Launch:
        if not order.args:
            raise UsageError("which command?", hint="`muster create NAME -- COMMAND ARG...`")
        return Launch(order.args)
