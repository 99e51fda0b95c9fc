"""The pytest plugin. What only tests with `e2e` need is imported by the first of them."""

from __future__ import annotations

import os
import time
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from muster_testkit.artifacts import Folder, Outcome
    from muster_testkit.model import Model
    from muster_testkit.session import E2eSession

_FOLDER = pytest.StashKey["Folder"]()
_SESSION = pytest.StashKey["E2eSession"]()
_RUN = pytest.StashKey[dict[str, Any]]()
DEFAULT = ".muster/artifacts"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("muster", "artifacts of end-to-end tests")
    group.addoption(
        "--muster-artifacts", metavar="DIR", help=f"keep what tests with `e2e` leave there (default: {DEFAULT})"
    )
    group.addoption("--muster-run", metavar="NAME", default="latest", help="as this run (default: latest)")
    parser.addini("muster_artifacts", "folder for what tests with `e2e` leave", default=DEFAULT)


def _run(config: pytest.Config) -> dict[str, Any]:
    """When this run of pytest began, and its name; the same in all workers of a parallel one."""
    if _RUN not in config.stash:
        given = getattr(config, "workerinput", {}).get("muster_testkit")
        now = time.time()
        config.stash[_RUN] = given or {"started": now, "session": f"{os.getpid()}-{time.time_ns()}"}
    return config.stash[_RUN]


def _folder(config: pytest.Config) -> str:
    """The folder of this run."""
    name = config.getoption("--muster-run")
    if not name or name.startswith(".") or "/" in name or "\0" in name:
        raise pytest.UsageError(f"`--muster-run {name}`: it must be the name of a folder")
    place = config.getoption("--muster-artifacts") or config.getini("muster_artifacts")
    return os.path.join(config.rootpath, place, name)


def pytest_configure(config: pytest.Config) -> None:
    _folder(config)  # a wrong option is said at once
    _run(config)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """A worker of pytest-xdist starts."""
    node.workerinput["muster_testkit"] = _run(node.config)


@pytest.fixture
def e2e(request: pytest.FixtureRequest) -> Iterator[E2eSession]:
    """A command-line program's test: `e2e.run(...)`, `e2e.terminal(...)`."""
    from muster_testkit.session import E2eSession

    folder = _begin(request)
    session = E2eSession(folder)
    request.node.stash[_FOLDER] = folder
    request.node.stash[_SESSION] = session
    folder.save()
    try:
        yield session
    finally:
        session.close()
        folder.meta.work = ""
        folder.meta.seconds = time.time() - folder.meta.started
        if folder.meta.outcome == "running":
            # No report was made of it: the whole run was interrupted.
            folder.meta.outcome, folder.meta.message = "error", "interrupted"
        folder.save()


@pytest.fixture
def scripted_model() -> Iterator[Model]:
    """A model on loopback that answers by a script: `scripted_model.script([{"text": "Hello."}])`."""
    from muster_testkit.model import serve

    with serve() as model:
        yield model


def _begin(request: pytest.FixtureRequest) -> Folder:
    from muster_testkit import artifacts
    from muster_testkit.session import clear
    from muster_testkit.tutorial.citations import cited, section

    config, item = request.config, request.node
    run, place = _run(config), _folder(config)
    artifacts.begin_run(place, os.path.basename(place), str(config.rootpath), run["started"], run["session"])
    if work := artifacts.left(os.path.join(place, artifacts.slug(item.nodeid))):
        clear(work)
    file, line, _ = item.location
    meta = artifacts.Meta(
        test=item.nodeid,
        file=file,
        line=(line or 0) + 1,
        started=time.time(),
        pid=os.getpid(),
        session=run["session"],
        blocks=list(dict.fromkeys(cited(section(getattr(request.function, "__doc__", None) or "") or ""))),
    )
    return artifacts.begin(place, meta)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if (folder := item.stash.get(_FOLDER, None)) is not None:
        if report.failed and (session := item.stash.get(_SESSION, None)) is not None and report.when != "teardown":
            session.failed()
        _note(folder, report, call)
        if report.when == "teardown":
            del item.stash[_FOLDER], item.stash[_SESSION]
    return report


def _note(folder: Folder, report: pytest.TestReport, call: pytest.CallInfo[None]) -> None:
    meta = folder.meta
    if (outcome := _outcome(report, call)) and meta.outcome in ("running", "passed", "skipped", "xfailed", "xpassed"):
        meta.outcome = outcome
        meta.message = "" if outcome in ("passed", "xpassed") else report.longreprtext
        if outcome in ("skipped", "xfailed"):
            meta.message = str(getattr(report, "wasxfail", "") or _reason(report))
    meta.seconds = time.time() - meta.started
    folder.save()


def _outcome(report: pytest.TestReport, call: pytest.CallInfo[None]) -> Outcome | None:
    """What a phase of the test says of all of it; None if nothing."""
    expected = hasattr(report, "wasxfail")
    if report.failed:
        words = str(call.excinfo.value) if call.excinfo else ""
        if words.startswith("Timeout (>") and "pytest-timeout" in words:
            return "timed-out"
        return "failed" if report.when == "call" else "error"
    if report.skipped:
        return "xfailed" if expected else "skipped"
    if report.when == "call":
        return "xpassed" if expected else "passed"
    return None


def _reason(report: pytest.TestReport) -> str:
    words = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longreprtext
    return words.removeprefix("Skipped: ")


@pytest.hookimpl(optionalhook=True)
def pytest_handlecrashitem(crashitem: str, report: pytest.TestReport, sched: Any) -> None:
    """A worker of pytest-xdist died while it ran that test."""
    from muster_testkit import artifacts

    config: pytest.Config = sched.config
    path = os.path.join(_folder(config), artifacts.slug(crashitem))
    if work := artifacts.crashed(path, report.longreprtext):
        from muster_testkit.session import clear

        clear(work)


def pytest_sessionfinish(session: pytest.Session) -> None:
    config = session.config
    if hasattr(config, "workerinput") or not os.path.exists(os.path.join(_folder(config), "run.json")):
        return
    from muster_testkit import artifacts

    artifacts.finish_run(_folder(config), _run(config)["session"], time.time())
