"""Records what the agent programs write down of one scripted conversation, as test data: `tests/data/traces`.

    scripts/record_traces.py [NAME...]

Runs the real, unmodified programs (`scripts/install.py` puts them on PATH) in homes of their own, against the
scripted model on loopback. What they write is kept as it is, but for long texts, which are cut: prompts and the like.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "tests" / "data" / "traces"
PINS = ROOT / "src" / "muster" / "agents" / "programs.toml"
SCRATCH = Path("/tmp/recorded")  # short, and the same each time: it is in what they write
KEY = "sk-dummy-0123456789abcdefghij"
PROGRAMS_ARE = Path(os.environ.get("AGENT_PROGRAMS") or ROOT / ".cache" / "programs").resolve()
LONGEST, MOST = 160, 12
SAID = "Change one to two in notes.txt"
sys.path.insert(0, str(ROOT / "src"))

from muster_testkit.model import serve  # noqa: E402

USAGE = {"input": 1200, "output": 80, "cache_read": 900, "cache_write": 100}
STEPS: list[dict[str, Any]] = [
    {"thinking": "I read it first.", "text": "I look at the file.", "bash": "cat notes.txt", "usage": USAGE},
    {"bash": "sed -i s/one/two/ notes.txt && cat notes.txt", "usage": {**USAGE, "input": 1300}},
    {"bash": "ls /nowhere", "usage": {**USAGE, "input": 1400}},
    {"text": "It says two now. Ünïcode: 日本.", "usage": {**USAGE, "input": 1500, "output": 20}},
]


class Place:
    """A home and a repository."""

    def __init__(self, name: str, url: str) -> None:
        self.url = url
        self.base = SCRATCH / name
        shutil.rmtree(self.base, ignore_errors=True)
        self.home, self.repo = self.base / "home", self.base / "repo"
        (self.home / "tmp").mkdir(parents=True)
        self.repo.mkdir()
        (self.repo / "notes.txt").write_text("one\n")
        subprocess.run(["git", "init", "--quiet", str(self.repo)], check=True)

    def write(self, path: str, content: object) -> None:
        file = self.home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content if isinstance(content, str) else json.dumps(content))

    def run(self, *argv: str, **env: str) -> str:
        folder = subprocess.run(
            [sys.executable, str(ROOT / "scripts" / "install.py"), argv[0]], capture_output=True, text=True, check=True
        ).stdout.strip()
        env = {
            "PATH": f"{folder}:/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self.home),
            "USER": "agent",
            "SHELL": "/bin/bash",
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "TMPDIR": str(self.home / "tmp"),
            **env,
        }
        done = subprocess.run(argv, env=env, cwd=self.repo, stdin=subprocess.DEVNULL, capture_output=True, timeout=180)
        print(argv[0], done.returncode, done.stderr.decode()[-300:], file=sys.stderr)
        return done.stdout.decode()

    def newest(self, pattern: str) -> bytes:
        return max(self.home.glob(pattern), key=lambda path: path.stat().st_mtime).read_bytes()


def claude(place: Place) -> tuple[str, bytes]:
    trust = {str(place.repo): {"hasTrustDialogAccepted": True, "allowedTools": []}}
    keys = {"approved": [KEY[-20:]], "rejected": []}
    place.write(".claude.json", {"hasCompletedOnboarding": True, "customApiKeyResponses": keys, "projects": trust})
    env = {
        "IS_SANDBOX": "1",
        "ANTHROPIC_BASE_URL": place.url,
        "ANTHROPIC_API_KEY": KEY,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    }
    session = "00000000-0000-4000-8000-000000000001"
    argv = ["claude", "-p", "--model", "claude-sonnet-4-5", "--dangerously-skip-permissions"]
    place.run(*argv, "--session-id", session, SAID, **env)
    place.run(*argv, "--resume", session, "And now three", **env)
    return "jsonl", place.newest(".claude/projects/*/*.jsonl")


def codex(place: Place) -> tuple[str, bytes]:
    config = f"""
