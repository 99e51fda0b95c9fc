"""What the real programs wrote down, read into one form; damaged logs; the store."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import genai_prices
import msgspec
import pytest

from conftest import Muster, program
from muster.agents import Event, Tokens, logs
from muster.fleet import Fleet
from muster.hosts.local import Local
from muster.traces import Source
from muster.traces.ingest import take
from muster.traces.prices import Prices
from test_hot_path import of_muster

DATA = Path(__file__).parent / "data" / "traces"
RECORDED = {path.name.split("-")[0]: path.read_bytes() for path in DATA.iterdir()}
SED = "sed -i s/one/two/ notes.txt && cat notes.txt"
# What every program was made to do; what they don't write down is left out below.
STORY = [
    ("user", "Change one to two in notes.txt"),
    ("thinking", "I read it first."),
    ("assistant", "I look at the file."),
    ("tool", "cat notes.txt"),
    ("result", "one"),
    ("tool", SED),
    ("result", "two"),
    ("tool", "ls /nowhere"),
    ("error", "ls: cannot access '/nowhere': No such file or directory"),
    ("assistant", "It says two now. Ünïcode: 日本."),
    ("user", "And now three"),
    ("error", "that is too much"),
]
UNTOLD = {
    "opencode": [("thinking", "I read it first.")],  # chat completions have none
    "gemini": [("thinking", "I read it first."), ("error", "that is too much")],
    "mini": [("thinking", "I read it first."), *STORY[9:]],
}


def total(events: Sequence[Event]) -> Tokens:
    counts = [event.tokens for event in events if event.tokens]
    return Tokens(*(sum(getattr(one, name) for one in counts) for name in Tokens.__struct_fields__))


@pytest.mark.parametrize("name", sorted(RECORDED))
def test_what_programs_write_is_one_story(name: str) -> None:
    assert logs.detect(RECORDED[name][:4096]) == name
    events = [*logs.events(name, RECORDED[name])]
    expected = [one for one in STORY if one not in UNTOLD.get(name, [])]
    if name == "mini":  # it ends by a command
        expected += [("tool", "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"), ("result", "")]
    assert [event.role for event in events] == [role for role, _ in expected]
    assert not [(event.text, text) for event, (_, text) in zip(events, expected, strict=True) if text not in event.text]
    assert all(event.at and 1.79e9 < event.at < 1.81e9 for event in events if (name, event.role) != ("mini", "user"))
    calls = [(event.tool, event.id) for event in events if event.role == "tool"]
    answers = [(event.tool, event.id) for event in events if event.tool and event.role != "tool"]
    assert calls == answers
    assert len(set(calls)) == len(calls)


@pytest.mark.parametrize("name", sorted(RECORDED))
def test_each_request_is_counted_once(name: str) -> None:
    """Four requests: 900 of each from the cache, 100 to it where the API tells so."""
    events = [*logs.events(name, RECORDED[name])]
    counted = [event for event in events if event.tokens]
    written = 100 if name in ("claude", "pi") else 0
    new = [1200, 1300, 1400, 1200 if name == "mini" else 1500]
    assert [event.tokens and event.tokens.input for event in counted] == [one + 900 + written for one in new]
    assert total(events) == Tokens(sum(new) + 4 * (900 + written), 320 if name == "mini" else 260, 3600, 4 * written)
    assert {event.model.rpartition("/")[2] for event in counted} <= {
        "claude-sonnet-4-5",
        "gpt-5.5",
        "gpt-5",
        "gemini-2.5-pro",
    }
    assert len({event.request for event in counted}) == 4


JUNK = [
    b"",
    b"null",
    b"7",
    b'{"type":',
    b'"x',
    b"\xff\xfe\x00",
    b"[" * 100_000,
    b'{"type":"of tomorrow","new":[{}]}',
    b"{}",
]
LINED = [name for name in sorted(RECORDED) if not logs.form(name).whole]


@pytest.mark.parametrize("name", LINED)
def test_damaged_logs(name: str) -> None:
    """Half lines, copies, unknown records and bytes that are no text change nothing of what the rest says."""
    log = RECORDED[name]
    events = [*logs.events(name, log)]
    lines = log.split(b"\n")
    assert [*logs.events(name, b"\n".join(part for line in lines for part in (line, line, *JUNK)))] == events
    assert [*logs.events(name, log.replace(b"\n", b"\r\n"))] == events
    for cut in range(0, len(log), len(log) // 60):
        some = [event.text for event in logs.events(name, log[:cut]) if event.text]
        assert some == [event.text for event in events if event.text][: len(some)]
    broken = log.replace("Ünïcode".encode(), b"\xdcn\\ud83dcode")
    [last] = [event for event in logs.events(name, broken) if "says two now" in event.text]
    assert last.text == "It says two now. \N{REPLACEMENT CHARACTER}n\N{REPLACEMENT CHARACTER}code: 日本."


@pytest.mark.parametrize("name", sorted(set(RECORDED) - set(LINED)))
def test_damaged_documents(name: str) -> None:
    document = RECORDED[name]
    assert not [*logs.events(name, document[: len(document) // 2])]
    assert not [*logs.events(name, b'{"messages": 7}')]
    assert [*logs.events(name, document.replace(b"It says", b"It \xff says"))]


def test_counts_that_grow_are_given_out_as_they_grow() -> None:
    """Claude Code writes a block when it ends, and with it what was counted until then."""
    line = b'{"type":"assistant","uuid":"%d","message":{"id":"m","model":"c","content":[{"type":"text","text":"x"}],"usage":{"input_tokens":9,"output_tokens":%d}}}'
    log = b"\n".join(line % (number, output) for number, output in enumerate((1, 1, 7)))
    assert [event.tokens for event in logs.events("claude", log)] == [Tokens(9, 1), None, Tokens(0, 6)]


def test_an_older_codex_counts_by_session() -> None:
    """It has no record of a response, and tells the sum again when limits change."""
    lines = RECORDED["codex"].split(b"\n")
    old = [line for line in lines if b'"type":"token_usage_record"' not in line]
    told_twice = [
        part
        for line in old
        for part in ([line, line.replace(b'"ordinal":', b'"was":')] if b"token_count" in line else [line])
    ]
    new, was = ([*logs.events("codex", b"\n".join(some))] for some in (lines, told_twice))
    assert total(was) == total(new)
    assert [(event.role, event.text) for event in was] == [(event.role, event.text) for event in new]


def test_what_is_no_log_is_not_taken_for_one() -> None:
    for head in (b"", b"hello\nworld\n", b"{}", b'{"a": 1}\n{"b": 2}\n', b"\x00\xff" * 100, b"[]"):
        assert logs.detect(head) is None


# -- the store ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def library(fleet: Fleet) -> Callable[[Path], list[Event]]:
    """Take a file in, and hand out what the store has of it."""

    def stored(path: Path) -> list[Event]:
        for taken in fleet.ingest(paths=[str(path)]):
            assert taken.news != "failed", taken.why
        return [event for one in fleet.traces.find(str(path)) for event in fleet.traces.events(one.id)]

    return stored


def without_costs(events: Iterable[Event]) -> list[Event]:
    """The store looks prices up, and keeps requests by what they took."""
    return [msgspec.structs.replace(event, cost=None, request="") for event in events]


@pytest.mark.parametrize("name", LINED)
def test_a_growing_log_is_read_on(
    name: str, tmp_path: Path, fleet: Fleet, library: Callable[[Path], list[Event]]
) -> None:
    """At every stage the store has what a reading of the whole log has, and each word once."""
    log, path = RECORDED[name], tmp_path / "log.jsonl"
    step = len(log) // 11 + 1
    path.write_bytes(log[:step])
    for end in range(step, len(log) + step, step):
        path.write_bytes(log[:end])
        whole = log[:end].rpartition(b"\n")[0]
        assert without_costs(library(path)) == without_costs(logs.events(name, whole))
    assert [hit.text for hit in fleet.traces.search('"two now"')] == [STORY[9][1]]
    [trace] = fleet.traces.all()
    assert (trace.requests, trace.tokens) == (4, total([*logs.events(name, log)]))
    assert [taken.news for taken in fleet.ingest(paths=[str(path)])] == ["same"]


def test_a_log_that_was_written_anew_is_read_anew(
    tmp_path: Path, fleet: Fleet, library: Callable[[Path], list[Event]]
) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(RECORDED["claude"])
    library(path)
    path.write_bytes(RECORDED["claude"].replace(b"notes.txt", b"other.txt").replace(b"2026-", b"2027-"))
    assert [(taken.news, taken.events) for taken in fleet.ingest(paths=[str(path)])] == [("anew", 12)]
    assert not fleet.traces.search("notes.txt")
    path.write_bytes(RECORDED["codex"])
    assert [event.model for event in library(path) if event.tokens] == ["gpt-5.5"] * 4
    path.write_bytes(b"".join(RECORDED["codex"].splitlines(keepends=True)[:9]))
    assert [event.text for event in library(path)] == [STORY[0][1]]


def test_a_document_that_is_being_written_takes_nothing_away(
    tmp_path: Path, fleet: Fleet, library: Callable[[Path], list[Event]]
) -> None:
    path = tmp_path / "session.json"
    path.write_bytes(RECORDED["opencode"])
    before = library(path)
    path.write_bytes(RECORDED["opencode"][:5000])
    assert library(path) == before
    path.write_bytes(RECORDED["opencode"].replace(b"two now", b"three now"))
    assert [event.text for event in library(path) if "three" in event.text] == [
        "It says three now. Ünïcode: 日本.",
        '"And now three"',
    ]
    assert not fleet.traces.search('"two now"')


def test_what_a_fork_has_from_before_was_paid_for_once(tmp_path: Path, fleet: Fleet) -> None:
    log = RECORDED["claude"]
    fork = re.sub(rb'"uuid":"[^"]{8}', b'"uuid":"ffffffff', log).replace(b"0000-000000000001", b"0000-000000000002")
    fork += log.split(b"\n")[-2].replace(b'"id":"', b'"id":"x')
    for name, data in (("old", log), ("new", fork + b"\n")):
        (tmp_path / f"{name}.jsonl").write_bytes(data)
    assert [taken.events for taken in fleet.ingest(paths=[str(tmp_path)])] == [12, 12]
    assert {one.name: one.requests for one in fleet.traces.all()} == {"new": 4, "old": 0}
    [both] = fleet.spent("type")
    assert both.tokens == total([*logs.events("claude", log)])


def test_a_log_that_moved_with_its_agent_is_read_on(tmp_path: Path, fleet: Fleet) -> None:
    """To another host, or to where a restored agent has it; another agent's copy is another conversation."""
    log, host = RECORDED["claude"], Local(str(tmp_path))
    half = log.index(b"\n", len(log) // 2) + 1
    for name, data in (("old", log[:half]), ("new", log), ("other", log)):
        (tmp_path / f"{name}.jsonl").write_bytes(data)

    def taken(name: str, agent: str) -> str:
        source = Source(str(tmp_path / f"{name}.jsonl"), "claude", agent=agent, name=agent)
        return take(fleet.traces, host, source, Prices()).news

    assert [taken("old", "a"), taken("new", "a"), taken("new", "a"), taken("other", "b")] == [
        "new",
        "more",
        "same",
        "new",
    ]
    assert [(one.name, one.path.rpartition("/")[2], one.events, one.requests) for one in fleet.traces.all()] == [
        ("b", "other.jsonl", 12, 0),
        ("a", "new.jsonl", 12, 4),
    ]


def test_prices_are_those_of_the_list_and_what_programs_say_themselves(tmp_path: Path, fleet: Fleet) -> None:
    """What Claude Code reckons for its session is what the list says; a provider of the user's own has no price in it."""
    (tmp_path / "data").symlink_to(DATA)
    [*fleet.ingest(paths=[str(tmp_path / "data")])]
    found = {one.type: one for one in fleet.traces.all()}
    own = max(json.loads(line).get("totalCostUSD", 0) for line in RECORDED["claude"].splitlines())
    assert found["claude"].cost == pytest.approx(own)
    trajectory = json.loads(RECORDED["mini"])
    assert found["mini"].cost == pytest.approx(trajectory["info"]["model_stats"]["instance_cost"])
    assert (found["pi"].cost, found["pi"].unpriced) == (None, 9660)
    priced = found["codex"].cost
    assert priced
    assert found["gemini"].cost
    spent = {one.key: one for one in fleet.spent("model")}
    assert spent["gpt-5.5"].cost == pytest.approx(priced)
    assert sum(one.unpriced for one in spent.values()) == 9660 + 9260


MODELS = [
    "claude-sonnet-4-5",
    "claude-opus-4-5",
    "gpt-5",
    "gemini-2.5-pro",
    "deepseek/deepseek-chat",
    "openrouter/openai/gpt-5",
    "nobody/gpt-5",
    "no-such",
]


@pytest.mark.parametrize("model", MODELS)
def test_rates_are_what_the_list_answers(model: str) -> None:
    """At any size of a request, in any tier, at any hour."""
    draw, prices = random.Random(model), Prices()
    provider, slash, name = model.partition("/")
    for _ in range(60):
        size = draw.choice([0, 1, 5000, 128_000, 200_000, 200_001, 272_001, 900_000])
        cached = draw.randint(0, size)
        written = draw.randint(0, size - cached)
        tokens = Tokens(size, draw.randint(0, 9000), cached, written, draw.choice([0, written]))
        at = 1.795e9 - draw.randint(0, 20_000_000)
        usage = {
            "input_tokens": size,
            "output_tokens": tokens.output,
            "cache_read_tokens": cached,
            "cache_write_tokens": written,
        }
        if tokens.hour:
            usage["cache_write_1h_tokens"] = tokens.hour
        try:
            answer = genai_prices.calc_price(
                genai_prices.Usage(**usage),
                name if slash else model,
                provider_id=provider if slash else None,
                genai_request_timestamp=datetime.fromtimestamp(at, UTC),
            )
            expected = pytest.approx(float(answer.total_price), abs=1e-9)
        except LookupError:
            expected = None
        assert prices.price(model, tokens, at) == expected
    assert prices.price(model, Tokens(5, 0, 7), at) is None


def test_on_the_command_line(repo: Path, muster: Muster, tmp_path: Path) -> None:
    """Of an agent, also when it has another name and when it is gone; of a file; with what is wrong said plainly."""
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"steps": [{"say": "The quokka sleeps."}, {"run": "echo out"}]}))
    muster(
        "create",
        "fix",
        "scripted",
        "--no-connect",
        "--label",
        "team=web",
        "-m",
        "look for it",
        "--",
        "--script",
        script,
    )
    muster("create", "plain", "command", "--no-connect", "--", "sleep", "1000")
    muster("wait", "fix")
    assert muster("traces", "list").out == ""
    assert "nothing new" in muster("traces", "ingest", "plain").err
    [first] = muster("traces", "ingest", "--format", "json").json
    assert (first["name"], first["news"]) == ("fix", "new")
    said = muster("transcript", "fix", "--format", "json").json
    assert muster("traces", "show", "fix", "--format", "json").json == said
    assert first["events"] == len(said)
    muster("message", "fix", "-m", "and now?")
    muster("wait", "fix")
    muster("rename", "fix", "mended")
    [more] = muster("traces", "ingest", "mended", "--format", "json").json
    assert (more["name"], more["news"]) == ("mended", "more")
    muster("destroy", "mended")
    [hit] = muster("traces", "search", "QUOKKA sleeps", "--format", "json").json
    assert (hit["name"], hit["role"]) == ("mended", "assistant")
    assert "mended" in muster("traces", "search", "quokka", "--role", "assistant").out
    assert muster("traces", "search", "quokka", "--role", "error").err.strip() == "nothing found"

    muster("traces", "ingest", "--path", DATA / "claude-2.1.327.jsonl")
    assert (
        muster("traces", "show", "claude-2.1.327", "--tail", "1").lines[-1].endswith("API Error: 400 that is too much")
    )
    assert [one["key"] for one in muster("traces", "cost", "--by", "model", "--format", "json").json] == [
        "claude-sonnet-4-5"
    ]
    assert [one["key"] for one in muster("traces", "cost", "--by", "labels.team", "--format", "json").json] == [""]
    assert muster("traces", "cost").lines[-1].split()[:2] == ["4", "9,400"]

    for words, code, hint in (
        (["show", "nobody"], 3, "muster traces list"),
        (["ingest", "--path", "/nowhere"], 3, "`/nowhere`"),
        (["ingest", "--path", script], 2, "claude, codex"),
        (["ingest", "nobody"], 3, "there is no agent"),
        (["cost", "--by", "modle"], 2, "did you mean `model`"),
        (["cost", "--by", "labels."], 2, "labels.NAME"),
        (["cost", "--since", "long"], 2, "no duration"),
        (["serach", "x"], 2, "did you mean `search`"),
    ):
        done = muster("traces", *words, check=False)
        assert (done.code, hint in done.err) == (code, True), done.err


