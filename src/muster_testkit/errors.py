"""The kit's own failure: what a person gave that can't be worked with."""

from __future__ import annotations


class KitError(Exception):
    """What is wrong, in one sentence without a full stop, and what to do about it."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint
