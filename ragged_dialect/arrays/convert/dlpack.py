"""Arrays of any library that speaks DLPack, as storage; NumPy, CuPy and PyTorch go without."""

from __future__ import annotations

from typing import Any

import numpy as np

from ragged_dialect.arrays.convert.optional import optional
from ragged_dialect.arrays.core import storage
from ragged_dialect.arrays.core.array import RaggedArray
from ragged_dialect.arrays.core.creation import from_offsets
from ragged_dialect.errors import ArgumentError, RaggedError
from ragged_dialect.narrowing import is_list

_CPU, _CUDA = 1, 2
_OP = "from_dlpack"


def from_dlpack(values: object, *offsets: object) -> RaggedArray:
    """As `rg.from_offsets`, of arrays that export `__dlpack__`, such as JAX's; memory is shared. The way
    back needs no function: `values` and `offsets` of an array export it themselves.

    ArgumentError for an object that does not or cannot, and for memory that is neither on a CPU nor on CUDA."""
    return from_offsets(_array(values, "values"), *(_array(v, f"offsets {k}") for k, v in enumerate(offsets)))


def _array(given: Any, name: str) -> Any:
    if storage.library(given) is not None or (name != "values" and is_list(given)):
        return given
    if not hasattr(given, "__dlpack__") or not hasattr(given, "__dlpack_device__"):
        raise ArgumentError(f"{_OP}: {name}: expected an array that exports DLPack, got {type(given).__name__}")
    try:
        kind = int(given.__dlpack_device__()[0])
        if kind == _CPU:
            return np.from_dlpack(given)
        if kind == _CUDA:
            return optional("cupy", _OP, "cupy-cuda12x").from_dlpack(given)
    except (RaggedError, MemoryError):
        raise
    except Exception as error:  # an exporter may do anything
        got = type(given).__name__
        raise ArgumentError(f"{_OP}: {name}: expected an array that DLPack can pass on, got {got} ({error})") from None
    raise ArgumentError(f"{_OP}: {name}: expected memory of a CPU or CUDA, got DLPack device {kind}")
