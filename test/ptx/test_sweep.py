"""Programs as every PTX text that they become, against NumPy: each schedule for every element type, kernels of mixed
types, what examples and benchmarks run."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.matrix import keys
from support.ptx_sweep import variants
from support.schedule_programs import DTYPES, FLOATS, PROGRAMS
from support.softmax_programs import MIXED, softmax_of

import ragged_dialect as rg
from ragged_dialect.reference import run

NUMPY: dict[str, Any] = {
    **{"f16": "float16", "bf16": ml_dtypes.bfloat16, "f32": "float32", "f64": "float64"},
    **{name: f"int{name[1:]}" for name in DTYPES if name not in FLOATS},
}

LENGTHS = {
    "none": [],
    "empty": [0, 0, 0],
    "some": [3, 0, 0, 40, 1, 7],
    "one huge": [0, 1, 6000, 2],
    "many": [k % 3 for k in range(4500)],
}
"""Components; in the last more than any number of them that a choice depends on, but of a few rows."""

WIDTHS = (1, 6, 33, 64)
PAIRS_AT_MOST = 100
"""Rows of a component that pairs are made of: the emulator runs some million threads a second."""

LONG, SHORT = (
    rg.from_lengths(np.random.default_rng(n).standard_normal((sum(lengths), 4)).astype("f4"), lengths)
    for n, lengths in enumerate(([3, 1, 5, 40, 0, 2], [2, 4, 0, 3, 1, 70]))
)

MIXED_WIDTHS = (2, 3, 4, 5, 6, 7, 10, 12, 20, 22, 33, 36, 66, 100)
QUICK = (("f16", "f32", 6),)


def structures(variant: str) -> list[tuple[str, list[int]]]:
    """Those of a variant. Which choice is taken does not depend on where shared variables are."""
    return [(kind, lengths) for kind, lengths in LENGTHS.items() if kind != "many" or "packed" in variant]


def dtype_of(name: str) -> Any:
    """What NumPy has for an element type."""
    return np.dtype(NUMPY[name])


def per_component(x: Any, offsets: Any, function: Callable[[Any], Any], empty: Sequence[int]) -> Any:
    """A function of every component, one after the other."""
    parts = [function(x[a:b]) for a, b in pairwise(offsets)]
    return np.concatenate(parts) if parts else np.empty(empty, x.dtype)


def problem(name: str, dtype: Any, width: int, lengths: Sequence[int]) -> tuple[tuple[Any, ...], Any]:
    """Arguments of a schedule program, and its result. Numbers are small: sums are exact in every type."""
    rng = np.random.default_rng([width, len(lengths)])
    lengths = [min(n, PAIRS_AT_MOST) for n in lengths] if name == "pairs" else list(lengths)
    offsets = np.cumsum([0, *lengths])
    x = rng.integers(-1, 2, (offsets[-1], width)).astype(dtype)
    match name:
        case "scale":
            return (x, offsets, dtype.type(2)), x * dtype.type(2) + x
        case "row_center":
            return (x, offsets), x - x.sum(1, keepdims=True, dtype=dtype)
        case "segment_center":
            centered = per_component(x, offsets, lambda part: part - part.sum(0, dtype=dtype), x.shape)
            return (x, offsets), centered
        case "segmented_sum":
            sums = per_component(x, offsets, lambda part: part.sum(0, keepdims=True, dtype=dtype), (0, width))
            return (x, offsets), sums
        case "row_gather":
            ids = rng.integers(0, max(len(x), 1), 2 * len(x))
            return (x, offsets, ids), x[ids]
        case "from_padded":
            longest = max(lengths, default=0)
            padded = rng.integers(-1, 2, (len(lengths), longest, width)).astype(dtype)
            rows = [padded[k, :n] for k, n in enumerate(lengths)]
            return (padded, offsets), np.concatenate(rows) if rows else x
        case "pairs":
            return (x, offsets), per_component(x, offsets, lambda part: (part @ part.T).ravel(), (0,))
        case "recurrence":
            out = np.zeros(len(x), dtype)
            for k in range(len(x)):
                out[k] = x[k, 0] - (out[k - 1] if k else dtype.type(0))
            return (np.ascontiguousarray(x[:, 0]), dtype.type(-1)), out
        case _:
            raise AssertionError(name)


def test_what_has_run_is_documented(root: Path) -> None:
    page = (root / "docs" / "emulator.md").read_text()
    table = re.findall(r"^\| .* \| (\d+) \|$", page, re.M)
    benchmarks = len(list((root / "benchmarks" / "gpu").glob("*.mlir"))) + 2
    counts = [len(every_schedule()), len(MIXED) * len(MIXED_WIDTHS), benchmarks, 1, len(keys()), len(ARRAYS)]
    assert [int(count) for count in table] == counts


def every_schedule() -> list[Any]:
    """Program, element type, width; a few are quick."""
    quick = {("scale", "f16", 6), ("row_center", "f16", 1), ("segment_center", "f32", 6), ("recurrence", "i64", 6)}
    return [
        pytest.param(*case, marks=() if case in quick else pytest.mark.slow)
        for name in PROGRAMS
        for dtype in DTYPES
        for width in WIDTHS
        if (case := (name, dtype, width)) and (name != "recurrence" or width == WIDTHS[1])
    ]


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("name", "dtype", "width"), every_schedule())
def test_schedules(name: str, dtype: str, width: int) -> None:
    for variant, function in variants(PROGRAMS[name].text(dtype, width)):
        for kind, lengths in structures(variant):
            arguments, expected = problem(name, dtype_of(dtype), width, lengths)
            found = function(*arguments)
            values = found[0] if isinstance(found, tuple) else found
            np.testing.assert_array_equal(values, expected, err_msg=f"{variant}, {kind}")


@pytest.mark.parametrize(
    ("narrow", "wide", "width"),
    [
        pytest.param(*case, width, marks=() if (*case, width) in QUICK else pytest.mark.slow)
        for case in MIXED
        for width in MIXED_WIDTHS
    ],
)
def test_mixed_types(narrow: str, wide: str, width: int) -> None:
    """A softmax whose maxima are of one type and whose sums are of another."""
    rng = np.random.default_rng(width)
    for variant, function in variants(softmax_of(narrow, wide, width)):
        for kind, lengths in structures(variant):
            offsets = np.cumsum([0, *lengths])
            x = rng.integers(-3, 4, (offsets[-1], width)).astype(dtype_of(narrow))
            expected = per_component(x.astype(np.float64), offsets, softmax, x.shape)
            found = function(x, offsets)[0]
            np.testing.assert_allclose(found, expected, rtol=2e-5, atol=1e-7, err_msg=f"{variant}, {kind}")


def softmax(part: Any) -> Any:
    """Of the rows of a component."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        powers = np.exp(part - part.max(0, initial=-np.inf))
        return powers / powers.sum(0)


