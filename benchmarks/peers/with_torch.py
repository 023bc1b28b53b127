"""PyTorch on packed rows: operations on segments, products, norms, and one call per component for attention."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from cases import CHOICES, EXPERTS, TABLE, Case
from common import Array

from peers.tensors import array, tensor

VERSION = torch.__version__


def _values(case: Case) -> Any:
    return tensor(case.values)


def _reduced(reduce: str) -> Callable[[Case], Callable[[], Any]]:
    def prepare(case: Case) -> Callable[[], Any]:
        x, lengths = _values(case), tensor(case.lengths)
        return lambda: array(torch.segment_reduce(x, reduce, lengths=lengths, unsafe=True))

    return prepare


def _layer_norm(case: Case) -> Callable[[], Any]:
    x = _values(case)
    return lambda: array(torch.nn.functional.layer_norm(x, x.shape[-1:]))


def _rms_norm(case: Case) -> Callable[[], Any]:
    x = _values(case)
    return lambda: array(torch.nn.functional.rms_norm(x, x.shape[-1:], eps=1e-5))


def _each(function: Callable[[Any], Any]) -> Callable[[Case], Callable[[], Any]]:
    """A function of every element."""

    def prepare(case: Case) -> Callable[[], Any]:
        x = _values(case)
        return lambda: array(function(x))

    return prepare


def _to_padded(case: Case) -> Callable[[], Any]:
    parts = tensor(case.values).split(case.lengths.tolist())
    return lambda: array(torch.nn.utils.rnn.pad_sequence(parts, batch_first=True))


def _lookup(case: Case) -> Callable[[], Any]:
    table, ids = tensor(case.table), tensor(case.ids)
    return lambda: array(torch.index_select(table, 0, ids))


def _bags(case: Case) -> Callable[[], Any]:
    table, ids = tensor(case.table), tensor(case.ids)
    starts = tensor(case.offsets[:-1].copy())
    return lambda: array(torch.nn.functional.embedding_bag(ids, table, starts, mode="sum"))


def _group_by(keys: Array) -> Callable[[], Any]:
    ids = tensor(keys)
    return lambda: array(torch.argsort(ids, stable=True))


def _segment_sum(case: Case) -> Callable[[], Any]:
    x, ids = _values(case), tensor(case.ids)
    return lambda: array(x.new_zeros((TABLE, *x.shape[1:])).index_add_(0, ids, x))


def _searchsorted(case: Case) -> Callable[[], Any]:
    x, table = _values(case), tensor(case.table)
    return lambda: array(torch.searchsorted(table.sort().values, x))


def _isin(case: Case) -> Callable[[], Any]:
    ids, wanted = tensor(case.ids), tensor(case.wanted)
    return lambda: array(torch.isin(ids, wanted))


def _ungroup(case: Case) -> Callable[[], Any]:
    x, places = _values(case), tensor(case.grouped)
    return lambda: array(torch.empty_like(x).index_copy_(0, places, x))


def _repeat(case: Case) -> Callable[[], Any]:
    x, counts = _values(case), tensor(case.counts)
    return lambda: array(torch.repeat_interleave(x, counts, 0))


def _top_k(case: Case) -> Callable[[], Any]:
    x = _values(case)
    return lambda: array(x.topk(CHOICES, 1).values)


def _moe(case: Case, experts: tuple[Array, ...]) -> Callable[[], Any]:
    """A loop over experts."""
    x = _values(case)
    scores, gate, up, down = map(tensor, experts)

    def call() -> Any:
        best, chosen = scores.topk(CHOICES, 1)
        shares, out = best.softmax(1), torch.zeros_like(x)
        for expert in range(EXPERTS):
            rows, choice = torch.where(chosen == expert)
            own = x[rows]
            inner = torch.nn.functional.silu(own @ gate[expert]) * (own @ up[expert])
            out.index_add_(0, rows, shares[rows, choice, None] * (inner @ down[expert]))
        return array(out)

    return call


def _product(case: Case) -> Callable[[], Any]:
    x, weights = _values(case), tensor(case.weights)
    return lambda: array(x @ weights)


def _affine(case: Case) -> Callable[[], Any]:
    x = _values(case)
    return lambda: array(x * 2 + 1)


def attention(case: Case, queries: int | None = None) -> Callable[[], Any]:
    """A call of `scaled_dot_product_attention` per component, 4 heads, of its first queries or of all."""
    assert case.point.features is not None
    heads, attend = 4, torch.nn.functional.scaled_dot_product_attention
    x = _values(case).reshape(case.rows, heads, -1)
    parts = [p.transpose(0, 1)[None] for p in x.split(case.lengths.tolist())]

    def call() -> Any:
        out = [attend(p[:, :, :queries], p, p)[0].transpose(0, 1) for p in parts]
        return array(torch.cat(out).flatten(1))

    return call


OPERATIONS = {
    "sum": _reduced("sum"),
    "max": _reduced("max"),
    "mean": _reduced("mean"),
    "layer_norm": _layer_norm,
    "to_padded": _to_padded,
    "lookup": _lookup,
    "bags": _bags,
    "group_by": lambda case: _group_by(case.ids),
    "route": lambda case: _group_by(case.routed),
    "top_k": _top_k,
    "segment_sum": _segment_sum,
    "searchsorted": _searchsorted,
    "isin": _isin,
    "ungroup": _ungroup,
    "repeat": _repeat,
    "moe": lambda case: _moe(case, case.experts),
    "moe, skewed": lambda case: _moe(case, case.skewed_experts),
    "x @ w": _product,
    "x * 2 + 1": _affine,
    "exp": _each(torch.exp),
    "tanh": _each(torch.tanh),
    "where": _each(torch.relu),
    "rms_norm": _rms_norm,
    "attention": attention,
    "one query": lambda case: attention(case, 1),
}
