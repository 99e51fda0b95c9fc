"""A pytest plugin that writes down what is collected and how each test ends, line by line, so that a crash loses nothing.

It stands alone: the project's own interpreter (Python 3.8 and later) and pytest (7 and later) run it, by `-p muster_probe`.
What it is to do stands in the variables MUSTER_PROBE*, which are gone before the project's own code is imported.
"""

from __future__ import annotations

import ast
import inspect
import json
import os
import sys
import time
import warnings
from typing import Any, Iterable, Iterator  # noqa: UP035 (Python 3.8 runs this)

import pytest

# Whatever the project's `addopts` say: one process, all the tests that were asked for, and nobody at a prompt.
FORCED = {
    "numprocesses": 0,
    "maxfail": 0,
    "continue_on_collection_errors": True,
    "usepdb": False,
    "trace": False,
    "stepwise": False,
    "lf": False,
    "failedfirst": False,
    "newfirst": False,
    "randomly_reorganize": False,
    "randomly_seed": int(os.environ.get("PYTHONHASHSEED") or 0) + 1,
    "random_order_enabled": False,
    "random_order_bucket": "none",
}
MESSAGE_MAX, TEXT_MAX, FRAMES_MAX = 4000, 30000, 60
_SECTION = "tutorial block:"


def plain(text: object, limit: int) -> str:
    """Text that any encoder takes, its middle cut out where it is long."""
    whole = str(text).encode("utf-8", "backslashreplace").decode()
    if len(whole) <= limit:
        return whole
    half = limit // 2
    return f"{whole[:half]}\n... {len(whole) - 2 * half} characters left out ...\n{whole[-half:]}"


# -- what a test says of itself ----------------------------------------------------------------------------------------


def section(doc: str) -> list[str]:
    """The blocks under `Tutorial block:` in a docstring."""
    blocks: list[list[str]] = []
    inside = False
    for line in inspect.cleandoc(doc).splitlines():
        if line.lower().startswith(_SECTION):
            inside = True
            blocks.append([line[len(_SECTION) :].strip()])
        elif inside and (not line.strip() or line[0].isspace()):
            blocks[-1].append(line)
        else:
            inside = False
    return [
        text
        for text in ("\n".join([one[0], inspect.cleandoc("\n" + "\n".join(one[1:]))]).strip() for one in blocks)
        if text
    ]


def _cited(call: ast.Call) -> str | None:
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "write_tutorial_block" or not call.args:
        return None
    first: ast.expr = call.args[0]
    if isinstance(first, ast.Call) and first.args:  # dedent("..."), inspect.cleandoc("...")
        first = first.args[0]
    if isinstance(first, ast.Constant) and isinstance(first.value, str):
        return inspect.cleandoc(first.value)
    return None


class Sources:
    """The functions of each source file, read once."""

    def __init__(self) -> None:
        self.known: dict[str, dict[tuple[str, int], list[str]]] = {}

    def blocks(self, file: str, name: str, line: int) -> list[str]:
        """The tutorial blocks that the function which starts there writes."""
        if file not in self.known:
            self.known[file] = self._read(file)
        return self.known[file].get((name, line), [])

    def _read(self, file: str) -> dict[tuple[str, int], list[str]]:
        try:
            with open(file, "rb") as handle:
                source = handle.read()
            if b"write_tutorial_block" not in source:
                return {}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of the file's own syntax: the project decides about those
                tree = ast.parse(source)
        except (OSError, ValueError, SyntaxError):
            return {}
        found = {}
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
                calls = sorted((one for one in ast.walk(node) if isinstance(one, ast.Call)), key=lambda one: one.lineno)
                found[(node.name, first)] = [text for text in map(_cited, calls) if text is not None]
        return found


# -- what a failure says -----------------------------------------------------------------------------------------------


