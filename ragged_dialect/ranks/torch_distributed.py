"""A process group of `torch.distributed`, for those who have one."""

from __future__ import annotations

import importlib
import time
from datetime import timedelta
from typing import Any

from ragged_dialect.errors import ArgumentError, MissingPackageError, RankError
from ragged_dialect.ranks.group import TIMEOUT, Bytes, Engine, Group


class _ProcessGroup(Engine):
    def __init__(self, torch: Any, group: Any) -> None:
        self._torch, self._group = torch, group
        self._distributed = torch.distributed
        self.rank, self.size = self._distributed.get_rank(group), self._distributed.get_world_size(group)
        self._sent: list[Any] = []

    def post(self, rank: int, data: Bytes) -> None:
        try:
            tensor = self._torch.from_numpy(data)
            self._sent.append((self._distributed.isend(tensor, group=self._group, group_dst=rank), tensor))
        except RuntimeError as error:
            raise RankError(f"expected rank {rank} to be there, got: {error}") from error

    def fetch(self, rank: int, into: Bytes, deadline: float) -> None:
        try:
            work = self._distributed.irecv(self._torch.from_numpy(into), group=self._group, group_src=rank)
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


def _expired(error: RuntimeError, deadline: float) -> None:
    """TimeoutError for what torch says when the time is over."""
    if time.monotonic() >= deadline:
        raise TimeoutError from error


def torch_group(process_group: Any = None, timeout: float = TIMEOUT) -> Group:
    """The group of a process group of `torch.distributed` that sends tensors of the CPU (gloo), the default one if none
    is given. `timeout` is how many seconds a rank waits for another one. MissingPackageError without torch,
    ArgumentError before `init_process_group`."""
    try:
        distributed: Any = importlib.import_module("torch.distributed")
    except ImportError as error:
        raise MissingPackageError(f"expected torch (pip install torch), got: {error}") from error
    if not distributed.is_available() or not distributed.is_initialized():
        raise ArgumentError("expected a process group of torch.distributed, got none (init_process_group)")
    engine = _ProcessGroup(importlib.import_module("torch"), process_group)
    if engine.size < 1:
        raise ArgumentError("expected a process group that this process is in, got another one")
    return Group(engine, timeout)
