"""Components cut in parts by data."""

from __future__ import annotations

from ragged_dialect._mlir import tensor
from ragged_dialect.arrays.index.gather import leading_level
from ragged_dialect.arrays.index.rows import explicit_extents, kept_rows
from ragged_dialect.arrays.tracing.axes import NestedAxis
from ragged_dialect.arrays.tracing.elements import BOOL
from ragged_dialect.arrays.tracing.operation import OPERATIONS, operation
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.arrays.tracing.wrap import contiguous
from ragged_dialect.errors import ArgumentError
from ragged_dialect.ir import build, shapes, vectors


@operation("split_before")
def split_before(x: Tensor, begins: Tensor) -> Tensor:
    """Every component cut in parts: one more ragged level, a view. A part begins at the first element of a component,
    and at each where `begins` is true, a ragged mask of the structure of the leading levels of `x`; what is empty has
    no parts. Runs of equal elements begin where `np.diff(x, axis=1, prepend=x[:, :1]) != 0`.

    >>> words = rg.ragged([[7, 7, 3, 3, 3], [], [5]])
    >>> rg.split_before(words, np.diff(words, axis=1, prepend=words[:, :1]) != 0).tolist()
    [[[7, 7], [3, 3, 3]], [], [[5]]]
    """
    if begins.dtype != BOOL:
        raise ArgumentError(f"{x.trace.op}: expected a mask of booleans, got {begins.described}")
    x, begins = contiguous(x), contiguous(begins)
    dim = leading_level(x, begins)
    axis = x.nested_axis()
    first = OPERATIONS["equal"](OPERATIONS["local_index"](begins, axis=dim), 0)
    before, at = kept_rows(OPERATIONS["logical_or"](begins, first))
    count, place = shapes.dim(at, 0), axis.letters[:dim].count("r")
    into = vectors.empty(build.add(count, 1))
    parts = tensor.insert(build.to_i64(shapes.dim(begins.storage, 0)), into, [count])
    parts = shapes.insert_slice(at, parts, [0], [count])
    extents = explicit_extents(x, 0)
    made = NestedAxis(
        f"{axis.letters[: dim + 1]}r{axis.letters[dim + 1 :]}",
        [*axis.vectors[:place], vectors.gather(before, axis.vectors[place]), parts, *axis.vectors[place + 1 :]],
        [*extents[: dim + 1], None, *extents[dim + 1 :]],
    )
    return x.trace.assembled(x.storage, [made, *x.axes[1:]], x.dtype)
