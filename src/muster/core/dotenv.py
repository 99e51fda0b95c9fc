"""Files of variables: lines of `NAME=VALUE`, as many programs read them from `.env`."""

from __future__ import annotations

import re

from muster.errors import UsageError

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_BEGIN = re.compile(r"[ \t]*(?:export[ \t]+)?([^\s=#'\"]+)[ \t]*=[ \t]*", re.ASCII)
_QUOTED = {"'": re.compile(r"'([^']*)'"), '"': re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)}
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}


def is_name(text: str) -> bool:
    """Whether a variable may be called so."""
    return _NAME.fullmatch(text) is not None


def read(path: str) -> dict[str, str]:
    """The variables of that file."""
    try:
        with open(path, encoding="utf-8-sig", newline=None) as file:
            return parsed(file.read(), path)
    except UnicodeDecodeError:
        raise UsageError(f"`{path}` is not UTF-8 text") from None
    except OSError as error:
        raise UsageError(f"can't read `{path}`: {error.strerror}") from error


def parsed(text: str, path: str) -> dict[str, str]:
    """The variables in that text. What is wrong is named by its line: the line itself may hold a secret."""
    found: dict[str, str] = {}
    at = 0
    while at < len(text):
        end = text.find("\n", at) % (len(text) + 1)
        line = text[at:end].strip()
        if not line or line.startswith("#"):
            at = end + 1
            continue
        begin = _BEGIN.match(text, at, end)
        if begin is None or not is_name(begin[1]):
            raise _wrong(text, at, path, "it must be `NAME=VALUE`")
        found[begin[1]], at = _value(text, begin.end(), end, path)
    return found


def _value(text: str, at: int, end: int, path: str) -> tuple[str, int]:
    """The value that begins there, and where the next line does; one in quotes may have several lines."""
    quote = text[at : at + 1]
    if quote not in _QUOTED:
        plain = re.split(r"(?:^|[ \t])#", text[at:end], maxsplit=1)[0].strip()
        return plain, end + 1
    whole = _QUOTED[quote].match(text, at)
    if whole is None:
        raise _wrong(text, at, path, "its quote has no end")
    after = text.find("\n", whole.end()) % (len(text) + 1)
    rest = text[whole.end() : after].strip()
    if rest and not rest.startswith("#"):
        raise _wrong(text, at, path, "something follows the quote")
    value = (
        whole[1] if quote == "'" else re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), whole[1], flags=re.DOTALL)
    )
    return value, after + 1


def _wrong(text: str, at: int, path: str, what: str) -> UsageError:
    return UsageError(f"`{path}`, line {text.count(chr(10), 0, at) + 1}: {what}")
