"""Operators and methods of arrays and traced values. What a method does is an operation, known here by its name;
nothing below knows of methods."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, SupportsIndex

import numpy as np

import ragged_dialect
from ragged_dialect.arrays.convert.lists import nested_lists, text
from ragged_dialect.arrays.convert.padded import to_padded
from ragged_dialect.arrays.core.arguments import flag, integer
from ragged_dialect.arrays.core.array import RaggedArray
from ragged_dialect.arrays.core.components import components
from ragged_dialect.arrays.core.storage import ArrayLike, Body, DTypeLike, dtype_of
from ragged_dialect.arrays.core.value import Value, is_traced, put_all, put_on
from ragged_dialect.arrays.index.items import getitem
from ragged_dialect.arrays.numpy.ufuncs import REDUCTIONS, apply_ufunc, reduce
from ragged_dialect.arrays.ops import direct as direct
from ragged_dialect.arrays.tracing.operation import named
from ragged_dialect.errors import ArgumentError
from ragged_dialect.layout import Layout
from ragged_dialect.narrowing import is_list, is_tuple

if TYPE_CHECKING:
    from numpy.lib.mixins import NDArrayOperatorsMixin
else:
    NDArrayOperatorsMixin = object

Axis = int | tuple[int, ...] | None

_FOR_TORCH = {"__getitem__": "rg.take", "cat": "rg.concat", "linear": "x @ w.T"}
"""What does the work of PyTorch's functions that have other names here."""


_transpose: Body = np.transpose
_argmax, _argmin, _astype, _clip, _rounded = map(named, ("argmax", "argmin", "astype", "clip", "rounded"))
_cumprod, _cumsum, _log_softmax, _logsumexp = map(named, ("cumprod", "cumsum", "log_softmax", "logsumexp"))
_mean, _merge, _partition, _power, _select = map(named, ("mean", "merge", "partition", "power", "select"))
_softmax, _split, _squeeze, _std = map(named, ("softmax", "split", "squeeze", "std"))
_take, _unsqueeze, _var = map(named, ("take", "unsqueeze", "var"))


def _reduced(
    ufunc: str,
    x: ArrayLike,
    axis: Axis,
    keepdims: bool,
    dtype: DTypeLike | None = None,
    initial: ArrayLike = None,
    where: ArrayLike = True,
) -> ArrayLike:
    if dtype is None and initial is None and where is True:
        return named(REDUCTIONS[ufunc])(x, axis=axis, keepdims=keepdims)
    return reduce(ufunc, x, axis=axis, dtype=dtype, keepdims=keepdims, initial=initial, where=where)


def _running(function: Body, x: ArrayLike, axis: int | None, dtype: DTypeLike | None) -> ArrayLike:
    made = function(x if dtype is None else x.astype(dtype), axis=axis)
    return made if dtype is None else made.astype(dtype)


