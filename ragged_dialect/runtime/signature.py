"""The signature of a compiled function: its arguments and results as parts, with dtypes and ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from ragged_dialect.layout import Shape
    from ragged_dialect.shape import RaggedShape

Array: TypeAlias = np.ndarray
"""NumPy's array; on a GPU CuPy's, which has its interface."""

Argument: TypeAlias = Any
"""An array of a library, or a number of Python's or NumPy's: which, a part and a target say."""


def _bfloat16() -> np.dtype:
    import ml_dtypes  # start-up time

    return np.dtype(ml_dtypes.bfloat16)


_DTYPES = {
    "i1": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "index": np.int64,
    "f16": np.float16, "f32": np.float32, "f64": np.float64,
}  # fmt: skip


def numpy_dtype(name: str) -> np.dtype | None:
    """The NumPy dtype of an MLIR element type by name, None without one."""
    if name == "bf16":
        return _bfloat16()
    found = _DTYPES.get(name)
    return None if found is None else np.dtype(found)


def dtype_name(dtype: np.dtype) -> str:
    """The MLIR element type of a NumPy dtype that `numpy_dtype` gives."""
    return next((name for name, known in _DTYPES.items() if np.dtype(known) == dtype), "bf16")


_FORMATS = {"b": "?", "i1": "b", "i2": "h", "i4": "i", "i8": "q", "f2": "e", "f4": "f", "f8": "d", "V2": "2s"}


def scalar_format(dtype: np.dtype) -> str:
    """How `struct` spells an element type; bfloat16 is two bytes to it."""
    return _FORMATS.get(dtype.kind) or _FORMATS[f"{dtype.kind}{dtype.itemsize}"]


@dataclass(frozen=True)
class Part:
    """One flat argument or result: an array, or a scalar when `shape` is None. `extent` marks an
    extent of a ragged value, `vector` one of its index vectors."""

    name: str
    dtype: np.dtype
    shape: Shape | None
    extent: bool = False
    vector: bool = False


@dataclass(frozen=True)
class Group:
    """One argument or result as the user sees it: a single part, or the tuple of a ragged value,
    which has a `shape` (in an artifact, which only asks whether there is one, its text)."""

    parts: tuple[Part, ...]
    shape: RaggedShape | None = None

    @property
    def ragged(self) -> bool:
        """Whether the user passes and gets a tuple."""
        return self.shape is not None


@dataclass(frozen=True)
class Signature:
    """Arguments and results of a function."""

    name: str
    arguments: tuple[Group, ...]
    results: tuple[Group, ...]

    def grouped(self, parts: Sequence[Argument]) -> Argument | tuple[Argument, ...] | None:
        """The flat results of a call as the user gets them: None, one result, or a tuple of them; the
        parts of a ragged one in a tuple of their own."""
        at = 0
        results: list[Argument] = []
        for group in self.results:
            piece = parts[at : at + len(group.parts)]
            at += len(group.parts)
            results.append(tuple(piece) if group.ragged else piece[0])
        if not results:
            return None
        return results[0] if len(results) == 1 else tuple(results)
