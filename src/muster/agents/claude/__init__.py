"""`claude`: Claude Code, watched by its hooks and its status file, with its own set-up left as it is."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from muster.agents import AgentType, Event, Evidence, Launch, Note, Order, Permissions, Press, logs
from muster.agents.state import note
from muster.core import wire
from muster.errors import NotFound, UsageError

if TYPE_CHECKING:
    from muster.agents.menu import Menu

_HOOKS = ("SessionStart", "UserPromptSubmit", "PostToolUse", "PermissionRequest", "Stop", "StopFailure")
_MODES: dict[Permissions, str] = {"ask": "default", "edit": "acceptEdits", "all": "bypassPermissions"}
# Any of these lets it in without a login.
_KEYS = (
    *("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"),
    *("CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY"),
)
# Seconds within which its hooks have told what its status file shows.
_HOOKS_LAG = 1.0
# What it takes for a command of its own begins so. A path such as `/tmp/x` is none to it.
_COMMAND = re.compile(r"\s*/")
# A paste of that many lines is put aside as a whole, and is not read as a command.
_ASIDE = 4
_ESCAPE = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
_ID = re.compile(r"[0-9a-fA-F-]{36}")


class _Status(Struct, rename="camel"):
    """`sessions/PID.json` of its set-up folder, which it writes at each change."""

    pid: int
    status: str
    status_updated_at: float  # milliseconds
    waiting_for: str = ""


class Claude(AgentType):
    """The agent type `claude`."""

    name = "claude"
    about = "Claude Code"
    program = "claude"
    memory = 160_000_000
    notes = True
    resumable = True
    adoptable = True
    permissions = ("ask", "edit", "all")
    pass_env = (
        *("ANTHROPIC_*", "CLAUDE_CONFIG_DIR", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_*", "CLAUDE_CODE_MAX_*"),
        *("CLAUDE_CODE_DISABLE_*", "DISABLE_*", "API_TIMEOUT_MS", "MAX_THINKING_TOKENS"),
    )
    status_files = ("status.json",)
    conversation = "transcript.jsonl"
    # An interrupted message may go back there. A line each; `ctrl+y` brings back what was cleared.
    clear_keys = ("C-e", *["C-u"] * 20)
    compose_keys = ("C-g",)
    dialog_after = 0.5
    interrupt_keys = ("Escape",)

    def launch(self, order: Order) -> Launch:
        if order.adopt and not order.resume:
            _adoptable(order)
        words = ["--permission-mode", _MODES[order.permissions]] if order.permissions else []
        env = {"DISABLE_AUTOUPDATER": "1"}
        if order.own:
            # It would ask whether the folder is to be trusted.
            env["CLAUDE_CODE_SANDBOXED"] = "1"
        if order.permissions == "all":
            env["IS_SANDBOX"] = "1"  # it would not do so as root otherwise
        taken = order.message is not None and _is_argument(order.message)
        if taken and order.message:
            words += ["--", order.message]
            env["MUSTER_FIRST"] = "yes"
        argv = ("sh", f"{order.folder}/start.sh", "yes" if order.resume else "no", order.adopt, *order.args, *words)
        return Launch(argv, env, _files(order.folder), message_taken=taken)

    def lacks(self, env: Mapping[str, str]) -> tuple[str, str] | None:
        if any(name in env for name in _KEYS) or _logged_in(env):
            return None
        return "there is neither a login nor a key for it", "`claude` once, to log in, or set `$ANTHROPIC_API_KEY`"

    def activity(self, screen: str) -> str:
        """What stands above its composer."""
        return super().activity(_parted(screen)[0])

    def noted(self, evidence: Evidence) -> Note | None:
        """What its status file says, with the reason from its hooks; what they say where there is no such file."""
        said = note(evidence.note)
        try:
            status = wire.decode(evidence.files.get("status.json", b""), _Status)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return said
        if status.pid != evidence.pid or said is None:
            return said
        return _agreed(status, said, evidence.now)

    def opening(self, screen: str) -> Menu | None:
        from muster.agents.claude import opening

        return opening.shown(screen)

    def events(self, log: bytes) -> Iterator[Event]:
        return logs.events("claude", log)

    def heard(self, log: bytes) -> Iterator[str]:
        from muster.agents.claude import transcript

        return transcript.heard(log)

    def typed(self, text: str) -> str:
        """A command becomes a paste that is put aside; a shell line is none behind a space."""
        text = super().typed(text)
        if _COMMAND.match(text):
            return text + "\n" * max(0, _ASIDE - 1 - text.count("\n"))
        return f" {text}" if text.startswith("!") else text

    def composed(self, text: str) -> bool:
        """What a paste changes and the editor doesn't; a command has to be pasted."""
        return ("\t" in text or not unicodedata.is_normalized("NFC", text)) and not _COMMAND.match(text)

    def same(self, said: str, heard: str) -> bool:
        return _as_pasted(said) == _as_pasted(heard)

    def lost(self, said: str, heard: str) -> str:
        tabs = said.count("\t") > heard.count("\t")
        words = ["tabs are four spaces"] if tabs else []
        if _plain(said) != _plain(heard):
            words.append("accents are composed")
        if any(_dropped(c) for c in _lines(said)):
            words.append("control and zero-width characters are gone")
        return ", ".join(words)

    def unsent(self, text: str, screen: str) -> bool:
        words = _as_pasted(text).split()
        composer = _parted(screen)[1]
        return "[Pasted text" in composer or (bool(words) and words[0][:20] in composer)

    def answer(self, answer: str, screen: str) -> list[Press]:
        from muster.agents.claude import dialog

        return dialog.presses(answer, screen)