ARRAYS: dict[str, Callable[[Any, Any], Any]] = {
    "softmax": lambda x, y: rg.softmax(np.exp(x) + 1, axis=1),
    "statistics": lambda x, y: (x.mean(1), x.argmax(1), x.sum(), x.sum(0), y.var(1), x.max((1, 2))),
    "indices": lambda x, y: (x[:, ::-1], x[1:4] * 1, x[x[..., 0] > 0], y.cumsum(1)),
    "both": lambda x, y: (rg.concat([x, y], axis=1), rg.attention(x, y, y), rg.transposed_matmul(x, x)),
    "padded": lambda x, y: (x.to_padded(0), rg.softmax(x, axis=2), y.merge(0) * 2),
}


def as_interpreted(source: str, entry: str, given: Sequence[Any]) -> None:
    """Whether every text of a program gives what the reference interpreter does."""
    wanted = run(source, entry, given)
    for variant, compiled in variants(source):
        found = compiled(*given)
        results = list(found) if len(wanted) > 1 else [found]
        for got, expected in zip(results, wanted, strict=True):
            pairs = zip(got, expected, strict=True) if isinstance(expected, tuple) else [(got, expected)]
            for a, b in pairs:
                np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5, err_msg=variant)


@pytest.mark.slow
def test_expert_reshuffle(root: Path) -> None:
    tokens = np.arange(1600, dtype=np.float32).reshape(2, 100, 8)
    offsets = np.array([[0, 30, 30, 70, 100], [0, 25, 60, 85, 100]])
    as_interpreted((root / "examples" / "expert_reshuffle.mlir").read_text(), "expert_reshuffle", [tokens, offsets])


@pytest.mark.slow
@pytest.mark.parametrize("name", ARRAYS)
def test_arrays(name: str) -> None:
    source = rg.jit(ARRAYS[name]).lower(LONG, SHORT).source
    as_interpreted(source, "rg_function", [part for x in (LONG, SHORT) for part in (x.offsets, x.values)])
