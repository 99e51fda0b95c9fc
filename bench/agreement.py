"""How often muster's word about an agent is right: `python bench/agreement.py [TYPE...]`.

Each scenario runs the real program against the scripted model, which knows from its side of the wire what the agent must be doing:
thinking while an answer is held back, blocked while a call that needs a permission is not answered, waiting when its last answer is
given. Meanwhile muster looks as often as it can, and each look is compared with that. A state may be known late (the program's own
delay, its hook, the look): looks within GRACE seconds after a change may also show what was before, and are counted as such.
"""

from __future__ import annotations

import argparse
import ctypes
import fcntl
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from muster.agents import Agent, Kind
from muster.fleet import Fleet
from muster_testkit.model import Model, serve

GRACE = 1.2
HOLD = 1.0
KEY = "sk-ant-dummy-0123456789abcdefghijklmnop"


class Setup(NamedTuple):
    """What a program needs to ask the scripted model, and what of its tools needs a permission."""

    env: Callable[[Model, str], dict[str, str]]  # for that model, in a folder of its own
    asks: dict[str, Any]  # a step that asks for a permission
    failures: Mapping[str, dict[str, Any]]  # by the word in the state's reason


def _claude(model: Model, _folder: str) -> dict[str, str]:
    return {
        "ANTHROPIC_BASE_URL": model.url,
        "ANTHROPIC_API_KEY": KEY,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_MAX_RETRIES": "1",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_ERROR_REPORTING": "1",
    }


def _codex(model: Model, folder: str) -> dict[str, str]:
    os.makedirs(f"{folder}/codex")
    provider = f'{{name="s", base_url="{model.url}/v1", env_key="OPENAI_API_KEY", wire_api="responses"'
    provider += ", request_max_retries=1, stream_max_retries=1}"
    with open(f"{folder}/codex/config.toml", "w") as file:
        file.write(f'model = "gpt-5.5"\nmodel_provider = "s"\nmodel_providers.s = {provider}\n')
        file.write('notice.model_migrations."gpt-5.5" = "gpt-6-sol"\n')
    return {"OPENAI_API_KEY": KEY, "CODEX_HOME": f"{folder}/codex"}


SETUPS = {
    "claude": Setup(
        _claude,
        {"bash": "touch asked"},
        {
            "rate limit": {"status": 429, "type": "rate_limit_error", "message": "Slow down", "retry_after": 1},
            "overload": {"status": 529, "type": "overloaded_error", "message": "Overloaded"},
            "authentication": {"status": 401, "type": "authentication_error", "message": "invalid x-api-key"},
            "billing": {"status": 400, "type": "invalid_request_error", "message": "Your credit balance is too low"},
        },
    ),
    "codex": Setup(
        _codex,
        {"write": {"path": "asked.txt", "content": "a"}},
        {
            "rate limit": {"status": 429},
            "overload": {"status": 529},
            "authentication": {"status": 401},
            "billing": {"status": 402},
        },
    ),
}


class Look(NamedTuple):
    """What muster said at a time, and what was true then."""

    at: float
    until: float
    kind: Kind
    reason: str


