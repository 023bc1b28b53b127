"""PTX as the stand-in of CuPy loads it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ragged_dialect.emulator.emulator import Size
from ragged_dialect.emulator.ptx.executor import PtxExecutor
from ragged_dialect.runtime.status import is_status


def loader(strict: bool = False) -> Callable[[str], Callable[[str, Size, Size, Sequence[Any]], None]]:
    """Takes PTX to what launches its kernels: called with a name, a grid, a block and arguments. `strict` is
    that of `PtxExecutor`."""

    def load(ptx: str) -> Callable[[str, Size, Size, Sequence[Any]], None]:
        executor = PtxExecutor(ptx, strict=strict)

        def launch(name: str, grid: Size, block: Size, arguments: Sequence[Any]) -> None:
            records = [a for a in arguments if is_status(a)]  # the only memory that threads may access in any order
            executor.launch(name, grid, block, arguments, status=records[0] if records else None)

        return launch

    return load
