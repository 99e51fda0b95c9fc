"""Files on other hosts: small ones in one command, many as a tar through the prefix."""

from __future__ import annotations

import io
import os
import stat
import tarfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from muster.core import paths, proc
from muster.core.far import watched
from muster.errors import CommandFailed
from muster.hosts import Host, far

# Written aside in one folder, then each is renamed: a reader sees the old file or the new one.
_WRITE = """
umask 077
count=$1; shift
while [ "$count" -gt 0 ]; do rm -rf "$1"; shift; count=$((count - 1)); done
[ $# -gt 0 ] || exit 0
mkdir -p "${1%/*}" && aside=${1%/*}/.new.$$ && mkdir "$aside" || exit
trap 'rm -rf "$aside"' EXIT
tar -C "$aside" -xpof - || exit
n=0
for path do
  { [ -d "${path%/*}" ] || mkdir -p "${path%/*}"; } && mv -f "$aside/$n" "$path" || exit
  n=$((n + 1))
done
"""
_READ = (
    'test -f "$1" || exit 44; if [ "$3" -ge 0 ]; then tail -c "+$2" "$1" | head -c "$3"; else tail -c "+$2" "$1"; fi'
)
_PRINT = """for f do
  if [ -L "$f" ]; then printf "link %s\\0" "$(readlink "$f")"
  elif [ -f "$f" ]; then printf "file %s\\0" "$(git hash-object --no-filters -- "$f")"
  elif [ -e "$f" ]; then printf "other\\0"; else printf "\\0"; fi
done"""
_UNPACK = 'mkdir -p "$1" && cd "$1" && shift && exec tar -xpof - "$@"'


def write(host: Host, files: Mapping[str, bytes], programs: Mapping[str, bytes], gone: Sequence[str]) -> None:
    """All of them in one command."""
    if not files and not programs and not gone:
        return
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as tar:
        for number, (path, data) in enumerate([*files.items(), *programs.items()]):
            member = tarfile.TarInfo(str(number))
            member.size, member.mode = len(data), 0o700 if path in programs else 0o600
            tar.addfile(member, io.BytesIO(data))
    command = ["sh", "-c", _WRITE, "sh", str(len(gone)), *gone, *files, *programs]
    proc.run(host, command, stdin=stream.getvalue())


def read(host: Host, path: str, limit: int, skip: int) -> bytes | None:
    """None if there is no such file."""
    result = proc.run(host, ["sh", "-c", _READ, "sh", path, str(skip + 1), str(limit)], check=False)
    if result.code not in (0, 44):
        raise CommandFailed(f"`{path}` could not be read on {host.name}: {result.said}")
    return None if result.code else result.out


