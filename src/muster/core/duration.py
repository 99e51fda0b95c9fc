"""Durations as people write them: `90`, `1.5s`, `5m`, `2h`, `30d`."""

from __future__ import annotations

import re

_UNITS = {"ms": 0.001, "s": 1.0, "": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}
_FORM = re.compile(r"(\d{1,10}(?:\.\d{1,6})?) ?(ms|s|m|h|d|)", re.ASCII)


def seconds(text: str) -> float | None:
    """How many seconds that is; None if it is no duration."""
    found = _FORM.fullmatch(text.strip())
    return float(found[1]) * _UNITS[found[2]] if found else None
