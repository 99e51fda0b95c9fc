"""What must hold of a file or folder."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path
from typing import Self

from muster_testkit.expectations.texts import TextExpectation
from muster_testkit.expectations.words import cut, difference, fail, quoted


class FileExpectation:
    """What must hold of a file or folder."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def to_exist(self) -> Self:
        __tracebackhide__ = True
        if not self.path.exists():
            fail(f"expected `{self.path}` to exist", _beside(self.path))
        return self

    def not_to_exist(self) -> Self:
        __tracebackhide__ = True
        # A link that leads nowhere is there, too.
        if self.path.exists() or self.path.is_symlink():
            kind = "folder" if self.path.is_dir() else "file"
            fail(f"expected `{self.path}` not to exist, but there is a {kind}")
        return self

    def to_have_content(self, wanted: str | bytes) -> Self:
        """All of it is just that."""
        __tracebackhide__ = True
        data = self._data()
        if isinstance(wanted, bytes):
            if data != wanted:
                fail(f"expected `{self.path}` to hold {wanted[:100]!r}, not {data[:100]!r}")
        elif (text := data.decode(errors="replace")) != wanted:
            fail(f"expected `{self.path}` to hold another text", difference(wanted, text))
        return self

    def not_to_have_content(self, other: str | bytes) -> Self:
        __tracebackhide__ = True
        if self._data() == (other.encode() if isinstance(other, str) else other):
            fail(f"expected `{self.path}` not to hold just that", cut(self.text))
        return self

    def to_contain(self, *parts: str) -> Self:
        """Each of these is in it."""
        __tracebackhide__ = True
        text = self.text
        for part in parts:
            if part not in text:
                fail(f"expected `{self.path}` to contain {quoted(part)}", cut(text))
        return self

    def not_to_contain(self, *parts: str) -> Self:
        __tracebackhide__ = True
        text = self.text
        for part in parts:
            if part in text:
                fail(f"expected `{self.path}` not to contain {quoted(part)}", cut(text))
        return self

    @property
    def text(self) -> str:
        """Its text."""
        return self._data().decode(errors="replace")

    @property
    def content(self) -> TextExpectation:
        """What must hold of its text."""
        return TextExpectation(self.text)

    def _data(self) -> bytes:
        __tracebackhide__ = True
        if not self.path.is_file():
            self.to_exist()
            fail(f"expected `{self.path}` to be a file")
        return self.path.read_bytes()


def _beside(path: Path) -> str:
    """What is there instead."""
    folder = path.parent
    if not folder.is_dir():
        return f"there is no folder `{folder}` either"
    names = sorted(one.name for one in folder.iterdir())
    if near := get_close_matches(path.name, names[:5_000], 1):
        return f"the nearest name there is `{near[0]}`"
    return f"there are: {', '.join(names[:20])}{', ...' if len(names) > 20 else ''}" if names else "the folder is empty"
