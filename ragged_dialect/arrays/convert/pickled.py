"""Pickles of arrays: text, numbers and raw memory, with every number checked when they come back. NumPy's
own pickles are not used, because damaged ones can crash the process before anybody looks at them."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np

from ragged_dialect.arrays.convert.stored import FORMAT, from_parts, to_parts
from ragged_dialect.arrays.core import storage
from ragged_dialect.arrays.core.array import RaggedArray
from ragged_dialect.errors import RuntimeCheckError
from ragged_dialect.runtime.signature import Array

_OP = "unpickle"


def reduced(x: RaggedArray, protocol: int) -> tuple[Any, ...]:
    """What `pickle` stores of an array; from protocol 5 on, memory can go out of band. An array of CuPy
    comes back as NumPy's. LayoutError for tiles."""
    parts = to_parts(x, "pickle")
    values = parts["values"]
    vectors = [array for name, array in parts.items() if name.startswith("vector")]
    memory: list[Any] = [
        pickle.PickleBuffer(array.data) if protocol >= 5 else array.tobytes() for array in (values, *vectors)
    ]
    header = (int(parts["version"]), str(parts["layout"]), x.dtype.name, tuple(parts["extents"].tolist()), values.shape)
    return restore, (*header, x.spec.library if x.device == "cpu" else "numpy", *memory)


def restore(
    version: int, layout: str, dtype: str, extents: Sequence[int], shape: Sequence[int], library: str, *memory: Any
) -> RaggedArray:
    """An array from its pickle. RuntimeCheckError for a damaged one."""
    try:
        if library not in ("numpy", "torch"):
            raise ValueError(f"expected an array library, got {library}")
        stored = np.dtype("int16" if dtype == "bfloat16" else dtype)
        if stored not in storage.SUPPORTED:
            raise ValueError(f"expected a dtype of arrays, got {stored}")
        values, *vectors = memory
        parts = {
            "format": np.array(FORMAT),
            "version": np.array(version),
            "layout": np.array(layout),
            "dtype": np.array(dtype),
            "extents": np.array(extents, np.int64),
            "values": _array(values, tuple(shape), stored),
        }
        for number, vector in enumerate(vectors):
            parts[f"vector{number}"] = _array(vector, (memoryview(vector).nbytes // 8,), np.dtype(np.int64))
    except (TypeError, ValueError, OverflowError) as error:
        raise RuntimeCheckError(f"{_OP}: expected a whole array, got a damaged one: {error}") from error
    return from_parts(parts, _OP, library)


def _array(memory: Any, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    made = np.ndarray(shape, dtype, memory)
    if made.nbytes != memoryview(memory).nbytes:
        raise ValueError(f"expected {made.nbytes} bytes, got {memoryview(memory).nbytes}")
    return made
