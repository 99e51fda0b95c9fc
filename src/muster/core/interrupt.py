"""^C, taken when it suits: the first one waits for a good moment, the second one doesn't."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType


class Interrupts:
    """While this is entered the first ^C is noted, and raised only where we wait with `open`; the second is raised at once."""

    def __init__(self) -> None:
        self.came = 0
        self._open = False

    def _heard(self, _number: int, _frame: FrameType | None) -> None:
        self.came += 1
        if self._open or self.came > 1:
            raise KeyboardInterrupt

    @contextmanager
    def open(self) -> Iterator[None]:
        """A good moment."""
        if self.came:
            raise KeyboardInterrupt
        self._open = True
        try:
            yield
        finally:
            self._open = False

    def __enter__(self) -> Interrupts:
        try:
            self._before = signal.signal(signal.SIGINT, self._heard)
        except ValueError:
            self._before = None  # only the main thread is ever interrupted
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