def pack(host: Host, folder: str, names: Sequence[str], tar: str) -> None:
    """Those things in a folder there, as a tar here."""
    descriptor = os.open(tar, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        take(host, _packing(folder, names), descriptor)
    finally:
        os.close(descriptor)


def take(host: Host, command: Sequence[str], descriptor: int) -> None:
    """What a command there puts out, into an open file here."""
    _end(host, proc.start(host, command, stdin=proc.DEVNULL, stdout=descriptor, stderr=proc.PIPE))


def unpack(host: Host, tar: str, folder: str, *, skip: Iterable[str] = (), strip: int = 0) -> None:
    """A tar that lies here, into a folder on any host that is made if need be."""
    with open(tar, "rb") as file:
        if not far(host):
            extract(file, folder, strip=strip, skip=frozenset(skip))
            return
        flags = [*(f"--exclude=*/{name}" for name in skip), *([f"--strip-components={strip}"] if strip else [])]
        command = ["sh", "-c", _UNPACK, "sh", folder, *flags]
        _end(host, proc.start(host, command, stdin=file.fileno(), stdout=proc.DEVNULL, stderr=proc.PIPE))


def copy(source: Host, folder: str, names: Sequence[str], target: Host, into: str) -> None:
    """Those things in a folder on one host, to the same names in a folder on another."""
    giver = proc.start(source, _packing(folder, names), stdin=proc.DEVNULL, stdout=proc.PIPE, stderr=proc.PIPE)
    assert giver.stdout is not None
    try:
        with _heard_of(source, giver):
            if far(target):
                command, given = ["sh", "-c", _UNPACK, "sh", into], giver.stdout.fileno()
                _end(target, proc.start(target, command, stdin=given, stdout=proc.DEVNULL, stderr=proc.PIPE))
            else:
                extract(giver.stdout, into)
        giver.stdout.close()
        _end(source, giver)
    finally:
        proc.end_group(giver)


def differing(source: Host, folder: str, target: Host, into: str, files: Sequence[str]) -> list[str]:
    """Those of these files that both folders have, and not the same."""
    theirs = _prints(target, into, files)
    common = [name for name in files if theirs.get(name)]
    ours = _prints(source, folder, common) if common else {}
    return [name for name in common if ours.get(name) != theirs[name]]


def _prints(host: Host, folder: str, files: Sequence[str]) -> dict[str, str]:
    """What each file is, in a word: empty where there is none."""
    command = ["sh", "-c", f"cd \"$1\" 2>/dev/null || exit 0; exec xargs -0 sh -c '{_PRINT}' sh", "sh", folder]
    names = "".join(f"./{name}\0" for name in files).encode(errors="surrogateescape")
    words = proc.run(host, command, stdin=names).out.decode(errors="surrogateescape").split("\0")
    return dict(zip(files, words, strict=False))


def _packing(folder: str, names: Sequence[str]) -> list[str]:
    return ["tar", "-C", folder, "-cf", "-", "--", *names]


def _end(host: Host, process: proc.Process) -> None:
    """Wait for a tar; one that failed is an error."""
    with _heard_of(host, process):
        said = process.stderr.read().decode(errors="replace").strip() if process.stderr else ""
        process.wait()
    if process.returncode:
        last = said.splitlines()[-1] if said else f"exit code {process.returncode}"
        raise CommandFailed(f"files could not be moved from or to {host.name}: {last}")
    proc.end_group(process)


@contextmanager
def _heard_of(host: Host, process: proc.Process) -> Iterator[None]:
    """Whatever else was wrong, a host that was lost meanwhile is the cause of it."""
    with watched(host, process) as lost:
        try:
            yield
        finally:
            if lost():
                raise proc.broken(host.name, " while files were moved")


# -- what comes from another host is not trusted ---------------------------------------------------------------------------


def extract(stream: object, folder: str, *, strip: int = 0, skip: frozenset[str] = frozenset()) -> None:
    """A tar into a folder here. Nothing in it can write outside: no name climbs, no link is followed, none is a device."""
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        _Extraction(folder, strip, skip).take(stream)
    except tarfile.TarError as error:
        raise CommandFailed(f"what came was no whole tar: {error}") from error
    except OSError as error:
        raise paths.unwritable(error.filename or folder, error) from error


class _Extraction:
    def __init__(self, folder: str, strip: int, skip: frozenset[str]) -> None:
        self.folder, self.strip, self.skip = folder, strip, skip
        self.links: list[tuple[str, str]] = []
        self.modes: list[tuple[str, int]] = []

    def take(self, stream: object) -> None:
        with tarfile.open(fileobj=stream, mode="r|") as tar:  # type: ignore[call-overload]
            for member in tar:
                parts = self._parts(member.name)
                if parts and parts[-1] not in self.skip:
                    self._member(tar, member, parts)
        # Last of all, so that nothing was written through one, and nothing had to be written where nobody may.
        for path, target in self.links:
            _free(path)
            os.symlink(target, path)
        for path, mode in reversed(self.modes):
            os.chmod(path, mode)

    def _parts(self, name: str) -> list[str]:
        if ".." in name.split("/"):
            raise CommandFailed(f"the tar that came would write outside of its folder: {name!r}")
        return [part for part in name.split("/") if part not in ("", ".")][self.strip :]

    def _member(self, tar: tarfile.TarFile, member: tarfile.TarInfo, parts: list[str]) -> None:
        path = os.path.join(self._folder(parts[:-1]), parts[-1])
        if member.isdir():
            self.modes.append((self._folder(parts), member.mode & 0o777))
        elif member.issym():
            self.links.append((path, member.linkname))
        elif member.islnk():
            *above, name = self._parts(member.linkname)
            _free(path)
            os.link(os.path.join(self._folder(above), name), path, follow_symlinks=False)
        elif member.isreg():
            _file(tar, member, path)

    def _folder(self, parts: Sequence[str]) -> str:
        """That folder below, made if need be; never through a link."""
        folder = self.folder
        for part in parts:
            folder = os.path.join(folder, part)
            try:
                os.mkdir(folder, 0o700)
            except FileExistsError:
                if not stat.S_ISDIR(os.lstat(folder).st_mode):
                    raise CommandFailed(f"`{folder}` is no folder, so nothing is written below it") from None
        return folder


def _file(tar: tarfile.TarFile, member: tarfile.TarInfo, path: str) -> None:
    import shutil

    _free(path)
    data = tar.extractfile(member)
    assert data is not None
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with open(descriptor, "wb") as file:
        shutil.copyfileobj(data, file)
    os.chmod(path, member.mode & 0o777)
    os.utime(path, (member.mtime, member.mtime))


def _free(path: str) -> None:
    """Make room for a file; a folder of that name is somebody's."""
    if os.path.islink(path) or os.path.isfile(path):
        os.unlink(path)
