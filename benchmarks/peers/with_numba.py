"""Numba: the loops that one would write by hand, parallel over components. What it computes is what `Case` has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from cases import BINS, TABLE, WINDOW, Case
from numba import njit, prange

VERSION = numba.__version__
_loops = njit(parallel=True, fastmath={"contract", "reassoc", "nsz"}, cache=False)


@_loops
def _sum(x: Any, offsets: Any, out: Any) -> None:
    for i in prange(offsets.size - 1):
        out[i, :] = 0
        for j in range(offsets[i], offsets[i + 1]):
            for k in range(x.shape[1]):
                out[i, k] += x[j, k]


@_loops
def _max(x: Any, offsets: Any, out: Any) -> None:
    for i in prange(offsets.size - 1):
        out[i, :] = -np.inf
        for j in range(offsets[i], offsets[i + 1]):
            for k in range(x.shape[1]):
                out[i, k] = max(out[i, k], x[j, k])


@_loops
def _softmax(x: Any, offsets: Any, out: Any) -> None:
    for i in prange(offsets.size - 1):
        start, end = offsets[i], offsets[i + 1]
        if start == end:
            continue
        top = x[start].copy()
        for j in range(start + 1, end):
            for k in range(x.shape[1]):
                top[k] = max(top[k], x[j, k])
        total = np.zeros_like(top)
        for j in range(start, end):
            for k in range(x.shape[1]):
                out[j, k] = np.exp(x[j, k] - top[k])
                total[k] += out[j, k]
        for j in range(start, end):
            for k in range(x.shape[1]):
                out[j, k] /= total[k]


@_loops
def _layer_norm(x: Any, offsets: Any, out: Any) -> None:
    for j in prange(x.shape[0]):
        mean = x[j].sum() / x.shape[1]
        square = x.dtype.type(0)
        for k in range(x.shape[1]):
            square += (x[j, k] - mean) ** 2
        factor = 1 / np.sqrt(square / x.shape[1] + x.dtype.type(1e-5))
        for k in range(x.shape[1]):
            out[j, k] = (x[j, k] - mean) * factor


@_loops
def _cumsum(x: Any, offsets: Any, out: Any) -> None:
    for i in prange(offsets.size - 1):
        total = np.zeros(x.shape[1], x.dtype)
        for j in range(offsets[i], offsets[i + 1]):
            for k in range(x.shape[1]):
                total[k] += x[j, k]
                out[j, k] = total[k]


@_loops
def _argmax(x: Any, offsets: Any, out: Any) -> None:
    for i in prange(offsets.size - 1):
        out[i, :] = -1
        if offsets[i] == offsets[i + 1]:
            continue
        best = x[offsets[i]].copy()
        out[i, :] = 0
        for j in range(offsets[i] + 1, offsets[i + 1]):
            for k in range(x.shape[1]):
                if x[j, k] > best[k]:
                    best[k] = x[j, k]
                    out[i, k] = j - offsets[i]


@_loops
def _take(x: Any, starts: Any, offsets: Any, out: Any) -> None:
    for i in prange(offsets.size - 1):
        count = offsets[i + 1] - offsets[i]
        out[offsets[i] : offsets[i + 1]] = x[starts[i] : starts[i] + count]


@_loops
def _affine(x: Any, out: Any) -> None:
    for j in prange(x.shape[0]):
        for k in range(x.shape[1]):
            out[j, k] = x[j, k] * 2 + 1


@_loops
def _var(x: Any, offsets: Any, out: Any) -> None:
    for i in prange(offsets.size - 1):
        start, end = offsets[i], offsets[i + 1]
        mean = np.zeros(x.shape[1], x.dtype)
        for j in range(start, end):
            for k in range(x.shape[1]):
                mean[k] += x[j, k]
        mean /= x.dtype.type(end - start)
        out[i, :] = 0
        for j in range(start, end):
            for k in range(x.shape[1]):
                out[i, k] += (x[j, k] - mean[k]) ** 2
        out[i] /= x.dtype.type(end - start)


@_loops
def _logsumexp(x: Any, offsets: Any, out: Any) -> None:
    for i in prange(offsets.size - 1):
        out[i, :] = -np.inf
        if offsets[i] == offsets[i + 1]:
            continue
        top = x[offsets[i]].copy()
        for j in range(offsets[i] + 1, offsets[i + 1]):
            for k in range(x.shape[1]):
                top[k] = max(top[k], x[j, k])
        out[i, :] = 0
        for j in range(offsets[i], offsets[i + 1]):
            for k in range(x.shape[1]):
                out[i, k] += np.exp(x[j, k] - top[k])
        out[i] = np.log(out[i]) + top


@_loops
def _sum_where(x: Any, offsets: Any, out: Any) -> None:
    for i in prange(offsets.size - 1):
        out[i, :] = 0
        for j in range(offsets[i], offsets[i + 1]):
            for k in range(x.shape[1]):
                out[i, k] += x[j, k] if x[j, k] > 0 else 0


@_loops
def _any(x: Any, offsets: Any, out: Any) -> None:
    for i in prange(offsets.size - 1):
        for k in range(x.shape[1]):
            out[i, k] = False
            for j in range(offsets[i], offsets[i + 1]):
                if x[j, k] > 2:
                    out[i, k] = True
                    break


@_loops
def _recurrence(x: Any, offsets: Any, out: Any) -> None:
    half = x.dtype.type(0.5)
    for i in prange(offsets.size - 1):
        if offsets[i] < offsets[i + 1]:
            out[offsets[i]] = x[offsets[i]]
        for j in range(offsets[i] + 1, offsets[i + 1]):
            for k in range(x.shape[1]):
                out[j, k] = half * out[j - 1, k] + x[j, k]


@_loops
def _running_max(x: Any, offsets: Any, out: Any) -> None:
    for i in prange(offsets.size - 1):
        if offsets[i] < offsets[i + 1]:
            out[offsets[i]] = x[offsets[i]]
        for j in range(offsets[i] + 1, offsets[i + 1]):
            for k in range(x.shape[1]):
                out[j, k] = max(out[j - 1, k], x[j, k])


@_loops
def _reverse(x: Any, offsets: Any, out: Any) -> None:
    for i in prange(offsets.size - 1):
        for j in range(offsets[i], offsets[i + 1]):
            out[j] = x[offsets[i] + offsets[i + 1] - 1 - j]


@_loops
def _roll(x: Any, offsets: Any, out: Any) -> None:
    for i in prange(offsets.size - 1):
        if offsets[i] < offsets[i + 1]:
            out[offsets[i]] = x[offsets[i + 1] - 1]
        for j in range(offsets[i] + 1, offsets[i + 1]):
            out[j] = x[j - 1]


@_loops
def _diff(x: Any, offsets: Any, begins: Any, out: Any) -> None:
    for i in prange(offsets.size - 1):
        for j in range(begins[i + 1] - begins[i]):
            for k in range(x.shape[1]):
                out[begins[i] + j, k] = x[offsets[i] + j + 1, k] - x[offsets[i] + j, k]


@_loops
def _window_sums(x: Any, offsets: Any, begins: Any, out: Any) -> None:
    for i in prange(offsets.size - 1):
        for j in range(begins[i + 1] - begins[i]):
            for k in range(x.shape[1]):
                out[begins[i] + j, k] = 0
                for n in range(WINDOW):
                    out[begins[i] + j, k] += x[offsets[i] + j + n, k]


@_loops
def _from_padded(x: Any, offsets: Any, out: Any) -> None:
    for i in prange(offsets.size - 1):
        for j in range(offsets[i], offsets[i + 1]):
            out[j] = x[i, j - offsets[i]]


@_loops
def _repeat(x: Any, counts: Any, begins: Any, out: Any) -> None:
    for j in prange(x.shape[0]):
        for n in range(counts[j]):
            out[begins[j] + n] = x[j]


@_loops
def _gather(x: Any, offsets: Any, places: Any, out: Any) -> None:
    for i in prange(offsets.size - 1):
        for j in range(offsets[i], offsets[i + 1]):
            out[j] = x[offsets[i] + places[j]]


@njit
def _segment_sum(x: Any, ids: Any, out: Any) -> None:
    for j in range(x.shape[0]):
        for k in range(x.shape[1]):
            out[ids[j], k] += x[j, k]


@_loops
def _sort(x: Any, offsets: Any, out: Any) -> None:
    for i in prange(offsets.size - 1):
        out[offsets[i] : offsets[i + 1], 0] = np.sort(x[offsets[i] : offsets[i + 1], 0])


@_loops
def _median(x: Any, offsets: Any, out: Any) -> None:
    for i in prange(offsets.size - 1):
        out[i, 0] = np.median(x[offsets[i] : offsets[i + 1], 0])


@_loops
def _quantile(x: Any, offsets: Any, out: Any) -> None:
    for i in prange(offsets.size - 1):
        out[i, 0] = np.quantile(x[offsets[i] : offsets[i + 1], 0], 0.9)


@_loops
def _ranks(x: Any, offsets: Any, out: Any) -> None:
    for i in prange(offsets.size - 1):
        start, end = offsets[i], offsets[i + 1]
        order = np.argsort(x[start:end, 0])
        first = 0
        while first < order.size:  # equal ones have the mean of their ranks
            last = first + 1
            while last < order.size and x[start + order[last], 0] == x[start + order[first], 0]:
                last += 1
            for k in range(first, last):
                out[start + order[k], 0] = (first + last + 1) / 2
            first = last


@_loops
def _log_softmax(x: Any, offsets: Any, out: Any) -> None:
    for i in prange(offsets.size - 1):
        start, end = offsets[i], offsets[i + 1]
        if start == end:
            continue
        top = x[start].copy()
        for j in range(start + 1, end):
            for k in range(x.shape[1]):
                top[k] = max(top[k], x[j, k])
        total = np.zeros_like(top)
        for j in range(start, end):
            for k in range(x.shape[1]):
                total[k] += np.exp(x[j, k] - top[k])
        top += np.log(total)
        for j in range(start, end):
            for k in range(x.shape[1]):
                out[j, k] = x[j, k] - top[k]


@_loops
def _rms_norm(x: Any, offsets: Any, out: Any) -> None:
    for j in prange(x.shape[0]):
        square = x.dtype.type(0)
        for k in range(x.shape[1]):
            square += x[j, k] ** 2
        factor = 1 / np.sqrt(square / x.shape[1] + x.dtype.type(1e-5))
        for k in range(x.shape[1]):
            out[j, k] = x[j, k] * factor


@_loops
def _exp(x: Any, offsets: Any, out: Any) -> None:
    for j in prange(x.shape[0]):
        for k in range(x.shape[1]):
            out[j, k] = np.exp(x[j, k])


@_loops
def _tanh(x: Any, offsets: Any, out: Any) -> None:
    for j in prange(x.shape[0]):
        for k in range(x.shape[1]):
            out[j, k] = np.tanh(x[j, k])


@_loops
def _where(x: Any, offsets: Any, out: Any) -> None:
    for j in prange(x.shape[0]):
        for k in range(x.shape[1]):
            out[j, k] = x[j, k] if x[j, k] > 0 else 0


@_loops
def _local_index(offsets: Any, out: Any) -> None:
    for i in prange(offsets.size - 1):
        for j in range(offsets[i], offsets[i + 1]):
            out[j] = j - offsets[i]


@_loops
def _united(a: Any, b: Any, offsets: Any, counts: Any, out: Any) -> None:
    for i in prange(offsets.size - 1):
        start, end = offsets[i], offsets[i + 1]
        own = np.unique(np.concatenate((a[start:end], b[start:end])))
        counts[i + 1] = own.size
        out[2 * start : 2 * start + own.size] = own


@_loops
def _common(a: Any, b: Any, offsets: Any, counts: Any, out: Any) -> None:
    for i in prange(offsets.size - 1):
        start, end = offsets[i], offsets[i + 1]
        first, second = np.unique(a[start:end]), np.unique(b[start:end])
        j, k, count = 0, 0, 0
        while j < first.size and k < second.size:
            if first[j] == second[k]:
                out[2 * start + count] = first[j]
                count += 1
            smaller = first[j] <= second[k]
            k += first[j] >= second[k]
            j += smaller
        counts[i + 1] = count


@_loops
def _packed(x: Any, offsets: Any, begins: Any, out: Any) -> None:
    for i in prange(offsets.size - 1):
        count = begins[i + 1] - begins[i]
        out[begins[i] : begins[i + 1]] = x[2 * offsets[i] : 2 * offsets[i] + count]


@_loops
def _contains(a: Any, b: Any, offsets: Any, out: Any) -> None:
    for i in prange(offsets.size - 1):
        start, end = offsets[i], offsets[i + 1]
        own = np.sort(a[start:end])
        for j in range(start, end):
            k = np.searchsorted(own, b[j])
            out[j] = k < own.size and own[k] == b[j]


@_loops
def _bincount(x: Any, offsets: Any, out: Any) -> None:
    for i in prange(offsets.size - 1):
        out[i] = 0
        for j in range(offsets[i], offsets[i + 1]):
            out[i, x[j]] += 1


@_loops
def _isin(x: Any, wanted: Any, out: Any) -> None:
    known = np.zeros(TABLE, np.bool_)
    known[wanted] = True
    for j in prange(x.size):
        out[j] = known[x[j]]


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
        _from_padded(padded, offsets, out.reshape(out.shape[0], -1))
        return out

    return call


def _prepare_repeat(case: Case) -> Callable[[], Any]:
    x = _matrix(case)

    def call() -> Any:
        begins = np.concatenate([[0], np.cumsum(case.counts)])
        out = np.empty((int(begins[-1]), *case.values.shape[1:]), x.dtype)
        _repeat(x, case.counts, begins, out.reshape(out.shape[0], -1))
        return out

    return call


def _prepare_gather(case: Case) -> Callable[[], Any]:
    x = _matrix(case)

    def call() -> Any:
        out = np.empty_like(case.values)
        _gather(x, case.offsets, case.places, out.reshape(x.shape))
        return out

    return call


def _prepare_segment_sum(case: Case) -> Callable[[], Any]:
    x = _matrix(case)

    def call() -> Any:
        out = np.zeros((TABLE, *case.values.shape[1:]), np.int64 if x.dtype.kind == "i" else x.dtype)
        _segment_sum(x, case.ids, out.reshape(TABLE, -1))
        return out

    return call


def _prepare_bincount(case: Case) -> Callable[[], Any]:
    def call() -> Any:
        out = np.empty((case.lengths.size, BINS), np.int64)
        _bincount(case.binned, case.offsets, out)
        return out

    return call


def _prepare_local_index(case: Case) -> Callable[[], Any]:
    def call() -> Any:
        out = np.empty(case.rows, np.int64)
        _local_index(case.offsets, out)
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
            _packed(room, case.offsets, begins, out)
            return out

        return call

    return prepare


def _prepare_contains(case: Case) -> Callable[[], Any]:
    def call() -> Any:
        out = np.empty(case.rows, np.bool_)
        _contains(case.ids, case.other_ids, case.offsets, out)
        return out

    return call


def _prepare_isin(case: Case) -> Callable[[], Any]:
    def call() -> Any:
        out = np.empty(case.rows, np.bool_)
        _isin(case.ids, case.wanted, out)
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
        _take(x, case.offsets[case.picked], offsets, out.reshape(out.shape[0], -1))
        return out

    return take


def _prepare_affine(case: Case) -> Callable[[], Any]:
    x = _matrix(case)

    def affine() -> Any:
        out = np.empty_like(case.values)
        _affine(x, out.reshape(x.shape))
        return out

    return affine


def _components(case: Case) -> int:
    return case.lengths.size


def _rows(case: Case) -> int:
    return case.rows


OPERATIONS = {
    "sum": _over(_sum, _components),
    "max": _over(_max, _components),
    "softmax": _over(_softmax, _rows),
    "layer_norm": _over(_layer_norm, _rows),
    "cumsum": _over(_cumsum, _rows),
    "argmax": _over(_argmax, _components, np.int64),
    "take": _prepare_take,
    "var": _over(_var, _components),
    "logsumexp": _over(_logsumexp, _components),
    "sum where": _over(_sum_where, _components),
    "any": _over(_any, _components, np.bool_),
    "recurrence": _over(_recurrence, _rows),
    "running max": _over(_running_max, _rows),
    "diff": _shorter(_diff, 1),
    "reverse": _over(_reverse, _rows),
    "roll": _over(_roll, _rows),
    "window sums": _shorter(_window_sums, WINDOW - 1),
    "from_padded": _prepare_from_padded,
    "repeat": _prepare_repeat,
    "gather": _prepare_gather,
    "segment_sum": _prepare_segment_sum,
    "sort": _of_lists(_over(_sort, _rows)),
    "median": _of_lists(_over(_median, _components)),
    "quantile": _of_lists(_over(_quantile, _components)),
    "ranks": _of_lists(_over(_ranks, _rows, np.float64)),
    "log_softmax": _over(_log_softmax, _rows),
    "rms_norm": _over(_rms_norm, _rows),
    "exp": _over(_exp, _rows),
    "tanh": _over(_tanh, _rows),
    "where": _over(_where, _rows),
    "local_index": _prepare_local_index,
    "union": _of_sets(_united),
    "intersection": _of_sets(_common),
    "contains": _prepare_contains,
    "bincount": _prepare_bincount,
    "isin": _prepare_isin,
    "x * 2 + 1": _prepare_affine,
}
