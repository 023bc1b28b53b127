"""Failed checks on the GPU: a status per function and stream, read when it has arrived anyway."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np

from ragged_dialect.checks import Check
from ragged_dialect.errors import DeviceError
from ragged_dialect.runtime.status import new_status, raise_failed

_FIRST_CAPTURABLE = 2
"""Streams below are the default one under its two names, which cannot be captured to a graph."""

StreamKey = tuple[int, int]


class StreamStatus:
    """The status of one function on one stream.

    Kernels write the first failure to `buffer`, and do nothing from then on. A copy of it to host
    memory is queued behind every call, so that reading it later needs no wait.
    """

    def __init__(self, cupy: ModuleType, checks: Sequence[Check], stream: Any) -> None:
        record = new_status()
        self._runtime = cupy.cuda.runtime
        self.buffer = cupy.zeros(record.shape, record.dtype)
        self._checks = checks
        self._stream = stream
        self._pinned = cupy.cuda.alloc_pinned_memory(record.nbytes)
        self._host = np.frombuffer(self._pinned, record.dtype, record.size)
        self._host[...] = record
        self._event = cupy.cuda.Event(disable_timing=True)
        self.in_graph = False
        """Whether calls were captured to a graph, which may run at any time."""

    def queue_copy(self, captured: bool) -> None:
        """Copy the status to the host behind what is queued. Once this is `captured` to a graph, only
        `wait` tells when a copy is done."""
        self._copy()
        self.in_graph = self.in_graph or captured
        if not captured:
            self._event.record(self._stream)

    def arrived(self) -> bool:
        """Whether the copy of the last call is done."""
        return not self.in_graph and self._event.done

    def wait(self) -> None:
        """Wait for what is queued."""
        self._stream.synchronize()

    def raise_failure(self) -> None:
        """RuntimeCheckError for a failure whose copy is done; the status is good again after it."""
        if not self._host[0]:
            return
        failed = self._host.tolist()
        self._host[...] = 0
        self.buffer.data.memset_async(0, self.buffer.nbytes, self._stream)
        raise_failed(self._checks, failed)

    def raise_now(self) -> None:
        """Wait, and raise a failure."""
        self._copy()
        self.wait()
        self.raise_failure()

    def _copy(self) -> None:
        """Queue a copy to the host. CuPy's own methods refuse one that is captured to a graph; CUDA has it, as the
        host's memory is pinned."""
        to, source, kind = self._host.ctypes.data, self.buffer.data.ptr, self._runtime.memcpyDeviceToHost
        self._runtime.memcpyAsync(to, source, self.buffer.nbytes, kind, self._stream.ptr)


_pending: dict[StreamKey, dict[int, StreamStatus]] = {}
"""The statuses per device and stream whose last copy nobody looked at."""


class CheckedStreams:
    """The statuses of one function, by stream."""

    def __init__(self, cupy: ModuleType, name: str, checks: Sequence[Check], sync: bool) -> None:
        self._cupy = cupy
        self._name = name
        self._checks = checks
        self._sync = sync
        self._by_stream: dict[StreamKey, StreamStatus] = {}

    def status(self, key: StreamKey, stream: Any) -> StreamStatus:
        """The status of calls on a stream."""
        status = self._by_stream.get(key)
        if status is None:
            if is_capturing(key, stream):
                raise DeviceError(f"{self._name}: expected a call on the stream before it is captured, got none")
            status = self._by_stream[key] = StreamStatus(self._cupy, self._checks, stream)
        return status

    def end(self, key: StreamKey, stream: Any, status: StreamStatus) -> None:
        """What follows the launches of a call."""
        captured = is_capturing(key, stream)
        if self._sync and not captured:
            status.raise_now()
            return
        status.queue_copy(captured)
        _pending.setdefault(key, {})[id(status)] = status


def is_capturing(key: StreamKey, stream: Any) -> bool:
    """Whether what is queued on a stream goes to a graph."""
    return key[1] >= _FIRST_CAPTURABLE and stream.is_capturing()


def raise_arrived(key: StreamKey) -> None:
    """RuntimeCheckError for an earlier call on a stream that is known to have failed; never waits."""
    statuses = _pending.get(key)
    if statuses:
        for status in list(statuses.values()):
            if status.arrived():
                del statuses[id(status)]
                status.raise_failure()


def synchronize() -> None:
    """Wait for the GPU: for the current stream, and every stream on which checked programs run.

    RuntimeCheckError for the first check that failed; another call raises the next. Does nothing
    where CuPy was never imported."""
    cupy = sys.modules.get("cupy")
    if cupy is None:
        return
    cupy.cuda.get_current_stream().synchronize()
    for statuses in _pending.values():
        for key, status in list(statuses.items()):
            status.wait()
            if not status.in_graph:
                del statuses[key]
            status.raise_failure()
