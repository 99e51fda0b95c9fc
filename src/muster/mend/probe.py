"""One pytest process with muster's plugin in it, and what that wrote down."""

from __future__ import annotations

import os
import re
import signal
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import msgspec
from msgspec import Struct

from muster.core import paths, proc
from muster.mend import Ending, Frame, checkout
from muster.mend.editable import within
from muster.mend.environment import Environment
from muster.mend.project import HERE

# So long may pytest take until it has collected, whatever a test may take.
PATIENCE = 300.0
_TAIL = 8000
# So long may a process that hangs take to say where.
_LAST_WORDS = 3.0
_FAULT_LINE = re.compile(r'^  File "(.+)", line (\d+) in (.+)$')
_HOME = ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CONFIG_DIRS")
_SCREEN = ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "PY_COLORS")


class Layout(Struct, frozen=True):
    """How pytest is called, so that every run has the ids of the collection; paths are from the checkout's top."""

    folder: str = "."  # where it runs
    rootdir: str = ""
    config: str = ""
    args: tuple[str, ...] = ()  # the user's, and of the paths only those that can't be told from other words
    paths: bool = False  # whether there are such paths

    def file(self, test: str) -> str:
        """Where that test is, from the checkout's top; what names a test begins at pytest's own root."""
        return os.path.normpath(os.path.join(self.rootdir, test.partition("::")[0]))


class _Event(Struct, frozen=True, tag_field="kind", tag=str.lower):
    pass


class Start(_Event, frozen=True):
    rootdir: str
    config: str
    testpaths: tuple[str, ...]
    python_files: tuple[str, ...]
    python_classes: tuple[str, ...]
    python_functions: tuple[str, ...]
    paths: tuple[str, ...]


class Opening(_Event, frozen=True):
    file: str


class Item(_Event, frozen=True):
    id: str
    file: str
    line: int
    doc: str
    blocks: tuple[str, ...]


class Error(_Event, frozen=True):
    id: str
    file: str
    text: str
    exception: str
    message: str
    frames: tuple[tuple[str, int, str], ...]


class Collected(_Event, frozen=True):
    conftests: tuple[str, ...]
    ids: tuple[str, ...]
    at: float


class Origins(_Event, frozen=True):
    origins: dict[str, tuple[str, ...]]


class Begin(_Event, frozen=True):
    id: str
    at: float


class End(_Event, frozen=True):
    id: str
    at: float
    ending: Ending
    seconds: float
    exception: str
    message: str
    frames: tuple[tuple[str, int, str], ...]
    text: str


class Done(_Event, frozen=True):
    code: int


Event = Start | Opening | Item | Error | Collected | Origins | Begin | End | Done
_DECODER = msgspec.json.Decoder(Event)


class Ended(Struct, frozen=True):
    """How such a process ended, and all it wrote."""

    events: tuple[Event, ...]
    code: int
    timed_out: bool
    said: str  # the end of what it printed


def run(
    environment: Environment,
    layout: Layout,
    words: Sequence[str],
    *,
    only: Sequence[str] | None = None,
    limit: float = PATIENCE,
    seed: int = 0,
) -> Ended:
    """Run pytest once in that environment; a test that takes longer than the limit ends it, with all it has started."""
    with _room() as room:
        env = variables(environment.env, room, seed)
        env["MUSTER_PROBE"], env["MUSTER_PROBE_TOP"] = f"{room}/events", environment.top
        env["MUSTER_PROBE_ORIGINS"] = ",".join(environment.project.packages)
        if only is not None:
            paths.write(f"{room}/only", msgspec.json.encode(only))
            env["MUSTER_PROBE_ONLY"] = f"{room}/only"
        argv = [environment.python, "-m", "pytest", *_settled(environment, layout), *layout.args, *words]
        argv += ["-p", "muster_probe", "-o", f"cache_dir={room}/cache"]
        folder = os.path.join(environment.top, layout.folder)
        return _followed(argv, folder if os.path.isdir(folder) else environment.top, env, room, limit)


