"""The error of sums does not grow with their length: at most 4 eps (log2 n + 8) times the sum of absolute values."""

from __future__ import annotations

from collections.abc import Callable
from math import log2
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.cpu_features import levels, mask

import ragged_dialect as rg
from ragged_dialect import compile

TARGETS = ("cpu", "emulator")
N = 20000


def unfair(count: int, dtype: Any) -> Any:
    """A number, and many so small that none of them alone changes it: added one by one they are lost."""
    values = np.full(count, 0.49 * ml_dtypes.finfo(dtype).eps, dtype)
    values[0] = 1
    return values


def assert_close(got: Any, terms: Any, axis: Any = None, dtype: Any = None) -> None:
    """A sum, or several, of terms along an axis, within the bound; `dtype` is that of the result."""
    rows = np.ascontiguousarray(np.moveaxis(terms, axis, -1) if axis is not None else terms.ravel())
    exact, size = rows.astype(np.longdouble).sum(-1), np.abs(rows.astype(np.longdouble)).sum(-1)  # pairwise
    count = rows.shape[-1]
    eps = float(ml_dtypes.finfo(dtype or terms.dtype).eps)
    error = np.abs(np.asarray(got).astype(np.longdouble).reshape(exact.shape) - exact)
    assert np.all(error <= 4 * eps * (log2(count) + 8) * size), float(np.max(error / (eps * size)))


def sums(x: Any, y: Any, long: Any, many: Any) -> Any:
    """Of one component of numbers, of one of rows, of all, along features, and over components."""
    parts = [x.sum(1), x.sum(), y.sum(1), y.sum((1, 2)), y.sum(), long.sum(-1), many.sum(0), many.sum((0, 1))]
    return [*parts, x.mean(1), rg.logsumexp(x, axis=1)]


def check_sums(dtype: Any, target: str, count: int = N) -> None:
    x, width = unfair(count, dtype), 8
    rows = np.repeat(x[:, None], width, 1)
    long = np.stack([x, x[::-1], x])
    single = (rg.from_lengths(x, [count]), rg.from_lengths(rows, [count]), rg.from_lengths(long, [2, 1]))
    many = rg.from_lengths(np.repeat(x, 2), np.full(count, 2))
    found = rg.jit(sums, target=target)(*single, many)
    one, all_, columns, both, every, features, across, total, mean, log = found
    assert_close(one, x)
    assert_close(all_, x)
    assert_close(columns, rows, 0)
    assert_close(both, rows)
    assert_close(every, rows)
    assert_close(features.values, long, 1)
    assert_close(across, np.stack([x, x]), 1)
    assert_close(total, np.stack([x, x]))
    assert_close(np.asarray(mean) * dtype.type(count), x)
    assert_close(np.exp(np.asarray(log, np.float64) - 1), np.exp(x.astype(np.float64) - 1), dtype=dtype)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("dtype", [np.dtype(np.float32), np.dtype(np.float64)], ids=str)
@pytest.mark.parametrize("target", TARGETS)
def test_sums(dtype: Any, target: str) -> None:
    check_sums(dtype, target)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("dtype", [np.dtype(np.float32), np.dtype(np.float64)], ids=str)
@pytest.mark.parametrize("level", levels("SSE2"))
def test_sums_on_older_processors(dtype: Any, level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mask(level, monkeypatch)
    check_sums(dtype, "cpu")


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.dtype(np.float32), np.dtype(np.float64)], ids=str)
@pytest.mark.parametrize("target", TARGETS)
def test_sums_of_all_lengths(dtype: Any, target: str) -> None:
    for count in (1, 2, 63, 64, 65, 127, 128, 129, 300, 511, 513, 1023, 1025, 4097, 10**6):
        check_sums(dtype, target, count)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", [np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)], ids=str)
def test_short_floats_are_rounded_once(dtype: Any, target: str) -> None:
    x = np.full(N, 0.7, dtype)
    x[::2] = -0.7
    x[0] = 1
    got = rg.jit(lambda v: v.sum(1), target=target)(rg.from_lengths(x, [N]))
    assert got[0] == x.astype(np.longdouble).sum().astype(dtype)


@pytest.mark.parametrize("target", TARGETS)
def test_variances_are_stable(target: str) -> None:
    count = 10**5
    x = (1e4 + np.random.default_rng(0).random(count)).astype(np.float32)
    exact = x.astype(np.float64)
    function = rg.jit(lambda v: [v.mean(1), v.var(1), v.std(1), rg.layer_norm(v, axis=1)], target=target)
    mean, var, std, normal = function(rg.from_lengths(x, [count]))
    np.testing.assert_allclose(mean, [exact.mean()], rtol=1e-6)
    np.testing.assert_allclose(var, [exact.var()], rtol=1e-3)
    np.testing.assert_allclose(std, [exact.std()], rtol=1e-3)
    np.testing.assert_allclose(normal.values, (exact - exact.mean()) / np.sqrt(exact.var() + 1e-5), atol=5e-3)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("target", TARGETS)
