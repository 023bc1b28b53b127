"""Dtypes and devices as fvdb's callers spell them, and arrays moved between devices."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from ragged_dialect.arrays import storage
from ragged_dialect.arrays.api import RaggedArray, from_offsets
from ragged_dialect.arrays.spec import DType
from ragged_dialect.errors import ArgumentError, DeviceError

_DEVICE = re.compile(r"(cpu|cuda)(?::(\d+))?\Z")


def is_device(given: Any) -> bool:
    """Whether a text, a torch.device or a dtype names a device."""
    return _DEVICE.match(str(given)) is not None


def numpy_dtype(dtype: Any) -> DType:
    """The dtype that NumPy's or PyTorch's object, or a name, stands for. ArgumentError for another."""
    name = str(dtype).removeprefix("torch.")
    if name == "bfloat16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    try:
        return np.dtype(name if str(dtype) != name else dtype)
    except TypeError as error:
        raise ArgumentError(f"expected a device or a dtype, got {dtype}") from error


def moved(array: RaggedArray, device: Any) -> RaggedArray:
    """The array on `cpu`, `cuda` or `cuda:0`; itself where it is there. DeviceError without CuPy."""
    found = _DEVICE.match(str(device))
    if found is None:
        raise ArgumentError(f"expected a device cpu or cuda, got {device}")
    kind, number = found.groups()
    if array.device.split(":")[0] == kind and (number is None or array.device in (kind, f"{kind}:{number}")):
        return array
    place = storage.to_host if kind == "cpu" else _on_gpu(int(number or 0))
    values = storage.give(place(array.buffer.array), array.spec.library)
    return from_offsets(values, *map(place, array.structure(0).vectors), check=False)


def _on_gpu(number: int) -> Callable[[Any], Any]:
    try:
        import cupy  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise DeviceError(f"expected CuPy for arrays on a GPU, got none ({error})") from error

    def place(array: Any) -> Any:
        with cupy.cuda.Device(number):
            return cupy.asarray(array)

    return place
