"""NumPy, vectorised over all components: `reduceat`, `repeat`, masks and index vectors. Components are not empty."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from cases import Case
from common import Array

VERSION = np.__version__


def _reduced(ufunc: Any) -> Callable[[Case], Callable[[], Array]]:
    def prepare(case: Case) -> Callable[[], Array]:
        starts = case.offsets[:-1]
        return lambda: ufunc.reduceat(case.values, starts, axis=0)

    return prepare


def _mean(case: Case) -> Callable[[], Array]:
    starts = case.offsets[:-1]
    counts = case.lengths.reshape((-1,) + (1,) * (case.values.ndim - 1)).astype(case.values.dtype)
    return lambda: np.add.reduceat(case.values, starts, axis=0) / counts


def _softmax(case: Case) -> Callable[[], Array]:
    starts = case.offsets[:-1]

    def softmax() -> Array:
        out = case.values - np.repeat(np.maximum.reduceat(case.values, starts, axis=0), case.lengths, axis=0)
        np.exp(out, out=out)
        out /= np.repeat(np.add.reduceat(out, starts, axis=0), case.lengths, axis=0)
        return out

    return softmax


def _layer_norm(case: Case) -> Callable[[], Array]:
    def norm() -> Array:
        x = case.values
        centred = x - x.mean(axis=-1, keepdims=True)
        return centred / np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + x.dtype.type(1e-5))

    return norm


def _cumsum(case: Case) -> Callable[[], Array]:
    def cumsum() -> Array:
        total = np.cumsum(case.values, axis=0, dtype=np.float64)
        before = np.zeros_like(total[:1])
        base = np.concatenate([before, total])[case.offsets[:-1]]
        return (total - np.repeat(base, case.lengths, axis=0)).astype(case.values.dtype)

    return cumsum


def _to_padded(case: Case) -> Callable[[], Array]:
    def padded() -> Array:
        out = np.zeros((case.lengths.size, case.longest, *case.values.shape[1:]), case.values.dtype)
        out[np.arange(case.longest) < case.lengths[:, None]] = case.values
        return out

    return padded


def _rows_of(case: Case, picked: Array) -> Array:
    lengths = case.lengths[picked]
    ends = np.cumsum(lengths)
    return np.arange(ends[-1]) + np.repeat(case.offsets[picked] - (ends - lengths), lengths)


def _take(case: Case) -> Callable[[], Array]:
    return lambda: case.values[_rows_of(case, case.picked)]


def _filter(case: Case) -> Callable[[], Array]:
    def kept() -> Array:
        np.add.reduceat(case.mask, case.offsets[:-1], dtype=np.int64)
        return case.values[case.mask]

    return kept


def _argmax(case: Case) -> Callable[[], Array]:
    starts = case.offsets[:-1]

    def argmax() -> Array:
        best = case.values == np.repeat(np.maximum.reduceat(case.values, starts, axis=0), case.lengths, axis=0)
        where = np.where(best, np.arange(case.rows).reshape((-1,) + (1,) * (best.ndim - 1)), case.rows)
        return np.minimum.reduceat(where, starts, axis=0) - starts.reshape((-1,) + (1,) * (best.ndim - 1))

    return argmax


def _minus_mean(case: Case) -> Callable[[], Array]:
    mean = _mean(case)
    return lambda: case.values - np.repeat(mean(), case.lengths, axis=0)


OPERATIONS = {
    "sum": _reduced(np.add),
    "max": _reduced(np.maximum),
    "mean": _mean,
    "softmax": _softmax,
    "layer_norm": _layer_norm,
    "cumsum": _cumsum,
    "to_padded": _to_padded,
    "take": _take,
    "filter": _filter,
    "lookup": lambda case: lambda: case.table[case.ids],
    "bags": lambda case: lambda: np.add.reduceat(case.table[case.ids], case.offsets[:-1]),
    "group_by": lambda case: lambda: np.argsort(case.ids, kind="stable"),
    "route": lambda case: lambda: np.argsort(case.routed, kind="stable"),
    "argmax": _argmax,
    "x * 2 + 1": lambda case: lambda: case.values * 2 + 1,
    "x - mean": _minus_mean,
    "x @ w": lambda case: lambda: case.values @ case.weights,
}
