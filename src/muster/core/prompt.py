"""What agents are told: templates with `{{places}}`, which a user may replace or extend."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping

from muster.core import names
from muster.errors import NotFound, UsageError

_PLACE = re.compile(r"\{\{(\w+)\}\}")


def shipped(room: str, name: str) -> str:
    """A template of the package: `prompts/NAME.md` beside that module."""
    with open(os.path.join(os.path.dirname(room), "prompts", f"{name}.md"), encoding="utf-8") as file:
        return file.read()


def read(path: str, places: Collection[str], needed: str, meant: str) -> str:
    """A user's own template, checked before anything begins; it must say what is meant."""
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except FileNotFoundError:
        raise NotFound(f"there is no file `{path}`") from None
    except (IsADirectoryError, UnicodeDecodeError):
        raise UsageError(f"`{path}` is not a text") from None
    if not text.strip():
        raise UsageError(f"`{path}` is empty")
    filled(text, dict.fromkeys(("shipped", *places), ""), path)
    if not {"shipped", needed} & set(_PLACE.findall(text)):
        hint = f"`{{{{{needed}}}}}` stands for them, `{{{{shipped}}}}` for the whole shipped text"
        raise UsageError(f"`{path}` does not say {meant}", hint=hint)
    return text


def told(template: str, words: Mapping[str, str], override: str = "") -> str:
    """The shipped template filled in, or the user's around it."""
    text = filled(template, words)
    if override:
        text = filled(override, {**words, "shipped": text.strip()})
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def filled(text: str, words: Mapping[str, str], path: str = "") -> str:
    """That text with words in its places."""

    def word(found: re.Match[str]) -> str:
        if found[1] not in words:
            raise UsageError(
                f"`{path}` has an unknown `{found[0]}`", hint=names.nearest(found[1], words, "placeholder")
            )
        return words[found[1]]

    return _PLACE.sub(word, text)
