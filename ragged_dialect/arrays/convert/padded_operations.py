"""The operations between padded and ragged arrays."""

from __future__ import annotations

from ragged_dialect import builders
from ragged_dialect._mlir import arith, ir
from ragged_dialect.arrays.core.arguments import check_untiled
from ragged_dialect.arrays.core.storage import ArrayLike
from ragged_dialect.arrays.index.dims import with_joined
from ragged_dialect.arrays.index.levels import structured
from ragged_dialect.arrays.index.rows import as_index, filler, kept, static_extent
from ragged_dialect.arrays.ops.reduce import reduce
from ragged_dialect.arrays.tracing import elements
from ragged_dialect.arrays.tracing.agreement import equal_extents
from ragged_dialect.arrays.tracing.axes import NestedAxis, PlainAxis
from ragged_dialect.arrays.tracing.elements import BOOL, INT64, compare, select
from ragged_dialect.arrays.tracing.operation import OPERATIONS, operation
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.arrays.tracing.trace import known
from ragged_dialect.errors import ArgumentError
from ragged_dialect.generic import loop_index
from ragged_dialect.ir import build, shapes, vectors
from ragged_dialect.layout import RAGGED
from ragged_dialect.types import dense_type, shape_of


@operation("to_padded")
def _to_padded(x: Tensor, pad: Tensor, *maxima: Tensor, truncate: bool) -> Tensor:
    """A dense tensor with every ragged dim padded; see `to_padded`."""
    ragged = [d for d, c in enumerate(x.layout.letters) if c in RAGGED]
    if x.is_dense:
        raise ArgumentError(f"to_padded: expected a ragged array, got {x.described}")
    check_untiled("to_padded", x.layout)
    if truncate and not maxima:
        raise ArgumentError("to_padded: expected max_lengths with truncate, got none")
    if maxima and len(maxima) != len(ragged):
        raise ArgumentError(f"to_padded: expected {len(ragged)} max_lengths, got {len(maxima)}")
    limits = [as_index(m) for m in maxima]
    padding = filler(pad, x.dtype)
    made = builders.to_padded(x.value, padding, limits, truncate)
    static = list(shape_of(made.type).shape)
    for dim, number in zip(ragged, maxima, strict=False):
        static[dim] = static_extent(number)
    return structured(x, shapes.cast(made, dense_type(tuple(static), made.type.element_type)))


@operation("from_padded")
def _from_padded(dense: Tensor, lengths: Tensor | None, pad: Tensor | None, mask: Tensor | None) -> Tensor:
    """Rows of a padded tensor; see `from_padded`."""
    if not dense.is_dense or dense.ndim < 2:
        raise ArgumentError(f'from_padded: expected a dense array of rank 2 or more, got layout "{dense.layout}"')
    if mask is not None:
        return _by_mask(dense, mask)
    if lengths is not None and (lengths.ndim != 1 or lengths.dtype.kind != "i" or not lengths.is_dense):
        raise ArgumentError(f"from_padded: expected a vector of integers for lengths, got {lengths.described}")
    vector = shapes.as_vector(lengths.storage) if lengths is not None else _trimmed(dense, pad)
    if lengths is not None:
        equal_extents((dense, 0), (lengths, 0), 0)
        builders.assert_valid([vector], "at_least", "from_padded", 1, 0)
    letters = "|".join(["dr", *("d" * (dense.ndim - 2))])
    made = builders.from_padded(dense.value, [vectors.scan(vector)], letters)
    return structured(dense, made if lengths is not None else known(made))


def _trimmed(dense: Tensor, pad: Tensor | None) -> ArrayLike:
    """Per row the number of elements up to the last one that is not all `pad`."""
    assert pad is not None
    padding = filler(pad, dense.dtype)

    def combine(given: list[ir.Value], accumulated: list[ir.Value]) -> list[ir.Value]:
        here = arith.addi(build.to_i64(loop_index(1)), elements.constant(INT64, 1))
        different = compare("ne", given[0], padding)
        if elements.kind(dense.dtype) == "f":  # nan pads nan
            different = arith.andi(
                different, arith.ori(compare("eq", given[0], given[0]), compare("eq", padding, padding))
            )
        return [arith.maxsi(accumulated[0], select(different, here, elements.constant(INT64, 0)))]

    dims = frozenset(range(1, dense.ndim))
    (made,) = reduce(dense, dims, [(INT64, elements.constant(INT64, 0))], combine)
    return shapes.as_vector(made.value)


def _by_mask(dense: Tensor, mask: Tensor) -> Tensor:
    """The elements where a mask [B, L] is true, a component per row."""
    if mask.ndim != 2 or mask.dtype != BOOL or not mask.is_dense:
        raise ArgumentError("from_padded: expected a mask of booleans of rank 2, got another array")
    for dim in range(2):
        equal_extents((dense, dim), (mask, dim), dim)
    offsets = vectors.scan(OPERATIONS["sum"](mask, axis=1).storage)
    flat, rows = (with_joined(x, 0, 2, PlainAxis(None)) for x in (mask, dense))
    return kept(rows, 0, flat.storage, NestedAxis("dr", [offsets], [None, None]))
