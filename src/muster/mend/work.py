"""Map and gather: one agent per task, so many at once; what each leaves is brought home, then it is stopped."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import msgspec

from muster.agents import Agent, State
from muster.core import fan, paths
from muster.core.interrupt import Interrupts
from muster.errors import HostError, MusterError, NotFound
from muster.fleet import Fleet, wishes
from muster.mend import Gathered, Request, Task, brief, outcome
from muster.mend.bench import Bench
from muster.mend.folder import Folder

CREATE_AT_ONCE = 8
# An agent that was asked for its outcome and shows no turn of its own after this long has nothing to say.
ASKED_IN_VAIN = 60.0
# These come from outside of a program (an operator, the kernel's memory killer, a machine that goes down).
_FROM_OUTSIDE = (1, 9, 15)


class Seat:
    """A task's agent while it works."""

    def __init__(self, task: Task, agent: Agent) -> None:
        self.task, self.agent = task, agent
        self.begun = time.time()
        self.asked: tuple[float, float] | None = None  # when, and since when it had waited then
        self.worked = False  # since it was asked
        self.retried = False


class Work:
    """The agents of one run, from the first that is made to the last that is gathered."""

    def __init__(
        self,
        fleet: Fleet,
        folder: Folder,
        request: Request,
        bench: Bench,
        interrupts: Interrupts,
    ) -> None:
        self.fleet, self.folder, self.request, self.bench = fleet, folder, request, bench
        self.interrupts = interrupts
        self.seats: dict[str, Seat] = {}

    def run(self, tasks: Sequence[Task]) -> Iterator[Gathered]:
        """What each task came to, as it does; what was gathered before is not done again.

        After a ^C nothing more is begun: what is done is gathered, all else is stopped, and can be gone on with.
        """
        todo = []
        for task in tasks:
            if done := self.folder.read(f"tasks/{task.slug}/gathered.json", Gathered):
                yield done
            else:
                todo.append(task)
        while (todo or self.seats) and not self.interrupts.came:
            room = max(0, self.request.jobs - len(self.seats))
            yield from self._begin(todo[:room])
            del todo[:room]
            yield from self._next()
        if self.interrupts.came:
            self.folder.note("interrupted", waiting=len(todo), working=len(self.seats))
            yield from self._wind_up()

    # -- beginning -----------------------------------------------------------------------------------------------------

    def _begin(self, tasks: Sequence[Task]) -> Iterator[Gathered]:
        for task, made in fan.out(self._made, tasks, CREATE_AT_ONCE):
            if isinstance(made, MusterError):
                yield self._kept(task, _never(task, made))
            elif isinstance(made, Exception):
                raise made
            else:
                self.seats[made.id] = Seat(task, made)
                self.folder.note("begun", task=task.slug, agent=made.name)

    def _made(self, task: Task) -> Agent:
        try:
            return self._agent(task)
        except HostError:
            self.folder.note("again", task=task.slug, reason="its host failed")
            return self._agent(task)

    def _agent(self, task: Task) -> Agent:
        request = self.request
        agent = self.fleet.create(
            f"{request.run}-{task.slug}{request.address or '@local'}",
            task.type,
            args=request.agent_args,
            message=self.bench.brief(task),
            source=request.top,
            branch=f"{task.base}:muster/{request.run}/{task.slug}",
            dirty="ignore",
            env=self.bench.variables(task),
            labels={"run": request.run, "task": task.slug},
            permissions=wishes.mode(self.fleet.config(request.top), task.type, request.permissions),
            unsafe_here=request.unsafe_here,
            reuse=True,
            prepare=lambda agent: self.bench.prepare(task, agent),
        )
        # One that is left from an earlier try, which stopped it or was stopped with it.
        if agent.intent == "stopped" and self.fleet.outcome(agent) is None:
            [agent] = self.fleet.start([agent])
        return agent

    # -- waiting -------------------------------------------------------------------------------------------------------

    def _next(self) -> Iterator[Gathered]:
        """What is settled, as soon as anything is; nothing if the time of one is up first."""
        if not self.seats:
            return
        for agents in self._looks():
            settled = [agent for agent in agents if self._settled(agent)]
            for agent in settled:
                yield self._gather(agent)
            if settled:
                return
        if self.interrupts.came:
            return
        for agent in self._now():
            if self._settled(agent) or self._overdue(self.seats[agent.id]):
                yield self._gather(agent)

    def _now(self) -> list[Agent]:
        return self.fleet.agents([seat.agent for seat in self.seats.values()])

    def _looks(self) -> Iterator[list[Agent]]:
        """All of them, whenever something happened to one, until the time of one is up; a ^C ends it."""
        looks = self.fleet.watch([seat.agent for seat in self.seats.values()], timeout=self._patience())
        try:
            while True:
                with self.interrupts.open():
                    agents = next(looks, None)
                if agents is None:
                    return
                yield agents
        except KeyboardInterrupt:
            if self.interrupts.came != 1:
                raise

    def _patience(self) -> float:
        """Until the first of them is to be looked at although nothing happened."""
        now = time.time()
        ends = [seat.begun + self.request.timeout for seat in self.seats.values()]
        ends += [seat.asked[0] + ASKED_IN_VAIN for seat in self.seats.values() if seat.asked]
        return max(0.0, min(ends) - now)

    def _overdue(self, seat: Seat) -> bool:
        now = time.time()
        return now >= seat.begun + self.request.timeout or bool(seat.asked and now >= seat.asked[0] + ASKED_IN_VAIN)

    def _settled(self, agent: Agent) -> bool:
        """Whether nothing more can be expected of it; one that has something left to do is told so here."""
        seat, state = self.seats[agent.id], agent.state
        assert state is not None
        if state.kind in ("starting", "working"):
            seat.worked = True
            return False
        if self.fleet.outcome(agent) is not None:
            return state.kind != "unknown" or bool(state.sources)
        if state.kind == "waiting":
            return self._answered(seat, state) if seat.asked else not self._ask(seat, state)
        if state.kind in ("failed", "unknown", "stopped"):
            return not self._again(seat, state)
        return True

    def _ask(self, seat: Seat, state: State) -> bool:
        """An agent that ends its turn without an outcome is asked once."""
        seat.asked, seat.worked = (time.time(), state.since), False
        self.folder.note("asked", task=seat.task.slug, agent=seat.agent.name)
        [receipt] = self.fleet.message([seat.agent], brief.ask())
        return receipt.status in ("delivered", "typed")

    @staticmethod
    def _answered(seat: Seat, state: State) -> bool:
        assert seat.asked is not None
        return seat.worked or state.since != seat.asked[1] or time.time() >= seat.asked[0] + ASKED_IN_VAIN

    def _again(self, seat: Seat, state: State) -> bool:
        """An agent that something outside of it ended is started again, once."""
        outside = state.kind == "unknown" or (state.kind == "failed" and state.signal in _FROM_OUTSIDE)
        if not outside or seat.retried:
            return False
        if state.kind == "unknown" and not state.sources:
            return True  # its host can't be reached now, and may come back
        seat.retried = True
        self.folder.note("again", task=seat.task.slug, agent=seat.agent.name, reason=state.reason)
        try:
            self.fleet.start([seat.agent])
        except MusterError:
            return False
        return True

    # -- gathering -----------------------------------------------------------------------------------------------------

    def _gather(self, agent: Agent) -> Gathered:
        """Bring home what it did, then stop it; the result is written last, so half a gathering is done again."""
        seat, fleet, state = self.seats.pop(agent.id), self.fleet, agent.state
        assert state is not None
        reason = state.reason
        if state.kind in ("working", "starting"):
            reason = f"it was still {state.kind} after {self.request.timeout:g} s"
            fleet.stop([agent])  # what it would still change is not taken half-done
        found, said = outcome.read(fleet.outcome(agent))
        commit, left = self._commit(agent, seat.task)
        self._papers(agent, seat.task)
        if state.kind not in ("working", "starting", "unknown"):
            fleet.stop([agent])
        return self._kept(
            seat.task,
            Gathered(
                task=seat.task.slug,
                agent=agent.id,
                name=agent.name,
                type=seat.task.type,
                state=state.kind,
                reason=reason,
                commit=commit,
                outcome=found,
                said=said,
                left=left,
                seconds=round(time.time() - agent.created, 1),
                asked=seat.asked is not None,
                retried=seat.retried,
            ),
        )

    def _commit(self, agent: Agent, task: Task) -> tuple[str, tuple[str, ...]]:
        try:
            moved = self.fleet.fetch(agent, f"refs/muster/runs/{self.request.run}/{task.slug}")
        except (NotFound, HostError):
            return "", ()
        return moved.commit, moved.left

    def _papers(self, agent: Agent, task: Task) -> None:
        """Its conversation, its screen and what it left to be looked at, beside the result; none of it is a reason to fail."""
        folder = self.folder.file("tasks", task.slug)
        paths.folder(folder)
        try:
            paths.write(f"{folder}/transcript.json", msgspec.json.encode(self.fleet.transcript(agent)))
            paths.write(f"{folder}/terminal.txt", self.fleet.logs(agent).encode(errors="replace"))
            self.fleet.artifacts(agent, f"{folder}/artifacts")
        except MusterError as error:
            self.folder.note("missing", task=task.slug, reason=str(error))

    def _kept(self, task: Task, gathered: Gathered) -> Gathered:
        self.folder.write(f"tasks/{task.slug}/gathered.json", gathered)
        self.folder.note("gathered", task=task.slug, agent=gathered.name, state=gathered.state)
        return gathered

    def _wind_up(self) -> Iterator[Gathered]:
        """Gather what is done; stop the others, so that a later resume finds them as they are."""
        if not self.seats:
            return
        for agent in self._now():
            if self.fleet.outcome(agent) is not None and agent.state and agent.state.kind != "working":
                yield self._gather(agent)
        if self.seats:
            self.fleet.stop([seat.agent for seat in self.seats.values()])
            self.seats.clear()


def _never(task: Task, error: MusterError) -> Gathered:
    reason = f"{error}; {error.hint}" if error.hint else str(error)
    return Gathered(
        task=task.slug, agent="", name="", type=task.type, state="unknown", reason=reason, said="it was never made"
    )
