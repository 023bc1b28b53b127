"""Reductions of all rows into a few elements, which threads share in parts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.processes import python

import ragged_dialect as rg
from ragged_dialect.lowering.rows.groups import CHUNK

PART = CHUNK // 8
"""Rows of a part, of eight features."""
ROWS = (0, 1, PART - 1, PART, PART + 1, 5 * PART + 3)


def gradient(x: Any) -> Any:
    """Of weights: a product of transposed rows."""
    weights = np.ones((8, 3), x.dtype)
    return rg.grad(lambda w, x: (x @ w * x[..., :3]).sum())(weights, x)


FUNCTIONS: dict[str, tuple[Any, Any]] = {
    "sum": (lambda x: x.sum(axis=(0, 1)), lambda x: x.sum(0)),
    "all": (lambda x: x.sum(), lambda x: x.sum()),
    "max": (lambda x: x.max(axis=(0, 1)), lambda x: x.max(0, initial=-np.inf)),
    "some": (lambda x: (x > 2).any(axis=(0, 1)), lambda x: (x > 2).any(0)),
    "squares": (lambda x: (x * x).sum(axis=(0, 1)), lambda x: (x * x).sum(0)),
    "gradient": (gradient, lambda x: x.T @ x[:, :3]),
    "mean": (lambda x: x.mean(axis=(0, 1)), lambda x: x.mean(0) if len(x) else np.full(8, np.nan)),
}


def rows(count: int, dtype: str = "float64") -> np.ndarray:
    return np.random.default_rng(count).standard_normal((count, 8)).astype(dtype)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_as_numpy_has_them(name: str) -> None:
    function, plain = FUNCTIONS[name]
    compiled = rg.jit(function)
    for count in ROWS:
        x = rows(count)
        found = compiled(rg.from_lengths(x, [count // 2, 0, count - count // 2]))
        np.testing.assert_allclose(found, plain(x), rtol=1e-10, atol=1e-9, err_msg=str(count))
    assert compiled.compilations == 1


@pytest.mark.sampled(4)
@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "int8", "bfloat16"])
def test_element_types(dtype: str) -> None:
    x = np.random.default_rng(1).integers(-2, 3, (3 * PART + 5, 8))
    array = rg.from_lengths(x, [len(x)]).astype(dtype)
    found = np.asarray(rg.jit(lambda x: x.max(axis=(0, 1)))(array), "float64")
    np.testing.assert_array_equal(found, x.max(0))


PROGRAM = """
import hashlib, numpy as np, ragged_dialect as rg
from test_long_reductions import FUNCTIONS, ROWS, rows
x = rg.from_lengths(rows(ROWS[-1], "float32"), [ROWS[-1]])
found = [np.asarray(rg.jit(function)(x)).tobytes() for function, _ in FUNCTIONS.values()]
print(hashlib.sha256(b"".join(found)).hexdigest())
"""


@pytest.mark.slow
def test_equal_bits_for_any_number_of_threads() -> None:
    (text,) = {python("-c", PROGRAM, folder="test/lowering", RAGGED_NUM_THREADS=n).stdout for n in ("1", "2", "5")}
    assert len(text) == 65
