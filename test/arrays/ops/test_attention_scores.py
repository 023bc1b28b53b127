"""Attention with scores of a function, and with masks beside what bounds keys, against loops over the components."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.components import array, assert_components, components
from support.refusals import Refusal, refused

import ragged_dialect as rg

QUERIES = (3, 0, 40, 1, 2)
KEYS = (2, 4, 33, 3, 70)
HEADS = 4
TABLE = np.random.default_rng(0).standard_normal((HEADS, 21)).astype(np.float32)
ZEROS = np.zeros(HEADS, np.int64)
SLOPES = np.array([0.5, 0.25, 2, 1], np.float32)
BUCKETS = np.array([0, 9, 1, -7, 2, 3, 1, 0, -1], np.int32)

Score = Callable[..., Any]


def given(dtype: Any = np.float32, heads: int = HEADS) -> list[rg.RaggedArray]:
    """Queries, keys and values, of two heads."""
    wanted = ((QUERIES, (heads, 8)), (KEYS, (2, 8)), (KEYS, (2, 5)))
    return [array(lengths, features, seed=k).astype(dtype) for k, (lengths, features) in enumerate(wanted)]


def expected(
    arrays: list[rg.RaggedArray], score: Score, keys: Callable[[Any, Any, int], Any] = lambda i, j, shift: True
) -> list[Any]:
    """What it gives, head by head in float64: `score` of numbers, `keys` those that are seen."""
    made: list[Any] = []
    for b, parts in enumerate(zip(*(components(x) for x in arrays), strict=True)):
        q, k, v = (x.astype(np.float64) for x in parts)
        i, j = np.mgrid[: len(q), : len(k)]
        heads: list[Any] = []
        for h in range(q.shape[1]):
            own = h * k.shape[1] // q.shape[1]
            scores = score(q[:, h] @ k[:, own].T / np.sqrt(q.shape[2]), b, h, i, j)
            scores = np.where(keys(i, j, len(k) - len(q)), scores, -np.inf)
            top = scores.max(1, keepdims=True, initial=-np.inf)
            powers = np.exp(scores - np.where(np.isinf(top), 0, top))
            total = powers.sum(1, keepdims=True)
            heads.append(powers @ v[:, own] / np.where(total, total, 1))
        made.append(np.stack(heads, 1))
    return made


def linear(s: Any, b: Any, h: Any, i: Any, j: Any) -> Any:
    return s - rg.take(SLOPES, h) * (i - j)


def hidden(s: Any, b: Any, h: Any, i: Any, j: Any) -> Any:
    return rg.where(abs(i - j) % 3 == 1, -np.inf, np.tanh(s) * 2)


def clipped(s: Any, b: Any, h: Any, i: Any, j: Any) -> Any:
    return s + rg.take(rg.take(TABLE, h), rg.clip(i - j, -10, 10) + 10) * 2.0 + b


def halves(s: Any, b: Any, h: Any, i: Any, j: Any) -> Any:
    return np.maximum(s, i // 2 - j)


def bucketed(s: Any, b: Any, h: Any, i: Any, j: Any) -> Any:
    """By remainders of what may be below 0, by a table of integers, and by the score itself."""
    at = rg.clip(rg.take(BUCKETS, (i - j) % 9), -4, 3) + rg.clip(rg.take(ZEROS, h), 0, 0)
    at = np.where(s > 1e30, at * 0, at)
    return s + rg.take(SLOPES, at) + rg.take(SLOPES, rg.clip((s * 2).astype(np.int32), 0, 3))


def numbers(s: Any, b: Any, h: Any, i: Any, j: Any) -> Any:
    return (i * j) % 5 + h - b


OF_NUMPY: dict[Score, Score] = {
    linear: lambda s, b, h, i, j: s - SLOPES[h] * (i - j),
    hidden: lambda s, b, h, i, j: np.where(abs(i - j) % 3 == 1, -np.inf, np.tanh(s) * 2),
    clipped: lambda s, b, h, i, j: s + TABLE[h, np.clip(i - j, -10, 10) + 10] * 2.0 + b,
    halves: lambda s, b, h, i, j: np.maximum(s, i // 2 - j),
    bucketed: lambda s, b, h, i, j: (
        s + SLOPES[np.clip(BUCKETS[(i - j) % 9], -4, 3)] + SLOPES[np.clip((s * 2).astype(np.int32), 0, 3)]
    ),
    numbers: lambda s, b, h, i, j: (i * j) % 5 + h - b,
}
"""Scores, and the same of NumPy's arrays."""


