"""What nested tensors compute: operators, functions of elements, reductions, softmax."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from ragged_dialect.arrays.core import storage
from ragged_dialect.arrays.core.storage import Dense
from ragged_dialect.arrays.ops.elementwise import UFUNCS
from ragged_dialect.arrays.tracing.operation import OPERATIONS
from ragged_dialect.compat.torch_nested.dims import axis_of, dim_of, moved
from ragged_dialect.errors import ArgumentError, LayoutError, RuntimeCheckError
from ragged_dialect.narrowing import is_tuple

T = TypeVar("T", bound="Elementwise")

NAMES = {
    "abs": "absolute", "neg": "negative", "round": "rint", "sub": "subtract", "mul": "multiply", "div": "divide",
    "truediv": "divide", "floordiv": "floor_divide", "pow": "power", "mod": "remainder", "eq": "equal",
    "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal", "acos": "arccos",
    "asin": "arcsin", "atan": "arctan", "atan2": "arctan2", "bitwise_not": "invert",
}  # fmt: skip
"""NumPy's names of torch's functions, where they differ."""


def ufunc_name(name: str) -> str | None:
    """NumPy's name of a function of elements or its operator, None for what is none."""
    plain = name[2:-2] if name.startswith("__") and name.endswith("__") else name
    found = NAMES.get(plain, plain)
    return found if found in UFUNCS or found in ("erf", "rsqrt", "matmul") else None


class Elementwise(NDArrayOperatorsMixin):
    """A ragged array, and the dim at which its ragged one is shown."""

    __slots__ = ("array", "ragged_dim")

    def __init__(self, array: Dense, ragged_dim: int = 1) -> None:
        self.array: Dense = array
        self.ragged_dim = ragged_dim

    @property
    def ndim(self) -> int:
        """Number of dims."""
        return self.array.ndim

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        """NumPy's ufuncs, and Python's operators through them."""
        if method != "__call__" or options:
            raise ArgumentError(f"np.{ufunc.__name__}: expected a plain call on nested tensors, got its {method}")
        return apply(ufunc.__name__, inputs)

    def __getattr__(self, name: str) -> Any:
        found = ufunc_name(name)
        if found is None or name.startswith("__"):
            raise AttributeError(f"nested tensors have no attribute '{name}'")

        def method(*others: Dense) -> Dense:
            return apply(found, (self, *others))

        return method

    @classmethod
    def __torch_function__(
        cls,
        function: Callable[..., object],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """torch's functions of nested tensors. ArgumentError for others."""
        from ragged_dialect.compat.torch_nested.functions import torch_function  # its functions make these tensors

        return torch_function(function.__name__, args, kwargs or {})

    def sum(self, dim: int | tuple[int, ...] | None = None, keepdim: bool = False) -> Dense:
        """Sum over dims; all of them by default. Dense where the ragged dim is among them."""
        return self._reduced("sum", dim, keepdim)

    def mean(self, dim: int | tuple[int, ...] | None = None, keepdim: bool = False) -> Dense:
        """Mean over dims; all of them by default. Of an empty component nan."""
        return self._reduced("mean", dim, keepdim)

    def amax(self, dim: int | tuple[int, ...] | None = None, keepdim: bool = False) -> Dense:
        """Largest element over dims. Of an empty component -inf, or the least integer."""
        return self._reduced("max", dim, keepdim)

    def amin(self, dim: int | tuple[int, ...] | None = None, keepdim: bool = False) -> Dense:
        """Smallest element over dims. Of an empty component inf, or the greatest integer."""
        return self._reduced("min", dim, keepdim)

    def _reduced(self, name: str, dim: int | tuple[int, ...] | None, keepdim: bool) -> Dense:
        if dim is None:
            return OPERATIONS[name](self.array, axis=None, keepdims=keepdim)
        dims = [dim_of(name, d, self.ndim) for d in (dim if isinstance(dim, tuple) else (dim,))]
        axes = tuple(axis_of(d, self.ragged_dim) for d in dims)
        found = OPERATIONS[name](self.array, axis=axes, keepdims=keepdim)
        place = self.ragged_dim - (0 if keepdim else sum(d < self.ragged_dim for d in dims))
        if 1 in axes:
            return moved(found, 1, self.ragged_dim) if keepdim else found
        return moved(found, int(keepdim), place) if 0 in axes else self._of(found, place)

    def softmax(self, dim: int) -> Elementwise:
        """exp(x) over the sum of it along a dim. LayoutError for the batch, whose tensors do not mix."""
        found = dim_of("softmax", dim, self.ndim)
        if found == 0:
            raise LayoutError("softmax: expected a dim behind the batch, got dim 0")
        return self._of(OPERATIONS["softmax"](self.array, axis=axis_of(found, self.ragged_dim)))

    def equal(self, other: object) -> bool:
        """Whether another nested tensor has the same lengths and elements."""
        if not isinstance(other, Elementwise):
            raise ArgumentError(f"equal: expected nested tensors, got {type(other).__name__}")
        try:
            return bool(apply("equal", (self, other)).array.all())
        except (LayoutError, RuntimeCheckError):
            return False

    def __bool__(self) -> bool:
        raise ArgumentError("expected one truth value, got a nested tensor (use equal, or any and all of values)")

    def _of(self: T, array: Dense, ragged_dim: int | None = None) -> T:
        return self.__class__(array, self.ragged_dim if ragged_dim is None else ragged_dim)


def apply(name: str, operands: Sequence[Any]) -> Any:
    """A function of elements, or a product of matrices, by NumPy's name. Dense operands broadcast.

    LayoutError where the ragged dims are not at one place, RuntimeCheckError where their lengths differ."""
    nested = [x for x in operands if isinstance(x, Elementwise)]
    first = nested[0]
    for other in nested[1:]:
        if (other.ragged_dim, other.ndim) != (first.ragged_dim, first.ndim):
            raise LayoutError(
                f"{name}: expected ragged dims at one place, got dim {first.ragged_dim} of {first.ndim} "
                f"and {other.ragged_dim} of {other.ndim}"
            )
    place: Callable[[Any, Elementwise], Any] = _factor if name == "matmul" else _aligned
    found = OPERATIONS[name](*(place(x, first) for x in operands))
    results = found if is_tuple(found) else (found,)
    made = tuple(type(first)(result, first.ragged_dim) for result in results)
    return made if isinstance(found, tuple) else made[0]


def _aligned(operand: Any, like: Elementwise) -> Any:
    """An operand in the order of the array's axes."""
    if isinstance(operand, Elementwise):
        return operand.array
    if like.ragged_dim == 1 or storage.library(operand) is None or not operand.ndim:
        return operand
    ones = (1,) * (like.ndim - operand.ndim)
    return moved(operand.reshape((*ones, *operand.shape)), like.ragged_dim, 1)


def _factor(operand: Any, like: Elementwise) -> Any:
    """An operand of a product over the last dim. LayoutError where the ragged dim is elsewhere than the array has
    it, and the product would see that."""
    nested = isinstance(operand, Elementwise)
    seen = like.ragged_dim == like.ndim - 1 if operand is like else nested or operand.ndim > 2
    if like.ragged_dim != 1 and seen:
        raise LayoutError(f"matmul: expected the ragged dim second, got it at dim {like.ragged_dim}")
    return operand.array if nested else operand
