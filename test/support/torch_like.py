"""What the examples of torch.nested's documentation import as `torch`: NumPy behind torch's names, or torch
itself, with the nested tensors of `ragged_dialect.compat.torch_nested`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ragged_dialect.compat import torch_nested
from ragged_dialect.compat.fvdb import JaggedTensor


class NumpyTorch:
    """The few names of torch that the examples use, as NumPy's."""

    nested = torch_nested
    jagged = torch_nested.jagged
    cat = staticmethod(torch_nested.cat)
    stack = staticmethod(torch_nested.stack)
    compile = staticmethod(torch_nested.compile)
    arange = staticmethod(np.arange)
    float32, int64 = np.float32, np.int64

    def __init__(self) -> None:
        self._rng = np.random.default_rng(0)

    def randn(self, *shape: int) -> Any:
        """Normal numbers."""
        return self._rng.standard_normal(shape).astype(np.float32)

    def tensor(self, data: Any, dtype: Any = None) -> Any:
        """An array."""
        return np.array(data, dtype)

    def equal(self, a: Any, b: Any) -> bool:
        """Whether two arrays have equal shapes and elements."""
        return np.array_equal(a, b)


class RealTorch:
    """torch, but for its nested tensors and its compiler."""

    nested = torch_nested
    compile = staticmethod(torch_nested.compile)

    def __init__(self) -> None:
        self._torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed")
        self._torch.manual_seed(0)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._torch, name)


def call_torch(function: Any, *args: Any, **options: Any) -> Any:
    """A function as PyTorch calls it on fvdb's jagged tensors."""
    return JaggedTensor.__torch_function__(function, (JaggedTensor,), args, options)
