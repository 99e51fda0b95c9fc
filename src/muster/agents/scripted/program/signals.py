"""What the system tells us."""

from __future__ import annotations

import os
import signal

from .endings import Signalled

_ENDING = (signal.SIGTERM, signal.SIGHUP)


class Signals:
    """Signals that end us, that interrupt us, and those that only wake us."""

    def __init__(self) -> None:
        self.interrupted = False  # also by a key
        self._holding, self._held = False, 0  # while holding, a signal to end is only noted
        self.wake, wake = os.pipe()
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake)
        self.listen()
        for number in (signal.SIGWINCH, signal.SIGCHLD):
            signal.signal(number, lambda *_: None)  # the wake-up pipe tells
        signal.signal(signal.SIGINT, self._on_interrupt)

    def listen(self) -> None:
        """A signal to end ends us."""
        for number in _ENDING:
            signal.signal(number, self._on_end)

    def ignore(self) -> None:
        """No signal to end ends us, nor a child that is started now."""
        for number in _ENDING:
            signal.signal(number, signal.SIG_IGN)

    def hold(self) -> None:
        """A signal to end has to wait."""
        self._holding = True

    def release(self) -> None:
        """A signal to end need not wait any longer."""
        self._holding = False
        if self._held:
            raise Signalled(self._held)

    def resized(self) -> bool:
        """Whether the terminal's new size is among what woke us."""
        return signal.SIGWINCH in os.read(self.wake, 4096)

    def _on_end(self, number: int, _frame: object) -> None:
        self._held = number
        if not self._holding:
            raise Signalled(number)

    def _on_interrupt(self, *_: object) -> None:
        self.interrupted = True
