"""A pytest plugin for testing command-line programs: transcripts, recordings, and a tutorial that stays true."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from muster_testkit.errors import KitError
    from muster_testkit.expectations import expect, expect_eventually
    from muster_testkit.result import Result
    from muster_testkit.session import E2eSession
    from muster_testkit.terminal import Terminal

__version__ = "0.1.0"
__all__ = ["E2eSession", "KitError", "Result", "Terminal", "expect", "expect_eventually"]

_HOMES = {
    "E2eSession": "session",
    "KitError": "errors",
    "Result": "result",
    "Terminal": "terminal",
    "expect": "expectations",
    "expect_eventually": "expectations",
}


def __getattr__(name: str) -> Any:
    # pytest loads the plugin, and with it this package, in every run; what tests need is imported when they ask.
    if name not in _HOMES:
        raise AttributeError(f"module `muster_testkit` has no `{name}`")
    from importlib import import_module

    return getattr(import_module(f"muster_testkit.{_HOMES[name]}"), name)
