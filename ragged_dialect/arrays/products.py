"""Products: einsum, matmul with dense, per-component and ragged operands, attention."""

from __future__ import annotations

import math
from typing import Any

from ragged_dialect.arrays import elements
from ragged_dialect.arrays.contracting import contract
from ragged_dialect.arrays.function import operation
from ragged_dialect.arrays.loops import compute, empty, loops_of
from ragged_dialect.arrays.normalizing import softmax
from ragged_dialect.arrays.operators import OPERATIONS
from ragged_dialect.arrays.shaping import reshape
from ragged_dialect.arrays.tensor import Tensor
from ragged_dialect.arrays.ufuncs import UFUNCS
from ragged_dialect.errors import ArgumentError, LayoutError
from ragged_dialect.generic import loop_index


@operation("einsum")
def _einsum(*operands: Tensor, subscripts: str) -> Tensor:
    """Sums of products by subscripts; see `einsum`."""
    text = subscripts.replace(" ", "")
    inputs, arrow, result = text.partition("->")
    names = inputs.split(",")
    if not arrow:
        letters = sorted({c for c in inputs if c != ","})
        result = "".join(c for c in letters if inputs.count(c) == 1)
    if len(names) != len(operands) or not all(n.isalpha() and len(set(n)) == len(n) for n in names):
        raise ArgumentError(f"einsum: expected subscripts of {len(operands)} operands, got '{subscripts}'")
    if len(set(result)) != len(result) or not set(result) <= set(inputs):
        raise ArgumentError(f"einsum: expected a result of letters of the operands, got '{subscripts}'")
    return contract(operands[0].trace, operands, names, result)


def einsum(subscripts: str, *operands: Any) -> Any:
    """Sums of products as `np.einsum`, one letter per dim: `einsum("blk,bln->bkn", x, y)` of ragged x and y
    is X^T Y per component. No letter twice in an operand, no ellipsis.

    A letter that is a ragged dim of one operand runs over each component's own length."""
    return _einsum(*operands, subscripts=subscripts)


@operation("matmul")
def matmul(x: Tensor, y: Tensor) -> Tensor:
    """Product over the last dim of x and the second last of y: y a vector [K], dense weights [K, N], or
    weights per component [B, K, N] (leading dims are those of x). Ragged x ragged: x [B, L, K] with y
    [B, K, N]; for X^T Y use `transposed_matmul`."""
    if not x.ndim or not y.ndim:
        raise ArgumentError("matmul: expected arrays of rank 1 or more, got a number")
    letters = "abcdefghij"[: x.ndim - 1]
    if y.ndim == 1:
        return contract(x.trace, [x, y], [f"{letters}k", "k"], letters)
    batch = letters[: y.ndim - 2] if y.is_dense or y.ndim > 2 else ""
    if len(batch) != y.ndim - 2 or (x.ndim == 1 and y.ndim > 2):
        raise ArgumentError(f"matmul: expected a second array of rank {x.ndim + 1} at most, got rank {y.ndim}")
    return contract(x.trace, [x, y], [f"{letters}k", f"{batch}kn"], f"{letters}n")


@operation("vecdot")
def vecdot(x: Tensor, y: Tensor) -> Tensor:
    """Products of x and y, which broadcast, summed over the last dim."""
    return OPERATIONS["sum"](OPERATIONS["multiply"](x, y), axis=-1)


@operation("transposed_matmul")
def transposed_matmul(x: Tensor, y: Tensor) -> Tensor:
    """X^T Y per component: x [B, L, K] and y [B, L, N] of equal lengths give [B, K, N]; an empty component
    gives 0."""
    return contract(x.trace, [x, y], ["blk", "bln"], "bkn")


@operation("attention")
def attention(q: Tensor, k: Tensor, v: Tensor, *, causal: bool = False, scale: float | None = None) -> Tensor:
    """softmax(q k^T * scale) v within each component. q is [B, Lq, D] or [B, Lq, H, D], k and v have lengths
    Lk; `scale` is 1 / sqrt(D) by default. With `causal` element i sees keys 0 to i. Without keys the
    result is 0. k and v may have fewer heads, each for a group of adjacent heads of q.

    LayoutError for heads of q that are no multiple of those of k and v."""
    if q.ndim not in (3, 4) or k.ndim != q.ndim or v.ndim != q.ndim:
        raise ArgumentError(f"attention: expected arrays of rank 3 or 4, got ranks {q.ndim}, {k.ndim} and {v.ndim}")
    trace = q.trace
    extent = q.shape[-1]
    if scale is None and extent is None:
        raise ArgumentError("attention: expected a scale for a dynamic feature dim, got none")
    factor = scale if scale is not None else 1 / math.sqrt(extent or 1)
    keys, values = k.nested(0), v.nested(0)
    if keys is not None and values is not None:
        trace.conform(keys, values)
    groups = _groups(q, k)
    heads, group = "h" if q.ndim == 4 else "", "g" if groups > 1 else ""
    if group:
        q = reshape(q, dims=(2,), shape=(-1, groups))
    scores = contract(trace, [q, k], [f"bi{heads}{group}d", f"bj{heads}d"], f"bij{heads}{group}")
    scores = UFUNCS["multiply"](scores, float(factor))
    if causal:
        scores = _causal(scores)
    weights = softmax(scores, axis=2)
    made = contract(trace, [weights, v], [f"bij{heads}{group}", f"bj{heads}e"], f"bi{heads}{group}e")
    return reshape(made, dims=(2, 3), shape=(-1,)) if group else made


def _groups(q: Tensor, k: Tensor) -> int:
    """Heads of q for each head of k."""
    own, fewer = (q.shape[2], k.shape[2]) if q.ndim == 4 else (1, 1)
    if own is None or not fewer or own == fewer:
        return 1
    if own % fewer:
        raise LayoutError(f"attention: expected heads of q that are a multiple of {fewer}, got {own}")
    return own // fewer


def _causal(scores: Tensor) -> Tensor:
    """-inf above the diagonal."""
    out = empty(scores.trace, scores.axes, loops_of(scores).levels, scores.dtype)

    def body(given: list[Any]) -> list[Any]:
        seen = elements.compare("le", loop_index(2), loop_index(1))
        return [elements.select(seen, given[0], elements.infinity(scores.dtype, -1))]

    rank = scores.ndim
    outs = [(out, scores.dtype, scores.axes, tuple(range(rank)))]
    return compute(scores.trace, [(scores, range(rank))], outs, rank, frozenset(), body)[0]


__all__ = ["attention", "einsum", "matmul", "transposed_matmul"]
