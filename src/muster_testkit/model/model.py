"""The model: a lane per client, what was asked, and the gates that hold answers back."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import IO, Any, NamedTuple

from muster_testkit.model.lane import BadScript, Lane, Script, checked
from muster_testkit.model.requests import Asked, Json

__all__ = ["BadScript", "Model", "Request"]


class Request(NamedTuple):
    """One request as it arrived, and the step that answered it."""

    at: float
    lane: str
    path: str
    api: str  # empty: no model was asked
    body: Json
    last: str  # the text of the last thing said
    step: Json


class Model:
    """Lanes by API key, so that one server serves many agents: give each a key of its own."""

    def __init__(self, script: Script = (), log: str | None = None) -> None:
        lanes = script["lanes"] if isinstance(script, Mapping) and "lanes" in script else {"*": script}
        self.url = ""  # of its server, once there is one
        self.requests: list[Request] = []
        self._scripts: dict[str, Json] = {"*": {}, **{key: checked(one) for key, one in lanes.items()}}
        self._lanes: dict[str, Lane] = {}
        self._gates: dict[str, threading.Event] = {}
        self._news = threading.Condition()
        self._log: IO[str] | None = open(log, "a") if log else None  # noqa: SIM115 - closed by `close`

    def script(self, script: Script, lane: str = "*") -> None:
        """Start a lane on another script; `*` is all those that have none of their own."""
        whole = checked(script)
        with self._news:
            self._scripts[lane] = whole
            for one in self._those(lane):
                one.set(whole)

    def push(self, steps: Sequence[Mapping[str, Any]], lane: str = "*") -> None:
        """More steps at a lane's end."""
        more = checked(steps)["steps"]
        with self._news:
            script = self._scripts.get(lane, self._scripts["*"])
            self._scripts[lane] = {**script, "steps": [*script.get("steps", []), *more]}
            for one in self._those(lane):
                one.push(more)

    def release(self, gate: str) -> None:
        """Let go what is held, or will be held, at that gate."""
        self._gate(gate).set()

    def state(self) -> Json:
        """How many requests each lane has answered, and how many steps are left."""
        with self._news:
            return {key: {"served": one.served, "left": len(one.steps)} for key, one in self._lanes.items()}

    def asked(self, lane: str | None = None) -> list[Request]:
        """The requests to a model so far, of all clients or of one."""
        with self._news:
            return [one for one in self.requests if one.api and lane in (None, one.lane)]

    def wait_for(self, wanted: Callable[[Request], bool], timeout: float = 60.0) -> Request:
        """The first request for which that holds, which may still come."""
        deadline = time.monotonic() + timeout
        with self._news:
            while not (found := [one for one in self.requests if wanted(one)]):
                if (left := deadline - time.monotonic()) <= 0 or not self._news.wait(left):
                    raise TimeoutError(f"no such request after {timeout:g} s, {len(self.requests)} others")
            return found[0]

    def close(self) -> None:
        """Let everybody go."""
        for gate in [*self._gates.values()]:
            gate.set()
        if self._log:
            self._log.close()
            self._log = None

    # -- for the server ------------------------------------------------------------------------------------------------

    def take(self, key: str, path: str, asked: Asked) -> tuple[Json, int]:
        """The step that answers, and how many tokens of the request were asked before."""
        with self._news:
            lane = self._lane(key)
            step = lane.take(asked)
            lane.served += 1
            cached, lane.context = min(lane.context, asked.size), asked.size
            self._note(Request(time.time(), key, path, asked.api, asked.body, asked.last, step))
        return step, cached

    def note(self, key: str, path: str, body: Json) -> None:
        """A request that is not one to a model."""
        with self._news:
            self._note(Request(time.time(), key, path, "", body, "", {}))

    def hold(self, gate: str) -> None:
        self._gate(gate).wait()

    def _note(self, request: Request) -> None:
        self.requests.append(request)
        if self._log:
            self._log.write(json.dumps(request._asdict()) + "\n")
            self._log.flush()
        self._news.notify_all()

    def _gate(self, name: str) -> threading.Event:
        with self._news:
            return self._gates.setdefault(name, threading.Event())

    def _lane(self, key: str) -> Lane:
        if key not in self._lanes:
            self._lanes[key] = Lane(self._scripts.get(key, self._scripts["*"]))
        return self._lanes[key]

    def _those(self, lane: str) -> list[Lane]:
        return [one for key, one in self._lanes.items() if key == lane or (lane == "*" and key not in self._scripts)]
