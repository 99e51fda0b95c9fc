"""Run coding agents side by side, and trust what comes back."""

from __future__ import annotations

# `typing` would be a third of `muster --version`; checkers know the name all the same.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from muster.agents import Agent as Agent
    from muster.agents import Event as Event
    from muster.agents import State as State
    from muster.errors import MusterError as MusterError
    from muster.fleet import Fleet as Fleet
    from muster.fleet import Task as Task

__version__ = "0.1.0"

_HOMES = {
    "Agent": "muster.agents",
    "Event": "muster.agents",
    "State": "muster.agents",
    "Fleet": "muster.fleet",
    "Task": "muster.fleet",
    "MusterError": "muster.errors",
}
__all__ = ["Agent", "Event", "Fleet", "MusterError", "State", "Task", "__version__"]


def __getattr__(name: str) -> object:
    # `muster --version` must not pay for the fleet, so the front door opens rooms when asked.
    if name not in _HOMES:
        raise AttributeError(f"module 'muster' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
