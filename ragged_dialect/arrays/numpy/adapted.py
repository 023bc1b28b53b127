"""NumPy's functions whose arguments are others than those of the operations that do their work, which are known here
by their names."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from ragged_dialect.arrays.core import storage
from ragged_dialect.arrays.core.arguments import axis_of_vector, checked_axis, flag, integer, listed
from ragged_dialect.arrays.core.array import RaggedArray
from ragged_dialect.arrays.core.storage import ArrayLike, DTypeLike, dtype_of
from ragged_dialect.arrays.core.value import Value, is_traced
from ragged_dialect.arrays.numpy.ufuncs import mask
from ragged_dialect.arrays.ops.join import concat, cut, parts_of, pieces, traced_extent
from ragged_dialect.arrays.ops.join import stack as stacked
from ragged_dialect.arrays.tracing.operation import named
from ragged_dialect.errors import ArgumentError, LayoutError, brief
from ragged_dialect.layout import RAGGED
from ragged_dialect.narrowing import is_integer, is_list, is_tuple


def einsum(subscripts: str, *operands: ArrayLike) -> ArrayLike:
    """Sums of products."""
    return named("einsum")(*operands, subscripts=subscripts)


def concatenate(arrays: Sequence[ArrayLike], axis: int = 0) -> ArrayLike:
    """Arrays joined along a dim."""
    return concat(listed("np.concatenate", "arrays", arrays), axis=axis)


def stack(arrays: Sequence[ArrayLike], axis: int = 0) -> ArrayLike:
    """Arrays of one structure along a new dim."""
    return stacked(listed("np.stack", "arrays", arrays), axis=axis)


def where(condition: ArrayLike, x: ArrayLike, y: ArrayLike) -> ArrayLike:
    """`x` where the condition holds, else `y`."""
    return named("where")(condition, x, y)


def clip(
    a: ArrayLike, a_min: ArrayLike = None, a_max: ArrayLike = None, *, min: ArrayLike = None, max: ArrayLike = None
) -> ArrayLike:
    """The elements moved into bounds, which have two names each."""
    return named("clip")(a, min if a_min is None else a_min, max if a_max is None else a_max)


def round(a: ArrayLike, decimals: int = 0) -> ArrayLike:
    """The nearest multiples of 10**-decimals."""
    return a.round(decimals)


around = round


def take(a: ArrayLike, indices: ArrayLike, axis: int | None = None) -> ArrayLike:
    """Indices of a dim; NumPy's default, all elements as one vector, is one of vectors alone."""
    return named("take")(a, indices, axis=axis_of_vector("np.take", axis, _array(a).ndim))


def repeat(a: ArrayLike, repeats: ArrayLike, axis: int | None = None) -> ArrayLike:
    """Elements several times; NumPy's default, all as one vector, is one of vectors alone."""
    return named("repeat")(a, repeats, axis=axis)


def astype(x: ArrayLike, dtype: DTypeLike, copy: bool = True) -> ArrayLike:
    """The elements in another dtype. Nobody writes to them, so that `copy` makes no difference."""
    return _array(x).astype(dtype_of(dtype), copy=copy)


def cumsum(a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None) -> ArrayLike:
    """Sums of the elements up to each one along a dim, which a vector has one of."""
    return a.cumsum(axis, dtype)


def cumprod(a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None) -> ArrayLike:
    """Products of the elements up to each one along a dim."""
    return a.cumprod(axis, dtype)


def reshape(a: ArrayLike, shape: ArrayLike) -> ArrayLike:
    """The extents of all dims, None of ragged ones."""
    return a.reshape(tuple(shape) if is_list(shape) else (shape,))


def squeeze(a: ArrayLike, axis: ArrayLike = None) -> ArrayLike:
    """Without dims of extent 1."""
    return named("squeeze")(a, axis=axis)


def transpose(a: ArrayLike, axes: Sequence[int] | None = None) -> ArrayLike:
    """Dims in another order, by default the reverse one, which a ragged dim does not have."""
    order = tuple(range(a.ndim))[::-1] if axes is None else tuple(axes) if isinstance(axes, list) else axes
    return named("transpose")(a, axes=order)


def expand_dims(a: ArrayLike, axis: ArrayLike) -> ArrayLike:
    """Dims of extent 1, counted among those of the result."""
    axes: list[ArrayLike] = list(axis) if is_tuple(axis) else [axis]
    rank = a.ndim + len(axes)
    places = sorted({checked_axis("np.expand_dims", one, rank) for one in axes})
    if len(places) < len(axes):
        raise ArgumentError(f"np.expand_dims: expected different axes, got {axis}")
    for place in places:
        a = named("unsqueeze")(a, axis=place)
    return a


