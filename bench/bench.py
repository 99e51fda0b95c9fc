"""`make bench`: what muster costs, beside what the machine itself needs for the same, measured in turns.

Each row is a ratio or a time with the bound that DESIGN gives it; the floor is measured between the very same samples,
because the machine may be shared and its speed change from minute to minute. `make bench ARGS="mend integrate"` measures
these parts alone.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import integrate
import mend

PYTHON = sys.executable
MUSTER = str(Path(PYTHON).parent / "muster")
ROUNDS = 15
rows: list[tuple[str, str, str, str]] = []


def main() -> None:
    wanted = sys.argv[1:] or [*PARTS]
    if unknown := [name for name in wanted if name not in PARTS]:
        raise SystemExit(f"there is no part `{unknown[0]}`; there are {', '.join(PARTS)}")
    base = Path(tempfile.mkdtemp(prefix="mb-", dir="/tmp"))
    environment(base)
    try:
        for name in wanted:
            with scratch(base, name):
                PARTS[name](base)
    finally:
        shutil.rmtree(base, ignore_errors=True)
    widths = [max(len(row[i]) for row in rows) for i in range(4)]
    for row in rows:
        print("  ".join(cell.ljust(size) for cell, size in zip(row, widths, strict=True)).rstrip())


def environment(base: Path) -> None:
    for name in [*os.environ]:
        if name.startswith(("MUSTER_", "GIT_", "TMUX")) or name == "PYTHONDONTWRITEBYTECODE":
            del os.environ[name]
    (base / "home").mkdir()
    os.environ.update(HOME=str(base / "home"), GIT_CONFIG_NOSYSTEM="1")
    run("git", "config", "--global", "user.name", "Bench")
    run("git", "config", "--global", "user.email", "bench@example.org")
    run("git", "config", "--global", "gc.auto", "0")
    rows.append(("work", "measured", "beside it", "bound"))


@contextmanager
def scratch(base: Path, name: str) -> Iterator[None]:
    """A MUSTER_HOME of its own, whose tmux server is ended afterwards."""
    os.environ["MUSTER_HOME"] = str(base / f"m-{name}")
    try:
        yield
    finally:
        run("tmux", "-S", f"{base}/m-{name}/tmux.sock", "kill-server", check=False)


def repository(path: Path, files: int) -> Path:
    path.mkdir()
    run("git", "init", "--quiet", cwd=path)
    for number in range(files):
        file = path / f"d{number % 40}" / f"f{number}.py"
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"# file {number}\n" + "value = 1  # a line of a program\n" * 90)
    run("git", "add", "--all", cwd=path)
    run("git", "commit", "--quiet", "--message", "start", cwd=path)
    run("git", "gc", "--quiet", cwd=path)
    return path


def run(*argv: str, cwd: Path | None = None, check: bool = True, stdin: str | None = None) -> str:
    done = subprocess.run(argv, cwd=cwd, check=False, capture_output=True, text=True, input=stdin)
    if check and done.returncode:
        raise SystemExit(f"{' '.join(argv[:4])}: {done.stderr or done.stdout}")
    return done.stdout


def seconds(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def in_turns(*works: Callable[[int], object], rounds: int = ROUNDS) -> list[float]:
    """The median of each, all of them once in every round."""
    taken: list[list[float]] = [[] for _ in works]
    for number in range(rounds):
        for work, times in zip(works, taken, strict=True):
            times.append(seconds(lambda work=work, number=number: work(number)))  # type: ignore[misc]
    return [statistics.median(times) for times in taken]


def ms(value: float) -> str:
    return f"{value * 1000:.1f} ms"


def row(work: str, measured: str, beside: str = "", bound: str = "") -> None:
    rows.append((work, measured, beside, bound))


def starting(base: Path) -> None:
    """One program start, one create, one wait."""
    repo = repository(base / "small", 5)

    def worktree(number: int) -> object:
        return run("git", "worktree", "add", "-q", "-b", f"floor/{number}", f"{base}/floor-{number}", cwd=repo)

    def session(number: int) -> object:
        return run(
            "tmux", "-S", f"{base}/floor.sock", "-f", "/dev/null", "new-session", "-d", "-s", f"f{number}", "sleep 9999"
        )

    run(MUSTER, "create", "warm", "--", "sleep", "9999", cwd=repo)
    run("tmux", "-S", f"{base}/floor.sock", "-f", "/dev/null", "new-session", "-d", "-s", "warm", "sleep 9999")
    bare, version, tree, terminal, create = in_turns(
        lambda _: run(PYTHON, "-c", "pass"),
        lambda _: run(MUSTER, "--version"),
        worktree,
        session,
        lambda number: run(MUSTER, "create", f"a{number}", "--", "sleep", "9999", cwd=repo),
    )
    run("tmux", "-S", f"{base}/floor.sock", "kill-server")
    row("`muster --version`", ms(version), f"{version / bare:.1f} x `python -c pass` ({ms(bare)})", "5 x")
    floor = bare + tree + terminal
    row(
        "`muster create` of a `command` agent",
        ms(create),
        f"{create / floor:.2f} x python + worktree + session ({ms(floor)})",
        "2.5 x",
    )
    pipe = base / "pipe"
    os.mkfifo(pipe)
    delays = []
    for number in range(5):
        run(MUSTER, "create", f"w{number}", "--", "sh", "-c", f"read line <{pipe}", cwd=repo)
        waiter = subprocess.Popen([MUSTER, "wait", f"w{number}"], stdout=subprocess.DEVNULL)
        while not subprocess.run(["pgrep", "-P", str(waiter.pid)], capture_output=True, check=False).stdout:
            time.sleep(0.01)  # until it listens: its tail has started
        time.sleep(0.2)
        pipe.write_text("go\n")
        delays.append(seconds(waiter.wait))
    row("program's end to `muster wait` returning", ms(statistics.median(delays)), "", "100 ms")


def hundred(base: Path) -> None:
    """A hundred agents on one machine."""
    repo = repository(base / "hundred", 5)
    made = seconds(lambda: run(MUSTER, "create", "h", "-n", "100", "--", "cat", cwd=repo))
    row("100 agents by one `muster create -n 100`", f"{made:.2f} s", f"{ms(made / 100)} each")
    bare, listed = in_turns(lambda _: run(PYTHON, "-c", "pass"), lambda _: run(MUSTER, "list"))
    row("`muster list`, 100 agents", ms(listed), f"bound here {ms(0.06 + 2 * bare)}", "60 ms + 2 x python")
    names = run(MUSTER, "list", "--ids")
    row(
        "`muster message` to 100 agents",
        f"{seconds(lambda: run(MUSTER, 'message', '-', '-m', 'hello', stdin=names)):.2f} s",
    )
    server = run("tmux", "-S", f"{os.environ['MUSTER_HOME']}/tmux.sock", "display-message", "-p", "#{pid}").strip()
    beside = children(int(server))
    row("processes beside 100 idle agents' own", f"{len(beside) - 100 + 1}", "the tmux server", "no watcher")
    row("memory of the tmux server, per agent", f"{resident(int(server)) / 100 / 1024:.0f} KiB")
    row("`muster destroy` of 100 agents", f"{seconds(lambda: run(MUSTER, 'destroy', '-', stdin=names)):.2f} s")


def children(pid: int) -> list[str]:
    return run("pgrep", "-P", str(pid), check=False).split()


def resident(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines() if sys.platform == "linux" else ():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) * 1024
    return 0


def big(base: Path) -> None:
    """Where checking out is the cost."""
    repo = repository(base / "big", 2_000)
    run(MUSTER, "create", "warm", "--", "cat", cwd=repo)
    home = Path(os.environ["MUSTER_HOME"])
    floor = seconds(
        lambda: [run("git", "worktree", "add", "-q", "-b", f"floor/{n}", f"{home}-{n}", cwd=repo) for n in range(10)]
    )
    made = seconds(lambda: run(MUSTER, "create", "b", "-n", "100", "--", "cat", cwd=repo))
    row(
        "100 agents in a repository of 2,000 files",
        f"{made:.2f} s",
        f"{made / 100 / (floor / 10):.2f} x one `git worktree add` after the other ({ms(floor / 10)})",
    )


def thousand(base: Path) -> None:
    """A registry of a thousand agents, twenty of which run."""
    repo = repository(base / "thousand", 5)
    run(MUSTER, "create", "t", "-n", "20", "--", "cat", cwd=repo)
    script = (
        "import msgspec; from muster import Fleet; from muster.core import names\n"
        "fleet = Fleet.open(); one = fleet.known()[0]\n"
        "for n in range(980): fleet.registry.reserve(msgspec.structs.replace(one, id=names.fresh_id(), name=f'x{n}', intent='stopped'))\n"
    )
    run(PYTHON, "-c", script)
    listed = in_turns(lambda _: run(MUSTER, "list"), rounds=5)[0]
    row("`muster list`, 1,000 agents in the registry", ms(listed), "20 of them run", "500 ms")


def integrating(base: Path) -> None:
    """A hundred branches put together, without a test."""
    for what, seconds, beside in integrate.figures(base / "integrate", files=2_000, branches=100):
        row(what, f"{seconds * 1000:.0f} ms", beside)


PARTS: dict[str, Callable[[Path], None]] = {
    "start": starting,
    "hundred": hundred,
    "files": big,
    "thousand": thousand,
    "integrate": integrating,
    "mend": lambda base: mend.measure(base / "mend", MUSTER, row),
}

if __name__ == "__main__":
    if sys.argv[1:] in (["traces"], ["hosts"], ["codex"]):  # they take their time, and are no ratios
        subprocess.run([PYTHON, str(Path(__file__).parent / f"{sys.argv[1]}.py")], check=True)
    else:
        main()