def test_products_of_long_components(target: str) -> None:
    x = np.repeat(unfair(N, np.float32)[:, None], 5, 1)
    ones = np.ones((N, 3), np.float32)
    arrays = rg.from_lengths(x, [N]), rg.from_lengths(ones, [N])
    got = rg.jit(lambda a, b: rg.transposed_matmul(a, b), target=target)(*arrays)
    assert_close(got, np.repeat(x[:, :, None], 3, 2), 0)


@pytest.mark.parametrize("target", TARGETS)
def test_rows_of_dynamic_width(target: str) -> None:
    """More columns than a thread keeps pairs for."""
    kind = 'tensor<?x?x?xf32, #ragged.layout<"dr|d">>'
    text = f"""func.func @f(%x: {kind}, %i: tensor<?x?xf32>) -> tensor<?x?xf32> {{
      %r = linalg.reduce {{ arith.addf }} ins(%x : {kind}) outs(%i : tensor<?x?xf32>) dimensions = [1]
      return %r : tensor<?x?xf32>
    }}"""
    lengths, width = [0, 700, 3], 1100
    rows = np.repeat(np.concatenate([unfair(n, np.float32) for n in lengths if n])[:, None], width, 1)
    got = compile(text, target=target)((rows, np.cumsum([0, *lengths])), np.full((3, width), 0.5, np.float32))
    np.testing.assert_array_equal(got[0], 0.5)
    half = np.full((1, width), 0.5, np.float32)
    assert_close(got[1], np.concatenate([rows[:700], half]), 0)
    assert_close(got[2], np.concatenate([rows[700:], half]), 0)


def test_sums_of_windows() -> None:
    """Two loops sum, which cannot be made one."""
    text = """func.func @f(%x: tensor<?x?x90xf32, #ragged.layout<"dw|d">>, %i: tensor<f32>) -> tensor<f32> {
      %r = linalg.reduce { arith.addf } ins(%x : tensor<?x?x90xf32, #ragged.layout<"dw|d">>) outs(%i : tensor<f32>)
        dimensions = [0, 1, 2]
      return %r : tensor<f32>
    }"""
    values = unfair(300 * 90, np.float32).reshape(300, 90)
    starts, lengths = np.arange(0, 300, 3), np.full(100, 2)
    got = compile(text)((values, starts, lengths), np.zeros((), np.float32))
    assert_close(got, values[np.arange(300) % 3 < 2])


SPECIAL: dict[str, Callable[[Any], None]] = {
    "an infinity": lambda x: x.__setitem__(70, np.inf),
    "infinities of both signs": lambda x: x.__setitem__([3, N - 1], [np.inf, -np.inf]),
    "a nan": lambda x: x.__setitem__(5000, np.nan),
    "an overflow": lambda x: x.__setitem__([1, 9000], np.finfo(np.float32).max),
    "an overflow in a chunk": lambda x: x.__setitem__(slice(None), 3e38),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", SPECIAL)
@pytest.mark.parametrize("target", TARGETS)
def test_special_values(name: str, target: str) -> None:
    x = np.ones(N, np.float32)
    SPECIAL[name](x)
    rows = np.stack([x, x], 1)
    with np.errstate(all="ignore"):
        wanted = x.sum()
    function = rg.jit(lambda a, b: [a.sum(1), b.sum(1)], target=target)
    for got in function(rg.from_lengths(x, [N]), rg.from_lengths(rows, [N])):
        np.testing.assert_array_equal(np.ravel(got), wanted)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("width", [(), (5,)])
def test_threads_do_not_change_the_bits(width: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(3).normal(size=(60 * N, *width)).astype(np.float32)
    lengths = [N * 40, 0, 17, N * 20 - 17]
    found: list[bytes] = []
    for threads in ("1", "3"):
        monkeypatch.setenv("RAGGED_NUM_THREADS", threads)
        x = rg.from_lengths(values, lengths)
        sum_, mean, var = rg.jit(lambda v: [v.sum(1), v.mean(1), v.var(1)])(x)
        found.append(sum_.tobytes() + mean.tobytes() + var.tobytes())
    assert found[0] == found[1]


def test_without_terms_the_outs_stay() -> None:
    """Also where a loop around the others has no iteration."""
    x = 'tensor<?x?x?x?xf32, #ragged.layout<"dr|dr">>'
    text = f"""func.func @f(%x: {x}, %b: tensor<?xf32>) -> tensor<?xf32> {{
      %0 = linalg.reduce {{ arith.addf }} ins(%x : {x}) outs(%b : tensor<?xf32>) dimensions = [1, 2, 3]
      return %0 : tensor<?xf32>
    }}"""
    none, one = np.array([0, 0, 0]), np.array([0])
    given = (np.zeros((0, 0), np.float32), none, one)
    assert compile(text)(given, np.array([5, 6], np.float32)).tolist() == [5, 6]
