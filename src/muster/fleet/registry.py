"""The registry of intent: which agents there are, who is busy with one, and what was said to them."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec
from msgspec import Struct

from muster.agents import Agent, State
from muster.core import lock, names, proc, wire
from muster.core.store import Store
from muster.errors import Exists, NotFound

_agent = wire.decoder(Agent)
_state = wire.decoder(State)


# A sender that was killed is run again soon, or not at all: later the same words are meant as a new message.
_UNTOLD = 600.0
# So many seconds are the commands of a killed muster waited for.
_STRAGGLERS = 30.0


class Message(Struct, frozen=True):
    """Something said to an agent."""

    id: str
    agent: str
    text: str
    step: str
    mark: int  # how long the agent's conversation log was before it was sent
    at: float


class Registry:
    """`$MUSTER_HOME/muster.db`, by agents."""

    def __init__(self, home: str) -> None:
        self.home = home
        self._path = f"{home}/muster.db"
        self._store: Store | None = None

    @property
    def store(self) -> Store:
        """The database, opened when it is first needed: to look at nothing makes nothing."""
        if self._store is None:
            self._store = Store(self._path)
        return self._store

    def rows(self, sql: str, values: Sequence[str] = ()) -> list[Any]:
        return self.store.rows(sql, values) if self._store or os.path.exists(self._path) else []

    def all(self) -> list[Agent]:
        """Every agent, oldest first; `state` is what it was last seen to do."""
        return [_decoded(*row) for row in self.rows("SELECT record, seen FROM agents ORDER BY rowid")]

    def half_done(self) -> list[Agent]:
        """Agents whose creation or destruction has begun and not ended."""
        sql = "SELECT record, seen FROM agents WHERE intent IN ('creating', 'destroying')"
        return [_decoded(*row) for row in self.rows(sql)]

    def find(self, name: str) -> Agent | None:
        """By id or by name."""
        rows = self.rows("SELECT record, seen FROM agents WHERE id = ?1 OR name = ?1 ORDER BY id != ?1", (name,))
        return _decoded(*rows[0]) if rows else None

    def get(self, name: str) -> Agent:
        """By id or by name; the nearest is named if there is none."""
        if agent := self.find(name):
            return agent
        known = [agent.name for agent in self.all()]
        hint = names.nearest(name, known, "agent", "muster list") if known else "there are none yet: `muster create`"
        raise NotFound(f"there is no agent `{name}`", hint=hint)

    def reserve(self, agent: Agent) -> bool:
        """Take the name, unless somebody has it."""
        sql = "INSERT OR IGNORE INTO agents (id, name, host, project, intent, record) SELECT ?1, ?2, ?3, ?4, ?5, ?6 "
        sql += "WHERE NOT EXISTS (SELECT 1 FROM agents WHERE id = ?2 OR name = ?1)"
        values = (agent.id, agent.name, agent.host, agent.project, agent.intent, _encoded(agent))
        return self.store.write(sql, values) == 1

    def save(self, agent: Agent) -> Agent:
        """Write the record of an agent that is locked by us."""
        try:
            sql = "UPDATE agents SET name = ?2, host = ?3, project = ?4, intent = ?5, record = ?6 WHERE id = ?1"
            values = (agent.id, agent.name, agent.host, agent.project, agent.intent, _encoded(agent))
            self.store.write(sql, values)
        except Exception as error:
            if "UNIQUE" in str(error):
                raise Exists(f"there is an agent `{agent.name}` already") from error
            raise
        return agent

    def saw(self, states: Sequence[tuple[str, State]]) -> None:
        """Remember what agents were seen to do."""
        if states:
            sql = "UPDATE agents SET seen = fresh.value FROM json_each(?) AS fresh WHERE agents.id = fresh.key"
            self.store.write(sql, (msgspec.json.encode(dict(states)),))

    def forget(self, agent: str) -> None:
        """The last step of a destroy."""
        self.store.write("DELETE FROM messages WHERE agent = ?", (agent,))
        self.store.write("DELETE FROM agents WHERE id = ?", (agent,))
        self._unlock_for_good(agent)

    # -- messages: stored first, `sending` once their text may be in the terminal, then their receipt's word ---------------

    def store_message(self, agent: str, text: str) -> Message:
        """Write a message down; from now on it is not lost."""
        message = Message(names.fresh_id(), agent, text, "stored", 0, now())
        sql = "INSERT INTO messages (id, agent, text, step, mark, at) VALUES (?, ?, ?, ?, ?, ?)"
        self.store.write(sql, (message.id, agent, text, message.step, message.mark, message.at))
        return message

    def messages(self, agent: str, *steps: str) -> list[Message]:
        """An agent's messages at these steps, oldest first."""
        marks = ", ".join("?" * len(steps))
        sql = (
            f"SELECT id, agent, text, step, mark, at FROM messages WHERE agent = ? AND step IN ({marks}) ORDER BY rowid"
        )
        return [Message(*row) for row in self.store.rows(sql, (agent, *steps))]

    def untold(self, agent: str, text: str) -> Message | None:
        """A message whose sender died before it could say what became of it."""
        sql = (
            "SELECT id, agent, text, step, mark, at FROM messages WHERE agent = ? AND text = ? AND told = 0 AND at > ?"
        )
        rows = self.store.rows(sql + " ORDER BY rowid LIMIT 1", (agent, text, now() - _UNTOLD))
        return Message(*rows[0]) if rows else None

    def message_at(self, message: str, step: str, mark: int = 0) -> None:
        """Note how far its delivery has come."""
        self.store.write("UPDATE messages SET step = ?, mark = ? WHERE id = ?", (step, mark, message))

    def told(self, message: str) -> None:
        """Its sender knows what became of it."""
        self.store.write("UPDATE messages SET told = 1 WHERE id = ?", (message,))

    def _lock(self, agent: str) -> str:
        return f"{self.home}/locks/{agent}"

    @contextmanager
    def locked(self, agent: str, wait: bool = True) -> Iterator[bool]:
        """Be the only one who changes that agent."""
        with lock.held(self._lock(agent), wait) as free:
            if not free:
                yield False
                return
            hands = self._still(self._lock(agent))
            token = proc.HELD.set(hands)
            try:
                yield True
            finally:
                proc.HELD.reset(token)
                os.close(hands)

    @staticmethod
    def _still(path: str) -> int:
        """A second lock, which our commands hold with us: the last of a killed predecessor's have ended when we get it."""
        hands = os.open(f"{path}.hands", os.O_CREAT | os.O_RDWR, 0o600)
        deadline = time.monotonic() + _STRAGGLERS
        while True:
            try:
                fcntl.flock(hands, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return hands
            except BlockingIOError:
                # A git hook may have left something running for good; it is not waited for for ever.
                if time.monotonic() > deadline:
                    return hands
                time.sleep(0.01)

    def _unlock_for_good(self, agent: str) -> None:
        for path in (f"{self._lock(agent)}.hands", self._lock(agent)):
            try:
                os.unlink(path)
            except FileNotFoundError:
                pass  # nobody ever locked it

    def busy(self, agent: str) -> bool:
        """Whether a live process is changing that agent."""
        return lock.taken(self._lock(agent))


def _encoded(agent: Agent) -> bytes:
    return msgspec.json.encode(msgspec.structs.replace(agent, state=None, activity="", spent=None))


def _decoded(record: bytes, seen: bytes | None) -> Agent:
    agent = _agent.decode(record)
    return msgspec.structs.replace(agent, state=_state.decode(seen)) if seen else agent


def now() -> float:
    """Seconds since 1970, to the millisecond."""
    return round(time.time(), 3)
