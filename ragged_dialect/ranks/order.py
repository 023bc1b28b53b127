"""The one order of what a rank exchanges by an engine, whichever of its groups does it."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from contextlib import contextmanager
from threading import Lock, Thread, current_thread

from ragged_dialect.errors import ArgumentError


class Order:
    """What was begun is done by a thread of its own, one after the other; everything else comes behind that."""

    def __init__(self) -> None:
        self._last: Future[object] | None = None
        self._worker: ThreadPoolExecutor | None = None
        self._own_thread: Thread | None = None
        self._busy = Lock()
        self._process = os.getpid()

    def _in_this_process(self) -> None:
        """A process that was forked has none of the threads, and nobody who would end what these were amid."""
        if self._process != os.getpid():
            self.__init__()

    def begin(self, work: Callable[[], object], name: str) -> Future[object]:
        """Do something while the caller goes on, by a thread with this name."""

        done = Future[object]()

        def marked() -> None:  # no initializer of the pool, by which its thread would keep this order, and itself
            if not done.set_running_or_notify_cancel():
                return
            self._own_thread = current_thread()
            try:
                done.set_result(work())
            except BaseException as error:
                done.set_exception(error)

        self._in_this_process()
        self._worker = self._worker or ThreadPoolExecutor(1, name)
        try:
            self._worker.submit(marked)
            self._last = done
        except BaseException:  # Ctrl-C, maybe before the pool knows a thread that runs: the process would not end
            self._worker.shutdown(wait=False)  # after what was begun before
            self._worker = None
            if not done.cancel():
                self._last = done  # which runs: nothing else may meanwhile
            raise
        return done

    def settle(self) -> None:
        """Let what was begun end, as it may: it waits for nothing that the caller does."""
        self._in_this_process()
        last = self._last  # others may settle it, too
        if last is not None and current_thread() is not self._own_thread:
            wait_for([last])
            if self._last is last:
                self._last = None  # which has what came

    @contextmanager
    def turn(self) -> Generator[None]:
        """Of one exchange. ArgumentError amid one of another thread: which of them is the first is not the same on
        every rank, and one would take what the other one is sent."""
        self._in_this_process()
        if not self._busy.acquire(blocking=False):
            raise ArgumentError("expected exchanges of one thread after the other, got one amid that of another thread")
        try:
            yield
        finally:
            self._busy.release()
