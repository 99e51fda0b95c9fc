"""A hundred agents through the whole pipeline: `make bench ARGS=mend`.

A hundred modules with a fault each, a hundred failing tests, a hundred scripted agents at once. Each works for half a minute,
as little as a coding agent ever needs, so that muster's own work can be seen beside it. Tests are run once, and with `REPEATS=3`
in the environment as often as by default.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

AGENTS = 100
WORKS = 30.0
REPEATS = os.environ.get("REPEATS", "1")
SCRIPT = f"""
[[step]]
sleep = {WORKS}
[[step]]
run = "n=$(echo {{agent}} | sed 's/^r-n\\\\([0-9]*\\\\)-.*/\\\\1/'); sed 's/a - b/a + b/' m$n.py >new && mv new m$n.py"
expect = 0
[[step]]
commit = "Add instead of subtracting"
[[step]]
outcome = {{ status = "done", changes = [{{ kind = "impl", commit = "HEAD" }}] }}
"""
Row = Callable[..., None]


def project(folder: Path) -> None:
    """All of it, committed, with the agent type beside it."""
    (folder / "tests").mkdir(parents=True)
    for number in range(AGENTS):
        (folder / f"m{number}.py").write_text("def add(a, b):\n    return a - b\n")
        test = f"from m{number} import add\n\n\ndef test_n{number}():\n    assert add(2, 2) == 4\n"
        (folder / "tests" / f"test_{number}.py").write_text(test)
    (folder / "pytest.ini").write_text("[pytest]\npythonpath = .\n")
    (folder / ".gitignore").write_text("__pycache__/\nmuster.local.toml\nfix.toml\n")
    (folder / "fix.toml").write_text(SCRIPT)
    (folder / "muster.local.toml").write_text(
        f'[types.fixer]\nparent = "scripted"\nargs = ["--script", "{folder}/fix.toml"]\n'
    )
    for words in (("init", "--quiet"), ("add", "--all"), ("commit", "--quiet", "--message", "start")):
        subprocess.run(["git", *words], cwd=folder, check=True)


def peak(pid: int, known: int) -> int:
    """The most memory that process has had, in bytes; what was known of it once it is gone."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except FileNotFoundError:
        return known
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM")), known)


def measure(folder: Path, muster: str, row: Row) -> None:
    """One run, and what its journal and its results say."""
    project(folder)
    words = [
        "mend",
        "--name",
        "r",
        "--type",
        "fixer",
        "--jobs",
        str(AGENTS),
        "--repeats",
        REPEATS,
        "--python",
        sys.executable,
    ]
    with open(f"{folder}.log", "w") as log:
        process = subprocess.Popen([muster, *words], cwd=folder, stdout=log, stderr=log)
        memory = 0
        while process.poll() is None:
            memory = peak(process.pid, memory)
            time.sleep(0.2)
    if process.returncode:
        raise SystemExit(Path(f"{folder}.log").read_text())
    run = Path(os.environ["MUSTER_HOME"]) / "runs" / "r"
    events = [json.loads(line) for line in (run / "journal.jsonl").read_text().splitlines()]
    tell(run, events, memory, row)


def tell(run: Path, events: list[dict[str, Any]], memory: int, row: Row) -> None:
    at = {event["event"]: event["at"] for event in reversed(events)}  # the first of each kind
    steps = {event["name"]: event["at"] for event in events if event["event"] == "step"}
    last = max(event["at"] for event in events if event["event"] == "gathered")
    begun = max(event["at"] for event in events if event["event"] == "begun")
    agents = sum(json.loads(path.read_text())["seconds"] for path in run.glob("tasks/*/gathered.json"))
    took = [json.loads(path.read_text())["seconds"] for path in run.glob("tasks/*/verified.json")]
    whole = events[-1]["at"] - events[0]["at"]
    row(f"{AGENTS} agents through `muster mend`", f"{whole:.0f} s", f"of which each agent works for {WORKS:.0f} s")
    row("  collected, and run before and after", f"{at['planned'] - events[0]['at']:.1f} s")
    row(
        "  until the last agent was begun",
        f"{begun - at['planned']:.1f} s",
        f"{(begun - at['planned']) / AGENTS * 1000:.0f} ms each",
    )
    row("  from then until the last was gathered", f"{last - begun:.1f} s")
    row(
        "  until the last claim was verified",
        f"{steps['integrating'] - last:.1f} s",
        f"{statistics.median(took):.2f} s each, the suite included",
    )
    row("  integrated and every commit tested", f"{steps['reporting'] - steps['integrating']:.1f} s")
    row("  report", f"{events[-1]['at'] - steps['reporting']:.1f} s")
    row(
        f"verification (`--repeats {REPEATS}`), of agents' time",
        f"{100 * sum(took) / agents:.0f} %",
        f"{sum(took):.0f} s of {agents:.0f} s",
    )
    row("memory of `muster mend` at its most", f"{memory / 1e6:.0f} MB")
