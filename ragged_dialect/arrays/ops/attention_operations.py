"""The operation that attends within each component, with masks and grouped heads."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import cast

from ragged_dialect import builders
from ragged_dialect._mlir import arith, ir, tensor
from ragged_dialect._mlir import math as math_ops
from ragged_dialect.arrays.core.spec import DType
from ragged_dialect.arrays.core.tree import Static
from ragged_dialect.arrays.index.dims import squeeze, unsqueeze
from ragged_dialect.arrays.index.getitem import pick
from ragged_dialect.arrays.ops.elementwise import astype, resolve
from ragged_dialect.arrays.ops.named_loops import NamedLoops
from ragged_dialect.arrays.ops.scores import ScoreFunction, TracedScore
from ragged_dialect.arrays.ops.statistics import float_dtype, wide
from ragged_dialect.arrays.tracing import elements
from ragged_dialect.arrays.tracing.agreement import batch_extent, covers, equal_extents
from ragged_dialect.arrays.tracing.axes import NestedAxis
from ragged_dialect.arrays.tracing.loops import empty
from ragged_dialect.arrays.tracing.operation import operation
from ragged_dialect.arrays.tracing.tensor import Tensor, TensorLevel
from ragged_dialect.arrays.tracing.wrap import contiguous, in_components, out_of_components
from ragged_dialect.errors import ArgumentError, LayoutError, brief
from ragged_dialect.ir import build, shapes
from ragged_dialect.ops.attention import CAPS, Keys

Window = tuple[int, int]


Numbers = Mapping[str, ir.Value]
"""Component, head, query and key of a score, by the letters bhij."""


Read = Callable[[Numbers], list[ir.Value]]
"""Where an element of storage is."""


Score = Callable[[DType, ir.Value, Sequence[ir.Value]], ir.Value]
"""Makes a score of a dtype of one, and of the numbers that it has."""


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
    score: Static | None = None,
    return_lse: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """See `attention`."""
    if q.ndim not in (3, 4) or k.ndim != q.ndim or v.ndim != q.ndim:
        raise ArgumentError(f"attention: expected arrays of rank 3 or 4, got ranks {q.ndim}, {k.ndim} and {v.ndim}")
    given = q if q.is_dense else None
    q, k, v = (in_components(x) if x.is_dense else x for x in (q, k, v))
    extent = q.static_shape[-1] if q.static_shape[-1] is not None else k.static_shape[-1]
    if scale is None and extent is None:
        raise ArgumentError(
            "attention: expected a scale for an unknown number of features, got none (scale=1 / np.sqrt(d))"
        )
    factor = float(scale if scale is not None else 1 / math.sqrt(extent or 1))
    keys, values = k.nested(0), v.nested(0)
    if keys is not None and values is not None:
        q.trace.conform(keys, values)
    if softcap is not None and not CAPS[0] <= softcap <= CAPS[1]:
        raise ArgumentError(f"attention: expected a softcap in [{CAPS[0]:g}, {CAPS[1]:g}], got {softcap}")
    own = None if score is None else _function_of(score.value, q, k, v)
    if mask is not None:
        masked = _masked(q, k, mask)
        own = masked if own is None else _after(own, masked)
    if own is not None and softcap is not None:
        own, softcap = _after(_capped(softcap), own), None
    made, lse = _by_op(q, k, v, factor, str(_visible(causal, window)), softcap, own)
    if given is not None:
        made, lse = out_of_components(made, given), out_of_components(lse, given)
    return (made, lse) if return_lse else made


def _after(first: Score, second: Score) -> Score:
    """What makes a score of one that another has made."""
    return lambda dtype, x, numbers: second(dtype, first(dtype, x, numbers), numbers)


def _capped(softcap: float) -> Score:
    def capped(dtype: DType, x: ir.Value, _: Sequence[ir.Value]) -> ir.Value:
        cap = elements.constant(dtype, softcap)
        return arith.mulf(cap, math_ops.tanh(arith.divf(x, cap)))

    return capped


def _function_of(function: object, q: Tensor, k: Tensor, v: Tensor) -> Score:
    """What makes a score as a function does."""
    extents = [q.extent(0), q.extent(2) if q.ndim == 4 else 1, *(builders.max_length(x.value, 1) for x in (q, k))]
    dtype = wide(_dtype(q, k, v))
    made = TracedScore(cast("ScoreFunction", function), q.trace, dtype, extents)
    return lambda _, score, numbers: made(score, numbers)


def _visible(causal: bool | str, window: Window | None) -> Keys:
    """The keys that an element sees. ArgumentError."""
    if causal not in (False, True, "top-left", "bottom-right"):
        raise ArgumentError(
            f"attention: expected causal among False, True, top-left, bottom-right, got {brief(causal)}"
        )
    if window is not None and not (len(window) == 2 and all(type(n) is int and -1 <= n < 10**18 for n in window)):
        raise ArgumentError(f"attention: expected a window of two integers in [-1, 10**18), got {brief(window)}")
    left, right = (None if n == -1 else n for n in window or (-1, -1))
    return Keys(left, 0 if causal else right, causal == "bottom-right")


def _by_op(
    q: Tensor, k: Tensor, v: Tensor, scale: float, keys: str, softcap: float | None, score: Score | None
) -> tuple[Tensor, Tensor]:
    """Attention as an op, which has heads, one where there are none."""
    _check_layouts(q, k, v)
    dtype = _dtype(q, k, v)
    q, k, v = (x if x.dtype == dtype else astype(x, dtype=dtype) for x in (contiguous(q), k, v))
    features = q.ndim - 1
    equal_extents((q, features), (k, features), features)
    if q.ndim == 4:
        return _with_heads(q, k, v, scale, keys, softcap, score)
    q, k, v = (unsqueeze(x, axis=2) for x in (q, k, v))
    made, lse = _with_heads(q, k, v, scale, keys, softcap, score)
    return squeeze(made, axis=2), squeeze(lse, axis=2)


def _dtype(q: Tensor, k: Tensor, v: Tensor) -> DType:
    """That of the result."""
    dtype = float_dtype(resolve("multiply", [q, k])[1][0])
    return float_dtype(resolve("multiply", [astype(q, dtype=dtype), v])[1][0])


def _with_heads(
    q: Tensor, k: Tensor, v: Tensor, scale: float, keys: str, softcap: float | None, score: Score | None
) -> tuple[Tensor, Tensor]:
    """The op on arrays of rank 4, of one dtype, whose extents of features agree."""
    _groups(q, k)
    batch_extent((k, 0), (q, 0), 0)
    batch_extent((v, 0), (q, 0), 0)
    equal_extents((k, 2), (v, 2), 2)
    if None in (q.static_shape[2], k.static_shape[2]):
        equal_extents((q, 2), (k, 2), 2)
    made = None if score is None else partial(score, wide(q.dtype))
    o, lse = builders.attention(q.value, k.value, v.value, scale, keys, softcap, made)
    axes = (q.axes[0], q.axes[1], v.axes[2])
    return Tensor(q.trace, o, q.dtype, axes), Tensor(q.trace, lse, wide(q.dtype), axes[:2])


def _check_layouts(q: Tensor, k: Tensor, v: Tensor) -> None:
    """LayoutError for elements that are not ragged, or heads that are."""
    for name, x in (("q", q), ("k", k), ("v", v)):
        first, *rest = x.layout.axes
        if first not in ("dr", "dw") or set(rest) != {"d"}:
            wanted = "|".join(("dr", *"d" * (x.ndim - 2)))
            raise LayoutError(f'attention: expected {name} of layout "{wanted}", got "{x.layout}"')


def _groups(q: Tensor, k: Tensor) -> None:
    """LayoutError for heads of q that are no multiple of those of keys."""
    own, fewer = q.static_shape[2], k.static_shape[2]
    if own is not None and fewer and own != fewer and (not own or own % fewer):
        raise LayoutError(f"attention: expected heads of q that are a positive multiple of {fewer}, got {own}")


def _masked(q: Tensor, k: Tensor, mask: Tensor) -> Score:
    """What a mask makes of scores."""
    if elements.kind(mask.dtype) not in "bf" or not mask.axes:
        raise ArgumentError(f"attention: expected a mask of booleans or floats, got {mask.dtype} of rank {mask.ndim}")
    mask = contiguous(mask)
    mask, read = (_dense_mask if mask.is_dense else _ragged_mask)(q, k, mask)

    def score(dtype: DType, x: ir.Value, numbers: Sequence[ir.Value]) -> ir.Value:
        found = tensor.extract(mask.storage, read(dict(zip("bhij", numbers, strict=True))))
        if elements.kind(mask.dtype) == "b":
            return elements.select(found, x, elements.infinity(dtype, -1))
        return arith.addf(x, elements.convert(found, mask.dtype, dtype))

    return score


def _dense_mask(q: Tensor, k: Tensor, mask: Tensor) -> tuple[Tensor, Read]:
    """Where its elements are: of [component, head, query, key], or of the last of these."""
    dims = "bhij" if q.ndim == 4 else "bij"
    if not 2 <= mask.ndim <= len(dims):
        wanted = f"expected a dense mask of rank 2 to {len(dims)}, got rank {mask.ndim}"
        raise LayoutError(f"attention: {wanted} (of keys it is mask[None, :])")
    levels = {"b": (q, 0), "i": (q, 1), "j": (k, 1), "h": (q, 2)}
    return mask, _read([_loop(mask, dim, c, levels[c]) for dim, c in enumerate(dims[-mask.ndim :])])


def _ragged_mask(q: Tensor, k: Tensor, mask: Tensor) -> tuple[Tensor, Read]:
    """Where its elements are: of [component, query, key], of which one may have an extent of 1, and of heads."""
    axis, dims = mask.axes[0], "bijh" if q.ndim == 4 else "bij"
    if not len(dims) >= mask.ndim >= 3:
        wanted = f"expected a ragged mask of rank 3 to {len(dims)}, got rank {mask.ndim}"
        raise LayoutError(f"attention: {wanted} (of keys it is mask[:, None, :], of queries mask[:, :, None])")
    if not isinstance(axis, NestedAxis) or axis.letters not in ("drr", "ddr", "dr"):
        raise LayoutError(f'attention: expected a mask of layout "drr", "ddr" or "dr|d", got "{mask.layout}"')
    if axis.letters != "drr":
        dim, rows, letter = (1, k, "j") if axis.letters == "ddr" else (2, q, "i")
        builders.assert_valid([build.value(mask.extent(dim)), build.value(1)], "equal", q.trace.op, dim)
        return _mask_of_rows(q, rows, letter, pick(mask, dim, build.value(0)))
    loops = NamedLoops.of(q.trace, [q, k], ["bihd"[: q.ndim], "bjge"[: k.ndim]], "bij")
    pairs = loops.settled(Tensor(q.trace, empty(loops.axes, loops.levels, mask.dtype), mask.dtype, loops.axes))
    q.trace.conform(pairs.nested_axis(), axis)
    features = _read([_loop(mask, 3, "h", (q, 2)) for _ in range(mask.ndim - 3)])

    def read(numbers: Numbers) -> list[ir.Value]:
        row = build.add(shapes.load(axis.vectors[0], numbers["b"]), numbers["i"])
        return [build.value(build.add(shapes.load(axis.vectors[1], row), numbers["j"])), *features(numbers)]

    return mask, read


def _mask_of_rows(q: Tensor, rows: Tensor, letter: str, mask: Tensor) -> tuple[Tensor, Read]:
    """Where the elements of [component, row] are, and of heads: rows are queries or keys, whose number has a letter."""
    axis = mask.nested_axis()
    rows.trace.conform(rows.nested_axis(), axis)
    features = _read([_loop(mask, 2, "h", (q, 2)) for _ in range(mask.ndim - 2)])

    def read(numbers: Numbers) -> list[ir.Value]:
        at = build.add(shapes.load(axis.vectors[0], numbers["b"]), numbers[letter])
        return [build.value(at), *features(numbers)]

    return mask, read


def _loop(mask: Tensor, dim: int, letter: str, level: TensorLevel) -> str | None:
    """The loop of a dense dim of a mask, None where it broadcasts."""
    if mask.static_shape[dim] == 1:
        return None
    if letter in "ij":
        covers((mask, dim), level)
    elif letter == "h":
        equal_extents(level, (mask, dim), dim)
    else:
        batch_extent((mask, dim), level, dim)
    return letter


def _read(loops: Sequence[str | None]) -> Read:
    return lambda numbers: [build.value(0) if c is None else numbers[c] for c in loops]
