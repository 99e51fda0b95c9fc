"""What is being written."""

from __future__ import annotations


class Composer:
    """What is being written: each typed character and each paste is one piece."""

    def __init__(self) -> None:
        self._pieces: list[tuple[str, str]] = []  # what is sent, and what is shown for it
        self._pasted = False

    def type(self, text: str) -> None:
        self._pieces += [(character, character) for character in text]

    def paste(self, text: str) -> None:
        lines = text.count("\n") + 1
        big = lines > 3 or len(text) > 200
        label = f"[pasted {lines:,} lines, {len(text):,} characters]" if big else text.replace("\n", "⏎")
        self._pieces.append((text, label))
        self._pasted = True

    def back(self) -> None:
        del self._pieces[-1:]

    def clear(self) -> None:
        self._pieces, self._pasted = [], False

    def send(self) -> str | None:
        """The message, if there is one."""
        text, pasted = "".join(text for text, _ in self._pieces), self._pasted
        self.clear()
        return text if text.strip() or (pasted and text) else None

    @property
    def empty(self) -> bool:
        return not self._pieces

    @property
    def shown(self) -> str:
        return "".join(label for _, label in self._pieces[-400:])
