"""`make bench ARGS=codex`: a hundred of the real Codex on this machine, each told a task, all gathered; COUNT changes the number."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from muster_testkit.model import serve

PYTHON = sys.executable
ROOT = Path(__file__).parent.parent
CONFIG = """\
model = "gpt-5.5"
model_provider = "s"
model_providers.s = {name="s", base_url="%s/v1", env_key="OPENAI_API_KEY", wire_api="responses"}
notice.model_migrations."gpt-5.5" = "gpt-6-sol"
"""
WORK = 'echo "$MUSTER_AGENT" >mine.txt; git add mine.txt; git commit --quiet --message "$MUSTER_AGENT"'


def main() -> None:
    count = int(os.environ.get("COUNT", "100"))
    base = Path(tempfile.mkdtemp(prefix="mc-", dir="/tmp"))
    try:
        with serve([{"when": {"last": "^Write your name$"}, "times": count, "bash": WORK}]) as model:
            environment(base, model.url)
            try:
                fleet(count)
            finally:
                muster("destroy", "-", stdin=muster("list", "--ids"))
                run("tmux", "-S", f"{base}/m/tmux.sock", "kill-server", check=False)
    finally:
        shutil.rmtree(base, ignore_errors=True)


def environment(base: Path, url: str) -> None:
    programs = run(PYTHON, str(ROOT / "scripts" / "install.py"), "codex").strip()
    path = f"{programs}:{os.environ['PATH']}"
    for folder in ("home/tmp", "codex", "repo"):
        (base / folder).mkdir(parents=True)
    (base / "codex" / "config.toml").write_text(CONFIG % url)
    os.environ.clear()
    os.environ.update(PATH=path, HOME=f"{base}/home", TMPDIR=f"{base}/home/tmp", LANG="C.UTF-8", TERM="xterm-256color")
    os.environ.update(MUSTER_HOME=f"{base}/m", CODEX_HOME=f"{base}/codex", OPENAI_API_KEY="k", SHELL="/bin/bash")
    os.chdir(base / "repo")
    run("git", "init", "--quiet")
    run("git", "config", "user.name", "Bench")
    run("git", "config", "user.email", "bench@example.org")
    run("git", "commit", "--quiet", "--allow-empty", "--message", "first")


def fleet(count: int) -> None:
    print(f"{count} of Codex on {os.cpu_count()} cores, load {os.getloadavg()[0]:.0f} before")
    words = ["-n", str(count), "--permissions", "all", "--unsafe-here"]
    row("made", timed(lambda: muster("create", "c", "codex", *words)))
    names = muster("list", "--ids")
    row("all ready", timed(lambda: muster("wait", "-", "--for", "waiting", stdin=names)))
    begin = time.monotonic()
    receipts = muster("message", "-", "-m", "Write your name", stdin=names).splitlines()
    row("told", time.monotonic() - begin, f"{sum(line.split()[1] == 'delivered' for line in receipts)} delivered")
    seconds = timed(lambda: muster("wait", "-", "--for", "waiting", stdin=names))
    commits = run("git", "for-each-ref", "--format=%(contents:subject)", "refs/heads/muster").splitlines()
    row("all done", seconds, f"{len({*commits} - {'first'})} gathered")
    sizes = [memory(int(pid)) for pid in panes()]
    row(
        "memory of each",
        None,
        f"{sum(sizes) / len(sizes) / 1e6:.0f} MB (shared pages divided), {max(sizes) / 1e6:.0f} MB at most",
    )
    row("`muster list`", timed(lambda: muster("list")))


def row(what: str, seconds: float | None, more: str = "") -> None:
    print(f"{what:18}{'' if seconds is None else f'{seconds:8.1f} s':12}{more}".rstrip(), flush=True)


def timed(work: Callable[[], object]) -> float:
    begin = time.monotonic()
    work()
    return time.monotonic() - begin


def muster(*words: str, stdin: str | None = None) -> str:
    return run(PYTHON, "-m", "muster", *words, stdin=stdin)


def run(*argv: str, check: bool = True, stdin: str | None = None) -> str:
    done = subprocess.run(argv, check=False, capture_output=True, text=True, input=stdin)
    if check and done.returncode:
        raise SystemExit(f"{' '.join(argv[:6])}: {done.stderr or done.stdout}")
    return done.stdout


def panes() -> list[str]:
    return run("tmux", "-S", f"{os.environ['MUSTER_HOME']}/tmux.sock", "list-panes", "-a", "-F", "#{pane_pid}").split()


def memory(pid: int) -> int:
    """Bytes of it and all below it, pages that several share divided among them."""
    children = run("pgrep", "-P", str(pid), check=False).split()
    rows = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines() if sys.platform == "linux" else []
    own = next((int(row.split()[1]) * 1024 for row in rows if row.startswith("Pss:")), 0)
    return own + sum(memory(int(child)) for child in children)


if __name__ == "__main__":
    main()
