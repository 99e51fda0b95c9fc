"""Claude Code, the real program: what it does is seen, what is said to it arrives, and its conversation goes on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from conftest import Muster
from muster.agents import Agent, Evidence, Kind, Note
from muster.agents.claude import Claude
from muster.errors import Refused, UsageError
from muster.fleet import Fleet
from muster.fleet.programs import pins
from muster_testkit.model import Model
from programs import Install, install, model, network, prefix
from sample_projects import git, project

__all__ = ["install", "model", "network", "prefix"]

KEY = "sk-ant-dummy-0123456789abcdefghijklmnop"
Begin = Callable[..., Agent]


@pytest.fixture
def begin(
    install: Install, model: Model, repo: Path, muster: Muster, fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> Begin:
    """Make an agent whose program asks the scripted model: `begin("fix", "-m", "Hello")`."""
    install("claude")
    for name, value in _environment(model).items():
        monkeypatch.setenv(name, value)

    def begin(name: str, *words: str) -> Agent:
        # By the program, which is in the model's network: so are the tmux server that it starts, and all that lives there.
        muster("create", name, "claude", *words)
        return fleet.agent(name)

    return begin


def _environment(model: Model) -> dict[str, str]:
    return {
        "ANTHROPIC_BASE_URL": model.url,
        "ANTHROPIC_API_KEY": KEY,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_MAX_RETRIES": "0",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "SHELL": "/bin/bash",
    }


def until(fleet: Fleet, name: str, *kinds: Kind) -> tuple[Kind, str]:
    """Its state and why, once it is one of these."""
    [agent] = fleet.wait([name], kinds, timeout=60)
    assert agent.state
    return agent.state.kind, agent.state.reason


def said(fleet: Fleet, name: str, role: str = "user") -> list[str]:
    return [event.text for event in fleet.transcript(name) if event.role == role]


QUESTION = {
    "question": 'Which "db"?',
    "header": "DB",
    "multiSelect": False,
    "options": [{"label": "Postgres", "description": "big"}, {"label": "SQLite", "description": "small"}],
}


RECORDED = Path(__file__).parent / "data" / "states" / f"claude-{pins()['claude']['version']}.json"
HOOKS = "SessionStart UserPromptSubmit PostToolUse PermissionRequest Stop StopFailure".split()


def test_states_dialogs_and_interruptions(begin: Begin, model: Model, muster: Muster, fleet: Fleet, home: Path) -> None:
    seen = _listen(home)
    model.script([{"text": "Hello.", "gate": "first"}])
    agent = begin("fix", "--permissions", "ask", "-m", "Say hello")
    assert until(fleet, "fix", "working", "waiting")[0] == "working"
    evidence = Moments(fleet)
    model.wait_for(lambda request: bool(request.api))
    evidence.look("busy")
    model.release("first")
    assert until(fleet, "fix", "waiting") == ("waiting", "its turn ended")
    evidence.look("idle")
    [seen_by_user] = fleet.agents(["fix"], screens=True)
    assert "Hello." in seen_by_user.activity or "·" in seen_by_user.activity
    assert [(event.role, event.text) for event in fleet.transcript("fix")] == [
        ("user", "Say hello"),
        ("assistant", "Hello."),
    ]
    # Nobody set Claude Code up here, and nobody has now.
    assert not [name for name in os.listdir(home.parent / "home") if name.startswith(".")]

    target = Path(agent.workspace.path) / "made.txt"
    model.script([{"write": {"path": str(target), "content": "it\n"}}, {"text": "Written."}])
    [receipt] = fleet.message(["fix"], "Write a file")
    assert receipt.status == "delivered"
    assert until(fleet, "fix", "blocked", "waiting") == ("blocked", f"permission: Write: {target}")
    evidence.look("waiting")
    done = muster("message", "fix", "-m", "Are you there?", check=False)
    assert done.code == 6 and f"permission: Write: {target}" in done.out
    with pytest.raises(UsageError, match="one line"):
        fleet.answer("fix", "yes\n")
    with pytest.raises(UsageError, match="takes no `perhaps`"):
        fleet.answer("fix", "perhaps")
    assert not target.exists()
    muster("answer", "fix", "yes")
    assert until(fleet, "fix", "waiting") == ("waiting", "its turn ended")
    assert target.read_text() == "it\n"

    model.script([{"bash": "touch denied"}, {"text": "Too far."}])
    list(fleet.message(["fix"], "Run it"))
    assert until(fleet, "fix", "blocked", "waiting") == ("blocked", "permission: Bash: touch denied")
    fleet.answer("fix", "no")
    assert until(fleet, "fix", "waiting") == ("waiting", "interrupted")
    assert not (Path(agent.workspace.path) / "denied").exists()
    with pytest.raises(Refused, match="asks nothing"):
        fleet.answer("fix", "yes")

    model.script([{"tool": {"name": "AskUserQuestion", "input": {"questions": [QUESTION]}}}, {"text": "Fine."}])
    list(fleet.message(["fix"], "Ask me"))
    assert until(fleet, "fix", "blocked", "waiting") == ("blocked", 'question: Which "db"?')
    fleet.answer("fix", "Neither; a file will do")
    assert until(fleet, "fix", "waiting") == ("waiting", "its turn ended")
    assert "Neither; a file will do" in said(fleet, "fix", "result")[-1]

    model.script([{"text": "Never said.", "gate": "second"}])
    list(fleet.message(["fix"], "Wait for it"))
    done = muster("interrupt", "fix")
    assert done.out.split()[:2] == ["fix", "interrupted"]
    state = fleet.agent("fix").state
    assert state and (state.kind, state.reason) == ("waiting", "interrupted")
    assert muster("interrupt", "fix").out.split()[:2] == ["fix", "idle"]
    model.release("second")
    # What was interrupted may be back in its composer, and must not become part of what is said next.
    model.script([{"text": "Right."}])
    list(fleet.message(["fix"], "Go on"))
    assert until(fleet, "fix", "waiting") == ("waiting", "its turn ended")
    assert said(fleet, "fix")[-1] == "Go on"
    assert fleet.agent("fix").state

    model.script([{"fail": FAILURES[0][0], "times": 0}])
    list(fleet.message(["fix"], "Fail"))
    assert until(fleet, "fix", "waiting") == ("waiting", "API failure: rate limit")
    os.kill(_pid(fleet, "fix"), signal.SIGKILL)
    assert until(fleet, "fix", "failed", "done") == ("failed", "ended by SIGKILL")
    _compare({"status": evidence.found, "hooks": _heard(seen)}, str(home.parent))


def test_dialogs_before_its_session_are_named_and_answered(
    begin: Begin, model: Model, muster: Muster, fleet: Fleet, home: Path
) -> None:
    """Of a user who has set Claude Code up, in a folder that they never trusted in it."""
    _set_up(home, {"customApiKeyResponses": {"approved": [KEY[-20:]]}})
    (home.parent / "more.md").write_text("Be brief.\n")
    Path("CLAUDE.md").write_text("@../more.md\n")
    servers = {"mcpServers": {"one": {"command": "true"}, "two": {"command": "true"}}}
    Path(".mcp.json").write_text(json.dumps(servers))
    model.script([{"text": "Hello."}])
    begin("fix", "--mode", "in-place", "-m", "Say hello")
    trust = "dialog: is this folder to be trusted?"
    assert until(fleet, "fix", "blocked", "waiting") == ("blocked", trust)
    found = fleet.agent("fix").state
    assert found and found.sources == ("screen", "tmux")
    done = muster("message", "fix", "-m", "Are you there?", check=False)
    assert done.code == 6 and f"it is blocked: {trust}" in done.out
    with pytest.raises(UsageError, match="takes no `perhaps`"):
        fleet.answer("fix", "perhaps")
    muster("answer", "fix", "yes")
    assert until(fleet, "fix", "blocked", "waiting") == ("blocked", "dialog: 2 new MCP servers found in this project")
    fleet.answer("fix", "yes")
    imports = "dialog: Allow external CLAUDE.md file imports?"
    assert until(fleet, "fix", "blocked", "waiting") == ("blocked", imports)
    fleet.answer("fix", "2")
    assert until(fleet, "fix", "blocked", "waiting") == ("waiting", "its turn ended")
    assert said(fleet, "fix") == ["Say hello"]
    assert "Be brief." in json.dumps(model.asked()[-1].body)

    # It trusts that folder now, and is asked about another one.
    other = project(home.parent / "other", {"a": "a"})
    muster("create", "two", "claude", "--mode", "in-place", cwd=other)
    assert until(fleet, "two", "blocked", "waiting") == ("blocked", trust)
    fleet.answer("two", "no")
    assert until(fleet, "two", "done", "failed", "blocked")[0] != "blocked"


def test_dialogs_of_a_set_up_that_is_not_complete(
    begin: Begin, model: Model, muster: Muster, fleet: Fleet, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key that their own settings give, the warning of a mode, and the questions of a first start."""
    _set_up(home, {})
    settings = home.parent / "home" / ".claude" / "settings.json"
    settings.write_text(json.dumps({"env": {"ANTHROPIC_API_KEY": KEY}}))
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    begin("key")
    asked = ("blocked", "dialog: Detected a custom API key in your environment")
    assert until(fleet, "key", "blocked", "waiting") == asked
    fleet.answer("key", "yes")
    assert until(fleet, "key", "blocked", "waiting")[0] == "waiting"

    # Settings of the user's own in the place of muster's, which answer this.
    mine = ["--env", "IS_SANDBOX=1", "--", "--settings", "{}", "--dangerously-skip-permissions"]
    begin("mode", *mine)
    asked = ("blocked", "dialog: WARNING: Claude Code running in Bypass Permissions mode")
    assert until(fleet, "mode", "blocked", "waiting") == asked
    fleet.answer("mode", "no")
    assert until(fleet, "mode", "done", "failed", "blocked")[0] != "blocked"

    settings.unlink()
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    _set_up(home, {"hasCompletedOnboarding": False, "theirs": {"hasCompletedOnboarding": True}})
    begin("first")
    assert until(fleet, "first", "blocked", "waiting") == ("blocked", "dialog: first start: the text style")
    fleet.answer("first", "Dark mode")
    assert until(fleet, "first", "blocked", "waiting") == ("blocked", "dialog: first start: security notes")


