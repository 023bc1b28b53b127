"""Kernels with 32-bit indices, and those with 64 that are made when a launch first needs them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

import numpy as np

from ragged_dialect.runtime.signature import Argument

LIMIT = 2**30
"""Elements of a buffer, and indices, that 32 bits hold with room for the end of a tile."""

Launch = Callable[..., None]
T = TypeVar("T")


class Late(Generic[T]):
    """A value that is made when it is first asked for, once, whichever thread asks. Where making it
    fails, the next who asks tries again."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._made: list[T] = []

    def get(self) -> T:
        """The value."""
        if not self._made:
            with self._lock:
                if not self._made:
                    self._made.append(self._make())
        return self._made[0]


def launch_of(kinds: str, narrow: Launch, wide: Callable[[], Launch]) -> Launch:
    """A launch that takes `narrow` where it fits, else what `wide` makes at the first such launch."""
    late = Late(wide)
    return by_extent(kinds, lambda *given: late.get()(*given), narrow)


def by_extent(kinds: str, wide: Launch, narrow: Launch) -> Launch:
    """A launch that takes `narrow` where every buffer and index is below the limit, else `wide`.
    `kinds` tells the arguments apart: `p` for a buffer, `index`, other numbers."""
    names = kinds.split()
    buffers = [k for k, kind in enumerate(names) if kind == "p"]
    indices = [k for k, kind in enumerate(names) if kind == "index"]

    def launch(x: int, y: int, z: int, *arguments: Argument) -> None:
        small = x < LIMIT
        for k in buffers:  # no generators: this runs at every launch
            small = small and arguments[k].size < LIMIT
        for k in indices:
            small = small and -LIMIT < arguments[k] < LIMIT
        if not small:
            wide(x, y, z, *arguments)
            return
        given = list(arguments)
        for k in indices:
            given[k] = np.int32(given[k])
        narrow(x, y, z, *given)

    return launch
