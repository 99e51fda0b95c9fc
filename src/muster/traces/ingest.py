"""Reading logs into the store: only what was appended since, piece by piece, each log as a whole or not at all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import ClassVar

import msgspec
from msgspec import Struct

from muster import hosts
from muster.agents import Event, Tokens, agent_type, logs
from muster.agents.logs import Reader
from muster.core import wire
from muster.hosts import Host
from muster.traces import News, Source, Taken
from muster.traces.prices import Prices
from muster.traces.store import Traces

# So much is in memory at once, unless a single line is longer.
_PIECE = 1 << 20
# So many bytes before the offset must still be there, else it is another log of that name.
_BEFORE = 2048
# Longer texts are cut in the store; the log has all of them.
_LONGEST = 16_000
_EVENT = (
    "INSERT INTO events (trace, number, role, text, at, tool, call, model, request) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
# A conversation that was forked has the requests of the old one in its log as well: they were paid for once.
_REQUEST = """INSERT INTO requests (trace, number, at, type, model, request, input, output, cached, written, hour, cost)
    SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12
    WHERE ?6 IS NULL OR NOT EXISTS (SELECT 1 FROM requests WHERE request = ?6 AND type = ?4 AND trace != ?1)"""


class Foreign(Struct):
    """The reader for an agent type of an installed package: all of its log, each time."""

    whole: ClassVar[bool] = True
    type: str

    @staticmethod
    def knows(head: bytes) -> bool:
        return not head  # no log is known by its looks

    def read(self, line: bytes) -> Iterable[Event]:
        return agent_type(self.type).events(line)

    def rest(self) -> Iterable[Event]:
        return ()


class Progress(Struct):
    """How far a log has been read."""

    trace: int
    type: str
    reader: Reader
    offset: int = 0
    before: bytes = b""  # the last bytes before the offset; of a document its checksum
    settled: int = 0  # so many events will not change any more


def complete(traces: Traces, prices: Prices) -> None:
    """Prices of requests whose model had none when they were taken in: the list may be newer now."""
    counts = "input, output, cached, written, hour"
    for (model,) in traces.rows("SELECT DISTINCT model FROM requests WHERE cost IS NULL AND model != ''"):
        sql = f"SELECT trace, number, at, {counts} FROM requests WHERE cost IS NULL AND model = ?"
        if prices.price(model, Tokens(1, 1), None) is not None:
            found = traces.rows(sql, (model,))
            rows = [(prices.price(model, Tokens(*row[3:]), row[2]), *row[:2]) for row in found]
            with traces.store.together():
                traces.store.write_all("UPDATE requests SET cost = ? WHERE trace = ? AND number = ?", rows)


def take(traces: Traces, host: Host, source: Source, prices: Prices) -> Taken:
    """Read what is new in that log."""
    return _Ingest(traces, host, source, prices).take()


class _Ingest:
    def __init__(self, traces: Traces, host: Host, source: Source, prices: Prices) -> None:
        self._store = traces.store
        self._host, self._source, self._prices = host, source, prices

    def take(self) -> Taken:
        with self._store.together():
            progress = self._progress()
            before = self._known(progress)
            known, begin = progress.offset > 0, progress.offset
            found = self._document(progress) if progress.reader.whole else self._lines(progress)
            if found in ("missing", "same"):
                self._store.write("DELETE FROM traces WHERE id = ? AND offset = 0", (progress.trace,))
                return Taken(self._source, found)
            self._save(progress)
            events = self._known(progress) - (before if found == "more" else 0)
        read = progress.offset - (begin if found == "more" else 0)
        return Taken(self._source, found if known else "new", events, read)

    # -- how far it has been read --------------------------------------------------------------------------------------

    def _progress(self) -> Progress:
        source = self._source
        self._follow()
        # Whoever reads it as a mere file: it stays the agent's.
        sql = """INSERT INTO traces (host, path, type, agent, name) VALUES (?1, ?2, ?3, ?4, ?5)
            ON CONFLICT (host, path) DO UPDATE SET agent = ?4, name = ?5 WHERE ?4 != ''"""
        self._store.write(sql, (source.host, source.path, source.type, source.agent, source.name))
        sql = "SELECT id, type, offset, before, reader, settled FROM traces WHERE host = ? AND path = ?"
        [(trace, kind, offset, before, state, settled)] = self._store.rows(sql, (source.host, source.path))
        if kind == source.type and (reader := _resumed(kind, state)):
            return Progress(trace, kind, reader, offset, before, settled)
        progress = Progress(trace, source.type, _fresh(source.type))
        self._clear(trace, 0)
        return progress

    def _follow(self) -> None:
        """An agent may have gone to another host, and its log with it: it is the same if it has what was read last."""
        source = self._source
        place = (source.host, source.path)
        here = self._store.rows("SELECT 1 FROM traces WHERE host = ? AND path = ?", place)
        if here or not source.agent or _fresh(source.type).whole:
            return
        sql = "SELECT id, offset, before FROM traces WHERE agent = ? AND type = ? AND offset > 0"
        for trace, offset, before in self._store.rows(sql, (source.agent, source.type)):
            if hosts.read(self._host, source.path, limit=len(before), skip=offset - len(before)) == before:
                self._store.write("UPDATE traces SET host = ?, path = ? WHERE id = ?", (*place, trace))
                return

    def _known(self, progress: Progress) -> int:
        [(events,)] = self._store.rows("SELECT events FROM traces WHERE id = ?", (progress.trace,))
        return int(events)

    def _clear(self, trace: int, number: int) -> None:
        """Forget its events from that one on."""
        values = (trace, number)
        gone = "SELECT 'delete', id, text FROM events WHERE trace = ? AND number >= ?"
        self._store.write(f"INSERT INTO words (words, rowid, text) {gone}", values)
        self._store.write("DELETE FROM events WHERE trace = ? AND number >= ?", values)
        self._store.write("DELETE FROM requests WHERE trace = ? AND number >= ?", values)

    def _save(self, progress: Progress) -> None:
        sql = """UPDATE traces SET type = ?2, offset = ?3, before = ?4, reader = ?5, settled = ?6,
            (events, began, ended) = (SELECT count(*), min(at), max(at) FROM events WHERE trace = ?1),
            model = coalesce((SELECT model FROM events WHERE trace = ?1 AND model != '' ORDER BY number DESC LIMIT 1), '')
            WHERE id = ?1"""
        state = msgspec.json.encode(progress.reader)
        values = (progress.trace, progress.type, progress.offset, progress.before, state, progress.settled)
        self._store.write(sql, values)

    # -- reading -------------------------------------------------------------------------------------------------------

    def _read(self, skip: int) -> bytes | None:
        return hosts.read(self._host, self._source.path, limit=_PIECE, skip=skip)

    def _lines(self, progress: Progress) -> News:
        """A log of lines, from where it was left; the last line may be half-written, and is left for later."""
        found: News = "same"
        data = self._read(progress.offset - len(progress.before))
        if data is None:
            return "missing"
        if not data.startswith(progress.before):
            found = "anew"
            progress.reader, progress.offset, progress.before, progress.settled = _fresh(progress.type), 0, b"", 0
            self._clear(progress.trace, 0)
            data = self._read(0) or b""
        left = data[len(progress.before) :]
        while True:
            whole, newline, rest = left.rpartition(b"\n")
            if newline:
                if found == "same":
                    found = "more"
                    self._clear(progress.trace, progress.settled)
                self._add(progress, [event for line in whole.split(b"\n") for event in progress.reader.read(line)])
                progress.offset += len(whole) + 1
                progress.before = (progress.before + whole[-_BEFORE:] + newline)[-_BEFORE:]
            # A piece that was not full was the last; on another host each costs a command.
            data = self._read(progress.offset + len(rest)) if len(data) >= _PIECE else b""
            if not data:
                break
            left = rest + data
        if found != "same":
            # What may change stands there until the log says more.
            self._insert(progress, [*progress.reader.rest()])
        return found

    def _document(self, progress: Progress) -> News:
        """A log that is written anew each time; one that can't be read is being written."""
        data = hosts.read(self._host, self._source.path)
        if data is None:
            return "missing"
        checksum = sha256(data).digest()
        if checksum == progress.before:
            return "same"
        events = [*progress.reader.read(data)]
        if progress.settled and not events:
            return "same"
        self._clear(progress.trace, 0)
        progress.offset, progress.before, progress.settled = len(data), checksum, 0
        self._add(progress, events)
        return "more"

    def _add(self, progress: Progress, events: Sequence[Event]) -> None:
        self._insert(progress, events)
        progress.settled += len(events)

    def _insert(self, progress: Progress, events: Sequence[Event]) -> None:
        trace, numbered = progress.trace, [*enumerate(events, progress.settled)]
        self._store.write_all(
            _EVENT,
            ((trace, n, e.role, _cut(e.text), e.at, e.tool, e.id, e.model, e.request) for n, e in numbered),
        )
        self._store.write_all(_REQUEST, (self._request(trace, n, e, e.tokens) for n, e in numbered if e.tokens))
        fresh = "SELECT id, text FROM events WHERE trace = ? AND number >= ?"
        self._store.write(f"INSERT INTO words (rowid, text) {fresh}", (trace, progress.settled))

    def _request(self, trace: int, number: int, event: Event, tokens: Tokens) -> tuple[object, ...]:
        cost = event.cost
        if cost is None:
            cost = self._prices.price(event.model, tokens, event.at)
        counts = (tokens.input, tokens.output, tokens.cached, tokens.written, tokens.hour)
        return (trace, number, event.at, self._source.type, event.model, event.request or None, *counts, cost)


def _fresh(kind: str) -> Reader:
    return logs.form(kind)() if kind in logs.READERS else Foreign(kind)


def _resumed(kind: str, state: bytes) -> Reader | None:
    """A reader that was put aside; None if there is none, or if it was one of an older muster."""
    try:
        return wire.decode(state, logs.form(kind) if kind in logs.READERS else Foreign)
    except msgspec.DecodeError:
        return None


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text) - _LONGEST} characters more)"
