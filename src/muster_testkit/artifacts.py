"""The folder that a test leaves behind; docs/testkit.md describes it."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from typing import Any, Literal

SCHEMA = 1
Outcome = Literal["passed", "failed", "error", "skipped", "xfailed", "xpassed", "timed-out", "crashed", "running"]


@dataclass
class Meta:
    """A test's `meta.json`."""

    test: str
    file: str
    line: int
    started: float
    pid: int
    session: str  # one run of pytest; the same test again in it is another attempt
    work: str = ""  # the folder where it works, which is gone when it has ended
    schema: int = SCHEMA
    outcome: Outcome = "running"
    seconds: float = 0.0
    attempts: int = 1
    message: str = ""
    blocks: list[str] = field(default_factory=list)
    recordings: list[dict[str, Any]] = field(default_factory=list)
    screens: list[str] = field(default_factory=list)


def slug(test: str) -> str:
    """A name for a test's folder: to be read, and like no other test's."""
    words = re.sub(r"[^A-Za-z0-9_]+", "-", test.replace(".py::", "-")).strip("-")
    return f"{words[-80:].lstrip('-')}-{sha256(test.encode(errors='surrogatepass')).hexdigest()[:8]}"


def write(path: str, value: object) -> None:
    """Write JSON so that whoever reads at any moment finds a whole file."""
    aside = f"{path}.{os.getpid()}.new"
    with open(aside, "w", encoding="utf-8", errors="backslashreplace") as file:
        json.dump(value, file, ensure_ascii=False, indent=1)
    os.replace(aside, path)


def read(path: str) -> dict[str, Any]:
    """That JSON object; empty when there is none."""
    try:
        with open(path, "rb") as file:
            found = json.load(file)
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def begin_run(folder: str, run: str, root: str, started: float, session: str) -> None:
    """Write `run.json`, once in a run of pytest."""
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "run.json")
    if read(path).get("session") != session:
        what = {"schema": SCHEMA, "run": run, "started": started, "finished": None, "root": root}
        write(path, {**what, "session": session})


def finish_run(folder: str, session: str, now: float) -> None:
    """Say that it has ended, if this run of pytest has begun it."""
    path = os.path.join(folder, "run.json")
    if (found := read(path)).get("session") == session:
        write(path, {**found, "finished": now})


def begin(folder: str, meta: Meta) -> Folder:
    """An empty folder for that test; what it left before is set aside or removed."""
    # `--dist each` starts a test at the same moment in several workers, and so may two runs of pytest.
    with open(os.path.join(folder, ".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        path, meta.attempts = _place(folder, slug(meta.test), meta.session)
        return Folder(path, meta)


def _place(folder: str, name: str, session: str) -> tuple[str, int]:
    """Where it goes, and the number of its attempt."""
    path = os.path.join(folder, name)
    for other in [one for one in os.listdir(folder) if one.startswith(f"{name}-")]:
        if not _runs(os.path.join(folder, other)) and _session(os.path.join(folder, other)) != session:
            shutil.rmtree(os.path.join(folder, other), ignore_errors=True)
    if _runs(path):
        path = f"{path}-{os.getpid()}"
    attempt = 1
    if _session(path) == session:
        attempt = int(read(os.path.join(path, "meta.json")).get("attempts", 1)) + 1
        _set_aside(path, attempt - 1)
    else:
        shutil.rmtree(path, ignore_errors=True)
    os.makedirs(path, exist_ok=True)
    return path, attempt


def _runs(path: str) -> bool:
    """Whether the test runs there in this moment, in another process."""
    before = read(os.path.join(path, "meta.json"))
    pid = before.get("pid")
    return before.get("outcome") == "running" and pid != os.getpid() and alive(pid)


def _session(path: str) -> object:
    return read(os.path.join(path, "meta.json")).get("session")


def _set_aside(path: str, attempt: int) -> None:
    into = os.path.join(path, "attempts", str(attempt))
    os.makedirs(into)
    for name in os.listdir(path):
        if name != "attempts":
            os.rename(os.path.join(path, name), os.path.join(into, name))


def alive(pid: object) -> bool:
    """Whether there is such a process."""
    try:
        os.kill(int(str(pid)), 0)
    except (ValueError, OverflowError, ProcessLookupError):
        return False
    except PermissionError:
        return True
    return True


class Folder:
    """One test's folder."""

    def __init__(self, path: str, meta: Meta) -> None:
        self.path = path
        self.meta = meta
        self.save()

    def save(self) -> None:
        from muster_testkit import cast

        self.meta.recordings = cast.listed(self.path)
        self.meta.screens = sorted(f"screens/{name}" for name in self._names("screens") if name.endswith(".txt"))
        write(os.path.join(self.path, "meta.json"), asdict(self.meta))

    def new(self, kind: str, title: str, *endings: str) -> list[str]:
        """Paths for a new numbered file, one per ending; the first is made, so that nobody else takes it."""
        os.makedirs(os.path.join(self.path, kind), exist_ok=True)
        return fresh(os.path.join(self.path, kind), title, *endings)

    def _names(self, kind: str) -> list[str]:
        try:
            return os.listdir(os.path.join(self.path, kind))
        except FileNotFoundError:
            return []


def fresh(folder: str, title: str, *endings: str) -> list[str]:
    """`FOLDER/NN-title.ending`, with the next free number."""
    words = re.sub(r"[^A-Za-z0-9_]+", "-", title).strip("-")[:40].strip("-") or "x"
    number = len({name.partition("-")[0] for name in os.listdir(folder)})
    while True:
        number += 1
        stem = os.path.join(folder, f"{number:02}-{words}")
        if any(name.startswith(f"{number:02}-") for name in os.listdir(folder)):
            continue
        try:
            os.close(os.open(stem + endings[0], os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644))
        except FileExistsError:
            continue
        return [stem + one for one in endings]


def left(path: str) -> str:
    """Where the test worked whose process died before it could clear up; empty if none did."""
    found = read(os.path.join(path, "meta.json"))
    return str(found.get("work", "")) if found.get("outcome") == "running" and not alive(found.get("pid")) else ""


def crashed(path: str, message: str) -> str:
    """Say of a test whose process is gone that it crashed; the folder where it worked is handed back."""
    found = read(os.path.join(path, "meta.json"))
    if found.get("outcome") != "running":
        return ""
    from muster_testkit import cast

    write(
        os.path.join(path, "meta.json"),
        {**found, "outcome": "crashed", "message": message, "recordings": cast.listed(path)},
    )
    return str(found.get("work", ""))