class Stage:
    """One agent, what it must be doing, and what muster says of it."""

    def __init__(self, fleet: Fleet, model: Model, setup: Setup, kind: str) -> None:
        self.fleet, self.model, self.setup, self.kind = fleet, model, setup, kind
        self.looks: list[Look] = []
        self.truths: list[tuple[float, tuple[Kind, ...], str]] = []
        self.agent: Agent | None = None
        self._over = threading.Event()

    # -- what a scenario does ------------------------------------------------------------------------------------------

    def begin(self, steps: Any, message: str | None = None, *, permissions: str = "ask") -> None:
        self.model.script(steps)
        self.agent = self.fleet.create("it", self.kind, permissions=permissions, message=message, unsafe_here=True)
        if message is None:
            self.fleet.wait([self.agent], ["waiting"], timeout=60)

    def say(self, text: str, steps: Any = None) -> None:
        if steps is not None:
            self.model.script(steps)
        receipts = list(self.fleet.message(["it"], text))
        assert all(one.status in ("delivered", "queued") for one in receipts), receipts

    def asked(self, count: int) -> None:
        """Wait until the model was asked so often."""
        self.model.wait_for(lambda _: len(self.model.asked()) >= count)

    def true(self, *kinds: Kind, reason: str = "", hold: float = HOLD) -> None:
        """From now on it must be in one of these states, and stays there for a while."""
        self.truths.append((time.time(), kinds, reason))
        time.sleep(hold + GRACE)

    def nothing(self) -> None:
        """From now on nobody knows."""
        self.truths.append((time.time(), (), ""))

    # -- what is seen --------------------------------------------------------------------------------------------------

    @contextmanager
    def watched(self) -> Iterator[None]:
        thread = threading.Thread(target=self._watch)
        thread.start()
        try:
            yield
        finally:
            self._over.set()
            thread.join()

    def _watch(self) -> None:
        while not self._over.wait(0.03):
            begun = time.time()
            for agent in self.fleet.agents():
                if agent.state:
                    self.looks.append(Look(begun, time.time(), agent.state.kind, agent.state.reason))


class Score(NamedTuple):
    """Of the looks of one scenario."""

    looks: int = 0
    right: int = 0
    late: int = 0
    unknown: int = 0
    wrong: int = 0
    false: int = 0  # of the wrong: `waiting` or `done` that was not so

    def plus(self, other: Score) -> Score:
        return Score(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))


def score(stage: Stage, tell: bool) -> Score:
    total = Score()
    for look in stage.looks:
        past = [truth for truth in stage.truths if truth[0] <= look.at]
        # A look during which the truth changed may show either.
        if not past or not past[-1][1] or any(look.at < at <= look.until + 0.1 for at, _, _ in stage.truths):
            continue
        found = _judged(look, past)
        if tell and found.wrong:
            print(f"    {look.kind} ({look.reason}) {look.at - past[-1][0]:.2f} s into {past[-1][1:]}", file=sys.stderr)
        total = total.plus(found)
    return total


def _judged(look: Look, past: list[tuple[float, tuple[Kind, ...], str]]) -> Score:
    at, kinds, reason = past[-1]
    if look.kind in kinds and reason in look.reason:
        return Score(looks=1, right=1)
    before = past[-2][1] if len(past) > 1 else ()
    if look.at < at + GRACE and look.kind in (*before, *kinds, "working"):
        return Score(looks=1, late=1)
    if look.kind == "unknown":
        return Score(looks=1, unknown=1)
    return Score(looks=1, wrong=1, false=look.kind in ("waiting", "done"))


# -- scenarios ---------------------------------------------------------------------------------------------------------


def thinking(stage: Stage) -> None:
    stage.begin([{"text": "Yes.", "gate": "a"}, {"text": "Again.", "gate": "b"}], "Think")
    stage.asked(1)
    stage.true("working", hold=2)
    stage.model.release("a")
    stage.true("waiting", reason="turn ended", hold=2)
    stage.nothing()
    stage.say("And again")
    stage.true("working")
    stage.model.release("b")
    stage.true("waiting", reason="turn ended")


def slow_answer(stage: Stage) -> None:
    stage.begin([{"text": "word " * 600, "chunk_delay": 0.15}], "Talk")
    stage.asked(1)
    stage.true("working", hold=0.5)
    stage.nothing()
    stage.fleet.wait(["it"], ["waiting"], timeout=60)
    stage.true("waiting", reason="turn ended")


