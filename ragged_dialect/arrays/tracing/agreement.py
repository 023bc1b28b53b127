"""Extents that have to agree: decided while tracing, a guard between arguments, or a check of the program."""

from __future__ import annotations

from ragged_dialect import builders
from ragged_dialect._mlir import ir
from ragged_dialect.arrays.tracing.axes import NestedAxis, PlainAxis
from ragged_dialect.arrays.tracing.guards import Covers, EqualExtents
from ragged_dialect.arrays.tracing.leaves import Origin
from ragged_dialect.arrays.tracing.tensor import Tensor, TensorLevel
from ragged_dialect.errors import ArgumentError, LayoutError, RuntimeCheckError
from ragged_dialect.ir import build
from ragged_dialect.layout import RAGGED


def _plain(level: TensorLevel) -> PlainAxis:
    x, dim = level
    axis = x.axes[x.place(dim)[0]]
    assert isinstance(axis, PlainAxis)
    return axis


def _origin(level: TensorLevel) -> Origin | None:
    """The argument's dim that has the extent of a dense dim, None for an extent made in the program."""
    x, dim = level
    number, at = x.place(dim)
    axis = x.axes[number]
    if isinstance(axis, PlainAxis):
        return axis.origin
    origin = axis.root.origin
    return None if origin is None or origin.derived else Origin(origin.leaf, origin.dim + at)


def _value(level: TensorLevel) -> ir.Value:
    x, dim = level
    return build.value(x.extent(dim))


def _check(expected: TensorLevel, given: TensorLevel, dim: int) -> None:
    """Ask that two dense extents that are not both static are equal."""
    trace = expected[0].trace
    wanted, own = (known_extent(level) for level in (expected, given))
    if wanted is not None and wanted == own:
        return
    check = builders.assert_valid([_value(given), _value(expected)], "equal", trace.op, dim)
    if own is not None and wanted is not None:
        trace.guard(EqualExtents(trace.op, own, wanted, dim), check)


def known_extent(level: TensorLevel) -> Origin | int | None:
    """The extent of a dense dim, if it is static, else the dim of an argument that has it; None for one that the
    program makes."""
    extent = level[0].static_shape[level[1]]
    return extent if extent is not None else _origin(level)


def equal_extents(a: TensorLevel, b: TensorLevel, dim: int) -> TensorLevel:
    """Two plain dims have one extent; the one to take it from, which is static if one of them is.

    RuntimeCheckError, now or in calls, where they differ; `dim` is the result's."""
    first, second = _plain(a), _plain(b)
    if first.extent is not None and second.extent is not None:
        if first.extent != second.extent:
            op = a[0].trace.op
            raise RuntimeCheckError(f"{op}: dim {dim}: expected extent {first.extent}, got {second.extent}")
        return a
    _check(a, b, dim)
    return b if first.extent is None and second.extent is not None else a


def has_extent(a: TensorLevel, extent: int, dim: int) -> None:
    """A plain dim has an extent.

    RuntimeCheckError, now or in calls, where it has another one; `dim` is the result's."""
    op, given = a[0].trace.op, _plain(a).extent
    if given is not None and given != extent:
        raise RuntimeCheckError(f"{op}: dim {dim}: expected extent {extent}, got {given}")
    if given is None:
        builders.assert_valid([_value(a), build.value(extent)], "equal", op, dim)


def batch_extent(plain: TensorLevel, batch: TensorLevel, dim: int) -> None:
    """The extent of a plain dim, or a dense level, is that of a dense level of a nested axis."""
    _check(batch, plain, dim)


def equal_levels(a: Tensor, b: Tensor, dim: int, levels: int) -> None:
    """The first levels of the nested axes that begin at a dim of both: lengths of the ragged ones, extents of the dense
    ones."""
    own, other = (x.nested_axis(x.place(dim)[0]) for x in (a, b))
    ragged = [level for level in range(levels) if own.letters[level] in RAGGED]
    if ragged:
        a.trace.conform(*(a.trace.prefix(axis, ragged[-1] + 1) for axis in (own, other)))
    for level, letter in enumerate(own.letters[:levels]):
        if letter == "d":
            _check((a, dim + level), (b, dim + level), dim + level)


def equal_structures(a: Tensor, b: Tensor) -> None:
    """Two tensors have one layout, with the same extents and lengths.

    LayoutError for other layouts; RuntimeCheckError, now or in calls, for other extents and lengths."""
    if a.layout != b.layout:
        raise LayoutError(f'{a.trace.op}: expected arrays of one layout, got "{a.layout}" and "{b.layout}"')
    equal_beside(a, b)


def equal_beside(a: Tensor, b: Tensor, joined: int | None = None) -> None:
    """Two tensors of as many levels have the same extents and lengths, but for those of a dim and the levels below it.

    RuntimeCheckError, now or in calls."""
    of, above = (None, 0) if joined is None else a.place(joined)
    for number, axis in enumerate(a.axes):
        dim = a.layout.dims(number)[0]
        if isinstance(axis, NestedAxis):
            equal_levels(a, b, dim, above if number == of else len(axis.letters))
        elif number != of:
            equal_extents((a, dim), (b, dim), dim)


def same_kind(x: Tensor, old: Tensor, name: str) -> None:
    """What a loop carries next has the dtype and the layout of what it carries. ArgumentError."""
    if x.dtype != old.dtype or x.layout != old.layout:
        hint = f" (init as {x.dtype.name}, or the {name} as {old.dtype.name})" if x.dtype != old.dtype else ""
        wanted = f"expected a {name} as in init, {old.described}"
        raise ArgumentError(f"{x.trace.op}: {wanted}, got {x.described}{hint}")


def covers(plain: TensorLevel, ragged: TensorLevel) -> None:
    """The extent of a plain dim reaches the longest component of a ragged one."""
    x, dim = ragged
    number, level = x.place(dim)
    axis = x.nested_axis(number)
    own = _plain(plain)
    extent = own.extent if own.extent is not None else own.origin
    origin = axis.root.origin
    check = builders.assert_valid([_value(plain), builders.lengths(x.value, dim)], "covers", x.trace.op, dim)
    if origin is not None and extent is not None:
        x.trace.guard(Covers(x.trace.op, extent, origin, level), check)
