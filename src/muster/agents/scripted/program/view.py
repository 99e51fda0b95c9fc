"""What a screen shows besides the conversation."""

from __future__ import annotations

from .composer import Composer


class View:
    """What a screen shows besides the conversation."""

    def __init__(self, agent: str) -> None:
        self.agent = agent
        self.kind = "starting"
        self.reason = ""
        self.doing = ""
        self.progress = ""
        self.queued = 0
        self.asking = ""
        self.composer = Composer()