def full_like(a: ArrayLike, fill_value: ArrayLike, dtype: DTypeLike | None = None) -> ArrayLike:
    """The structure with one number everywhere."""
    wanted = a.dtype if dtype is None else dtype_of(dtype)
    given = storage.converted("np.full_like", storage.take(fill_value), wanted)
    return named("where")(True, given if given.ndim else given.item(), a.astype(wanted))  # a number has no device


def zeros_like(a: ArrayLike, dtype: DTypeLike | None = None) -> ArrayLike:
    """The structure with zeros."""
    return full_like(a, 0, dtype)


def ones_like(a: ArrayLike, dtype: DTypeLike | None = None) -> ArrayLike:
    """The structure with ones."""
    return full_like(a, 1, dtype)


def sort(a: ArrayLike, axis: int = -1, kind: str | None = None, *, stable: bool | None = None) -> ArrayLike:
    """The elements in order; it is always stable."""
    _check_kind("np.sort", kind)
    return named("sort")(a, axis=axis)


def argsort(a: ArrayLike, axis: int = -1, kind: str | None = None, *, stable: bool | None = None) -> ArrayLike:
    """The indices that sort; it is always stable."""
    _check_kind("np.argsort", kind)
    return named("argsort")(a, axis=axis)


def _check_kind(name: str, kind: object) -> None:
    if kind is not None and (not isinstance(kind, str) or kind not in _KINDS):
        raise ArgumentError(f"{name}: expected a kind of {', '.join(_KINDS)}, got {brief(kind)}")


_KINDS = "quicksort", "heapsort", "mergesort", "stable"


def lexsort(keys: ArrayLike, axis: int = -1) -> ArrayLike:
    """The indices that sort by the last key, then by the one before it, and so on."""
    from ragged_dialect.arrays.ops.sorting.sort import lexsort  # start-up time

    return lexsort(keys, axis=axis)


def _array(x: ArrayLike) -> ArrayLike:
    """What NumPy takes beside a ragged array, an array of lists and numbers."""
    return x if isinstance(x, Value) or storage.library(x) is not None else storage.take(x)


def mean(
    a: ArrayLike, axis: ArrayLike = None, dtype: DTypeLike | None = None, keepdims: bool = False,
    *, where: ArrayLike = True,
) -> ArrayLike:  # fmt: skip
    """Means, of the elements where a mask holds; nan where it does nowhere."""
    if dtype is not None and dtype_of(dtype).kind in "bi":
        raise ArgumentError(f"np.mean: expected a dtype of floats, got {dtype_of(dtype)}")
    a = a if dtype is None else _array(a).astype(dtype)
    if where is True:
        return named("mean")(a, axis=axis, keepdims=keepdims)
    return named("masked_mean")(a, mask("mean", where), axis=axis, keepdims=keepdims)


def average(a: ArrayLike, axis: ArrayLike = None, weights: ArrayLike = None, keepdims: bool = False) -> ArrayLike:
    """Means with weights, which broadcast or are those of the dim `axis`."""
    if weights is None:
        return named("mean")(a, axis=axis, keepdims=keepdims)
    given: ArrayLike = weights if isinstance(weights, Value) else storage.take(weights)
    return named("average")(a, given, axis=axis, keepdims=keepdims)


def norm(x: ArrayLike, ord: ArrayLike = None, axis: ArrayLike = None, keepdims: bool = False) -> ArrayLike:
    """`np.linalg.norm` of vectors, which are along a dim, or of all elements."""
    if (is_tuple(axis) and len(axis) > 1) or (axis is None and x.ndim > 1 and ord is not None):
        raise ArgumentError(f"np.linalg.norm: expected an axis of vectors, got {axis}")
    if ord is not None and not isinstance(ord, (int, float)):
        raise ArgumentError(f"np.linalg.norm: expected a number for ord, got {type(ord).__name__}")
    return named("norm")(x, ord=ord, axis=axis, keepdims=keepdims)


