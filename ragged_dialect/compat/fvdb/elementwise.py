"""What works element by element: operators, NumPy's ufuncs, rounding, and other dtypes and devices."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, TypeVar

import numpy as np
import numpy.typing as npt
from numpy.lib.mixins import NDArrayOperatorsMixin

from ragged_dialect.arrays.core import storage
from ragged_dialect.arrays.core.arguments import integer
from ragged_dialect.arrays.core.array import RaggedArray
from ragged_dialect.arrays.index.levels import like
from ragged_dialect.arrays.ops.elementwise import UFUNCS
from ragged_dialect.compat.fvdb import torch_functions
from ragged_dialect.compat.fvdb.placing import is_device, numpy_dtype
from ragged_dialect.errors import ArgumentError
from ragged_dialect.narrowing import is_tuple

T = TypeVar("T", bound="Elementwise")


class Elementwise(NDArrayOperatorsMixin):
    """Jagged data with the operations that keep its structure.

    `array` is the ragged array. It never changes; an operation in place puts another one in its stead, so
    that whoever holds the old data keeps it."""

    array: RaggedArray

    @property
    def rshape(self) -> tuple[builtins.int, ...]:
        """Shape of the elements of all tensors."""
        return self.array.buffer.shape

    def _of(self: T, array: RaggedArray) -> T:
        """A tensor of the same class."""
        made = self.__class__.__new__(self.__class__)
        made.array = array
        return made

    def _become(self: T, array: RaggedArray) -> T:
        """Take the values of a result in place. ArgumentError where they need another dtype or shape."""
        if array.layout != self.array.layout or array.buffer.shape != self.array.buffer.shape:
            raise ArgumentError(
                f"expected a result of shape {self.array.buffer.shape} in place, got {array.buffer.shape}"
            )
        if not np.can_cast(array.dtype, self.array.dtype, "same_kind"):
            raise ArgumentError(f"expected a result that {self.array.dtype} holds in place, got {array.dtype}")
        self.array = array if array.dtype == self.array.dtype else array.astype(self.array.dtype)
        return self

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: object, **options: Any) -> Any:
        """NumPy's ufuncs, and Python's operators through them. A dense operand with as many rows as there are
        elements has one for each; others broadcast. RuntimeCheckError where structures differ."""
        if method != "__call__":
            raise ArgumentError(f"np.{ufunc.__name__}.{method}: expected a call (use jsum, jmin or jmax), got a method")
        out = options.pop("out", None)
        found = ufunc(*map(self._operand, inputs), **options)
        if out is not None:
            if len(out) != 1 or not isinstance(out[0], Elementwise):
                raise ArgumentError(f"np.{ufunc.__name__}: expected one jagged tensor for out, got another")
            return out[0]._become(found)
        return tuple(map(self._of, found)) if is_tuple(found) else self._of(found)

    def _operand(self, value: Any) -> Any:
        if isinstance(value, Elementwise):
            return value.array
        if storage.library(value) is not None:
            shape = storage.peek(value).shape
            if len(shape) == len(self.array.buffer.shape) and shape[0] == self.array.buffer.shape[0]:
                return like(self.array, value)
            if len(shape) == len(self.array.buffer.shape) and shape[0] == 1:
                return value[0]
        return value

    @classmethod
    def __torch_function__(
        cls,
        function: Callable[..., object],
        types: Sequence[type],
        args: Sequence[object] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """PyTorch's functions of single rows; see `torch_functions`."""
        owner, target, found = torch_functions.applied(cls, function, args, kwargs or {})
        made = like(owner.array, found)
        return owner._of(made) if target is None else target._become(made)

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> NoReturn:
        raise ArgumentError("expected a dense array, got a jagged tensor (use jdata or unbind)")

    def abs(self: T) -> T:
        """Absolute values."""
        return self._of(UFUNCS["absolute"](self.array))

    def abs_(self: T) -> T:
        """Absolute values, in place."""
        return self._become(UFUNCS["absolute"](self.array))

    def sqrt(self: T) -> T:
        """Square roots; nan of a negative number."""
        return self._of(UFUNCS["sqrt"](self.array))

    def sqrt_(self: T) -> T:
        """Square roots, in place. ArgumentError for integers."""
        return self._become(UFUNCS["sqrt"](self.array))

    def ceil(self: T) -> T:
        """The next integers above."""
        return self._of(self._rounded("ceil"))

    def ceil_(self: T) -> T:
        """The next integers above, in place."""
        return self._become(self._rounded("ceil"))

    def floor(self: T) -> T:
        """The next integers below."""
        return self._of(self._rounded("floor"))

    def floor_(self: T) -> T:
        """The next integers below, in place."""
        return self._become(self._rounded("floor"))

    def round(self: T, decimals: builtins.int = 0) -> T:
        """The nearest numbers of so many decimals, halves to the even one; tens and hundreds for negative."""
        return self._of(self._rounded("rint", decimals))

    def round_(self: T, decimals: builtins.int = 0) -> T:
        """As `round`, in place."""
        return self._become(self._rounded("rint", decimals))

    def _rounded(self, name: str, decimals: builtins.int = 0) -> RaggedArray:
        x, ufunc, decimals = self.array, UFUNCS[name], integer("round", "decimals", decimals)
        if x.dtype.kind in "bi":
            return x
        scale = 10.0 ** builtins.abs(decimals)
        if decimals == 0:
            return ufunc(x)
        return ufunc(x * scale) / scale if decimals > 0 else ufunc(x / scale) * scale

    def type(self: T, dtype: Any) -> T:
        """The elements in a dtype of NumPy or PyTorch, or of a name."""
        return self._of(self.array.astype(numpy_dtype(dtype)))

    def type_as(self: T, other: Any) -> T:
        """The elements in the dtype of another tensor."""
        return self.type(other.array.dtype if isinstance(other, Elementwise) else storage.peek(other).dtype)

    def double(self: T) -> T:
        """The elements as float64."""
        return self.type(np.float64)

    def float(self: T) -> T:
        """The elements as float32."""
        return self.type(np.float32)

    def int(self: T) -> T:
        """The elements as int32; floats lose their fraction."""
        return self.type(np.int32)

    def long(self: T) -> T:
        """The elements as int64; floats lose their fraction."""
        return self.type(np.int64)

    def to(self: T, device_or_dtype: Any) -> T:
        """On a device (`cpu`, `cuda`, `cuda:0`), or in a dtype. DeviceError without CuPy or a GPU."""
        if is_device(device_or_dtype):
            return self._of(self.array.to(device_or_dtype))
        return self.type(device_or_dtype)

    def cpu(self: T) -> T:
        """In the memory of the CPU."""
        return self.to("cpu")

    def cuda(self: T) -> T:
        """In the memory of the GPU. DeviceError without CuPy or a GPU."""
        return self.to("cuda")
