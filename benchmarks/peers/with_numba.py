"""Numba: the loops of `numba_loops.py`, with new results at every call. What it computes is what `Case` has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from cases import BINS, TABLE, WINDOW, Case

from peers import numba_loops as loops

VERSION = numba.__version__


def _matrix(case: Case) -> Any:
    return case.values.reshape(case.rows, -1)


def _over(kernel: Any, rows: Callable[[Case], int], dtype: Any = None) -> Callable[[Case], Callable[[], Any]]:
    """A kernel with a new result at every call, as other libraries make."""

    def prepare(case: Case) -> Callable[[], Any]:
        x, shape = _matrix(case), (rows(case), *case.values.shape[1:])

        def call() -> Any:
            out = np.empty(shape, dtype or x.dtype)
            kernel(x, case.offsets, out.reshape(shape[0], -1))
            return out

        return call

    return prepare


def _shorter(kernel: Any, by: int) -> Callable[[Case], Callable[[], Any]]:
    """A kernel whose result has fewer rows of each component."""

    def prepare(case: Case) -> Callable[[], Any]:
        x = _matrix(case)

        def call() -> Any:
            begins = np.concatenate([[0], np.cumsum(np.maximum(case.lengths - by, 0))])
            out = np.empty((int(begins[-1]), *case.values.shape[1:]), x.dtype)
            kernel(x, case.offsets, begins, out.reshape(out.shape[0], -1))
            return out

        return call

    return prepare


def _prepare_from_padded(case: Case) -> Callable[[], Any]:
    padded = case.padded.reshape(*case.padded.shape[:2], -1)

    def call() -> Any:
        offsets = np.concatenate([[0], np.cumsum(case.lengths)])
        out = np.empty(case.values.shape, padded.dtype)
        loops.from_padded(padded, offsets, out.reshape(out.shape[0], -1))
        return out

    return call


def _prepare_repeat(case: Case) -> Callable[[], Any]:
    x = _matrix(case)

    def call() -> Any:
        begins = np.concatenate([[0], np.cumsum(case.counts)])
        out = np.empty((int(begins[-1]), *case.values.shape[1:]), x.dtype)
        loops.repeat(x, case.counts, begins, out.reshape(out.shape[0], -1))
        return out

    return call


def _prepare_gather(case: Case) -> Callable[[], Any]:
    x = _matrix(case)

    def call() -> Any:
        out = np.empty_like(case.values)
        loops.gather(x, case.offsets, case.places, out.reshape(x.shape))
        return out

    return call


def _prepare_segment_sum(case: Case) -> Callable[[], Any]:
    x = _matrix(case)

    def call() -> Any:
        out = np.zeros((TABLE, *case.values.shape[1:]), np.int64 if x.dtype.kind == "i" else x.dtype)
        loops.segment_sum(x, case.ids, out.reshape(TABLE, -1))
        return out

    return call


def _prepare_bincount(case: Case) -> Callable[[], Any]:
    def call() -> Any:
        out = np.empty((case.lengths.size, BINS), np.int64)
        loops.bincount(case.binned, case.offsets, out)
        return out

    return call


def _prepare_local_index(case: Case) -> Callable[[], Any]:
    def call() -> Any:
        out = np.empty(case.rows, np.int64)
        loops.local_index(case.offsets, out)
        return out

    return call


def _of_sets(kernel: Any) -> Callable[[Case], Callable[[], Any]]:
    """A kernel that puts as many ids as a component has, twice at most, where there is room, packed behind it."""

    def prepare(case: Case) -> Callable[[], Any]:
        def call() -> Any:
            counts, room = np.zeros(case.lengths.size + 1, np.int64), np.empty(2 * case.rows, np.int64)
            kernel(case.ids, case.other_ids, case.offsets, counts, room)
            begins = np.cumsum(counts)
            out = np.empty(int(begins[-1]), np.int64)
            loops.packed(room, case.offsets, begins, out)
            return out

        return call

    return prepare


def _prepare_contains(case: Case) -> Callable[[], Any]:
    def call() -> Any:
        out = np.empty(case.rows, np.bool_)
        loops.contains(case.ids, case.other_ids, case.offsets, out)
        return out

    return call


def _prepare_isin(case: Case) -> Callable[[], Any]:
    def call() -> Any:
        out = np.empty(case.rows, np.bool_)
        loops.isin(case.ids, case.wanted, out)
        return out

    return call


def _of_lists(prepare: Callable[[Case], Callable[[], Any]]) -> Callable[[Case], Callable[[], Any]]:
    def refusing(case: Case) -> Callable[[], Any]:
        if case.values.ndim > 1:
            raise NotImplementedError
        return prepare(case)

    return refusing


def _prepare_take(case: Case) -> Callable[[], Any]:
    x = _matrix(case)

    def take() -> Any:
        offsets = np.concatenate([[0], np.cumsum(case.lengths[case.picked])])
        out = np.empty((int(offsets[-1]), *case.values.shape[1:]), x.dtype)
        loops.take(x, case.offsets[case.picked], offsets, out.reshape(out.shape[0], -1))
        return out

    return take


def _prepare_filter(case: Case) -> Callable[[], Any]:
    x = _matrix(case)

    def call() -> Any:
        counts = np.zeros(case.lengths.size + 1, np.int64)
        loops.counted(case.mask, case.offsets, counts)
        begins = np.cumsum(counts)
        out = np.empty((int(begins[-1]), *case.values.shape[1:]), x.dtype)
        loops.kept(x, case.mask, case.offsets, begins, out.reshape(out.shape[0], -1))
        return out

    return call


def _prepare_affine(case: Case) -> Callable[[], Any]:
    x = _matrix(case)

    def affine() -> Any:
        out = np.empty_like(case.values)
        loops.affine(x, out.reshape(x.shape))
        return out

    return affine


def _components(case: Case) -> int:
    return case.lengths.size


def _rows(case: Case) -> int:
    return case.rows


OPERATIONS = {
    "sum": _over(loops.sums, _components),
    "max": _over(loops.largest, _components),
    "softmax": _over(loops.softmax, _rows),
    "layer_norm": _over(loops.layer_norm, _rows),
    "cumsum": _over(loops.cumsum, _rows),
    "argmax": _over(loops.argmax, _components, np.int64),
    "take": _prepare_take,
    "filter": _prepare_filter,
    "var": _over(loops.var, _components),
    "logsumexp": _over(loops.logsumexp, _components),
    "sum where": _over(loops.sum_where, _components),
    "any": _over(loops.any_above, _components, np.bool_),
    "recurrence": _over(loops.recurrence, _rows),
    "running max": _over(loops.running_max, _rows),
    "diff": _shorter(loops.diff, 1),
    "reverse": _over(loops.reverse, _rows),
    "roll": _over(loops.roll, _rows),
    "window sums": _shorter(loops.window_sums, WINDOW - 1),
    "from_padded": _prepare_from_padded,
    "repeat": _prepare_repeat,
    "gather": _prepare_gather,
    "segment_sum": _prepare_segment_sum,
    "sort": _of_lists(_over(loops.sort, _rows)),
    "median": _of_lists(_over(loops.median, _components)),
    "quantile": _of_lists(_over(loops.quantile, _components)),
    "ranks": _of_lists(_over(loops.ranks, _rows, np.float64)),
    "log_softmax": _over(loops.log_softmax, _rows),
    "rms_norm": _over(loops.rms_norm, _rows),
    "exp": _over(loops.exp, _rows),
    "tanh": _over(loops.tanh, _rows),
    "where": _over(loops.where, _rows),
    "local_index": _prepare_local_index,
    "union": _of_sets(loops.united),
    "intersection": _of_sets(loops.common),
    "contains": _prepare_contains,
    "bincount": _prepare_bincount,
    "isin": _prepare_isin,
    "x * 2 + 1": _prepare_affine,
}
