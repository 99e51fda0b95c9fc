"""A question that wants a yes or a no."""

from __future__ import annotations


class Dialog:
    """Takes its answer from keys; of what is pasted, only a bare `y` or `n` is one."""

    def __init__(self, default: str = "") -> None:
        self.default = default
        self.answer = ""
        self._ignored_paste = False

    def hear(self, kind: str, text: str) -> None:
        """Take what was pressed, typed or pasted; the first answer stands."""
        said = text.strip().lower()
        if kind == "key":
            if text in "\r\n" and not self._ignored_paste:
                self.answer = self.answer or self.default
            self._ignored_paste = False  # a paste and its Enter are one message, and neither is for us
        elif kind == "text":
            self.answer = self.answer or next((letter for letter in said if letter in "yn"), "")
        elif said in ("y", "n"):
            self.answer = self.answer or said
        else:
            self._ignored_paste = True