@pytest.mark.sampled(8)
@pytest.mark.parametrize("score", OF_NUMPY)
def test_scores(score: Score) -> None:
    arrays = given()
    wanted = expected(arrays, OF_NUMPY[score])
    assert_components(rg.attention(*arrays, score=score), wanted)
    assert_components(rg.jit(lambda q, k, v: rg.attention(q, k, v, score=score))(*arrays), wanted)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", [np.float16, "bfloat16", np.float64])
def test_dtypes(dtype: Any) -> None:
    arrays = given(dtype)
    found = rg.attention(*arrays, score=clipped)
    assert found.dtype == np.dtype(dtype)
    short = {"float16": 4e-3, "bfloat16": 3e-2, "float64": 1e-12}[np.dtype(dtype).name]
    for made, wanted in zip(components(found), expected(arrays, OF_NUMPY[clipped]), strict=True):
        np.testing.assert_allclose(made.astype(np.float64), wanted, rtol=short, atol=short)


def test_keys_and_sums_beside_a_score() -> None:
    arrays = given()
    made, lse = rg.attention(*arrays, score=linear, causal="bottom-right", window=(6, -1), softcap=2.0, return_lse=True)

    def keys(i: Any, j: Any, shift: int) -> Any:
        return (j <= i + shift) & (j >= i + shift - 6)

    def capped(s: Any, *rest: Any) -> Any:
        return OF_NUMPY[linear](2 * np.tanh(s / 2), *rest)

    assert_components(made, expected(arrays, capped, keys))
    assert lse.shape[2:] == (HEADS,)


