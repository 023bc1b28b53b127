"""PTX as the stand-in of CuPy loads it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ragged_dialect.emulator.emulator import Size
from ragged_dialect.emulator.ptx.executor import PtxExecutor

STATUS_ENTRIES = 5
"""Words of a status record, which is the only memory that threads may access in any order."""


def loader(strict: bool = False) -> Callable[[str], Callable[[str, Size, Size, Sequence[Any]], None]]:
    """Takes PTX to what launches its kernels: called with a name, a grid, a block and arguments. `strict` is
    that of `PtxExecutor`."""

    def load(ptx: str) -> Callable[[str, Size, Size, Sequence[Any]], None]:
        executor = PtxExecutor(ptx, strict=strict)

        def launch(name: str, grid: Size, block: Size, arguments: Sequence[Any]) -> None:
            records = [a for a in arguments if isinstance(a, np.ndarray) and _is_status(a)]
            executor.launch(name, grid, block, arguments, status=records[0] if records else None)

        return launch

    return load


def _is_status(array: Any) -> bool:
    return array.dtype == np.int64 and array.shape == (STATUS_ENTRIES,)
