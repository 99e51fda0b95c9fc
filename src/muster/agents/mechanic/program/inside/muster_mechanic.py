"""The mechanic's eyes in a run of pytest: a plugin that says how each test ended, which lines ran, and can fork.

It is given with `-p` and talks to the mechanic only. What it is to do stands in MUSTER_MECHANIC:
`["report", FILE, WISH]` writes what it saw to a file, `["serve", SOCKET]` runs tests in forks of itself as often as asked.
"""

from __future__ import annotations

import copy
import gc
import glob
import json
import os
import select
import signal
import socket
import sys
import time
import warnings
from typing import Any, Iterator  # noqa: UP035 (a project may run an older Python)

import pytest
from muster_mechanic_lines import Lines  # type: ignore[import-not-found]

Wish = dict[str, Any]
_CHILDREN = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "children")
_MEMORY = 2 << 30  # what a candidate may take beyond what a fork starts with


class Watch:
    """One run: how each test ended and, if wanted, which lines it ran."""

    def __init__(self, wish: Wish) -> None:
        self._wish = wish
        self._lines: Lines | None = None
        self.here = self._root = os.getcwd()
        self.top = wish.get("top", self.here)
        folder = os.path.relpath(self.here, self.top)
        self.found: dict[str, Any] = {"collected": [], "reports": [], "lines": {}, "imported": [], "folder": folder}
        if wish.get("trace"):
            self._lines = Lines(self.top, wish["files"], wish["elsewhere"])
            self._lines.start()
            os.environ["MUSTER_MECHANIC_CHILDREN"] = wish["children"]
            os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [_CHILDREN, os.environ.get("PYTHONPATH")]))

    def pytest_configure(self, config: Any) -> None:
        self._root = str(config.rootpath)
        # A project's own `-x` would keep tests from us that were asked for.
        config.option.maxfail = 1 if self._wish.get("fail_fast") else 0
        if self._wish.get("verbose"):
            config.option.verbose = 2

    def name(self, nodeid: str) -> str:
        """A test's id as seen from where pytest was started, whatever it took for its root."""
        path, colons, rest = nodeid.partition("::")
        return os.path.relpath(os.path.join(self._root, path), self.here) + colons + rest

    def pytest_collection_finish(self, session: Any) -> None:
        self.found["collected"] = [self.name(item.nodeid) for item in session.items]
        self.found["tests"] = sorted({self._file(item) for item in session.items if _is_test(item)})
        self._keep("")
        if self._wish.get("collect"):
            session.items.clear()

    def _file(self, item: Any) -> str:
        return os.path.relpath(str(item.path), self.here)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Iterator[None]:
        self._clock(self._wish.get("each", 0))
        yield
        self._clock(0)
        self._keep(self.name(item.nodeid))

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item: Any, call: Any) -> Iterator[None]:
        outcome: Any = yield
        if call.excinfo is not None:
            outcome.get_result().muster_mechanic = self._failure(call.excinfo)

    def _clock(self, seconds: float) -> None:
        """A test that hangs fails where it hangs, so that one can see where."""
        if self._wish.get("each"):
            signal.signal(signal.SIGALRM, _late)
            signal.setitimer(signal.ITIMER_REAL, seconds)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_make_collect_report(self, collector: Any) -> Iterator[None]:
        outcome: Any = yield
        report = outcome.get_result()
        if report.failed and getattr(report, "call", None) is not None and report.call.excinfo is not None:
            report.muster_mechanic = self._failure(report.call.excinfo)

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self._keep(self.name(report.nodeid))
            self._add(report, "collect", 0.0)

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.when == "call" or not report.passed:
            self._add(report, report.when, report.duration)

    def _add(self, report: Any, when: str, seconds: float) -> None:
        one = {"id": self.name(report.nodeid), "when": when, "seconds": seconds, "failed": report.failed}
        if report.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            message = crash.message if crash else str(report.longrepr)[-2000:]
            one.update({"type": "", "message": message, "frames": []}, **getattr(report, "muster_mechanic", {}))
        self.found["reports"].append(one)

    def _failure(self, info: Any) -> dict[str, Any]:
        # A module that can't be imported comes wrapped in pytest's own word for it.
        error = info.value
        while isinstance(error.__cause__, BaseException) and type(error).__name__ == "CollectError":
            error = error.__cause__
        frames, trace = [], error.__traceback__
        while trace is not None:
            frames.append(
                [os.path.relpath(os.path.realpath(trace.tb_frame.f_code.co_filename), self.top), trace.tb_lineno]
            )
            trace = trace.tb_next
        frames = [frame for frame in frames if not str(frame[0]).startswith("..")]
        return {"type": type(error).__name__, "message": str(error)[:20_000], "frames": frames}

    def _keep(self, name: str) -> None:
        """What ran since the last time belongs to this test."""
        if self._lines is None:
            return
        found = self._lines.take()
        for path in glob.glob(os.path.join(os.path.dirname(self._wish["children"]), "child-*.json")):
            with open(path) as file:
                for one, lines in json.load(file).items():
                    found[one] = sorted({*found.get(one, ()), *lines})
            os.unlink(path)
        whole = self.found["lines"].setdefault(name, {})
        for one, lines in found.items():
            whole[one] = sorted({*whole.get(one, ()), *lines})

    def pytest_unconfigure(self) -> None:
        if self._wish.get("trace"):
            other = os.path.realpath(self._wish["elsewhere"] or os.devnull) + os.sep
            self.found["imported"] = [name for name in _imported() if name.startswith(other)]
        self.end()

    def end(self) -> None:
        raise NotImplementedError


