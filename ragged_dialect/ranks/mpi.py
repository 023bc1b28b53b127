"""MPI by `mpi4py`: `mpiexec -n 4 python program.py`."""

from __future__ import annotations

import importlib
import time
from typing import Any

from ragged_dialect.errors import ArgumentError, MissingPackageError
from ragged_dialect.ranks.group import TIMEOUT, Bytes, Engine, Group

_CHUNK = 2**30
"""Bytes of a message: MPI's counts are C integers below 2**31 before MPI 4."""

_TAG = 21063
"""Of our messages, so that those of others do not mix with them."""

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

    def post(self, rank: int, data: Bytes) -> None:
        for at in range(0, len(data), _CHUNK):
            self._sent.append(self._communicator.Isend([data[at : at + _CHUNK], self._mpi.BYTE], rank, _TAG))

    def fetch(self, rank: int, into: Bytes, deadline: float) -> None:
        for at in range(0, len(into), _CHUNK):
            request = self._communicator.Irecv([into[at : at + _CHUNK], self._mpi.BYTE], rank, _TAG)
            try:
                self._wait([request], deadline)
            except BaseException:  # what comes late must not be written to memory that is somebody else's by then
                request.Cancel()
                request.Wait()
                raise

    def flush(self, deadline: float) -> None:
        self._wait(self._sent, deadline)
        self._sent = []

    def _wait(self, requests: list[Any], deadline: float) -> None:
        started = time.monotonic()
        while not self._mpi.Request.Testall(requests):
            now = time.monotonic()
            if now > deadline:
                raise TimeoutError
            time.sleep(_NAP if now - started > _SPIN else 0)


def mpi(communicator: Any = None, timeout: float = TIMEOUT) -> Group:
    """The group of an MPI communicator of `mpi4py`, `COMM_WORLD` if none is given. Its messages have a tag of their
    own. `timeout` is how many seconds a rank waits for another one. MissingPackageError without mpi4py
    (`pip install ragged-dialect[mpi]`), ArgumentError for a communicator that this process is not in."""
    try:
        library: Any = importlib.import_module("mpi4py.MPI")
    except ImportError as error:
        raise MissingPackageError(f"expected mpi4py (pip install ragged-dialect[mpi]), got: {error}") from error
    given: Any = library.COMM_WORLD if communicator is None else communicator
    if not isinstance(given, library.Intracomm):
        raise ArgumentError(f"expected a communicator of mpi4py, got {type(given).__name__}")
    try:
        engine = _Mpi(library, given)
    except library.Exception as error:
        raise ArgumentError(f"expected a communicator that this process is in, got: {error}") from error
    return Group(engine, timeout)
