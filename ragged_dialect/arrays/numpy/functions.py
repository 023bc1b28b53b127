"""NumPy's functions: of the name of an operation, and those whose arguments are others."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from itertools import pairwise

import ml_dtypes
import numpy as np

from ragged_dialect.arrays.core import storage
from ragged_dialect.arrays.core.arguments import bind, checked_axis, integer, listed
from ragged_dialect.arrays.core.storage import ArrayLike, Body, DTypeLike, dtype_of
from ragged_dialect.arrays.numpy.ufuncs import REDUCTIONS, allowed, is_left_out, reduce
from ragged_dialect.arrays.ops.join import concat, parts_of, pieces
from ragged_dialect.arrays.ops.join import stack as stacked
from ragged_dialect.arrays.ops.sorting import quantile as quantiles
from ragged_dialect.arrays.tracing.operation import OPERATIONS
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.errors import ArgumentError, LayoutError
from ragged_dialect.layout import RAGGED
from ragged_dialect.narrowing import is_integer

FUNCTIONS: dict[str, Body] = {}
"""By NumPy's names; arguments as NumPy's."""


def _function(body: Body) -> Body:
    FUNCTIONS[body.__name__] = body
    return body


@_function
def einsum(subscripts: str, *operands: ArrayLike) -> ArrayLike:
    """Sums of products."""
    return OPERATIONS["einsum"](*operands, subscripts=subscripts)


@_function
def concatenate(arrays: Sequence[ArrayLike], axis: int = 0) -> ArrayLike:
    """Arrays joined along a dim."""
    return concat(listed("np.concatenate", "arrays", arrays), axis=axis)


@_function
def stack(arrays: Sequence[ArrayLike], axis: int = 0) -> ArrayLike:
    """Arrays of one structure along a new dim."""
    return stacked(listed("np.stack", "arrays", arrays), axis=axis)


@_function
def where(condition: ArrayLike, x: ArrayLike, y: ArrayLike) -> ArrayLike:
    """`x` where the condition holds, else `y`."""
    return OPERATIONS["where"](condition, x, y)


@_function
def clip(
    a: ArrayLike, a_min: ArrayLike = None, a_max: ArrayLike = None, *, min: ArrayLike = None, max: ArrayLike = None
) -> ArrayLike:
    """The elements moved into bounds, which have two names each."""
    return OPERATIONS["clip"](a, min if a_min is None else a_min, max if a_max is None else a_max)


@_function
def round(a: ArrayLike, decimals: int = 0) -> ArrayLike:
    """The nearest multiples of 10**-decimals."""
    return a.round(decimals)


FUNCTIONS["around"] = round  # an older name


@_function
def take(a: ArrayLike, indices: ArrayLike, axis: int) -> ArrayLike:
    """Indices of a dim; NumPy's default, all elements as one vector, is none of ragged arrays."""
    return OPERATIONS["take"](a, indices, axis=axis)


@_function
def astype(x: ArrayLike, dtype: DTypeLike) -> ArrayLike:
    """The elements in another dtype."""
    return OPERATIONS["astype"](x, dtype=dtype_of(dtype))


@_function
def squeeze(a: ArrayLike, axis: ArrayLike = None) -> ArrayLike:
    """Without dims of extent 1."""
    return OPERATIONS["squeeze"](a, axis=axis)


@_function
def transpose(a: ArrayLike, axes: Sequence[int] | None = None) -> ArrayLike:
    """Dims in another order, by default the reverse one, which a ragged dim does not have."""
    order = tuple(range(a.ndim))[::-1] if axes is None else tuple(axes) if isinstance(axes, list) else axes
    return OPERATIONS["transpose"](a, axes=order)


@_function
def expand_dims(a: ArrayLike, axis: int) -> ArrayLike:
    """A dim of extent 1."""
    return OPERATIONS["unsqueeze"](a, axis=axis)


@_function
def full_like(a: ArrayLike, fill_value: ArrayLike, dtype: DTypeLike | None = None) -> ArrayLike:
    """The structure with one number everywhere."""
    wanted = a.dtype if dtype is None else dtype_of(dtype)
    given = storage.converted("np.full_like", storage.take(fill_value), wanted)
    return OPERATIONS["where"](True, given if given.ndim else given.item(), a.astype(wanted))  # a number has no device


