"""Memory of which somebody keeps count what was ever written: a byte per byte, 0 or 255."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from weakref import WeakValueDictionary

import numpy as np

from ragged_dialect.locks import lock

_READ_AT_ONCE = 8


class Block:
    """So many bytes from an address; `written` is their map, of which nothing is written yet."""

    def __init__(self, address: int, size: int) -> None:
        self.address, self.size = address, size
        self._map: np.ndarray = np.zeros(size + _READ_AT_ONCE, np.uint8)
        with _LOCK:
            at = bisect_left(_STARTS, address)
            if _STARTS[at : at + 1] != [address]:
                _STARTS.insert(at, address)
            _BLOCKS[address] = self

    @property
    def written(self) -> np.ndarray:
        """The map, as an array of bytes."""
        return self._map[: self.size]

    def holds(self, address: int) -> bool:
        """Whether an address is within the block."""
        return self.address <= address < self.address + self.size


_LOCK = lock()
_BLOCKS: WeakValueDictionary[int, Block] = WeakValueDictionary()
_STARTS: list[int] = []
"""Addresses of blocks in order; those of blocks that are gone are removed when they are met."""


def written_from(address: int) -> np.ndarray | None:
    """The map from an address to the end of its block; None where nobody keeps count."""
    with _LOCK:
        while at := bisect_right(_STARTS, address):
            block = _BLOCKS.get(_STARTS[at - 1])
            if block is not None:
                return block.written[address - block.address :] if block.holds(address) else None
            del _STARTS[at - 1]
    return None


def written_map(address: int) -> int:
    """Where the map of an address is; 0 where nobody keeps count."""
    found = written_from(address)
    return 0 if found is None else found.ctypes.data
