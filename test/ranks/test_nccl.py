"""NCCL by stand-ins of CuPy: memory of threads, and transfers that happen when somebody looks whether they are over."""

from __future__ import annotations

import ctypes
import queue
import sys
import threading
import time
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import ragged_dialect as rg
from ragged_dialect.errors import ArgumentError, DeviceError, MissingPackageError, RankError
from ragged_dialect.ranks import Group
from ragged_dialect.runtime.gpu_exchange import exchange_on_device


class NcclError(RuntimeError):
    """As CuPy's."""


class Array:
    """Memory that NumPy does not read by itself."""

    def __init__(self, host: np.ndarray) -> None:
        self._host = host.copy()
        self.shape, self.dtype = host.shape, host.dtype
        self.flags: Any = self._host.flags
        self.data = SimpleNamespace(ptr=self._host.ctypes.data)

    def get(self) -> np.ndarray:
        return self._host.copy()

    def set(self, host: np.ndarray) -> None:
        self._host[...] = host


class Library:
    """`cupy.cuda` with NCCL: what threads queue in a group happens when an event behind it is looked at."""

    NCCL_UINT8 = 1
    NcclError = NcclError
    available = True

    def __init__(self) -> None:
        self.nccl = self
        self.pairs: dict[tuple[int, int], queue.SimpleQueue[bytes]] = {}
        self.here = threading.local()
        self.names: list[tuple[int, ...]] = []
        self.aborted: list[int] = []
        self.broken = False

    def get_unique_id(self) -> tuple[int, ...]:
        return tuple(k - 64 for k in range(128))

    def get_current_stream(self) -> Any:
        return SimpleNamespace(ptr=7)

    def groupStart(self) -> None:
        self.here.group, self.here.queued = [], []

    def groupEnd(self) -> None:
        self.here.queued = self.here.group

    def NcclCommunicator(self, size: int, name: tuple[int, ...], rank: int) -> Communicator:
        self.names.append(name)
        for other in range(size):
            self.pairs.setdefault((rank, other), queue.SimpleQueue())
            self.pairs.setdefault((other, rank), queue.SimpleQueue())
        return Communicator(self, rank)

    def Event(self, disable_timing: bool) -> Event:
        assert disable_timing
        return Event(self)


class Communicator:
    def __init__(self, library: Library, rank: int) -> None:
        self.library, self.rank = library, rank

    def send(self, at: int, count: int, kind: int, peer: int, stream: int) -> None:
        assert (kind, stream) == (1, 7)
        to = self.library.pairs[self.rank, peer]
        self.library.here.group.append(lambda: bool(to.put(ctypes.string_at(at, count))) or True)

    def recv(self, into: int, count: int, kind: int, peer: int, stream: int) -> None:
        assert (kind, stream) == (1, 7)
        came = self.library.pairs[peer, self.rank]

        def take() -> bool:
            if came.empty():
                return False
            data = came.get()
            assert len(data) == count
            ctypes.memmove(into, data, count)
            return True

        self.library.here.group.append(take)

    def check_async_error(self) -> None:
        if self.library.broken:
            raise NcclError("NCCL_ERROR_SYSTEM_ERROR: unhandled system error")

    def abort(self) -> None:
        self.library.aborted.append(self.rank)


class Event:
    def __init__(self, library: Library) -> None:
        self.library = library

    def record(self, stream: Any) -> None:
        assert stream.ptr == 7

    @property
    def done(self) -> bool:
        queued = self.library.here.queued
        queued[:] = [work for work in queued if not work()]
        return not queued


@pytest.fixture(name="library")
def _library(monkeypatch: pytest.MonkeyPatch) -> Library:
    library = Library()
    cupy = ModuleType("cupy")
    cupy.cuda = library  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    return library


def linked(size: int, work: Callable[[Group], Any], timeout: float = 60.0) -> list[Any]:
    """What a function gives on every rank of a group with NCCL."""

    def serve(group: Group) -> Any:
        with rg.ranks.nccl(group, timeout) as made:
            return work(made)

    return rg.ranks.run(size, serve)


@pytest.mark.parametrize("size", [1, 2, 4])
def test_rows_go_from_device_to_device(size: int, library: Library) -> None:
    """Uneven numbers, none for some; no rank's rows are read by the host."""
    counts = np.random.default_rng(size).integers(0, 4, (size, size))

    def work(group: Group) -> Any:
        sent = np.concatenate([[0], np.cumsum(counts[group.rank])])
        received = np.concatenate([[0], np.cumsum(counts[:, group.rank])])
        rows = np.repeat(np.arange(size), counts[group.rank])[:, None] + np.array([[100.0 * group.rank, 0.5]])
        given, room = Array(rows), Array(np.zeros((received[-1], 2)))
        given.get = None  # type: ignore[assignment]
        exchange_on_device(given, Array(sent), room, Array(received), size, 16, 77, 0)
        return room.get().tolist()

    for rank, found in enumerate(linked(size, work)):
        expected = [[rank + 100.0 * other, rank + 0.5] for other in range(size) for _ in range(counts[other, rank])]
        assert found == expected
    assert library.names == [tuple(k - 64 for k in range(128))] * size


