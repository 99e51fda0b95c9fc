"""Hosts by their names: what the registry knows, what the settings say, what `ssh` knows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from muster import hosts
from muster.core import names, out, proc, wire
from muster.errors import CommandFailed, HostError, NotFound, UsageError
from muster.hosts import Host
from muster.hosts.local import Local

if TYPE_CHECKING:
    from muster.fleet import Fleet

# A host needs these, nothing else.
NEEDS = ("sh", "tar", "git", "tmux")
# The first line is the folder's path there, the others are the programs that lack.
_MEET = (
    'case $1 in "~") set -- "$HOME" ;; "~/"*) set -- "${HOME%/}/${1#"~/"}" ;; esac; printf "%s\\n" "$1"; '
    f'for program in {" ".join(NEEDS)}; do command -v "$program" >/dev/null 2>&1 || echo "$program"; done'
)


_PINNED = re.compile(r"Permanently added .* \((\w+)\) to the list")


class Place(Struct, frozen=True):
    """What stands behind the `@` of an address."""

    host: str
    provider: str = ""


class Record(Struct, frozen=True, omit_defaults=True):
    """A host that muster has to do with."""

    name: str
    provider: str
    settings: dict[str, Any] = {}
    root: str = ""  # muster's folder there; empty: it was not met yet
    made: bool = False  # by muster, which may take it away again
    own: bool = False  # it is its one agent's, and goes with it


_record = wire.decoder(Record)


def parse(host: str, provider: str = "") -> Place:
    """A machine's name may have dots itself: only a provider's name behind the last one is one."""
    whole = f"{host}.{provider}" if provider else host
    name, dot, last = whole.rpartition(".")
    if dot and not name:
        return Place("", last)
    return Place(name, last) if dot and (last in hosts.PROVIDERS or (provider and hosts.known(last))) else Place(whole)


def read(text: str) -> Place:
    """The same of one word, as a person writes it: `HOST` or `HOST.PROVIDER`."""
    host, _, provider = text.partition(".")
    return parse(host, provider)


def find(fleet: Fleet, place: Place) -> Host:
    """That host; a machine that was never met is met."""
    if place.host == "local" and place.provider in ("", "local"):
        return Local(fleet.home)
    if not place.host:
        raise UsageError(f"which host of `{place.provider}`?", hint=f"`NAME@HOST.{place.provider}`")
    described = describe(fleet, place)
    record = recorded(fleet, place.host)
    if not (record and record.root) and described.made:
        raise NotFound(f"there is no host `{place.host}` yet", hint=f"`muster host create {place.host}` makes it")
    host = build(fleet, described)
    # Where its settings have changed, it is met again.
    if record is None or (not record.made and record.settings != described.settings):
        record = meet(fleet, host, described)
    return at(host, record.root)


def unknown(fleet: Fleet, name: str) -> NotFound:
    """There is no host of that name."""
    there = [*fleet.config().hosts, *(record.name for record in all_recorded(fleet))]
    hint = names.nearest(name, there, "host", "muster host list") if there else "`muster host create` makes one"
    return NotFound(f"there is no host `{name}`", hint=hint)


# -- the registry ------------------------------------------------------------------------------------------------------


def recorded(fleet: Fleet, name: str) -> Record | None:
    """What the registry knows of that host."""
    rows = fleet.registry.rows("SELECT record FROM hosts WHERE name = ?", (name,))
    return _record.decode(rows[0][0]) if rows else None


def all_recorded(fleet: Fleet) -> list[Record]:
    """Every host that the registry knows, oldest first."""
    return [_record.decode(row[0]) for row in fleet.registry.rows("SELECT record FROM hosts ORDER BY rowid")]


def save(fleet: Fleet, record: Record) -> Record:
    """Know that host from now on."""
    sql = "INSERT INTO hosts (name, record) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET record = ?2"
    fleet.registry.store.write(sql, (record.name, msgspec.json.encode(record)))
    return record


def forget(fleet: Fleet, name: str) -> None:
    """Know it no more."""
    fleet.registry.store.write("DELETE FROM hosts WHERE name = ?", (name,))


# -- what a host is made of --------------------------------------------------------------------------------------------


def describe(fleet: Fleet, place: Place, given: Mapping[str, Any] = {}) -> Record:
    """The host as the registry knows it, or else as the settings say and what is given for it."""
    record, config = recorded(fleet, place.host), fleet.config()
    said = config.hosts.get(place.host, {})
    kind = (record.provider if record else "") or str(said.get("provider", "")) or place.provider or "ssh"
    if place.provider and place.provider != kind:
        hint = f"`{place.host}` is a host of the provider `{kind}`"
        raise NotFound(f"there is no host `{place.host}.{place.provider}`", hint=hint)
    # What ssh needs to know may have changed; what was made or adopted is as it was.
    if record and (record.made or (record.provider != "ssh" and not said)):
        return record
    settings = {**_general(fleet, kind), **said, **_typed(kind, place.host, given)}
    settings.pop("provider", None)
    made = hasattr(hosts.provider(kind), "create") and not settings.get("container")
    return Record(place.host, kind, settings, made=made)


def build(fleet: Fleet, record: Record) -> Any:
    """The host that a record describes, ready to be used."""
    host = hosts.made(record.provider, record.name, fleet.home, record.settings)
    if record.settings.get("engine", "").startswith("ssh://"):
        host = msgspec.structs.replace(host, by=find(fleet, Place(host.engine.removeprefix("ssh://"), "ssh")))
    if prepare := getattr(host, "prepare", None):
        prepare()
    return host


def meet(fleet: Fleet, host: Any, record: Record) -> Record:
    """The first contact: where muster's folder is there, and whether there is what a host needs."""
    names.check(host.name)
    met = proc.run(host, ["sh", "-c", _MEET, "sh", host.root()], timeout=2 * host.patience)
    root, *lacking = met.text.split("\n")
    if not root.startswith("/"):
        hint = "its login shell's settings (`.bashrc`, `.cshrc`, `config.fish`) must print nothing where no terminal is"
        raise CommandFailed(f"what `{host.name}` answers is not what it was asked: {met.text[:80]!r}", hint=hint)
    if lacking:
        raise CommandFailed(
            f"`{host.name}` lacks {', '.join(f'`{program}`' for program in lacking)}",
            hint=f"a host needs {', '.join(NEEDS)}, and nothing else",
        )
    if key := _PINNED.search(met.door):
        out.talk(out.safe(f"`{host.name}` was met for the first time; its {key[1]} key is known from now on"))
    return save(fleet, msgspec.structs.replace(record, root=root))


