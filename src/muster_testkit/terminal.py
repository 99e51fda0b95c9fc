"""A program on a terminal: keys go in, a screen comes out, and all of it is recorded."""

from __future__ import annotations

import codecs
import fcntl
import os
import re
import select
import selectors
import signal
import struct
import subprocess
import termios
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Self

from muster_testkit import processes
from muster_testkit.artifacts import Folder
from muster_testkit.cast import Cast
from muster_testkit.errors import KitError
from muster_testkit.screen import Cell, Screen, svg

# The shell is the leader of a new session, so the terminal that it opens becomes the one that ^C and ^Z come from.
_ON_TERMINAL = 'exec "$@" 0<>"$0" 1>&0 2>&0'

_ARROWS = {"up": "A", "down": "B", "right": "C", "left": "D", "home": "H", "end": "F"}
_TILDES = {"insert": 2, "delete": 3, "page-up": 5, "page-down": 6}
_FUNCTIONS = [*"PQRS", 15, 17, 18, 19, 20, 21, 23, 24]
_PLAIN = {
    "enter": "\r",
    "return": "\r",
    "tab": "\t",
    "shift-tab": "\x1b[Z",
    "escape": "\x1b",
    "esc": "\x1b",
    "space": " ",
    "backspace": "\x7f",
    "ctrl-space": "\0",
}
_MODIFIERS = {"shift": 1, "alt": 2, "ctrl": 4}


def key(name: str, application: bool = False) -> str:
    """What a terminal sends for that key: `ctrl-c`, `enter`, `up`, `alt-x`, `shift-left`, `f1`."""
    if name in _PLAIN:
        return _PLAIN[name]
    if len(name) == 1:
        return name
    *words, last = name.lower().split("-") if not name.endswith("-") else [*name[:-2].lower().split("-"), "-"]
    if words and words[-1] == "page":
        words, last = words[:-1], f"page-{last}"
    if all(word in _MODIFIERS for word in words):
        held = sum(_MODIFIERS[word] for word in {*words})
        if found := _special(last, held, application):
            return found
        if last in _PLAIN and held == 2:
            return f"\x1b{_PLAIN[last]}"
        if len(last) == 1 and (found := _letter(name[-1], held)):
            return found
    hint = "such as `enter`, `ctrl-c`, `alt-x`, `up`, `shift-left`, `page-down`, `f1`; `send` sends text"
    raise KitError(f"there is no key `{name}`", hint=hint)


def _letter(letter: str, held: int) -> str:
    text = letter
    if held & 4:
        if not "@" <= letter.upper() <= "_":
            return ""
        text = chr(ord(letter.upper()) & 31)
    elif held & 1:
        text = letter.upper()
    return f"\x1b{text}" if held & 2 else text


def _special(name: str, held: int, application: bool) -> str:
    more = f";{held + 1}" if held else ""
    if name in _ARROWS:
        return f"\x1b[1{more}{_ARROWS[name]}" if held else f"\x1b{'O' if application else '['}{_ARROWS[name]}"
    if name in _TILDES:
        return f"\x1b[{_TILDES[name]}{more}~"
    if name[:1] == "f" and name[1:].isdecimal() and 1 <= int(name[1:]) <= 12:
        code = _FUNCTIONS[int(name[1:]) - 1]
        if isinstance(code, int):
            return f"\x1b[{code}{more}~"
        return f"\x1b[1{more}{code}" if held else f"\x1bO{code}"
    return ""