@_function
def zeros_like(a: ArrayLike, dtype: DTypeLike | None = None) -> ArrayLike:
    """The structure with zeros."""
    return full_like(a, 0, dtype)


@_function
def ones_like(a: ArrayLike, dtype: DTypeLike | None = None) -> ArrayLike:
    """The structure with ones."""
    return full_like(a, 1, dtype)


@_function
def count_nonzero(a: ArrayLike, axis: ArrayLike = None, keepdims: bool = False) -> ArrayLike:
    """How many elements are not 0."""
    return OPERATIONS["sum"](OPERATIONS["not_equal"](a, 0), axis=axis, keepdims=keepdims)


@_function
def sort(a: ArrayLike, axis: int = -1, kind: str | None = None, *, stable: bool | None = None) -> ArrayLike:
    """The elements in order; it is always stable."""
    return OPERATIONS["sort"](a, axis=axis)


@_function
def argsort(a: ArrayLike, axis: int = -1, kind: str | None = None, *, stable: bool | None = None) -> ArrayLike:
    """The indices that sort; it is always stable."""
    return OPERATIONS["argsort"](a, axis=axis)


@_function
def median(a: ArrayLike, axis: ArrayLike = None, keepdims: bool = False) -> ArrayLike:
    """The element in the middle, or the mean of the two."""
    return quantiles.median(a, axis=axis, keepdims=keepdims)


@_function
def quantile(a: ArrayLike, q: ArrayLike, axis: ArrayLike = None, keepdims: bool = False) -> ArrayLike:
    """The q-quantile; of several `q` those of each along a new dim 0."""
    numbers = storage.take(q)
    if numbers.ndim > 1:
        raise ArgumentError(f"np.quantile: expected a number or a vector for q, got rank {numbers.ndim}")
    found = [quantiles.quantile(a, q=one, axis=axis, keepdims=keepdims) for one in numbers.ravel().tolist()]
    return stacked(found, axis=0) if numbers.ndim else found[0]


@_function
def percentile(a: ArrayLike, q: ArrayLike, axis: ArrayLike = None, keepdims: bool = False) -> ArrayLike:
    """As `quantile`, in percent."""
    return quantile(a, storage.take(q) / 100, axis, keepdims)


def _without_nan(a: ArrayLike, number: float) -> ArrayLike:
    return OPERATIONS["where"](OPERATIONS["isnan"](a), number, a)


def _numbers_in(a: ArrayLike, axis: ArrayLike, keepdims: bool) -> ArrayLike:
    return OPERATIONS["sum"](OPERATIONS["logical_not"](OPERATIONS["isnan"](a)), axis=axis, keepdims=keepdims)


@_function
def nansum(a: ArrayLike, axis: ArrayLike = None, keepdims: bool = False) -> ArrayLike:
    """Sums without nan."""
    return OPERATIONS["sum"](_without_nan(a, 0), axis=axis, keepdims=keepdims)


@_function
def nanmean(a: ArrayLike, axis: ArrayLike = None, keepdims: bool = False) -> ArrayLike:
    """Means without nan; nan where nothing else is."""
    return OPERATIONS["divide"](nansum(a, axis, keepdims), _numbers_in(a, axis, keepdims))


@_function
def nanmax(a: ArrayLike, axis: ArrayLike = None, keepdims: bool = False) -> ArrayLike:
    """The largest element but for nan; nan where nothing else is."""
    return _extreme(a, "max", -math.inf, axis, keepdims)


@_function
def nanmin(a: ArrayLike, axis: ArrayLike = None, keepdims: bool = False) -> ArrayLike:
    """The smallest element but for nan; nan where nothing else is."""
    return _extreme(a, "min", math.inf, axis, keepdims)


def _extreme(a: ArrayLike, name: str, least: float, axis: ArrayLike, keepdims: bool) -> ArrayLike:
    if a.dtype.kind in "iub":
        return OPERATIONS[name](a, axis=axis, keepdims=keepdims)
    found = OPERATIONS[name](_without_nan(a, least), axis=axis, keepdims=keepdims)
    return OPERATIONS["where"](OPERATIONS["equal"](_numbers_in(a, axis, keepdims), 0), math.nan, found)


