"""This project: arrays, and what would be written as one function as a `jit` of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cases import CHOICES, ROUTED, TABLE, Case

import ragged_dialect as rg

VERSION = rg.__version__


def array(case: Case) -> Any:
    """The case's values as an array."""
    return rg.from_offsets(case.values, case.offsets)


def _on(function: Callable[[Any], Any], kinds: str = "fi") -> Callable[[Case], Callable[[], Any]]:
    def prepare(case: Case) -> Callable[[], Any]:
        if case.values.dtype.kind not in kinds:
            raise NotImplementedError
        x = array(case)
        return lambda: function(x)

    return prepare


def _on_features(function: Callable[[Any, Case], Any]) -> Callable[[Case], Callable[[], Any]]:
    def prepare(case: Case) -> Callable[[], Any]:
        if case.values.ndim == 1 or case.values.dtype.kind != "f":
            raise NotImplementedError
        x = array(case)
        return lambda: function(x, case)

    return prepare


LARGEST = 1 << 31
"""Bytes of a padded result: every candidate has one, and some keep two."""


def _to_padded(case: Case) -> Callable[[], Any]:
    size = case.lengths.size * int(case.lengths.max()) * (case.values.nbytes // max(case.rows, 1))
    if size > LARGEST:
        raise NotImplementedError(f"a result of {size / 1e9:.1f} GB")
    x = array(case)
    return lambda: rg.to_padded(x)


def _filter(case: Case) -> Callable[[], Any]:
    x, mask = array(case), rg.from_offsets(case.mask, case.offsets)
    return lambda: x[mask]


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
    if (case.point.features or 0) < CHOICES or case.values.dtype.kind != "f":
        raise NotImplementedError
    return lambda: rg.top_k(case.values, CHOICES)[0]


def _attention(case: Case) -> Callable[[], Any]:
    if case.point.features is None or case.point.features % 4 or case.values.dtype.kind != "f":
        raise NotImplementedError
    heads = array(case).reshape((2,), (4, -1))
    return lambda: rg.attention(heads, heads, heads)


def _one_query(case: Case) -> Callable[[], Any]:
    if case.point.features is None or case.point.features % 4 or case.values.dtype.kind != "f":
        raise NotImplementedError
    heads = array(case).reshape((2,), (4, -1))
    queries = rg.compact(heads[:, :1])
    return lambda: rg.attention(queries, heads, heads).values


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
    "filter": _filter,
    "lookup": _lookup,
    "bags": _bag,
    "group_by": lambda case: lambda: rg.group_by(case.ids, TABLE).values,
    "route": lambda case: lambda: rg.group_by(case.routed, ROUTED).values,
    "top_k": _top_k,
    "concat": _on(lambda x: rg.concat([x, x], 1)),
    "x * 2 + 1": _on(rg.jit(lambda x: x * 2 + 1)),
    "x - mean": _on(rg.jit(lambda x: x - x.mean(1, keepdims=True)), "f"),
    "x @ w": _on_features(lambda x, case: x @ case.weights),
    "attention": _attention,
    "one query": _one_query,
    "moe": _on_features(lambda x, case: _moe(case.values, *case.experts)),
    "moe, skewed": _on_features(lambda x, case: _moe(case.values, *case.skewed_experts)),
}