def _set_up(home: Path, more: dict[str, Any]) -> None:
    own = home.parent / "home"
    (own / ".claude").mkdir(exist_ok=True)
    (own / ".claude.json").write_text(json.dumps({"hasCompletedOnboarding": True, "theme": "dark", **more}))


class Moments:
    """What its status file was, at moments of which we know what it does."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.found: dict[str, Any] = {}

    def look(self, status: str) -> None:
        found = self.fleet.why("fix").evidence
        assert found
        self.found[status] = json.loads(found.files["status.json"])
        assert self.found[status]["status"] == status


def _listen(home: Path) -> Path:
    """Hooks of the project's own write down what they are told, beside those of muster."""
    seen = home.parent / "seen"
    hooks = {name: [{"hooks": [{"type": "command", "command": f"cat >>{seen}"}]}] for name in HOOKS}
    (Path.cwd() / ".claude").mkdir()
    (Path.cwd() / ".claude" / "settings.json").write_text(json.dumps({"hooks": hooks}))
    git(Path.cwd(), "add", ".claude")
    git(Path.cwd(), "commit", "--quiet", "--message", "hooks")
    return seen


def _heard(seen: Path) -> dict[str, Any]:
    """The first of each event."""
    decoder, text = json.JSONDecoder(), seen.read_text()
    found: dict[str, Any] = {}
    while text.strip():
        event, end = decoder.raw_decode(text.lstrip())
        text = text.lstrip()[end:]
        found.setdefault(event["hook_event_name"], event)
    return found


