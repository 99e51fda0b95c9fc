"""Where commands run: an argv prefix with a lifecycle, and what is written once on top of it."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol

from muster.core import paths, proc, wire
from muster.core.proc import Result
from muster.errors import NotFound, UsageError

Capability = Literal["snapshot", "stop", "pause", "isolated"]
# No such file, or something that is none.
_NOTHING_TO_READ = (errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.EACCES, errno.ENXIO)
Condition = Literal["running", "stopped", "paused", "unreachable", "gone"]


class Host(Protocol):
    """A place that can run a command."""

    @property
    def provider(self) -> str: ...

    @property
    def capabilities(self) -> frozenset[Capability]: ...

    @property
    def name(self) -> str: ...

    def argv(self, command: Sequence[str], *, tty: bool = False) -> list[str]:
        """The local argv that runs it there."""
        ...

    def root(self) -> str:
        """The folder of muster's things there, as an absolute path."""
        ...


class Made(Host, Protocol):
    """A host that muster can make, and take away again; each step may be done twice."""

    def condition(self) -> Condition: ...

    def create(self) -> None: ...

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def destroy(self) -> None: ...

    def snapshot(self, label: str) -> str:
        """Keep its file system, under a name that others can be made from."""
        ...


PROVIDERS: dict[str, str] = {
    "local": "muster.hosts.local:Local",
    "ssh": "muster.hosts.ssh:Ssh",
    "docker": "muster.hosts.docker:Docker",
}
# What a host is told by muster; all else may stand in `[hosts.NAME]`.
OURS = ("name", "home", "by", "provider", "capabilities")


def provider(name: str) -> type[Any]:
    """The provider of that name: ours, or one that an installed package registers."""
    from importlib import import_module

    target = PROVIDERS.get(name) or _plugin(name)
    if not target:
        from muster.core.names import nearest

        raise NotFound(f"there is no provider `{name}`", hint=nearest(name, PROVIDERS, "provider"))
    module, _, attribute = target.partition(":")
    found: type[Any] = getattr(import_module(module), attribute)
    return found


def known(name: str) -> bool:
    """Whether there is a provider of that name."""
    return name in PROVIDERS or bool(_plugin(name))


def _plugin(name: str) -> str:
    # Reading the installed entry points costs 30 ms, so it is done only for a name we don't know.
    from importlib.metadata import entry_points

    return next((entry.value for entry in entry_points(group="muster.hosts") if entry.name == name), "")


def keys(kind: str) -> list[str]:
    """What can be set for a host of that provider."""
    return [key for key in provider(kind).__struct_fields__ if key not in OURS]


def made(kind: str, name: str, home: str, settings: Mapping[str, Any]) -> Any:
    """The host of that provider and name, as the settings describe it; a plain text may stand for any value."""
    import msgspec

    for key in settings:
        if key not in keys(kind) and key != "provider":
            from muster.core.names import nearest

            raise UsageError(f"`hosts.{name}.{key}`: {kind} has no such key", hint=nearest(key, keys(kind), "key"))
    try:
        given = {**settings, "name": name, "home": home, "provider": kind}
        return wire.convert(given, provider(kind), strict=False)
    except msgspec.ValidationError as error:
        raise UsageError(f"`[hosts.{name}]`: {str(error)[:1].lower()}{str(error)[1:]}") from error


def far(host: Host) -> bool:
    """Whether it is another machine, where nothing of ours may be taken for granted."""
    return host.provider != "local"


def write(
    host: Host, files: Mapping[str, bytes], programs: Mapping[str, bytes] | None = None, gone: Sequence[str] = ()
) -> None:
    """Put small files there, each whole or not at all, and remove those that are to be gone."""
    if far(host):
        from muster.hosts import elsewhere

        elsewhere.write(host, files, programs or {}, gone)
        return
    for path in gone:
        if os.path.lexists(path):
            os.unlink(path)
    for mode, some in ((0o600, files), (0o700, programs or {})):
        for path, data in some.items():
            paths.folder(os.path.dirname(path))
            paths.write(path, data, mode)


def stale(host: Host, files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Those files that are not there as they should be."""
    if far(host) and proc.run(host, ["cat", *files], check=False).out == b"".join(files.values()):
        return {}
    return {path: data for path, data in files.items() if far(host) or read(host, path) != data}


def folder(host: Host, path: str) -> None:
    """Have that folder there, for this user's eyes only."""
    if far(host):
        proc.run(host, ["sh", "-c", 'umask 077; mkdir -p "$1"', "sh", path])
    else:
        paths.private(path)


def read(host: Host, path: str, limit: int = -1, skip: int = 0) -> bytes | None:
    """A file's bytes there from `skip` on; None if there is no such file, or none that can be read."""
    if far(host):
        from muster.hosts import elsewhere

        return elsewhere.read(host, path, limit, skip)
    try:
        # Agents may put anything there: a pipe, opened in the usual way, would be waited for.
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return None
            file.seek(skip)
            return file.read(limit)
    except OSError as error:
        if error.errno not in _NOTHING_TO_READ:
            raise
        return None


def size(host: Host, path: str) -> int:
    """The length of a file there; 0 if there is none."""
    if far(host):
        said = _holds(host, 'test -f "$1" && wc -c <"$1" || echo 0', path).text.strip()
        return int(said) if said.isdigit() else 0
    return os.path.getsize(path) if os.path.isfile(path) else 0


def exists(host: Host, path: str) -> bool:
    """Whether anything of that name is there."""
    if far(host):
        return _holds(host, 'test -e "$1" || test -L "$1"', path).code == 0
    return os.path.lexists(path)


def is_folder(host: Host, path: str) -> bool:
    """Whether that is a folder there."""
    return _holds(host, 'test -d "$1"', path).code == 0 if far(host) else os.path.isdir(path)


def remove(host: proc.Prefix, *paths: str) -> None:
    """Remove files and folders there with all that is in them."""
    if proc.run(host, ["rm", "-rf", *paths], check=False).code:
        # A folder made read-only (a module cache, a careful agent) can't be emptied before it is made writable.
        proc.run(host, ["chmod", "-R", "u+rwX", *paths], check=False)
        proc.run(host, ["rm", "-rf", *paths])


def _holds(host: Host, script: str, path: str) -> Result:
    return proc.run(host, ["sh", "-c", script, "sh", path], check=False)