def array_equal(a1: ArrayLike, a2: ArrayLike, equal_nan: bool = False) -> bool:
    """Whether two arrays have the same structure and elements; not of traced values, whose lengths only calls know."""
    with_nan = flag("np.array_equal", "equal_nan", equal_nan)
    if any(is_traced(a) for a in (a1, a2)):
        raise ArgumentError("np.array_equal: expected arrays, got a traced value (of equal lengths, (x == y).all())")
    if not all(isinstance(a, RaggedArray) for a in (a1, a2)) or a1.shape != a2.shape:
        return False
    x, y = named("compact")(a1), named("compact")(a2)
    ragged = [dim for dim in range(x.ndim) if x.layout.letter(dim) in RAGGED]
    if x.layout != y.layout or any(not np.array_equal(x.lengths_of(dim), y.lengths_of(dim)) for dim in ragged):
        return False
    return bool(named("array_equal")(x, y, equal_nan=with_nan))


def take_along_axis(arr: ArrayLike, indices: ArrayLike, axis: int = -1) -> ArrayLike:
    """The elements at indices along a dim."""
    return named("take_along_axis")(arr, indices, axis=axis)


def swapaxes(a: ArrayLike, axis1: int, axis2: int) -> ArrayLike:
    """Two dims in each other's place."""
    order = list(range(a.ndim))
    one, other = (checked_axis("np.swapaxes", axis, a.ndim) for axis in (axis1, axis2))
    order[one], order[other] = other, one
    return named("transpose")(a, axes=tuple(order))


def roll(a: ArrayLike, shift: ArrayLike, axis: int | None = None) -> ArrayLike:
    """The elements along a dim so many places on, in each component; those beyond its end are at its start. NumPy's
    default, all elements as one vector, is one of vectors alone."""
    dim = axis_of_vector("np.roll", axis, _array(a).ndim)
    is_number = is_traced(shift) and not shift.axes and shift.dtype.kind == "i"
    places = shift if is_number else integer("np.roll", "shift", shift)
    if a.layout.letter(dim) in RAGGED:
        return named("roll")(a, places, axis=dim)
    from ragged_dialect.arrays.ops.filled import arange  # start-up time

    extent = a.shape[dim]
    size = max(extent, 1) if isinstance(extent, int) else named("maximum")(extent, 1)
    return named("take")(a, (arange(extent) - places) % size, axis=dim)


def sliding_window_view(x: ArrayLike, window_shape: ArrayLike, axis: ArrayLike = None) -> ArrayLike:
    """The windows along a dim, as a new last dim: a copy, and along one dim only."""
    op = "sliding_window_view"
    if axis is None or is_tuple(axis) or is_tuple(window_shape):
        text = f"expected one axis and an integer as window, got axis {axis} and window {window_shape}"
        raise ArgumentError(f"{op}: {text}")
    dim = checked_axis(op, axis, x.ndim)
    if any(x.layout.letter(k) in RAGGED for k in range(dim + 1, x.ndim)):
        text = f'no ragged dims behind dim {dim}, got layout "{x.layout}"'
        raise LayoutError(f"{op}: expected {text} (rg.windows has the window as the next dim)")
    made = named("windows")(x, size=window_shape, axis=axis)
    order = [k for k in range(made.ndim) if k != dim + 1]
    return made if order[-1] == dim else named("transpose")(made, axes=(*order, dim + 1))


def select(condlist: Sequence[ArrayLike], choicelist: Sequence[ArrayLike], default: ArrayLike = 0) -> ArrayLike:
    """Of each element the choice of the first condition that holds."""
    conditions, choices = listed("np.select", "condlist", condlist), listed("np.select", "choicelist", choicelist)
    if len(conditions) != len(choices) or not conditions:
        text = f"expected a choice for each of {len(conditions)} conditions, got {len(choices)}"
        raise ArgumentError(f"np.select: {text}")
    return named("np.select")(default, *conditions, *choices)


def median(a: ArrayLike, axis: ArrayLike = None, keepdims: bool = False) -> ArrayLike:
    """The element in the middle, or the mean of the two."""
    return named("median")(a, axis=axis, keepdims=keepdims)


def quantile(
    a: ArrayLike, q: ArrayLike, axis: ArrayLike = None, keepdims: bool = False, method: str = "linear"
) -> ArrayLike:
    """The q-quantile; of several `q` those of each along a new dim 0."""
    return _quantile("np.quantile", a, q, 1, axis, keepdims, method)


def percentile(
    a: ArrayLike, q: ArrayLike, axis: ArrayLike = None, keepdims: bool = False, method: str = "linear"
) -> ArrayLike:
    """As `quantile`, in percent."""
    return _quantile("np.percentile", a, q, 100, axis, keepdims, method)


