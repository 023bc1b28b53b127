"""Ranks as threads of this process: for tests, and to try a program out without an engine."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from typing import TypeAlias, TypeVar

from ragged_dialect.errors import ArgumentError, RankError, told
from ragged_dialect.narrowing import is_boolean, is_integer
from ragged_dialect.ranks.engine import Bytes, Engine
from ragged_dialect.ranks.group import TIMEOUT, Group

T = TypeVar("T")
Messages: TypeAlias = "queue.SimpleQueue[Bytes]"
"""From one rank to another."""
Notices: TypeAlias = "queue.SimpleQueue[str]"
"""What a rank is told by those that fail."""

_MOST = 1024
"""Ranks of a group: each is a thread, and every two have a queue."""


class ThreadEngine(Engine):
    """A queue for every pair of ranks, and one of notices for each."""

    def __init__(self, rank: int, queues: list[list[Messages]], notices: list[Notices]) -> None:
        self.rank, self.size = rank, len(queues)
        self._queues, self._notices = queues, notices

    def post(self, rank: int, data: Bytes) -> None:
        self._queues[self.rank][rank].put(data)

    def tell(self, rank: int, text: bytes) -> None:
        self._notices[rank].put(text.decode(errors="replace"))

    def notice(self) -> str:
        notices = self._notices[self.rank]
        return "" if notices.empty() else notices.get()

    def fetch(self, rank: int, into: Bytes, deadline: float) -> None:
        data = self.next_of(self._queues[rank][self.rank], deadline)
        if len(data) != len(into):
            raise RankError(f"expected {len(into)} bytes of rank {rank}, got {len(data)}")
        into[:] = data

    def flush(self, deadline: float) -> None:
        pass


def run(size: int, function: Callable[[Group], T], timeout: float = TIMEOUT) -> list[T]:
    """What a function gives on every rank of a group of threads, which is entered for it. The first error of a rank is
    raised, that of the rank that failed rather than those of ranks that were told so.

    >>> def shift(group):
    ...     counts = [int(other == (group.rank + 1) % group.size) for other in range(group.size)]
    ...     return group.rows(np.array([group.rank]), counts)[0].tolist()
    >>> rg.ranks.run(3, shift)
    [[2], [0], [1]]
    """
    if is_boolean(size) or not is_integer(size) or not 1 <= size <= _MOST:
        raise ArgumentError(f"expected 1 to {_MOST} ranks, got {size!r}")
    if not callable(function):
        raise ArgumentError(f"expected a function of a group, got {type(function).__name__}")
    return run_on(engines(int(size)), function, timeout)


def engines(size: int, kind: type[ThreadEngine] = ThreadEngine) -> list[ThreadEngine]:
    """An engine for every rank."""
    queues: list[list[Messages]] = [[queue.SimpleQueue() for _ in range(size)] for _ in range(size)]
    notices: list[Notices] = [queue.SimpleQueue() for _ in range(size)]
    return [kind(rank, queues, notices) for rank in range(size)]


def run_on(ranks: Sequence[ThreadEngine], function: Callable[[Group], T], timeout: float) -> list[T]:
    """`run` with given engines."""
    results: dict[int, T] = {}
    errors: list[BaseException] = []

    def serve(engine: ThreadEngine) -> None:
        try:
            with Group(engine, timeout) as group:
                results[engine.rank] = function(group)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=serve, args=(e,), name=f"rank {e.rank}", daemon=True) for e in ranks]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    except BaseException as error:  # Ctrl-C, or no more threads
        for engine in ranks:
            engine.tell(engine.rank, f"all ranks were stopped: {told(error)}".encode())
        raise
    if errors:
        raise min(errors, key=lambda error: isinstance(error, RankError))
    return [results[engine.rank] for engine in ranks]
