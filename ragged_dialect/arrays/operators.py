"""Python's operators, NumPy's protocols and the methods that arrays and tracers share.

Operations register by name in `OPERATIONS`; a method is a name and its arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ragged_dialect.arrays.storage import dtype_of
from ragged_dialect.errors import ArgumentError
from ragged_dialect.layout import RAGGED, Layout

OPERATIONS: dict[str, Any] = {}
"""Operations by name; filled by `ragged_dialect.arrays.function.operation`."""

Axis = int | tuple[int, ...] | None


class Operators:
    """What a value can do. Subclasses are `RaggedArray` and `Tensor`."""

    __slots__ = ()

    @property
    def layout(self) -> Layout:
        """One letter per dim: `dr|d`."""
        raise NotImplementedError

    @property
    def nlevels(self) -> int:
        """Number of ragged dims."""
        return len(self.ragged_dims)

    @property
    def ragged_dims(self) -> tuple[int, ...]:
        """The dims whose extent varies."""
        return tuple(dim for dim, letter in enumerate(self.layout.letters) if letter in RAGGED)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        """NumPy's ufuncs with their methods; see `numpy_protocols`."""
        from ragged_dialect.arrays.numpy_protocols import apply_ufunc

        return apply_ufunc(ufunc, method, inputs, options)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """NumPy's functions of the same name as an operation."""
        from ragged_dialect.arrays.numpy_protocols import apply_function

        return apply_function(function, args, kwargs)

    def __add__(self, other: Any) -> Any:
        return OPERATIONS["add"](self, other)

    def __radd__(self, other: Any) -> Any:
        return OPERATIONS["add"](other, self)

    def __sub__(self, other: Any) -> Any:
        return OPERATIONS["subtract"](self, other)

    def __rsub__(self, other: Any) -> Any:
        return OPERATIONS["subtract"](other, self)

    def __mul__(self, other: Any) -> Any:
        return OPERATIONS["multiply"](self, other)

    def __rmul__(self, other: Any) -> Any:
        return OPERATIONS["multiply"](other, self)

    def __truediv__(self, other: Any) -> Any:
        return OPERATIONS["divide"](self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return OPERATIONS["divide"](other, self)

    def __floordiv__(self, other: Any) -> Any:
        return OPERATIONS["floor_divide"](self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return OPERATIONS["floor_divide"](other, self)

    def __mod__(self, other: Any) -> Any:
        return OPERATIONS["remainder"](self, other)

    def __rmod__(self, other: Any) -> Any:
        return OPERATIONS["remainder"](other, self)

    def __divmod__(self, other: Any) -> Any:
        return OPERATIONS["divmod"](self, other)

    def __rdivmod__(self, other: Any) -> Any:
        return OPERATIONS["divmod"](other, self)

    def __pow__(self, other: Any, modulo: Any = None) -> Any:
        if modulo is not None:
            raise ArgumentError(
                f"pow: expected two arguments, got a modulus of {type(modulo).__name__} (use % after **)"
            )
        return OPERATIONS["power"](self, other)

    def __rpow__(self, other: Any) -> Any:
        return OPERATIONS["power"](other, self)

    def __matmul__(self, other: Any) -> Any:
        return OPERATIONS["matmul"](self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return OPERATIONS["matmul"](other, self)

    def __and__(self, other: Any) -> Any:
        return OPERATIONS["bitwise_and"](self, other)

    def __rand__(self, other: Any) -> Any:
        return OPERATIONS["bitwise_and"](other, self)

    def __or__(self, other: Any) -> Any:
        return OPERATIONS["bitwise_or"](self, other)

    def __ror__(self, other: Any) -> Any:
        return OPERATIONS["bitwise_or"](other, self)

    def __xor__(self, other: Any) -> Any:
        return OPERATIONS["bitwise_xor"](self, other)

    def __rxor__(self, other: Any) -> Any:
        return OPERATIONS["bitwise_xor"](other, self)

    def __lshift__(self, other: Any) -> Any:
        return OPERATIONS["left_shift"](self, other)

    def __rlshift__(self, other: Any) -> Any:
        return OPERATIONS["left_shift"](other, self)

    def __rshift__(self, other: Any) -> Any:
        return OPERATIONS["right_shift"](self, other)

    def __rrshift__(self, other: Any) -> Any:
        return OPERATIONS["right_shift"](other, self)

    def __lt__(self, other: Any) -> Any:
        return OPERATIONS["less"](self, other)

    def __le__(self, other: Any) -> Any:
        return OPERATIONS["less_equal"](self, other)

    def __gt__(self, other: Any) -> Any:
        return OPERATIONS["greater"](self, other)

    def __ge__(self, other: Any) -> Any:
        return OPERATIONS["greater_equal"](self, other)

    def __eq__(self, other: Any) -> Any:
        return OPERATIONS["equal"](self, other)

    def __ne__(self, other: Any) -> Any:
        return OPERATIONS["not_equal"](self, other)

    __hash__: Callable[[], int] | None = None  # pyright: ignore[reportIncompatibleMethodOverride, reportIncompatibleVariableOverride]

    def __neg__(self) -> Any:
        return OPERATIONS["negative"](self)

    def __pos__(self) -> Any:
        return OPERATIONS["positive"](self)

    def __abs__(self) -> Any:
        return OPERATIONS["absolute"](self)

    def __invert__(self) -> Any:
        return OPERATIONS["invert"](self)

    def __setitem__(self, index: Any, value: Any) -> None:
        raise ArgumentError("expected no assignment to elements, got one (arrays are immutable: use rg.where)")

    def __getitem__(self, index: Any) -> Any:
        from ragged_dialect.arrays.indexing import getitem

        return getitem(self, index)

    def astype(self, dtype: Any) -> Any:
        """The elements in another dtype."""
        return OPERATIONS["astype"](self, dtype=dtype_of(dtype))

    def clip(self, low: Any = None, high: Any = None) -> Any:
        """The elements moved into [low, high]."""
        return OPERATIONS["clip"](self, low, high)

    def round(self) -> Any:
        """The nearest integers, halves to the even one."""
        return OPERATIONS["rint"](self)

    def sum(self, axis: Axis = None, keepdims: bool = False) -> Any:
        """Sum over dims; all of them by default. An empty component gives 0."""
        return OPERATIONS["sum"](self, axis=axis, keepdims=keepdims)

    def prod(self, axis: Axis = None, keepdims: bool = False) -> Any:
        """Product over dims. An empty component gives 1."""
        return OPERATIONS["prod"](self, axis=axis, keepdims=keepdims)

    def max(self, axis: Axis = None, keepdims: bool = False) -> Any:
        """Largest element over dims. An empty component gives -inf, or the least integer."""
        return OPERATIONS["max"](self, axis=axis, keepdims=keepdims)

    def min(self, axis: Axis = None, keepdims: bool = False) -> Any:
        """Smallest element over dims. An empty component gives inf, or the greatest integer."""
        return OPERATIONS["min"](self, axis=axis, keepdims=keepdims)

    def mean(self, axis: Axis = None, keepdims: bool = False) -> Any:
        """Mean over dims. An empty component gives nan."""
        return OPERATIONS["mean"](self, axis=axis, keepdims=keepdims)

    def var(self, axis: Axis = None, ddof: int = 0, keepdims: bool = False) -> Any:
        """Variance over dims, divided by the count less `ddof`."""
        return OPERATIONS["var"](self, axis=axis, ddof=ddof, keepdims=keepdims)

    def std(self, axis: Axis = None, ddof: int = 0, keepdims: bool = False) -> Any:
        """Root of the variance."""
        return OPERATIONS["std"](self, axis=axis, ddof=ddof, keepdims=keepdims)

    def any(self, axis: Axis = None, keepdims: bool = False) -> Any:
        """Whether an element is not 0."""
        return OPERATIONS["any"](self, axis=axis, keepdims=keepdims)

    def all(self, axis: Axis = None, keepdims: bool = False) -> Any:
        """Whether no element is 0."""
        return OPERATIONS["all"](self, axis=axis, keepdims=keepdims)

    def argmax(self, axis: Axis = None, keepdims: bool = False) -> Any:
        """Index of the first largest element along a dim; of several adjacent dims in the list of their
        elements. -1 for an empty component."""
        return OPERATIONS["argmax"](self, axis=axis, keepdims=keepdims)

    def argmin(self, axis: Axis = None, keepdims: bool = False) -> Any:
        """Index of the first smallest element, as `argmax`."""
        return OPERATIONS["argmin"](self, axis=axis, keepdims=keepdims)

    def cumsum(self, axis: int) -> Any:
        """Sums of the elements up to each one along a dim."""
        return OPERATIONS["cumsum"](self, axis=axis)

    def cumprod(self, axis: int) -> Any:
        """Products of the elements up to each one along a dim."""
        return OPERATIONS["cumprod"](self, axis=axis)

    def softmax(self, axis: Axis = 1) -> Any:
        """exp over the sum of exp along dims, an empty component stays empty."""
        return OPERATIONS["softmax"](self, axis=axis)

    def log_softmax(self, axis: Axis = 1) -> Any:
        """The logarithm of the softmax, without overflow on the way."""
        return OPERATIONS["log_softmax"](self, axis=axis)

    def logsumexp(self, axis: Axis = None, keepdims: bool = False) -> Any:
        """The logarithm of the sum of exp over dims. An empty component gives -inf."""
        return OPERATIONS["logsumexp"](self, axis=axis, keepdims=keepdims)

    def merge(self, axis: int) -> Any:
        """`axis` with the dim after it; a view where the result is ragged."""
        return OPERATIONS["merge"](self, axis=axis)

    def partition(self, vector: Any, axis: int = 0, lengths: bool = False) -> Any:
        """`axis` grouped into components by offsets or lengths; a view."""
        return OPERATIONS["partition"](self, vector, axis=axis, lengths=lengths)

    def split(self, axis: int, factor: int) -> Any:
        """`axis` in an outer dim and tiles of `factor`; a view."""
        return OPERATIONS["split"](self, axis=axis, factor=factor)

    def select(self, index: Any, axis: int) -> Any:
        """One index of a dim."""
        return OPERATIONS["select"](self, index, axis=axis)

    def take(self, indices: Any, axis: int = 0) -> Any:
        """Indices of a dense dim by a vector of integers."""
        return OPERATIONS["take"](self, indices, axis=axis)

    def transpose(self, *axes: int) -> Any:
        """Dims in another order; a copy."""
        return OPERATIONS["transpose"](self, axes=axes)

    def reshape(self, dims: Any, shape: Any = None, *more: Any) -> Any:
        """Adjacent dense dims `dims` with the extents `shape`, of which one may be -1; a view. Both are tuples."""
        if not isinstance(dims, tuple) or not isinstance(shape, tuple) or more:
            raise ArgumentError(
                "reshape: expected a tuple of dense dims and one of their new extents, got other arguments "
                "(x.reshape((2,), (-1, 8)) makes dim 2 two dims)"
            )
        return OPERATIONS["reshape"](self, dims=dims, shape=shape)

    def squeeze(self, axis: Axis = None) -> Any:
        """Without dense dims of extent 1; a view."""
        return OPERATIONS["squeeze"](self, axis=axis)

    def unsqueeze(self, axis: int) -> Any:
        """A dim of extent 1 more; a view."""
        return OPERATIONS["unsqueeze"](self, axis=axis)

    def to_padded(self, pad: Any = 0, max_lengths: int | tuple[int, ...] | None = None, truncate: bool = False) -> Any:
        """A dense array with `pad` behind the end of every component."""
        from ragged_dialect.arrays.padding import to_padded

        return to_padded(self, pad, max_lengths, truncate)
