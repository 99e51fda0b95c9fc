"""Locks between processes: the system lets go of one when its holder dies, however it dies."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager

from muster.core import paths


@contextmanager
def held(path: str, wait: bool = True) -> Iterator[bool]:
    """Be the only one who holds it; without `wait`, whether we are."""
    descriptor = _taken(path, wait)
    try:
        yield descriptor is not None
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _taken(path: str, wait: bool) -> int | None:
    paths.folder(os.path.dirname(path))
    while True:
        try:
            descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
        except OSError as error:
            raise paths.unwritable(path, error) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            # Its last holder may have removed the file that we waited on.
            if os.path.samestat(os.fstat(descriptor), os.stat(path)):
                return descriptor
        except BlockingIOError:
            os.close(descriptor)
            return None
        except FileNotFoundError:
            pass  # removed: the next round makes it anew
        os.close(descriptor)


def taken(path: str) -> bool:
    """Whether a live process holds it."""
    try:
        descriptor = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
