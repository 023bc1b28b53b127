"""Attention within each component, with masks and grouped heads."""

from __future__ import annotations

import math

from ragged_dialect._mlir import arith, ir
from ragged_dialect.arrays.core import storage
from ragged_dialect.arrays.core.storage import ArrayLike
from ragged_dialect.arrays.index.dims import reshape
from ragged_dialect.arrays.ops.contract import contract
from ragged_dialect.arrays.ops.elementwise import UFUNCS
from ragged_dialect.arrays.ops.normalise import softmax
from ragged_dialect.arrays.tracing import elements
from ragged_dialect.arrays.tracing.agreement import batch_extent, covers, equal_extents
from ragged_dialect.arrays.tracing.axes import NestedAxis, PlainAxis, shape_of
from ragged_dialect.arrays.tracing.leaves import dense_leaf, is_dense
from ragged_dialect.arrays.tracing.loops import mapped
from ragged_dialect.arrays.tracing.operation import operation
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.arrays.tracing.wrap import contiguous
from ragged_dialect.errors import ArgumentError, LayoutError
from ragged_dialect.generic import loop_index
from ragged_dialect.ir import shapes
from ragged_dialect.layout import RAGGED
from ragged_dialect.types import dense_type

Loops = list[int | None]


@operation("attention")
def _attention(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, *, causal: bool = False, scale: float | None = None
) -> Tensor:
    """See `attention`."""
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
    dims = _scores(trace.device, heads + group, mask is not None or groups > 1)
    scores = contract(trace, [q, k], [f"bi{heads}{group}d", f"bj{heads}d"], dims)
    scores = UFUNCS["multiply"](scores, float(factor))
    if mask is not None:
        weights = _masked_weights(scores, mask, groups, causal)
    else:
        keys = dims.index("j")
        weights = softmax(_causal(scores, keys) if causal else scores, axis=keys)
    made = contract(trace, [weights, v], [dims, f"bj{heads}e"], f"bi{heads}{group}e")
    return reshape(made, dims=(2, 3), shape=(-1,)) if group else made


def attention(
    q: ArrayLike,
    k: ArrayLike,
    v: ArrayLike,
    *,
    causal: bool = False,
    mask: ArrayLike = None,
    scale: float | None = None,
) -> ArrayLike:
    """softmax(q k^T * scale) v within each component. q is [B, Lq, D] or [B, Lq, H, D], k and v have lengths
    Lk; `scale` is 1 / sqrt(D) by default. k and v may have fewer heads, each for a group of adjacent heads
    of q. With `causal` element i sees keys 0 to i.

    `mask` says which keys an element sees, or, of floats, what is added to the scores: a ragged [B, Lq, Lk]
    or [B, Lq, Lk, H], or a dense one that broadcasts to [B, H, Lq, Lk] and reaches the longest components.
    Where there is no key to see the result is 0.

    LayoutError for heads of q that are no multiple of those of k and v, and for masks of other layouts;
    RuntimeCheckError for lengths and extents that differ."""
    if is_dense(mask):
        rank = storage.take(mask).ndim  # the extents that reach the longest components change with every batch
        mask = dense_leaf(mask, frozenset({rank - 1, rank - 2, *((0,) if rank == 4 else ())}))
    return _attention(q, k, v, mask, causal=causal, scale=scale)


def _scores(device: str, heads: str, shared: bool) -> str:
    """The dims of the scores. On the CPU keys are innermost, so that vectors go along them; on a GPU heads, which have
    threads of their own then, and where masks or groups of heads have them so."""
    return f"bi{heads}j" if device == "cpu" and not shared else f"bij{heads}"


def _groups(q: Tensor, k: Tensor) -> int:
    """Heads of q for each head of k."""
    own, fewer = (q.shape[2], k.shape[2]) if q.ndim == 4 else (1, 1)
    if own is None or not fewer or own == fewer:
        return 1
    if own % fewer:
        raise LayoutError(f"attention: expected heads of q that are a multiple of {fewer}, got {own}")
    return own // fewer


def _causal(scores: Tensor, keys: int) -> Tensor:
    """-inf above the diagonal."""
    return mapped(
        scores, [], scores.dtype, lambda e: elements.select(_is_before(keys), e[0], elements.infinity(scores.dtype, -1))
    )


def _is_before(keys: int) -> ir.Value:
    """Whether a key is not behind its query, given the dim of keys."""
    return elements.compare("le", loop_index(keys), loop_index(1))


