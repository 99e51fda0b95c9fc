"""How much at once, and how long it may take: from what this machine has and what the baseline measured."""

from __future__ import annotations

import os
from collections.abc import Iterable

from muster.agents import AgentType
from muster.mend import Plan, Request
from muster.mend.baseline import Baseline

# For the tests that an agent runs, beside what its program takes.
TESTS_MEMORY = 200_000_000
# An agent that waits for a model leaves its core to others.
_PER_CORE = 4


def agents(kinds: Iterable[AgentType]) -> int:
    """So many agents of these types at once."""
    known = list(kinds)
    by_memory = free_memory() // (TESTS_MEMORY + max(kind.memory for kind in known))
    asks_models = all(kind.program for kind in known)
    return int(max(1, min(by_memory, (os.cpu_count() or 1) * (_PER_CORE if asks_models else 1), 64)))


def free_memory() -> int:
    """Bytes that can be had without swapping."""
    try:
        with open("/proc/meminfo") as file:
            rows = dict(line.split(":", 1) for line in file)
        return int(rows["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError):
        return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2)  # no /proc (macOS)


def forecast(request: Request, plan: Plan, seen: Baseline) -> str:
    """What is to be expected, in one sentence that claims no more than it knows."""
    tasks = len(plan.tasks)
    if not tasks:
        return "no agent is needed"
    jobs = min(request.jobs, tasks)
    longest = -(-tasks // jobs) * request.timeout
    suite = sum(one.seconds for one in seen.stands)
    agents = "1 agent" if jobs == 1 else f"{jobs} agents"
    return f"up to {agents} at once, {_long(longest)} at the most; the suite takes {_long(suite)}"


def _long(seconds: float) -> str:
    if seconds < 120:
        return "less than 0.1 s" if seconds < 0.1 else f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
