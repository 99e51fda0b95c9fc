"""What the mechanic says: calm lines on its screen, and the same as a conversation that is kept."""

from __future__ import annotations

import json
import os
import sys
import time


class Talk:
    """Prints, and keeps a line of JSON for each thing said."""

    def __init__(self, folder: str) -> None:
        self._path = os.path.join(folder, "conversation.jsonl") if folder else ""
        self._begun = time.monotonic()

    def heard(self, text: str) -> None:
        self._keep("user", text)

    def say(self, text: str) -> None:
        sys.stdout.write(f"{time.monotonic() - self._begun:6.1f} s  {text}\n")
        sys.stdout.flush()
        self._keep("assistant", text)

    def found(self, tool: str, text: str) -> None:
        """What a tool answered: kept, not shown."""
        self._keep("result", text, tool)

    def _keep(self, role: str, text: str, tool: str = "") -> None:
        if self._path:
            line = {"role": role, "text": text, "at": time.time(), **({"tool": tool} if tool else {})}
            with open(self._path, "a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