def _masked_weights(scores: Tensor, mask: Tensor, groups: int, causal: bool) -> Tensor:
    """The softmax over the keys; 0 for keys that are not seen, also where none is."""
    if elements.kind(mask.dtype) not in "bf" or not mask.axes:
        raise ArgumentError(f"attention: expected a mask of booleans or floats, got {mask.dtype} of rank {mask.ndim}")
    mask, loops = _aligned(scores, mask, groups)
    boolean, dtype = elements.kind(mask.dtype) == "b", scores.dtype

    def is_seen(shown: ir.Value) -> ir.Value:
        seen = shown if boolean else elements.compare("ne", shown, elements.infinity(mask.dtype, -1))
        return arith.andi(seen, _is_before(2)) if causal else seen

    def masked(given: list[ir.Value]) -> ir.Value:
        score = given[0] if boolean else arith.addf(given[0], elements.convert(given[1], mask.dtype, dtype))
        return elements.select(is_seen(given[1]), score, elements.infinity(dtype, -1))

    def kept(given: list[ir.Value]) -> ir.Value:
        return elements.select(is_seen(given[1]), given[0], elements.constant(dtype, 0))

    weights = softmax(mapped(scores, [(mask, loops)], scores.dtype, masked), axis=2)
    return mapped(weights, [(mask, loops)], weights.dtype, kept)


def _aligned(scores: Tensor, mask: Tensor, groups: int) -> tuple[Tensor, Loops]:
    """A mask with one dim for heads and one for their groups if there are any, and the loop of each of its dims."""
    mask = contiguous(mask)
    heads = list(range(3, scores.ndim))
    order: Loops = [0, *heads, 1, 2] if mask.is_dense else [0, 1, 2, *heads]
    at = mask.ndim - 3 if mask.is_dense else 3
    if groups > 1 and 0 <= at < mask.ndim:
        if mask.shape[at] == 1:
            order.remove(heads[-1])
        else:
            mask = reshape(_with_extent(mask, at, (scores.shape[3] or 0) * groups), dims=(at,), shape=(-1, groups))
    return mask, _checked(scores, mask, order)


def _with_extent(mask: Tensor, dim: int, extent: int) -> Tensor:
    """A mask whose dim has a static extent, which calls are asked for."""
    number, _ = mask.place(dim)
    axes = [*mask.axes[:number], PlainAxis(extent), *mask.axes[number + 1 :]]
    if mask.shape[dim] is not None:
        equal_extents((Tensor(mask.trace, mask.value, mask.dtype, tuple(axes)), dim), (mask, dim), dim)
        return mask
    storage = shapes.cast(mask.storage, dense_type(shape_of(axes).storage_shape(), mask.storage.type.element_type))
    return mask.trace.assembled(storage, axes, mask.dtype)


def _checked(scores: Tensor, mask: Tensor, order: Loops) -> Loops:
    if mask.is_dense:
        if not 2 <= mask.ndim <= len(order):
            raise LayoutError(f"attention: expected a dense mask of rank 2 to {len(order)}, got rank {mask.ndim}")
        order = order[-mask.ndim :]
        return [_loop(scores, mask, dim, loop) for dim, loop in enumerate(order)]
    axis, own = mask.axes[0], scores.axes[0]
    if not (isinstance(axis, NestedAxis) and isinstance(own, NestedAxis)) or axis.letters != own.letters:
        raise LayoutError(f'attention: expected a mask of layout "{own.letters}", got "{mask.layout}"')
    if mask.ndim > len(order):
        raise LayoutError(f"attention: expected a mask of rank 3 to {len(order)}, got rank {mask.ndim}")
    scores.trace.conform(own, axis)
    return [0, 1, 2, *(_loop(scores, mask, dim, order[dim]) for dim in range(3, mask.ndim))]


def _loop(scores: Tensor, mask: Tensor, dim: int, loop: int | None) -> int | None:
    """The loop of a dense dim of a mask, None where it broadcasts."""
    if loop is None or mask.shape[dim] == 1:
        return None
    if scores.layout.letter(loop) in RAGGED:
        covers((mask, dim), (scores, loop))
    elif scores.layout.is_plain(loop):
        equal_extents((scores, loop), (mask, dim), dim)
    else:
        batch_extent((mask, dim), (scores, loop), dim)
    return loop


__all__ = ["attention"]
