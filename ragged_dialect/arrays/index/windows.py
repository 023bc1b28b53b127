"""What stands side by side: windows along a dim, as one more dim."""

from __future__ import annotations

from ragged_dialect._mlir import arith, ir
from ragged_dialect.arrays.core.arguments import integer
from ragged_dialect.arrays.index.dims import dim_of, reshape
from ragged_dialect.arrays.index.getitem import take_at
from ragged_dialect.arrays.index.reorder import relaid, rows_by_component
from ragged_dialect.arrays.index.rows import component_lengths, component_starts
from ragged_dialect.arrays.tracing.operation import operation
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.arrays.tracing.wrap import contiguous
from ragged_dialect.errors import ArgumentError, LayoutError
from ragged_dialect.ir import build, shapes, vectors
from ragged_dialect.ir.build import Mixed
from ragged_dialect.layout import RAGGED


@operation("windows")
def windows(x: Tensor, *, size: int, step: int = 1, axis: int = 1) -> Tensor:
    """`size` elements, or inner lists, side by side, from every `step`-th one of a component on: the dim has as many
    windows as fit into a component, the dim after it is the window, dense. That is `tf.signal.frame` of each component;
    `np.lib.stride_tricks.sliding_window_view` has the window as its last dim. Sums over windows in `rg.jit` read the
    elements where they are. The values have a gradient. ArgumentError for a size or step below 1, LayoutError for a
    dense dim above ragged ones.

    >>> steps = rg.ragged([[1.0, 2.0, 4.0, 8.0], [], [3.0]])
    >>> rg.windows(steps, 2).tolist()
    [[[1.0, 2.0], [2.0, 4.0], [4.0, 8.0]], [], []]
    >>> rg.windows(steps, 2, step=2).mean(axis=2).tolist()
    [[1.5, 6.0], [], []]
    """
    op, dim = x.trace.op, dim_of(x, axis)
    size, step = _counted(op, "size", size), _counted(op, "step", step)
    x = contiguous(x)
    if x.layout.is_plain(dim):
        return _of_plain(x, dim, size, step)
    if x.layout.letter(dim) not in RAGGED:
        raise LayoutError(f'{op}: expected a ragged or a plain dim, got dim {dim} of layout "{x.layout}"')
    lengths, starts = component_lengths(x, dim), component_starts(x, dim)
    parents = shapes.dim(lengths, 0)
    offsets = vectors.running(parents, lambda p: build.to_i64(_count(shapes.load(lengths, p), size, step)))

    def row(component: ir.Value, at: ir.Value, place: ir.Value) -> Mixed:
        return build.add(shapes.load(starts, component), build.add(build.mul(at, step), place))

    return rows_by_component(x, dim, relaid(x, dim, offsets), row, size)


def _counted(op: str, name: str, number: int) -> int:
    """A number of elements that kernels, whose indices may have 32 bits, know too."""
    found = integer(op, name, number)
    if not 1 <= found < 2**31:
        raise ArgumentError(f"{op}: expected a {name} from 1 to {2**31 - 1}, got {found}")
    return found


def _count(extent: Mixed, size: int, step: int) -> Mixed:
    """How many windows fit into an extent."""
    return build.ceildiv(build.maximum(build.sub(extent, size - 1), 0), step)


def _of_plain(x: Tensor, dim: int, size: int, step: int) -> Tensor:
    count = _count(x.extent(dim), size, step)
    known = count if isinstance(count, int) else None

    def place(k: ir.Value) -> Mixed:
        return build.add(build.mul(build.divide(k, size), step), arith.remui(k, build.value(size)))

    at = vectors.generate(build.mul(count, size), place)
    taken = take_at(x, dim, at, None if known is None else known * size)
    return reshape(taken, dims=(dim,), shape=(-1 if known is None else known, size))
