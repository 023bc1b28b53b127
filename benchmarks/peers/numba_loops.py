"""The loops that one would write by hand, parallel over components."""

from __future__ import annotations

from typing import Any

import numpy as np
from cases import TABLE, WINDOW
from numba import njit, prange

_loops = njit(parallel=True, fastmath={"contract", "reassoc", "nsz"}, cache=False)


@_loops
def sums(x: Any, offsets: Any, out: Any) -> None:
    for i in prange(offsets.size - 1):
        out[i, :] = 0
        for j in range(offsets[i], offsets[i + 1]):
            for k in range(x.shape[1]):
                out[i, k] += x[j, k]


@_loops
def largest(x: Any, offsets: Any, out: Any) -> None:
    for i in prange(offsets.size - 1):
        out[i, :] = -np.inf
        for j in range(offsets[i], offsets[i + 1]):
            for k in range(x.shape[1]):
                out[i, k] = max(out[i, k], x[j, k])


@_loops
def softmax(x: Any, offsets: Any, out: Any) -> None:
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
def layer_norm(x: Any, offsets: Any, out: Any) -> None:
    for j in prange(x.shape[0]):
        mean = x[j].sum() / x.shape[1]
        square = x.dtype.type(0)
        for k in range(x.shape[1]):
            square += (x[j, k] - mean) ** 2
        factor = 1 / np.sqrt(square / x.shape[1] + x.dtype.type(1e-5))
        for k in range(x.shape[1]):
            out[j, k] = (x[j, k] - mean) * factor


@_loops
def cumsum(x: Any, offsets: Any, out: Any) -> None:
    for i in prange(offsets.size - 1):
        total = np.zeros(x.shape[1], x.dtype)
        for j in range(offsets[i], offsets[i + 1]):
            for k in range(x.shape[1]):
                total[k] += x[j, k]
                out[j, k] = total[k]


@_loops
def argmax(x: Any, offsets: Any, out: Any) -> None:
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
def take(x: Any, starts: Any, offsets: Any, out: Any) -> None:
    for i in prange(offsets.size - 1):
        count = offsets[i + 1] - offsets[i]
        out[offsets[i] : offsets[i + 1]] = x[starts[i] : starts[i] + count]


@_loops
def affine(x: Any, out: Any) -> None:
    for j in prange(x.shape[0]):
        for k in range(x.shape[1]):
            out[j, k] = x[j, k] * 2 + 1


@_loops
def var(x: Any, offsets: Any, out: Any) -> None:
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
def logsumexp(x: Any, offsets: Any, out: Any) -> None:
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
def sum_where(x: Any, offsets: Any, out: Any) -> None:
    for i in prange(offsets.size - 1):
        out[i, :] = 0
        for j in range(offsets[i], offsets[i + 1]):
            for k in range(x.shape[1]):
                out[i, k] += x[j, k] if x[j, k] > 0 else 0


@_loops
def any_above(x: Any, offsets: Any, out: Any) -> None:
    for i in prange(offsets.size - 1):
        for k in range(x.shape[1]):
            out[i, k] = False
            for j in range(offsets[i], offsets[i + 1]):
                if x[j, k] > 2:
                    out[i, k] = True
                    break


@_loops
def recurrence(x: Any, offsets: Any, out: Any) -> None:
    half = x.dtype.type(0.5)
    for i in prange(offsets.size - 1):
        if offsets[i] < offsets[i + 1]:
            out[offsets[i]] = x[offsets[i]]
        for j in range(offsets[i] + 1, offsets[i + 1]):
            for k in range(x.shape[1]):
                out[j, k] = half * out[j - 1, k] + x[j, k]


@_loops
def running_max(x: Any, offsets: Any, out: Any) -> None:
    for i in prange(offsets.size - 1):
        if offsets[i] < offsets[i + 1]:
            out[offsets[i]] = x[offsets[i]]
        for j in range(offsets[i] + 1, offsets[i + 1]):
            for k in range(x.shape[1]):
                out[j, k] = max(out[j - 1, k], x[j, k])


@_loops
def reverse(x: Any, offsets: Any, out: Any) -> None:
    for i in prange(offsets.size - 1):
        for j in range(offsets[i], offsets[i + 1]):
            out[j] = x[offsets[i] + offsets[i + 1] - 1 - j]


@_loops
def roll(x: Any, offsets: Any, out: Any) -> None:
    for i in prange(offsets.size - 1):
        if offsets[i] < offsets[i + 1]:
            out[offsets[i]] = x[offsets[i + 1] - 1]
        for j in range(offsets[i] + 1, offsets[i + 1]):
            out[j] = x[j - 1]


@_loops
def diff(x: Any, offsets: Any, begins: Any, out: Any) -> None:
    for i in prange(offsets.size - 1):
        for j in range(begins[i + 1] - begins[i]):
            for k in range(x.shape[1]):
                out[begins[i] + j, k] = x[offsets[i] + j + 1, k] - x[offsets[i] + j, k]


@_loops
def window_sums(x: Any, offsets: Any, begins: Any, out: Any) -> None:
    for i in prange(offsets.size - 1):
        for j in range(begins[i + 1] - begins[i]):
            for k in range(x.shape[1]):
                out[begins[i] + j, k] = 0
                for n in range(WINDOW):
                    out[begins[i] + j, k] += x[offsets[i] + j + n, k]


