"""Where muster keeps things on this machine."""

from __future__ import annotations

import os

from muster.errors import MusterError

# A unix socket's path ends at 104 bytes on macOS and at 108 on Linux.
_SOCKET_PATH_MAX = 100


def home() -> str:
    """$MUSTER_HOME, or `~/.muster`."""
    return os.path.realpath(os.environ.get("MUSTER_HOME") or os.path.join(os.path.expanduser("~"), ".muster"))


def folder(path: str) -> str:
    """That folder, made if need be, for this user's eyes only."""
    if not os.path.isdir(path):
        # `os.makedirs` would give the mode to the last folder only.
        folder(os.path.dirname(path))
        try:
            os.mkdir(path, 0o700)
        except OSError as error:
            if not os.path.isdir(path):  # another process may have been quicker
                raise unwritable(path, error) from error
    return path


def private(path: str) -> str:
    """The same for a socket's folder, which may be below `/tmp`: who was there before us could speak for our sockets."""
    folder(path)
    if path.startswith(_short()):
        found = os.lstat(_short())
        if found.st_uid != os.getuid() or found.st_mode & 0o077:
            hint = "remove it, or set $MUSTER_HOME to a shorter path"
            raise MusterError(f"`{_short()}` is not yours alone", hint=hint)
    return path


def _short() -> str:
    return f"/tmp/muster-{os.getuid()}"


def unwritable(path: str, error: OSError) -> MusterError:
    """A disk that is full or read-only, said plainly."""
    reason = error.strerror or str(error)
    return MusterError(f"can't write `{path}`: {reason}", hint="make room there, or set $MUSTER_HOME to another folder")


def write(path: str, data: bytes, mode: int = 0o600) -> None:
    """Write aside, then rename: a reader sees the old file or the new one, never half of one."""
    # Threads of one process may write the same file at once, too.
    aside = f"{path}.{os.getpid()}.{os.urandom(4).hex()}.new"
    try:
        descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(descriptor, view) :]
        finally:
            os.close(descriptor)
        os.replace(aside, path)
    except OSError as error:
        try:
            os.unlink(aside)
        except OSError:
            pass  # it was never made
        raise unwritable(path, error) from error


def append(path: str, data: bytes, mode: int = 0o600) -> None:
    """Add to a file in one write, so that lines of several writers never mix."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, mode)
        try:
            os.write(descriptor, data)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise unwritable(path, error) from error


def socket(root: str) -> str:
    """The tmux socket of that home: in it, or where the path is too long for one, in a short private folder."""
    return short(os.path.join(root, "tmux.sock"))


def short(path: str, more: int = 0) -> str:
    """A path that a unix socket can have, which may be so much longer for a moment: that one, or one in a short folder."""
    if len(path.encode()) + more <= _SOCKET_PATH_MAX:
        return path
    from hashlib import sha256

    folder, name = os.path.split(path)
    key = sha256(folder.encode()).hexdigest()[:16]
    return f"{_short()}/{key}{'.sock' if name == 'tmux.sock' else f'/{name}'}"