def _quantile(
    name: str, a: ArrayLike, q: ArrayLike, most: int, axis: ArrayLike, keepdims: bool, method: str
) -> ArrayLike:
    from ragged_dialect.arrays.ops.sorting import quantile as quantiles  # start-up time

    return quantiles.quantile(a, quantiles.listed(name, q, most), axis=axis, keepdims=keepdims, method=method)


def flip(m: ArrayLike, axis: int | tuple[int, ...] | None = None) -> ArrayLike:
    """The elements along dims in reverse order, by default along all."""
    dims = range(m.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    gone = {checked_axis("np.flip", dim, m.ndim) for dim in dims}
    return m[tuple(slice(None, None, -1) if dim in gone else slice(None) for dim in range(m.ndim))]


def diff(a: ArrayLike, n: int = 1, axis: int = -1, prepend: ArrayLike = None, append: ArrayLike = None) -> ArrayLike:
    """Differences of neighbours along a dim, `n` times: components have so many elements fewer. What is put before or
    behind first is a number, or joins them as `rg.concat` does."""
    a, times = _array(a), integer("np.diff", "n", n)
    if times < 0:
        raise ArgumentError(f"np.diff: expected n of at least 0, got {times}")
    dim = checked_axis("np.diff", axis, a.ndim)
    return named("diff")(a, prepend, append, n=times, axis=dim)


def size(a: ArrayLike, axis: int | None = None) -> int | None:
    """How many elements there are; along a dim its extent, None of a ragged one."""
    return a.size if axis is None else a.shape[checked_axis("np.size", axis, a.ndim)]


def ndim(a: ArrayLike) -> int:
    """Number of dims."""
    return a.ndim


def shape(a: ArrayLike) -> ArrayLike:
    """Extents, None for ragged dims."""
    return a.shape


def isclose(
    a: ArrayLike, b: ArrayLike, rtol: ArrayLike = 1e-5, atol: ArrayLike = 1e-8, equal_nan: bool = False
) -> ArrayLike:
    """Which elements of operands that broadcast are equal within a tolerance."""
    return named("isclose")(a, b, rtol, atol, equal_nan=flag("np.isclose", "equal_nan", equal_nan))


def allclose(
    a: ArrayLike, b: ArrayLike, rtol: ArrayLike = 1e-5, atol: ArrayLike = 1e-8, equal_nan: bool = False
) -> ArrayLike:
    """Whether all elements are."""
    found = named("allclose")(a, b, rtol, atol, equal_nan=flag("np.allclose", "equal_nan", equal_nan))
    return found if is_traced(found) else bool(found)


def array_split(ary: ArrayLike, indices_or_sections: ArrayLike, axis: int = 0) -> list[ArrayLike]:
    """Parts along a dim: so many, of sizes that differ by 1 at most, or cut at indices; of every component along
    a ragged dim."""
    ary = _array(ary)
    dim = checked_axis("np.array_split", axis, ary.ndim)
    if not is_integer(indices_or_sections):
        given = storage.take(indices_or_sections)
        if given.ndim != 1 or (given.dtype.kind != "i" and given.size):
            raise ArgumentError(f"np.array_split: expected a number of sections or a list of indices, got {given}")
        cuts = [None, *given.astype(np.int64).tolist(), None]
        return [cut(ary, dim, low, high) for low, high in pairwise(cuts)]
    sections = parts_of("np.array_split", "sections", indices_or_sections)
    if ary.layout.letter(dim) in RAGGED:
        return pieces(ary, sections, dim, even=True)
    size, rest = divmod(traced_extent("np.array_split", ary, dim), sections)
    return array_split(ary, [k * size + min(k, rest) for k in range(1, sections)], dim)


def split(ary: ArrayLike, indices_or_sections: ArrayLike, axis: int = 0) -> list[ArrayLike]:
    """As `array_split`; a number of sections has to divide a dense extent."""
    ary = _array(ary)
    extent: object = ary.shape[checked_axis("np.split", axis, ary.ndim)]
    known = isinstance(extent, int)
    if is_integer(indices_or_sections) and indices_or_sections == 1:
        return [ary]
    if is_integer(indices_or_sections) and (not known or extent % max(1, indices_or_sections)):
        got = extent if known else "a ragged one" if extent is None else "one that only calls know"
        hint = "" if extent is not None and not known else " (use np.array_split)"
        raise LayoutError(f"np.split: expected an extent that {indices_or_sections} divides, got {got}{hint}")
    return array_split(ary, indices_or_sections, axis)
