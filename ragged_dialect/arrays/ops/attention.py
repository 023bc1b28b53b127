"""Attention within each component."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragged_dialect.arrays.core.storage import ArrayLike
from ragged_dialect.arrays.core.tree import Static
from ragged_dialect.arrays.core.value import is_traced
from ragged_dialect.arrays.tracing.current import current
from ragged_dialect.arrays.tracing.leaves import dense_leaf, is_dense
from ragged_dialect.arrays.tracing.operation import named
from ragged_dialect.errors import ArgumentError

if TYPE_CHECKING:
    from ragged_dialect.arrays.ops.scores import ScoreFunction

Window = tuple[int, int]


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
    score: ScoreFunction | None = None,
    return_lse: bool = False,
) -> ArrayLike:
    """softmax(q k^T * scale) v within each component. q is [B, Lq, D] or [B, Lq, H, D], k and v have lengths
    Lk; `scale` is 1 / sqrt(D) by default. k and v may have fewer heads, each for a group of adjacent heads
    of q. Dense ones have components of one length, such as one query of [B, 1, H, D] beside the keys that are there so
    far; with a dense q the result is dense.

    With `causal` (`"top-left"`) element i sees keys 0 to i, with `"bottom-right"` keys 0 to i + Lk - Lq, so that the
    last sees all. `window=(l, r)` leaves keys i - l to i + r, counted likewise; -1 is no bound. `softcap` c makes a
    score s c * tanh(s / c). With `return_lse` the log of each row's sum of exponentials comes too, of [B, Lq] or
    [B, Lq, H], -inf where there is no key to see, and float32 for shorter floats.

    `mask` says which of these keys an element sees, or, of floats, what is added to the scores: a ragged [B, Lq, Lk]
    or [B, Lq, Lk, H], where Lq or Lk may be 1 (`seen[:, None, :]` of keys), or a dense one that broadcasts to
    [B, H, Lq, Lk] and reaches the longest components. Where there is no key to see the result is 0.

    `score` makes another score of one, which is a number of the dtype of q, or float32 for shorter floats, and of the
    numbers of its component, head, query and key, which are integers as Python's: `lambda s, b, h, i, j: s - slopes[h]
    * (i - j)`. It is made of functions of numbers and of elements of dense arrays, `rg.take(table, h)` of NumPy's, and
    is part of the kernel. A score of -inf is that of a key that is not seen. It comes after a softcap, and before a
    mask. Calls outside of `rg.jit` compile it once for a function: define it outside of loops.

    ArgumentError for a score of other functions, or with indices whose bounds do not follow from those
    of the numbers (`rg.clip` them); IndexError for indices out of bounds; LayoutError for heads of q that are no
    multiple of those of k and v, and for masks of other layouts; RuntimeCheckError for lengths and extents that
    differ."""
    if is_dense(mask):
        rank = mask.ndim  # the extents that reach the longest components change with every batch
        mask = dense_leaf(mask, frozenset({rank - 1, rank - 2, *((0,) if rank == 4 else ())}))
    if is_traced(scale):
        raise ArgumentError("attention: expected a number or None for scale, got a traced value (multiply q by it)")
    if score is not None and not callable(score):
        raise ArgumentError(f"attention: expected a function as score, got {type(score).__name__}")
    function = None if score is None else Static.of_function("attention", score)
    if function is not None and current.trace is not None:
        from ragged_dialect.arrays.tracing.building import as_tensor  # start-up time

        q = as_tensor(current.trace, q)  # the function may read what is traced
    return named("attention")(
        q, k, v, mask, causal=causal, scale=scale, window=window, softcap=softcap, score=function, return_lse=return_lse
    )