@pytest.mark.slow
def test_masks_beside_what_bounds_keys() -> None:
    arrays, bias = given(), np.random.default_rng(1).standard_normal((HEADS, 40, 70)).astype(np.float32)
    made, lse = rg.attention(*arrays, mask=bias, causal="bottom-right", window=(6, -1), softcap=2.0, return_lse=True)

    def keys(i: Any, j: Any, shift: int) -> Any:
        return (j <= i + shift) & (j >= i + shift - 6)

    def masked(s: Any, b: int, h: int, i: Any, j: Any) -> Any:
        return 2 * np.tanh(s / 2) + bias[h, : len(s), : s.shape[1]]

    assert_components(made, expected(arrays, masked, keys))
    alike, sums = rg.attention(
        *arrays, causal="bottom-right", window=(6, -1), softcap=2.0, return_lse=True,
        score=lambda s, b, h, i, j: s + rg.take(rg.take(rg.take(bias, h), i), j),
    )  # fmt: skip
    np.testing.assert_allclose(alike.values, made.values, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(sums.values, lse.values, rtol=1e-6)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", [np.float64, np.float16])
def test_masks_of_other_floats(kind: Any) -> None:
    arrays, bias = given(), np.random.default_rng(1).standard_normal((40, 70)).astype(kind)
    wanted = expected(arrays, lambda s, b, h, i, j: s + bias[: len(s), : s.shape[1]])
    assert_components(rg.attention(*arrays, mask=bias), wanted)


def test_arrays_without_heads() -> None:
    q, k, v = array(QUERIES), array(KEYS, seed=1), array(KEYS, seed=2)
    found = rg.attention(q, k, v, score=lambda s, b, h, i, j: s * (1 + h) - abs(i - j))
    arrays = [x[:, :, None] for x in (q, k, v)]
    wanted = expected(arrays, lambda s, b, h, i, j: s - abs(i - j))
    assert_components(found, [x[:, 0] for x in wanted])


def test_a_function_is_compiled_once_and_reads_what_is_traced() -> None:
    arrays = given()
    rg.attention(*arrays, score=linear)
    before = rg.compilations()
    rg.attention(*arrays, score=linear)
    assert rg.compilations() == before
    both = rg.jit(lambda q, k, v, slopes: rg.attention(q, k, v, score=lambda s, b, h, i, j: s - slopes[h] * (i - j)))
    for slopes in (SLOPES, SLOPES * 2):
        wanted = expected(arrays, lambda s, b, h, i, j, slopes=slopes: s - slopes[h] * (i - j))
        assert_components(both(*arrays, slopes), wanted)


def test_only_what_a_score_reads_is_traced() -> None:
    arrays = given()
    found = rg.jit(lambda t: rg.attention(*arrays, score=lambda s, b, h, i, j: s - t[h] * (i - j)))(SLOPES)
    assert_components(found, expected(arrays, OF_NUMPY[linear]))


def test_what_is_computed_is_there_before_it_is_read() -> None:
    """A mask that the program computes, and checks of what the result is multiplied with."""
    q, k, v = given()
    bias = np.random.default_rng(1).standard_normal((40, 70)).astype(np.float32)
    other = rg.from_lengths(np.ones((q.total, 1, 1), np.float32) * 2, q.lengths)
    function = rg.jit(lambda q, k, v, m, w: rg.attention(q, k, v, mask=m * 2) * w)
    wanted = expected([q, k, v], lambda s, b, h, i, j: s + 2 * bias[: len(s), : s.shape[1]])
    assert_components(function(q, k, v, bias, other), [2 * x for x in wanted])


def test_gradient_of_a_number_that_a_score_reads() -> None:
    q, k, v = (x.astype(np.float64) for x in given())

    def loss(q: Any, k: Any, v: Any, by: Any) -> Any:
        return (rg.attention(q, k, v, score=lambda s, *_: s * by) ** 2).sum()

    found = rg.jit(rg.grad(loss, argnums=3))(q, k, v, np.array(1.25))
    up, down = (float(loss(q, k, v, 1.25 + step)) for step in (1e-5, -1e-5))
    np.testing.assert_allclose(found, (up - down) / 2e-5, rtol=1e-6)


def test_what_a_score_is_made_of_stays_in_its_function() -> None:
    kept: list[Any] = []

    def score(s: Any, b: Any, h: Any, i: Any, j: Any) -> Any:
        kept[:] = [s, i, i - j, s * i, rg.take(SLOPES, h)]
        return s * i

    for number in range(5):
        function = rg.jit(lambda q, k, v, number=number: rg.attention(q, k, v, score=score) * kept[number])
        with pytest.raises(rg.TraceError, match="attention: expected what a score is made of in its function, got it"):
            function(*given())
        rg.attention(*given(), score=score)
        with pytest.raises(rg.TraceError):
            _ = kept[number] * 2


def moved(x: Any, by: Any, step: float) -> Any:
    """An argument a step further, in float64."""
    if isinstance(x, rg.RaggedArray):
        return rg.from_lengths(x.values.astype(np.float64) + step * by, x.lengths)
    return x.astype(np.float64) + step * by


@pytest.mark.sampled(2)
@pytest.mark.parametrize("causal", [False, "bottom-right"])
def test_gradients(causal: Any) -> None:
    """Of queries, keys and values by kernels, of a table by what the op means; against differences in float64."""
    arrays, rng = [*given(), TABLE], np.random.default_rng(3)

    def loss(q: Any, k: Any, v: Any, table: Any) -> Any:
        made = rg.attention(
            q, k, v, causal=causal,
            score=lambda s, b, h, i, j: 2 * np.tanh(s / 2) + table[h, rg.clip(i - j, -10, 10) + 10],
        )  # fmt: skip
        return (made**2).sum()

    directions, compiled = [rng.standard_normal(getattr(x, "values", x).shape) for x in arrays], rg.jit(loss)
    up, down = (
        float(compiled(*(moved(x, by, step) for x, by in zip(arrays, directions, strict=True))))
        for step in (1e-5, -1e-5)
    )
    for among in ((0, 1, 2, 3), (0, 1, 2)):
        found = rg.grad(loss, argnums=among)(*arrays)
        totals = [
            (np.asarray(getattr(g, "values", g), np.float64) * by).sum()
            for g, by in zip(found, directions, strict=False)
        ]
        if len(among) == 4:
            np.testing.assert_allclose(sum(totals), (up - down) / 2e-5, rtol=1e-4)
            kernels = totals[:3]
        else:
            np.testing.assert_allclose(totals, [*kernels], rtol=1e-4)


@pytest.mark.parametrize("target", ["emulator"])
def test_on_a_gpu(target: str) -> None:
    arrays = [array(lengths, (2, 16), seed=k).astype(np.float16) for k, lengths in enumerate((QUERIES, KEYS, KEYS))]
    function = rg.jit(lambda q, k, v: rg.attention(q, k, v, score=clipped), target=target)
    wanted = expected(arrays, OF_NUMPY[clipped])
    for made, of in zip(components(function(*arrays)), wanted, strict=True):
        np.testing.assert_allclose(made.astype(np.float64), of, rtol=4e-3, atol=4e-3)


def narrow(s: Any, b: Any, h: Any, i: Any, j: Any) -> Any:
    """Of integers of 8 bits 100 + 100 is -56."""
    zero, most = np.array(0, np.int8), np.array(100, np.int8)
    found = np.minimum(np.maximum(rg.take(np.full(70, 100, np.int8), j), zero), most)
    return s + rg.take(SLOPES, np.minimum(found + most, zero))


@pytest.mark.sampled(6)
@pytest.mark.parametrize("target", ["cpu", "emulator"])
@pytest.mark.parametrize("kind", ["booleans of keys", "floats of keys", "dense"])
def test_a_mask_beside_a_score(kind: str, target: str) -> None:
    """The mask comes after the score, and its floats have a gradient."""
    arrays = given()
    rng = np.random.default_rng(1)
    total = sum(KEYS)
    values = rng.standard_normal(total).astype(np.float32)
    masks: dict[str, Any] = {
        "booleans of keys": rg.from_lengths(values > -0.3, KEYS)[:, None, :],
        "floats of keys": rg.from_lengths(values, KEYS)[:, None, :],
        "dense": rng.random((max(QUERIES), max(KEYS))) < 0.7,
    }
    mask = masks[kind]
    rows = np.split(values if kind == "floats of keys" else values > -0.3, np.cumsum(KEYS)[:-1])

    def wanted(s: Any, b: int, h: int, i: Any, j: Any) -> Any:
        made = linear_of_numpy(s, h, i, j)
        seen = mask[: s.shape[0], : s.shape[1]] if kind == "dense" else rows[b]
        return made + seen if kind == "floats of keys" else np.where(seen, made, -np.inf)

    function = rg.jit(
        lambda q, k, v, m: rg.attention(q, k, v, mask=m, score=linear, causal="bottom-right"), target=target
    )
    found = function(*arrays, mask)
    assert_components(found, expected(arrays, wanted, lambda i, j, shift: j <= i + shift), 1e-4)
    if kind == "floats of keys":

        def loss(m: Any) -> Any:
            return (rg.attention(*arrays, mask=m, score=linear) ** 2).sum()

        step = rg.like(mask, rng.standard_normal(total).astype(np.float32) * 1e-2)
        slope = (rg.grad(loss)(mask) * step).sum()
        np.testing.assert_allclose(slope, (loss(mask + step) - loss(mask - step)) / 2, rtol=2e-2)


def test_no_key_to_see_has_no_gradient() -> None:
    """Also where what hides the keys, or is read beside, is differentiated: these were no numbers."""
    q, hidden = rg.from_lengths(np.array([[0.5], [1.0], [2.0]]), [1, 2]), np.array([[-np.inf, 0.0], [0.0, -np.inf]])
    found = rg.grad(lambda q, m: rg.attention(q, q, q, mask=m).sum(), (0, 1))(q, hidden)
    assert [found[0].tolist(), found[1].tolist()] == [[[[0.0]], [[1.0], [1.0]]], [[0.0, 0.0], [0.0, 0.0]]]

    def others(q: Any, t: Any) -> Any:
        return rg.attention(q, q, q, score=lambda s, b, h, i, j: rg.where(i == j, -np.inf, s) + rg.take(t, h)).sum()

    found = rg.grad(others, (0, 1))(q, np.zeros(1))
    assert [found[0].tolist(), found[1].tolist()] == [[[[0.0]], [[1.0], [1.0]]], [0.0]]


def linear_of_numpy(s: Any, h: int, i: Any, j: Any) -> Any:
    return s - SLOPES[h] * (i - j)


def call(score: Any, **options: Any) -> Callable[..., Any]:
    return lambda *arrays: rg.attention(*arrays, score=score, **options)


REFUSED: list[Refusal] = [
    (call(3), TypeError, "attention: expected a function as score, got int"),
    (call(lambda s: s), TypeError, "attention: expected a score of five arguments, got one that takes others: "),
    (call(lambda s, b, h, i, j: s > 0), TypeError, "attention: expected a score that is a number, got bool of rank 0"),
    (call(lambda s, b, h, i, j: s + TABLE), TypeError,
     "attention: expected a score that is a number, got float32 of rank 2"),
    (call(lambda s, b, h, i, j: s + rg.take(SLOPES, i)), IndexError,
     "take: level 0: expected index in [-4, 4), got 39"),
    (call(lambda s, b, h, i, j: s + rg.take(SLOPES, i - j)), IndexError,
     "take: level 0: expected index in [-4, 4), got -69"),
    (call(lambda s, b, h, i, j: s + rg.take(SLOPES, h + 1)), IndexError,
     "take: level 0: expected index in [-4, 4), got 4"),
    (call(lambda s, b, h, i, j: s + rg.take(SLOPES, i * 2**62)), TypeError,
     "attention: expected an index with known bounds in a score, got one without (use rg.clip)"),
    (call(lambda s, b, h, i, j: s + rg.take(SLOPES, i + np.int64(2**62))), IndexError,
     "attention: level 0: expected index in [0, 2199023255552), got 461168711793"),
    (lambda q, k, v: rg.attention(q, k, v, score=lambda s, b, h, i, j: s + q[b][i][h].sum()), TypeError,
     "attention: expected a score that indexes the first dims of dense arrays, one after the other, got other indices"),
    (call(lambda s, b, h, i, j: s + rg.take(rg.take(TABLE, i % 21, axis=1), h)), TypeError,
     "attention: expected a score of functions of numbers and elements of dense arrays, got 'ragged.select'"),
    (call(lambda s, b, h, i, j: rg.softmax(rg.take(TABLE, h), axis=0)[0] + s), TypeError,
     "attention: expected a score of functions of numbers and elements of dense arrays, got 'linalg."),
    (call(lambda s, b, h, i, j: s + rg.take(TABLE, h).sum()), TypeError,
     "attention: expected a score of functions of numbers and elements of dense arrays, got 'linalg.generic'"),
    (call(lambda s, b, h, i, j: s + rg.searchsorted(np.array([1, 2]), i - j)), TypeError,
     "attention: expected a score of functions of numbers and elements of dense arrays, got 'scf.while'"),
    (call(lambda s, b, h, i, j: s + rg.take(SLOPES, np.where(j >= 0, j + 2, j))), IndexError,
     "take: level 0: expected index in [-4, 4), got 71"),
    (call(lambda s, b, h, i, j: s + rg.take(SLOPES, np.where(j - 4 < 0, (j - 4) + 10**12, j - 4))), IndexError,
     "take: level 0: expected index in [-4, 4), got 1000000000065"),
    (call(lambda s, b, h, i, j: s + rg.take(SLOPES, i * i * 2**56)), TypeError, "expected an index with known bounds"),
    (call(narrow), TypeError, "expected an index with known bounds"),
]  # fmt: skip


test_refused = refused(REFUSED, *(lambda k=k: given()[k] for k in range(3)))


def test_nothing_is_read_where_there_is_nothing() -> None:
    """Indices of no component, and of no key, are inside of whatever there is."""
    for lengths in ((), (0, 0)):
        x = array(lengths, (2, 4))
        for table in (np.zeros(0, np.float32), np.zeros(1, np.float32)):
            made = rg.attention(x, x, x, score=lambda s, b, h, i, j, table=table: s + rg.take(table, i))
            assert made.values.shape == (0, 2, 4)
