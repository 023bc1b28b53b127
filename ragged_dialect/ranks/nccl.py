"""NCCL by CuPy: rows go from GPU to GPU, and what ranks tell each other before that by the engine of another group."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from ragged_dialect.errors import ArgumentError, DeviceError, RankError
from ragged_dialect.ranks.engine import Check, DeviceArray, Link, package
from ragged_dialect.ranks.group import TIMEOUT, Group

Library: TypeAlias = Any
"""CuPy and what it makes, which have no types."""

_ID_BYTES = 128
"""Of what names a communicator: NCCL_UNIQUE_ID_BYTES."""

_NAP = 5e-5
"""Seconds between two looks at whether a transfer is over."""


class _Nccl(Link):
    def __init__(self, cupy: Library, communicator: Library, size: int) -> None:
        self._cupy, self._nccl = cupy, cupy.cuda.nccl
        self._communicator, self._size = communicator, size

    def carry(
        self,
        send: DeviceArray,
        out: Sequence[int],
        receive: DeviceArray,
        own: Sequence[int],
        wait: Callable[[Check], None],
    ) -> None:
        try:
            stream = self._cupy.cuda.get_current_stream()
            self._queue(send.data.ptr, out, receive.data.ptr, own, stream.ptr)
            sent = self._cupy.cuda.Event(disable_timing=True)
            sent.record(stream)
            wait(lambda: self._is_over(sent))
        except self._nccl.NcclError as error:
            self._communicator.abort()
            raise RankError(f"expected NCCL to carry rows, got: {error}") from error
        except BaseException:
            self._communicator.abort()  # what is queued would wait for ever, and keep the stream
            raise

    def _is_over(self, sent: Library) -> bool:
        if sent.done:
            return True
        self._communicator.check_async_error()
        time.sleep(_NAP)
        return False

    def _queue(self, at: int, out: Sequence[int], into: int, own: Sequence[int], stream: int) -> None:
        """All transfers in one group, which NCCL takes as one: each may wait for the others. A rank sends to itself,
        too."""
        kind = self._nccl.NCCL_UINT8
        self._nccl.groupStart()
        try:
            for other in range(self._size):
                if out[other + 1] > out[other]:
                    self._communicator.send(at + out[other], out[other + 1] - out[other], kind, other, stream)
                if own[other + 1] > own[other]:
                    self._communicator.recv(into + own[other], own[other + 1] - own[other], kind, other, stream)
        finally:
            self._nccl.groupEnd()


def nccl(group: Group, timeout: float = TIMEOUT) -> Group:
    """A group of the same ranks whose rows go between GPUs by NCCL, where programs have them. A rank uses the device
    that is current when it calls this, and no two ranks the same one. `group` (`mpi()`, `torch_group()`) carries what
    ranks tell each other before rows go, lengths among it, so that a rank that failed is a RankError and no hang; it
    is not used by itself meanwhile. `timeout` is how many seconds a rank waits for another one.

    MissingPackageError without CuPy, DeviceError where it has no NCCL, RankError where a rank cannot have one.

    >>> with rg.ranks.nccl(rg.ranks.mpi()) as group:  # doctest: +SKIP
    ...     received = rg.all_to_all(tokens)
    """
    if not isinstance(group, Group):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"expected a group that carries lengths, got {type(group).__name__}")
    cupy: Library = package("cupy", "CuPy (pip install ragged-dialect[cuda12])")
    library: Library = getattr(cupy.cuda, "nccl", None)
    if not getattr(library, "available", False):
        raise DeviceError("expected a CuPy with NCCL, got one without")
    try:
        made = [library.get_unique_id()] * group.size if group.rank == 0 else []
        name, _ = group.rows(np.array(made, np.int8).reshape(-1, _ID_BYTES), [int(group.rank == 0)] * group.size)
        communicator = library.NcclCommunicator(group.size, tuple(name[0].tolist()), group.rank)
    except library.NcclError as error:
        group.fail(f"NCCL: {error}")
        raise RankError(f"expected a communicator of NCCL, got: {error}") from error
    return Group(group.engine, timeout, _Nccl(cupy, communicator, group.size))