def tools(stage: Stage) -> None:
    """Nothing is asked of the model while a tool runs."""
    work = "python3 -c 'import time; time.sleep(3)'"
    stage.begin([{"bash": work}, {"bash": "touch one"}, {"text": "Done.", "gate": "end"}], "Work", permissions="all")
    stage.asked(1)
    stage.true("working", hold=2)
    stage.asked(3)
    stage.true("working")
    stage.model.release("end")
    stage.true("waiting", reason="turn ended")


def permission(stage: Stage) -> None:
    stage.begin([stage.setup.asks, {"text": "Done.", "gate": "p"}], "Do it")
    stage.asked(1)
    stage.true("blocked", reason="permission", hold=2)
    stage.nothing()
    stage.fleet.answer("it", "yes")
    stage.asked(2)
    stage.true("working")
    stage.model.release("p")
    stage.true("waiting", reason="turn ended")


def denied(stage: Stage) -> None:
    stage.begin([stage.setup.asks, {"text": "Pity."}], "Do it")
    stage.asked(1)
    stage.true("blocked", reason="permission")
    stage.nothing()
    stage.fleet.answer("it", "no")
    stage.true("waiting", hold=2)


def interrupted(stage: Stage) -> None:
    stage.begin([{"text": "Never.", "gate": "never"}], "Think")
    stage.asked(1)
    stage.true("working")
    stage.nothing()
    list(stage.fleet.interrupt(["it"]))
    stage.true("waiting", reason="interrupted", hold=2)
    stage.model.release("never")


def interrupted_tool(stage: Stage) -> None:
    work = "python3 -c 'import time; time.sleep(60)'"
    stage.begin([{"bash": work}, {"text": "Never."}], "Work", permissions="all")
    stage.asked(1)
    stage.true("working", hold=2)
    stage.nothing()
    list(stage.fleet.interrupt(["it"]))
    stage.true("waiting", reason="interrupted", hold=2)


def failures(stage: Stage) -> None:
    stage.begin([])
    for reason, failure in stage.setup.failures.items():
        stage.nothing()
        stage.say(f"Try {reason}", [{"fail": failure, "times": 0}])
        stage.fleet.wait(["it"], ["waiting"], timeout=60)
        stage.true("waiting", reason=f"API failure: {reason}")


def retried(stage: Stage) -> None:
    busy = {"status": 529, "type": "overloaded_error", "message": "Overloaded"}
    stage.begin([{"fail": busy}, {"text": "At last.", "gate": "r"}], "Try")
    stage.asked(1)
    stage.true("working", hold=2)
    stage.model.release("r")
    stage.nothing()
    stage.fleet.wait(["it"], ["waiting"], timeout=60)
    stage.true("waiting", reason="turn ended")


def told_while_busy(stage: Stage) -> None:
    steps = [{"bash": "true", "gate": "q"}, {"text": "One.", "gate": "q2"}, {"text": "Two."}]
    stage.begin(steps, "Work", permissions="all")
    stage.asked(1)
    stage.true("working", hold=0)
    stage.say("More")
    stage.true("working")
    stage.model.release("q")
    stage.asked(2)
    stage.true("working")
    stage.model.release("q2")
    stage.true("waiting", reason="turn ended")


def killed(stage: Stage) -> None:
    stage.begin([{"text": "Never.", "gate": "k"}], "Think")
    stage.asked(1)
    stage.true("working", hold=0)
    evidence = stage.fleet.why("it").evidence
    assert evidence and evidence.pid
    os.kill(evidence.pid, signal.SIGKILL)
    stage.true("failed", reason="SIGKILL")
    stage.model.release("k")


def stopped_and_started(stage: Stage) -> None:
    stage.begin([{"text": "One."}], "Talk")
    stage.fleet.wait(["it"], ["waiting"], timeout=60)
    stage.true("waiting", hold=0)
    stage.nothing()
    stage.fleet.stop(["it"])
    stage.true("stopped")
    stage.nothing()
    stage.fleet.start(["it"])
    stage.fleet.wait(["it"], ["waiting"], timeout=60)
    stage.say("Go on", [{"text": "Two.", "gate": "s"}])
    stage.true("working")
    stage.model.release("s")
    stage.true("waiting", reason="turn ended")


