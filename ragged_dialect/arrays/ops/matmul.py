"""Products: einsum, matmul with dense, per-component and ragged operands; with large dense weights by the BLAS of the
library whose arrays they are."""

from __future__ import annotations

from collections.abc import Mapping

from ragged_dialect.arrays.core.storage import ArrayLike
from ragged_dialect.arrays.ops.contract import contract
from ragged_dialect.arrays.tracing.operation import OPERATIONS, operation
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.errors import ArgumentError, LayoutError, brief
from ragged_dialect.layout import RAGGED


@operation("einsum")
def _einsum(*operands: Tensor, subscripts: str) -> Tensor:
    """Sums of products by subscripts; see `einsum`."""
    text = subscripts.replace(" ", "")
    inputs, arrow, result = text.partition("->")
    names = inputs.split(",")
    if not arrow:
        letters = sorted({c for c in inputs if c != ","})
        result = "".join(c for c in letters if inputs.count(c) == 1)
    if len(names) != len(operands):
        raise ArgumentError(f"einsum: expected subscripts of {len(operands)} operands, got '{subscripts}'")
    for own in names:
        if not own.isalpha():
            text = "expected letters for an operand, of rank 1 or more, and no ellipsis"
            raise ArgumentError(f"einsum: {text}, got '{own}' in '{subscripts}'")
        if len(set(own)) != len(own):
            raise ArgumentError(f"einsum: expected no letter twice in an operand, got '{own}' in '{subscripts}'")
    if len(set(result)) != len(result) or not set(result) <= set(inputs):
        raise ArgumentError(f"einsum: expected a result of letters of the operands, got '{subscripts}'")
    return contract(operands[0].trace, operands, names, result)


def einsum(subscripts: str, *operands: ArrayLike) -> ArrayLike:
    """Sums of products as `np.einsum`, one letter per dim: `einsum("blk,bln->bkn", x, y)` of ragged x and y
    is X^T Y per component. No letter twice in an operand, no ellipsis.

    A letter that is a ragged dim of one operand runs over each component's own length."""
    return _einsum(*operands, subscripts=subscripts)


@operation("matmul")
def matmul(x: Tensor, y: Tensor) -> Tensor:
    """Product over the last dim of x and the second last of y: of a ragged x with y a vector [K], dense weights [K, N],
    or weights per component [B, K, N], whose leading dims are those of x, or of extent 1; of dense x and y as
    `np.matmul`. A ragged y has rank 3: x [B, L, K] with y [B, K, N]; for X^T Y use `transposed_matmul`. Dense weights
    of float32 and float64 that are arrays of the same library go to its BLAS outside of `jit`, with NumPy those of more
    than 512 KiB, or with few rows. LayoutError for a ragged y of rank 2."""
    if not x.ndim or not y.ndim:
        raise ArgumentError("matmul: expected arrays of rank 1 or more, got a number")
    if x.is_dense and y.is_dense and max(x.ndim, y.ndim) > 2:
        return _batched(x, y)
    if y.ndim == 2 and not y.is_dense:
        hint = "(x * y).sum(axis=1) multiplies vectors, component by component"
        raise LayoutError(
            f'matmul: expected a second array that is dense or of rank 3, got layout "{y.layout}" ({hint})'
        )
    letters = "abcdefghij"[: x.ndim - 1]
    if y.ndim == 1:
        return contract(x.trace, [x, y], [f"{letters}k", "k"], letters)
    batch = letters[: y.ndim - 2] if y.is_dense or y.ndim > 2 else ""
    if len(batch) != y.ndim - 2 or (x.ndim == 1 and y.ndim > 2):
        raise ArgumentError(f"matmul: expected a second array of rank {x.ndim + 1} at most, got rank {y.ndim}")
    y, batch = _spread(y, batch, dict(zip(letters, x.static_shape, strict=False)))
    return contract(x.trace, [x, y], [f"{letters}k", f"{batch}kn"], f"{letters}n")


