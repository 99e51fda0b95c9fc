"""A program that follows a script as if it were a coding agent: this folder, Python 3.11 and nothing else.

It is copied to machines that have no muster, and is one thread: whatever it waits for, it waits in `Session.pump`.
What is here is what muster asks before it starts one; an agent is started by the folder's `__main__`.
"""

from __future__ import annotations

from .keys import Keys
from .options import Options
from .script import Script, load, parse
from .verbs import DEADLY, VERBS, BadScript

__all__ = ["DEADLY", "VERBS", "BadScript", "Keys", "Options", "Script", "load", "parse"]