def _settled(environment: Environment, layout: Layout) -> list[str]:
    # Found anew from the arguments of each run, they might be others.
    words = [f"--rootdir={os.path.join(environment.top, layout.rootdir)}"] if layout.rootdir else []
    return [*words, *(["-c", os.path.join(environment.top, layout.config)] if layout.config else [])]


def variables(env: Mapping[str, str], room: str, seed: int) -> dict[str, str]:
    """Those variables with a home and a temporary folder of the run's own, and one order of hashes."""
    kept = {name: value for name, value in env.items() if name not in (*_HOME, *_SCREEN)}
    return {**kept, "HOME": f"{room}/home", "TMPDIR": f"{room}/tmp", "PYTHONHASHSEED": str(seed)}


@contextmanager
def _room() -> Iterator[str]:
    # A socket's path is short, so this is not below the checkout.
    room = tempfile.mkdtemp(prefix="muster-")
    try:
        for name in ("home", "tmp"):
            os.mkdir(f"{room}/{name}", 0o700)
        yield room
    finally:
        checkout.remove(room)


def _followed(argv: Sequence[str], folder: str, env: Mapping[str, str], room: str, limit: float) -> Ended:
    shell = ["sh", "-c", 'cd "$1" && shift && exec "$@"', "sh", folder, *argv]
    with open(f"{room}/out", "wb") as out:
        process = proc.start(HERE, shell, stdin=proc.DEVNULL, stdout=out.fileno(), stderr=out.fileno(), env=dict(env))
    story = _Story(f"{room}/events", limit)
    try:
        timed_out = _wait(process, story)
        if timed_out:
            _abort(process)
    finally:
        # Also what a test has left running.
        proc.end_tree(process.pid)
        process.wait()
    story.read()
    return Ended(tuple(story.events), process.returncode, timed_out, _tail(f"{room}/out"))


def _wait(process: proc.Process, story: _Story) -> bool:
    """Whether the time was up before it ended."""
    while True:
        # What has been collected brings the deadline closer, so it is looked at anew before a test's time can be up.
        now = time.monotonic()
        if proc.wait(process, max(0.0, min(story.deadline - now, story.limit))) is not None:
            return False
        story.read()
        if story.deadline <= time.monotonic():
            return True


def _abort(process: proc.Process) -> None:
    """End what hangs so that Python's fault handler, which pytest switches on, says where."""
    pids = proc.tree(process.pid)
    os.kill(process.pid, signal.SIGABRT)
    proc.wait(process, _LAST_WORDS)
    for one in pids:
        if one != process.pid and proc.alive(one):
            proc.end_tree(one)


class _Story:
    """The events so far, and until when the next must come."""

    def __init__(self, path: str, limit: float) -> None:
        self.path, self.limit = path, limit
        self.events: list[Event] = []
        self.deadline = time.monotonic() + max(limit, PATIENCE)
        self._read = 0

    def read(self) -> None:
        try:
            with open(self.path, "rb") as file:
                file.seek(self._read)
                data = file.read()
        except FileNotFoundError:
            return
        whole = data[: data.rfind(b"\n") + 1]
        self._read += len(whole)
        for line in whole.splitlines():
            event = _DECODER.decode(line)
            self.events.append(event)
            if isinstance(event, Begin | End | Collected):
                self.deadline = event.at + self.limit


def _tail(path: str) -> str:
    with open(path, "rb") as file:
        file.seek(max(0, os.path.getsize(path) - _TAIL))
        return file.read().decode(errors="replace").strip()


def frames(rows: Sequence[tuple[str, int, str]]) -> tuple[Frame, ...]:
    """As the pipeline knows them."""
    return tuple(Frame(*row) for row in rows)


def fault(environment: Environment, said: str) -> tuple[Frame, ...]:
    """Where Python was when it died, as its fault handler printed it and as far as that is in the project; outermost first."""
    found = []
    for line in said.rpartition("Current thread")[2].partition("\n\n")[0].splitlines():
        if match := _FAULT_LINE.match(line):
            file = within(match[1], environment.top, environment.prefix)
            found += [Frame(file, int(match[2]), match[3])] if file and "site-packages" not in file else []
    return tuple(reversed(found))
