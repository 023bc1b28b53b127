"""MPI by `mpi4py`: `mpiexec -n 4 python program.py`."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np

from ragged_dialect.errors import ArgumentError, MissingPackageError, RankError
from ragged_dialect.ranks.group import TIMEOUT, Bytes, Engine, Group, Told

_CHUNK = 2**30
"""Bytes of a message: MPI's counts are C integers below 2**31 before MPI 4."""

_TAG, _NOTICE = 21063, 21064
"""Of our messages, so that those of others do not mix with them, and of what a rank that fails tells."""

_SPIN = 1e-3
"""Seconds a rank asks again at once before it begins to sleep between questions: messages take microseconds, and other
ranks on the same cores have to run."""
_NAP = 5e-5


class _Mpi(Engine):
    def __init__(self, library: Any, communicator: Any) -> None:
        self._mpi, self._communicator = library, communicator
        self.rank, self.size = communicator.Get_rank(), communicator.Get_size()
        self._sent: list[Any] = []
        self.background = library.Query_thread() >= library.THREAD_SERIALIZED

    def post(self, rank: int, data: Bytes, tag: int = _TAG) -> None:
        with self._errors():
            for at in range(0, len(data), _CHUNK):
                self._sent.append(self._communicator.Isend([data[at : at + _CHUNK], self._mpi.BYTE], rank, tag))

    def tell(self, rank: int, text: bytes) -> None:
        self.post(rank, np.frombuffer(text, np.uint8), _NOTICE)

    def fetch(self, rank: int, into: Bytes, deadline: float) -> None:
        for at in range(0, len(into), _CHUNK):
            room, status = into[at : at + _CHUNK], self._mpi.Status()
            with self._errors():
                request = self._communicator.Irecv([room, self._mpi.BYTE], rank, _TAG)
                try:
                    self._wait(lambda: request.Test(status), deadline)
                except BaseException:  # what comes late must not be written to memory that is somebody else's by then
                    with suppress(self._mpi.Exception):  # of what ended by an error
                        request.Cancel()
                        request.Wait()
                    raise
            if (count := status.Get_count(self._mpi.BYTE)) != len(room):
                raise RankError(f"expected {len(room)} bytes of rank {rank}, got {count}")

    def flush(self, deadline: float) -> None:
        with self._errors():
            self._wait(lambda: self._mpi.Request.Testall(self._sent), deadline)
        self._sent = []

    def _wait(self, is_over: Callable[[], bool], deadline: float) -> None:
        """Until it is, or any rank tells that it failed: it may be another one than that which is waited for, and takes
        nothing that it is sent."""
        started = time.monotonic()
        while not is_over():
            status = self._mpi.Status()
            if self._communicator.Iprobe(self._mpi.ANY_SOURCE, _NOTICE, status):
                text = np.empty(status.Get_count(self._mpi.BYTE), np.uint8)
                self._communicator.Recv([text, self._mpi.BYTE], status.Get_source(), _NOTICE)
                raise Told(text.tobytes().decode(errors="replace"))
            now = time.monotonic()
            if now > deadline:
                raise TimeoutError
            time.sleep(_NAP if now - started > _SPIN else 0)

    @contextmanager
    def _errors(self) -> Generator[None]:
        try:
            yield
        except self._mpi.Exception as error:
            raise RankError(f"expected MPI to carry rows, got: {error}") from error


@cache
def _key(library: ModuleType) -> int:
    """Of the attribute of a communicator that is its engine: copies of the communicator have none."""
    return library.Comm.Create_keyval()


def mpi(communicator: Any = None, timeout: float = TIMEOUT) -> Group:
    """The group of an MPI communicator of `mpi4py`, `COMM_WORLD` if none is given. Its messages have two tags of their
    own. `timeout` is how many seconds a rank waits for another one. MissingPackageError without mpi4py
    (`pip install ragged-dialect[mpi]`), ArgumentError for a communicator that this process is not in, RankError for one
    whose group failed: another one is `communicator.Dup()`."""
    try:
        library: Any = importlib.import_module("mpi4py.MPI")
    except ImportError as error:
        raise MissingPackageError(f"expected mpi4py (pip install ragged-dialect[mpi]), got: {error}") from error
    given: Any = library.COMM_WORLD if communicator is None else communicator
    if not isinstance(given, library.Intracomm):
        raise ArgumentError(f"expected a communicator of mpi4py, got {type(given).__name__}")
    try:
        engine = given.Get_attr(_key(library))
        if engine is None:
            engine = _Mpi(library, given)
            given.Set_attr(_key(library), engine)
    except library.Exception as error:
        raise ArgumentError(f"expected a communicator that this process is in, got: {error}") from error
    if engine.failure:
        raise RankError(f"expected a communicator without a failed group, got one: {engine.failure}")
    return Group(engine, timeout)
