"""Random functions of ragged arrays whose gradients are compared with differences."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

import ragged_dialect as rg

Step = Callable[[Any, Any, Any], Any]
Change = Callable[[Any], Any]
Value = Callable[[Any, Any], Any]
_STEP = 1e-6


def _experts(x: Any, y: Any, w: Any) -> Any:
    """Rows of all components in groups, and each back in its place."""
    places = rg.group_by(rg.merge(rg.local_index(x), axis=0) % 3, 3)
    return rg.like(rg.compact(x), rg.ungroup(rg.softmax(rg.take(rg.merge(x * y, axis=0), places), axis=1), places))


def _slots(x: Any, y: Any, w: Any) -> Any:
    """Rows with what the sum at their position is."""
    ids = rg.local_index(x) % 3
    return x * np.tanh(rg.take(rg.segment_sum(y, ids, 3), ids))


EVERYWHERE: dict[str, Step] = {
    "sin": lambda x, y, w: np.sin(x),
    "tanh": lambda x, y, w: np.tanh(x * 2.0),
    "product": lambda x, y, w: x * y,
    "quotient": lambda x, y, w: x / (1.0 + y * y),
    "root": lambda x, y, w: np.sqrt(x * x + 0.1),
    "logarithm": lambda x, y, w: np.log1p(np.exp(-np.abs(x))) + y,
    "power": lambda x, y, w: np.abs(x) ** 1.5,
    "larger": lambda x, y, w: np.maximum(x, y * 0.7),
    "choice": lambda x, y, w: rg.where(x > 0.3, x, y * 0.5),
    "linear": lambda x, y, w: np.tanh(x @ w),
    "norm": lambda x, y, w: rg.rms_norm(x, eps=0.1),
    "layer norm": lambda x, y, w: rg.layer_norm(x, w[0], eps=0.3),
    "features": lambda x, y, w: rg.softmax(x, axis=-1) * y,
    "variance": lambda x, y, w: x / (1.0 + x.var(axis=-1, keepdims=True)),
    "most": lambda x, y, w: x + x.max(axis=-1, keepdims=True) * y,
    "outer": lambda x, y, w: (x[..., None] * w).sum(axis=-1) * y,
    "sorted features": lambda x, y, w: rg.sort(x, axis=-1) * y,
    "picked": lambda x, y, w: rg.take_along_axis(x, rg.argsort(y, axis=-1), axis=-1),
}
"""What makes an array of two with its structure, whatever this is."""

ROWS: dict[str, Step] = {
    **EVERYWHERE,
    "centred": lambda x, y, w: x - 0.3 * x.sum(axis=1, keepdims=True),
    "largest": lambda x, y, w: x * x.max(axis=1, keepdims=True),
    "least": lambda x, y, w: y - x.min(axis=1, keepdims=True),
    "mean": lambda x, y, w: x * x.mean(axis=1, keepdims=True),
    "products": lambda x, y, w: x + np.tanh(x.prod(axis=1, keepdims=True)),
    "softmax": lambda x, y, w: rg.softmax(x, axis=1),
    "log softmax": lambda x, y, w: rg.log_softmax(x, axis=1) * 0.3,
    "log sum": lambda x, y, w: x - rg.logsumexp(x, axis=1)[:, None],
    "running": lambda x, y, w: np.tanh(rg.cumsum(x, axis=1)),
    "running product": lambda x, y, w: np.cumprod(np.tanh(x), axis=1) + y,
    "attention": lambda x, y, w: rg.attention(x, y, x),
    "sorted": lambda x, y, w: rg.sort(x, axis=1) * y,
    "median": lambda x, y, w: x - rg.median(x, axis=1)[:, None],
    "pairs": lambda x, y, w: rg.attention(y, x, x, mask=x[:, :, None, 0] * y[:, None, :, 1]),
    "causal": lambda x, y, w: rg.attention(y, x, x, causal=True),
    "scores": lambda x, y, w: rg.einsum("bij,bjd->bid", rg.einsum("bid,bjd->bij", x, np.tanh(y)), x) * 0.1,
    "positions": lambda x, y, w: x + 0.1 * np.tanh(x.sum(axis=0))[None],
    "experts": _experts,
    "slots": _slots,
    "recurrence": lambda x, y, w: rg.linear_recurrence(x, np.tanh(y)) * 0.5,
    "near": lambda x, y, w: rg.attention(y, x, x, window=(1, 1)),
    "upper": lambda x, y, w: x - y * rg.quantile(x, 0.75, axis=1)[:, None],
    "steps": lambda x, y, w: rg.scan(lambda c, e: (np.tanh(c + e), c * e), x.sum(axis=1), x)[1],
    "pooled": lambda x, y, w: x * np.tanh((rg.softmax(y @ w[0], axis=1)[..., None] * x).sum(axis=1))[:, None],
}
"""As `EVERYWHERE`, of rows [B, ~, 2]."""

LISTS: dict[str, Step] = {
    **EVERYWHERE,
    "inner centred": lambda x, y, w: x - 0.3 * x.sum(axis=2, keepdims=True),
    "inner largest": lambda x, y, w: x * x.max(axis=2, keepdims=True),
    "inner softmax": lambda x, y, w: rg.softmax(x, axis=2),
    "outer softmax": lambda x, y, w: rg.softmax(x, axis=(1, 2)) * y,
    "inner mean": lambda x, y, w: x - y * x.mean(axis=2, keepdims=True),
    "lists": lambda x, y, w: x + (x * y).sum(axis=2, keepdims=True),
    "running": lambda x, y, w: np.tanh(rg.cumsum(x, axis=2)),
}
"""As `EVERYWHERE`, of lists of lists [B, ~, ~, 2]."""

ROW_CHANGES: dict[str, Change] = {
    "none": lambda x: x,
    "reversed": lambda x: x[:, ::-1],
    "rest": lambda x: x[:, 1:],
    "middle": lambda x: x[:, 1:3] * 2.0,
    "last": lambda x: x[:, -2:],
    "twice": lambda x: rg.concat([x, np.sin(x)], axis=1),
    "some": lambda x: x[1:],
    "every other": lambda x: x[::2],
    "lists": lambda x: rg.concat([x, x[:, :1]], axis=0),
    "tiles": lambda x: rg.merge(np.sin(rg.split(x, 1, 2)) * 2.0, axis=1),
    "stack": lambda x: rg.stack([x, x * x]).sum(axis=0),
    "largest two": lambda x: rg.top_k(x, 2, axis=1)[0],
}
"""What makes an array with a structure of its own."""

LIST_CHANGES: dict[str, Change] = {
    "none": lambda x: x,
    "reversed": lambda x: x[:, :, ::-1],
    "some": lambda x: x[1:],
    "batches": lambda x: rg.concat([x, np.sin(x)], axis=0),
    "inner lists": lambda x: rg.concat([x, x * x], axis=2),
    "outer lists": lambda x: rg.concat([x, np.sin(x)], axis=1),
}

ROW_ENDS: dict[str, Change] = {
    "all": lambda x: x,
    "sums": lambda x: x.sum(axis=1),
    "largest": lambda x: x.max(axis=1),
    "across": lambda x: x.sum(axis=0),
    "padded": rg.to_padded,
    "truncated": lambda x: rg.to_padded(x, 0.5, (2,), truncate=True),
    "merged": lambda x: rg.merge(x, axis=0),
}
"""What is left at the end."""

LIST_ENDS: dict[str, Change] = {
    "all": lambda x: x,
    "inner": lambda x: x.max(axis=2),
    "merged": lambda x: rg.softmax(rg.merge(x, axis=1), axis=1),
    "components": lambda x: rg.merge(x, axis=0).sum(axis=1),
    "both": lambda x: x.sum(axis=(1, 2)),
    "padded": rg.to_padded,
}


class Family(NamedTuple):
    """Programs on arrays of a kind: what they are made of, and arguments from lengths."""

    steps: Mapping[str, Step]
    changes: Mapping[str, Change]
    ends: Mapping[str, Change]
    argument: Callable[[np.random.Generator, Sequence[int]], rg.RaggedArray]


def rows_of(rng: np.random.Generator, lengths: Sequence[int]) -> rg.RaggedArray:
    """Rows of two."""
    return rg.from_lengths(rng.standard_normal((sum(lengths), 2)), lengths)


def lists_of(rng: np.random.Generator, lengths: Sequence[int]) -> rg.RaggedArray:
    """Lists of lists of rows; inner lists of 0 to 2."""
    inner = rng.integers(0, 3, sum(lengths))
    return rg.from_lengths(rng.standard_normal((inner.sum(), 2)), lengths, inner)


FAMILIES = (Family(ROWS, ROW_CHANGES, ROW_ENDS, rows_of), Family(LISTS, LIST_CHANGES, LIST_ENDS, lists_of))


def program(rng: np.random.Generator, family: Family) -> tuple[Value, list[str]]:
    """A function of an array and a matrix to a number, and what it is made of."""
    first = [str(n) for n in rng.choice(list(family.steps), rng.integers(1, 4))]
    change, end = str(rng.choice(list(family.changes))), str(rng.choice(list(family.ends)))
    last = [str(n) for n in rng.choice(list(family.steps), rng.integers(0, 3))]

    def run(x: Any, w: Any) -> Any:
        before, now = x, x
        for name in first:
            before, now = now, family.steps[name](now, before, w)
        now = family.changes[change](now)
        before = now * 0.5
        for name in last:
            before, now = now, family.steps[name](now, before, w)
        now = np.tanh(family.ends[end](now))  # a max of nothing is -inf
        return (now * np.sin(now + 1.0)).sum() + (w * w).sum()

    return run, [*first, change, *last, end]


def structures(rng: np.random.Generator) -> list[list[int]]:
    """Lengths of batches: without an element or a component, and with empty components."""
    some = [*rng.integers(0, 4, rng.integers(1, 5)).tolist(), 0]
    rng.shuffle(some)
    return [[0, 0] if rng.integers(2) else [], some]


def check(seed: int, jit: Callable[[Value], Any] = rg.jit) -> str | None:
    """What is wrong with the gradient of a random program, which `jit` compiles: it is compared with a central
    difference of the same operations, one after the other, and, where `jit` is that of arrays, with the gradient as a
    program of its own, for which values are kept."""
    rng = np.random.default_rng(seed)
    family = FAMILIES[seed % len(FAMILIES)]
    function, names = program(rng, family)
    gradient = jit(rg.value_and_grad(function, argnums=(0, 1)))
    for lengths in structures(rng):
        x, w = family.argument(rng, lengths), rng.standard_normal((2, 2))
        dx, dw = rng.standard_normal(x.values.shape), rng.standard_normal(w.shape)
        value, (gx, gw) = gradient(x, w)
        ahead, behind = (function(rg.like(x, x.values + s * dx), w + s * dw) for s in (_STEP, -_STEP))
        expected = (ahead - behind) / (2 * _STEP)
        got = (gx.values * dx).sum() + (gw * dw).sum()
        largest = max(1, abs(expected), np.abs(gx.values).max(initial=0), np.abs(gw).max())
        if not (np.isclose(value, function(x, w)) and abs(got - expected) < _STEP * largest):
            return f"{' / '.join(names)} of {lengths}: expected {expected} of {function(x, w)}, got {got} of {value}"
        if jit is not rg.jit:
            continue
        for apart, whole in zip(rg.vjp(function, x, w)[1](np.float64(1)), (gx.values, gw), strict=True):
            apart = apart.values if isinstance(apart, rg.RaggedArray) else apart
            if not np.allclose(apart, whole, rtol=1e-9, atol=1e-9 * largest):
                return f"{' / '.join(names)} of {lengths}: expected {whole} apart, got {apart}"
    return None
