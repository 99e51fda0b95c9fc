"""Which lines run, in the program's files only. Runs inside the project's own interpreter, so it is as plain as can be."""

from __future__ import annotations

import os
import sys
import threading
from typing import Any, Callable  # noqa: UP035 (a project may run an older Python)

Found = dict[str, list[int]]


class Lines:
    """Collects the lines that run; `take` hands over what ran since the last time."""

    def __init__(self, root: str, files: list[str], elsewhere: str = "") -> None:
        self._root = os.path.realpath(root)
        self._elsewhere = os.path.join(os.path.realpath(elsewhere), "") if elsewhere else ""
        self._files = set(files)
        self._names: dict[str, set[int] | None] = {}
        self._seen: dict[str, set[int]] = {}

    def start(self) -> None:
        monitoring = getattr(sys, "monitoring", None)
        if monitoring is None:
            threading.settrace(self._call)
            sys.settrace(self._call)
            return
        tool = next(number for number in (4, 3, 5, 2) if monitoring.get_tool(number) is None)
        monitoring.use_tool_id(tool, "muster mechanic")
        monitoring.register_callback(tool, monitoring.events.LINE, self._watch(monitoring.DISABLE))
        monitoring.set_events(tool, monitoring.events.LINE)

    def take(self) -> Found:
        found = {name: sorted(lines) for name, lines in self._seen.items() if lines}
        for lines in self._seen.values():
            lines.clear()
        if hasattr(sys, "monitoring"):
            sys.monitoring.restart_events()
        return found

    def _of(self, filename: str) -> set[int] | None:
        """Where the lines of that file are collected; None if nobody wants them."""
        try:
            return self._names[filename]
        except KeyError:
            path = os.path.realpath(filename)
            name = os.path.relpath(path, self._root)
            if self._elsewhere and path.startswith(self._elsewhere) and path[len(self._elsewhere) :] in self._files:
                name = "elsewhere"  # the very files that this place should have a copy of
                self._files.add(name)
            lines = self._seen.setdefault(name, set()) if name in self._files else None
            self._names[filename] = lines
            return lines

    def _watch(self, disable: object) -> Callable[[Any, int], object]:
        def line(code: Any, number: int) -> object:
            lines = self._of(code.co_filename)
            if lines is not None:
                lines.add(number)
            return disable  # once is enough: `take` wakes it again

        return line

    def _call(self, frame: Any, event: str, argument: Any) -> Any:
        lines = self._of(frame.f_code.co_filename)
        if lines is None:
            return None

        def local(frame: Any, event: str, _: Any) -> Any:
            if event == "line":
                lines.add(frame.f_lineno)
            return local

        return local