@_function
def flip(m: ArrayLike, axis: int | tuple[int, ...] | None = None) -> ArrayLike:
    """The elements along dims in reverse order, by default along all."""
    dims = range(m.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    gone = {checked_axis("np.flip", dim, m.ndim) for dim in dims}
    return m[tuple(slice(None, None, -1) if dim in gone else slice(None) for dim in range(m.ndim))]


@_function
def diff(a: ArrayLike, n: int = 1, axis: int = -1) -> ArrayLike:
    """Differences of neighbours along a dim, `n` times: components have so many elements fewer."""
    times = integer("np.diff", "n", n)
    if times < 0:
        raise ArgumentError(f"np.diff: expected n of at least 0, got {times}")
    whole = (slice(None),) * checked_axis("np.diff", axis, a.ndim)
    for _ in range(times):
        later, earlier = a[(*whole, slice(1, None))], a[(*whole, slice(None, -1))]
        a = OPERATIONS["not_equal" if a.dtype == np.bool_ else "subtract"](later, earlier)
    return a


@_function
def ptp(a: ArrayLike, axis: ArrayLike = None, keepdims: bool = False) -> ArrayLike:
    """The largest element less the smallest one."""
    return OPERATIONS["subtract"](*(OPERATIONS[n](a, axis=axis, keepdims=keepdims) for n in ("max", "min")))


@_function
def nan_to_num(
    x: ArrayLike, copy: bool = True, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
) -> ArrayLike:
    """Numbers in the place of nan and infinities, which are by default the extremes of the dtype; arrays of integers
    as they are."""
    if x.dtype.kind in "iub":
        return x
    most = float(ml_dtypes.finfo(x.dtype).max)  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType]
    for found, number in (
        (OPERATIONS["isnan"](x), nan),
        (OPERATIONS["equal"](x, math.inf), most if posinf is None else posinf),
        (OPERATIONS["equal"](x, -math.inf), -most if neginf is None else neginf),
    ):
        x = OPERATIONS["where"](found, number, x)
    return x


@_function
def size(a: ArrayLike, axis: int | None = None) -> int | None:
    """How many elements there are; along a dim its extent, None of a ragged one."""
    return a.size if axis is None else a.shape[checked_axis("np.size", axis, a.ndim)]


@_function
def ndim(a: ArrayLike) -> int:
    """Number of dims."""
    return a.ndim


@_function
def shape(a: ArrayLike) -> ArrayLike:
    """Extents, None for ragged dims."""
    return a.shape


