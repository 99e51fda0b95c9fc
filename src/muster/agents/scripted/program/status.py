"""What we say we are doing."""

from __future__ import annotations

import json
import os
import time

from . import aside, processes
from .view import View


class Status:
    """What we say we are doing: in the status file first, then through the hook."""

    def __init__(self, folder: str, view: View) -> None:
        self._path = os.path.join(folder, "status.json") if folder else ""
        self._hook = os.environ.get("MUSTER_NOTE", "")
        self._view = view

    def report(self, kind: str, reason: str = "") -> None:
        self.write(kind, reason)
        self.note()

    def write(self, kind: str, reason: str = "") -> None:
        self._view.kind, self._view.reason = kind, reason
        if self._path:
            now = {"pid": os.getpid(), "status": kind, "reason": reason, "since": time.time()}
            aside.write(self._path, json.dumps({**now, "conversation": "conversation.jsonl"}) + "\n")

    def note(self) -> None:
        """Tell muster; it reads the rest itself."""
        if not self._hook:
            return
        try:
            processes.quietly([self._hook, self._view.kind, *([self._view.reason] if self._view.reason else [])])
        except OSError:
            self._hook = ""  # its folder is being removed; the status file, if any, still speaks

    def remove(self) -> None:
        try:
            if self._path:
                os.unlink(self._path)
        except FileNotFoundError:
            pass  # its folder was removed before us
