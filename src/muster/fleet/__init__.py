"""How many at once: all agents of this user, and the primitives on them."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from muster.agents import SETTLED, Agent, Event, Kind
from muster.agents.session import Seat
from muster.core import paths
from muster.errors import Asleep
from muster.fleet.records import Dirty, Exit, Interrupted, Kept, Receipt, Receipted, Task, Transfer
from muster.fleet.registry import Registry

if TYPE_CHECKING:
    from muster.agents.watch import Happening
    from muster.core.config import Config
    from muster.fleet.connect import Door
    from muster.fleet.doom import Doom
    from muster.fleet.look import View
    from muster.fleet.why import Why
    from muster.hosts import Host
    from muster.traces import Spent, Taken
    from muster.traces.store import Traces

T = TypeVar("T")

__all__ = ["Dirty", "Exit", "Fleet", "Interrupted", "Kept", "Receipt", "Receipted", "Task", "Transfer"]


class Fleet:
    """All agents of this user, and everything that can be done with them.

    >>> fleet = Fleet.open()
    >>> agent = fleet.create("fix", "command", args=["sh", "-c", "make test"])
    >>> [agent] = fleet.wait([agent], for_states=["done", "failed"])
    >>> fleet.destroy([agent.name])

    Agents are given by name, by id or as records; records are frozen, and a newer look is a newer record.
    """

    def __init__(self, home: str) -> None:
        self.home = home
        self.registry = Registry(home)
        self._seats: dict[str, Seat] = {}

    @classmethod
    def open(cls, home: str = "") -> Fleet:
        """The fleet of $MUSTER_HOME (`~/.muster`), or of the folder given."""
        return cls(os.path.realpath(home) if home else paths.home())

    # -- who there is --------------------------------------------------------------------------------------------------

    def known(self) -> list[Agent]:
        """Every agent as the registry knows it, without a look; `state` is what was seen last."""
        return self.registry.all()

    def agents(
        self,
        names: Iterable[Agent | str] | None = None,
        *,
        where: str | None = None,
        archived: bool = False,
        screens: bool = False,
    ) -> list[Agent]:
        """Agents as they are now; all that are not archived if none are named."""
        return self.view(names, where=where, archived=archived, screens=screens).agents

    def view(
        self,
        names: Iterable[Agent | str] | None = None,
        *,
        where: str | None = None,
        archived: bool = False,
        screens: bool = False,
        spent: bool = False,
        cached: bool = False,
    ) -> View:
        """The same, with what could not be looked at and why; with what they spent, as far as traces were read.

        `cached` asks no host: states are those that were seen last.
        """
        from muster.fleet.look import View, look

        if names is None:
            chosen = [agent for agent in self.registry.all() if archived or not agent.archived]
        else:
            chosen = [self._known(name) for name in names]
        view = View(chosen, {}, {}) if cached else look(self, chosen, screens=screens)
        if spent:
            from muster.fleet.tracing import with_spent

            view.agents = with_spent(self, view.agents)
        if where is not None:
            from muster.fleet.where import matching

            view.agents = matching(view.agents, where)
        return view

    def agent(self, name: Agent | str) -> Agent:
        """One agent as it is now."""
        return self.agents([name])[0]

    def pick(self, names: Sequence[Agent | str], *, where: str | None = None, everyone: bool = False) -> list[Agent]:
        """Agents by name or id, and those for which the expression holds; each once."""
        found = {agent.id: agent for agent in map(self._known, names)}
        if where is not None or everyone:
            found.update((agent.id, agent) for agent in self.agents(where=where))
        return list(found.values())

    # -- one agent's life ----------------------------------------------------------------------------------------------

    def create(self, name: str = "", type: str = "", **wishes: Any) -> Agent:
        """Make an agent and start it; the wishes are `templates` and the fields of `Task`, over the configuration."""
        from muster.fleet.wishes import task

        templates, prepare = wishes.pop("templates", ()), wishes.pop("prepare", None)
        return self.create_task(task(self, {"name": name, "type": type, **wishes}, templates), prepare=prepare)

    def create_task(
        self,
        task: Task,
        *,
        told: Callable[[Receipt], object] | None = None,
        prepare: Callable[[Agent], None] | None = None,
    ) -> Agent:
        """Make the agent that a task describes, as it is; a message is delivered when the program is ready.

        `told` hears what became of the message, unless the program took it as an argument. `prepare` is called when the
        workspace is there and nothing runs in it yet.
        """
        from muster.fleet.create import Seed, create

        agent = create(self, task, Seed(plant=prepare))
        for receipt in self.deliver(agent):
            if told:
                told(receipt)
        return agent

    def stop(self, agents: Iterable[Agent | str]) -> list[Agent]:
        """End their programs and all processes of theirs; workspace, branch and conversation stay."""
        from muster.fleet.lifecycle import stop

        return stop(self, self._all(agents))

    def start(self, agents: Iterable[Agent | str]) -> list[Agent]:
        """Start those that don't run, with their conversation where the type can; what was queued is delivered."""
        from muster.fleet.lifecycle import start

        return start(self, self._all(agents))

    def archive(self, agents: Iterable[Agent | str], *, undo: bool = False) -> list[Agent]:
        """Stop them and leave them out of listings; or show them again."""
        from muster.fleet.lifecycle import archive

        return archive(self, self._all(agents), undo=undo)

    def rename(self, agent: Agent | str, name: str) -> Agent:
        """Another name for it; id, workspace and branch stay."""
        from muster.fleet.lifecycle import rename

        return rename(self, self._known(agent), name)

    def label(self, agents: Iterable[Agent | str], labels: Mapping[str, str | None]) -> list[Agent]:
        """Set labels; None takes one away."""
        from muster.fleet.lifecycle import label

        return label(self, self._all(agents), labels)

    def connect(self, agent: Agent | str, *, starting: Callable[[], object] | None = None) -> Door:
        """What puts a terminal on its: an argv to execute. One that does not run is started, `starting` is told first."""
        from muster.fleet.connect import connect

        return connect(self, self._known(agent), starting)

    def clone(self, agent: Agent | str, name: str = "", **wishes: Any) -> Agent:
        """An agent like that one, from its commits and its uncommitted files, with a branch of its own."""
        from muster.fleet.again import clone

        return clone(self, self._known(agent), name, wishes)

    def migrate(self, agent: Agent | str, address: str) -> Agent:
        """Let it go on on another host, `@box`, with its work, its conversation and its name."""
        from muster.fleet.migrate import migrate

        return migrate(self, self._known(agent), address)

    def destroy(self, agents: Iterable[Agent | str], *, branch: bool = False) -> list[Kept]:
        """Remove them, and their branches if told to; what exists nowhere else goes to the attic first."""
        from muster.fleet.destroy import destroy

        return destroy(self, self._all(agents), branch=branch)

    def doom(self, agents: Iterable[Agent | str], *, branch: bool = False) -> list[Doom]:
        """What a destroy would remove and what it would keep, without doing it."""
        from muster.fleet.doom import doom

        return doom(self, self._all(agents), branch=branch)

    # -- talking and waiting -------------------------------------------------------------------------------------------

    def message(self, agents: Iterable[Agent | str], text: str, *, start: bool = False) -> Iterator[Receipt]:
        """Say it to each of them, once; receipts as they come. `start` revives those that don't run."""
        from muster.fleet.deliver import send

        return send(self, self._all(agents), text, start=start)

    def answer(self, agent: Agent | str, answer: str) -> Agent:
        """Answer the dialog it shows with `yes`, `no`, a number or a text; the agent as it is when the dialog is gone."""
        from muster.fleet.dialogs import answer as give

        return give(self, self._known(agent), answer)

    def interrupt(self, agents: Iterable[Agent | str]) -> Iterator[Interrupted]:
        """End what each of them does now; what became of it, as it does."""
        from muster.fleet.dialogs import interrupt

        return interrupt(self, self._all(agents))

    def deliver(self, agent: Agent | str) -> list[Receipt]:
        """Give it what was said and still waits, oldest first."""
        known = self._known(agent)
        if not self.registry.messages(known.id, "stored", "sending"):
            return []
        from muster.fleet.deliver import flush

        with self.registry.locked(known.id):
            receipts = flush(self, self.registry.get(known.id))
        for receipt in receipts:
            self.registry.told(receipt.message)
        return receipts

    def wait(
        self,
        agents: Iterable[Agent | str],
        for_states: Iterable[Kind] = SETTLED,
        *,
        any: bool = False,
        timeout: float | None = None,
    ) -> list[Agent]:
        """Wait until all (or any) of them are in one of the states; those that are, as they are then."""
        from muster.fleet.wait import wait

        return wait(self, self._all(agents), tuple(for_states), any=any, timeout=timeout)

    def watch(self, agents: Iterable[Agent | str], *, timeout: float | None = None) -> Iterator[list[Agent]]:
        """Those agents as they are now, and again whenever something happened to one of them, until the time is up."""
        import time

        from muster.fleet.wait import looks

        return looks(self, self._all(agents), None if timeout is None else time.monotonic() + timeout)

    def map(
        self, tasks: Iterable[Task], *, limit: int = 8, for_states: Iterable[Kind] = SETTLED, run: str = ""
    ) -> Iterator[Agent]:
        """One agent per task, so many at once; each as it reaches one of the states. With a `run` name it is resumable."""
        from muster.fleet.mapping import map_tasks

        return map_tasks(self, tasks, limit=limit, for_states=tuple(for_states), run=run)

    # -- work and files ------------------------------------------------------------------------------------------------

    def exec(
        self,
        agent: Agent | str,
        command: Sequence[str],
        *,
        cwd: str = "",
        timeout: float | None = None,
        stdin: bytes | None = None,
    ) -> Exit:
        """Run a command in the agent's workspace with its environment, and take what it prints."""
        from muster.fleet.execute import execute

        return execute(self, self._known(agent), command, cwd=cwd, timeout=timeout, stdin=stdin)

    def pull(self, agent: Agent | str, paths: Sequence[str] = (), *, into: str = ".", force: bool = False) -> Transfer:
        """Its files into a folder here; without paths its commits into the repository there."""
        from muster.fleet.transfer import pull

        return self._looked(agent, lambda known: pull(self, known, paths, into=into, force=force))

    def fetch(self, agent: Agent | str, reference: str) -> Transfer:
        """The commits it has checked out, under that reference in its repository; no checkout is touched."""
        from muster.fleet.transfer import fetch

        return self._looked(agent, lambda known: fetch(self, known, reference))

    def artifacts(self, agent: Agent | str, into: str) -> Transfer:
        """What it put into $MUSTER_ARTIFACTS, into a folder here."""
        from muster.fleet.transfer import artifacts

        return self._looked(agent, lambda known: artifacts(self, known, into))

    def push(self, agent: Agent | str, paths: Sequence[str] = (), *, into: str = "", force: bool = False) -> Transfer:
        """Files from here into its workspace; without paths the commits checked out here."""
        from muster.fleet.transfer import push

        return push(self, self._known(agent), paths, into=into, force=force)

    # -- what is kept --------------------------------------------------------------------------------------------------

    def snapshot(self, agent: Agent | str, label: str = "") -> Kept:
        """Keep workspace, record and conversation as they are now; the agent goes on."""
        from muster.fleet.keep import snapshot

        return snapshot(self, self._known(agent), label)

    def kept(self, kind: Literal["attic", "snapshot"] | None = None) -> list[Kept]:
        """What the attic and the snapshots hold, oldest first."""
        from muster.fleet.keep import kept

        return kept(self, kind)

    def find(self, name: str, kind: Literal["attic", "snapshot"]) -> Kept:
        """One of them: by its id, its label, or the latest of an agent of that name."""
        from muster.fleet.keep import find

        return find(self, name, kind)

    def restore(self, kept: Kept | str, name: str = "") -> Agent:
        """An agent brought back from the attic or made from a snapshot, stopped, with its work and conversation."""
        from muster.fleet.again import restore

        return restore(self, kept, name)

    def expire(self, kept: Kept | str) -> Kept:
        """Throw away what was kept."""
        from muster.fleet.keep import expire

        return expire(self, kept)

    def gc(self, *, days: float | None = None) -> list[str]:
        """Finish what crashes left half-done and expire the attic; what was done, a line each."""
        from muster.fleet.tidy import gc

        return gc(self, days)

    # -- reading; nothing here starts or changes an agent --------------------------------------------------------------

    def capture(self, agent: Agent | str, *, colours: bool = False) -> str:
        """Its screen as it is now."""
        from muster.fleet.reading import capture

        return capture(self, self._known(agent), colours)

    def logs(self, agent: Agent | str, *, colours: bool = False) -> str:
        """What its terminal showed so far, also after its death."""
        from muster.fleet.reading import logs

        return self._looked(agent, lambda known: logs(self, known, colours))

    def setup_log(self, agent: Agent | str) -> str:
        """What its set-up command printed."""
        from muster.fleet.reading import setup_log

        return self._looked(agent, lambda known: setup_log(self, known))

    def outcome(self, agent: Agent | str) -> bytes | None:
        """What it says it did: the file at $MUSTER_OUTCOME; None if it has written none."""
        from muster.fleet.reading import outcome

        return self._looked(agent, lambda known: outcome(self, known))

    def transcript(self, agent: Agent | str) -> list[Event]:
        """Its conversation."""
        from muster.fleet.reading import transcript

        return self._looked(agent, lambda known: transcript(self, known))

    def listen(self, agent: Agent | str) -> Generator[Event, None, None]:
        """Its conversation from its beginning, and then what is said, until you stop listening."""
        from muster.fleet.listen import listen

        return listen(self, self._known(agent))

    def why(self, agent: Agent | str) -> Why:
        """Its state, and the evidence that says so."""
        from muster.fleet.why import why

        return why(self, self._known(agent))

    def events(self, *, follow: bool = False) -> Generator[Happening, None, None]:
        """What happened in the fleet, oldest first; followed, it goes on until you stop listening."""
        from muster.fleet.reading import events

        return events(self, follow)

    # -- what is known of conversations; only `ingest` reads logs ------------------------------------------------------

    def ingest(self, agents: Iterable[Agent | str] | None = None, paths: Sequence[str] = ()) -> Iterator[Taken]:
        """Read what is new in agents' logs (all agents', if neither they nor files are given) and in files; as it goes."""
        from muster.fleet.tracing import ingest

        everyone = agents is None and not paths
        return ingest(self, self.known() if everyone else self._all(agents or ()), paths)

    @cached_property
    def traces(self) -> Traces:
        """The conversations that were read so far."""
        from muster.traces.store import Traces

        return Traces(self.home)

    def spent(self, by: str = "agent", *, since: float = 0.0) -> list[Spent]:
        """What requests took, by `agent`, `model`, `type`, `day` or `labels.NAME`, the most expensive first."""
        from muster.fleet.tracing import spent

        return spent(self, by, since)

    # -- inner doors ---------------------------------------------------------------------------------------------------

    def seat(self, host: str, provider: str = "") -> Seat:
        """muster's seat on that host: by its name, or by any alias of the ssh configuration."""
        from muster.fleet import places

        place = places.parse(host, provider)
        key = f"{place.host}.{place.provider}"
        if key not in self._seats:
            self._seats[key] = Seat(places.find(self, place))
        return self._seats[key]

    def awake(self, host: str) -> Seat:
        """The same; a host that muster made is started if it was stopped."""
        from muster.fleet import places, upkeep

        record = places.recorded(self, host)
        if record and record.made:
            upkeep.start(self, host)
        return self.seat(host)

    def lodge(self, host: Host) -> Seat:
        """muster's seat on a host that was just made or started."""
        self._seats[f"{host.name}."] = seat = Seat(host)
        return seat

    def config(self, project: str | None = None) -> Config:
        """The settings in force, in that project's folder."""
        from muster.core.config import load

        return load(project)

    def permit(self, task: Task) -> None:
        """Raise unless the type of that task can do what it asks for, and may do so on its host."""
        from muster.agents import agent_type
        from muster.core.names import Address
        from muster.fleet.create import permitted

        address = Address.parse(task.name)
        permitted(self.seat(address.host or "local", address.provider), agent_type(task.type), task)

    def event(self, agent: Agent, event: str, detail: str = "") -> None:
        """Write down what was done with an agent, for everybody who follows."""
        from muster.fleet.journal import note

        note(self, agent, event, detail)

    def tidy_up(self, name: str, host: str) -> None:
        """Finish what a killed create or destroy left half-done here, on that host or under that name."""
        half = [one for one in self.registry.half_done() if one.host in ("local", host) or one.name == name]
        if half:
            from muster.fleet.tidy import finish_all

            finish_all(self, half)

    def _looked(self, agent: Agent | str, look: Callable[[Agent], T]) -> T:
        """What that finds; a stopped host is started for it, and stopped again."""
        known = self._known(agent)
        try:
            return look(known)
        except Asleep:
            from muster.fleet import upkeep

            with upkeep.awake(self, known.host):
                return look(known)

    def _known(self, name: Agent | str) -> Agent:
        return self.registry.get(name.id if isinstance(name, Agent) else name)

    def _all(self, names: Iterable[Agent | str]) -> list[Agent]:
        if isinstance(names, (str, Agent)):
            names = [names]
        return list({agent.id: agent for agent in map(self._known, names)}.values())