def _compare(seen: dict[str, Any], base: str) -> None:
    """Another version of the program may tell other things: then look what muster makes of them, and record them."""
    if os.environ.get("RECORD"):
        RECORDED.parent.mkdir(exist_ok=True)
        text = json.dumps({"version": seen["status"]["idle"]["version"], **seen}, indent=1, sort_keys=True)
        RECORDED.write_text(text.replace(base, "/base") + "\n")
    recorded = json.loads(RECORDED.read_text())
    for part in ("status", "hooks"):
        for name, known in recorded[part].items():
            assert sorted(seen[part][name]) == sorted(known), f"record anew: RECORD=1 pytest {__file__}"


def _pid(fleet: Fleet, name: str) -> int:
    found = fleet.why(name).evidence
    assert found and found.pid
    return found.pid


LONG = "".join(chr(0x4E00 + n % 5000) if n % 80 else "\n" for n in range(1, 33_000))
TEXTS = [
    "x",
    "two\nlines",
    "ünïcödé 日本語 🎉 é",
    "$HOME `id` \"quotes\" 'and' \\ back",
    "; kill-server ;",
    "-x --help",
    "#{pane_id} #(id) # not a memory",
    "{braces} %percent%",
    "/cost",
    "/cost and more\nlines",
    " /compact",
    "/no-such-command at all",
    "/tmp/x is a path",
    "!touch /tmp/never",
    "! bang",
    "@README.md is what?",
    "?",
    "a trailing newline\n",
    "\n\nleading ones",
    "a word\x1b[201~\r/exit",
    "a tab\tand an accent: e\u0301",
    "\tdef one():\n\t\treturn 1\n",
    "/cost\tof a tab",
    "zero\u200bwidth",
    "y" * 10_000,
    LONG,
]

