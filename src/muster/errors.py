"""Every failure a user can meet, on one page.

    MusterError                 1
    ├── UsageError              2   the command line or the configuration is wrong
    ├── NotFound                3   no such agent, host, run or snapshot
    ├── HostError               4
    │   ├── Unreachable             we could not get there
    │   │   ├── Asleep              it is stopped, and can be started
    │   │   ├── Silent              nobody answers there, as when it boots
    │   │   └── Lost                we got there, and the link broke: what was done is not known
    │   └── CommandFailed           we got there and it said no
    ├── Refused                 5   doing this would lose work, or is not allowed
    │   └── Exists                  the name is taken
    ├── NotDelivered            6   the message's arrival could not be shown
    ├── NotReached              7   the state waited for can't come any more
    └── TimedOut              124   the deadline came first (as `timeout(1)` says it)

An interrupted command exits with 130, `exec` with its command's own code, or with 125 when the host was lost.
"""

from __future__ import annotations


class MusterError(Exception):
    """What happened, in one sentence without a full stop, and what to do about it."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class UsageError(MusterError):
    """The command line or the configuration is wrong."""

    exit_code = 2


class NotFound(MusterError):
    """There is no such agent, host, run or snapshot."""

    exit_code = 3


class HostError(MusterError):
    """Something went wrong on a host, or on the way to it."""

    exit_code = 4


class Unreachable(HostError):
    """We could not get there."""


class Asleep(Unreachable):
    """The host is stopped, and can be started."""


class Silent(Unreachable):
    """Nobody answers there, as when it boots."""


class Lost(Unreachable):
    """We got there, and the link broke: what was done is not known."""


class CommandFailed(HostError):
    """We got there, and it said no."""


class Refused(MusterError):
    """Doing this would lose work, or is not allowed."""

    exit_code = 5


class Exists(Refused):
    """The name is taken."""


class NotDelivered(MusterError):
    """The message's arrival could not be shown."""

    exit_code = 6


class NotReached(MusterError):
    """The state waited for can't come any more."""

    exit_code = 7


class TimedOut(MusterError):
    """The deadline came first."""

    exit_code = 124
