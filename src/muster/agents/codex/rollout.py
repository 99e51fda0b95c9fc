"""Its log of a thread (a rollout), of which only the turns are read here: JSON lines."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct

_TURNS = (b'"task_started"', b'"task_complete"', b'"turn_aborted"')
_decoder = msgspec.json.Decoder()


class Turn(Struct, frozen=True):
    """The latest turn: under way, or how it ended."""

    at: float
    running: bool
    reason: str = ""


def last_turn(tail: bytes) -> Turn | None:
    """Of the end of a log, whose first line may be cut."""
    for raw in reversed(tail.split(b"\n")):
        # Only few lines tell of turns, and the others may be long.
        if any(word in raw for word in _TURNS) and (line := _line(raw)) and (turn := _turn(line)):
            return turn
    return None


def _turn(line: dict[str, Any]) -> Turn | None:
    payload = line["payload"]
    if line.get("type") != "event_msg" or (at := _time(line.get("timestamp"))) is None:
        return None
    kind = payload.get("type")
    if kind == "task_started":
        return Turn(at, True)
    if kind == "turn_aborted":
        return Turn(at, False, "interrupted")
    if kind == "task_complete":
        error = payload.get("error")
        return Turn(at, False, f"API failure: {_failure(error)}" if isinstance(error, dict) else "")
    return None


_NAMES = {
    "usage_limit_exceeded": "billing",
    "session_budget_exceeded": "billing",
    "unauthorized": "authentication",
    "server_overloaded": "overload or server error",
    "internal_server_error": "overload or server error",
    "context_window_exceeded": "context window",
}
_STATUS = {401: "authentication", 402: "billing", 403: "authentication", 429: "rate limit"}


def _failure(error: dict[str, Any]) -> str:
    """In muster's words where the kind is known; in its own else."""
    info, said = error.get("codex_error_info"), str(error.get("message", ""))
    name, detail = next(iter(info.items()), ("", None)) if isinstance(info, dict) else (str(info), None)
    status = detail.get("http_status_code") if isinstance(detail, dict) else None
    known = _NAMES.get(name) or _STATUS.get(status or 0) or ("overload or server error" if (status or 0) >= 500 else "")
    return f"{known}: {said}" if known else said


def _line(raw: bytes) -> dict[str, Any] | None:
    try:
        line = _decoder.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return line if isinstance(line, dict) and isinstance(line.get("payload"), dict) else None


def _time(stamp: Any) -> float | None:
    try:
        return datetime.fromisoformat(stamp).timestamp()
    except (TypeError, ValueError):
        return None
