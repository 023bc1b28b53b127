"""A process group of `torch.distributed`, for those who have one."""

from __future__ import annotations

import importlib
import time
from collections import deque
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary, finalize, ref

import numpy as np

from ragged_dialect.errors import ArgumentError, RankError
from ragged_dialect.ranks.engine import NOTICE_TAG, TAG, TEXT, Bytes, Check, Engine, Told, package
from ragged_dialect.ranks.group import TIMEOUT, Group
from ragged_dialect.ranks.torch_waiter import Waiter, Work

_LOOK, _LOOK_TAG = 0.5, NOTICE_TAG + 1
"""Seconds between two looks at whether a rank is there, and the tag of a message that none sends."""
_PART = 2**22
"""Bytes of a message. What comes goes to memory of ours first: what is late would be written to memory that is
somebody else's by then."""


class _ProcessGroup(Engine):
    """gloo ends the process where more bytes come than there is room for. So before a message goes how many bytes it
    has. Notices are of one size, and asked for when nobody has failed yet; the last byte says that one is there."""

    def __init__(self, torch: Any, group: Any) -> None:
        self._torch, self._group = torch, ref(group)
        self._distributed = torch.distributed
        self.rank, self.size = self._distributed.get_rank(group), self._distributed.get_world_size(group)
        self._others = [other for other in range(self.size) if other != self.rank]
        self._awaited = self._others
        """Ranks that have to be there."""
        self._sent: dict[int, list[Work]] = {other: [] for other in self._others}
        self._asked: deque[tuple[Bytes, Bytes, Work]] = deque()
        """Parts of rows that come: where they belong, and where they are written."""
        self._told: list[Work] = []
        self._notices: list[tuple[Bytes, Work]] = []
        with self._errors("ranks"):
            for other in self._others:
                notice = np.zeros(TEXT + 1, np.uint8)
                self._notices.append((notice, self._receive(other, notice, NOTICE_TAG)))
        self._waiter = Waiter()
        finalize(group, self._waiter.end, self._told)  # and where the process ends

    def post(self, rank: int, data: Bytes) -> None:
        with self._errors(f"rank {rank}"):
            self._sent[rank].append(self._send(rank, np.array([len(data)]).view(np.uint8), TAG))
            for at in range(0, len(data), _PART):
                self._sent[rank].append(self._send(rank, data[at : at + _PART], TAG))

    def tell(self, rank: int, text: bytes) -> None:
        notice = np.zeros(TEXT + 1, np.uint8)
        notice[: len(text)], notice[TEXT] = np.frombuffer(text, np.uint8), 1
        with self._errors(f"rank {rank}"):
            self._told.append(self._send(rank, notice, NOTICE_TAG))

    def notice(self) -> str:
        told = (notice[:TEXT] for notice, _ in self._notices if notice[TEXT])
        return next((text.tobytes().rstrip(b"\0").decode(errors="replace") for text in told), "")

    def fetch(self, rank: int, into: Bytes, deadline: float) -> None:
        with self._errors(f"rank {rank}"):
            count = np.empty(1, np.int64)
            self._ask(rank, count.view(np.uint8))
            self._take(rank, deadline)
            if count[0] != len(into):
                raise RankError(f"expected {len(into)} bytes of rank {rank}, got {count[0]}")
            for at in range(0, len(into), _PART):
                self._ask(rank, into[at : at + _PART])
                if at:  # one part comes while the one before it is taken
                    self._take(rank, deadline)
            while self._asked:
                self._take(rank, deadline)

    def flush(self, deadline: float) -> None:
        for rank, works in self._sent.items():
            with self._errors(f"rank {rank}"):
                self._wait_for(rank, works, deadline)
            works.clear()  # the waiter has this list, too

    def wait(self, is_over: Check, deadline: float) -> None:
        self._look_at = time.monotonic() + _LOOK
        super().wait(is_over, deadline)

    def trouble(self) -> Exception | None:
        """gloo does not tell of a rank that went amid a message, but where one asks it for something else."""
        if (heard := super().trouble()) is not None or time.monotonic() < self._look_at:
            return heard
        self._look_at = time.monotonic() + _LOOK
        try:
            for rank in self._awaited:
                with self._errors(f"rank {rank}"):
                    self._receive(rank, np.empty(1, np.uint8), _LOOK_TAG)
        except (RankError, Told) as error:
            return error
        return None

    def _ask(self, rank: int, part: Bytes) -> None:
        room = np.empty_like(part)
        self._asked.append((part, room, self._receive(rank, room, TAG)))

    def _take(self, rank: int, deadline: float) -> None:
        part, room, work = self._asked[0]  # which stays where it does not come: torch reads to the end of a message
        self._wait_for(rank, [work], deadline)
        part[:] = room
        self._asked.popleft()

    def _here(self) -> Any:
        """The process group. torch takes None for the default one, which may be another one by now."""
        if (group := self._group()) is None:
            raise RuntimeError("the process group was destroyed")
        return group

    def _send(self, rank: int, data: Bytes, tag: int) -> Work:
        tensor = self._torch.from_numpy(data)
        return self._distributed.isend(tensor, group=self._here(), group_dst=rank, tag=tag)

    def _receive(self, rank: int, into: Bytes, tag: int) -> Work:
        tensor = self._torch.from_numpy(into)
        return self._distributed.irecv(tensor, group=self._here(), group_src=rank, tag=tag)

    def _wait_for(self, rank: int, works: list[Work], deadline: float) -> None:
        self._awaited = [rank]
        try:
            error = self.next_of(self._waiter.begin(works), deadline)
        finally:
            self._awaited = self._others
        if error is not None:
            raise error

    @contextmanager
    def _errors(self, who: str) -> Generator[None]:
        try:
            yield
        except RankError:
            raise
        except (RuntimeError, ValueError) as error:  # of torch
            said = super().trouble()  # of one that told why before it went
            raise said or RankError(f"expected {who} to be there, got: {error}") from error


_ENGINES: WeakKeyDictionary[object, _ProcessGroup] = WeakKeyDictionary()
"""Those of process groups. What a rank that failed told may be taken when its group is gone."""


def torch_group(process_group: Any = None, timeout: float = TIMEOUT) -> Group:
    """The group of a process group of `torch.distributed` that sends tensors of the CPU (gloo), the default one if none
    is given. `timeout` is how many seconds a rank waits for another one. MissingPackageError without torch,
    ArgumentError before `init_process_group`, RankError for a process group whose group failed: another one is
    `torch.distributed.new_group()`."""
    distributed = package("torch.distributed", "torch (pip install torch)")
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
