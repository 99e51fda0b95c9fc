"""Threads: the one mapper over things that take time elsewhere."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")


def out(function: Callable[[T], R], items: Iterable[T], limit: int) -> Iterator[tuple[T, R | Exception]]:
    """Call it for each item, so many at once; results as they come, errors handed over and not raised."""
    todo = list(items)
    if len(todo) <= 1 or limit <= 1:
        yield from ((item, _call(function, item)) for item in todo)
        return
    waiting: queue.SimpleQueue[T] = queue.SimpleQueue()
    done: queue.SimpleQueue[tuple[T, R | Exception]] = queue.SimpleQueue()
    for item in todo:
        waiting.put(item)

    def work() -> None:
        while True:
            try:
                item = waiting.get_nowait()
            except queue.Empty:
                return
            done.put((item, _call(function, item)))

    for _ in range(min(limit, len(todo))):
        threading.Thread(target=work, daemon=True).start()
    try:
        for _ in todo:
            yield done.get()
    finally:
        # Whoever stops listening (an error, ^C) wants no new work begun.
        while not waiting.empty():
            try:
                waiting.get_nowait()
            except queue.Empty:
                break


def _call(function: Callable[[T], R], item: T) -> R | Exception:
    try:
        return function(item)
    except Exception as error:  # noqa: BLE001 (handed to the caller, who raises or reports it)
        return error


class Later(Generic[T, R]):
    """Things done beside what we do, so many at once, whose results are asked for when it suits."""

    def __init__(self, function: Callable[[T], R], limit: int) -> None:
        self._function, self._limit = function, limit
        self._todo: queue.SimpleQueue[T | None] = queue.SimpleQueue()
        self._done: queue.SimpleQueue[tuple[T, R | Exception]] = queue.SimpleQueue()
        self._threads = self._given = self._taken = 0

    def give(self, item: T) -> None:
        """One more thing to do."""
        self._given += 1
        self._todo.put(item)
        if self._threads < self._limit:
            self._threads += 1
            threading.Thread(target=self._work, daemon=True).start()

    def _work(self) -> None:
        while (item := self._todo.get()) is not None:
            self._done.put((item, _call(self._function, item)))

    def rest(self) -> Iterator[tuple[T, R | Exception]]:
        """All the rest, as it is done."""
        while self._taken < self._given:
            self._taken += 1
            yield self._done.get()

    def __enter__(self) -> Later[T, R]:
        return self

    def __exit__(self, *_: object) -> None:
        for _thread in range(self._threads):
            self._todo.put(None)


Lock, Event = threading.Lock, threading.Event


@contextmanager
def every(seconds: float, function: Callable[[], object]) -> Iterator[None]:
    """Call it again and again beside us, until this ends."""
    over = threading.Event()

    def repeat() -> None:
        while not over.wait(seconds):
            function()

    thread = aside(repeat)
    try:
        yield
    finally:
        over.set()
        thread.join()


def aside(function: Callable[[], object]) -> threading.Thread:
    """Run it beside us; it ends with the process."""
    thread = threading.Thread(target=function, daemon=True)
    thread.start()
    return thread
