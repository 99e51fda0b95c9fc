"""Changes that git can't bring together: an agent is asked to, and its word is checked like any other's."""

from __future__ import annotations

from hashlib import sha256

from muster.core import git
from muster.core.interrupt import Interrupts
from muster.fleet import Fleet
from muster.mend import Gathered, Request, Task, Verified
from muster.mend.bench import Bench
from muster.mend.fixes import HELD
from muster.mend.folder import Folder
from muster.mend.integrate import Conflict
from muster.mend.project import HERE
from muster.mend.verify import Court
from muster.mend.work import Work


class Integrators:
    """Answers conflicts, one agent each; what they did is kept with the other tasks."""

    def __init__(self, fleet: Fleet, folder: Folder, request: Request, bench: Bench, court: Court) -> None:
        self.fleet, self.folder, self.request, self.bench, self.court = fleet, folder, request, bench, court
        self.tasks: list[Task] = []
        self.gathered: dict[str, Gathered] = {}
        self.verified: dict[str, Verified] = {}

    def __call__(self, conflict: Conflict) -> str | None:
        """A commit that brings them together, if one was made and holds."""
        task = self._task(conflict)
        self.bench.evidence[task.slug] = conflict.evidence
        # Nothing but this holds the commit that the agent starts at.
        git.run(
            HERE, self.request.top, "update-ref", f"refs/muster/runs/{self.request.run}/{task.slug}-base", task.base
        )
        self.tasks.append(task)
        self.folder.note("conflict", task=task.slug, agent=f"{self.request.run}-{task.slug}")
        work = Work(self.fleet, self.folder, self.request, self.bench, Interrupts())
        for gathered in work.run([task]):
            self.gathered[task.slug] = gathered
            found = self.folder.step(f"tasks/{task.slug}/verified", Verified, lambda: self.court.judge(task, gathered))  # noqa: B023
            self.verified[task.slug] = found
            self.folder.note("verified", task=task.slug, verdict=found.verdict, reason=found.reason)
            return found.commit if found.verdict in HELD else None
        return None

    def _task(self, conflict: Conflict) -> Task:
        tests = sorted({test for fix in (*conflict.fixes, *conflict.against) for test in fix.tests})
        key = "\n".join([conflict.tip, *sorted(fix.commit for fix in conflict.fixes)])
        slug = f"conflict-{sha256(key.encode()).hexdigest()[:8]}"
        names = " and ".join(dict.fromkeys(fix.task for fix in (*conflict.against, *conflict.fixes)))
        return Task(slug, "conflict", tuple(tests), f"{names} can't both be had", self.request.integrator, conflict.tip)
