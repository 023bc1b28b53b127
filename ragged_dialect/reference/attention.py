"""Attention and its derivatives, query by query."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ragged_dialect.ops.attention import Keys
from ragged_dialect.reference.axis import flatten
from ragged_dialect.reference.value import Array, Datum, RaggedValue


@dataclass(frozen=True)
class Scores:
    """Which scores there are of queries and keys."""

    q: RaggedValue
    k: RaggedValue
    v: RaggedValue
    scale: float
    visible: Keys
    cap: float | None
    score: Callable[[Sequence[Datum]], Sequence[Datum]] | None
    """What a score becomes, and in derivatives what that grows by, of it and its component, head, query and key."""

    @property
    def wide(self) -> type[np.generic]:
        """What short floats are computed in."""
        dtype = self.q.values.dtype
        return np.float32 if dtype.itemsize == 2 else dtype.type

    def rows(self) -> Iterator[Row]:
        """What each query and head sees, where it sees a key."""
        wide, group = self.wide, self.q.extent(2) // max(self.k.extent(2), 1)
        q, k = (x.values.astype(wide) for x in (self.q, self.k))
        for b, (own, keys, values) in enumerate(zip(*(_components(x) for x in (self.q, self.k, self.v)), strict=True)):
            for i, row in enumerate(own):
                seen = _seen(self.visible, i, len(own), len(keys))
                for h in range(self.q.extent(2) if seen else 0):
                    at, to = [keys[j] for j in seen], [values[j] for j in seen]
                    scores = np.multiply([q[row, h] @ k[j, h // group] for j in at], self.scale, dtype=wide)
                    slopes = np.full_like(scores, self.scale)
                    if self.cap is not None:
                        parts = np.tanh(scores / self.cap)
                        scores, slopes = (self.cap * parts).astype(wide), (slopes * (1 - parts**2)).astype(wide)
                    if self.score is not None:
                        pairs = zip(scores, seen, strict=True)
                        made = np.array([self.score([x, *map(np.int64, (b, h, i, j))]) for x, j in pairs], wide)
                        scores, slopes = made[:, 0], slopes * made[:, -1]
                        shown: list[int] = np.flatnonzero(scores != -np.inf).tolist()
                        at, to = ([rows[n] for n in shown] for rows in (at, to))
                        scores, slopes = scores[shown], slopes[shown]
                    if at:
                        yield Row(row, h, h // group, at, to, scores, slopes)


class Row(NamedTuple):
    """A query of a head: its row, its head and that of keys, rows of keys and of values that it sees, their scores and
    what these grow by with the product of query and key."""

    row: int
    head: int
    key_head: int
    keys: list[int]
    values: list[int]
    scores: Array
    slopes: Array


def attention(given: Scores) -> list[RaggedValue | Array]:
    """`ragged.attention`: the output, and the log of each row's sum of exponentials; short floats in f32."""
    q, wide = given.q, given.wide
    o = np.zeros((q.axes[0].size, q.extent(2), given.v.extent(3)), wide)
    lse = np.full(o.shape[:2], -np.inf, wide)
    v = given.v.values.astype(wide)
    for x in given.rows():
        top = x.scores.max()
        powers = np.exp(x.scores - top)
        total = powers.sum()
        o[x.row, x.head] = sum(p / total * v[j, x.key_head] for p, j in zip(powers, x.values, strict=True))
        lse[x.row, x.head] = top + np.log(total)
    first, second = q.axes[0].fresh(), q.axes[1].fresh()
    made = RaggedValue.make(o.astype(q.values.dtype), [first, second, given.v.axes[2].fresh()])
    return [made, RaggedValue.make(lse, [first, second])]


def attention_jvp(given: Scores, *rest: RaggedValue) -> list[RaggedValue | Array]:
    """`ragged.attention_jvp`: the tangents of both results."""
    wide = given.wide
    o, lse, tq, tk, tv = (x.values.astype(wide) for x in rest)
    q, k, v = (x.values.astype(wide) for x in (given.q, given.k, given.v))
    to, tlse = np.zeros_like(o), np.zeros_like(lse)
    lse = _finite(lse)
    for x in given.rows():
        weights = np.exp(x.scores - lse[x.row, x.head])
        moved = [tq[x.row, x.head] @ k[j, x.key_head] + q[x.row, x.head] @ tk[j, x.key_head] for j in x.keys]
        parts = weights * x.slopes * moved
        tlse[x.row, x.head] = parts.sum()
        made = weights @ tv[x.values, x.key_head] + parts @ v[x.values, x.key_head]
        to[x.row, x.head] = made - parts.sum() * o[x.row, x.head]
    return [_like(rest[0], to), _like(rest[1], tlse)]


def attention_vjp_q(given: Scores, *rest: RaggedValue) -> list[RaggedValue | Array]:
    """`ragged.attention_vjp_q`: the cotangent of the queries."""
    made = np.zeros(given.q.values.shape, given.wide)
    k = given.k.values.astype(given.wide)
    for x, _, parts in _cotangents(given, *rest):
        made[x.row, x.head] = parts @ k[x.keys, x.key_head]
    return [_like(given.q, made)]


def attention_vjp_kv(given: Scores, *rest: RaggedValue) -> list[RaggedValue | Array]:
    """`ragged.attention_vjp_kv`: the cotangents of keys and values."""
    wide, upstream = given.wide, rest[1].values.astype(given.wide)
    q = given.q.values.astype(wide)
    keys, values = (np.zeros(x.values.shape, wide) for x in (given.k, given.v))
    for x, weights, parts in _cotangents(given, *rest):
        keys[x.keys, x.key_head] += np.outer(parts, q[x.row, x.head])
        values[x.values, x.key_head] += np.outer(weights, upstream[x.row, x.head])
    return [_like(given.k, keys), _like(given.v, values)]


def _cotangents(given: Scores, *rest: RaggedValue) -> Iterator[tuple[Row, Array, Array]]:
    """Weights, and cotangents of products of a query and keys."""
    lse, upstream, delta = (x.values.astype(given.wide) for x in rest)
    v, lse = given.v.values.astype(given.wide), _finite(lse)
    for x in given.rows():
        weights = np.exp(x.scores - lse[x.row, x.head])
        above = v[x.values, x.key_head] @ upstream[x.row, x.head]
        yield x, weights, weights * (above - delta[x.row, x.head]) * x.slopes


def _finite(lse: Array) -> Array:
    """Sums of exponentials, 0 where there is none."""
    return np.where(np.isneginf(lse), 0, lse)


def _like(x: RaggedValue, values: Array) -> RaggedValue:
    return x.fresh(values.astype(x.values.dtype))


def _components(x: RaggedValue) -> list[list[int]]:
    return flatten(x.axes[0].expand(), 1)


def _seen(visible: Keys, query: int, queries: int, keys: int) -> list[int]:
    """The keys that a query sees."""
    place = query + (keys - queries if visible.end else 0)
    low = 0 if visible.left is None else max(0, place - visible.left)
    high = keys if visible.right is None else min(keys, place + visible.right + 1)
    return list(range(low, high))
