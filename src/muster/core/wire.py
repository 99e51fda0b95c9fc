"""Reading records: msgspec learns a type when it first meets it, and may crash when two threads make it learn the same one.

It keeps what it learns of a Struct at the Struct, and shows it to other threads while it is still learning (seen with 0.22:
a segmentation fault in one of some twenty runs that were resumed).
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from muster.core.fan import Lock

T = TypeVar("T")
_lock = Lock()
_known: dict[Any, msgspec.json.Decoder[Any]] = {}


def decoder(kind: type[T], *, strict: bool = True) -> msgspec.json.Decoder[T]:
    """What reads that type, learnt once."""
    with _lock:
        if (kind, strict) not in _known:
            _known[kind, strict] = msgspec.json.Decoder(kind, strict=strict)
        return _known[kind, strict]


def decode(data: bytes, kind: type[T]) -> T:
    """A record out of its JSON."""
    return decoder(kind).decode(data)


def convert(value: Any, kind: type[T], *, strict: bool = True) -> T:
    """A record out of what a file or the command line gave."""
    decoder(kind, strict=strict)
    return msgspec.convert(value, kind, strict=strict)
