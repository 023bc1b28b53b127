"""PyTorch's nested tensors in the jagged layout. Their reductions take seconds at large points, and are left out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from cases import Case

from peers.tensors import array, tensor

VERSION = torch.__version__


def _nested(case: Case) -> Any:
    values, offsets = tensor(case.values), tensor(case.offsets)
    longest = case.longest  # without it, padding takes the number of all rows
    return torch.nested.nested_tensor_from_jagged(values, offsets, min_seqlen=0, max_seqlen=longest)


def _softmax(case: Case) -> Callable[[], Any]:
    x = _nested(case)
    return lambda: array(torch.softmax(x, 1).values())


def _affine(case: Case) -> Callable[[], Any]:
    x = _nested(case)
    return lambda: array((x * 2 + 1).values())


def _to_padded(case: Case) -> Callable[[], Any]:
    x = _nested(case)
    return lambda: array(torch.nested.to_padded_tensor(x, 0.0))


OPERATIONS = {"softmax": _softmax, "x * 2 + 1": _affine, "to_padded": _to_padded}
