"""A process group of `torch.distributed`, for those who have one."""

from __future__ import annotations

import importlib
import time
from datetime import timedelta
from typing import Any
from weakref import WeakKeyDictionary, ref

import numpy as np

from ragged_dialect.errors import ArgumentError, MissingPackageError, RankError
from ragged_dialect.ranks.group import TIMEOUT, Bytes, Engine, Group, Told


class _ProcessGroup(Engine):
    """gloo ends the process where more bytes come than there is room for. So before a message goes how many bytes it
    has, and before what a rank that fails tells the number of these below zero."""

    def __init__(self, torch: Any, group: Any) -> None:
        self._torch, self._group = torch, ref(group)
        self._distributed = torch.distributed
        self.rank, self.size = self._distributed.get_rank(group), self._distributed.get_world_size(group)
        self._sent: list[Any] = []

    def post(self, rank: int, data: Bytes) -> None:
        self._send(rank, len(data), data)

    def tell(self, rank: int, text: bytes) -> None:
        self._send(rank, -len(text), np.frombuffer(bytearray(text), np.uint8))

    def fetch(self, rank: int, into: Bytes, deadline: float) -> None:
        count = np.empty(1, np.int64)
        self._receive(rank, count.view(np.uint8), deadline)
        if count[0] < 0:
            text = np.empty(-count[0], np.uint8)
            self._receive(rank, text, deadline)
            raise Told(text.tobytes().decode(errors="replace"))
        if count[0] != len(into):
            raise RankError(f"expected {len(into)} bytes of rank {rank}, got {count[0]}")
        self._receive(rank, into, deadline)

    def _send(self, rank: int, count: int, data: Bytes) -> None:
        try:
            for part in (np.array([count]).view(np.uint8), data):
                tensor = self._torch.from_numpy(part)
                work = self._distributed.isend(tensor, group=self._group(), group_dst=rank)
                self._sent.append((work, tensor))
        except RuntimeError as error:
            raise RankError(f"expected rank {rank} to be there, got: {error}") from error

    def _receive(self, rank: int, into: Bytes, deadline: float) -> None:
        try:
            work = self._distributed.irecv(self._torch.from_numpy(into), group=self._group(), group_src=rank)
            self._wait(work, deadline)
        except RuntimeError as error:
            _expired(error, deadline)
            raise RankError(f"expected rank {rank} to be there, got: {error}") from error

    def flush(self, deadline: float) -> None:
        sent, self._sent = self._sent, []
        try:
            for work, _ in sent:
                self._wait(work, deadline)
        except RuntimeError as error:
            _expired(error, deadline)
            raise RankError(f"expected ranks to be there, got: {error}") from error

    def _wait(self, work: Any, deadline: float) -> None:
        work.wait(timedelta(seconds=max(0.001, deadline - time.monotonic())))


_ENGINES: WeakKeyDictionary[object, _ProcessGroup] = WeakKeyDictionary()
"""Those of process groups. What was sent is lost where torch's handle of it is, and what a rank that failed told may be
taken when its group is gone."""


def _expired(error: RuntimeError, deadline: float) -> None:
    """TimeoutError for what torch says when the time is over."""
    if time.monotonic() >= deadline:
        raise TimeoutError from error


def torch_group(process_group: Any = None, timeout: float = TIMEOUT) -> Group:
    """The group of a process group of `torch.distributed` that sends tensors of the CPU (gloo), the default one if none
    is given. `timeout` is how many seconds a rank waits for another one. MissingPackageError without torch,
    ArgumentError before `init_process_group`, RankError for a process group whose group failed: another one is
    `torch.distributed.new_group()`."""
    try:
        distributed: Any = importlib.import_module("torch.distributed")
    except ImportError as error:
        raise MissingPackageError(f"expected torch (pip install torch), got: {error}") from error
    if not distributed.is_available() or not distributed.is_initialized():
        raise ArgumentError("expected a process group of torch.distributed, got none (init_process_group)")
    group: Any = distributed.group.WORLD if process_group is None else process_group
    if not isinstance(group, distributed.ProcessGroup):
        raise ArgumentError("expected a process group that this process is in, got another one")
    engine = _ENGINES.get(group)
    if engine is None:
        engine = _ENGINES[group] = _ProcessGroup(importlib.import_module("torch"), group)
    if engine.failure:
        raise RankError(f"expected a process group without a failed group, got one: {engine.failure}")
    return Group(engine, timeout)
