"""NumPy's arrays as PyTorch's tensors and back, without a copy, bfloat16 among them."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import torch
from common import Array


def tensor(array: Array) -> Any:
    """The same memory as a tensor."""
    if array.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def array(tensor: Any) -> Array:
    """The same memory as an array."""
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return tensor.numpy()
