"""Attention within each component, with masks and grouped heads."""

from __future__ import annotations

import math

from ragged_dialect import builders
from ragged_dialect._mlir import arith, ir
from ragged_dialect.arrays.core.storage import ArrayLike
from ragged_dialect.arrays.index.dims import reshape, squeeze, unsqueeze
from ragged_dialect.arrays.ops.contract import contract
from ragged_dialect.arrays.ops.elementwise import UFUNCS, astype, resolve
from ragged_dialect.arrays.ops.normalise import softmax
from ragged_dialect.arrays.ops.statistics import float_dtype, wide
from ragged_dialect.arrays.tracing import elements
from ragged_dialect.arrays.tracing.agreement import batch_extent, covers, equal_batches, equal_extents
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
from ragged_dialect.ops.attention import CAPS, Keys
from ragged_dialect.types import dense_type

Loops = list[int | None]


Window = tuple[int, int]


@operation("attention")
def _attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None,
    *,
    causal: bool | str = False,
    scale: float | None = None,
    window: Window | None = None,
    softcap: float | None = None,
    return_lse: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """See `attention`."""
    if q.ndim not in (3, 4) or k.ndim != q.ndim or v.ndim != q.ndim:
        raise ArgumentError(f"attention: expected arrays of rank 3 or 4, got ranks {q.ndim}, {k.ndim} and {v.ndim}")
    extent = q.shape[-1]
    if scale is None and extent is None:
        raise ArgumentError("attention: expected a scale for a dynamic feature dim, got none")
    factor = float(scale if scale is not None else 1 / math.sqrt(extent or 1))
    keys, values = k.nested(0), v.nested(0)
    if keys is not None and values is not None:
        q.trace.conform(keys, values)
    if softcap is not None and not CAPS[0] <= softcap <= CAPS[1]:
        raise ArgumentError(f"attention: expected a softcap in [{CAPS[0]:g}, {CAPS[1]:g}], got {softcap}")
    if mask is None:
        visible = _visible(causal, window)
        made, lse = _by_op(q, k, v, factor, str(visible), softcap)
        return (made, lse) if return_lse else made
    if causal == "bottom-right" or window is not None or softcap is not None or return_lse:
        raise ArgumentError("attention: expected no mask beside bottom-right, window, softcap or return_lse, got one")
    return _with_mask(q, k, v, mask, bool(causal), factor)


def _visible(causal: bool | str, window: Window | None) -> Keys:
    """The keys that an element sees. ArgumentError."""
    if causal not in (False, True, "top-left", "bottom-right"):
        raise ArgumentError(f"attention: expected causal among False, True, top-left, bottom-right, got {causal!r}")
    if window is not None and not (len(window) == 2 and all(type(n) is int and -1 <= n < 10**18 for n in window)):
        raise ArgumentError(f"attention: expected a window of two integers in [-1, 10**18), got {window!r}")
    left, right = (None if n == -1 else n for n in window or (-1, -1))
    return Keys(left, 0 if causal else right, causal == "bottom-right")


def _by_op(q: Tensor, k: Tensor, v: Tensor, scale: float, keys: str, softcap: float | None) -> tuple[Tensor, Tensor]:
    """Attention as an op, which has heads, one where there are none."""
    _check_layouts(q, k, v)
    dtype = float_dtype(resolve("multiply", [q, k])[1][0])
    dtype = float_dtype(resolve("multiply", [astype(q, dtype=dtype), v])[1][0])
    q, k, v = (x if x.dtype == dtype else astype(x, dtype=dtype) for x in (contiguous(q), k, v))
    features = q.ndim - 1
    equal_extents((q, features), (k, features), features)
    if q.ndim == 4:
        return _with_heads(q, k, v, scale, keys, softcap)
    q, k, v = (unsqueeze(x, axis=2) for x in (q, k, v))
    made, lse = _with_heads(q, k, v, scale, keys, softcap)
    return squeeze(made, axis=2), squeeze(lse, axis=2)


def _with_heads(
    q: Tensor, k: Tensor, v: Tensor, scale: float, keys: str, softcap: float | None
) -> tuple[Tensor, Tensor]:
    """The op on arrays of rank 4, of one dtype, whose extents of features agree."""
    _groups(q, k)
    equal_batches(q, k)
    equal_batches(q, v)
    equal_extents((k, 2), (v, 2), 2)
    if None in (q.shape[2], k.shape[2]):
        equal_extents((q, 2), (k, 2), 2)
    o, lse = builders.attention(q.value, k.value, v.value, scale, keys, softcap)
    axes = (q.axes[0], q.axes[1], v.axes[2])
    return Tensor(q.trace, o, q.dtype, axes), Tensor(q.trace, lse, wide(q.dtype), axes[:2])