class Methods(NDArrayOperatorsMixin):
    """What arrays and traced values can do, and Python's operators (below), which type checkers know from NumPy."""

    if TYPE_CHECKING:  # of what has the methods

        @property
        def layout(self) -> Layout: ...
        @property
        def ndim(self) -> int: ...
        def _vector(self, part: str, dim: int | None) -> ArrayLike: ...

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: ArrayLike, **options: ArrayLike) -> ArrayLike:
        """NumPy's ufuncs with their methods; see `numpy.ufuncs`."""
        return apply_ufunc(ufunc, method, inputs, options)

    def __array_function__(
        self,
        function: Callable[..., object],
        types: Sequence[type],
        args: tuple[ArrayLike, ...],
        kwargs: Mapping[str, ArrayLike],
    ) -> ArrayLike:
        """NumPy's functions of the same name as an operation."""
        from ragged_dialect.arrays.numpy.functions import apply_function  # start-up time

        return apply_function(function, args, kwargs)

    @classmethod
    def __torch_function__(
        cls,
        function: Callable[..., object],
        types: Sequence[type],
        args: tuple[ArrayLike, ...] = (),
        kwargs: Mapping[str, ArrayLike] | None = None,
    ) -> NoReturn:
        """PyTorch's functions are of tensors. Its operators take a TypeError as a sign to ask ours."""
        name = getattr(function, "__name__", str(function))
        places = (("rg", ragged_dialect), ("rg.nn", ragged_dialect.nn), ("x", cls))
        found = [f"{place}.{name}" for place, owner in places if callable(getattr(owner, name, None))]
        hint = _FOR_TORCH.get(name) or next(iter(found), "what rg has, or x.values")
        raise ArgumentError(f"{name}: expected tensors for a function of PyTorch, got a ragged array (use {hint})")

    def _without(self, name: str, kind: str) -> AttributeError:
        """The error for an attribute that neither has, with what does its work."""
        hint = _NO_ATTRIBUTES.get(name, "")
        if not hint and not name.startswith("_"):
            from ragged_dialect.arrays.numpy.functions import does_work  # start-up time

            is_own = callable(getattr(ragged_dialect, name, None))
            hint = f"rg.{name} is a function" if is_own else does_work(name)
        return AttributeError(f"{kind} have no attribute '{name}'" + (f" ({hint})" if hint else ""))

    def __setitem__(self, index: ArrayLike, value: ArrayLike) -> None:
        raise ArgumentError("expected no assignment to elements, got one (arrays are immutable: use rg.where)")

    def __delitem__(self, index: ArrayLike) -> None:
        raise ArgumentError("expected no deletion of elements, got one (arrays are immutable: use x[mask])")

    def __getitem__(self, index: ArrayLike) -> ArrayLike:
        return getitem(self, index)

    def __pow__(self, other: ArrayLike, modulo: ArrayLike = None) -> ArrayLike:
        if modulo is not None:
            got = type(modulo).__name__
            raise ArgumentError(f"pow: expected two arguments, got a modulus of {got} (use % after **)")
        return _power(self, other)

    def astype(self, dtype: DTypeLike, *, copy: bool = True) -> ArrayLike:
        """The elements in another dtype; `copy`, as NumPy has it, makes no difference."""
        flag("astype", "copy", copy)
        return _astype(self, dtype=dtype_of(dtype))

    def clip(self, min: ArrayLike = None, max: ArrayLike = None) -> ArrayLike:
        """The elements moved into [min, max]."""
        return _clip(self, min, max)

    def round(self, decimals: int = 0) -> ArrayLike:
        """The nearest multiples of 10**-decimals, halves to the even one; integers stay integers."""
        return _rounded(self, decimals=integer("round", "decimals", decimals))

    def __round__(self, ndigits: int | None = None) -> ArrayLike:
        return self.round(0 if ndigits is None else ndigits)

    def sum(
        self,
        axis: Axis = None,
        keepdims: bool = False,
        *,
        dtype: DTypeLike | None = None,
        initial: ArrayLike = None,
        where: ArrayLike = True,
    ) -> ArrayLike:
        """Sum over dims; all of them by default. An empty component gives 0. `dtype` is what is summed in, `initial`
        where sums start, and `where` a mask of what is summed, as in NumPy, here and below."""
        return _reduced("add", self, axis, keepdims, dtype=dtype, initial=initial, where=where)

    def prod(
        self,
        axis: Axis = None,
        keepdims: bool = False,
        *,
        dtype: DTypeLike | None = None,
        initial: ArrayLike = None,
        where: ArrayLike = True,
    ) -> ArrayLike:
        """Product over dims. An empty component gives 1."""
        return _reduced("multiply", self, axis, keepdims, dtype=dtype, initial=initial, where=where)

    def max(
        self, axis: Axis = None, keepdims: bool = False, *, initial: ArrayLike = None, where: ArrayLike = True
    ) -> ArrayLike:
        """Largest element over dims. An empty component gives -inf, or the least integer."""
        return _reduced("maximum", self, axis, keepdims, initial=initial, where=where)

    def min(
        self, axis: Axis = None, keepdims: bool = False, *, initial: ArrayLike = None, where: ArrayLike = True
    ) -> ArrayLike:
        """Smallest element over dims. An empty component gives inf, or the greatest integer."""
        return _reduced("minimum", self, axis, keepdims, initial=initial, where=where)

    def mean(
        self, axis: Axis = None, keepdims: bool = False, *, dtype: DTypeLike | None = None, where: ArrayLike = True
    ) -> ArrayLike:
        """Mean over dims. An empty component gives nan."""
        if dtype is None and where is True:
            return _mean(self, axis=axis, keepdims=keepdims)
        from ragged_dialect.arrays.numpy import adapted  # start-up time

        return adapted.mean(self, axis=axis, dtype=dtype, keepdims=keepdims, where=where)

    def var(self, axis: Axis = None, ddof: int = 0, keepdims: bool = False, correction: int | None = None) -> ArrayLike:
        """Variance over dims, divided by the count less `ddof`, which the array API standard calls `correction`."""
        return _var(self, axis=axis, ddof=ddof, keepdims=keepdims, correction=correction)

    def std(self, axis: Axis = None, ddof: int = 0, keepdims: bool = False, correction: int | None = None) -> ArrayLike:
        """Root of the variance."""
        return _std(self, axis=axis, ddof=ddof, keepdims=keepdims, correction=correction)

    def any(self, axis: Axis = None, keepdims: bool = False, *, where: ArrayLike = True) -> ArrayLike:
        """Whether an element is not 0."""
        return _reduced("logical_or", self, axis, keepdims, where=where)

    def all(self, axis: Axis = None, keepdims: bool = False, *, where: ArrayLike = True) -> ArrayLike:
        """Whether no element is 0."""
        return _reduced("logical_and", self, axis, keepdims, where=where)

    def argmax(self, axis: Axis = None, keepdims: bool = False) -> ArrayLike:
        """Index of the first largest element along a dim; of several adjacent dims in the list of their
        elements. -1 for an empty component."""
        return _argmax(self, axis=axis, keepdims=keepdims)

    def argmin(self, axis: Axis = None, keepdims: bool = False) -> ArrayLike:
        """Index of the first smallest element, as `argmax`."""
        return _argmin(self, axis=axis, keepdims=keepdims)

    def cumsum(self, axis: int | None = None, dtype: DTypeLike | None = None) -> ArrayLike:
        """Sums of the elements up to each one along a dim, which a vector has one of."""
        return _running(_cumsum, self, axis, dtype)

    def cumprod(self, axis: int | None = None, dtype: DTypeLike | None = None) -> ArrayLike:
        """Products of the elements up to each one along a dim."""
        return _running(_cumprod, self, axis, dtype)

    def softmax(self, axis: Axis = 1) -> ArrayLike:
        """exp over the sum of exp along dims, an empty component stays empty."""
        return _softmax(self, axis=axis)

    def log_softmax(self, axis: Axis = 1) -> ArrayLike:
        """The logarithm of the softmax, without overflow on the way."""
        return _log_softmax(self, axis=axis)

    def logsumexp(self, axis: Axis = None, keepdims: bool = False) -> ArrayLike:
        """The logarithm of the sum of exp over dims. An empty component gives -inf."""
        return _logsumexp(self, axis=axis, keepdims=keepdims)

    def merge(self, axis: int) -> ArrayLike:
        """`axis` with the dim after it; a view where the result is ragged."""
        return _merge(self, axis=axis)

    def partition(self, vector: ArrayLike, axis: int = 0, lengths: bool = False) -> ArrayLike:
        """`axis` grouped into components by offsets or lengths; a view."""
        return _partition(self, vector, axis=axis, lengths=lengths)

    def split(self, axis: int, factor: int) -> ArrayLike:
        """`axis` in an outer dim and tiles of `factor`; a view."""
        return _split(self, axis=axis, factor=factor)

    def select(self, index: ArrayLike, axis: int) -> ArrayLike:
        """What is at one index of a dim, without that dim."""
        return _select(self, index, axis=axis)

    def take(self, indices: ArrayLike, axis: int = 0) -> ArrayLike:
        """The elements of a dense dim at the indices in a vector of integers."""
        return _take(self, indices, axis=axis)

    def transpose(self, *axes: int | Sequence[int]) -> ArrayLike:
        """Dims in another order, one by one or together, by default the reverse one; a copy."""
        order = axes[0] if len(axes) == 1 and isinstance(axes[0], list | tuple) else axes
        return _transpose(self, order or None)

    def reshape(self, dims: object, shape: object = None, *more: object) -> ArrayLike:
        """Adjacent dense dims `dims` with the extents `shape`, of which one may be -1; a view. Both are tuples. Or the
        shape of all dims alone, with None for ragged ones: `x.reshape((8, None, 4, 16))`. A dense tracer takes extents
        as well, as NumPy's arrays do."""
        from ragged_dialect.arrays.index.dims import (  # start-up time
            changed_dims,
            extents,
            first_dims,
            of_extent,
            unchanged,
        )

        given: ArrayLike = self
        asked: Sequence[object] = ()
        if self.layout.is_dense and not isinstance(shape, tuple):
            asked, more = extents(dims if is_list(dims) else [e for e in (dims, shape, *more) if e is not None]), ()
            stay = first_dims(given.shape, asked)
            dims, shape = tuple(range(stay, self.ndim)), unchanged((), asked[stay:])
            if not dims and all(extent in (1, -1) for extent in shape):
                return given[(..., *[None] * len(shape))] if shape else given
        elif is_tuple(dims) and shape is None and any(e is None for e in dims):
            asked, own = extents(dims), tuple(None if isinstance(e, Value) else e for e in given.shape)
            stay = len(self.layout.axes[0])  # the batch, with its lists
            dims = unchanged(given.shape, asked)
            if stay > 1:
                dims = tuple(own[k] if k < stay and extent == -1 else extent for k, extent in enumerate(dims))
            if dims[: self.ndim] == own and all(extent == 1 for extent in dims[self.ndim :]):
                return given[(..., *[None] * (len(dims) - self.ndim))]
            dims, shape = changed_dims(own, dims, stay)
        if not isinstance(dims, tuple) or not isinstance(shape, tuple) or more:
            raise ArgumentError(
                "reshape: expected a tuple of dense dims and one of their new extents, got other arguments "
                "(x.reshape((2,), (-1, 8)) makes dim 2 two dims, and so does x.reshape((4, None, -1, 8)))"
            )
        made: ArrayLike = named("reshape")(self, dims=dims, shape=shape)
        for axis, extent in enumerate(asked):
            if is_traced(extent):
                made = of_extent(made, extent, axis=axis)
        return made

    def squeeze(self, axis: Axis = None) -> ArrayLike:
        """Without dense dims of extent 1; a view."""
        return _squeeze(self, axis=axis)

    def unsqueeze(self, axis: int) -> ArrayLike:
        """A dim of extent 1 more; a view."""
        return _unsqueeze(self, axis=axis)

    @property
    def offsets(self) -> ArrayLike:
        """Offsets of the first ragged dim in `values`: int64, one more than there are components."""
        return self._vector("offsets", None)

    def offsets_of(self, dim: int | None = None) -> ArrayLike:
        """Offsets of a ragged dim."""
        return self._vector("offsets", dim)

    @property
    def lengths(self) -> ArrayLike:
        """Lengths of the components of the first ragged dim, int64."""
        return self._vector("lengths", None)

    def lengths_of(self, dim: int | None = None) -> ArrayLike:
        """Lengths of the components of a ragged dim."""
        return self._vector("lengths", dim)

    @property
    def starts(self) -> ArrayLike:
        """Where the components of the first ragged dim start in `values`, int64."""
        return self._vector("starts", None)

    def starts_of(self, dim: int | None = None) -> ArrayLike:
        """Where the components of a ragged dim start."""
        return self._vector("starts", dim)

    @property
    def row_ids(self) -> ArrayLike:
        """The component of every element of the first ragged dim, int64."""
        return self._vector("row_ids", None)

    def row_ids_of(self, dim: int | None = None) -> ArrayLike:
        """The component of every element of a ragged dim."""
        return self._vector("row_ids", dim)

    def to_padded(
        self, pad: ArrayLike = 0, max_lengths: int | tuple[int, ...] | None = None, truncate: bool = False
    ) -> ArrayLike:
        """A dense array with `pad` behind the end of every component."""
        return to_padded(self, pad, max_lengths, truncate)


