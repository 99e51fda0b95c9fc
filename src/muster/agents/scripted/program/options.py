"""The command line."""

from __future__ import annotations

from collections.abc import Sequence

from .verbs import BadScript, nearest

USAGE = """\
usage: program [--script FILE] [--screen plain|full] [--resume] [--] [MESSAGE]

Follows FILE, a list of steps in TOML or JSON, as if it were a coding agent; without one it answers each message.
"""


class Options:
    """The command line, taken apart."""

    def __init__(self, argv: Sequence[str]) -> None:
        self.script = ""
        self.screen = "plain"
        self.resume = self.help = False
        self.message: str | None = None
        rest = list(argv)
        while rest:
            word, equals, value = rest.pop(0).partition("=")
            if word in ("--script", "--screen"):
                if not equals and not rest:
                    raise BadScript(f"`{word}` wants a value")
                setattr(self, word[2:], value if equals else rest.pop(0))
            elif word in ("--resume", "--help") and not equals:
                setattr(self, word[2:], True)
            elif word.startswith("-") and word + equals != "--":
                raise BadScript(f"there is no option `{word}`", nearest(word, ["--script", "--screen", "--resume"]))
            else:
                words = rest if word + equals == "--" else [word + equals + value, *rest]
                self._end(words)
                break
        if self.screen not in ("plain", "full"):
            raise BadScript(f"there is no screen `{self.screen}`", "it is `plain` or `full`")

    def _end(self, words: list[str]) -> None:
        if len(words) > 1:
            raise BadScript(f"one message, please: `{words[1]}` is one too many", "quote the message")
        self.message = words[0] if words else None