def test_without_a_price_list_there_are_tokens(tmp_path: Path, home: Path, muster: Muster) -> None:
    """And with one later, what was read before has prices. A store that is broken is named."""
    (tmp_path / "genai_prices.py").write_text("raise ImportError('as if it were not installed')")
    log = DATA / "codex-0.169.0.jsonl"
    done = muster("traces", "ingest", "--path", log, env={"PYTHONPATH": str(tmp_path)})
    assert "new" in done.out
    done = muster("traces", "cost", env={"PYTHONPATH": str(tmp_path)})
    assert "9,260" in done.lines[-1]
    assert "pass-muster[cost]" in done.err
    muster("traces", "ingest", "--path", log)
    done = muster("traces", "cost")
    assert "$0." in done.lines[-1]
    assert not done.err

    for name in ("traces.db-wal", "traces.db-shm"):
        (home / name).unlink()
    (home / "traces.db").write_bytes(b"no database" * 1000)
    done = muster("traces", "list", check=False)
    assert (done.code, "delete it" in done.err) == (1, True)


def test_memory_is_bounded_and_a_killed_ingest_is_taken_up(tmp_path: Path, muster: Muster, home: Path) -> None:
    """A log of 40 MB, a line of 6 MB in it; killed at any moment, the store has it whole or not at all."""
    lines = [line for line in RECORDED["claude"].splitlines(keepends=True) if b'"toolUseResult"' in line]
    path = tmp_path / "log.jsonl"
    with path.open("wb") as file:
        file.write(RECORDED["claude"])
        for number in range(8000):
            line = lines[number % 3].replace(b'"uuid":"', b'"uuid":"%d-' % number)
            file.write(line.replace(b'"content":"', b'"content":"%s' % (b"word " * 800)))
        file.write(
            lines[0]
            .replace(b'"uuid":"', b'"uuid":"long')
            .replace(b'"content":"', b'"content":"%s' % (b"x" * 6_000_000))
        )
    argv = [*program(), "traces", "ingest", "--path", str(path)]
    child = subprocess.Popen(argv, stdout=subprocess.DEVNULL)
    store = home / "traces.db-wal"
    while not (store.exists() and store.stat().st_size > 1_000_000):
        assert child.poll() is None
        time.sleep(0.001)
    child.kill()
    child.wait()
    assert muster("traces", "list", "--format", "json").json == []
    # A program's peak begins with that of the process that started it, so a small one does.
    run = "subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)"
    peak = "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    measured = [sys.executable, "-c", f"import resource, subprocess, sys; {run}; {peak}", *argv]
    used = int(subprocess.run(measured, capture_output=True, check=True).stdout)
    [trace] = muster("traces", "list", "--format", "json").json
    assert trace["events"] == 12 + 8001
    assert used / (1024 if sys.platform == "linux" else 1024**2) < 120