class TimeLimit(TimeoutError):
    """Raised by our own clock, wherever the test is at that moment."""


def _late(_number: int, _frame: object) -> None:
    raise TimeLimit("the mechanic's time limit for a test is over")


def _is_test(item: Any) -> bool:
    # A doctest makes no test file of the module that it is in.
    return type(item).__name__ != "DoctestItem"


def _imported() -> list[str]:
    files = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    return sorted({os.path.realpath(file) for file in files if isinstance(file, str)})


class Report(Watch):
    """A run of its own, which writes what it saw to a file."""

    def __init__(self, path: str, wish: Wish) -> None:
        super().__init__(wish)
        self._path = path

    def end(self) -> None:
        with open(self._path + ".new", "w") as file:
            json.dump(self.found, file)
        os.rename(self._path + ".new", self._path)


class Fork(Watch):
    """A run in a fork, which hands what it saw through a pipe and is gone."""

    def __init__(self, pipe: int, wish: Wish) -> None:
        super().__init__(wish)
        self._pipe = pipe

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        self.pytest_unconfigure()

    def end(self) -> None:
        data = json.dumps(self.found).encode() + b"\n"
        while data:
            data = data[os.write(self._pipe, data) :]
        os._exit(0)


class Worker:
    """In a worker of xdist: goes on after a failure, and adds to the reports what the controller can't see any more."""

    def __init__(self) -> None:
        self._watch = Watch({})

    def pytest_configure(self, config: Any) -> None:
        config.option.maxfail = 0

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item: Any, call: Any) -> Iterator[None]:
        # pluggy takes a generator function for a wrapper, and nothing that returns a generator.
        yield from self._watch.pytest_runtest_makereport(item, call)


