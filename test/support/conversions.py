"""Arrays of every kind of layout that other libraries have too."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from support.components import NESTED, STRUCTURES, array, nested

import ragged_dialect as rg
from ragged_dialect.arrays.convert.nesting import Offsets, Regular, from_levels

V = np.arange(24, dtype=np.float32)

ARRAYS: dict[str, Callable[[], rg.RaggedArray]] = {
    **{f"dr|d {lengths}": lambda lengths=lengths: array(lengths) for lengths in STRUCTURES},
    **{f"drr {lengths}": lambda lengths=lengths: nested(lengths) for lengths in NESTED},
    "drr|d|d": lambda: nested(NESTED[0], (3, 2)),
    "dr|d of 0": lambda: array((2, 0, 1), (0,)),
    "dw|d": lambda: rg.from_starts_lengths(V.reshape(12, 2), [7, 0, 3, 3], [4, 0, 3, 1]),
    "dr|dr": lambda: rg.partition(rg.from_offsets(V[:15].reshape(3, 5), [0, 1, 3]), np.array([0, 2, 5]), axis=2),
    "d|dr": lambda: rg.partition(V.reshape(3, 8), np.array([0, 2, 2, 8]), axis=1),
    "dw of one level": lambda: rg.from_starts_lengths(V, [9, 2], [3, 5]),
    "ddr": lambda: from_levels("test", V[:15], 2, [Regular(2, 2), Offsets(np.array([0, 1, 3, 3, 15]))]),
    "drrr": lambda: rg.from_lengths(V[:3], [2, 0, 1], [2, 0, 1], [1, 0, 2]),
    "a result": lambda: array((3, 0, 2)) + 1,
}  # fmt: skip


def text(x: rg.RaggedArray) -> str:
    """Lists as text, so that numbers of different types are told apart and nan is equal to itself."""
    return repr(x.tolist())