def _check_layouts(q: Tensor, k: Tensor, v: Tensor) -> None:
    """LayoutError for elements that are not ragged, or heads that are."""
    for name, x in (("q", q), ("k", k), ("v", v)):
        first, *rest = x.layout.axes
        if first not in ("dr", "dw") or set(rest) != {"d"}:
            wanted = "|".join(("dr", *"d" * (x.ndim - 2)))
            raise LayoutError(f'attention: expected {name} of layout "{wanted}", got "{x.layout}"')


def _with_mask(q: Tensor, k: Tensor, v: Tensor, mask: Tensor, causal: bool, scale: float) -> Tensor:
    """Attention with a mask: products and a softmax."""
    trace, groups = q.trace, _groups(q, k)
    heads, group = "h" if q.ndim == 4 else "", "g" if groups > 1 else ""
    if group:
        q = reshape(q, dims=(2,), shape=(-1, groups))
    dims = f"bij{heads}{group}"
    scores = UFUNCS["multiply"](contract(trace, [q, k], [f"bi{heads}{group}d", f"bj{heads}d"], dims), scale)
    weights = _masked_weights(scores, mask, groups, causal)
    made = contract(trace, [weights, v], [dims, f"bj{heads}e"], f"bi{heads}{group}e")
    return reshape(made, dims=(2, 3), shape=(-1,)) if group else made


def attention(
    q: ArrayLike,
    k: ArrayLike,
    v: ArrayLike,
    *,
    causal: bool | str = False,
    mask: ArrayLike = None,
    scale: float | None = None,
    window: Window | None = None,
    softcap: float | None = None,
    return_lse: bool = False,
) -> ArrayLike:
    """softmax(q k^T * scale) v within each component. q is [B, Lq, D] or [B, Lq, H, D], k and v have lengths
    Lk; `scale` is 1 / sqrt(D) by default. k and v may have fewer heads, each for a group of adjacent heads
    of q.

    With `causal` (`"top-left"`) element i sees keys 0 to i, with `"bottom-right"` keys 0 to i + Lk - Lq, so that the
    last sees all. `window=(l, r)` leaves keys i - l to i + r, counted likewise; -1 is no bound. `softcap` c makes a
    score s c * tanh(s / c). With `return_lse` the log of each row's sum of exponentials comes too, of [B, Lq] or
    [B, Lq, H], -inf where there is no key to see, and float32 for shorter floats.

    `mask` says which keys an element sees, or, of floats, what is added to the scores: a ragged [B, Lq, Lk]
    or [B, Lq, Lk, H], or a dense one that broadcasts to [B, H, Lq, Lk] and reaches the longest components.
    Where there is no key to see the result is 0.

    ArgumentError for a mask beside `"bottom-right"`, `window`, `softcap` or `return_lse`; LayoutError for heads of q
    that are no multiple of those of k and v, and for masks of other layouts; RuntimeCheckError for lengths and extents
    that differ."""
    if is_dense(mask):
        rank = mask.ndim  # the extents that reach the longest components change with every batch
        mask = dense_leaf(mask, frozenset({rank - 1, rank - 2, *((0,) if rank == 4 else ())}))
    return _attention(q, k, v, mask, causal=causal, scale=scale, window=window, softcap=softcap, return_lse=return_lse)


def _groups(q: Tensor, k: Tensor) -> int:
    """Heads of q for each head of k."""
    own, fewer = (q.shape[2], k.shape[2]) if q.ndim == 4 else (1, 1)
    if own is None or not fewer or own == fewer:
        return 1
    if not own or own % fewer:
        raise LayoutError(f"attention: expected heads of q that are a positive multiple of {fewer}, got {own}")
    return own // fewer


def _is_before() -> ir.Value:
    """Whether a key is not behind its query."""
    return elements.compare("le", loop_index(2), loop_index(1))


def _masked_weights(scores: Tensor, mask: Tensor, groups: int, causal: bool) -> Tensor:
    """The softmax over the keys; 0 for keys that are not seen, also where none is."""
    if elements.kind(mask.dtype) not in "bf" or not mask.axes:
        raise ArgumentError(f"attention: expected a mask of booleans or floats, got {mask.dtype} of rank {mask.ndim}")
    mask, loops = _aligned(scores, mask, groups)
    boolean, dtype = elements.kind(mask.dtype) == "b", scores.dtype

    def is_seen(shown: ir.Value) -> ir.Value:
        seen = shown if boolean else elements.compare("ne", shown, elements.infinity(mask.dtype, -1))
        return arith.andi(seen, _is_before()) if causal else seen

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
