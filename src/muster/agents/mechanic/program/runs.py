"""Runs of the tests: each with a time limit, in a process of its own, as a fork of a prepared pytest where that is safe."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from .place import Place

_INSIDE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "inside")
_START = 60.0  # seconds that a pytest may take to get ready
# A run of ours inside a run of pytest is not part of it.
_FOREIGN = ("PYTEST_XDIST", "PYTEST_CURRENT_TEST", "MUSTER_MECHANIC", "COV_CORE_")


class NoPytest(Exception):
    """The command did not run pytest with our plugin."""


@dataclass(frozen=True)
class Failure:
    """Why a test failed."""

    type: str
    message: str
    frames: tuple[tuple[str, int], ...]  # outermost first, below the workspace's top

    @property
    def hung(self) -> bool:
        """Whether our clock ended it: then its last frame is where it was by chance."""
        return self.type == "TimeLimit"


@dataclass
class Result:
    """What was seen of one run."""

    state: str = "ended"  # or `late`, `died`
    passed: set[str] = field(default_factory=set)
    failed: dict[str, Failure] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    collected: list[str] = field(default_factory=list)
    tests: list[str] = field(default_factory=list)  # the files that tests were collected from
    folder: str = "."  # from the workspace's top: where pytest was started, and what the names of tests begin at
    lines: dict[str, dict[str, list[int]]] = field(default_factory=dict)  # by test, then by file
    imported: list[str] = field(default_factory=list)  # modules that came from elsewhere
    said: str = ""
    took: float = 0.0

    def file(self, test: str) -> str:
        """Where a test is, as the files of the program are named."""
        return os.path.normpath(os.path.join(self.folder, test.partition("::")[0]))

    def green(self, test: str) -> bool:
        """A file that could not be collected is green when it can, and something in it passes."""
        if "::" in test:
            return test in self.passed and test not in self.failed
        return test not in self.failed and any(one.startswith(test + "::") for one in self.passed)


def decode(found: Mapping[str, Any]) -> Result:
    """A run, from what the plugin says of it."""
    if "reports" not in found:
        return Result(state="late" if found.get("late") else "died")
    result = Result(
        collected=found["collected"],
        tests=found.get("tests", []),
        folder=found["folder"],
        lines=found["lines"],
        imported=found["imported"],
    )
    for one in found["reports"]:
        name = one["id"]
        result.seconds[name] = result.seconds.get(name, 0.0) + one["seconds"]
        if one["failed"]:
            frames = tuple((str(path), int(line)) for path, line in one["frames"])
            result.failed.setdefault(name, Failure(one["type"], one["message"], frames))
        elif one["when"] == "call":
            result.passed.add(name)
    result.passed -= result.failed.keys()
    return result


@dataclass(frozen=True)
class Wish:
    """One run that is wanted."""

    tests: tuple[str, ...]
    limit: float
    each: float = 0.0  # seconds for one test
    trace: tuple[str, ...] = ()  # the files whose lines are wanted
    write: bool = False  # compiled files may be written
    fail_fast: bool = False
    verbose: bool = False
    collect: bool = False  # only say what there is

    def encode(self, place: Place, scratch: str) -> dict[str, Any]:
        children = os.path.join(scratch, "children.json")
        elsewhere = place.workspace if place.is_copy else ""
        if self.trace:
            with open(children, "w") as file:
                json.dump({"root": place.path, "files": self.trace, "elsewhere": elsewhere}, file)
        wanted = {
            "top": place.path,
            "files": self.trace,
            "children": children,
            "elsewhere": elsewhere,
            "trace": bool(self.trace),
        }
        plain = ("tests", "limit", "each", "write", "fail_fast", "verbose", "collect")
        return {**wanted, **{name: getattr(self, name) for name in plain}}


class Runner(Protocol):
    """Runs one wish at a time in its place."""

    place: Place

    def begin(self, wish: Wish) -> None: ...

    def poll(self) -> Result | None: ...

    def handle(self) -> socket.socket | None: ...

    def close(self) -> None: ...


def environment(place: Place, word: Sequence[object]) -> dict[str, str]:
    env = {name: value for name, value in os.environ.items() if not name.startswith(_FOREIGN)}
    env = place.environment(env)
    env["PYTHONPATH"] = os.pathsep.join(filter(None, [_INSIDE, env.get("PYTHONPATH")]))
    env["MUSTER_MECHANIC"] = json.dumps(word)
    return env


def argv(place: Place, command: Sequence[str]) -> list[str]:
    """The command with our plugin; one that sets PYTHONPATH itself keeps what it sets."""
    words = place.words(command)
    words = [
        word.replace("PYTHONPATH=", f"PYTHONPATH={_INSIDE}{os.pathsep}", 1) if word.startswith("PYTHONPATH=") else word
        for word in words
    ]
    return [*words, "-p", "muster_mechanic"]


def _end(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass  # it ended by itself
    process.wait()


class Cold:
    """Each run is the command, started anew."""

    def __init__(
        self, place: Place, command: Sequence[str], extra: Sequence[str] = (), env: Mapping[str, str] | None = None
    ) -> None:
        self.place = place
        self._command = command
        self._scratch = tempfile.mkdtemp(prefix="muster-run-")
        self._extra = _with_temporary(extra, self._scratch)
        self._env = dict(env or {})
        self._path = os.path.join(self._scratch, "found.json")
        self._process: subprocess.Popen[bytes] | None = None
        self._deadline = self._begun = 0.0

    def begin(self, wish: Wish) -> None:
        if os.path.exists(self._path):
            os.unlink(self._path)
        env = environment(self.place, ["report", self._path, wish.encode(self.place, self._scratch)])
        env.update(self._env)
        if not wish.write:
            env["PYTHONDONTWRITEBYTECODE"] = "1"
        with open(os.path.join(self._scratch, "said"), "wb") as said:
            self._process = subprocess.Popen(
                [*argv(self.place, self._command), *self._extra, *wish.tests],
                cwd=self.place.path,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                start_new_session=True,
            )
        self._begun = time.monotonic()
        self._deadline = self._begun + wish.limit

    def poll(self) -> Result | None:
        assert self._process is not None
        ended = self._process.poll() is not None
        if not ended and time.monotonic() < self._deadline:
            return None
        _end(self._process)
        result = self._result(ended)
        result.took = time.monotonic() - self._begun
        return result

    def _result(self, ended: bool) -> Result:
        with open(os.path.join(self._scratch, "said"), "rb") as file:
            said = file.read()[-4000:].decode(errors="replace")
        if not ended:
            return Result("late", said=said)
        try:
            with open(self._path) as found:
                result = decode(json.load(found))
        except FileNotFoundError:
            result = Result("died")
        result.said = said
        return result

    def handle(self) -> socket.socket | None:
        return None

    def close(self) -> None:
        if self._process is not None:
            _end(self._process)
        _clear(self._scratch)


class Forks:
    """Each run is a fork of one pytest that has started, and imported nothing of the program."""

    def __init__(self, place: Place, command: Sequence[str]) -> None:
        """Start it; before it can run anything it wants to be readied."""
        self.place = place
        self._scratch = tempfile.mkdtemp(prefix="muster-run-")
        self._buffer = bytearray()
        self._begun = self._deadline = 0.0
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(os.path.join(self._scratch, "door"))
        listener.listen(1)
        self._said = os.path.join(self._scratch, "said")
        with open(self._said, "wb") as said:
            self._process = subprocess.Popen(
                argv(place, command),
                cwd=place.path,
                env={"PYTHONHASHSEED": "0", **environment(place, ["serve", os.path.join(self._scratch, "door")])},
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                start_new_session=True,
            )
        self._door = self._accepted(listener)
        word = self._word()
        self.plugins: list[str] = word["plugins"]
        self.imported: list[str] = word["imported"]

    def _accepted(self, listener: socket.socket) -> socket.socket:
        listener.settimeout(0.05)
        deadline = time.monotonic() + _START
        with listener:
            while time.monotonic() < deadline and self._process.poll() is None:
                try:
                    return listener.accept()[0]
                except TimeoutError:
                    pass  # it is still starting
        _end(self._process)
        raise NoPytest(self._last_words())

    def _last_words(self) -> str:
        try:
            with open(self._said, "rb") as file:
                return file.read()[-2000:].decode(errors="replace")
        except OSError:
            return ""

    def ready(self, extra: Sequence[str], late: bool) -> None:
        """Say which options all runs have, and where to fork."""
        self._say({"extra": _with_temporary(extra, self._scratch), "late": late})
        if late:
            self.imported = self._word()["imported"]

    def _say(self, word: Mapping[str, object]) -> None:
        try:
            self._door.sendall(json.dumps(word).encode() + b"\n")
        except OSError as error:
            raise NoPytest("the pytest that forks was lost: " + self._last_words()) from error

    def begin(self, wish: Wish) -> None:
        self._begun = time.monotonic()
        self._deadline = self._begun + wish.limit + 10  # the server keeps the limit; this is for a server that is stuck
        self._say(wish.encode(self.place, self._scratch))

    def poll(self) -> Result | None:
        if not select.select([self._door], [], [], 0)[0]:
            return self._stuck() if time.monotonic() > self._deadline else None
        piece = self._door.recv(1 << 20)
        if not piece:
            return self._stuck()
        self._buffer += piece
        if not self._buffer.endswith(b"\n"):
            return None
        result = decode(json.loads(self._buffer))
        self._buffer.clear()
        result.took = time.monotonic() - self._begun
        return result

    def _stuck(self) -> Result:
        raise NoPytest("the pytest that forks was lost: " + self._last_words())

    def _word(self) -> dict[str, Any]:
        deadline = time.monotonic() + _START
        while not self._buffer.endswith(b"\n"):
            left = deadline - time.monotonic()
            piece = self._door.recv(1 << 16) if left > 0 and select.select([self._door], [], [], left)[0] else b""
            if not piece:
                said = self._last_words()
                self.close()
                raise NoPytest(said)
            self._buffer += piece
        word: dict[str, Any] = json.loads(self._buffer)
        self._buffer.clear()
        return word

    def handle(self) -> socket.socket | None:
        return self._door

    def close(self) -> None:
        self._door.close()
        try:
            self._process.wait(2)  # it sees that we are gone, and ends the fork that it waits for
        except subprocess.TimeoutExpired:
            pass
        _end(self._process)
        _clear(self._scratch)


def _with_temporary(extra: Sequence[str], scratch: str) -> list[str]:
    # pytest would keep the temporary folders of the last runs, and we have thousands.
    return [*extra, *(["--basetemp", os.path.join(scratch, "tmp")] if extra else [])]


def _clear(folder: str) -> None:
    import shutil

    shutil.rmtree(folder, ignore_errors=True)


def one(runner: Runner, wish: Wish) -> Result:
    """Run it, and wait."""
    runner.begin(wish)
    while (result := runner.poll()) is None:
        _await([runner])
    return result


def _await(busy: Iterable[Runner]) -> None:
    handles = [handle for runner in busy if (handle := runner.handle()) is not None]
    select.select(handles, [], [], 0.5 if handles else 0.01)


def several(
    runners: Sequence[Runner], wishes: Iterator[tuple[int, Wish, Mapping[str, bytes]]]
) -> Iterator[tuple[int, Result]]:
    """Run them all, as many at once as there are runners, each with its files laid over; results as they come."""
    idle, busy = list(runners), dict[int, tuple[int, Runner]]()
    try:
        while True:
            while idle and (following := next(wishes, None)) is not None:
                number, wish, texts = following
                runner = idle.pop(0)
                runner.place.lay(texts)
                runner.begin(wish)
                busy[id(runner)] = (number, runner)
            if not busy:
                return
            for number, runner in list(busy.values()):
                if (result := runner.poll()) is not None:
                    del busy[id(runner)]
                    idle.append(runner)
                    yield number, result
            if busy and not idle:
                _await([runner for _, runner in busy.values()])
    finally:
        # Whoever stops listening wants no more work done.
        for _, runner in busy.values():
            while runner.poll() is None:
                _await([runner])
