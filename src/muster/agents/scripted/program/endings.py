"""What cuts a step off, or ends the program."""

from __future__ import annotations

import os
import signal
from typing import NoReturn


class Failed(Exception):
    """A step could not be done."""


class Interrupted(Exception):
    """The person pressed Ctrl-C."""


class Stopped(Exception):
    """The person said no, and the rest of the script hangs on a yes."""


class Leave(Exception):
    """The program ends."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class Signalled(BaseException):
    """A signal asks us to end."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def die(number: int) -> NoReturn:
    """End by that signal, so that whoever waits for us sees it."""
    if number != signal.SIGKILL:
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    os._exit(128 + number)
