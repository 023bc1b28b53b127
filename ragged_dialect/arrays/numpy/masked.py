"""Reductions of ufuncs with a mask, a first number or a dtype."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ragged_dialect.arrays.core.spec import DType
from ragged_dialect.arrays.core.storage import ArrayLike
from ragged_dialect.arrays.index.dims import AxisArgument
from ragged_dialect.arrays.numpy.ufuncs import REDUCTIONS
from ragged_dialect.arrays.tracing.operation import OPERATIONS, operation
from ragged_dialect.arrays.tracing.tensor import Tensor

_NEUTRAL: dict[str, Callable[[DType], float]] = {
    "add": lambda dtype: 0, "multiply": lambda dtype: 1, "logical_or": lambda dtype: False,
    "logical_and": lambda dtype: True, "maximum": lambda dtype: _extreme(dtype, -1),
    "minimum": lambda dtype: _extreme(dtype, 1), "logaddexp": lambda dtype: -np.inf,
    "bitwise_and": lambda dtype: True if dtype.kind == "b" else -1, "bitwise_or": lambda dtype: 0,
    "bitwise_xor": lambda dtype: 0,
}  # fmt: skip


def _with_options(ufunc: str) -> None:
    """A ufunc's reduction with a mask, a first number or a dtype: one program."""

    @operation(f"np.{ufunc}.reduce")
    def run(
        x: Tensor,
        where: Tensor | None,
        initial: Tensor | None,
        *,
        axis: AxisArgument,
        keepdims: bool,
        dtype: str | None,
    ) -> Tensor:
        x = x if dtype is None else OPERATIONS["astype"](x, dtype=dtype)
        if where is not None:
            x = OPERATIONS["where"](where, x, _NEUTRAL[ufunc](x.dtype))
        made = OPERATIONS[REDUCTIONS[ufunc]](x, axis=axis, keepdims=keepdims)
        made = made if initial is None else OPERATIONS[ufunc](made, initial)
        return made if dtype is None else OPERATIONS["astype"](made, dtype=dtype)


def _extreme(dtype: DType, sign: int) -> ArrayLike:
    if dtype.kind == "b":
        return sign > 0
    return (np.iinfo(dtype).max if sign > 0 else np.iinfo(dtype).min) if dtype.kind == "i" else sign * np.inf


for _ufunc in REDUCTIONS:
    _with_options(_ufunc)
