"""How long the steps of a recipe take."""

import re

_TIME = re.compile(r"\((?:(\d+) h)? ?(?:(\d+) min)?\)")


def minutes(text: str) -> int:
    """All that stands in brackets, such as `(1 h 30 min)`, added up."""
    total = 0
    for hours, rest in _TIME.findall(text):
        total += int(hours or 0) * 100 + int(rest or 0)
    return total


def show(total: int) -> str:
    """`95` as `1 h 35 min`."""
    hours, rest = divmod(total, 60)
    words = [f"{hours} h"] if hours else []
    words += [f"{rest} min"] if rest or not hours else []
    return " ".join(words)
