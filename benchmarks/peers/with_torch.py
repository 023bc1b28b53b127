"""PyTorch on packed rows: operations on segments, products, norms, and one call per component for attention."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from cases import CHOICES, EXPERTS, TABLE, Case
from common import Array

VERSION = torch.__version__


def _values(case: Case) -> Any:
    return torch.from_numpy(case.values)


def _reduced(reduce: str) -> Callable[[Case], Callable[[], Any]]:
    def prepare(case: Case) -> Callable[[], Any]:
        x, lengths = _values(case), torch.from_numpy(case.lengths)
        return lambda: torch.segment_reduce(x, reduce, lengths=lengths, unsafe=True).numpy()

    return prepare


def _layer_norm(case: Case) -> Callable[[], Any]:
    x = _values(case)
    return lambda: torch.nn.functional.layer_norm(x, x.shape[-1:]).numpy()


def _to_padded(case: Case) -> Callable[[], Any]:
    parts = torch.from_numpy(case.values).split(case.lengths.tolist())
    return lambda: torch.nn.utils.rnn.pad_sequence(parts, batch_first=True).numpy()


def _lookup(case: Case) -> Callable[[], Any]:
    table, ids = torch.from_numpy(case.table), torch.from_numpy(case.ids)
    return lambda: torch.index_select(table, 0, ids).numpy()


def _bags(case: Case) -> Callable[[], Any]:
    table, ids = torch.from_numpy(case.table), torch.from_numpy(case.ids)
    starts = torch.from_numpy(case.offsets[:-1].copy())
    return lambda: torch.nn.functional.embedding_bag(ids, table, starts, mode="sum").numpy()


def _group_by(keys: Array) -> Callable[[], Any]:
    ids = torch.from_numpy(keys)
    return lambda: torch.argsort(ids, stable=True).numpy()


def _segment_sum(case: Case) -> Callable[[], Any]:
    x, ids = _values(case), torch.from_numpy(case.ids)
    return lambda: x.new_zeros((TABLE, *x.shape[1:])).index_add_(0, ids, x).numpy()


def _searchsorted(case: Case) -> Callable[[], Any]:
    x, table = _values(case), torch.from_numpy(case.table)
    return lambda: torch.searchsorted(table.sort().values, x).numpy()


def _isin(case: Case) -> Callable[[], Any]:
    ids, wanted = torch.from_numpy(case.ids), torch.from_numpy(case.wanted)
    return lambda: torch.isin(ids, wanted).numpy()


def _ungroup(case: Case) -> Callable[[], Any]:
    x, places = _values(case), torch.from_numpy(case.grouped)
    return lambda: torch.empty_like(x).index_copy_(0, places, x).numpy()


def _repeat(case: Case) -> Callable[[], Any]:
    x, counts = _values(case), torch.from_numpy(case.counts)
    return lambda: torch.repeat_interleave(x, counts, 0).numpy()


def _top_k(case: Case) -> Callable[[], Any]:
    x = _values(case)
    return lambda: x.topk(CHOICES, 1).values.numpy()


def _moe(case: Case, experts: tuple[Array, ...]) -> Callable[[], Any]:
    """A loop over experts."""
    x = _values(case)
    scores, gate, up, down = map(torch.from_numpy, experts)

    def call() -> Any:
        best, chosen = scores.topk(CHOICES, 1)
        shares, out = best.softmax(1), torch.zeros_like(x)
        for expert in range(EXPERTS):
            rows, choice = torch.where(chosen == expert)
            own = x[rows]
            inner = torch.nn.functional.silu(own @ gate[expert]) * (own @ up[expert])
            out.index_add_(0, rows, shares[rows, choice, None] * (inner @ down[expert]))
        return out.numpy()

    return call


def _product(case: Case) -> Callable[[], Any]:
    x, weights = _values(case), torch.from_numpy(case.weights)
    return lambda: (x @ weights).numpy()


def _affine(case: Case) -> Callable[[], Any]:
    x = _values(case)
    return lambda: (x * 2 + 1).numpy()


def attention(case: Case, queries: int | None = None) -> Callable[[], Any]:
    """A call of `scaled_dot_product_attention` per component, 4 heads, of its first queries or of all."""
    assert case.point.features is not None
    heads, attend = 4, torch.nn.functional.scaled_dot_product_attention
    x = _values(case).reshape(case.rows, heads, -1)
    parts = [p.transpose(0, 1)[None] for p in x.split(case.lengths.tolist())]

    def call() -> Any:
        out = [attend(p[:, :, :queries], p, p)[0].transpose(0, 1) for p in parts]
        return torch.cat(out).flatten(1).numpy()

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
    "attention": attention,
    "one query": lambda case: attention(case, 1),
}