class Server:
    """A pytest that has got ready, and imported nothing of the program yet; each run is a fork of it.

    It can fork early, before the first conftest, or late, when all is ready to collect: ten times as fast, and right
    where no conftest imports the program.
    """

    def __init__(self, path: str) -> None:
        self._door = socket.socket(socket.AF_UNIX)
        self._door.connect(path)
        self._read = self._door.makefile("rb")
        self._late = False

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_load_initial_conftests(self, early_config: Any, args: list[str], parser: Any) -> Iterator[None]:
        plugins = [name for name, _ in early_config.pluginmanager.list_name_plugin() if isinstance(name, str)]
        self._say({"plugins": plugins, "imported": _imported()})
        answer = self._hear()
        self._late = answer["late"]
        args += answer["extra"]
        if not self._late:
            # From here on we are a fork, which goes on as if these had been the arguments from the start.
            args += self._serve()["tests"]
            early_config.pluginmanager.register(self.watch, "muster_mechanic_watch")
        known = early_config._parser.parse_known_args(args, namespace=copy.copy(early_config.option))
        known.confcutdir = early_config.known_args_namespace.confcutdir
        early_config.known_args_namespace = known
        yield

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self, session: Any) -> None:
        if self._late:
            import pdb  # noqa: F401 (pytest wants it with the first test, so no fork has to)

            self._say({"imported": _imported()})
            if tests := self._serve()["tests"]:  # without any, all that the command names, as at an early fork
                session.config.args[:] = tests
            session.config.pluginmanager.register(self.watch, "muster_mechanic_watch")

    def _hear(self) -> Wish:
        line = self._read.readline()
        if not line:
            os._exit(0)  # the mechanic is gone
        heard: Wish = json.loads(line)
        return heard

    def _say(self, word: Wish) -> None:
        self._door.sendall(json.dumps(word).encode() + b"\n")

    def _serve(self) -> Wish:
        """Fork for each wish; returns in the forks only."""
        gc.collect()
        gc.freeze()
        while True:
            wish = self._hear()
            pipe, end = os.pipe()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # 3.12 warns of threads that a plugin may have
                pid = os.fork()
            if pid == 0:
                os.close(pipe)
                return self._become(wish, end)
            os.close(end)
            self._door.sendall(self._wait(pid, pipe, wish["limit"]))

    def _become(self, wish: Wish, pipe: int) -> Wish:
        os.setsid()
        self._read.close()
        self._door.close()
        sys.dont_write_bytecode = not wish["write"]
        if not wish["write"]:
            os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
        _bound()
        self.watch = Fork(pipe, wish)
        return wish

    def _wait(self, pid: int, pipe: int, limit: float) -> bytes:
        deadline = time.monotonic() + limit
        data, state = b"", "died"
        while not data.endswith(b"\n"):
            left = deadline - time.monotonic()
            door = self._door.fileno()
            ready: list[int] = select.select([pipe, door], [], [], left)[0] if left > 0 else []
            if not ready:
                state = "late"
                break
            if door in ready:
                self._end(pid)
                os._exit(0)  # nothing is asked before the answer: the mechanic is gone
            piece = os.read(pipe, 1 << 20)
            if not piece:
                break
            data += piece
        self._end(pid)
        os.close(pipe)
        return data if data.endswith(b"\n") else json.dumps({state: True}).encode() + b"\n"

    def _end(self, pid: int) -> None:
        # With all that the tests left running.
        for kill, whom in ((os.killpg, pid), (os.kill, pid)):
            try:
                kill(whom, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                pass  # it ended by itself
        os.waitpid(pid, 0)


def _bound() -> None:
    """A candidate that eats memory without end fails at once, and alone."""
    try:
        import resource

        with open("/proc/self/statm") as file:
            used = int(file.read().split()[0]) * resource.getpagesize()
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        resource.setrlimit(resource.RLIMIT_AS, (used + _MEMORY, hard))
    except (ImportError, OSError, ValueError):
        pass  # no /proc: then time alone bounds it


class Door:
    """What is registered first of all: before anything of the project is imported."""

    def __init__(self, path: str, wish: Wish) -> None:
        # Workers of xdist inherit the environment of the run that they work for.
        self._plugin: Any = Worker() if "PYTEST_XDIST_WORKER" in os.environ else Report(path, wish)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_load_initial_conftests(self, early_config: Any) -> Iterator[None]:
        early_config.pluginmanager.register(self._plugin, "muster_mechanic_watch")
        yield


def _entrance() -> Any:
    kind, *words = json.loads(os.environ.get("MUSTER_MECHANIC", '["nothing"]'))
    made: Any = {"serve": Server, "report": Door}.get(kind)
    return made(*words) if made else None


if (_entered := _entrance()) is not None:
    pytest_load_initial_conftests = _entered.pytest_load_initial_conftests
    if isinstance(_entered, Server):
        pytest_collection = _entered.pytest_collection
