"""Skills: what agent programs read when they are to drive muster, as files where those programs look for them."""

from __future__ import annotations

import os
from typing import Literal

from msgspec import Struct

Scope = Literal["project", "user"]
Found = Literal["missing", "installed", "outdated", "changed"]

# Their texts are in `texts/`.
SKILLS = ("muster-fleet", "muster-tutorial")

# Where each program looks, from the project's top and from the user's home alike. docs/skills.md says how we know.
PROGRAMS: dict[str, str] = {
    "claude": ".claude/skills",
    "codex": ".agents/skills",
    "opencode": ".agents/skills",
    "gemini": ".agents/skills",
    "pi": ".agents/skills",
}


class Place(Struct, frozen=True):
    """A skill's file, and how it is there."""

    skill: str
    scope: Scope
    programs: tuple[str, ...]  # that read it there
    path: str
    found: Found


def text(skill: str) -> str:
    """What an agent program reads."""
    with open(os.path.join(os.path.dirname(__file__), "texts", f"{skill}.md"), encoding="utf-8") as file:
        return file.read()