_NO_ATTRIBUTES = {
    "flatten": "x.values has all elements, x.merge(1) has one level less",
    "ravel": "x.values has all elements, x.merge(1) has one level less",
    "numpy": "x.values and x.offsets are arrays of NumPy, x.to_padded() is a dense one",
    "apply": "operations are of all components at once, rg.scan steps along each",
    "map": "operations are of all components at once, rg.scan steps along each",
    "copy": "arrays do not change",
    "item": "of a result without dims, which is a number of NumPy",
    "T": "x.transpose, and np.swapaxes of two dims",
    "dim": "x.ndim",
    "numel": "x.size",
    "cpu": "x.to('cpu')",
    "cuda": "x.to('cuda')",
    **{
        name: f"x.astype('{dtype}')"
        for name, dtype in (
            ("half", "float16"),
            ("float", "float32"),
            ("double", "float64"),
            ("int", "int32"),
            ("long", "int64"),
        )
    },
    "backward": "of a tensor, such as x.sum()",
    "relu": "np.maximum(x, 0)",
}
"""What does the work of methods of other libraries that no function is called like."""


class ArrayMethods:
    """What only arrays can do: be looked at, and be something else."""

    def __getattr__(self: Any, name: str) -> NoReturn:
        raise self._without(name, "ragged arrays")

    def __iter__(self: Any) -> Iterator[ArrayLike]:
        return iter(components(self))

    def __contains__(self: Any, number: ArrayLike) -> bool:
        return bool((self == number).any())

    def unbind(self: Any) -> list[ArrayLike]:
        """The components of dim 0: arrays that share memory with this one."""
        return components(self)

    def tolist(self: Any) -> list[ArrayLike]:
        """Nested lists of Python numbers."""
        return nested_lists(self)

    def __repr__(self: Any) -> str:
        return text(self)

    def _repr_html_(self: Any) -> str:
        from ragged_dialect.arrays.convert.picture import picture  # start-up time

        return picture(self)

    def to(self: Any, device: object) -> RaggedArray:
        """The array on `cpu`, `cuda` or `cuda:0`; itself where it is there. DeviceError without CuPy."""
        from ragged_dialect.arrays.convert.transfer import moved  # start-up time

        return moved(self, device)

    def to_awkward(self: Any) -> ArrayLike:
        """The array as an `awkward.Array` that shares its memory; see `convert.awkward_array`."""
        from ragged_dialect.arrays.convert.awkward_array import to_awkward  # start-up time

        return to_awkward(self)

    def to_arrow(self: Any, *, large: bool = True) -> ArrayLike:
        """The array as a `pyarrow.Array` that shares its memory; see `convert.arrow_array`."""
        from ragged_dialect.arrays.convert.arrow_array import to_arrow  # start-up time

        return to_arrow(self, large=large)

    def to_torch_nested(self: Any) -> ArrayLike:
        """The array as a nested tensor of layout `torch.jagged` that shares its memory; see
        `convert.torch_nested`."""
        from ragged_dialect.arrays.convert.torch_nested import to_torch_nested  # start-up time

        return to_torch_nested(self)

    def _copied(self: Any) -> RaggedArray:
        from ragged_dialect.arrays.index.levels import copied  # start-up time

        return copied(self)

    def __reduce_ex__(self: Any, protocol: SupportsIndex) -> tuple[Any, ...]:
        from ragged_dialect.arrays.convert.pickled import reduced  # start-up time

        return reduced(self, int(protocol))


