"""The bench an agent works at: an environment that runs its workspace's code, and the brief that says how."""

from __future__ import annotations

from muster.agents import Agent
from muster.mend import Attempt, Case, Request, Task, brief, checkout, environment, overlay
from muster.mend.baseline import Baseline
from muster.mend.collect import Collection
from muster.mend.folder import Folder
from muster.mend.project import Project


class Bench:
    """Lays out what each task's agent finds."""

    def __init__(
        self, folder: Folder, request: Request, project: Project, collection: Collection, baseline: Baseline
    ) -> None:
        self.folder, self.request, self.project = folder, request, project
        self.collection = collection
        self.failures = {one.id: one.failure for one in baseline.stands if one.failure}
        self.cases: dict[str, Case] = {case.id: case for case in collection.cases}
        self.evidence: dict[str, str] = {}  # of tasks that bring changes together: what was seen of them

    @property
    def here(self) -> bool:
        """Whether agents work on this machine, where the project's interpreter is."""
        return not self.request.address

    def _prefix(self, task: Task) -> str:
        return self.folder.file("env", task.slug)

    def variables(self, task: Task) -> dict[str, str]:
        """What an agent's environment has of it; elsewhere a set-up command of the user's has to see to that."""
        if not self.here:
            return {}
        found = environment.variables(self.project, self._prefix(task))
        return {name: found[name] for name in ("PATH", "VIRTUAL_ENV", "PYTHONPATH") if name in found}

    def prepare(self, task: Task, agent: Agent) -> None:
        """Make that environment, for a workspace whose place is known only now."""
        if self.here:
            checkout.remove(self._prefix(task))
            overlay.lay(self.project, agent.workspace.path, self._prefix(task))

    def command(self, task: Task) -> list[str]:
        """What runs tests, from the top of the workspace."""
        layout = self.collection.layout
        python = f"{self._prefix(task)}/bin/python" if self.here else "python"
        words = [python, "-m", "pytest", *layout.args]
        if layout.rootdir in ("", "."):
            return words
        return ["sh", "-c", 'cd "$0" && exec "$@"', layout.rootdir, *words]

    def brief(self, task: Task) -> str:
        """What the agent is told."""
        command, own = self.command(task), self.request.prompt
        if task.why == "conflict":
            return brief.conflict(task.tests, self.evidence[task.slug], command, own)
        errors = [Attempt(one.id, "error", text=one.error) for one in self.collection.errors if one.id in task.tests]
        seen = [*errors, *(self.failures[test] for test in task.tests if test in self.failures)]
        return brief.brief(task, self.cases, seen, command, own)
