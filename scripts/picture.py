"""Draws docs/fleet.svg: the screen of a real `muster list --watch`. Needs `rich` (`pip install rich`); run from the checkout."""

from __future__ import annotations

import io
import os
import re
import subprocess
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.text import Text

HERE = Path(__file__).parent.parent
SCRIPTS = {
    "parser": '[[step]]\nsay = "Reading the grammar"\n[[step]]\nsleep = 9999\n',
    "flaky-test": '[[step]]\nsay = "Done: the clock was read twice."\n',
    "docs": '[[step]]\nask = "May I run `rm -rf build`?"\n',
    "retry": '[[step]]\nsay = "No such function: backoff"\n[[step]]\nexit = 1\n',
}


def run(*argv: str) -> str:
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout


def main() -> None:
    base = Path(tempfile.mkdtemp(prefix="mp-", dir="/tmp"))
    os.environ.update(
        MUSTER_HOME=str(base / "m"),
        HOME=str(base),
        PATH=f"{HERE}/.venv/bin:{os.environ['PATH']}",
        TERM="xterm-256color",
    )
    run("git", "config", "--global", "user.name", "You")
    run("git", "config", "--global", "user.email", "you@example.org")
    os.mkdir(base / "shop")
    os.chdir(base / "shop")
    run("git", "init", "--quiet")
    run("git", "commit", "--quiet", "--allow-empty", "--message", "start")
    for name, script in SCRIPTS.items():
        (base / f"{name}.toml").write_text(script)
        run("muster", "create", name, "scripted", "--", "--script", str(base / f"{name}.toml"))
    run("muster", "create", "nightly", "--", "sh", "-c", "echo 212 tests passed; exit 0")
    run("muster", "wait", "flaky-test", "docs", "retry", "nightly")
    screen = ["tmux", "-S", str(base / "s"), "-f", "/dev/null"]
    run(*screen, "new-session", "-d", "-x", "104", "-y", "14", "sh")
    run(*screen, "send-keys", "muster list && muster why docs", "Enter")
    while "its own word" not in (shown := run(*screen, "capture-pane", "-p", "-e")):
        time.sleep(0.1)
    run(*screen, "kill-server")
    run("muster", "destroy", "--all")
    console = Console(record=True, width=104, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi(shown.rstrip()))
    svg = re.sub(r"@font-face \{.*?\}\n", "", console.export_svg(title="muster"), flags=re.DOTALL)  # fonts from afar
    (HERE / "docs" / "fleet.svg").write_text(svg.replace("Fira Code", "DejaVu Sans Mono"))


if __name__ == "__main__":
    main()