CHANGED = {
    "/cost\tof a tab": "tabs are four spaces",
    "zero\u200bwidth": "control and zero-width characters are gone",
    "a word\x1b[201~\r/exit": "control and zero-width characters are gone",
}


def test_any_text_arrives_exactly_once(begin: Begin, model: Model, fleet: Fleet, muster: Muster) -> None:
    model.script({"steps": [], "end": "Yes."})
    # The first while it starts; two while it is busy.
    begin("fix", "--permissions", "ask")
    for text in TEXTS:
        [receipt] = fleet.message(["fix"], text)
        assert (receipt.status, receipt.reason) == ("delivered", CHANGED.get(text, "")), (text[:40], receipt)
        until(fleet, "fix", "waiting")
    model.script([{"bash": "touch it", "gate": "busy"}, {"text": "Done."}])
    last = ["Begin", "/clear while you work", "!and this", "and\tthat"]
    for text in last:
        [receipt] = fleet.message(["fix"], text)
        assert receipt.status == "delivered", receipt
    model.release("busy")
    assert until(fleet, "fix", "waiting", "blocked")[0] == "blocked" and fleet.answer("fix", "yes")
    assert until(fleet, "fix", "waiting") == ("waiting", "its turn ended")
    wanted = [
        text.strip().replace("/cost\t", "/cost    ").replace("\x1b[201~\r", "\n").replace("\u200b", "")
        for text in [*TEXTS, *last]
    ]
    assert [text.strip() for text in said(fleet, "fix")] == wanted
    done = muster("message", "fix", "-m", "/cost\tof a tab", "--format", "json").json
    assert (done[0]["status"], done[0]["reason"]) == ("delivered", "tabs are four spaces")
    until(fleet, "fix", "waiting")
    # And it is what the model was told.
    asked = json.dumps([request.body for request in model.asked()], ensure_ascii=False)
    for text in wanted:
        assert json.dumps(text, ensure_ascii=False)[1:-1] in asked
    assert not Path("/tmp/never").exists()


FAILURES: list[tuple[dict[str, Any], str]] = [
    ({"status": 429, "type": "rate_limit_error", "message": "Slow down"}, "rate limit"),
    ({"status": 529, "type": "overloaded_error", "message": "Overloaded"}, "overload or server error"),
    ({"status": 401, "type": "authentication_error", "message": "invalid x-api-key"}, "authentication"),
    ({"status": 400, "type": "invalid_request_error", "message": "Your credit balance is too low"}, "billing"),
]


def test_each_api_failure_has_its_reason(begin: Begin, model: Model, fleet: Fleet) -> None:
    begin("fix")
    for failure, reason in FAILURES:
        model.script([{"fail": failure, "times": 0}])
        list(fleet.message(["fix"], f"Try {reason}"))
        assert until(fleet, "fix", "waiting", "blocked") == ("waiting", f"API failure: {reason}")
        assert said(fleet, "fix", "error")
    model.script([{"text": "Here I am."}])
    list(fleet.message(["fix"], "Once more"))
    assert until(fleet, "fix", "waiting") == ("waiting", "its turn ended")


