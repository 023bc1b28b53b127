"""This project: arrays, and what would be written as one function as a `jit` of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from cases import BINS, CHOICES, ROUTED, TABLE, WINDOW, Case

import ragged_dialect as rg

VERSION = rg.__version__


def array(case: Case) -> Any:
    """The case's values as an array."""
    return rg.from_offsets(case.values, case.offsets)


def _has(case: Case, kinds: str) -> bool:
    return ("f" if case.point.real else "i") in kinds


def _on(function: Callable[[Any], Any], kinds: str = "fi") -> Callable[[Case], Callable[[], Any]]:
    def prepare(case: Case) -> Callable[[], Any]:
        if not _has(case, kinds):
            raise NotImplementedError
        x = array(case)
        return lambda: function(x)

    return prepare


def _on_features(function: Callable[[Any, Case], Any]) -> Callable[[Case], Callable[[], Any]]:
    def prepare(case: Case) -> Callable[[], Any]:
        if case.values.ndim == 1 or not case.point.real:
            raise NotImplementedError
        x = array(case)
        return lambda: function(x, case)

    return prepare


def _on_lists(function: Callable[[Any, Case], Any], kinds: str = "fi") -> Callable[[Case], Callable[[], Any]]:
    """Of lists of numbers alone."""

    def prepare(case: Case) -> Callable[[], Any]:
        if case.values.ndim > 1 or not _has(case, kinds):
            raise NotImplementedError
        x = array(case)
        return lambda: function(x, case)

    return prepare


def _beside(other: str, function: Callable[[Any, Any], Any]) -> Callable[[Case], Callable[[], Any]]:
    """Of the values and of what the case has for each row."""

    def prepare(case: Case) -> Callable[[], Any]:
        x, beside = array(case), rg.from_offsets(getattr(case, other), case.offsets)
        return lambda: function(x, beside)

    return prepare


LARGEST = 1 << 31
"""Bytes of a padded array: every candidate has one, and some keep two."""


