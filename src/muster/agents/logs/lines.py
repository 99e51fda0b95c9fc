"""What the readers of logs share: lines that may be damaged, times, and a tool's input as text."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeVar

import msgspec

from muster.agents import Tokens
from muster.core import wire

T = TypeVar("T")
_HIGH, _LOW = rb"\\u[dD][89abAB][0-9a-fA-F]{2}", rb"\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_HALF = re.compile(rb"%b(?!%b)|(?<!%b)%b" % (_HIGH, _LOW, _HIGH, _LOW))
# Of these a call is best read by the command alone.
_COMMANDS = ("command", "cmd", "script", "code")


def decoder(form: type[T]) -> Callable[[bytes], T | None]:
    """Decodes a line, or the document; None of what is half-written or of another form."""
    decode = wire.decoder(form).decode

    def decoded(line: bytes) -> T | None:
        try:
            return decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            pass  # it may be a character only
        try:
            return decode(_mended(line))
        except (msgspec.DecodeError, RecursionError):
            return None

    return decoded


def _mended(line: bytes) -> bytes:
    """Without bytes that are no UTF-8, and without halves of characters, which JavaScript leaves where it cuts a text."""
    return _HALF.sub(rb"\\ufffd", line.decode(errors="replace").encode())


def head(data: bytes) -> list[dict[str, Any]]:
    """The objects in the first whole lines of a log."""
    found = (decoder(dict)(line) for line in data.split(b"\n")[:5])
    return [one for one in found if one]


def moment(text: str | None) -> float | None:
    """A time as `2026-01-31T12:00:00.000Z`, in seconds since 1970."""
    try:
        return datetime.fromisoformat(text).timestamp() if text else None
    except ValueError:
        return None


def milliseconds(time: float | None) -> float | None:
    """A time in milliseconds since 1970, in seconds."""
    return time / 1000 if time else None


def given(value: Any) -> str:
    """What a tool was given: its command, its only word, or all of it as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        named = [value[name] for name in _COMMANDS if isinstance(value.get(name), (str, list))]
        words = named[:1] or list(value.values())
        if len(words) == 1:
            if isinstance(words[0], str):
                return words[0]
            if named and all(isinstance(word, str) for word in words[0]):
                return " ".join(words[0])
    return msgspec.json.encode(value).decode()


def said(content: Any) -> str:
    """The text of a message: a string, or a list of parts of which some are text."""
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        return said(content["text"]) if "text" in content else msgspec.json.encode(content).decode()
    if not isinstance(content, list):
        return ""
    parts = (_part(one) for one in content)
    return "\n".join(part for part in parts if part)


def _part(one: Any) -> str:
    if isinstance(one, str):
        return one
    if not isinstance(one, dict):
        return ""
    text = one.get("text")
    return text if isinstance(text, str) else f"[{one.get('type', 'something else')}]"


def grown(now: Tokens, before: Tokens | None) -> Tokens | None:
    """What is more than before, or nothing; counts of a request are written down while they grow."""
    if before is None:
        return now if now != Tokens() else None
    more = Tokens(*(max(0, new - old) for new, old in zip(_counts(now), _counts(before), strict=True)))
    return more if more != Tokens() else None


def _counts(one: Tokens) -> tuple[int, ...]:
    return one.input, one.output, one.cached, one.written, one.hour
