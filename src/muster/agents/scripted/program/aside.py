"""Files that are written aside."""

from __future__ import annotations

import os


def write(path: str, data: str) -> None:
    """A reader sees the old file or the new one, never half of one."""
    with open(f"{path}.{os.getpid()}.new", "w", encoding="utf-8", errors="replace") as file:
        file.write(data)
    os.replace(file.name, path)