def _refuse_large(case: Case) -> None:
    size = case.lengths.size * int(case.lengths.max()) * (case.values.nbytes // max(case.rows, 1))
    if size > LARGEST:
        raise NotImplementedError(f"a padded array of {size / 1e9:.1f} GB")


def _to_padded(case: Case) -> Callable[[], Any]:
    _refuse_large(case)
    x = array(case)
    return lambda: rg.to_padded(x)


def _from_padded(case: Case) -> Callable[[], Any]:
    _refuse_large(case)
    return lambda: rg.compact(rg.from_padded(case.padded, case.lengths))


def _ungroup(case: Case) -> Callable[[], Any]:
    sizes = np.bincount(case.ids, minlength=TABLE)
    places, x = rg.from_lengths(case.grouped, sizes), rg.from_lengths(case.values, sizes)
    return lambda: rg.ungroup(x, places)


def _take(case: Case) -> Callable[[], Any]:
    x = array(case)
    return lambda: rg.take(x, case.picked).values  # packed, as peers do it


def _lookup(case: Case) -> Callable[[], Any]:
    ids = rg.from_offsets(case.ids, case.offsets)
    return lambda: rg.take(case.table, ids)


_pooled = rg.jit(lambda table, ids: rg.take(table, ids).sum(1))


def _bag(case: Case) -> Callable[[], Any]:
    ids = rg.from_offsets(case.ids, case.offsets)
    return lambda: _pooled(case.table, ids)


def _top_k(case: Case) -> Callable[[], Any]:
    if (case.point.features or 0) < CHOICES or not case.point.real:
        raise NotImplementedError
    return lambda: rg.top_k(case.values, CHOICES)[0]


def _attention(case: Case) -> Callable[[], Any]:
    if case.point.features is None or case.point.features % 4 or not case.point.real:
        raise NotImplementedError
    heads = array(case).reshape((2,), (4, -1))
    return lambda: rg.attention(heads, heads, heads)


def _one_query(case: Case) -> Callable[[], Any]:
    if case.point.features is None or case.point.features % 4 or not case.point.real:
        raise NotImplementedError
    heads = array(case).reshape((2,), (4, -1))
    queries = rg.compact(heads[:, :1])
    return lambda: rg.attention(queries, heads, heads).values


def _of_ids(function: Callable[[Any, Any], Any]) -> Callable[[Case], Callable[[], Any]]:
    """Of two lists of ids for each component."""

    def prepare(case: Case) -> Callable[[], Any]:
        ids, others = (rg.from_offsets(x, case.offsets) for x in (case.ids, case.other_ids))
        return lambda: function(ids, others)

    return prepare


_window_sums = rg.jit(lambda x: rg.windows(x, WINDOW).sum(2))
_positive_sum = rg.jit(lambda x: x.sum(1, where=x > 0))
_any_above = rg.jit(lambda x: (x > 2).any(1))
_moe = rg.jit(lambda x, *experts: rg.nn.moe(x, *experts, k=CHOICES))

OPERATIONS = {
    "sum": _on(lambda x: x.sum(1)),
    "max": _on(lambda x: x.max(1)),
    "mean": _on(lambda x: x.mean(1), "f"),
    "argmax": _on(lambda x: x.argmax(1)),
    "softmax": _on(lambda x: rg.softmax(x, 1), "f"),
    "cumsum": _on(lambda x: x.cumsum(1)),
    "layer_norm": _on_features(lambda x, case: rg.layer_norm(x)),
    "to_padded": _to_padded,
    "take": _take,
    "filter": _beside("mask", lambda x, mask: x[mask]),
    "lookup": _lookup,
    "bags": _bag,
    "group_by": lambda case: lambda: rg.group_by(case.ids, TABLE).values,
    "route": lambda case: lambda: rg.group_by(case.routed, ROUTED).values,
    "top_k": _top_k,
    "concat": _on(lambda x: rg.concat([x, x], 1)),
    "x * 2 + 1": _on(rg.jit(lambda x: x * 2 + 1)),
    "x - mean": _on(rg.jit(lambda x: x - x.mean(1, keepdims=True)), "f"),
    "x @ w": _on_features(lambda x, case: x @ case.weights),
    "exp": _on(np.exp, "f"),
    "tanh": _on(np.tanh, "f"),
    "where": _on(rg.jit(lambda x: np.where(x > 0, x, 0))),
    "rms_norm": _on_features(lambda x, case: rg.rms_norm(x)),
    "log_softmax": _on(lambda x: rg.log_softmax(x, 1), "f"),
    "attention": _attention,
    "one query": _one_query,
    "var": _on(lambda x: x.var(1), "f"),
    "logsumexp": _on(lambda x: rg.logsumexp(x, 1), "f"),
    "sum where": _on(_positive_sum),
    "any": _on(_any_above),
    "recurrence": _on(lambda x: rg.linear_recurrence(x, 0.5), "f"),
    "diff": _on(lambda x: np.diff(x, axis=1)),
    "reverse": _on(lambda x: rg.compact(x[:, ::-1])),
    "roll": _on(lambda x: np.roll(x, 1, axis=1)),
    "window sums": _on(_window_sums),
    "from_padded": _from_padded,
    "repeat": _beside("counts", lambda x, counts: rg.repeat(x, counts, 1)),
    "gather": _beside("places", rg.gather),
    "segment_sum": lambda case: lambda: rg.segment_sum(case.values, case.ids, TABLE),
    "ungroup": _ungroup,
    "running max": _on_lists(lambda x, case: np.maximum.accumulate(x, axis=1)),
    "local_index": lambda case: lambda: rg.local_index(rg.from_offsets(case.ids, case.offsets)),
    "union": _of_ids(rg.union),
    "intersection": _of_ids(rg.intersection),
    "contains": _of_ids(rg.contains),
    "sort": _on_lists(lambda x, case: rg.sort(x, axis=1)),
    "argsort": _on_lists(lambda x, case: rg.argsort(x, axis=1)),
    "median": _on_lists(lambda x, case: rg.median(x, axis=1), "f"),
    "quantile": _on_lists(lambda x, case: rg.quantile(x, 0.9, axis=1), "f"),
    "ranks": _on_lists(lambda x, case: rg.rankdata(x, axis=1)),
    "unique": _on_lists(lambda x, case: rg.unique(x, axis=1)),
    "searchsorted": _on_lists(lambda x, case: rg.searchsorted(np.sort(case.table), x)),
    "bincount": lambda case: lambda: rg.bincount(rg.from_offsets(case.binned, case.offsets), BINS),
    "isin": lambda case: lambda: np.isin(rg.from_offsets(case.ids, case.offsets), case.wanted),
    "moe": _on_features(lambda x, case: _moe(case.values, *case.experts)),
    "moe, skewed": _on_features(lambda x, case: _moe(case.values, *case.skewed_experts)),
}