def test_lengths_and_strided_rows_go_by_the_host(library: Library) -> None:
    def work(group: Group) -> Any:
        other = 1 - group.rank
        bounds = Array(np.array([0, 1, 2]))
        lengths, room = Array(np.array([5, 6]) + 10 * group.rank), Array(np.zeros(2, np.int64))
        exchange_on_device(lengths, bounds, room, bounds, 2, 8, 2, 1)
        strided, taken = Array(np.arange(2.0) + group.rank), Array(np.zeros(2))
        strided.flags = SimpleNamespace(c_contiguous=False)
        exchange_on_device(strided, bounds, taken, bounds, 2, 8, 4, 0)
        return room.get().tolist(), taken.get().tolist(), other

    assert linked(2, work) == [([5, 15], [0.0, 1.0], 1), ([6, 16], [1.0, 2.0], 0)]


def test_what_ranks_do_not_agree_on_is_not_sent(library: Library) -> None:
    def work(group: Group) -> None:
        bounds = Array(np.array([0, 1, 2]))
        exchange_on_device(Array(np.zeros(2)), bounds, Array(np.zeros(2)), bounds, 2, 8, 4 + group.rank, 0)

    with pytest.raises(RankError, match="expected rows of one type and shape, by the same op, got others of rank"):
        linked(2, work)
    assert all(pair.empty() for pair in library.pairs.values())


def test_a_rank_that_fails_before_it_sends(library: Library) -> None:
    def work(group: Group) -> None:
        if group.rank:
            raise ValueError("no rows")
        bounds = Array(np.array([0, 1, 2]))
        exchange_on_device(Array(np.zeros(2)), bounds, Array(np.zeros(2)), bounds, 2, 8, 4, 0)

    began = time.monotonic()
    with pytest.raises(ValueError, match="no rows"):
        linked(2, work)
    assert time.monotonic() - began < 10
    assert not library.aborted


@pytest.mark.parametrize("broken", [True, False])
def test_a_transfer_that_does_not_end(broken: bool, library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """NCCL tells of an error, or the time is over: the communicator is aborted, and ranks are told."""
    library.broken = broken
    monkeypatch.setattr(Communicator, "send", lambda *_: None)
    bounds = Array(np.array([0, 1, 2]))

    def work(group: Group) -> None:
        exchange_on_device(Array(np.zeros(2)), bounds, Array(np.zeros(2)), bounds, 2, 8, 4, 0)

    text = (
        "expected NCCL to carry rows, got: NCCL_ERROR_SYSTEM" if broken else "expected all ranks to send and take rows"
    )
    with pytest.raises(RankError, match=text):
        linked(2, work, 0.3)
    assert sorted(library.aborted) == [0, 1]


def test_a_rank_that_is_stopped_amid_a_transfer(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other one waits for no more than what it is told."""
    send = Communicator.send

    def stopped(self: Communicator, *arguments: int) -> None:
        if self.rank:
            raise KeyboardInterrupt
        send(self, *arguments)

    monkeypatch.setattr(Communicator, "send", stopped)
    bounds = Array(np.array([0, 1, 2]))
    found: dict[int, str] = {}

    def work(group: Group) -> None:
        try:
            exchange_on_device(Array(np.zeros(2)), bounds, Array(np.zeros(2)), bounds, 2, 8, 4, 0)
        except BaseException as error:
            found[group.rank] = f"{type(error).__name__}: {error}"
            raise

    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        linked(2, work)
    assert time.monotonic() - began < 30
    assert found == {0: "RankError: rank 1 failed: KeyboardInterrupt: ", 1: "KeyboardInterrupt: "}
    assert sorted(library.aborted) == [0, 1]


def test_who_has_no_nccl(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ArgumentError, match="expected a group that carries lengths, got int"):
        rg.ranks.nccl(3)  # type: ignore[arg-type]
    monkeypatch.setattr(library, "available", False, raising=False)
    with pytest.raises(DeviceError, match="expected a CuPy with NCCL, got one without"):
        rg.ranks.nccl(Group())
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(MissingPackageError, match="expected CuPy"):
        rg.ranks.nccl(Group())


def test_a_communicator_that_cannot_be(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise NcclError("NCCL_ERROR_INVALID_USAGE: invalid usage")

    monkeypatch.setattr(library, "NcclCommunicator", refuse, raising=False)
    with pytest.raises(RankError, match="expected a communicator of NCCL, got: NCCL_ERROR_INVALID_USAGE"):
        linked(2, lambda group: group.rank)