def test_a_conversation_outlives_its_program(
    begin: Begin, model: Model, muster: Muster, fleet: Fleet, home: Path
) -> None:
    model.script({"steps": [], "end": "Noted."})
    agent = begin("fix", "-m", "one")
    until(fleet, "fix", "waiting")
    first = _conversation(home, agent)
    fleet.stop(["fix"])
    muster("start", "fix")
    _tell(fleet, "fix", "two")

    os.kill(_pid(fleet, "fix"), signal.SIGKILL)
    until(fleet, "fix", "failed")
    muster("start", "fix")
    _tell(fleet, "fix", "three")

    # As after a restart of the machine: no tmux server, no program.
    subprocess.run(["tmux", "-S", str(home / "tmux.sock"), "kill-server"], check=True)
    muster("start", "fix")
    _tell(fleet, "fix", "four")
    assert _conversation(home, agent) == first
    assert said(fleet, "fix") == ["one", "two", "three", "four"]
    # The model, too, was told all that was said before.
    assert [_texts(model)[-1][-1], *_known(model, "one", "two", "three")] == ["four", True, True, True]

    muster("clone", "fix", "twin", "-m", "five")
    twin = fleet.agent("twin")
    until(fleet, "twin", "waiting")
    assert _known(model, "one", "two", "three", "four") == [True] * 4
    _tell(fleet, "fix", "six")
    assert not any(_known(model, "five"))
    assert _conversation(home, twin) != first
    assert said(fleet, "twin")[-1] == "five"
    assert said(fleet, "fix") == ["one", "two", "three", "four", "six"]

    fleet.destroy(["twin"])
    fleet.restore("twin")
    muster("start", "twin")
    _tell(fleet, "twin", "seven")
    assert _known(model, "one", "five") == [True, True]


def _tell(fleet: Fleet, name: str, text: str) -> None:
    [receipt] = fleet.message([name], text)
    assert receipt.status == "delivered", receipt
    until(fleet, name, "waiting")


def _conversation(home: Path, agent: Agent) -> str:
    return os.path.basename(os.path.realpath(home / "agents" / agent.id / "transcript.jsonl"))


def _texts(model: Model) -> list[list[str]]:
    """What users said, by request."""
    return [
        [
            block["text"].strip()
            for message in request.body["messages"]
            if message["role"] == "user"
            for block in _blocks(message["content"])
            if block["type"] == "text"
        ]
        for request in model.asked()
    ]


def _blocks(content: Any) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _known(model: Model, *texts: str) -> list[bool]:
    """Whether the last request had each of these."""
    return [text in _texts(model)[-1] for text in texts]


