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
        for record in b"\n".join([b"", out]).split(f"\n{token} ".encode())[1:]:
            line, _, rest = record.partition(b"\n")
            word, _, line = line.partition(b" ")
            if word == b"now":
                self.now = float(line)
            elif word == b"events":
                self.events = int(line)
            elif word == b"pane":
                self._pane(line.decode(errors="replace").split(" ", 8))
            elif word == b"file":
                self._file(line)
            elif word == b"screen":
                self._of(line.decode())["screen"] = rest
            elif word == b"tail":
                self._tail(line.decode(errors="replace"), rest)

    def evidence(self, agent: str) -> Evidence:
        """Of one agent; with nothing found it says just that."""
        found = self._found.get(agent, {})
        screen = found.pop("screen", b"").decode(errors="replace")
        files = {**found.pop("tails", {}), **found.pop("files", {})}
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

    def _tail(self, path: str, end: bytes) -> None:
        _, agent, name = path.split("/", 2)
        self._of(agent).setdefault("tails", {})[name] = end


def _int(word: str) -> int | None:
    return int(word[1:]) if word[1:] else None


def _number(word: str) -> float | None:
    return float(word[1:]) if word[1:] else None