def _words(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 (the project's own `__str__` may do anything)
        return "(its text could not be had)"


class Probe:
    """One run, as a file of JSON lines."""

    def __init__(self, path: str) -> None:
        self.file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self.pid = os.getpid()
        self.clock = time.monotonic  # kept, for a test may stop the clock
        self.top = os.path.realpath(os.environ.pop("MUSTER_PROBE_TOP", "") or os.getcwd())
        self.origins = [one for one in os.environ.pop("MUSTER_PROBE_ORIGINS", "").split(",") if one]
        self.only: list[str] | None = None
        wanted = os.environ.pop("MUSTER_PROBE_ONLY", "")
        if wanted:
            with open(wanted, encoding="utf-8") as handle:
                self.only = json.load(handle)
        self.sources = Sources()
        self.reports: dict[str, list[Any]] = {}

    def write(self, **event: Any) -> None:
        # A test may fork; what its child goes through is not ours to tell.
        if os.getpid() == self.pid:
            data = (json.dumps(event, ensure_ascii=True) + "\n").encode()
            while data:
                data = data[os.write(self.file, data) :]

    def inside(self, path: object) -> str:
        """That file from the checkout's top; empty where it is not the project's."""
        real = os.path.realpath(str(path))
        if not real.startswith(self.top + os.sep):
            return ""
        relative = real[len(self.top) + 1 :]
        return "" if "site-packages" in relative.split(os.sep) else relative.replace(os.sep, "/")

    def failure(self, error: BaseException) -> dict[str, Any]:
        frames = []
        trace = error.__traceback__
        while trace is not None:
            code = trace.tb_frame.f_code
            file = self.inside(code.co_filename) if not code.co_filename.startswith("<") else ""
            if file:
                frames.append([file, trace.tb_lineno, code.co_name])
            trace = trace.tb_next
        if len(frames) > FRAMES_MAX:  # endless recursion
            frames = frames[: FRAMES_MAX // 2] + frames[-FRAMES_MAX // 2 :]
        return {
            "exception": type(error).__qualname__,
            "message": plain(_words(error), MESSAGE_MAX),
            "frames": frames,
        }

    # -- collecting

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        config = session.config
        self.write(
            kind="start",
            rootdir=str(config.rootpath),
            config=str(config.inipath or ""),
            testpaths=list(config.getini("testpaths")),
            python_files=list(config.getini("python_files")),
            python_classes=list(config.getini("python_classes")),
            python_functions=list(config.getini("python_functions")),
            paths=[str(one) for one in getattr(config.option, "file_or_dir", None) or []],
        )

    def pytest_collectstart(self, collector: pytest.Collector) -> None:
        if isinstance(collector, pytest.File):
            self.write(kind="opening", file=self.inside(collector.path))

    def pytest_exception_interact(self, call: Any, report: Any) -> None:
        if isinstance(report, pytest.CollectReport) and call.excinfo is not None:
            error = call.excinfo.value
            # pytest wraps what went wrong in a module's import into a `CollectError` of its own.
            report.muster_failure = self.failure(error.__cause__ or error)  # type: ignore[attr-defined]

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            location = report.fspath if isinstance(report.fspath, str) else str(report.fspath or "")
            self.write(
                kind="error",
                id=plain(report.nodeid, TEXT_MAX),
                file=location,
                text=plain(report.longreprtext, TEXT_MAX),
                **getattr(report, "muster_failure", {"exception": "", "message": "", "frames": []}),
            )

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
        yield
        if self.only is None:
            return
        # After all others, so that no plugin changes what is run, or in which order.
        place = {name: number for number, name in enumerate(self.only)}
        chosen = [item for item in items if plain(item.nodeid, TEXT_MAX) in place]
        others = [item for item in items if plain(item.nodeid, TEXT_MAX) not in place]
        if others:
            config.hook.pytest_deselected(items=others)
        items[:] = sorted(chosen, key=lambda item: place[plain(item.nodeid, TEXT_MAX)])

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        if self.only is None:
            for item in session.items:
                self.write(kind="item", **self.about(item))
        manager = session.config.pluginmanager
        files = [getattr(plugin, "__file__", None) or "" for _, plugin in manager.list_name_plugin() if plugin]
        conftests = {self.inside(file) for file in files if os.path.basename(file) == "conftest.py"}
        ids = [plain(item.nodeid, TEXT_MAX) for item in session.items] if self.only is not None else []
        self.write(kind="collected", conftests=sorted(conftests - {""}), ids=ids, at=self.clock())
        # Also where nothing is run, as with --collect-only.
        self.write(kind="origins", origins=self.where())

    def about(self, item: pytest.Item) -> dict[str, Any]:
        path = str(item.path)
        function = inspect.unwrap(getattr(item, "function", None) or about_nothing)
        doc = getattr(function, "__doc__", None) or ""
        doc = inspect.cleandoc(doc) if isinstance(doc, str) else ""
        blocks = section(doc)
        code = getattr(function, "__code__", None)
        if code is not None and function is not about_nothing:
            blocks += self.sources.blocks(code.co_filename, function.__name__, code.co_firstlineno)
        line = item.location[1]
        return {
            "id": plain(item.nodeid, TEXT_MAX),
            "file": self.inside(path) or path,
            "line": 0 if line is None else line + 1,
            "doc": plain(doc, TEXT_MAX),
            "blocks": [plain(one, TEXT_MAX) for one in dict.fromkeys(blocks)],
        }

    def where(self) -> dict[str, list[str]]:
        """Where each package in question was imported from, if it was."""
        found = {}
        for name in self.origins:
            module = sys.modules.get(name)
            if module is not None:
                file, folders = getattr(module, "__file__", None), getattr(module, "__path__", None)
                # A test may have put anything there.
                parts = list(folders) if isinstance(folders, Iterable) else []
                found[name] = [file] if isinstance(file, str) else [one for one in parts if isinstance(one, str)]
        return found

    # -- running

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.reports[nodeid] = []
        self.write(kind="begin", id=plain(nodeid, TEXT_MAX), at=self.clock())

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, call: Any) -> Iterator[None]:
        outcome = yield
        if call.excinfo is not None:
            report = outcome.get_result()  # type: ignore[attr-defined]
            report.muster_failure = self.failure(call.excinfo.value)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.outcome == "rerun":  # type: ignore[comparison-overlap] # as pytest-rerunfailures has it
            self.reports[report.nodeid] = []
        else:
            self.reports.setdefault(report.nodeid, []).append(report)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        reports = self.reports.pop(nodeid, [])
        ending, decisive = verdict(reports)
        said = getattr(decisive, "muster_failure", None) if ending in ("failed", "error") else None
        self.write(
            kind="end",
            id=plain(nodeid, TEXT_MAX),
            at=self.clock(),
            ending=ending,
            seconds=sum(getattr(one, "duration", 0.0) for one in reports),
            text=plain(told(decisive, ending), TEXT_MAX),
            **(said or {"exception": "", "message": "", "frames": []}),
        )

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        self.write(kind="origins", origins=self.where())
        self.write(kind="done", code=int(exitstatus))


def about_nothing() -> None:
    pass


def verdict(reports: list[Any]) -> tuple[str, Any]:
    """How a test ended, and the report that says so; what went wrong first counts."""
    for report in reports:
        if report.outcome == "failed":
            return ("failed" if report.when == "call" else "error"), report
    # A part of a test (`subtests`) may be skipped without the test being so.
    whole = [one for one in reports if not type(one).__name__.lower().startswith("subtest")]
    for report in whole:
        if report.outcome == "skipped":
            return ("xfailed" if hasattr(report, "wasxfail") else "skipped"), report
    for report in whole:
        if report.when == "call":
            return ("xpassed" if hasattr(report, "wasxfail") else "passed"), report
    return "error", None


def told(report: Any, ending: str) -> str:
    """What pytest would print of it."""
    if report is None or ending == "passed":
        return ""
    if isinstance(report.longrepr, tuple):
        return str(report.longrepr[-1])
    captured = "".join(f"\n--- {name} ---\n{text}" for name, text in report.sections) if report.failed else ""
    return str(report.longreprtext) + captured


# -- its way into pytest -----------------------------------------------------------------------------------------------


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    # We give a cache folder of our own; where the project has switched the cache off, the setting would be unknown.
    if not pluginmanager.hasplugin("cacheprovider"):
        parser.addini("cache_dir", "unused")


@pytest.hookimpl(hookwrapper=True)
def pytest_cmdline_main(config: pytest.Config) -> Iterator[None]:
    for name, value in FORCED.items():
        if hasattr(config.option, name):
            setattr(config.option, name, value)
    yield


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    path = os.environ.pop("MUSTER_PROBE", "")
    if path and not hasattr(early_config, "workerinput"):
        early_config.pluginmanager.register(Probe(path), "muster_probe_run")