_BINARY = {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "floordiv": "floor_divide",
    "mod": "remainder", "divmod": "divmod", "pow": "power", "and": "bitwise_and", "or": "bitwise_or",
    "xor": "bitwise_xor", "lshift": "left_shift", "rshift": "right_shift",
}  # fmt: skip
_COMPARISONS = {
    "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal", "eq": "equal", "ne": "not_equal",
}  # fmt: skip
_UNARY = {"neg": "negative", "pos": "positive", "abs": "absolute", "invert": "invert"}


def _put_operator(name: str, operation: Callable[..., object], reflected: bool) -> None:
    def method(self: ArrayLike, other: ArrayLike) -> object:
        return operation(self, other)

    def reverse(self: ArrayLike, other: ArrayLike) -> object:
        return operation(other, self)

    put_on(Value, f"__{name}__", method)
    if reflected:
        put_on(Value, f"__r{name}__", reverse)


def _put_sign(name: str, operation: Callable[..., object]) -> None:
    def method(self: ArrayLike) -> object:
        return operation(self)

    put_on(Value, f"__{name}__", method)


for _name, _ufunc in {**_BINARY, **_COMPARISONS, "matmul": "matmul"}.items():
    _put_operator(_name, named(_ufunc), _name not in _COMPARISONS)
for _name, _ufunc in _UNARY.items():
    _put_sign(_name, named(_ufunc))
put_all(Value, Methods)
put_all(RaggedArray, ArrayMethods)
