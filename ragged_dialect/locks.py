"""Locks that a fork waits for, and work that is done once.

A child of `fork` has one thread, and every lock as it was: one that another thread held is never
given back, nor is a lock that this thread held inside LLVM. So whoever compiles, or runs kernels in
the emulator, holds a lock from here, and a fork first takes all of them.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Generator, Hashable
from contextlib import contextmanager
from typing import Any, TypeVar
from weakref import WeakSet, WeakValueDictionary

T = TypeVar("T")

PATIENCE = 30.0
"""Seconds that a fork waits at most: the thread that compiles may wait for the one that forks."""

_known: WeakSet[Any] = WeakSet()
_making = threading.RLock()
"""Held while a lock is made, so that none is made during a fork."""


class _Fork(threading.local):
    """What the fork of a thread has taken; None where its child takes no locks."""

    def __init__(self) -> None:
        self.held: list[Any] | None = []


_fork = _Fork()


def lock() -> threading.RLock:
    """A reentrant lock that is free in a forked child."""
    return adopt(threading.RLock())


def adopt(other: T) -> T:
    """Let forks wait for a reentrant lock of another package too."""
    with _making:
        _known.add(other)
    return other


@contextmanager
def unguarded() -> Generator[None]:
    """Forks in here wait for no thread, and take nothing: their children use no lock."""
    _fork.held = None
    try:
        yield
    finally:
        _fork.held = []


def _take_all() -> None:
    """Take every lock. While waiting for one none is held: a thread that has it may want another."""
    if _fork.held is None:
        return
    deadline = time.monotonic() + PATIENCE
    busy = _take_free()
    while busy is not None and (left := deadline - time.monotonic()) > 0:
        _give_back()
        if busy.acquire(timeout=left):
            _fork.held.append(busy)
            busy = _take_free()


def _take_free() -> Any:
    """Take locks up to the first that another thread has; this one, or None."""
    if not _making.acquire(blocking=False):
        return _making
    assert _fork.held is not None
    _fork.held.append(_making)
    for each in _known:
        if not each.acquire(blocking=False):
            return each
        _fork.held.append(each)
    return None


def _give_back() -> None:
    while _fork.held:
        _fork.held.pop().release()


def _give_back_in_child() -> None:
    """Locks that were not given up in time are made anew: nobody is left to do it."""
    if _fork.held is not None:
        for each in {_making, *_known}.difference(_fork.held):
            getattr(each, "_at_fork_reinit")()
    _give_back()


os.register_at_fork(before=_take_all, after_in_parent=_give_back, after_in_child=_give_back_in_child)


class _Work:
    """Something that is being made, and the result as soon as there is one."""

    def __init__(self) -> None:
        self.lock = lock()
        self.results: list[Any] = []


_started: WeakValueDictionary[Hashable, _Work] = WeakValueDictionary()
_start = lock()


def once(key: Hashable, make: Callable[[], T]) -> T:
    """What `make` returns. Threads that ask for one key at the same time get one result; for those that
    come later nothing is kept. Where it raises, the next thread that waits tries."""
    with _start:
        work = _started.get(key)
        if work is None:
            work = _started[key] = _Work()
    with work.lock:
        if not work.results:
            work.results.append(make())
        return work.results[0]
