"""What carries a group's messages, and how its ranks wait: for what they need, and for what a rank that fails tells."""

from __future__ import annotations

import importlib
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from queue import Empty, SimpleQueue
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from ragged_dialect.errors import MissingPackageError
from ragged_dialect.lazy import cached_property
from ragged_dialect.ranks.order import Order

T = TypeVar("T")
Bytes: TypeAlias = NDArray[np.uint8]
DeviceArray: TypeAlias = Any
"""An array on a GPU, of CuPy, which has no types."""
Check: TypeAlias = Callable[[], bool]
"""Whether something is over. It takes a moment itself, so that who asks again and again leaves the core to others."""

TEXT = 256
"""Bytes of an error's text that other ranks are told."""
TAG, NOTICE_TAG = 21063, 21064
"""Of our messages, so that those of others do not mix with them, and of what a rank that fails tells."""
_MOMENT = 5e-3
"""Seconds between two looks at whether a rank failed, of one that is woken when what it waits for comes."""


class Told(Exception):
    """What another rank said by `Engine.tell`."""


def package(module: str, wanted: str) -> Any:
    """A module of a package that carries messages. MissingPackageError, with what is `wanted`, where it is missing."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingPackageError(f"expected {wanted}, got: {error}") from error


def no_trouble() -> None:
    """What keeps nobody from waiting."""


def wait_until(is_over: Check, deadline: float, trouble: Callable[[], Exception | None] = no_trouble) -> None:
    """Wait, unless there is what makes it vain: that is raised. What came before counts all the same. TimeoutError
    after a time of `time.monotonic`."""
    while not is_over():
        if (error := trouble()) is not None:
            if is_over():
                return
            raise error
        if time.monotonic() > deadline:
            raise TimeoutError


class Engine(ABC):
    """What carries bytes between ranks, in order from one rank to another."""

    rank: int
    size: int
    failure = ""
    """How a group failed, if one did: what was sent and not taken is under way, and would be taken for what comes next.
    So there is one engine for each communicator, and no group of it after that."""
    process = 0
    """The one that is the rank, by number, once there is a group. What is forked of it has the engine, too."""
    background = True
    """Whether another thread than that of the group may call it, one at a time."""
    _heard = ""

    @cached_property
    def order(self) -> Order:
        """Of the exchanges of all groups."""
        return Order()

    def turn(self) -> AbstractContextManager[None]:
        """Of one exchange, see `Order.turn`."""
        return self.order.turn()

    @abstractmethod
    def post(self, rank: int, data: Bytes) -> None:
        """Send bytes without waiting; nobody changes them."""

    @abstractmethod
    def tell(self, rank: int, text: bytes) -> None:
        """Say that this rank failed, without waiting, to one that may wait for anything: it hears so (`notice`)."""

    @abstractmethod
    def notice(self) -> str:
        """What any rank told this one, which may be another one than that which is waited for; or nothing."""

    @abstractmethod
    def fetch(self, rank: int, into: Bytes, deadline: float) -> None:
        """Receive as many bytes as there is room for. TimeoutError after a time of `time.monotonic`, RankError for a
        rank that is gone, or sent another number of bytes; Told."""

    @abstractmethod
    def flush(self, deadline: float) -> None:
        """Wait until what was sent is under way, so that it need not be kept. TimeoutError, RankError, Told."""

    def fail(self, text: str) -> None:
        """The group failed: nothing is sent or taken any more, but for what it takes that the process ends well."""
        self.failure = text

    def wait(self, is_over: Check, deadline: float) -> None:
        """Until it is: the one way in which a rank waits for others. TimeoutError, Told, RankError."""
        wait_until(is_over, deadline, self.trouble)

    def next_of(self, messages: SimpleQueue[T], deadline: float) -> T:
        """Wait for what another thread puts into a queue. TimeoutError, Told."""
        came: list[T] = []

        def has_come() -> bool:
            try:
                came.append(messages.get(timeout=_MOMENT))
            except Empty:
                return False
            return True

        self.wait(has_come, deadline)
        return came[0]

    def trouble(self) -> Exception | None:
        """Why it is vain to wait: the notice that came first, now and ever after, that this rank fails in another
        thread, or that one is gone."""
        self._heard = self._heard or self.failure or self.notice()
        return Told(self._heard) if self._heard else None


class Alone(Engine):
    """Of a process without others: nobody fails, and its threads need not take turns."""

    rank = 0
    size = 1
    background = False

    def post(self, rank: int, data: Bytes) -> None:
        """To nobody."""

    def tell(self, rank: int, text: bytes) -> None:
        """To nobody."""

    def notice(self) -> str:
        """Of nobody."""
        return ""

    def fetch(self, rank: int, into: Bytes, deadline: float) -> None:
        """Of nobody."""

    def flush(self, deadline: float) -> None:
        """Nothing was sent."""

    def fail(self, text: str) -> None:
        """The next exchange is another matter."""

    def turn(self) -> AbstractContextManager[None]:
        """At any time."""
        return nullcontext()


class Link(ABC):
    """What carries rows between the devices of ranks."""

    @abstractmethod
    def carry(
        self,
        send: DeviceArray,
        out: Sequence[int],
        receive: DeviceArray,
        own: Sequence[int],
        wait: Callable[[Check], None],
    ) -> None:
        """Bytes `out[r]` to `out[r + 1]` of an array go to rank r, and what comes from there to bytes `own[r]` to
        `own[r + 1]` of another one, after what is queued on the current stream; they are there when this returns.
        It waits by `wait`, whose errors it raises (TimeoutError, Told); RankError."""