class Terminal:
    """A program on a terminal of its own; `e2e.terminal(...)` makes one."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        title: str,
        columns: int,
        rows: int,
        env: Mapping[str, str],
        cwd: str,
        folder: Folder,
        ended: Callable[[int], None],
    ) -> None:
        self.title = title
        self._folder = folder
        self._ended = ended
        self._changed = threading.Condition()
        self._screen = Screen(columns, rows, self._answer)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._over = False  # nothing more will be shown
        self._noted = False
        self.failed = False
        self._mark = f"{processes.MARK}={env[processes.MARK]}\0"
        self._cast = Cast(folder.new("recordings", title, ".cast")[0], columns, rows, title)
        self._master, slave = os.openpty()
        try:
            _set_size(slave, columns, rows)
            words = ["sh", "-c", _ON_TERMINAL, os.ttyname(slave), *argv]
            self._process = subprocess.Popen(
                words, stdin=slave, stdout=slave, stderr=slave, cwd=cwd, env=dict(env), start_new_session=True
            )
        except BaseException:
            os.close(self._master)
            self._cast.close()
            raise
        finally:
            os.close(slave)
        os.set_blocking(self._master, False)
        self._wake, self._stop = os.pipe()
        self._reader = threading.Thread(target=self._read, name=f"terminal: {title}", daemon=True)
        self._reader.start()
        folder.save()

    # --- what the program does

    def _read(self) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._master, selectors.EVENT_READ)
            selector.register(self._wake, selectors.EVENT_READ)
            while self._master in {key.fd for key, _ in selector.select()}:
                try:
                    data = os.read(self._master, 65_536)
                except BlockingIOError:
                    continue
                except OSError:
                    break  # nobody has the other end any more
                if not data:
                    break
                with self._changed:
                    self._cast.output(data)
                    self._screen.feed(self._decoder.decode(data))
                    self._changed.notify_all()
        with self._changed:
            self._over = True
            self._changed.notify_all()

    def _answer(self, text: str) -> None:
        try:
            os.write(self._master, text.encode())
        except OSError:
            pass  # it has not read what it was told before, or is gone: it doesn't wait for an answer

    # --- what a person does

    def send(self, text: str) -> Self:
        """Type that text."""
        data = memoryview(text.encode())
        deadline = time.monotonic() + 10
        while data:
            try:
                data = data[os.write(self._master, data) :]
            except BlockingIOError:
                if time.monotonic() > deadline:
                    self._fail("the program has not read what was typed for 10 s")
                time.sleep(0.005)
            except OSError:
                self._fail("nothing can be typed: the program has ended")
        return self

    def press(self, *keys: str) -> Self:
        """Press keys, such as `ctrl-c`, `enter`, `up`, `alt-x`, `f1`."""
        for name in keys:
            # Some programs ask for other arrows (DECCKM, private mode 1).
            self.send(key(name, application=1 << 5 in self._screen.mode))
        return self

    def resize(self, columns: int, rows: int) -> Self:
        """Give the terminal another size; the program hears of it."""
        with self._changed:
            self._screen.resize(rows, columns)
            self._cast.resize(columns, rows)
            _set_size(self._master, columns, rows)
        return self

    def wait_for(self, wanted: str | re.Pattern[str], timeout: float = 10.0) -> str:
        """The screen, as soon as it shows that text, or what that pattern matches."""
        __tracebackhide__ = True
        deadline = time.monotonic() + timeout
        with self._changed:
            while not _shows(text := self._screen.text, wanted):
                left = deadline - time.monotonic()
                if left <= 0 or self._over:
                    break
                self._changed.wait(left)
            else:
                return text
        shown = repr(wanted.pattern if isinstance(wanted, re.Pattern) else wanted)
        why = "the program has ended" if self._over else f"{timeout:g} s have passed"
        self._fail(f"the terminal doesn't show {shown}, and {why}")
        return text

    def _fail(self, words: str) -> None:
        __tracebackhide__ = True
        frame = "\n".join(f"  | {line}" for line in self.screen.split("\n"))
        raise AssertionError(f"{words}\n$ {self.title}\nthe screen:\n{frame}")

    # --- what is to be seen

    @property
    def screen(self) -> str:
        """What it shows, without the empty ends of lines and of the screen."""
        with self._changed:
            return self._screen.text

    @property
    def coloured(self) -> str:
        """What it shows, with the sequences that colour it."""
        with self._changed:
            return self._screen.painted()

    @property
    def cells(self) -> list[list[Cell]]:
        """What it shows, character by character: `terminal.cells[row][column].foreground`."""
        with self._changed:
            return self._screen.rows()

    @property
    def cursor(self) -> tuple[int, int]:
        """Row and column of the cursor, from 0."""
        with self._changed:
            return self._screen.cursor.y, min(self._screen.cursor.x, self._screen.columns - 1)

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows."""
        return self._screen.columns, self._screen.lines

    def screenshot(self, title: str = "") -> str:
        """Keep what it shows among the artifacts, as text and as a picture; the path of the text."""
        text, picture = self._folder.new("screens", title or self.title, ".txt", ".svg")
        with open(text, "w", encoding="utf-8", errors="replace", newline="\n") as file:
            file.write(self.screen + "\n")
        with open(picture, "w", encoding="utf-8", errors="replace", newline="\n") as file:
            file.write(svg(self.cells))
        self._folder.save()
        return text

    # --- its end

    @property
    def exit_code(self) -> int | None:
        """None while it runs; 128 + N when signal N has ended it."""
        code = self._process.poll()
        return code if code is None or code >= 0 else 128 - code

    def exit(self, timeout: float = 10.0) -> int:
        """Wait until the program ends by itself; its exit code."""
        __tracebackhide__ = True
        try:
            self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            self._fail(f"the program has not ended within {timeout:g} s")
        return self.close()

    def close(self) -> int:
        """End the program, if it runs, as closing a terminal's window does; its exit code."""
        if self._process.poll() is None:
            # What reads the terminal ends by this; what doesn't is made to.
            processes.send([self._process.pid], signal.SIGHUP)
            try:
                self._process.wait(1.0)
            except subprocess.TimeoutExpired:
                processes.end(lambda: self._alive() | processes.marked(self._mark))
                self._process.wait()
        self._finish()
        code = self.exit_code
        assert code is not None
        if not self._noted:
            self._noted = True
            self._ended(code)
        return code

    def _alive(self) -> set[int]:
        self._process.poll()
        return processes.below(self._process.pid)

    def _finish(self) -> None:
        if self._stop < 0:
            return
        self._drain()
        os.close(self._stop)
        self._stop = -1
        self._reader.join()
        os.close(self._wake)
        os.close(self._master)
        self._cast.close()
        self._folder.save()

    def _drain(self) -> None:
        """Let its last words be read; something in the background may hold the terminal and go on."""
        deadline = time.monotonic() + 10
        self._reader.join(0.2)
        while self._reader.is_alive() and time.monotonic() < deadline:
            if not select.select([self._master], [], [], 0.05)[0]:
                return
            self._reader.join(0.05)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None and not self.failed:
            # Before its end, which may change what it shows.
            self.failed = True
            self.screenshot("failed")
        self.close()


def _shows(text: str, wanted: str | re.Pattern[str]) -> bool:
    return wanted in text if isinstance(wanted, str) else bool(wanted.search(text))


def _set_size(terminal: int, columns: int, rows: int) -> None:
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