model = "gpt-5.5"
model_provider = "scripted"
check_for_update_on_startup = false
[model_providers.scripted]
name = "scripted"
base_url = "{place.url}/v1"
wire_api = "responses"
env_key = "SCRIPTED_API_KEY"
request_max_retries = 1
stream_max_retries = 1
[analytics]
enabled = false
[feedback]
enabled = false
[features]
daemon_auto_start = false
"""
    place.write(".codex/config.toml", config)
    argv = ["codex", "exec", "--dangerously-bypass-approvals-and-sandbox"]
    place.run(*argv, SAID, SCRIPTED_API_KEY=KEY)
    place.run(*argv, "resume", "--last", "And now three", SCRIPTED_API_KEY=KEY)
    return "jsonl", place.newest(".codex/sessions/*/*/*/rollout-*.jsonl")


def opencode(place: Place) -> tuple[str, bytes]:
    models = {"gpt-5": {"limit": {"context": 200000, "output": 8192}}}
    scripted = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": f"{place.url}/v1", "apiKey": KEY},
        "models": models,
    }
    config = {
        "autoupdate": False,
        "share": "disabled",
        "model": "scripted/gpt-5",
        "small_model": "scripted/gpt-5",
        "enabled_providers": ["scripted"],
        "permission": "allow",
        "provider": {"scripted": scripted},
    }
    place.write(".config/opencode/opencode.json", config)
    off = dict.fromkeys(("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD"), "1")
    env = {f"OPENCODE_DISABLE_{name}": value for name, value in off.items()}
    said = place.run("opencode", "run", "--format", "json", SAID, **env)
    session = json.loads(said.splitlines()[0])["sessionID"]
    place.run("opencode", "run", "--format", "json", "-s", session, "And now three", **env)
    return "json", minified(place.run("opencode", "export", session, **env))


def mini(place: Place) -> tuple[str, bytes]:
    env = {
        "MSWEA_CONFIGURED": "true",
        "MSWEA_COST_TRACKING": "ignore_errors",
        "MSWEA_SILENT_STARTUP": "1",
        "MSWEA_MODEL_RETRY_STOP_AFTER_ATTEMPT": "2",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "OPENAI_API_KEY": KEY,
        "OPENAI_API_BASE": f"{place.url}/v1",
    }
    trajectory = place.home / "trajectory.json"
    place.run("mini", "-m", "openai/gpt-5", "-y", "--exit-immediately", "-o", str(trajectory), "-t", SAID, **env)
    return "json", minified(trajectory.read_text())


def gemini(place: Place) -> tuple[str, bytes]:
    place.write(
        ".gemini/settings.json",
        {
            "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
            "general": {"enableAutoUpdate": False},
            "privacy": {"usageStatisticsEnabled": False},
            "telemetry": {"enabled": False},
        },
    )
    env = {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": place.url, "GEMINI_CLI_NO_RELAUNCH": "true"}
    place.run("gemini", "-m", "gemini-2.5-pro", "--yolo", "-o", "json", "-p", SAID, **env)
    place.run(
        "gemini", "-m", "gemini-2.5-pro", "--yolo", "-o", "json", "--resume", "latest", "-p", "And now three", **env
    )
    return "jsonl", place.newest(".gemini/tmp/*/chats/session-*.jsonl")


def pi(place: Place) -> tuple[str, bytes]:
    models = [{"id": "claude-sonnet-4-5", "contextWindow": 200000, "maxTokens": 8192}]
    provider = {"baseUrl": place.url, "api": "anthropic-messages", "apiKey": KEY, "models": models}
    place.write(".pi/agent/models.json", {"providers": {"scripted": provider}})
    place.write(
        ".pi/agent/settings.json",
        {
            "defaultProvider": "scripted",
            "defaultModel": "claude-sonnet-4-5",
            "quietStartup": True,
            "enableInstallTelemetry": False,
        },
    )
    env = {"PI_OFFLINE": "1", "PI_TELEMETRY": "0"}
    place.run("pi", "-p", SAID, **env)
    place.run("pi", "-c", "-p", "And now three", **env)
    return "jsonl", place.newest(".pi/agent/sessions/*/*.jsonl")


PROGRAMS: dict[str, Callable[[Place], tuple[str, bytes]]] = {
    "claude": claude,
    "codex": codex,
    "opencode": opencode,
    "mini": mini,
    "gemini": gemini,
    "pi": pi,
}


def minified(document: str) -> bytes:
    return json.dumps(json.loads(document), ensure_ascii=False).encode()


def steps(name: str) -> Iterator[dict[str, Any]]:
    if name == "mini":  # it ends by a command, and has no second turn
        yield from STEPS[:-1]
        yield {"bash": "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT", "usage": USAGE}
    else:
        yield from STEPS
        yield {"fail": {"status": 400, "message": "that is too much"}, "times": 0}


def short(line: bytes) -> bytes:
    return json.dumps(cut(json.loads(line)), ensure_ascii=False, separators=(",", ":")).encode() if line else b""


# What their makers wrote for the model stays theirs: no reader of ours looks at it.
THEIRS = (
    "shape attachment rendered base_instructions environments host_skills sections toolsAdded instance_template "
    "format_error_template observation_template system_template system tools"
).split()


def bare(value: Any) -> Any:
    """The same form without its words."""
    if isinstance(value, dict):
        return {key: bare(one) for key, one in value.items()}
    if isinstance(value, list):
        return [bare(one) for one in value[:1]]
    return "…" if isinstance(value, str) else value


def cut(value: Any) -> Any:
    if isinstance(value, str):
        value = value.replace(str(PROGRAMS_ARE), "/programs")
        return value if len(value) <= LONGEST else f"{value[:LONGEST]}…"
    if isinstance(value, list):
        return [cut(one) for one in value[:MOST]]
    if isinstance(value, dict):
        return {key: bare(one) if key in THEIRS else cut(one) for key, one in value.items()}
    return value


def main(names: list[str]) -> int:
    DATA.mkdir(parents=True, exist_ok=True)
    pins = tomllib.loads(PINS.read_text())
    for name in names or PROGRAMS:
        with serve([*steps(name)]) as model:
            ending, written = PROGRAMS[name](Place(name, model.url))
        file = DATA / f"{name}-{pins[name]['version']}.{ending}"
        file.write_bytes(b"\n".join(short(line) for line in written.split(b"\n")))
        print(f"{os.path.relpath(file)}  {len(written)} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