def at(host: Any, root: str) -> Host:
    """That host, with muster's folder there."""
    found: Host = msgspec.structs.replace(host, folder=root)
    return found


def _general(fleet: Fleet, kind: str) -> dict[str, Any]:
    """What holds for every host of that provider, and for every far one."""
    config = fleet.config()
    section = {"ssh": config.ssh, "docker": config.docker}.get(kind)
    said = {"patience": config.ssh.patience, **(msgspec.to_builtins(section) if section else {})}
    return {key: value for key, value in said.items() if key in hosts.keys(kind)}


def _typed(kind: str, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """What was given as text: lists and tables have commas."""
    usual = hosts.made(kind, name, "", {})
    found = {key: _read(getattr(usual, key, None), value) for key, value in given.items()}
    hosts.made(kind, name, "", found)  # what is wrong is said before anything is made
    return found


def _read(usual: object, value: Any) -> Any:
    if not isinstance(value, str) or not isinstance(usual, (tuple, dict)):
        return value
    words = [one.strip() for one in value.split(",") if one.strip()]
    return words if isinstance(usual, tuple) else {key: text for key, _, text in (one.partition("=") for one in words)}


def engine(fleet: Fleet, url: str = "") -> tuple[proc.Prefix, list[str]]:
    """Where `docker` is run for that engine, and how it is called."""
    settings = {"engine": url or fleet.config().docker.engine}
    host = build(fleet, Record("image", "docker", settings))
    return host.place, host.docker()


def condition(fleet: Fleet, record: Record) -> hosts.Condition:
    """How a host is now: of one that muster made, its engine says so; of any other, whether it answers."""
    from muster.core import far

    try:
        host = build(fleet, record)
        if record.made:
            found: hosts.Condition = host.condition()
            return found
        return "running" if far.answers(host) else "unreachable"
    except HostError:
        return "unreachable"