@_loops
def from_padded(x: Any, offsets: Any, out: Any) -> None:
    for i in prange(offsets.size - 1):
        for j in range(offsets[i], offsets[i + 1]):
            out[j] = x[i, j - offsets[i]]


@_loops
def repeat(x: Any, counts: Any, begins: Any, out: Any) -> None:
    for j in prange(x.shape[0]):
        for n in range(counts[j]):
            out[begins[j] + n] = x[j]


@_loops
def gather(x: Any, offsets: Any, places: Any, out: Any) -> None:
    for i in prange(offsets.size - 1):
        for j in range(offsets[i], offsets[i + 1]):
            out[j] = x[offsets[i] + places[j]]


@njit
def segment_sum(x: Any, ids: Any, out: Any) -> None:
    for j in range(x.shape[0]):
        for k in range(x.shape[1]):
            out[ids[j], k] += x[j, k]


@_loops
def sort(x: Any, offsets: Any, out: Any) -> None:
    for i in prange(offsets.size - 1):
        out[offsets[i] : offsets[i + 1], 0] = np.sort(x[offsets[i] : offsets[i + 1], 0])


@_loops
def median(x: Any, offsets: Any, out: Any) -> None:
    for i in prange(offsets.size - 1):
        out[i, 0] = np.median(x[offsets[i] : offsets[i + 1], 0])


@_loops
def quantile(x: Any, offsets: Any, out: Any) -> None:
    for i in prange(offsets.size - 1):
        out[i, 0] = np.quantile(x[offsets[i] : offsets[i + 1], 0], 0.9)


@_loops
def ranks(x: Any, offsets: Any, out: Any) -> None:
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
def log_softmax(x: Any, offsets: Any, out: Any) -> None:
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
def rms_norm(x: Any, offsets: Any, out: Any) -> None:
    for j in prange(x.shape[0]):
        square = x.dtype.type(0)
        for k in range(x.shape[1]):
            square += x[j, k] ** 2
        factor = 1 / np.sqrt(square / x.shape[1] + x.dtype.type(1e-5))
        for k in range(x.shape[1]):
            out[j, k] = x[j, k] * factor


@_loops
def exp(x: Any, offsets: Any, out: Any) -> None:
    for j in prange(x.shape[0]):
        for k in range(x.shape[1]):
            out[j, k] = np.exp(x[j, k])


@_loops
def tanh(x: Any, offsets: Any, out: Any) -> None:
    for j in prange(x.shape[0]):
        for k in range(x.shape[1]):
            out[j, k] = np.tanh(x[j, k])


@_loops
def where(x: Any, offsets: Any, out: Any) -> None:
    for j in prange(x.shape[0]):
        for k in range(x.shape[1]):
            out[j, k] = x[j, k] if x[j, k] > 0 else 0


@_loops
def local_index(offsets: Any, out: Any) -> None:
    for i in prange(offsets.size - 1):
        for j in range(offsets[i], offsets[i + 1]):
            out[j] = j - offsets[i]


@_loops
def united(a: Any, b: Any, offsets: Any, counts: Any, out: Any) -> None:
    for i in prange(offsets.size - 1):
        start, end = offsets[i], offsets[i + 1]
        own = np.unique(np.concatenate((a[start:end], b[start:end])))
        counts[i + 1] = own.size
        out[2 * start : 2 * start + own.size] = own


@_loops
def common(a: Any, b: Any, offsets: Any, counts: Any, out: Any) -> None:
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
def packed(x: Any, offsets: Any, begins: Any, out: Any) -> None:
    for i in prange(offsets.size - 1):
        count = begins[i + 1] - begins[i]
        out[begins[i] : begins[i + 1]] = x[2 * offsets[i] : 2 * offsets[i] + count]


@_loops
def counted(mask: Any, offsets: Any, counts: Any) -> None:
    for i in prange(offsets.size - 1):
        number = 0
        for j in range(offsets[i], offsets[i + 1]):
            number += mask[j]
        counts[i + 1] = number


@_loops
def kept(x: Any, mask: Any, offsets: Any, begins: Any, out: Any) -> None:
    for i in prange(offsets.size - 1):
        j, place = offsets[i], begins[i]
        while place < begins[i + 1]:
            for k in range(x.shape[1]):
                out[place, k] = x[j, k]
            place += mask[j]
            j += 1


@_loops
def contains(a: Any, b: Any, offsets: Any, out: Any) -> None:
    for i in prange(offsets.size - 1):
        start, end = offsets[i], offsets[i + 1]
        own = np.sort(a[start:end])
        for j in range(start, end):
            k = np.searchsorted(own, b[j])
            out[j] = k < own.size and own[k] == b[j]


@_loops
def bincount(x: Any, offsets: Any, out: Any) -> None:
    for i in prange(offsets.size - 1):
        out[i] = 0
        for j in range(offsets[i], offsets[i + 1]):
            out[i, x[j]] += 1


@_loops
def isin(x: Any, wanted: Any, out: Any) -> None:
    known = np.zeros(TABLE, np.bool_)
    known[wanted] = True
    for j in prange(x.size):
        out[j] = known[x[j]]