def test_a_users_own_setup_is_used_and_left_as_it_is(
    begin: Begin,
    model: Model,
    muster: Muster,
    fleet: Fleet,
    home: Path,
    prefix: Sequence[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Logged in by a key that was approved there, with a hook, and with a conversation of their own."""
    own = home.parent / "home"
    (own / ".claude").mkdir()
    hook = {
        "theme": "light",
        "hooks": {"Stop": [{"hooks": [{"type": "command", "command": f"touch {own}/their-hook-ran"}]}]},
    }
    (own / ".claude" / "settings.json").write_text(json.dumps(hook))
    config = {
        "hasCompletedOnboarding": True,
        "theme": "light",
        "projects": {"/somewhere": {"allowedTools": ["Bash(ls)"]}},
    }
    (own / ".claude.json").write_text(json.dumps(config))
    model.script([{"text": "A teapot."}])
    asked = ["claude", "-p", "--output-format", "json", "What am I?"]
    done = subprocess.run([*prefix, *asked], stdin=subprocess.DEVNULL, capture_output=True, check=True)
    theirs = json.loads(done.stdout)["session_id"]

    model.script({"steps": [], "end": "Right."})
    editor = own / "editor"
    editor.write_text(f"#!/bin/sh\ntouch {own}/their-editor-ran\n")
    editor.chmod(0o755)
    monkeypatch.setenv("EDITOR", str(editor))
    agent = begin("fix", "--adopt", theirs, "--permissions", "edit", "-m", "Are you sure?")
    assert until(fleet, "fix", "waiting") == ("waiting", "its turn ended")
    assert _known(model, "What am I?", "Are you sure?") == [True, True]
    assert said(fleet, "fix")[-1] == "Are you sure?"
    assert (own / "their-hook-ran").exists()

    # It is theirs: what they had set is as it was, and their conversation is no longer than it was.
    assert json.loads((own / ".claude" / "settings.json").read_text()) == hook
    now = json.loads((own / ".claude.json").read_text())
    assert now["projects"]["/somewhere"]["allowedTools"] == ["Bash(ls)"]
    assert not now["projects"].get(agent.workspace.path, {}).get("hasTrustDialogAccepted")
    assert not now.get("customApiKeyResponses", {}).get("approved")
    [transcript] = own.glob(f".claude/projects/*/{theirs}.jsonl")
    assert "Are you sure?" not in transcript.read_text()
    assert not (home / "agents" / agent.id / "claude").exists()
    fleet.stop(["fix"])
    muster("start", "fix")
    _tell(fleet, "fix", "And now?")
    assert _known(model, "What am I?", "Are you sure?", "And now?") == [True] * 3
    assert muster("create", "no", "claude", "--adopt", "nonsense", check=False).code == 2
    assert muster("create", "no", "claude", "--adopt", theirs[:-1] + "x", check=False).code == 2
    assert muster("create", "no", "claude", "--adopt", f"{0:08}{theirs[8:]}", check=False).code == 3

    # Their editor is theirs: muster's messages only pass by.
    _tell(fleet, "fix", "a\ttab")
    subprocess.run(["tmux", "-S", str(home / "tmux.sock"), "send-keys", "-t", ":0.0", "C-g"], check=True)
    while not (own / "their-editor-ran").exists():
        time.sleep(0.01)

    # What is destroyed comes back, though Claude Code has forgotten it meanwhile.
    fleet.destroy(["fix"])
    for log in own.glob(".claude/projects/*/*.jsonl"):
        log.unlink()
    muster("restore", "fix")
    assert said(fleet, "fix")[-2:] == ["And now?", "a\ttab"]
    muster("start", "fix")
    _tell(fleet, "fix", "Still there?")
    assert _known(model, "What am I?", "Are you sure?", "And now?", "Still there?") == [True] * 4


BEGIN = "!touch never\n\tand\tno /command: 'a' \"b\" $HOME `c` -x é 日本語 🎉"


def test_all_is_for_isolated_hosts_or_those_who_insist(
    begin: Begin, model: Model, muster: Muster, fleet: Fleet
) -> None:
    done = muster("create", "fix", "claude", "--permissions", "all", check=False)
    assert done.code == 5 and "not isolated" in done.err and "--unsafe-here" in done.err
    assert muster("create", "fix", "--permissions", "all", "--unsafe-here", "--", "true", check=False).code == 2
    assert fleet.known() == []
    muster("config", "set", "types.yolo.parent", "claude")
    muster("config", "set", "types.yolo.args", '["--append-system-prompt", "Be brave."]')
    model.script([{"bash": "touch unasked"}, {"text": "Done."}])
    muster("create", "fix", "yolo", "--permissions", "all", "--unsafe-here", "-m", BEGIN, "--", "--model", "sonnet")
    assert until(fleet, "fix", "waiting", "blocked") == ("waiting", "its turn ended")
    agent = fleet.agent("fix")
    assert agent.type == "claude" and (Path(agent.workspace.path) / "unasked").exists()
    assert said(fleet, "fix") == [BEGIN]
    asked = model.asked()[0].body
    assert "sonnet" in asked["model"] and "Be brave." in json.dumps(asked["system"])


def test_a_missing_program_is_said_before_anything_is_made(repo: Path, muster: Muster, fleet: Fleet) -> None:
    done = muster("create", "fix", "claude", env={"PATH": "/usr/bin:/bin"}, check=False)
    assert done.code == 2 and "there is no program `claude`" in done.err
    assert fleet.known() == []


def test_doctor_says_which_version_there_is(
    install: Install, home: Path, repo: Path, muster: Muster, tmp_path: Path
) -> None:
    def found(**env: str) -> tuple[str, str]:
        checks = {one["name"]: one for one in muster("doctor", "--format", "json", env=env).json}
        return checks["type claude"]["grade"], checks["type claude"]["found"]

    grade, said = found(PATH="/usr/bin:/bin")
    assert grade == "ok" and "not installed; `npm install -g @anthropic-ai/claude-code@" in said
    install("claude")
    grade, said = found()
    assert grade == "warn" and "which is tested: there is neither a login nor a key" in said
    grade, said = found(ANTHROPIC_API_KEY=KEY)
    assert grade == "ok" and said.endswith("which is tested")
    assert not [name for name in os.listdir(home.parent / "home") if name.startswith(".")]
    other = tmp_path / "claude"
    other.write_text("#!/bin/sh\necho 9.8.7\n")
    other.chmod(0o755)
    grade, said = found(PATH=f"{tmp_path}:/usr/bin:/bin", ANTHROPIC_API_KEY=KEY)
    assert grade == "ok" and "9.8.7; 2." in said


CALC = 'def add(a: int, b: int) -> int:\n    """The sum of both."""\n    return a - b\n'
TESTS = "from calc import add\n\n\ndef test_add() -> None:\n    assert add(2, 2) == 4\n"


def test_it_mends_a_project(
    begin: Begin, model: Model, muster: Muster, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {
        "calc.py": CALC,
        "tests/test_calc.py": TESTS,
        "pytest.ini": "[pytest]\npythonpath = .\n",
        ".gitignore": "__pycache__/\n",
    }
    path = project(home.parent / "calc", files)
    monkeypatch.chdir(path)
    refused = muster("mend", "--type", "claude", "--permissions", "all", check=False)
    assert refused.code == 5 and "--unsafe-here" in refused.err
    outcome = '{"schema": 1, "status": "done", "summary": "Added", "changes": [{"kind": "impl", "commit": "%s", "summary": "Add"}]}'
    steps = [
        {
            "bash": "sed -i 's/a - b/a + b/' calc.py && git -c user.name=A -c user.email=a@example.org commit -qam 'Add them'"
        },
        {"bash": f"printf '{outcome}' $(git rev-parse HEAD) >$MUSTER_OUTCOME"},
        {"text": "It adds now."},
    ]
    model.script(steps)
    words = ["mend", "--name", "r", "--type", "claude", "--permissions", "all", "--unsafe-here"]
    done = muster(*words, check=False)
    report = muster("report", "r", "--format", "json").json
    assert done.code == 0, done.err
    [entry] = report["entries"]
    assert (
        (entry["verdict"], entry["status"]) == ("fixed", "done") if "status" in entry else entry["verdict"] == "fixed"
    )
    assert "return a + b" in git(path, "show", "muster/mend/r:calc.py")
    # It was told the brief, and all of it.
    [told] = [event["text"] for event in entry["transcript"] if event["role"] == "user"]
    assert told.startswith("# One failing test to mend") and "tests/test_calc.py::test_add" in told
    assert told.strip() in [text for texts in _texts(model) for text in texts]


def test_recorded_evidence_is_understood() -> None:
    """What the program told at its recorded version, without the program."""
    recorded = json.loads(RECORDED.read_text())
    assert recorded["version"] == pins()["claude"]["version"]

    def noted(status: str, note: str, after: float = 60.0) -> tuple[Kind, str]:
        file = recorded["status"][status]
        now = file["statusUpdatedAt"] / 1000
        line = note and f"{now - 0.1:.3f} {note}"
        files = {"status.json": json.dumps(file).encode()}
        found = Claude().noted(Evidence(now + after, pid=file["pid"], alive=True, note=line, files=files))
        return (found.kind, found.reason) if found else ("starting", "")

    assert noted("idle", "") == ("starting", "")
    assert noted("idle", "waiting API failure: billing") == ("waiting", "API failure: billing")
    assert noted("idle", "working", after=0.5) == ("working", "")
    assert noted("idle", "working") == ("waiting", "interrupted")
    assert noted("idle", "blocked permission: Bash: ls") == ("waiting", "interrupted")
    assert noted("busy", "waiting") == ("working", "")
    assert noted("busy", "blocked permission: Bash: ls") == ("working", "")
    assert noted("waiting", "blocked permission: Bash: ls") == ("blocked", "permission: Bash: ls")
    assert noted("waiting", "working") == ("blocked", "permission prompt")
    assert noted("waiting", "working", after=0.5) == ("working", "")
    # That of a process which is no more says nothing.
    recorded["status"]["idle"]["pid"] += 1
    stale = Evidence(0.0, pid=1, alive=True, note="1.0 working", files={"status.json": b"{}"})
    assert Claude().noted(stale) == Note("working", 1.0)