def test_what_an_agent_spent_is_a_field(fleet: Fleet, repo: Path, tmp_path: Path, muster: Muster) -> None:
    """Its subagents are its own; who was not read has no value, which is neither less nor more than anything."""
    agent = fleet.create("fix", "command", args=["cat"])
    fleet.create("other", "command", args=["cat"])
    for name in ("fix", "fix/agent-1"):
        path = tmp_path / f"{len(name)}.jsonl"
        path.write_bytes(RECORDED["claude"].replace(b'"msg_', b'"msg_%d' % len(name)))
        take(fleet.traces, Local(str(repo)), Source(str(path), "claude", agent=agent.id, name=name), Prices())
    listed = muster("list", "--fields", "name,tokens,cost", "--sort", "-cost", "--format", "json").json["agents"]
    both = pytest.approx(2 * 0.02268)
    assert listed == [
        {"name": "fix", "tokens": 2 * 9660, "cost": both},
        {"name": "other", "tokens": None, "cost": None},
    ]
    assert muster("list", "--where", "cost > 0.01", "--fields", "name,cost").lines[1:] == ["fix   $0.0454"]
    assert "cost" not in muster("list", "--format", "json").json["agents"][0]
    [spent] = fleet.spent()
    assert (spent.key, spent.requests, spent.unpriced) == ("fix", 8, 0)
    assert len(muster("traces", "show", "fix", "--format", "json").json) == 24


def test_looking_and_listing_load_no_prices(home: Path) -> None:
    """They cost a quarter of a second, which only a request pays whose price is asked for."""
    assert home
    for words in (["traces", "list"], ["traces", "cost"], ["traces", "ingest"]):
        modules = of_muster(*words)
        assert "muster.fleet" in modules
        assert not {"genai_prices", "pydantic"} & modules
    assert not {name for name in of_muster("list") if name.startswith("muster.traces")}
