"""The agent's side of the terminal: what comes in, what is shown and what is kept."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Callable, Sequence

from .conversation import Log
from .dialog import Dialog
from .endings import Interrupted, Leave, Signalled
from .full import Full
from .keys import SCROLL, Keys
from .options import Options
from .plain import Plain
from .processes import Command
from .signals import Signals
from .status import Status
from .terminal import Terminal
from .view import View


class Session:
    """One life of the agent. Whatever waits for something, waits in `pump`."""

    def __init__(self, options: Options) -> None:
        folder = os.environ.get("MUSTER_DIR", "")
        self.view = View(os.environ.get("MUSTER_AGENT") or "agent")
        self.terminal = Terminal()
        full = options.screen == "full" and self.terminal.live
        self.screen: Plain | Full = Full(self.terminal) if full else Plain(self.terminal)
        self.status = Status(folder, self.view)
        self.signals = Signals()
        self.log = Log(folder, options.resume)
        self.dialog = Dialog()
        self.wanted: Callable[[str], bool] | None = None  # the message that a `wait` waits for
        self.ended = False  # nothing more comes in
        self.deaf = False
        self._keys = Keys()

    def open(self) -> None:
        self.status.report("starting")
        self.terminal.open(self.screen.begin, self.screen.end)

    def close(self) -> None:
        self.signals.hold()
        self.terminal.close()
        self.status.remove()

    def take_up(self, message: str | None) -> None:
        """Show what was said so far, and accept the first message if it is not among it."""
        for event in self.log.past:
            self.screen.event(event)
        self.view.queued = len(self.log.queue)
        if message and not any(one["role"] == "user" and one["text"] == message for one in self.log.past):
            self._accept(message)

    def say(self, role: str, text: str, tool: str = "") -> None:
        """Something is said or done: to the log, then to the screen."""
        self.screen.event(self.log.event(role, text, tool))

    def pump(self, timeout: float | None = None, also: Sequence[int] = ()) -> list[int]:
        """Wait for input, for that long at most, and take it; those of `also` that have something are returned."""
        self.screen.draw(self.view)
        wake, interrupted = self.signals.wake, self.signals.interrupted
        descriptors = [wake, *also] if self.ended else [wake, 0, *also]
        ready, _, _ = select.select([] if interrupted else descriptors, [], [], 0 if interrupted else timeout)
        if wake in ready and self.signals.resized():
            self.screen.resized()
        if 0 in ready:
            self._read()
        self.screen.draw(self.view)
        self._interrupt()
        return [one for one in ready if one in also]

    def command(self, argv: Sequence[str]) -> tuple[int, str]:
        """Run a command while input is still taken; its exit code and all it printed."""
        self.signals.hold()  # a signal must not come between the start and our knowing of it
        command = Command(argv)
        try:
            self.signals.release()
            while command.running:
                if self.pump(also=command.pipes):
                    command.read()
            command.read()  # what a child of its own still holds open is not waited for
        finally:
            command.end()
        return command.result

    def _interrupt(self) -> None:
        if not self.signals.interrupted:
            return
        self.signals.interrupted = False
        if self.wanted is None:
            raise Interrupted
        self.view.composer.clear()

    def _read(self) -> None:
        try:
            data = os.read(0, 65_536)
        except OSError:
            data = b""  # the terminal is gone
        for kind, text in self._keys.feed(data):
            self._take(kind, text)
        if not data:
            self.ended = True
            self._send()
            if self.terminal.tty and not self.deaf:
                raise Signalled(signal.SIGHUP)

    def _take(self, kind: str, text: str) -> None:
        if (kind, text) == ("key", "\x03"):
            self.signals.interrupted = True
        if self.view.asking:
            self.dialog.hear(kind, text)
        elif kind == "paste":
            self.view.composer.paste(text)
        elif kind == "text":
            self.view.composer.type(text)
        else:
            self._key(text)

    def _key(self, key: str) -> None:
        if key in "\r\n":
            self._send()
        elif key in "\x7f\b":
            self.view.composer.back()
        elif key == "\x04" and self.view.composer.empty:
            raise Leave(0)
        elif key == "\x15":
            self.view.composer.clear()
        elif key == "\x0c":
            self.screen.resized()
        elif key in SCROLL:
            self.screen.scroll(SCROLL[key])

    def _send(self) -> None:
        if text := self.view.composer.send():
            self._accept(text)

    def _accept(self, text: str) -> None:
        # The state goes first: who finds the message in the log must not find us waiting for it.
        if self.wanted and self.wanted(text):
            self.status.write("working")
        event = self.log.event("user", text)
        self.log.queue.append(event)
        self.view.queued = len(self.log.queue)
        self.screen.event(event)
        self.status.note()
