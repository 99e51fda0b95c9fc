"""The store: `$MUSTER_HOME/traces.db`. All in it comes from logs, so it may be thrown away and made again."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from typing import Any

from muster.agents import Event, Role, Tokens
from muster.core.store import Store
from muster.errors import NotFound
from muster.traces import Hit, Spent, Trace

MIGRATIONS = (
    """
    CREATE TABLE traces (
        id INTEGER PRIMARY KEY,
        host TEXT NOT NULL,
        path TEXT NOT NULL,
        type TEXT NOT NULL,
        agent TEXT NOT NULL,
        name TEXT NOT NULL,
        offset INTEGER NOT NULL DEFAULT 0,
        before BLOB NOT NULL DEFAULT x'',
        reader BLOB NOT NULL DEFAULT x'',
        settled INTEGER NOT NULL DEFAULT 0,
        events INTEGER NOT NULL DEFAULT 0,
        began REAL,
        ended REAL,
        model TEXT NOT NULL DEFAULT '',
        UNIQUE (host, path)
    );
    CREATE INDEX traces_by_agent ON traces (agent);
    CREATE TABLE events (
        id INTEGER PRIMARY KEY,
        trace INTEGER NOT NULL,
        number INTEGER NOT NULL,
        role TEXT NOT NULL,
        text TEXT NOT NULL,
        at REAL,
        tool TEXT NOT NULL,
        call TEXT NOT NULL,
        model TEXT NOT NULL,
        request TEXT NOT NULL,
        UNIQUE (trace, number)
    );
    CREATE VIRTUAL TABLE words USING fts5 (text, content = 'events', content_rowid = 'id');
    CREATE TABLE requests (
        trace INTEGER NOT NULL,
        number INTEGER NOT NULL,
        at REAL,
        type TEXT NOT NULL,
        model TEXT NOT NULL,
        request TEXT,
        input INTEGER NOT NULL,
        output INTEGER NOT NULL,
        cached INTEGER NOT NULL,
        written INTEGER NOT NULL,
        hour INTEGER NOT NULL,
        cost REAL,
        PRIMARY KEY (trace, number)
    ) WITHOUT ROWID;
    CREATE INDEX requests_by_name ON requests (request, type, trace);
    """,
)
_SUMS = """count(requests.number), coalesce(sum(input), 0), coalesce(sum(output), 0), coalesce(sum(cached), 0),
    coalesce(sum(written), 0), coalesce(sum(hour), 0), sum(cost),
    coalesce(sum(CASE WHEN cost IS NULL THEN input + output END), 0)"""
_TRACE = f"""SELECT traces.id, name, traces.type, agent, host, path, events, began, ended, traces.model, {_SUMS}
    FROM traces LEFT JOIN requests ON requests.trace = traces.id"""
_GROUPS = {
    "agent": "substr(name, 1, instr(name || '/', '/') - 1)",  # its subagents are behind a slash
    "model": "requests.model",
    "type": "traces.type",
    "day": "date(requests.at, 'unixepoch', 'localtime')",
    "id": "agent",
}
BY = ("agent", "model", "type", "day")


class Traces:
    """The conversations that were read so far."""

    def __init__(self, home: str) -> None:
        self._path = f"{home}/traces.db"
        self._store: Store | None = None

    @property
    def store(self) -> Store:
        """The database, opened when it is first needed: to look at nothing makes nothing."""
        if self._store is None:
            hint = "if the disk is neither full nor read-only, delete it: `muster traces ingest` makes it again"
            self._store = Store(self._path, MIGRATIONS, hint)
        return self._store

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        """What a query finds; nothing where nothing was ever read."""
        return self.store.rows(sql, values) if self._store or os.path.exists(self._path) else []

    def all(self) -> list[Trace]:
        """Every conversation, the one that was at work last first."""
        return [_trace(row) for row in self.rows(f"{_TRACE} GROUP BY traces.id ORDER BY ended DESC, traces.id DESC")]

    def find(self, name: str) -> list[Trace]:
        """Those of that agent, by name or id, or the one of that number or at that path; oldest first."""
        sql = f"""{_TRACE} WHERE ?1 IN (agent, name, path, CAST(traces.id AS TEXT))
            OR agent IN (SELECT agent FROM traces WHERE name = ?1 AND agent != '') GROUP BY traces.id ORDER BY began"""
        if found := self.rows(sql, (name,)) or self.rows(sql, (os.path.realpath(name),)):
            return [_trace(row) for row in found]
        raise NotFound(
            f"no trace is known of `{name}`", hint="`muster traces ingest` reads, `muster traces list` shows"
        )

    def events(self, trace: int) -> Iterator[Event]:
        """A conversation; very long texts were cut when they were stored."""
        sql = """SELECT role, text, events.at, tool, call, events.model, events.request, input, output, cached, written, hour, cost
            FROM events LEFT JOIN requests USING (trace, number) WHERE trace = ? ORDER BY number"""
        for role, text, at, tool, call, model, request, *counts, cost in self.rows(sql, (trace,)):
            tokens = None if counts[0] is None else Tokens(*counts)
            yield Event(role, text, at, tool, call, model, request or "", tokens, cost)

    def search(
        self, text: str, role: Role | None = None, limit: int = 20, marks: tuple[str, str] = ("", "")
    ) -> list[Hit]:
        """Events that hold all these words; what stands in quotes is looked for as it is. The best come first."""
        sql = """SELECT trace, name, agent, number, role, at, tool, snippet(words, 0, ?, ?, '…', 24)
            FROM words JOIN events ON events.id = words.rowid JOIN traces ON traces.id = trace
            WHERE words MATCH ? AND (?4 IS NULL OR role = ?4) ORDER BY rank LIMIT ?"""
        query = _query(text)
        return [Hit(*row) for row in self.rows(sql, (*marks, query, role, limit))] if query else []

    def spent(self, by: str, since: float = 0.0) -> list[Spent]:
        """What requests took, by `agent`, `model`, `type`, `day` or the agent's `id`, the most expensive first."""
        sql = f"""SELECT {_GROUPS[by]} AS key, {_SUMS} FROM requests JOIN traces ON traces.id = requests.trace
            WHERE ?1 = 0 OR requests.at >= ?1 GROUP BY key ORDER BY sum(cost) DESC, sum(input) DESC"""
        return [_spent(*row) for row in self.rows(sql, (since,))]


def _trace(row: Sequence[Any]) -> Trace:
    group = _spent("", *row[10:])
    known: dict[str, Any] = dict(zip(Trace.__struct_fields__, row[:10], strict=False))
    return Trace(**known, requests=group.requests, tokens=group.tokens, cost=group.cost, unpriced=group.unpriced)


def _spent(key: str | None, requests: int, *sums: Any) -> Spent:
    *counts, cost, unpriced = sums
    return Spent(key or "", requests, Tokens(*counts), None if cost is None else round(cost, 6), unpriced)


def _query(text: str) -> str:
    """As FTS5 has it, where a bare word may be an operator."""
    try:
        words = shlex.split(text)
    except ValueError:  # a single quote
        words = text.split()
    quoted = ('"' + word.replace('"', '""') + '"' for word in words if any(map(str.isalnum, word)))
    return " ".join(quoted)
