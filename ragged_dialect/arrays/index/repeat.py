"""Elements and inner lists several times, side by side."""

from __future__ import annotations

from ragged_dialect import builders
from ragged_dialect._mlir import ir, tensor
from ragged_dialect.arrays.core.arguments import axis_of_vector
from ragged_dialect.arrays.index.gather import leading_level, levels_of
from ragged_dialect.arrays.index.getitem import take_at
from ragged_dialect.arrays.index.reorder import rearranged
from ragged_dialect.arrays.index.rows import as_index, ragged_level, repeated_rows, static_extent
from ragged_dialect.arrays.tracing.agreement import batch_extent, equal_extents
from ragged_dialect.arrays.tracing.axes import Axis, NestedAxis, PlainAxis
from ragged_dialect.arrays.tracing.elements import BOOL, INT64, convert
from ragged_dialect.arrays.tracing.loops import compute, empty
from ragged_dialect.arrays.tracing.operation import operation
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.arrays.tracing.trace import element_type
from ragged_dialect.arrays.tracing.wrap import contiguous
from ragged_dialect.errors import ArgumentError, LayoutError
from ragged_dialect.generic import generic
from ragged_dialect.ir import build, flow, shapes, vectors
from ragged_dialect.ir.build import Mixed
from ragged_dialect.layout import RAGGED

_MOST = 2**62
"""Rows that offsets hold: their running sum does not wrap."""


@operation("repeat")
def repeat(x: Tensor, repeats: Tensor, *, axis: int | None = None) -> Tensor:
    """Each element, or inner list, of a dim as often as `repeats` says, side by side, as `np.repeat`. That is a number,
    or integers: for a ragged dim in the structure of the dims up to it, for another one a vector. The dim is left out
    of vectors only. The values have a gradient. ArgumentError for what is no integer, LayoutError for another
    structure, RuntimeCheckError where one is below 0.

    >>> words = rg.ragged([[10, 20], [], [30]])
    >>> rg.repeat(words, rg.ragged([[2, 1], [], [3]]), axis=1).tolist()
    [[10, 10, 20], [], [30, 30, 30]]
    >>> rg.repeat(words, np.array([1, 0, 2]), axis=0).tolist()
    [[10, 20], [30], [30]]
    """
    op = x.trace.op
    dim = axis_of_vector(op, axis, x.ndim)
    if repeats.dtype.kind != "i":
        raise ArgumentError(f"{op}: expected integers for repeats, got {repeats.described}")
    x = contiguous(x)
    is_ragged = x.layout.letter(dim) in RAGGED
    if is_ragged:
        _, level, own = ragged_level(x, dim)
        size = vectors.last(own.vectors[own.letters[:level].count("r")])
    else:
        size = build.value(x.extent(dim))
    number = as_index(repeats) if repeats.ndim == 0 else None
    if number is not None:
        counts = vectors.generate(size, lambda _: number)
        builders.assert_valid([number], "at_least", op, dim, factor=0)
    else:
        given = _agreed(x, dim, repeats, is_ragged)
        counts = vectors.generate(size, lambda i: convert(tensor.extract(given.storage, [i]), given.dtype, INT64))
        builders.assert_valid([counts], "at_least", op, dim, factor=0)
    total = flow.for_loop(
        size, [build.value(0)], lambda i, sums: [build.add_unsigned(sums[0], shapes.load(counts, i))], "add_unsigned"
    )[0]
    builders.assert_valid([build.capped(total)], "at_most", f"{op}: all", dim, factor=_MOST)
    if len(x.axes) > 1 and _is_innermost(x, dim):  # what follows fuses with it
        return _rows_again(x, dim, counts)
    if number is not None and _is_innermost(x, dim):
        return _all_again(x, dim, static_extent(repeats) or number)
    before, at = repeated_rows(x, size, lambda i: tensor.extract(counts, [i]))
    return rearranged(x, dim, at, levels_of(x, dim, before)) if is_ragged else take_at(x, dim, at)


def _is_innermost(x: Tensor, dim: int) -> bool:
    """Whether the dim is the last one of the first axis, and has only dense dims below."""
    return dim == x.layout.dims(0)[-1] and all(isinstance(axis, PlainAxis) for axis in x.axes[1:])


def _all_again(x: Tensor, dim: int, number: Mixed) -> Tensor:
    """All elements as often: one dim more, which becomes a part of the rows', and nothing says which one is where."""
    axis, *below = x.axes
    size, *features = x.storage_sizes()
    rank = len(below) + 2
    read = ir.AffineMap.get(rank, 0, [ir.AffineDimExpr.get(k) for k in range(rank) if k != 1])
    out = shapes.empty([size, number, *features], element_type(x.dtype))
    maps = [read, ir.AffineMap.get_identity(rank)]
    made = generic([x.storage], [out], maps, ["parallel"] * rank, lambda given: given[:1]).result
    storage = shapes.collapse(made, shapes.grouped(rank, 0, 2))
    own: Axis = PlainAxis(None)
    if isinstance(axis, NestedAxis):
        own = levels_of(x, dim, vectors.generate(build.add(build.value(size), 1), lambda i: build.mul(i, number)))
    return x.trace.assembled(storage, [own, *below], x.dtype)


def _rows_again(x: Tensor, dim: int, counts: ir.Value) -> Tensor:
    """Rows of features, each one a list of itself: it is read once, and not by its place for each time (0.4 to 0.8 of
    the time, Zen 4)."""
    before = vectors.running(shapes.dim(counts, 0), lambda i: tensor.extract(counts, [i]))
    runs = NestedAxis("dr", [before], [None, None])
    like = Tensor(x.trace, x.trace.nothing_of(runs), BOOL, (runs,))
    axis, *below = x.axes
    rows = Tensor(x.trace, x.storage, x.dtype, (PlainAxis(None), *below))
    features = [(rows, k) for k in range(1, rows.ndim)]
    out = empty([runs, *below], [(like, 0), (like, 1), *features], x.dtype)
    loops = range(rows.ndim + 1)
    operands, outs = [(rows, [0, *loops[2:]])], [(out, x.dtype, [runs, *below], loops)]
    (made,) = compute(x.trace, operands, outs, len(loops), frozenset(), lambda given: given[:1])
    own = levels_of(x, dim, before) if isinstance(axis, NestedAxis) else PlainAxis(None)
    return x.trace.assembled(made.storage, [own, *below], x.dtype)


def _agreed(x: Tensor, dim: int, repeats: Tensor, is_ragged: bool) -> Tensor:
    """Numbers for all rows of a dim, one after the other."""
    if is_ragged and not repeats.is_dense:
        repeats = contiguous(repeats)
        if leading_level(x, repeats) == dim:
            return repeats
    elif not is_ragged and repeats.is_dense and repeats.ndim == 1:
        agree = equal_extents if x.layout.is_plain(dim) else batch_extent
        agree((repeats, 0), (x, dim), dim)
        return repeats
    wanted = f"the structure of dims 0 to {dim}" if is_ragged else "a vector"
    raise LayoutError(
        f'{x.trace.op}: expected a number or {wanted} for repeats of dim {dim}, got layout "{repeats.layout}"'
    )
