"""What is between the brackets of `x[...]`, as the operation takes it."""

from __future__ import annotations

import functools
from typing import Any, SupportsIndex, cast

import numpy as np

from ragged_dialect.arrays.core import storage
from ragged_dialect.arrays.core.arguments import integer
from ragged_dialect.arrays.core.array import RaggedArray
from ragged_dialect.arrays.core.storage import ArrayLike
from ragged_dialect.arrays.core.value import Value, is_traced
from ragged_dialect.arrays.tracing.leaves import is_dense
from ragged_dialect.arrays.tracing.operation import named
from ragged_dialect.errors import ArgumentError, AxisError
from ragged_dialect.narrowing import is_integer, is_tuple


def getitem(x: Any, index: object) -> Any:
    """`x[index]`. IndexError for too many indices or one out of range."""
    given = tuple(map(_number, index)) if is_tuple(index) else (index,)
    is_simple = _SIMPLE.issuperset(map(type, given))
    items = _expanded(x, given, is_simple)
    if not is_simple:
        traced = [k for k, item in enumerate(items) if is_traced(item) and not item.ndim and item.dtype.kind == "i"]
        arrays = [k for k, item in enumerate(items) if _is_array(item) and k not in traced] if len(given) > 1 else []
        if arrays:
            ellipsis = next((k for k, item in enumerate(given) if item is Ellipsis), None)
            _refuse_apart(items, arrays, ellipsis if len(items) < len(given) else None)
        if len(traced) > 1 or (traced and arrays):  # numbers of a program, one after the other
            return _by_numbers(x, items, traced, arrays)
    pattern: list[Any] = []
    leaves: list[Any] = []
    for item in items:
        if item is None:
            pattern.append("new")
        elif isinstance(item, slice):
            pattern.append(_slice_pattern(cast("slice", item), leaves))
        elif is_integer(item) and not isinstance(item, bool):
            pattern.append("one")
            leaves.append(int(item))
        else:
            pattern.append("array")
            leaves.append(np.zeros(0, np.int64) if isinstance(item, list) and not item else item)
    if pattern[:2] == ["array", "array"] and all(map(_is_vector, leaves[:2])):
        pattern[:2] = ["pairs"]
    if pattern.count("array") + pattern.count("pairs") > 1:
        raise ArgumentError(_ONE_ARRAY)
    return named("getitem")(x, *leaves, pattern=tuple(pattern))


_SIMPLE = frozenset({slice, int})
"""Types of items that stand for a dim each."""

_ONE_ARRAY = (
    "getitem: expected one array among the indices, or vectors of integers for the first two dims, got others "
    "(of a table t[i, j] is rg.take_along_axis(rg.take(t, i), j[..., None], axis=-1)[..., 0])"
)


def _number(item: object) -> object:
    """An item, which is a number if it is an array of one."""
    return int(item) if type(item) is np.ndarray and not item.ndim and item.dtype.kind in "iu" else item


def _is_array(item: object) -> bool:
    """Whether an index is neither a number nor a slice."""
    return not (item is None or isinstance(item, slice) or (is_integer(item) and not isinstance(item, bool)))


def _refuse_apart(items: list[object], arrays: list[int], ellipsis: int | None) -> None:
    """ArgumentError where a slice, or `...` that is at a place but stands for none, is between a number and an array,
    and NumPy puts the array's dims in front: here each item is at the dim that is its turn."""
    numbers = [k for k, item in enumerate(items) if item is not None and not isinstance(item, slice)]
    kept = [k for k in range(len(items)) if k not in numbers]
    apart = kept if ellipsis is None else [*kept, ellipsis - 0.5]
    if arrays and kept and kept[0] < arrays[0] and any(numbers[0] < k < numbers[-1] for k in apart):
        text = "expected no slice between a number and an array among the indices, got one (use them one by one)"
        raise ArgumentError(f"getitem: {text}")


