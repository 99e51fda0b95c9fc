"""What can be chosen by name, and where each comes from: agent types and providers of hosts."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any, Literal

from msgspec import Struct

from muster.agents import TYPES
from muster.core import config
from muster.hosts import PROVIDERS


class Plugin(Struct, frozen=True, omit_defaults=True):
    """An agent type or a provider."""

    kind: Literal["type", "provider"]
    name: str
    origin: str  # `muster`, a distribution with its version, or a settings file
    about: str = ""
    fault: str = ""  # why it can't be used


def plugins(folder: str) -> list[Plugin]:
    """All there are, for somebody who works in that folder; the settings may hold more types."""
    return [
        *_ours(),
        *_configured(folder),
        *_installed("muster.agent_types", "type"),
        *_installed("muster.hosts", "provider"),
    ]


def _ours() -> Iterator[Plugin]:
    for name, target in TYPES.items():
        yield Plugin("type", name, "muster", _loaded(target).about)
    for name, target in PROVIDERS.items():
        yield Plugin("provider", name, "muster", _sentence(import_module(target.partition(":")[0])))


def _configured(folder: str) -> Iterator[Plugin]:
    files = {key.split(".")[1]: one.file for key, one in config.origins(folder).items() if key.startswith("types.")}
    for name, own in config.load(folder).types.items():
        yield Plugin("type", name, files.get(name, ""), " ".join([own.parent, *own.args]))


def _installed(group: str, kind: Literal["type", "provider"]) -> Iterator[Plugin]:
    from importlib.metadata import entry_points

    for entry in entry_points(group=group):
        origin = f"{entry.dist.name} {entry.dist.version}" if entry.dist else entry.value
        try:
            found = _loaded(entry.value)
            yield Plugin(kind, entry.name, origin, getattr(found, "about", "") or _sentence(found))
        except Exception as error:  # noqa: BLE001 (a stranger's code: whatever it raises is its fault, and is shown)
            yield Plugin(kind, entry.name, origin, fault=f"{type(error).__name__}: {error}")


def _loaded(target: str) -> Any:
    module, _, attribute = target.partition(":")
    return getattr(import_module(module), attribute)


def _sentence(found: Any) -> str:
    return (found.__doc__ or "").strip().partition("\n")[0].rstrip(".")
