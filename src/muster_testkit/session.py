"""What a test has in its hands as `e2e`."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from muster_testkit import processes, run
from muster_testkit.artifacts import Folder
from muster_testkit.cast import TERM
from muster_testkit.errors import KitError
from muster_testkit.result import Result
from muster_testkit.transcript import Transcript
from muster_testkit.tutorial.citations import cited

if TYPE_CHECKING:
    from muster_testkit.terminal import Terminal

Command = str | Sequence[str | os.PathLike[str]]


class E2eSession:
    """A home, a working directory and an environment of the test's own, and what it does in them."""

    def __init__(self, folder: Folder) -> None:
        # The path of a unix socket must be short, so this is not pytest's tmp_path.
        place = "/tmp" if os.access("/tmp", os.W_OK) else None
        self._base = Path(os.path.realpath(tempfile.mkdtemp(prefix="e-", dir=place)))
        self._folder = folder
        self._runs = 0
        self._terminals: list[Terminal] = []
        self.home = self._base / "home"
        self.cwd = self._base / "work"
        for one in (self.home, self.cwd, self._base / "tmp", self._base / "rec"):
            one.mkdir(mode=0o700)
        self.env: dict[str, str] = self._environment()
        self._transcript = Transcript(os.path.join(folder.path, "transcript.txt"))
        folder.meta.work = str(self._base)

    def _environment(self) -> dict[str, str]:
        # The programs of the environment that the tests run in come first: those are under test.
        path = [os.path.dirname(sys.executable), *os.environ.get("PATH", os.defpath).split(os.pathsep)]
        return {
            "PATH": os.pathsep.join(dict.fromkeys(one for one in path if one)),
            "HOME": str(self.home),
            "TMPDIR": str(self._base / "tmp"),
            "LANG": "C.UTF-8",
            "TERM": TERM,
            "SHELL": "/bin/sh",
            **{name: os.environ[name] for name in ("USER", "LOGNAME") if name in os.environ},
        }

    @property
    def artifacts(self) -> Path:
        """The folder that the test leaves behind."""
        return Path(self._folder.path)

    # --- doing

    def run(
        self,
        cmd: Command,
        comment: str = "",
        *,
        timeout: float = 60.0,
        env: Mapping[str, str | None] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        stdin: str | bytes | None = None,
    ) -> Result:
        """Run a command line with `sh`, or a list of words without one, and wait for its end."""
        if not timeout > 0:
            raise KitError(f"a time limit of {timeout:g} s leaves no time")
        argv, shown = self._said(cmd, comment)
        spoken = self._transcript.command(shown)
        try:
            ended = run.run(
                argv,
                env=self._full(env),
                cwd=self._where(cwd),
                stdin=stdin.encode() if isinstance(stdin, str) else stdin,
                timeout=timeout,
                hear=spoken.hear,
            )
        except BaseException as error:
            spoken.end()
            self.comment(f"interrupted: {type(error).__name__}")
            raise
        spoken.end()
        if ended.timed_out:
            self.comment(f"its time of {timeout:g} s was up, so it was ended")
        self._transcript.code(ended.code)
        return Result(
            command=shown,
            exit_code=ended.code,
            stdout_bytes=b"".join(ended.parts["stdout"]),
            stderr_bytes=b"".join(ended.parts["stderr"]),
            duration=ended.seconds,
            timed_out=ended.timed_out,
            signal=ended.signal,
            left_out=ended.left_out,
        )

    def terminal(
        self,
        cmd: Command,
        *,
        cols: int = 80,
        rows: int = 24,
        comment: str = "",
        env: Mapping[str, str | None] | None = None,
        cwd: str | os.PathLike[str] | None = None,
    ) -> Terminal:
        """Start a program on a terminal of that size, which is recorded."""
        try:
            from muster_testkit.terminal import Terminal
        except ModuleNotFoundError as error:
            hint = "`pip install 'pass-muster[testkit]'` or `pip install pass-muster-testkit`"
            raise KitError(f"terminals need the package `{error.name}`", hint=hint) from error
        if not (0 < cols <= 1_000 and 0 < rows <= 1_000):
            raise KitError(f"a terminal can't have {cols} columns and {rows} rows")
        argv, shown = self._said(cmd, comment)
        self._transcript.command(shown).end()

        def ended(code: int) -> None:
            self.comment(f"on a terminal of its own, recorded: {shown.partition(chr(10))[0]}")
            self._transcript.code(code)

        where = self._where(cwd)
        if not os.path.isdir(where):
            raise KitError(f"there is no folder `{where}` to run in")
        made = Terminal(
            argv,
            title=shown,
            columns=cols,
            rows=rows,
            env=self._full(env),
            cwd=where,
            folder=self._folder,
            ended=ended,
        )
        self._terminals.append(made)
        return made

    @property
    def connect_command(self) -> str:
        """A command line: it runs the words that follow it on a terminal of their own, recorded in the background."""
        words = [sys.executable, "-m", "muster_testkit", "record", "--background"]
        words += ["--into", str(self.artifacts / "recordings"), "--state", str(self._base / "rec")]
        return shlex.join([*words, "--"])

    def write_file(self, path: str | os.PathLike[str], content: str | bytes, *, mode: int | None = None) -> Path:
        """Write a file below the working directory, with the folders that it needs."""
        place = self.cwd / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content.encode() if isinstance(content, str) else content)
        if mode is not None:
            place.chmod(mode)
        return place

    def comment(self, text: str) -> None:
        """A remark in the transcript."""
        self._transcript.comment(text)

    def write_tutorial_block(self, text: str) -> str:
        """Say which block of the tutorial this test shows; its text, which can be run as it is."""
        known = self._folder.meta.blocks
        found = cited(text)
        if not found:
            raise KitError("a citation of no block: the text is empty")
        known += [one for one in found if one not in known]
        self._folder.save()
        return "\n\n".join(found)

    def _said(self, cmd: Command, comment: str) -> tuple[list[str], str]:
        """The argv of a command, and what stays of it to be shown behind its comments, which the transcript gets here."""
        argv, shown = _words(cmd)
        lines = [] if comment or not isinstance(cmd, str) else _comments(shown)
        for line in [comment] if comment else [line.lstrip("# ") for line in lines]:
            self.comment(line)
        return argv, shown.split("\n", len(lines))[-1]

    def _full(self, env: Mapping[str, str | None] | None) -> dict[str, str]:
        self._runs += 1
        full = {**self.env, **(env or {}), processes.MARK: f"{self._base.name}-{self._runs}"}
        return {name: value for name, value in full.items() if value is not None}

    def _where(self, cwd: str | os.PathLike[str] | None) -> str:
        return str(self.cwd / (cwd or ""))

    # --- the end

    def failed(self) -> None:
        """Keep what the terminals show, now that the test has failed."""
        for one in self._terminals:
            if not one.failed and one.exit_code is None:
                one.failed = True
                one.screenshot("failed")

    def close(self) -> None:
        """End all that the test has left running, and remove its folders."""
        try:
            for one in self._terminals:
                one.close()
            _end_recorders(self._base / "rec")
            for words in end_work(self._base):
                self.comment(f"still running at the end of the test, so it was ended: {words}")
        finally:
            self._transcript.close()
            remove(self._base)