@_function
def isclose(a: ArrayLike, b: ArrayLike, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> ArrayLike:
    """Which elements of operands that broadcast are equal within a tolerance."""
    b = OPERATIONS["multiply"](b, 1.0)  # differences of integers, and the size of the least one, may not be integers
    difference = OPERATIONS["absolute"](OPERATIONS["subtract"](a, b))
    near = difference <= OPERATIONS["add"](OPERATIONS["multiply"](OPERATIONS["absolute"](b), rtol), atol)
    near = OPERATIONS["logical_and"](near, OPERATIONS["isfinite"](b)) | OPERATIONS["equal"](a, b)
    if not equal_nan:
        return near
    return near | OPERATIONS["logical_and"](OPERATIONS["isnan"](a), OPERATIONS["isnan"](b))


@_function
def allclose(a: ArrayLike, b: ArrayLike, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> ArrayLike:
    """Whether all elements are."""
    found = isclose(a, b, rtol, atol, equal_nan).all()
    return found if isinstance(found, Tensor) else bool(found)


@_function
def array_split(ary: ArrayLike, indices_or_sections: ArrayLike, axis: int = 0) -> list[ArrayLike]:
    """Parts along a dim: so many, of sizes that differ by 1 at most, or cut at indices; of every component along
    a ragged dim."""
    dim = checked_axis("np.array_split", axis, ary.ndim)
    if not is_integer(indices_or_sections):
        given = storage.take(indices_or_sections)
        if given.ndim != 1 or (given.dtype.kind != "i" and given.size):
            raise ArgumentError(f"np.array_split: expected a number of sections or a list of indices, got {given}")
        cuts = [None, *given.astype(np.int64).tolist(), None]
        whole = (slice(None),) * dim
        return [ary[(*whole, slice(low, high))] for low, high in pairwise(cuts)]
    sections = parts_of("np.array_split", "sections", indices_or_sections)
    if ary.layout.letter(dim) in RAGGED:
        return pieces(ary, sections, dim, even=True)
    extent = ary.shape[dim]
    if extent is None:
        text = f"expected an extent that is known when the function is traced, got dim {dim}"
        raise LayoutError(f"np.array_split: {text}")
    size, rest = divmod(extent, sections)
    return array_split(ary, [k * size + min(k, rest) for k in range(1, sections)], dim)


@_function
def split(ary: ArrayLike, indices_or_sections: ArrayLike, axis: int = 0) -> list[ArrayLike]:
    """As `array_split`; a number of sections has to divide a dense extent."""
    extent = ary.shape[checked_axis("np.split", axis, ary.ndim)]
    if is_integer(indices_or_sections) and (extent is None or extent % max(1, indices_or_sections)):
        got = "a ragged one" if extent is None else extent
        raise LayoutError(
            f"np.split: expected an extent that {indices_or_sections} divides, got {got} (use np.array_split)"
        )
    return array_split(ary, indices_or_sections, axis)


_UFUNCS = {name: ufunc for ufunc, name in REDUCTIONS.items()}
_ALIASES = {"amax": "max", "amin": "min", "concat": "concatenate"}
_REDUCING = frozenset("sum prod max min mean var std any all argmax argmin cumsum cumprod".split())

_SORTED = "rg.sort(x, axis=1) has the elements of each component in order"
_FILLED = "np.nan_to_num puts numbers in the place of nan"
_INSTEAD = {
    "unique": _SORTED,
    "searchsorted": _SORTED,
    "histogram": "(x[..., None] == numbers).sum(axis=1) counts in each component",
    "bincount": "(x[..., None] == numbers).sum(axis=1) counts in each component",
    "average": "(x * weights).sum(axis=1) / weights.sum(axis=1)",
    "norm": "(x**2).sum(axis=1) ** 0.5",
    "pad": "x.to_padded() is dense, rg.concat joins along any dim",
    "repeat": "rg.take(x, indices) takes components again",
    "ravel": "x.values has all elements",
    "copy": "arrays do not change",
    "array_equal": "(x == y).all()",
    "take_along_axis": "x[indices] of a ragged array of indices, rg.gather of a dense one",
    "swapaxes": "x.transpose",
    "hstack": "rg.concat",
    "vstack": "rg.concat",
    **dict.fromkeys(("nanstd", "nanvar", "nanprod"), _FILLED),
}
"""What does the work of functions that ragged arrays do not have."""


def apply_function(
    function: Callable[..., object], args: tuple[ArrayLike, ...], kwargs: Mapping[str, ArrayLike]
) -> ArrayLike:
    """NumPy's function of the name of an operation. ArgumentError for others, and for arguments that the operation
    does not have."""
    own, name = f"np.{function.__name__}", _ALIASES.get(function.__name__, function.__name__)
    if name not in FUNCTIONS and name not in _REDUCING:
        hint = f" ({_INSTEAD[name]})" if name in _INSTEAD else ""
        raise ArgumentError(f"{own}: expected a function that ragged arrays have, got another{hint}")
    args, given = _by_name(function, args, kwargs)
    if name in FUNCTIONS:
        run = FUNCTIONS[name]
    else:
        run = OPERATIONS[name] if name not in _UFUNCS else partial(reduce, _UFUNCS[name], axis=None)
        args, given = (given.pop("a"),), given
    signature = inspect.signature(run)
    bind(own, signature, args, allowed(own, given, tuple(signature.parameters)))
    return run(*args, **given)


def _by_name(
    function: Callable[..., object], args: tuple[ArrayLike, ...], kwargs: Mapping[str, ArrayLike]
) -> tuple[tuple[ArrayLike, ...], dict[str, ArrayLike]]:
    """The arguments of NumPy's function by their names, less those that are left out or are what NumPy takes anyway;
    by position where there may be any number."""
    parameters = _signature(function).parameters
    several = any(p.kind is p.VAR_POSITIONAL for p in parameters.values())
    given = {**({} if several else dict(zip(parameters, args, strict=False))), **kwargs}
    return args if several else (), {
        name: value
        for name, value in given.items()
        if not is_left_out(value) and not (name in parameters and value is parameters[name].default)
    }


@cache
def _signature(function: Callable[..., object]) -> inspect.Signature:
    try:
        return inspect.signature(function)
    except ValueError:  # some versions of NumPy do not know those of functions in C
        return inspect.signature(FUNCTIONS[function.__name__])
