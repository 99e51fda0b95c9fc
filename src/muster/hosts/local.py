"""This machine."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from muster.hosts import Capability


class Local(Struct, frozen=True):
    """A command here is itself."""

    folder: str
    provider: str = "local"
    capabilities: frozenset[Capability] = frozenset()

    @property
    def name(self) -> str:
        return "local"

    def argv(self, command: Sequence[str], *, tty: bool = False) -> list[str]:
        return list(command)

    def root(self) -> str:
        return self.folder
