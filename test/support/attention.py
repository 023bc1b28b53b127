"""`ragged.attention` as a program, and what it gives by loops in float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from support.dtypes import FLOATS as DTYPES

from ragged_dialect.ops.attention import Keys

TOLERANCES = {"f16": 2e-3, "bf16": 2e-2, "f32": 3e-6, "f64": 1e-14}
QUERIES = np.array([3, 0, 70, 1, 33, 5, 0])
KEYS = np.array([5, 4, 66, 0, 9, 41, 0])
VISIBLE = ("all", "causal", "causal_end", "window<3, 2>", "window<7, -1>", "window_end<-1, 4>", "window_end<2, 0>")


def text_of(element: str, heads: tuple[int, int], dims: tuple[int, int], attributes: str) -> str:
    """A function of q, k and v, whose results are both those of the op."""
    wide = "f64" if element == "f64" else "f32"
    types = [f'tensor<?x?x{h}x{d}x{element}, #ragged.layout<"dr|d|d">>' for h, d in
             ((heads[0], dims[0]), (heads[1], dims[0]), (heads[1], dims[1]), (heads[0], dims[1]))]  # fmt: skip
    sums = f'tensor<?x?x{heads[0]}x{wide}, #ragged.layout<"dr|d">>'
    q, k, v, o = types
    return f"""func.func @f(%q: {q}, %k: {k}, %v: {v}) -> ({o}, {sums}) {{
      %o, %lse = ragged.attention %q, %k, %v {{{attributes}}} : ({q}, {k}, {v}) -> ({o}, {sums})
      return %o, %lse : {o}, {sums}
    }}"""


def arguments(
    element: str, heads: tuple[int, int], dims: tuple[int, int], queries: Any = QUERIES, keys: Any = KEYS
) -> list[tuple[Any, Any]]:
    """Values and offsets of q, k and v."""
    rng = np.random.default_rng(0)
    given = ((queries, heads[0], dims[0]), (keys, heads[1], dims[0]), (keys, heads[1], dims[1]))
    return [
        (rng.standard_normal((lengths.sum(), h, d)).astype(DTYPES[element]), np.concatenate([[0], lengths.cumsum()]))
        for lengths, h, d in given
    ]


Score = Callable[[Any, int, int], tuple[Any, Any]]
"""What becomes of the scores of a component and a head, and what they grow by."""


def loops(
    given: list[tuple[Any, Any]], keys: str, scale: float, cap: float | None = None, score: Score | None = None
) -> tuple[Any, Any]:
    """The results, component by component and head by head in float64."""
    (q, at), (k, to), (v, _) = ((x.astype(np.float64), offsets) for x, offsets in given)
    left, right, end = Keys.parse(keys)
    o, lse = np.zeros((*q.shape[:2], v.shape[2])), np.full(q.shape[:2], -np.inf)
    for b in range(len(at) - 1):
        rows, others = slice(at[b], at[b + 1]), slice(to[b], to[b + 1])
        ahead = np.arange(to[b + 1] - to[b])[None] - np.arange(at[b + 1] - at[b])[:, None]
        ahead = ahead - (to[b + 1] - to[b] - at[b + 1] + at[b] if end else 0)
        seen = (ahead <= (right if right is not None else 9999)) & (-ahead <= (left if left is not None else 9999))
        for h in range(q.shape[1]):
            own = h * k.shape[1] // q.shape[1]
            scores = q[rows, h] @ k[others, own].T * scale
            scores = scores if cap is None else cap * np.tanh(scores / cap)
            scores = scores if score is None else score(scores, b, h)[0]
            scores = np.where(seen, scores, -np.inf)
            top = scores.max(1, initial=-np.inf)
            powers = np.where(np.isneginf(scores), 0, np.exp(scores - np.where(np.isinf(top), 0, top)[:, None]))
            total = powers.sum(1)
            o[rows, h] = powers @ v[others, own] / np.where(total, total, 1)[:, None]
            lse[rows, h] = np.where(total, top + np.log(np.where(total, total, 1)), -np.inf)
    return o, lse


def assert_near(found: Any, given: list[tuple[Any, Any]], element: str, *rest: Any, score: Score | None = None) -> None:
    """Both results, where they are -inf too."""
    (o, _), (lse, _) = found
    expected, sums = loops(given, *rest, score=score)
    assert o.dtype == DTYPES[element]
    np.testing.assert_allclose(o.astype(np.float64), expected, atol=TOLERANCES[element], rtol=TOLERANCES[element])
    narrow = 1e-14 if element == "f64" else 3e-6
    np.testing.assert_allclose(lse, sums, atol=narrow, rtol=narrow)
