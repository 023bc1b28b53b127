"""Dims inserted, dropped, reshaped and in another order."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from math import prod
from typing import SupportsIndex

from ragged_dialect import builders
from ragged_dialect._mlir import DYNAMIC, tensor
from ragged_dialect.arrays.core.arguments import checked_axis
from ragged_dialect.arrays.tracing.axes import Axis, NestedAxis, PlainAxis, shape_of
from ragged_dialect.arrays.tracing.loops import compute, empty
from ragged_dialect.arrays.tracing.operation import operation
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.arrays.tracing.trace import element_type
from ragged_dialect.arrays.tracing.wrap import contiguous, of_value
from ragged_dialect.errors import ArgumentError, AxisError, LayoutError
from ragged_dialect.ir import build, shapes
from ragged_dialect.ir.build import Mixed
from ragged_dialect.layout import RAGGED
from ragged_dialect.narrowing import is_integer
from ragged_dialect.types import dense_type, storage_type

AxisArgument = int | tuple[int, ...] | None


def dim_of(x: Tensor, axis: SupportsIndex) -> int:
    """A dim of a tensor; see `checked_axis`."""
    return checked_axis(x.trace.op, axis, x.ndim)


def dims_of(x: Tensor, axis: AxisArgument) -> frozenset[int]:
    """The dims of an axis argument; all without one. AxisError out of range or twice."""
    if axis is None:
        return frozenset(range(x.ndim))
    given = axis if isinstance(axis, tuple) else (axis,)
    dims = [dim_of(x, a) for a in given]
    if len(set(dims)) != len(dims):
        raise AxisError(f"{x.trace.op}: expected different axes, got {given}")
    return frozenset(dims)


def restored(x: Tensor, groups: Sequence[Sequence[int]], axes: Sequence[Axis], expand: bool) -> Tensor:
    """The storage expanded or collapsed by groups of storage axes (of the side with more of them), with
    new axes: a view. At most one extent of a group may be dynamic. Collapsed extents that are all static, as of a
    batch of 1, are so at first, whatever the axes know."""
    wanted = dense_type(shape_of(axes).storage_shape(), element_type(x.dtype))
    if expand:
        sizes = _expanded_sizes(x, groups, list(wanted.shape))
        made = tensor.expand_shape(wanted, x.storage, groups, *build.split(sizes))
    else:
        made = shapes.cast(shapes.collapse(x.storage, groups), wanted)
    x.trace.reshaped[made] = x.storage
    return x.trace.assembled(made, axes, x.dtype)


def with_joined(x: Tensor, first: int, last: int, joined: PlainAxis) -> Tensor:
    """A tensor with its dense axes from one on up to another as one."""
    groups = shapes.grouped(len(x.axes), first, last)
    return restored(x, groups, [*x.axes[:first], joined, *x.axes[last:]], expand=False)


def flattened(x: Tensor) -> Tensor:
    """All elements of the storage as a vector: a view."""
    if len(x.axes) == 1:
        return x
    return restored(x, [list(range(len(x.axes)))], [PlainAxis(None)], expand=False)


def _expanded_sizes(x: Tensor, groups: Sequence[Sequence[int]], static: list[int]) -> list[Mixed]:
    sizes: list[Mixed] = list(static)
    for source, group in enumerate(groups):
        known = prod(static[k] for k in group if static[k] != DYNAMIC)
        for k in group:
            if static[k] == DYNAMIC:
                whole = shapes.dim(x.storage, source)
                sizes[k] = build.divide(build.value(whole), known) if known > 1 else build.value(whole)
    return sizes


def insert_ones(x: Tensor, dims: Sequence[int]) -> Tensor:
    """Dims of extent 1, at these dims of the result, in ascending order."""
    for dim in dims:
        made = _insert_one(x, dim)
        made.trace.inserted[made.value] = (x, dim)
        x = made
    return x


def _insert_one(x: Tensor, dim: int) -> Tensor:
    number, level = x.place(dim) if dim < x.ndim else (len(x.axes), 0)
    if level > 0:
        return _insert_level(x, number, level)
    axes = [*x.axes[:number], PlainAxis(1), *x.axes[number:]]
    count = len(x.axes)
    if count == 0:
        return restored(x, [], axes, expand=True)
    home = min(number, count - 1)
    return restored(x, shapes.grouped(count + 1, home, home + 2), axes, expand=True)


def _insert_level(x: Tensor, number: int, level: int) -> Tensor:
    """A dense level of extent 1 inside a nested axis: positions stay what they are."""
    axis = x.nested_axis(number)
    first = x.layout.dims(number)[0]
    extents = [
        x.extent(first + at) if letter == "d" else extent
        for at, (letter, extent) in enumerate(zip(axis.letters, axis.extents, strict=True))
    ]
    letters = f"{axis.letters[:level]}d{axis.letters[level:]}"
    made = NestedAxis(letters, axis.vectors, [*extents[:level], build.value(1), *extents[level:]])
    return x.trace.assembled(x.storage, [*x.axes[:number], made, *x.axes[number + 1 :]], x.dtype)


@operation("unsqueeze")
def unsqueeze(x: Tensor, *, axis: int) -> Tensor:
    """A dim of extent 1 before dim `axis` of the result; a view."""
    return insert_ones(x, [checked_axis(x.trace.op, axis, x.ndim + 1)])


@operation("squeeze")
def squeeze(x: Tensor, *, axis: int | tuple[int, ...] | None = None) -> Tensor:
    """Without plain dims of extent 1: those of `axis`, or all; a view. LayoutError for another dim."""
    ones = [d for d in range(x.ndim) if x.layout.is_plain(d) and x.static_shape[d] == 1]
    dims = ones if axis is None else sorted(dims_of(x, axis))
    for dim in reversed(dims):
        if dim not in ones:
            extent = x.static_shape[dim]
            got = f'layout "{x.layout}"' if extent is None or not x.layout.is_plain(dim) else f"extent {extent}"
            raise LayoutError(f"squeeze: expected a dense dim of extent 1, got dim {dim} of {got}")
        x = _drop_one(x, x.place(dim)[0])
    return x


def _drop_one(x: Tensor, number: int) -> Tensor:
    axes = [a for k, a in enumerate(x.axes) if k != number]
    if not axes:
        return restored(x, [], axes, expand=False)
    home = max(number - 1, 0)
    return restored(x, shapes.grouped(len(x.axes), home, home + 2), axes, expand=False)


@operation("reshape")
def reshape(x: Tensor, *, dims: tuple[int, ...], shape: tuple[int, ...]) -> Tensor:
    """Adjacent plain dims `dims` with the extents `shape` instead, of which one may be -1; a view. LayoutError where a
    dim is not plain or the extents do not fit, RuntimeCheckError where that is seen only when they are known."""
    if x.ndim == 0 and not dims:  # a number is one element
        if not shape:
            return x
        x, dims = insert_ones(x, [0]), (0,)
    chosen = sorted(dim_of(x, d) for d in dims)
    if not chosen or chosen != list(range(chosen[0], chosen[-1] + 1)) or not all(x.layout.is_plain(d) for d in chosen):
        raise LayoutError(f'reshape: expected adjacent plain dims, got {dims} of layout "{x.layout}"')
    stay = _staying([x.static_shape[d] for d in chosen], shape)
    chosen, shape = chosen[stay:], shape[stay:]
    old = [x.static_shape[d] for d in chosen]
    wanted = _fitted(old, list(shape))
    first, last = x.place(chosen[0])[0], x.place(chosen[-1])[0]
    flat = x
    if len(chosen) > 1:
        joined = PlainAxis(None if None in old else prod(e or 0 for e in old))
        flat = with_joined(x, first, last + 1, joined)
    flat = _that_fits(flat, first, chosen[0], wanted)
    if len(wanted) == 1:
        return flat
    axes = [*flat.axes[:first], *map(PlainAxis, wanted), *flat.axes[first + 1 :]]
    return restored(flat, shapes.grouped(len(axes), first, first + len(wanted)), axes, expand=True)


def changed_dims(
    own: Sequence[int | None], shape: tuple[object, ...], stay: int
) -> tuple[tuple[int, ...], tuple[object, ...]]:
    """The dims that differ from a shape of all of them, not less than one, and what they become: beside an extent of 0
    the others may be any. ArgumentError where these are no dense ones, or among the first `stay`."""
    most = min(len(own), len(shape)) - 1
    ragged = max((k for k, a in enumerate(own) if a is None), default=-1)  # what is in front of it stays
    nothing = [a == 0 and k > ragged for k, a in enumerate(own)]
    same = [(a == b and not gone) or (a is None and b == -1) for a, b, gone in zip(own, shape, nothing, strict=False)]
    low = min(most, [*same, False].index(False))
    back = [a == b and a != 0 for a, b in zip(own[::-1], shape[::-1], strict=False)]
    high = min(most - low, [*back, False].index(False))
    dims, changed = tuple(range(low, len(own) - high)), shape[low : len(shape) - high]
    is_plain = own[low] is not None and not low < stay > 1
    if not dims or not all(map(is_integer, changed)) or not is_plain:
        text = f"expected a shape that differs from {tuple(own)} in adjacent dense dims, got {shape}"
        raise ArgumentError(f"reshape: {text} (-1 for an extent that only calls know)")
    return dims, changed


def extents(asked: Sequence[object]) -> Sequence[object]:
    """What somebody gives as extents. ArgumentError for what is none, whatever comparing it would give."""
    for extent in asked:
        if not (extent is None or isinstance(extent, Tensor) or is_integer(extent)):
            raise ArgumentError(f"reshape: expected integers as extents, got {type(extent).__name__}")
    return asked


def unchanged(own: Sequence[object], shape: Sequence[object]) -> tuple[object, ...]:
    """A shape with None for the traced extents that a value has at the same place, and -1 for another one."""
    found = [None if isinstance(b, Tensor) and b is a else b for a, b in zip_longest(own, shape)][: len(shape)]
    if sum(isinstance(e, Tensor) or e == -1 for e in found) > 1:
        text = ", ".join("n" if isinstance(e, Tensor) else str(e) for e in shape)
        raise ArgumentError(
            f"reshape: expected one extent that only calls know beside those that stay in front, got ({text}) "
            "(x.reshape((2,), (-1, 8)) makes dim 2 two dims)"
        )
    return tuple(-1 if isinstance(e, Tensor) else e for e in found)


def first_dims(own: Sequence[object], shape: Sequence[object]) -> int:
    """How many dims in front have the extents that a shape has, which may be traced."""
    same = [
        a is b if isinstance(a, Tensor) or isinstance(b, Tensor) else a == b for a, b in zip(own, shape, strict=False)
    ]
    return [*same, False].index(False)


@operation("of_extent")
def of_extent(x: Tensor, number: Tensor, *, axis: int) -> Tensor:
    """The same, checked to have an extent that a reshape asked for."""
    if number.dtype.kind != "i":
        raise ArgumentError(f"reshape: expected integers as extents, got {number.described}")
    builders.assert_valid([build.value(x.extent(axis)), build.to_index(number.scalar)], "equal", "reshape", axis)
    return x


def _that_fits(x: Tensor, number: int, dim: int, wanted: Sequence[int | None]) -> Tensor:
    """A tensor whose plain axis has an extent that others fit, one of which may be any; a check where only calls
    know it."""
    axis, known = x.axes[number], prod(e for e in wanted if e is not None)
    if not isinstance(axis, PlainAxis) or axis.extent is not None:
        return x
    extent = build.value(shapes.dim(x.storage, number))
    if None in wanted:
        if known > 1:
            builders.assert_valid([extent], "divides", x.trace.op, dim, known)
        return x
    builders.assert_valid([extent, build.value(known)], "equal", x.trace.op, dim)
    axes = [*x.axes[:number], PlainAxis(known), *x.axes[number + 1 :]]
    return x.trace.assembled(shapes.cast(x.storage, storage_type(shape_of(axes), element_type(x.dtype))), axes, x.dtype)


def _staying(old: Sequence[int | None], new: Sequence[int]) -> int:
    """How many first dims stay what they are: views that leave them alone can be fused."""
    for at in range(min(len(old), len(new)) - 1):
        rest = [*old[at + 1 :], *new[at + 1 :]]
        fits = all(e is not None and e >= 0 for e in rest) and prod(old[at + 1 :]) == prod(new[at + 1 :])  # pyright: ignore
        if not fits or not (old[at] == new[at] or (old[at] is None and new[at] == -1)):
            return at
    return max(min(len(old), len(new)) - 1, 0)


def _fitted(old: list[int | None], new: list[int]) -> list[int | None]:
    wanted: list[int | None] = [None if e == -1 else e for e in new]
    if min(new, default=0) < -1:
        raise LayoutError(f"reshape: expected extents of at least -1, got {tuple(new)}")
    if wanted.count(None) > 1 or not new:
        raise LayoutError(f"reshape: expected at most one extent of -1, got {tuple(new)}")
    known = prod(e for e in wanted if e is not None)
    if None in old:
        if (None in wanted and not known) or known >= 2**63:
            raise LayoutError(f"reshape: expected extents that fit {tuple(old)} for any batch, got {tuple(new)}")
        return wanted
    total = prod(e for e in old if e is not None)
    if None in wanted and known and total % known == 0:
        wanted[wanted.index(None)] = total // known
    if None in wanted or prod(e for e in wanted if e is not None) != total:
        raise LayoutError(f"reshape: expected extents with product {total}, got {tuple(new)}")
    return wanted


@operation("transpose")
def transpose(x: Tensor, *, axes: tuple[int, ...]) -> Tensor:
    """Dims in another order: whole storage axes, and batch dims of one axis; a copy. LayoutError where a
    ragged dim would come before its batch."""
    order = [dim_of(x, a) for a in axes]
    if sorted(order) != list(range(x.ndim)):
        raise AxisError(f"transpose: expected a permutation of {x.ndim} axes, got {axes}")
    x = contiguous(x)
    letters = "".join(x.layout.letters[d] for d in order)
    result: list[Axis] = []
    at = 0
    while at < len(order):
        number, _ = x.place(order[at])
        own = x.layout.dims(number)
        axis = x.axes[number]
        run = order[at : at + len(own)]
        if isinstance(axis, NestedAxis):
            ragged = [d for d in run if x.layout.letter(d) in RAGGED]
            if sorted(run) != list(own) or ragged != sorted(ragged) or letters[at] != "d":
                raise LayoutError(f'transpose: expected whole nested axes, got {axes} of layout "{x.layout}"')
            result.append(
                axis
                if run == list(own)
                else NestedAxis("".join(x.layout.letters[d] for d in run), [], [None] * len(run))
            )
        else:
            result.append(axis)
        at += len(own)
    out = empty(result, [(x, d) for d in order], x.dtype)
    dims = [order.index(d) for d in range(x.ndim)]
    (made,) = compute(
        x.trace, [(x, dims)], [(out, x.dtype, result, tuple(range(x.ndim)))], x.ndim, frozenset(), lambda e: [e[0]]
    )
    known = {k: a for k, a in enumerate(result) if isinstance(a, PlainAxis) or a.vectors}
    return of_value(x.trace, made.value, x.dtype, known)
