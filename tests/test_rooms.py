"""Imports point downwards only, and each side effect has one home."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src"
# From top to bottom; rooms of one line are siblings and don't know each other.
FLOORS = (
    ("cli", "web", "tui"),
    ("mend", "tutorial", "skills"),
    ("fleet",),
    ("traces",),
    ("agents",),
    ("hosts",),
    ("core",),
    ("errors", "muster"),
)
DEPTH = {room: depth for depth, rooms in enumerate(FLOORS) for room in rooms}

# The test kit stands alone on the standard library, pytest and what draws its screen; of muster, only faces and pages know it.
KIT = "muster_testkit"
KIT_STANDS_ON = {KIT, "pytest", "pyte", "wcwidth"}
KNOW_THE_KIT = ("muster/cli/", "muster/mend/report/", "muster/tutorial/")

# The package's front door names types of the rooms that it opens when asked.
OPENS_ROOMS = "muster/__init__.py"

# What may be done in one place only: the place, and who else may, with the reason.
HOMES: dict[str, dict[str, str]] = {
    "processes": {
        "muster/core/proc.py": "its home",
        "muster/agents/scripted/program/processes.py": "a program of its own, which an agent runs; it imports nothing of muster",
        "muster/agents/mechanic/program/runs.py": "a program of its own: it runs tests",
        "muster/agents/mechanic/program/repository.py": "a program of its own: it runs git",
        "muster/agents/mechanic/program/inside/muster_mechanic.py": "a plugin of pytest, which forks itself",
        "muster_testkit/run.py": "the kit's home of commands",
        "muster_testkit/terminal.py": "the kit's home of programs on terminals",
        "muster_testkit/record.py": "a program of its own, which a test leaves in the background",
        "muster_testkit/processes.py": "`ps`, where there is no /proc",
    },
    "threads": {
        "muster/core/fan.py": "its home",
        "muster/agents/mechanic/program/inside/muster_mechanic_lines.py": "sees the lines of the threads of others",
        "muster_testkit/terminal.py": "a program waits if nobody reads its terminal",
        "muster_testkit/model/server.py": "its server answers each request in a thread",
        "muster_testkit/model/model.py": "answers wait at gates, and a test waits for requests",
        "muster_testkit/page/serve.py": "its server answers each request in a thread, and one of them looks at the folder",
    },
    "SQLite": {"muster/core/store.py": "its home"},
    "printing": {
        "muster/core/out.py": "its home",
        "muster/agents/scripted/program/agent.py": "a program of its own: it says what is wrong with its command line",
        "muster/agents/mechanic/program/agent.py": "a program of its own: it says what is wrong with its command line",
        "muster/agents/mechanic/program/talk.py": "a program of its own: its screen is what it prints",
        "muster_testkit/__main__.py": "the kit's own command line",
        "muster_testkit/tutorial/face.py": "the kit's own command line",
        "muster_testkit/page/command.py": "the kit's own command line",
        "muster_testkit/model/command.py": "the kit's own command line",
        "muster/cli/__init__.py": "`--version` must not pay for importing a room",
    },
}
MODULES = {
    "subprocess": "processes",
    "multiprocessing": "processes",
    "pty": "processes",
    "threading": "threads",
    "_thread": "threads",
    "concurrent": "threads",
    "asyncio": "threads",
    "sqlite3": "SQLite",
}
CALLS = {
    "os.system": "processes",
    "os.popen": "processes",
    "os.fork": "processes",
    "os.forkpty": "processes",
    "os.posix_spawn": "processes",
    "os.posix_spawnp": "processes",
    "print": "printing",
    "click.echo": "printing",
    "click.secho": "printing",
    "sys.stdout.write": "printing",
    "sys.stderr.write": "printing",
}


# A project of its own, which is data here.
SAMPLE = "muster/mend/demo/sample/"


def files(package: str) -> list[str]:
    found = sorted(str(path.relative_to(SOURCE)) for path in (SOURCE / package).rglob("*.py"))
    return [name for name in found if not name.startswith(SAMPLE)]


def imports(file: str, tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Every module that a file imports anywhere in it, with the line; `from a import b` counts as `a.b`."""
    package = file.split("/")[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            yield from ((node.lineno, f"{module}.{alias.name}") for alias in node.names)


def calls(tree: ast.AST) -> Iterator[tuple[int, str]]:
    return ((node.lineno, ast.unparse(node.func)) for node in ast.walk(tree) if isinstance(node, ast.Call))


def room(module: str) -> str:
    """`muster.core.git` is in `core`; what is not in a room is the front door itself."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in DEPTH else "muster"


def wrong_way(file: str, source: str) -> list[str]:
    if file == OPENS_ROOMS:
        return []
    here = room(file.removesuffix(".py").replace("/", "."))
    if here == "muster" and file not in ("muster/__main__.py", "muster/errors.py"):
        return [f"{file}:1 is in no room"]
    faults = []
    for line, module in imports(file, ast.parse(source)):
        if module.partition(".")[0] != "muster" or file == "muster/__main__.py":
            continue
        there = room(module)
        if there != here and DEPTH[there] <= DEPTH[here]:
            way = "sideways" if DEPTH[there] == DEPTH[here] else "up"
            faults.append(f"{file}:{line} points {way}: `{here}` imports `{module}`")
    return faults


def effects(source: str) -> Iterator[tuple[int, str, str]]:
    """Line, side effect, and what does it."""
    tree = ast.parse(source)
    for line, module in imports("", tree):
        if effect := MODULES.get(module.partition(".")[0]):
            yield line, effect, f"imports `{module.partition('.')[0]}`"
    for line, name in calls(tree):
        if effect := CALLS.get(name):
            yield line, effect, f"calls `{name}`"


def test_imports_point_downwards() -> None:
    assert not [fault for file in files("muster") for fault in wrong_way(file, (SOURCE / file).read_text())]


def kit_faults(file: str, source: str) -> list[str]:
    found = {(line, module.partition(".")[0]) for line, module in imports(file, ast.parse(source))}
    if file.startswith(KIT):
        known = KIT_STANDS_ON | sys.stdlib_module_names
        return [f"{file}:{line} the kit imports `{name}`" for line, name in sorted(found) if name not in known]
    if file.startswith(KNOW_THE_KIT):
        return []
    return [f"{file}:{line} imports the kit" for line, name in sorted(found) if name == KIT]


def test_the_kit_stands_alone() -> None:
    both = [*files("muster"), *files(KIT)]
    assert not [fault for file in both for fault in kit_faults(file, (SOURCE / file).read_text())]


def test_what_ties_the_kit_is_found() -> None:
    assert kit_faults("muster_testkit/x.py", "def f():\n    from muster.core import git")
    assert kit_faults("muster_testkit/x.py", "import click")
    assert kit_faults("muster/core/x.py", "import muster_testkit.tutorial")
    assert not kit_faults("muster_testkit/x.py", "import os, pytest\nfrom muster_testkit import errors")
    assert not kit_faults("muster/cli/x.py", "import muster_testkit.tutorial")


def test_side_effects_stay_in_their_homes() -> None:
    found = {file: [*effects((SOURCE / file).read_text())] for file in [*files("muster"), *files(KIT)]}
    strays = [(file, *one) for file, those in found.items() for one in those if file not in HOMES[one[1]]]
    assert not [f"{file}:{line} {what}: {effect}" for file, line, effect, what in strays]
    needless = [
        f"{file} needs no exception for {effect}"
        for effect, places in HOMES.items()
        for file in places
        if effect not in {name for _, name, _ in found[file]}
    ]
    assert not needless


@pytest.mark.parametrize(
    ("file", "source", "fault"),
    [
        ("muster/core/git.py", "from muster.agents import Agent", "muster/core/git.py:1 points up"),
        ("muster/core/git.py", "def f():\n    import muster.fleet", "muster/core/git.py:2 points up"),
        ("muster/core/git.py", "from ..cli import app", "muster/core/git.py:1 points up"),
        ("muster/core/git.py", "from muster import Fleet, fleet", "muster/core/git.py:1 points up"),
        ("muster/cli/list.py", "import muster.web.page", "muster/cli/list.py:1 points sideways"),
        ("muster/helpers/x.py", "", "muster/helpers/x.py:1 is in no room"),
    ],
)
def test_a_wrong_import_is_found(file: str, source: str, fault: str) -> None:
    assert [one for one in wrong_way(file, source) if one.startswith(fault)]


def test_right_imports_pass() -> None:
    assert not wrong_way("muster/cli/list.py", "import os\nfrom muster.fleet import Fleet\nfrom muster.cli import app")
    assert not wrong_way("muster/core/git.py", "from muster.core import proc\nfrom muster.errors import NotFound")
