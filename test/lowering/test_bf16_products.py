"""Products of bf16 on the CPU, with the instruction for pairs and without: rounded once, and no number is too small."""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.bf16_sums import SUMS

import ragged_dialect as rg
from ragged_dialect import compile, host_cpu
from ragged_dialect.compiler import versions
from ragged_dialect.compiler.cpu import lower_for_cpu
from ragged_dialect.lowering.vector import machine

BF16 = ml_dtypes.bfloat16
LENGTHS = np.array([0, 1, 8, 0, 17, 130, 0])
ROWS = int(LENGTHS.sum())
STARTS = np.r_[0, np.cumsum(LENGTHS)]
EXTENTS = [(1, 32), (7, 10), (130, 50), (16, 8), (515, 33), (2, 16), (64, 3)]
LEVELS = ["", "-amx-bf16", "-avx512bf16", "-avx512f"]


def whole(*shape: int) -> Any:
    """Numbers whose products and sums are whole, and exact in float32."""
    return np.random.default_rng(sum(shape)).integers(-9, 10, shape).astype(BF16)


def exact(found: Any, expected: Any) -> None:
    assert found.dtype == BF16
    rounded = np.asarray(expected).astype(BF16).astype(np.float64)
    np.testing.assert_array_equal(np.asarray(found).astype(np.float64), rounded)


def product(a: Any, b: Any) -> Any:
    return a.astype(np.float64) @ b.astype(np.float64)


@pytest.mark.sampled(7)
@pytest.mark.parametrize(("depth", "columns"), EXTENTS)
@pytest.mark.parametrize("level", LEVELS)
def test_each_side_may_be_ragged(depth: int, columns: int, level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGGED_CPU_FEATURES", level)
    rows, w, own = whole(ROWS, depth), whole(depth, columns), whole(len(LENGTHS), depth, columns)
    y = whole(ROWS, columns)
    x, ragged = rg.from_lengths(rows, LENGTHS), rg.from_lengths(y, LENGTHS)
    parts = list(itertools.pairwise(STARTS))
    exact(rg.jit(lambda x, w: x @ w)(x, w).values, product(rows, w))
    exact(rg.einsum("bik,nk->bin", x, w.T.copy()).values, product(rows, w))
    exact(rg.ragged_dot(x, own).values, np.concatenate([product(rows[a:b], own[i]) for i, (a, b) in enumerate(parts)]))
    exact(rg.einsum("bik,bin->bkn", x, ragged), np.stack([product(rows[a:b].T, y[a:b]) for a, b in parts]))


@pytest.mark.parametrize("level", LEVELS)
def test_small_numbers_are_no_zeros(level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The instruction takes them for zeros: as factors, as products, and as sums of larger products."""
    monkeypatch.setenv("RAGGED_CPU_FEATURES", level)
    w = np.zeros((4, 32), BF16)
    w[:, 0], w[:, 1], w[:, 2] = 2.0**100, 2.0**-65, [2.0**-60, 2.0**-60, 0, 0]
    rows = np.zeros((40, 4), BF16)
    rows[::2] = 2.0**-130
    rows[1::2] = [[2.0**-65, -(2.0**-65) * (1 + 2.0**-7), 0, 2.0**-60]]
    found = rg.jit(lambda x, w: x @ w)(rg.from_lengths(rows, [3, 0, 37]), w).values
    exact(found, product(rows, w))
    assert found[1, 1] != 0
    assert found[1, 2] != 0
    exact(rg.einsum("bik,nk->bin", rg.from_lengths(rows, [3, 0, 37]), w.T.copy()).values, product(rows, w))


@pytest.mark.parametrize("left", [-130, 60])
@pytest.mark.parametrize("level", LEVELS)
def test_small_factors_of_large_ones_are_no_zeros(left: int, level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their products are far from the smallest numbers."""
    monkeypatch.setenv("RAGGED_CPU_FEATURES", level)
    rows, w = np.full((40, 4), 2.0**left, BF16), np.full((4, 32), 2.0 ** (-70 - left), BF16)
    x = rg.from_lengths(rows, [3, 0, 37])
    exact(rg.jit(lambda x, w: x @ w)(x, w).values, product(rows, w))
    exact(rg.einsum("bik,nk->bin", x, w.T.copy()).values, product(rows, w))


@pytest.mark.parametrize("depth", [31, 300])
def test_one_small_number_changes_no_other_row(depth: int) -> None:
    """Both ways round alike, to the last bit of float32."""
    rng = np.random.default_rng(0)
    rows, w = rng.standard_normal((200, depth)).astype(BF16), rng.standard_normal((depth, 48)).astype(BF16)
    multiply = compile(SUMS.format(depth=depth), target="cpu")
    before = multiply((rows, np.array([0, 90, 90, 200])), w)[0]
    rows[7, 5] = 1e-39
    after = multiply((rows, np.array([0, 90, 90, 200])), w)[0]
    others = np.arange(200) != 7
    np.testing.assert_array_equal(before[others], after[others])
    np.testing.assert_allclose(after, product(rows, w), rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("special", [np.nan, np.inf])
def test_special_numbers_stay_in_their_rows(special: float) -> None:
    """What is beside the last element of an odd row is not multiplied."""
    rows, w = whole(20, 5), whole(5, 16)
    rows[3], w[4, 2] = special, 0
    found = rg.jit(lambda x, w: x @ w)(rg.from_lengths(rows, [2, 18]), w).values
    with np.errstate(invalid="ignore"):
        exact(found, product(rows, w))


def test_code_is_kept_for_each_level(monkeypatch: pytest.MonkeyPatch) -> None:
    before = versions.machine()
    monkeypatch.setenv("RAGGED_CPU_FEATURES", "-avx512bf16")
    assert versions.machine() != before


@pytest.mark.parametrize("amx", [True, False])
def test_libraries_use_no_tiles(amx: bool) -> None:
    """Their process would have to ask Linux for them."""
    lowered = lower_for_cpu(SUMS.format(depth=8), isa="amxbf16", amx=amx)
    assert ("tdpbf16ps" in str(lowered.module)) == amx


def test_tiles_are_shaped_where_calls_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads of the pool, and those of Python, have tiles of their own."""
    w = whole(40, 48)
    parts = [whole(n, 40) for n in (5000, 3001, 17, 0)]
    f = rg.jit(lambda x, w: x @ w)
    monkeypatch.setenv("RAGGED_NUM_THREADS", "2")

    def run(rows: Any) -> None:
        for _ in range(5):
            exact(f(rg.from_lengths(rows, [len(rows) // 3, len(rows) - len(rows) // 3]), w).values, product(rows, w))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(run, parts))


def test_where_linux_refuses_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = type("C", (), {"syscall": lambda *_: -1})
    monkeypatch.setattr(host_cpu.ctypes, "CDLL", lambda _: refused())
    monkeypatch.setattr(host_cpu, "_flags", host_cpu._flags.__wrapped__)
    assert not host_cpu.host_has("amx-bf16")
    found = machine.registers("auto")
    assert found is None or not found.tiles
