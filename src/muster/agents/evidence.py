"""One look at a host: one process, the evidence for all agents there."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import Any

from muster.agents import AgentType, Evidence
from muster.agents.session import Seat
from muster.core import proc
from muster.errors import Unreachable


def look(seat: Seat, kinds: Iterable[AgentType] = (), *, screens: bool = False, timeout: float = 20.0) -> Sight:
    """The evidence for all agents of these types on that host."""
    token = f"m{os.urandom(6).hex()}"
    kinds = list(kinds)
    tails = _patterns(name for kind in kinds for name in kind.tail_files)
    files = _patterns(name for kind in kinds for name in kind.status_files)
    words = seat.script("look", token, "yes" if screens else "no", tails, files)
    result = proc.run(seat.host, words, check=False, timeout=timeout)
    if result.timed_out:
        raise Unreachable(f"`{seat.host.name}` did not answer within {timeout:g} s")
    try:
        sight = Sight(result.out, token)
    except (ValueError, IndexError, OverflowError) as error:
        raise Unreachable(f"what `{seat.host.name}` says of its agents can't be read: {error}") from error
    if sight.now < 0:
        raise Unreachable(f"`{seat.host.name}` could not be looked at: {result.said}")
    return sight


def _patterns(names: Iterable[str]) -> str:
    return " ".join(f"./*/{name}" for name in sorted(set(names)))


class Sight:
    """What a look found, by agent id."""

    def __init__(self, out: bytes, token: str) -> None:
        self.now = -1.0  # before any clock: nothing was found
        self.events = 0  # where the host's event log ended when the look began
        self._found: dict[str, dict[str, Any]] = {}
        mark = f"{token} ".encode()
        lines: list[bytes] | None = None
        for line in out.split(b"\n"):
            if not line.startswith(mark):
                if lines is not None:
                    lines.append(line)
                continue
            word, _, rest = line[len(mark) :].partition(b" ")
            lines = None
            if word == b"now":
                self.now = float(rest)
            elif word == b"events":
                self.events = int(rest)
            elif word == b"pane":
                self._pane(rest.decode(errors="replace").split(" ", 8))
            elif word == b"file":
                self._file(rest)
            elif word == b"screen":
                lines = self._of(rest.decode()).setdefault("screen", [])
            elif word == b"tail":
                lines = self._tail(rest.decode(errors="replace"))

    def evidence(self, agent: str) -> Evidence:
        """Of one agent; with nothing found it says just that."""
        found = self._found.get(agent, {})
        screen = b"\n".join(found.pop("screen", ())).decode(errors="replace")
        files = {name: b"\n".join(lines) for name, lines in found.pop("tails", {}).items()}
        files.update(found.pop("files", {}))
        return Evidence(self.now, **found, files=files, screen=screen)

    def _of(self, agent: str) -> dict[str, Any]:
        return self._found.setdefault(agent, {})

    def _pane(self, words: list[str]) -> None:
        agent, place, pid, dead, code, signal, ended, active, title = words
        if place != "0.0":
            return
        found = self._of(agent)
        found.update(pid=int(pid), alive=dead == "0", active=_number(active), title=title)
        if dead == "1":
            found.update(code=_int(code), signal=_int(signal), ended=_number(ended))

    def _file(self, rest: bytes) -> None:
        path, _, content = rest.partition(b":")
        _, agent, name = path.decode().split("/", 2)
        found = self._of(agent)
        if name == "state":
            found["note"] = content.decode(errors="replace")
        elif name == "exit":
            # The pane knows better while it is there.
            if found.get("alive") is None and (words := re.fullmatch(rb"(\d+) (=\d*) (=\d*) (\d+)", content)):
                at, code, signal, _pid = (word.decode() for word in words.groups())
                found.update(ended=float(at), code=_int(code), signal=_int(signal))
        else:
            files = found.setdefault("files", {})
            files[name] = files.get(name, b"") + content + b"\n"

    def _tail(self, path: str) -> list[bytes]:
        _, agent, name = path.split("/", 2)
        tails: dict[str, list[bytes]] = self._of(agent).setdefault("tails", {})
        return tails.setdefault(name, [])


def _int(word: str) -> int | None:
    return int(word[1:]) if word[1:] else None


def _number(word: str) -> float | None:
    return float(word[1:]) if word[1:] else None
