"""Waits of torch for gloo. One ends for no Ctrl-C, nobody can ask whether it is over, and where its time is over torch
closes all connections of the process group. So a thread waits for as long as it takes, and the rank for the thread."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from queue import SimpleQueue
from typing import Any, TypeAlias

Work: TypeAlias = Any
"""torch's handle of a message; what is sent is lost where its handle is."""
Outcome: TypeAlias = "SimpleQueue[RuntimeError | None]"
"""What torch says when a wait is over."""
Waits: TypeAlias = "SimpleQueue[tuple[Sequence[Work], Outcome] | None]"

_LONG = timedelta(seconds=1e8)
_LAST, _NONE = timedelta(seconds=1), timedelta(milliseconds=1)


class Waiter:
    """One wait at a time, until messages are under way, or there."""

    def __init__(self) -> None:
        self._waits: Waits = SimpleQueue()
        self._works: Sequence[Work] = ()
        self._thread = threading.Thread(target=_serve, args=(self._waits,), daemon=True, name="waits for gloo")
        self._thread.start()

    def begin(self, works: Sequence[Work]) -> Outcome:
        outcome: Outcome = SimpleQueue()
        self._works = works
        self._waits.put((works, outcome))
        return outcome

    def end(self, told: Sequence[Work]) -> None:
        """When the process group is gone, or the process ends: let what was told go, and end a wait that nobody waits
        for any more. A thread that comes back of one while Python ends is a crash."""
        for work in told:
            with suppress(RuntimeError):
                work.wait(_LAST)
        self._waits.put(None)
        if threading.current_thread() is self._thread:  # in which garbage was collected
            return
        self._thread.join(_LAST.total_seconds())
        if self._thread.is_alive():
            for work in self._works:
                with suppress(RuntimeError):
                    work.wait(_NONE)
            self._thread.join(_LAST.total_seconds())


def _serve(waits: Waits) -> None:
    while (asked := waits.get()) is not None:
        works, outcome = asked
        outcome.put(_wait(works))
        del asked, works, outcome  # and what they hold


def _wait(works: Sequence[Work]) -> RuntimeError | None:
    try:
        for work in works:
            work.wait(_LONG)
    except RuntimeError as error:
        return error
