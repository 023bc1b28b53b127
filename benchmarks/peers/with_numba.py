"""Numba: the loops that one would write by hand, parallel over components. What it computes is what `Case` has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from cases import Case
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
        out[i, :] = x[offsets[i], :]
        for j in range(offsets[i] + 1, offsets[i + 1]):
            for k in range(x.shape[1]):
                out[i, k] = max(out[i, k], x[j, k])


@_loops
def _softmax(x: Any, offsets: Any, out: Any) -> None:
    for i in prange(offsets.size - 1):
        start, end = offsets[i], offsets[i + 1]
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
    "x * 2 + 1": _prepare_affine,
}
