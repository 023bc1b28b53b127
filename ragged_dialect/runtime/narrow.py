"""Kernels with 32-bit indices beside those with 64: which one a launch takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

LIMIT = 2**30
"""Elements of a buffer, and indices, that 32 bits hold with room for the end of a tile."""

Launch = Callable[..., None]


def launch_of(made: Callable[[str], Launch], kinds: str, name: str, narrow: str | None) -> Launch:
    """What launches a kernel: `made(name)`, or where there is a `narrow` one too, the one that fits."""
    return made(name) if narrow is None else by_extent(kinds, made(name), made(narrow))


def by_extent(kinds: str, wide: Launch, narrow: Launch) -> Launch:
    """A launch that takes `narrow` where every buffer and index is below the limit, else `wide`.
    `kinds` tells the arguments apart: `p` for a buffer, `index`, other numbers."""
    names = kinds.split()
    buffers = [k for k, kind in enumerate(names) if kind == "p"]
    indices = [k for k, kind in enumerate(names) if kind == "index"]

    def launch(x: int, y: int, z: int, *arguments: Any) -> None:
        small = x < LIMIT and all(arguments[k].size < LIMIT for k in buffers)
        if not small or not all(-LIMIT < arguments[k] < LIMIT for k in indices):
            wide(x, y, z, *arguments)
            return
        given = list(arguments)
        for k in indices:
            given[k] = np.int32(given[k])
        narrow(x, y, z, *given)

    return launch
