"""`mini`: mini-swe-agent, which does one task and ends; nothing but its end tells what it does."""

from __future__ import annotations

from collections.abc import Iterator

from muster.agents import AgentType, Event, Launch, Order, logs, shipped


class Mini(AgentType):
    """The agent type `mini`."""

    name = "mini"
    about = "mini-swe-agent; does its one task, and `working` until it ends"
    program = "mini"
    memory = 240_000_000
    permissions = ("ask", "all")
    pass_env = ("MSWEA_*", "OPENAI_*", "ANTHROPIC_*", "GEMINI_API_KEY", "LITELLM_*")
    conversation = "trajectory.json"
    whole = True

    def launch(self, order: Order) -> Launch:
        told = shipped.is_argument(order.message)
        words = ["--output", f"{order.folder}/trajectory.json", "--exit-immediately"]
        words += ["--yolo"] if order.permissions == "all" else []
        words += ["--task", order.message] if told and order.message else []
        env = {"MSWEA_CONFIGURED": "true", "MSWEA_SILENT_STARTUP": "1"}
        return Launch(("mini", *words, *order.args), env, message_taken=told)

    def events(self, log: bytes) -> Iterator[Event]:
        return logs.events("mini", log)
