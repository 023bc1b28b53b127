"""MPI by `mpi4py`: `mpiexec -n 4 python program.py`."""

from __future__ import annotations

import atexit
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np

from ragged_dialect.errors import ArgumentError, RankError
from ragged_dialect.ranks.engine import NOTICE_TAG, TAG, Bytes, Check, Engine, package, wait_until
from ragged_dialect.ranks.group import TIMEOUT, Group

_CHUNK = 2**30
"""Bytes of a message: MPI's counts are C integers below 2**31 before MPI 4."""

_SPIN = 1e-3
"""Seconds a rank asks again at once before it begins to sleep between questions: messages take microseconds, and other
ranks on the same cores have to run."""
_NAP = 5e-5
_SOON = 1.0
"""Seconds that a rank that fails waits until others have what it sent: a network may move nothing of a rank that does
not call MPI, what is told is behind large rows, and who takes those is not free before they are there."""
_LAST = 5.0
"""Seconds that a rank of a group that failed waits for the others when its process ends."""


class _Mpi(Engine):
    def __init__(self, library: Any, communicator: Any) -> None:
        self._mpi, self._communicator = library, communicator
        self.rank, self.size = communicator.Get_rank(), communicator.Get_size()
        self._sent: list[Any] = []
        self.background = library.Query_thread() >= library.THREAD_SERIALIZED

    def post(self, rank: int, data: Bytes, tag: int = TAG) -> None:
        with self._errors():
            for at in range(0, len(data), _CHUNK):
                self._sent.append(self._communicator.Isend([data[at : at + _CHUNK], self._mpi.BYTE], rank, tag))

    def tell(self, rank: int, text: bytes) -> None:
        self.post(rank, np.frombuffer(text, np.uint8), NOTICE_TAG)
        with self._errors(), suppress(TimeoutError):
            wait_until(_patient(lambda: self._mpi.Request.Testall(self._sent)), self._soon)

    def fetch(self, rank: int, into: Bytes, deadline: float) -> None:
        for at in range(0, len(into), _CHUNK):
            room, status = into[at : at + _CHUNK], self._mpi.Status()
            with self._errors():
                request = self._communicator.Irecv([room, self._mpi.BYTE], rank, TAG)
                try:
                    self.wait(_patient(lambda: request.Test(status)), deadline)
                except BaseException:  # what comes late must not be written to memory that is somebody else's by then
                    with suppress(self._mpi.Exception):  # of what ended by an error
                        request.Cancel()
                        request.Wait()
                    raise
            if (count := status.Get_count(self._mpi.BYTE)) != len(room):
                raise RankError(f"expected {len(room)} bytes of rank {rank}, got {count}")

    def flush(self, deadline: float) -> None:
        with self._errors():
            self.wait(_patient(lambda: self._mpi.Request.Testall(self._sent)), deadline)
        self._sent = []

    def notice(self) -> str:
        text = self._next(NOTICE_TAG)
        return "" if text is None else text.tobytes().decode(errors="replace")

    def fail(self, text: str) -> None:
        if not self.failure:
            self._soon = time.monotonic() + _SOON
            atexit.register(self._end)
        super().fail(text)

    def _end(self) -> None:
        """Take what nobody took: MPICH calls it an error that messages are under way when the program ends."""
        deadline = time.monotonic() + _LAST
        with suppress(self._mpi.Exception, TimeoutError):
            if self._mpi.Is_finalized():
                return
            wait_until(_patient(lambda: self._drained() and self._mpi.Request.Testall(self._sent)), deadline)
            others = self._communicator.Ibarrier()
            wait_until(_patient(lambda: self._drained() and others.Test()), deadline)
            self._drained()

    def _drained(self) -> bool:
        for tag in (TAG, NOTICE_TAG):
            while self._next(tag) is not None:
                pass
        return True

    def _next(self, tag: int) -> Bytes | None:
        """A message of any rank, if there is one."""
        status = self._mpi.Status()
        if not self._communicator.Iprobe(self._mpi.ANY_SOURCE, tag, status):
            return None
        room = np.empty(status.Get_count(self._mpi.BYTE), np.uint8)
        self._communicator.Recv([room, self._mpi.BYTE], status.Get_source(), tag)
        return room

    @contextmanager
    def _errors(self) -> Generator[None]:
        if self._mpi.Is_finalized():  # a call of which MPI ends the process for
            raise RankError("expected MPI to carry rows, got: it was finalized")
        try:
            yield
        except self._mpi.Exception as error:
            raise RankError(f"expected MPI to carry rows, got: {error}") from error


def _patient(is_over: Check) -> Check:
    started = time.monotonic()

    def asked() -> bool:
        if is_over():
            return True
        time.sleep(_NAP if time.monotonic() - started > _SPIN else 0)
        return False

    return asked


@cache
def _key(library: ModuleType) -> int:
    """Of the attribute of a communicator that is its engine: copies of the communicator have none."""
    return library.Comm.Create_keyval()


def mpi(communicator: Any = None, timeout: float = TIMEOUT) -> Group:
    """The group of an MPI communicator of `mpi4py`, `COMM_WORLD` if none is given. Its messages have two tags of their
    own. `timeout` is how many seconds a rank waits for another one. MissingPackageError without mpi4py
    (`pip install ragged-dialect[mpi]`), ArgumentError for a communicator that this process is not in, or an MPI that is
    not initialized, RankError for a communicator whose group failed: another one is `communicator.Dup()`."""
    library = package("mpi4py.MPI", "mpi4py (pip install ragged-dialect[mpi])")
    if not library.Is_initialized() or library.Is_finalized():
        raise ArgumentError("expected an MPI that is initialized, got one that is not, or not any more")
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
