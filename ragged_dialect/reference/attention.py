"""Attention, query by query."""

from __future__ import annotations

import numpy as np

from ragged_dialect.ops.attention import Keys
from ragged_dialect.reference.axis import groups_at
from ragged_dialect.reference.value import Array, RaggedValue


def attention(
    q: RaggedValue, k: RaggedValue, v: RaggedValue, scale: float, visible: Keys, cap: float | None
) -> tuple[RaggedValue | Array, RaggedValue | Array]:
    """`ragged.attention`: the output, and the log of each row's sum of exponentials; short floats in f32."""
    dtype = q.values.dtype
    wide = np.dtype(np.float32) if dtype.itemsize == 2 else dtype
    rows, heads, group = q.axes[0].size, q.extent(2), q.extent(2) // max(k.extent(2), 1)
    o, lse = np.zeros((rows, heads, v.extent(3)), wide), np.full((rows, heads), -np.inf, wide)
    for own, keys, values in zip(*(_components(x) for x in (q, k, v)), strict=True):
        for i, row in enumerate(own):
            seen = _seen(visible, i, len(own), len(keys))
            for h in range(heads if seen else 0):
                query = q.values[row, h].astype(wide)
                scores = np.array([query @ k.values[keys[j], h // group].astype(wide) for j in seen], wide)
                scores *= wide.type(scale)
                if cap is not None:
                    scores = (cap * np.tanh(scores / cap)).astype(wide)
                top = scores.max()
                powers = np.exp(scores - top)
                total = powers.sum()
                o[row, h] = sum(
                    p / total * v.values[values[j], h // group].astype(wide) for p, j in zip(powers, seen, strict=True)
                )
                lse[row, h] = top + np.log(total)
    first, second = q.axes[0].fresh(), q.axes[1].fresh()
    made = RaggedValue.make(o.astype(dtype), [first, second, v.axes[2].fresh()])
    return made, RaggedValue.make(lse, [first, second])


def _components(x: RaggedValue) -> list[list[int]]:
    return groups_at(x.axes[0].expand(), 1)


def _seen(visible: Keys, query: int, queries: int, keys: int) -> list[int]:
    """The keys that a query sees."""
    place = query + (keys - queries if visible.end else 0)
    low = 0 if visible.left is None else max(0, place - visible.left)
    high = keys if visible.right is None else min(keys, place + visible.right + 1)
    return list(range(low, high))
