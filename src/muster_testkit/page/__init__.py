"""The page of what a run of the tests has left: `write` makes a file of it, `Live` shows it while tests run."""

from __future__ import annotations

from muster_testkit.page.serve import Live
from muster_testkit.page.write import Written, asset, policy, write

__all__ = ["Live", "Written", "asset", "policy", "write"]