def _batched(x: Tensor, y: Tensor) -> Tensor:
    """Products of dense arrays: dims before the last two broadcast, from the last one on."""
    rows, columns = "mk"[-x.ndim :], "kn"[: y.ndim]
    batches = ["abcdefghij"[: max(t.ndim - 2, 0)][::-1] for t in (x, y)]
    extents = [dict(zip(batch, t.static_shape, strict=False)) for batch, t in zip(batches, (x, y), strict=True)]
    (x, own), (y, other) = _spread(x, batches[0], extents[1]), _spread(y, batches[1], extents[0])
    result = max(batches, key=len) + rows[:-1] + columns[1:]
    return contract(x.trace, [x, y], [own + rows, other + columns], result)


def _spread(t: Tensor, batch: str, beside: Mapping[str, int | None]) -> tuple[Tensor, str]:
    """A tensor without leading dims of extent 1 that are more in another one, and the letters of those that it has."""
    gone = tuple(d for d, c in enumerate(batch) if t.static_shape[d] == 1 and beside.get(c, 1) != 1)
    kept = "".join(c for d, c in enumerate(batch) if d not in gone)
    return (OPERATIONS["squeeze"](t, axis=gone) if gone else t), kept


@operation("vecdot")
def vecdot(x: Tensor, y: Tensor) -> Tensor:
    """Products of x and y, which broadcast, summed over the last dim."""
    return OPERATIONS["sum"](OPERATIONS["multiply"](x, y), axis=-1)


_GROUPED = {
    "rows": (["blk", "bkn"], "bln"),
    "contraction": (["blk", "bln"], "bkn"),
    "batch": (["blmk", "blkn"], "blmn"),
}


def _grouped(x: Tensor, w: Tensor, mode: str, names: str = "x and w") -> Tensor:
    """Products of groups. What einsum takes for padding, a dim that is ragged in one of them only, would be a group
    that is cut: LayoutError."""
    (own, other), result = _GROUPED[mode]
    for letter in set(own) & set(other) if (x.ndim, w.ndim) == (len(own), len(other)) else ():
        if (x.layout.letter(own.index(letter)) in RAGGED) != (w.layout.letter(other.index(letter)) in RAGGED):
            raise LayoutError(
                f"{x.trace.op}: expected {names} that are ragged in the same of the dims {own} and {other}, "
                f'got layouts "{x.layout}" and "{w.layout}"'
            )
    return contract(x.trace, [x, w], [own, other], result)


@operation("transposed_matmul")
def transposed_matmul(x: Tensor, y: Tensor) -> Tensor:
    """X^T Y per component: x [B, L, K] and y [B, L, N] of equal lengths give [B, K, N]; an empty component
    gives 0. LayoutError for elements that are ragged in one of them only, RuntimeCheckError for lengths that differ."""
    return _grouped(x, y, "contraction", "x and y")


@operation("ragged_dot")
def _ragged_dot(x: Tensor, w: Tensor, *, mode: str) -> Tensor:
    """See `ragged_dot`."""
    if mode not in _GROUPED:
        raise ArgumentError(f"ragged_dot: expected mode among {', '.join(_GROUPED)}, got {brief(mode)}")
    return _grouped(x, w, mode)


def grouped_product(x: Tensor, w: Tensor) -> Tensor:
    """The elements of every component times its own weights."""
    return _grouped(x, w, "rows")


def ragged_dot(x: ArrayLike, w: ArrayLike, *, mode: str = "rows") -> ArrayLike:
    """Products of groups, in the modes of `jax.lax.ragged_dot_general`; the groups are the components, of lengths L.

    `"rows"`: x [B, L, K] with weights w [B, K, N] of each group gives [B, L, N]. `"contraction"`: the sum goes over the
    elements, x [B, L, K] with w [B, L, N] gives [B, K, N], 0 for an empty group; it is what the gradient of the
    weights is. `"batch"`: a product for each element, x [B, L, M, K] with w [B, L, K, N] gives [B, L, M, N].

    ArgumentError for another mode or rank; LayoutError for dims of one name that are ragged in one of them only;
    RuntimeCheckError for lengths and extents that differ."""
    return _ragged_dot(x, w, mode=mode)


__all__ = ["einsum", "matmul", "ragged_dot", "transposed_matmul"]
