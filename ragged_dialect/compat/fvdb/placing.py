"""Dtypes and devices as fvdb's callers spell them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ragged_dialect.arrays.convert.transfer import DEVICE, spelled
from ragged_dialect.arrays.core.spec import DType
from ragged_dialect.errors import ArgumentError


def is_device(given: object) -> bool:
    """Whether a text, a torch.device or a dtype names a device."""
    return DEVICE.match(spelled(given)) is not None


def numpy_dtype(dtype: Any) -> DType:
    """The dtype that NumPy's or PyTorch's object, or a name, stands for. ArgumentError for another."""
    name = spelled(dtype).removeprefix("torch.")
    if name == "bfloat16":
        import ml_dtypes  # start-up time

        return np.dtype(ml_dtypes.bfloat16)
    try:
        return np.dtype(name if spelled(dtype) != name else dtype)
    except Exception as error:  # a text that is no dtype may be a syntax error
        raise ArgumentError(f"expected a device or a dtype, got {spelled(dtype)}") from error