def _adoptable(order: Order) -> None:
    """A conversation that is not there is an error of the create, not an agent that fails at once."""
    from glob import escape, glob

    hint = "its id is what `claude --resume ID` takes, and the name of its file in `~/.claude/projects/*/`"
    if not _ID.fullmatch(order.adopt):
        raise UsageError(f"`{order.adopt}` is no id of a conversation of Claude Code", hint=hint)
    env = {**os.environ, **order.env}
    folder = env.get("CLAUDE_CONFIG_DIR") or f"{env.get('HOME', '')}/.claude"
    if not order.remote and not glob(f"{escape(folder)}/projects/*/{order.adopt}.jsonl"):
        raise NotFound(f"there is no conversation `{order.adopt}` in `{folder}`", hint=hint)


def _logged_in(env: Mapping[str, str]) -> bool:
    """Whether it keeps a login here; on macOS that is in the keychain, and its notes tell of it."""
    home = env.get("HOME", "")
    folder = env.get("CLAUDE_CONFIG_DIR") or f"{home}/.claude"
    notes = f"{env.get('CLAUDE_CONFIG_DIR') or home}/.claude.json"
    if os.path.exists(f"{folder}/.credentials.json"):
        return True
    return any(
        _says(path, word) for path, word in ((notes, b'"oauthAccount"'), (f"{folder}/settings.json", b'"apiKeyHelper"'))
    )


def _says(path: str, word: bytes) -> bool:
    try:
        with open(path, "rb") as file:
            return word in file.read()
    except OSError:
        return False


def _as_pasted(text: str) -> str:
    """What it makes of a paste: tabs are four spaces, accents are composed, control and format characters are gone."""
    return unicodedata.normalize("NFC", _plain(text))


def _plain(text: str) -> str:
    """The same with its accents as they were."""
    return "".join(c for c in _lines(_ESCAPE.sub("", text)).replace("\t", "    ") if not _dropped(c)).strip()


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _dropped(character: str) -> bool:
    return character not in "\n\t" and unicodedata.category(character) in ("Cc", "Cf")


def _parted(screen: str) -> tuple[str, str]:
    """What stands above its composer, and in it: between the last two rules."""
    lines = screen.splitlines()
    rules = [number for number, line in enumerate(lines) if line.startswith("────")]
    if len(rules) < 2:
        return screen, ""
    return "\n".join(lines[: rules[-2]]), "\n".join(lines[rules[-2] : rules[-1]])


def _agreed(status: _Status, said: Note, now: float) -> Note:
    """What it does, by its file; why, by its hooks, which may be a moment later, and are silent where somebody interrupted it."""
    since = status.status_updated_at / 1000
    if status.status == "busy":
        return said if said.kind == "working" else Note("working", since)
    if said.kind == "working" and now < max(since, said.since) + _HOOKS_LAG:
        return said
    if status.status == "waiting":
        known = said.kind == "blocked"
        return Note("blocked", max(since, said.since) if known else since, said.reason if known else status.waiting_for)
    return said if said.kind == "waiting" else Note("waiting", since, "interrupted")


def _files(folder: str) -> dict[str, bytes]:
    """Its hooks come in as settings of this one session."""
    hooks = {name: [{"hooks": [{"type": "command", "command": f"sh '{folder}/hook.sh' {name}"}]}] for name in _HOOKS}
    settings: dict[str, Any] = {
        "hooks": hooks,
        "skipDangerousModePermissionPrompt": True,
        "disableDeepLinkRegistration": "disable",  # it would make itself known to the desktop
    }
    key = f". '{folder}/env' && printf %s \"$ANTHROPIC_API_KEY\""
    return {
        "opening": b"",
        "start.sh": _own("start.sh"),
        "hook.sh": _own("hook.sh"),
        "editor.sh": _own("editor.sh"),
        "settings.json": msgspec.json.encode(settings),
        "with-key.json": msgspec.json.encode({**settings, "apiKeyHelper": key}),
    }


def _own(name: str) -> bytes:
    with open(os.path.join(os.path.dirname(__file__), name), "rb") as file:
        return file.read()


def _is_argument(message: str) -> bool:
    return "\0" not in message and not _COMMAND.match(message)
