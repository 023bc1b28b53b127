"""NumPy, vectorised over all components: `reduceat`, `repeat`, masks and index vectors. Components are not empty."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from cases import BINS, TABLE, WINDOW, Case
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


def _var(case: Case) -> Callable[[], Array]:
    centred, starts = _minus_mean(case), case.offsets[:-1]
    counts = case.lengths.reshape((-1,) + (1,) * (case.values.ndim - 1)).astype(case.values.dtype)
    return lambda: np.add.reduceat(np.square(centred()), starts, axis=0) / counts


def _diff(case: Case) -> Callable[[], Array]:
    def diff() -> Array:
        kept = np.ones(case.rows - 1, np.bool_)
        kept[case.offsets[1:-1] - 1] = False
        return np.diff(case.values, axis=0)[kept]

    return diff


def _window_sums(case: Case) -> Callable[[], Array]:
    def sums() -> Array:
        windows = np.lib.stride_tricks.sliding_window_view(case.values, WINDOW, axis=0).sum(-1)
        left = np.repeat(case.offsets[1:], case.lengths) - np.arange(case.rows)
        return windows[left[: len(windows)] >= WINDOW]

    return sums


def _reverse(case: Case) -> Callable[[], Array]:
    def reverse() -> Array:
        ends = np.repeat(case.offsets[:-1] + case.offsets[1:] - 1, case.lengths)
        return case.values[ends - np.arange(case.rows)]

    return reverse


def _repeat(case: Case) -> Callable[[], Array]:
    def repeat() -> Array:
        np.add.reduceat(case.counts, case.offsets[:-1])
        return np.repeat(case.values, case.counts, axis=0)

    return repeat


def _gather(case: Case) -> Callable[[], Array]:
    return lambda: case.values[case.places + np.repeat(case.offsets[:-1], case.lengths)]


def _segment_sum(case: Case) -> Callable[[], Array]:
    def sums() -> Array:
        out = np.zeros(
            (TABLE, *case.values.shape[1:]), np.int64 if case.values.dtype.kind == "i" else case.values.dtype
        )
        np.add.at(out, case.ids, case.values)
        return out

    return sums


def _ungroup(case: Case) -> Callable[[], Array]:
    def ungroup() -> Array:
        out = np.empty_like(case.values)
        out[case.grouped] = case.values
        return out

    return ungroup


def _each(function: Callable[[Array], Any], joined: bool = True) -> Callable[[Case], Callable[[], Array]]:
    """A call for each list."""

    def prepare(case: Case) -> Callable[[], Array]:
        if case.values.ndim > 1:
            raise NotImplementedError
        parts = np.split(case.values, case.offsets[1:-1])
        if joined:
            return lambda: np.concatenate([function(part) for part in parts])
        return lambda: np.array([function(part) for part in parts])

    return prepare


_MOST_CALLS = 100_000
"""Of a function for each component: a million take ten seconds."""


def _sets(function: Callable[[Array, Array], Array]) -> Callable[[Case], Callable[[], Array]]:
    """A call for both lists of ids of each component."""

    def prepare(case: Case) -> Callable[[], Array]:
        if case.lengths.size > _MOST_CALLS:
            raise NotImplementedError
        ids, others = (np.split(x, case.offsets[1:-1]) for x in (case.ids, case.other_ids))
        return lambda: np.concatenate([function(*pair) for pair in zip(ids, others, strict=True)])

    return prepare


def _rms_norm(case: Case) -> Callable[[], Array]:
    if case.values.ndim == 1 or not case.point.real:
        raise NotImplementedError
    x = case.values
    return lambda: x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + x.dtype.type(1e-5))


def _bincount(case: Case) -> Callable[[], Array]:
    def counts() -> Array:
        keys = np.repeat(np.arange(case.lengths.size) * BINS, case.lengths) + case.binned
        return np.bincount(keys, minlength=case.lengths.size * BINS)

    return counts


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
    "var": _var,
    "diff": _diff,
    "window sums": _window_sums,
    "reverse": _reverse,
    "repeat": _repeat,
    "gather": _gather,
    "segment_sum": _segment_sum,
    "ungroup": _ungroup,
    "from_padded": lambda case: lambda: case.padded[np.arange(case.longest) < case.lengths[:, None]],
    "running max": _each(np.maximum.accumulate),
    "sort": _each(np.sort),
    "argsort": _each(np.argsort),
    "median": _each(np.median, joined=False),
    "unique": _each(np.unique),
    "searchsorted": lambda case: lambda: np.searchsorted(np.sort(case.table), case.values),
    "bincount": _bincount,
    "union": _sets(np.union1d),
    "intersection": _sets(np.intersect1d),
    "contains": _sets(lambda ids, others: np.isin(others, ids)),
    "rms_norm": _rms_norm,
    "exp": lambda case: lambda: np.exp(case.values),
    "tanh": lambda case: lambda: np.tanh(case.values),
    "where": lambda case: lambda: np.where(case.values > 0, case.values, 0),
    "local_index": lambda case: lambda: np.arange(case.rows) - np.repeat(case.offsets[:-1], case.lengths),
    "isin": lambda case: lambda: np.isin(case.ids, case.wanted),
    "x * 2 + 1": lambda case: lambda: case.values * 2 + 1,
    "x - mean": _minus_mean,
    "x @ w": lambda case: lambda: case.values @ case.weights,
}
