"""Memory of which somebody keeps count what was ever written: a byte per byte, 0 or 255."""

from __future__ import annotations

from weakref import WeakSet

import numpy as np

_READ_AT_ONCE = 8


class Block:
    """So many bytes from an address; `written` is their map, of which nothing is written yet."""

    def __init__(self, address: int, size: int) -> None:
        self.address, self.size = address, size
        self._map: np.ndarray = np.zeros(size + _READ_AT_ONCE, np.uint8)
        _BLOCKS.add(self)

    @property
    def written(self) -> np.ndarray:
        """The map, as an array of bytes."""
        return self._map[: self.size]

    def holds(self, address: int) -> bool:
        """Whether an address is within the block."""
        return self.address <= address < self.address + self.size


_BLOCKS: WeakSet[Block] = WeakSet()


def written_from(address: int) -> np.ndarray | None:
    """The map from an address to the end of its block; None where nobody keeps count."""
    for block in list(_BLOCKS):
        if block.holds(address):
            return block.written[address - block.address :]
    return None


def written_map(address: int) -> int:
    """Where the map of an address is; 0 where nobody keeps count."""
    found = written_from(address)
    return 0 if found is None else found.ctypes.data
