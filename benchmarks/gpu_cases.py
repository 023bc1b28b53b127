"""The programs that `gpu_check.py` runs: their arguments, what NumPy says of every component, the bytes
that must be moved, and what PyTorch has for the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from common import Array
from gpu_problems import WIDTH, Problem

Arguments = tuple[Any, ...]
Expected = list[tuple[Array, Array]]
"""Per result what it should be, and the magnitude that its error is relative to."""

ROWS, COMPONENTS = "rows", "components"
"""Whether a result has a row per row or per component."""

_ROW_BYTES = WIDTH * 4
_PADDED = 1 << 22
_SCORES = 1 << 24
_SERIAL = 1 << 17
_FACTOR = 1.5


@dataclass(frozen=True)
class Case:
    """A program. `arguments` makes those of a problem, given what copies to the device; `expected` gets a
    component and its first row and the row after its last. `extra` are rows read or written beside
    the values themselves. `torch` makes of the arguments, as tensors, a call that does the same."""

    name: str
    arguments: Callable[[Problem, Any], Arguments]
    expected: Callable[[Problem, int, int, int], Expected]
    bytes: Callable[[Problem], int]
    results: tuple[str, ...] = (ROWS,)
    tolerance: float = 1e-5
    fits: Callable[[Problem], bool] = lambda problem: True
    torch: Callable[[Any, Sequence[Any]], Callable[[], Any]] | None = None
    bad_offsets: int = 1
    """Which argument has the offsets; -1 where there are none."""


def _plain(problem: Problem, cupy: Any) -> Arguments:
    return problem.device(cupy), cupy.asarray(problem.offsets)


def _both_ways(problem: Problem) -> int:
    """Every row read and written."""
    return 2 * problem.rows * _ROW_BYTES + problem.offsets.nbytes


def _read_and_sums(problem: Problem) -> int:
    """Every row read, a row per component written."""
    return (problem.rows + problem.components) * _ROW_BYTES + problem.offsets.nbytes


def _scale(problem: Problem, component: int, low: int, high: int) -> Expected:
    x = problem.span(low, high)
    return [(x * _FACTOR + x, abs(x))]


def _layer_norm(problem: Problem, component: int, low: int, high: int) -> Expected:
    x = problem.span(low, high)
    x = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)
    return [(x, abs(x) + 1)]


def _sum(problem: Problem, component: int, low: int, high: int) -> Expected:
    x = problem.span(low, high)
    return [(x.sum(0), abs(x).sum(0))]


def _softmax_of(x: Array) -> Array:
    powers = np.exp(x - x.max(0, keepdims=True, initial=-np.inf))
    return powers / powers.sum(0, keepdims=True)


def _softmax(problem: Problem, component: int, low: int, high: int) -> Expected:
    found = _softmax_of(problem.span(low, high))
    return [(found, found)]


def _copied(problem: Problem, component: int, low: int, high: int) -> Expected:
    x = problem.span(low, high)
    return [(x, np.zeros_like(x))]


def _gathered(problem: Problem, component: int, low: int, high: int) -> Expected:
    x = problem.host(problem.numbers[low:high])
    return [(x, np.zeros_like(x))]


def _pooling(problem: Problem, component: int, low: int, high: int) -> Expected:
    x = problem.span(low, high)
    weights = _softmax_of(x @ problem.query.astype(np.float64))
    return [(weights @ x, weights @ abs(x)), (weights, weights)]


def _attention(problem: Problem, component: int, low: int, high: int) -> Expected:
    first, last = problem.others[component : component + 2]
    q, k = problem.span(low, high)[:, :8], problem.span(first, last)[:, :8]
    weights = _softmax_of((q @ k.T).T).T
    return [(weights @ k, weights @ abs(k))]


def _short(problem: Problem, cupy: Any) -> Arguments:
    return problem.device(cupy).astype(np.float16).reshape((problem.rows, 4, 16)), cupy.asarray(problem.offsets)


def _short_attention(problem: Problem, component: int, low: int, high: int) -> Expected:
    x = problem.span(low, high).astype(np.float16).astype(np.float64).reshape(-1, 4, 16).transpose(1, 0, 2)
    weights = _softmax_of((x @ x.transpose(0, 2, 1) / 4).transpose(2, 0, 1)).transpose(1, 2, 0)
    return [((weights @ x).transpose(1, 0, 2), (weights @ abs(x)).transpose(1, 0, 2))]


def _nested_attention(torch: Any, given: Sequence[Any]) -> Callable[[], Any]:
    x = torch.nested.nested_tensor_from_jagged(given[0], given[1]).transpose(1, 2)
    return lambda: torch.nn.functional.scaled_dot_product_attention(x, x, x)


def _biased(problem: Problem, component: int, low: int, high: int) -> Expected:
    x, own = problem.span(low, high), problem.biases[component].astype(np.float64)
    return [(x + own, abs(x) + abs(own))]


def _recurrence(problem: Problem, component: int, low: int, high: int) -> Expected:
    x, last = problem.block[:high, 0].astype(np.float64), 0.0
    for i, element in enumerate(x):
        x[i] = last = last * 0.5 + element
    return [(x[low:], np.ones(high - low))]


def _padded(problem: Problem, cupy: Any) -> Arguments:
    """Rows in a box; what is outside of the components is NaN."""
    box = np.full((problem.components, problem.longest, WIDTH), np.nan, np.float32)
    for component, (low, high) in enumerate(zip(problem.offsets, problem.offsets[1:], strict=False)):
        box[component, : high - low] = problem.block[np.arange(low, high) % len(problem.block)]
    return cupy.asarray(box), cupy.asarray(problem.offsets)


def _few_columns(problem: Problem, cupy: Any) -> Arguments:
    x = cupy.asarray(np.ascontiguousarray(problem.block[np.arange(problem.rows) % len(problem.block), :8]))
    keys = x, cupy.asarray(problem.others)
    return (x, cupy.asarray(problem.offsets)), keys, keys


def _one_column(problem: Problem, cupy: Any) -> Arguments:
    return cupy.asarray(np.ascontiguousarray(problem.block[: problem.rows, 0])), 0.5


def _scores(problem: Problem) -> int:
    return int((np.diff(problem.offsets) * np.diff(problem.others)).sum())


def _nested_softmax(torch: Any, given: Sequence[Any]) -> Callable[[], Any]:
    nested = torch.nested.nested_tensor_from_jagged(given[0], given[1])
    return lambda: torch.softmax(nested, dim=1)


CASES = (
    Case("scale", lambda p, c: (*_plain(p, c), _FACTOR), _scale, _both_ways,
         torch=lambda torch, given: lambda: given[0] * _FACTOR + given[0]),
    Case("layer_norm", _plain, _layer_norm, _both_ways, tolerance=1e-4,
         torch=lambda torch, given: lambda: torch.nn.functional.layer_norm(given[0], (WIDTH,))),
    Case("segmented_softmax", _plain, _softmax, _both_ways, tolerance=1e-4, torch=_nested_softmax),
    Case("segmented_sum", _plain, _sum, _read_and_sums, (COMPONENTS,),
         torch=lambda torch, given: lambda: torch.segment_reduce(given[0], "sum", offsets=given[1], axis=0)),
    Case("component_bias", lambda p, c: (*_plain(p, c), c.asarray(p.biases)), _biased,
         lambda p: _both_ways(p) + p.biases.nbytes,
         torch=lambda torch, given: lambda: given[0] + torch.repeat_interleave(given[2], torch.diff(given[1]), dim=0)),
    Case("from_padded", _padded, _copied, _both_ways, fits=lambda p: p.components * p.longest <= _PADDED),
    Case("row_gather", lambda p, c: (p.device(c), c.asarray(p.numbers), c.asarray(p.offsets)), _gathered,
         lambda p: _both_ways(p) + p.numbers.nbytes, bad_offsets=2,
         torch=lambda torch, given: lambda: torch.index_select(given[0], 0, given[1])),
    Case("attention_pooling", lambda p, c: (*_plain(p, c), c.asarray(p.query)), _pooling,
         lambda p: 2 * _read_and_sums(p) + 4 * p.rows, (COMPONENTS, ROWS), tolerance=1e-4),
    Case("ragged_attention", _few_columns, _attention, lambda p: 4 * p.rows * 32 + 8 * _scores(p), tolerance=1e-4,
         fits=lambda p: _scores(p) <= _SCORES, bad_offsets=-1),
    Case("short_attention", _short, _short_attention, lambda p: 2 * p.rows * 128, tolerance=2e-3,
         fits=lambda p: _scores(p) <= _SCORES, torch=_nested_attention),
    Case("recurrence", _one_column, _recurrence, lambda p: 8 * p.rows, fits=lambda p: p.kind == "one" and
         p.rows <= _SERIAL, bad_offsets=-1),
)  # fmt: skip
"""In the order in which they run."""