SCENARIOS: tuple[Callable[[Stage], None], ...] = (
    *(thinking, slow_answer, tools, permission, denied, interrupted, interrupted_tool),
    *(failures, retried, told_while_busy, killed, stopped_and_started),
)


def played(kind: str, scenario: Callable[[Stage], None], tell: bool) -> Score:
    """One scenario in a home, a repository and a tmux server of its own."""
    base = tempfile.mkdtemp(prefix="ag-", dir="/tmp")
    before = dict(os.environ)
    try:
        with serve() as model:
            _move(base, SETUPS[kind].env(model, base))
            stage = Stage(Fleet.open(f"{base}/m"), model, SETUPS[kind], kind)
            try:
                with stage.watched():
                    scenario(stage)
                    stage.nothing()
            finally:
                stage.fleet.stop([one.name for one in stage.fleet.known()])
        return score(stage, tell)
    finally:
        os.chdir("/")
        os.environ.clear()
        os.environ.update(before)
        shutil.rmtree(base, ignore_errors=True)


def _move(base: str, env: Mapping[str, str]) -> None:
    path = os.environ["PATH"]
    for folder in ("home/tmp", "m", "repo"):
        os.makedirs(f"{base}/{folder}", mode=0o700)
    os.environ.clear()
    os.environ.update(PATH=path, HOME=f"{base}/home", TMPDIR=f"{base}/home/tmp", USER="agent", SHELL="/bin/bash")
    os.environ.update(LANG="C.UTF-8", TERM="xterm-256color", MUSTER_HOME=f"{base}/m", **env)
    os.chdir(f"{base}/repo")
    for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "first"]):
        subprocess.run(["git", "-c", "user.name=Bench", "-c", "user.email=bench@example.org", *words], check=True)


def table(kind: str, scores: Mapping[str, Score]) -> str:
    total = Score()
    for one in scores.values():
        total = total.plus(one)
    rows = [
        f"| {kind} | looks | right | late | unknown | wrong | of these `waiting` or `done` |",
        "|---|---|---|---|---|---|---|",
    ]
    rows += [f"| {name} | " + " | ".join(map(str, one)) + " |" for name, one in {**scores, "**all**": total}.items()]
    return "\n".join(rows)


def installed(names: Sequence[str]) -> str:
    """The folder of the pinned programs; they are installed if they are not yet."""
    script = os.path.join(os.path.dirname(__file__), "..", "scripts", "install.py")
    done = subprocess.run([sys.executable, script, *names], stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.strip()


def alone() -> None:
    """A network with a loopback and nothing else, where we may make one (netdevice(7))."""
    if sys.platform != "linux" or os.getuid() != 0 or ctypes.CDLL(None).unshare(0x40000000):
        print("the programs have this machine's network", file=sys.stderr)
        return
    with socket.socket() as one:
        flags = fcntl.ioctl(one, 0x8913, struct.pack("16sh22x", b"lo", 0))
        up = struct.unpack("16sh22x", flags)[1] | 1
        fcntl.ioctl(one, 0x8914, struct.pack("16sh22x", b"lo", up))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("types", nargs="*", default=list(SETUPS), metavar="TYPE")
    parser.add_argument("--only", help="one scenario")
    arguments = parser.parse_args()
    os.environ["PATH"] = f"{installed(arguments.types)}{os.pathsep}{os.environ['PATH']}"
    alone()
    bad = False
    for kind in arguments.types:
        scores = {}
        for scenario in SCENARIOS:
            name = scenario.__name__.replace("_", " ")
            if arguments.only in (None, name, scenario.__name__):
                print(f"  {name}", file=sys.stderr)
                scores[name] = played(kind, scenario, tell=True)
        print(table(kind, scores))
        bad = bad or any(one.false for one in scores.values())
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