def _by_numbers(x: ArrayLike, items: list[object], traced: list[int], arrays: list[int]) -> ArrayLike:
    """`x[items]` where some are traced numbers. Those of dense arrays are taken from the last one on; components have
    lengths of their own: what is in front of a number chooses them first."""
    whole, k = slice(None), traced[0]
    front = next((at for at, item in enumerate(items) if at not in traced and not is_integer(item)), len(items))
    if front:
        return getitem(functools.reduce(getitem, items[:front], x), tuple(items[front:]))
    if x.layout.is_dense:
        for at in reversed(traced):
            x = getitem(x, (*[whole] * _dims_of(x, items[:at]), items[at]))
        return getitem(x, tuple(item for at, item in enumerate(items) if at not in traced))
    if all(isinstance(item, slice) and item == whole for item in items[:k]):
        return getitem(getitem(x, (*items[:k], items[k])), (*items[:k], *items[k + 1 :]))
    if arrays and arrays[0] < k < arrays[-1]:
        raise ArgumentError(_ONE_ARRAY)
    left = x.ndim - _dims_of(x, items[:k])
    x = getitem(x, tuple(items[:k]))
    return getitem(x, (*[whole] * (x.ndim - left), *items[k:]))


def _dims_of(x: Value, items: list[object]) -> int:
    """How many dims the first items of an index stand for."""
    return sum(_dims_used(x, item, number == 0) for number, item in enumerate(items))


def _is_vector(item: Any) -> bool:
    """Whether an index is a dense vector of integers."""
    if isinstance(item, RaggedArray) or is_traced(item):
        return item.layout.is_dense and item.ndim == 1 and item.dtype.kind == "i"
    given = storage.peek(item) if is_dense(item) else storage.take(item)
    return given.ndim == 1 and given.dtype.kind == "i"


def _slice_pattern(item: slice, leaves: list[Any]) -> Any:
    step = 1 if item.step is None else integer("getitem", "a step", item.step)
    if step == 0:
        raise ArgumentError("getitem: expected a step other than 0, got 0")
    bounds = [item.start, item.stop]
    leaves += [b if is_traced(b) else _bound(b) for b in bounds if b is not None]
    # steps beyond every component are alike, and the least number has no opposite
    return ("slice", item.start is not None, item.stop is not None, max(step, 1 - 2**63))


def _bound(given: SupportsIndex) -> int:
    if getattr(given, "ndim", 0):
        hint = "x[rg.local_index(x) < stops[:, None]] has one for each component"
        raise ArgumentError(f"getitem: expected an integer for a bound, got an array ({hint})")
    return integer("getitem", "a bound", given)


def _expanded(x: Value, items: tuple[object, ...], is_simple: bool) -> list[object]:
    """The items with `...` replaced by whole slices; simple ones stand for a dim each."""
    rank = x.ndim
    used = len(items) if is_simple else sum(_dims_used(x, item, item is items[0]) for item in items)
    if used > rank:
        raise AxisError(f"getitem: expected indices of at most {rank} dims, got {used}")
    if is_simple:
        return list(items)
    at = [k for k, item in enumerate(items) if item is Ellipsis]
    if len(at) > 1:
        raise ArgumentError("getitem: expected at most one ellipsis, got more")
    if not at:
        return list(items)
    return [*items[: at[0]], *[slice(None)] * (rank - used), *items[at[0] + 1 :]]


def _dims_used(x: Value, item: object, is_first: bool) -> int:
    """How many dims of `x` an item stands for: a mask for its own, and a ragged index of the components' elements too;
    other indices look up one dim, whatever their rank."""
    if item is None or item is Ellipsis:
        return 0
    if isinstance(item, RaggedArray) or is_traced(item):
        gathers = is_first and not item.layout.is_dense and not x.layout.is_plain(0)
        return item.ndim if item.dtype.kind == "b" or gathers else 1
    return storage.peek(item).ndim if is_dense(item) and storage.peek(item).dtype.kind == "b" else 1