def _words(cmd: Command) -> tuple[list[str], str]:
    """The argv of a command, and how it is shown."""
    if isinstance(cmd, str):
        if not cmd.strip():
            raise KitError("there is no command to run: the text is empty")
        return ["sh", "-c", cmd], cmd.strip("\n")
    argv = [os.fspath(word) for word in cmd]
    if not argv:
        raise KitError("there is no command to run: the list is empty")
    return argv, shlex.join(argv)


def _comments(shown: str) -> list[str]:
    """The lines of comment at the beginning of a command line."""
    lines = shown.split("\n")
    return lines[: next((number for number, line in enumerate(lines) if not line.startswith("#")), 0)]


def _end_recorders(state: Path) -> None:
    """Ask the recorders to finish their files, and wait until they have."""
    pids = {int(file.stem) for file in state.glob("*.pid")}
    processes.send(pids, signal.SIGTERM)
    deadline = time.monotonic() + 5
    while any(state.glob("*.pid")) and pids & {one.pid for one in processes.table()} and time.monotonic() < deadline:
        time.sleep(0.01)


def end_work(base: Path) -> list[str]:
    """End every process that a test in that folder has started."""
    return processes.end(lambda: processes.marked(f"{processes.MARK}={base.name}-"))


def clear(work: str) -> None:
    """End and remove what a test has left whose Python died."""
    base = Path(work)
    # The name comes from a file that may have come with somebody else's project.
    ours = {os.path.realpath(one) for one in ("/tmp", tempfile.gettempdir())}
    if str(base.parent) in ours and re.fullmatch(r"e-\w{8}", base.name) and base.is_dir() and not base.is_symlink():
        end_work(base)
        remove(base)


def remove(base: Path) -> None:
    """Remove it, whatever permissions a test has left in it."""
    for place, folders, _ in os.walk(base):
        for name in folders:
            path = os.path.join(place, name)
            if not os.path.islink(path):
                os.chmod(path, 0o700)
    shutil.rmtree(base, ignore_errors=True)
