"""Linear recurrences against loops over the elements."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.components import assert_components, components
from support.refusals import Refusal, refused

import ragged_dialect as rg
from ragged_dialect import compile
from ragged_dialect.reference.interpreter import run

LENGTHS = (3, 0, 5, 1, 40)


def given(shape: tuple[int, ...] = (3,), dtype: Any = np.float64, lengths: tuple[int, ...] = LENGTHS) -> list[Any]:
    """Terms, factors, and where components start."""
    rng = np.random.default_rng(0)
    x, a = (rng.standard_normal((sum(lengths), *shape)).astype(dtype) for _ in range(2))
    start = rng.standard_normal((len(lengths), *shape)).astype(dtype)
    return [rg.from_lengths(x, lengths), rg.from_lengths(a, lengths), start]


def loop(x: Any, a: Any, start: Any, reverse: bool) -> Any:
    """One component."""
    made, h = np.zeros_like(x), start
    for t in reversed(range(len(x))) if reverse else range(len(x)):
        h = a[t] * h + x[t]
        made[t] = h
    return made


def expected(x: Any, a: Any, start: Any, reverse: bool) -> list[Any]:
    return [loop(*one, reverse) for one in zip(components(x), components(a), start, strict=True)]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("shape", [(), (3,), (2, 17)])
def test_recurrences(shape: tuple[int, ...], reverse: bool) -> None:
    x, a, start = given(shape)
    none = np.zeros_like(start)
    assert_components(rg.linear_recurrence(x, a, reverse=reverse), expected(x, a, none, reverse))
    began = rg.linear_recurrence(x, a, start[:, None], reverse=reverse)
    assert_components(began, expected(x, a, start, reverse))
    half = rg.from_lengths(np.full_like(a.values, 0.5), x.lengths)
    assert_components(rg.linear_recurrence(x, 0.5, reverse=reverse), expected(x, half, none, reverse))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("reverse", [False, True])
def test_on_a_gpu(reverse: bool) -> None:
    x, a, start = given()
    function = rg.jit(lambda x, a, s: rg.linear_recurrence(x, a, s[:, None], reverse=reverse), target="emulator")
    assert_components(function(x, a, start), expected(x, a, start, reverse))


def test_broadcasting_and_dtypes() -> None:
    x, a, _ = given((1,), np.float32)
    wide = np.arange(3, dtype=np.float32) / 4
    by = rg.from_lengths(np.broadcast_to(wide, (x.total, 3)).copy(), x.lengths)
    spread = rg.from_lengths(np.repeat(x.values, 3, 1), x.lengths)
    assert_components(rg.linear_recurrence(x, wide), expected(spread, by, np.zeros((5, 3)), False))
    counts = rg.from_lengths(np.arange(x.total), x.lengths)
    assert rg.linear_recurrence(counts, 0.5).dtype == np.float64
    assert rg.linear_recurrence(x.astype("bfloat16"), 0.5).dtype == x.astype("bfloat16").dtype
    short = rg.linear_recurrence(x.astype(np.float16), a.astype(np.float16))
    exact = rg.linear_recurrence(x.astype(np.float16).astype(np.float64), a.astype(np.float16).astype(np.float64))
    np.testing.assert_allclose(short.values.astype(np.float64), exact.values, rtol=1e-3, atol=1e-3)


def test_along_a_dense_dim_and_inner_lists() -> None:
    x, a, _ = given((6,))
    turned = rg.linear_recurrence(x, a, axis=2)
    rows = [loop(q, f, np.zeros(()), False) for q, f in zip(x.values, a.values, strict=True)]
    np.testing.assert_allclose(turned.values, np.stack(rows))
    inner = rg.ragged([[[1.0, 2], []], [], [[3.0, 4, 5]]])
    assert rg.linear_recurrence(inner, 2.0, axis=2).tolist() == [[[1.0, 4.0], []], [], [[3.0, 10.0, 25.0]]]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("reverse", [False, True])
def test_gradients(reverse: bool) -> None:
    arrays, rng = given(lengths=(3, 0, 5, 1)), np.random.default_rng(1)

    def loss(x: Any, a: Any, start: Any) -> Any:
        return (rg.linear_recurrence(x, a, start[:, None], reverse=reverse) ** 2).sum()

    def squared(x: Any, a: Any, start: Any) -> Any:
        return (rg.grad(loss, argnums=1)(x, a, start) ** 2).sum()

    for function in (loss, squared):
        found, compiled = rg.grad(function, argnums=(0, 1, 2))(*arrays), rg.jit(function)
        for k, x in enumerate(arrays):
            by = rng.standard_normal(getattr(x, "values", x).shape)
            ends: list[float] = []
            for step in (1e-6, -1e-6):
                moved = x + step * by if k == 2 else rg.from_lengths(x.values + step * by, x.lengths)
                ends.append(float(compiled(*arrays[:k], moved, *arrays[k + 1 :])))
            slope = (np.asarray(getattr(found[k], "values", found[k])) * by).sum()
            np.testing.assert_allclose(slope, (ends[0] - ends[1]) / 2e-6, rtol=1e-5)


TEXT = """func.func @f(%x: !x, %a: !x) -> !x {
  %0 = ragged.recurrence %x, %a {dim = 1REVERSE} : (!x, !x) -> !x
  return %0 : !x
}"""


@pytest.mark.sampled(2)
@pytest.mark.parametrize("reverse", [False, True])
def test_meaning(reverse: bool) -> None:
    """The op has what there is before each element."""
    x, a, _ = given((2,), np.float32)
    text = TEXT.replace("!x", 'tensor<?x?x2xf32, #ragged.layout<"dr|d">>').replace("REVERSE", ", reverse" * reverse)
    arguments = [(y.values, y.offsets) for y in (x, a)]
    (values, _), (meant, _) = compile(text)(*arguments), run(text, "f", arguments)[0]
    np.testing.assert_allclose(values, meant, rtol=1e-6)
    whole = rg.linear_recurrence(x, a, reverse=reverse).values
    np.testing.assert_allclose(a.values * values + x.values, whole, rtol=1e-5, atol=1e-6)
    other = [arguments[0], (arguments[1][0], np.array([0, 2, 3, 8, 9, 49]))]
    with pytest.raises(rg.RuntimeCheckError, match=r"level 1, component 0: expected length 3, got 2"):
        compile(text)(*other)


@pytest.mark.parametrize("target", ["cpu", "emulator"])
def test_a_factor_of_0_forgets_what_is_infinite(target: str) -> None:
    x, a = rg.ragged([[np.inf, 1.0, 2.0], [np.nan, 3.0]]), rg.ragged([[1.0, 0.0, 1.0], [1.0, -0.0]])
    made = rg.jit(lambda x, a: rg.linear_recurrence(x, a), target=target)(x, a)
    np.testing.assert_array_equal(made.values, [np.inf, 1, 3, np.nan, 3])


def test_bits_are_equal_for_any_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    x, a, _ = given((4,), np.float32, (20_000, 3))
    made: list[bytes] = []
    for threads in (1, 3):
        monkeypatch.setenv("RAGGED_NUM_THREADS", str(threads))
        made.append(rg.linear_recurrence(x, a * 0.5).values.tobytes())
    assert made[0] == made[1]


def test_infinite_factors_and_more_features_of_the_start() -> None:
    x, a = rg.from_lengths(np.array([1.0, 1.0]), [2]), rg.from_lengths(np.array([np.inf, 0.5]), [2])
    assert rg.linear_recurrence(x, a, np.array([[2.0]])).tolist() == [[np.inf, np.inf]]
    x, a, start = given((1,))[0], 0.5, given((3,))[2]
    spread, by = (rg.from_lengths(np.broadcast_to(v, (x.total, 3)).copy(), x.lengths) for v in (x.values, 0.5))
    assert_components(rg.linear_recurrence(x, a, start[:, None]), expected(spread, by, start, False))
    both = rg.from_lengths(np.ones((3, 1)), [1, 2])
    assert rg.linear_recurrence(both, np.full(3, 0.5), np.ones((2, 1, 3))).shape == (2, None, 3)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("op", ["recurrence %x, %a {dim = 1}", 'scan %x {dim = 1, kind = "sum"}'])
def test_extents_that_only_calls_know(op: str) -> None:
    types = ['tensor<?x?x2xf32, #ragged.layout<"dr|d">>', 'tensor<5x?x?xf32, #ragged.layout<"dr|d">>']
    x, a, _ = given((2,), np.float32)
    made: list[bytes] = []
    for one, other in ((types[0], types[1]), (types[1], types[0]), (types[0], types[0])):
        given_types = f"({one}, {other})" if "%a" in op else f"({one})"
        text = f"""func.func @f(%x: {one}, %a: {other}) -> {one} {{
          %0 = ragged.{op} : {given_types} -> {one}
          return %0 : {one}
        }}"""
        made.append(compile(text)(*((y.values, y.offsets) for y in (x, a)))[0].tobytes())
    assert made[0] == made[1] == made[2]


REFUSED: list[Refusal] = [
    (lambda x, a, s: rg.linear_recurrence(x, a, x), TypeError,
     "linear_recurrence: expected an initial of extent 1 along dim 1, got float64 of rank 3 and layout"),
    (lambda x, a, s: rg.linear_recurrence(x, a, np.ones((5, 40, 3))), TypeError,
     "linear_recurrence: expected an initial of extent 1 along dim 1, got float64 of rank 3 (one of each component is"),
    (lambda x, a, s: rg.linear_recurrence(x, rg.from_lengths(np.ones((9, 3)), [3, 0, 5, 1, 0])), rg.RuntimeCheckError,
     "linear_recurrence: level 1, component 4: expected length 40, got 0"),
    (lambda x, a, s: rg.linear_recurrence(x, a, axis=0), rg.LayoutError,
     'expected an innermost level, got dim 0 of layout "dr|d"'),
    (lambda x, a, s: rg.linear_recurrence(x, a, axis=3), IndexError, "linear_recurrence: expected axis in [-3, 3)"),
    (lambda x, a, s: rg.linear_recurrence(x, None), TypeError, "linear_recurrence: expected an array or a number"),
]  # fmt: skip


test_refused = refused(REFUSED, *(lambda k=k: given()[k] for k in range(3)))
