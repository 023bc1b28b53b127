"""`ragged.compress` against NumPy, on every target and with vectors of other processors."""

from __future__ import annotations

import numpy as np
import pytest
from support.dtypes import FLOATS, INTEGERS
from support.targets import Compile

import ragged_dialect as rg
from ragged_dialect.errors import RuntimeCheckError
from ragged_dialect.reference.interpreter import run

ROWS = """func.func @f(%mask: tensor<?xi1>, %x: tensor<?FxT>) -> tensor<?FxT> {
  %0 = ragged.compress %mask, %x : (tensor<?xi1>, tensor<?FxT>) -> tensor<?FxT>
  return %0 : tensor<?FxT>
}"""
NUMBERS = """func.func @f(%mask: tensor<?xi1>) -> tensor<?xi64> {
  %0 = ragged.compress %mask : (tensor<?xi1>) -> tensor<?xi64>
  return %0 : tensor<?xi64>
}"""
DTYPES = {**FLOATS, **{kind: INTEGERS[kind] for kind in ("i1", "i8", "i32", "i64")}}
SIZES = (0, 1, 15, 16, 1023, 1024, 1025, 3000)
"""Of no tile, one, and some, of lanes and what is left of them."""


def text_for(features: str, kind: str) -> str:
    """The program for rows of some features."""
    return ROWS.replace("F", features).replace("T", kind)


def mask_of(size: int, part: float) -> np.ndarray:
    """A mask with a part of its elements true, in runs and alone."""
    rng = np.random.default_rng(size)
    chance = np.where(np.arange(size) // 100 % 2, part, part**3)
    return rng.random(size) < chance


@pytest.mark.sampled(60)
@pytest.mark.parametrize("kind", DTYPES)
@pytest.mark.parametrize("row", [(), (1,), (3,), (2, 4)])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("part", [0.0, 0.6, 1.0])
def test_rows(compile: Compile, kind: str, row: tuple[int, ...], size: int, part: float) -> None:
    mask = mask_of(size, part)
    x = (np.random.default_rng(1).standard_normal((size, *row)) * 10).astype(DTYPES[kind])
    text = text_for("".join(f"x{n}" for n in row), kind)
    (reference,) = run(text, "f", [mask, x])
    for found in (compile(text)(mask, x), reference):
        np.testing.assert_array_equal(found, x[mask])


@pytest.mark.parametrize("size", SIZES)
def test_numbers(compile: Compile, size: int) -> None:
    mask = mask_of(size, 0.6)
    (reference,) = run(NUMBERS, "f", [mask])
    for found in (compile(NUMBERS)(mask), reference):
        np.testing.assert_array_equal(found, np.flatnonzero(mask))


@pytest.mark.parametrize("features", ["-avx512vbmi2", "-avx512f", "-avx"])
@pytest.mark.parametrize("kind", DTYPES)
def test_other_processors(monkeypatch: pytest.MonkeyPatch, kind: str, features: str) -> None:
    monkeypatch.setenv("RAGGED_CPU_FEATURES", features)
    program = rg.compile(f"// {features}\n{text_for('', kind)}")  # a text of its own: programs are kept by them
    for part in (0.0, 0.3, 1.0):
        mask, x = mask_of(3000, part), (np.random.default_rng(1).standard_normal(3000) * 10).astype(DTYPES[kind])
        np.testing.assert_array_equal(program(mask, x), x[mask])


def test_sizes_differ(compile: Compile) -> None:
    with pytest.raises(RuntimeCheckError):
        compile(text_for("", "f32"))(np.ones(3, np.bool_), np.zeros(4, np.float32))


def test_derivatives() -> None:
    lists, mask = rg.ragged([[1.0, 2.0], [], [3.0]]), rg.ragged([[True, False], [], [True]])
    gradient = rg.grad(lambda x: (x[mask] ** 3).sum())
    assert gradient(lists).tolist() == [[3.0, 0.0], [], [27.0]]
    assert rg.grad(lambda x: (gradient(x) ** 2).sum())(lists).tolist() == [[36.0, 0.0], [], [972.0]]
