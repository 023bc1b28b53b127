"""`as_nested` and `as_flattened`: arrays with a ragged dim, and without."""

from __future__ import annotations

from ragged_dialect.arrays.core.arguments import check_ragged, integer
from ragged_dialect.arrays.core.array import RaggedArray
from ragged_dialect.arrays.core.storage import Dense
from ragged_dialect.arrays.index.dims import transpose
from ragged_dialect.arrays.index.levels import merge, partition
from ragged_dialect.errors import LayoutError


def as_nested(data: Dense, offsets_or_extents: Dense, ragged_dim: int = 0, *, extents: bool = False) -> RaggedArray:
    """Dim `ragged_dim` of data in components: a batch dim and a ragged one in its place. The
    values keep their order.

    `offsets_or_extents` are offsets, [K + 1], or with `extents` the extents of the components, [K]; or, of a ragged
    dim or one below a dense dim, one such row per component or index: [M, K + 1]. RuntimeCheckError where they do
    not fit the dim."""
    return partition(data, offsets_or_extents, axis=ragged_dim, lengths=extents)


def as_flattened(nested: RaggedArray, batch_dim: int = 0, ragged_dim: int = 1) -> Dense:
    """The components of a ragged dim along one of its batch dims joined: the inverse of `as_nested` where the batch
    dim is the one before the ragged dim. Along a batch dim further out, component k of the result joins the components
    k, which moves data.

    LayoutError for a dim that is no batch of the ragged dim."""
    check_ragged("as_flattened", nested)
    batch_dim, ragged_dim = (integer("as_flattened", "dim", dim) for dim in (batch_dim, ragged_dim))
    number, level = nested.layout.locate(ragged_dim)
    first = nested.layout.dims(number)[0]
    letters = nested.layout.axes[number]
    if not first <= batch_dim < ragged_dim or letters[level] not in "rw" or set(letters[:level]) != {"d"}:
        raise LayoutError(
            f"as_flattened: expected a ragged dim and one of its batch dims, got dims {ragged_dim} and {batch_dim} "
            f'of layout "{nested.layout}"'
        )
    if batch_dim != ragged_dim - 1:
        order = [d for d in range(nested.ndim) if d != batch_dim]
        order.insert(ragged_dim - 1, batch_dim)
        nested = transpose(nested, axes=tuple(order))
    return merge(nested, axis=ragged_dim - 1)
