"""SQLite: one file, numbered migrations, and errors that say what is wrong with the disk."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from muster.core.paths import folder, unwritable
from muster.errors import MusterError

MIGRATIONS = (
    """
    CREATE TABLE agents (
        id TEXT PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        host TEXT NOT NULL,
        project TEXT NOT NULL,
        intent TEXT NOT NULL,
        record BLOB NOT NULL,
        seen BLOB
    );
    CREATE TABLE messages (
        id TEXT PRIMARY KEY,
        agent TEXT NOT NULL,
        text TEXT NOT NULL,
        step TEXT NOT NULL,
        mark INTEGER NOT NULL DEFAULT 0,
        told INTEGER NOT NULL DEFAULT 0,
        at REAL NOT NULL
    );
    CREATE INDEX messages_by_agent ON messages (agent, step);
    """,
    """
    CREATE TABLE hosts (
        name TEXT PRIMARY KEY,
        record BLOB NOT NULL,
        seen BLOB
    );
    """,
)


_HINT = "is the disk full or read-only? `muster doctor` looks"


class Store:
    """One open database. Every statement is a transaction of its own, so threads may share it."""

    def __init__(self, path: str, migrations: Sequence[str] = MIGRATIONS, hint: str = _HINT) -> None:
        self.path = path
        self._migrations, self._hint = migrations, hint
        try:
            self._db = self._open()
        except sqlite3.Error as error:
            raise self._explained(error) from error

    def _open(self) -> sqlite3.Connection:
        if not os.path.exists(self.path):
            self._make()
        database = self._connected(self.path)
        (version,) = database.execute("PRAGMA user_version").fetchone()
        if version < len(self._migrations):
            self._migrate(database)
        elif version > len(self._migrations):
            raise MusterError(
                f"`{self.path}` was written by a newer muster (schema {version}, this one knows {len(self._migrations)})",
                hint="upgrade this muster, or set $MUSTER_HOME to another folder",
            )
        # Commits survive the death of this process; only a power cut can take the last ones back.
        database.execute("PRAGMA synchronous = NORMAL")
        return database

    def _make(self) -> None:
        """Made aside, then given its name: whoever opens it, at whatever moment, finds it whole or not there."""
        folder(os.path.dirname(self.path))
        aside = f"{self.path}.{os.urandom(4).hex()}.new"
        try:
            os.close(os.open(aside, os.O_CREAT | os.O_RDWR, 0o600))
            database = self._connected(aside)
            self._migrate(database)
            database.close()
            os.link(aside, self.path)
        except FileExistsError:
            pass  # another process or thread was quicker
        except OSError as error:
            raise unwritable(self.path, error) from error
        finally:
            for path in (aside, f"{aside}-wal", f"{aside}-shm"):
                if os.path.exists(path):
                    os.unlink(path)

    @staticmethod
    def _connected(path: str) -> sqlite3.Connection:
        # Transactions are written out where they are meant, so the module's own are off.
        return sqlite3.connect(path, timeout=60, isolation_level=None, check_same_thread=False)

    def _migrate(self, database: sqlite3.Connection) -> None:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("BEGIN IMMEDIATE")
        (version,) = database.execute("PRAGMA user_version").fetchone()  # another process may have been quicker
        for number, script in enumerate(self._migrations[version:], version + 1):
            for statement in script.split(";"):
                if statement.strip():
                    database.execute(statement)
            database.execute(f"PRAGMA user_version = {number}")
        database.execute("COMMIT")

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        try:
            return self._db.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            raise self._explained(error) from error

    def write(self, sql: str, values: Sequence[Any] = ()) -> int:
        """How many rows it changed; 0 also where a unique value was taken (`INSERT OR IGNORE`)."""
        try:
            return self._db.execute(sql, values).rowcount
        except sqlite3.Error as error:
            raise self._explained(error) from error

    def write_all(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """The same for each of many rows."""
        try:
            self._db.executemany(sql, rows)
        except sqlite3.Error as error:
            raise self._explained(error) from error

    @contextmanager
    def together(self) -> Iterator[None]:
        """What is written within is there as a whole or not at all; for a store that one thread uses."""
        self.write("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self.write("ROLLBACK")
            raise
        self.write("COMMIT")

    def close(self) -> None:
        self._db.close()

    def _explained(self, error: sqlite3.Error) -> MusterError:
        return MusterError(
            f"can't use the database `{self.path}`: {error}",
            hint=self._hint,
        )
