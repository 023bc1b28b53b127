"""Attention against loops over the components."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from support.components import array, assert_components, components
from support.refusals import Refusal, refused

import ragged_dialect as rg

LENGTHS = (3, 0, 5, 1)
OTHER = (2, 4, 0, 3)


def attend(q: Any, k: Any, v: Any, causal: bool, mask: Any = None) -> Any:
    """Attention within one component; 0 where no key is seen."""
    scores = q @ k.T / np.sqrt(q.shape[1])
    scores = np.where(np.tril(np.ones(scores.shape, bool)), scores, -np.inf) if causal else scores
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    e = np.where(np.isinf(scores), 0, np.exp(scores - np.nan_to_num(scores.max(1, keepdims=True, initial=-np.inf))))
    return e / np.maximum(e.sum(1, keepdims=True), 1e-30) @ v


@pytest.mark.sampled(2)
@pytest.mark.parametrize("causal", [False, True])
def test_attention(causal: bool) -> None:
    q, k, v = array(LENGTHS), array(OTHER, seed=1), array(OTHER, (6,), seed=2)
    parts = zip(components(q), components(k), components(v), strict=True)
    assert_components(rg.attention(q, k, v, causal=causal), [attend(*p, causal) for p in parts])


def test_attention_with_heads() -> None:
    q, k, v = array(LENGTHS, (2, 4)), array(OTHER, (2, 4), seed=1), array(OTHER, (2, 3), seed=2)
    expected = [
        np.stack([attend(a[:, h], b[:, h], c[:, h], False) for h in range(2)], 1)
        for a, b, c in zip(components(q), components(k), components(v), strict=True)
    ]
    assert_components(rg.attention(q, k, v), expected)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("heads", [(), (2,)])
@pytest.mark.parametrize(("features", "values"), [(0, 0), (0, 3), (3, 0)])
def test_attention_without_features(heads: tuple[int, ...], features: int, values: int) -> None:
    """Equal scores: means of the values, which may have no features either."""
    q, k, v = array(LENGTHS, (*heads, features)), array(OTHER, (*heads, features)), array(OTHER, (*heads, values))
    k, v = k * 0, v.astype(np.float64)
    expected = [
        np.broadcast_to(c.sum(0) / max(len(c), 1), (len(a), *heads, values))
        for a, c in zip(components(q), components(v), strict=True)
    ]
    assert_components(rg.attention(q, k, v), expected)
    assert rg.grad(lambda q: rg.attention(q, k, v).sum())(q).shape == q.shape


@pytest.mark.sampled(2)
@pytest.mark.parametrize("causal", [False, True])
def test_attention_with_fewer_heads_of_keys(causal: bool) -> None:
    q, k, v = array(LENGTHS, (6, 4)), array(OTHER, (2, 4), seed=1), array(OTHER, (2, 3), seed=2)
    expected = [
        np.stack([attend(a[:, h], b[:, h // 3], c[:, h // 3], causal) for h in range(6)], 1)
        for a, b, c in zip(components(q), components(k), components(v), strict=True)
    ]
    assert_components(rg.attention(q, k, v, causal=causal), expected)


def masks(seed: int, kind: str, heads: int | None = None) -> tuple[rg.RaggedArray, list[Any]]:
    """A ragged mask of the scores, and its components."""
    rng = np.random.default_rng(seed)
    shapes = [(a, b) if heads is None else (a, b, heads) for a, b in zip(LENGTHS, OTHER, strict=True)]
    parts = [values(rng, shape, kind) for shape in shapes]
    rows = [n for a, b in zip(LENGTHS, OTHER, strict=True) for n in [b] * a]
    flat = np.concatenate([p.reshape(-1, *p.shape[2:]) for p in parts])
    return rg.from_lengths(flat, LENGTHS, rows), parts


def values(rng: np.random.Generator, shape: tuple[int, ...], kind: str) -> Any:
    """Booleans, or numbers some of which are -inf."""
    seen = rng.random(shape) < 0.6
    return seen if kind == "bool" else np.where(seen, rng.standard_normal(shape), -np.inf).astype(np.float32)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("kind", ["bool", "float"])
@pytest.mark.parametrize("causal", [False, True])
def test_ragged_masks(kind: str, causal: bool) -> None:
    q, k, v = array(LENGTHS), array(OTHER, seed=1), array(OTHER, (6,), seed=2)
    mask, parts = masks(3, kind)
    rows = zip(components(q), components(k), components(v), parts, strict=True)
    expected = [attend(a, b, c, causal, m) for a, b, c, m in rows]
    assert_components(rg.attention(q, k, v, mask=mask, causal=causal), expected)
    traced = rg.jit(lambda q, k, v, m: rg.attention(q, k, v, mask=m, causal=causal))
    assert_components(traced(q, k, v, mask), expected)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("kind", ["bool", "float"])
@pytest.mark.parametrize("of_keys", [True, False])
def test_ragged_masks_of_keys_or_of_queries(kind: str, of_keys: bool) -> None:
    q, k, v = array(LENGTHS), array(OTHER, seed=1), array(OTHER, (6,), seed=2)
    lengths = OTHER if of_keys else LENGTHS
    mask = rg.from_lengths(values(np.random.default_rng(5), (sum(lengths),), kind), lengths)

    def attended(q: Any, k: Any, v: Any, m: Any) -> Any:
        return rg.attention(q, k, v, mask=m[:, None, :] if of_keys else m[:, :, None])

    rows = zip(components(q), components(k), components(v), components(mask), strict=True)
    expected = [attend(a, b, c, False, m[None] if of_keys else np.tile(m[:, None], len(b))) for a, b, c, m in rows]
    assert_components(attended(q, k, v, mask), expected)
    assert_components(rg.jit(attended)(q, k, v, mask), expected)
    own = rg.from_lengths(values(np.random.default_rng(6), (sum(LENGTHS),), kind), LENGTHS)
    rows = zip(components(q), components(own), strict=True)
    expected = [attend(a, a, a, False, m[None] if of_keys else np.tile(m[:, None], len(a))) for a, m in rows]
    assert_components(rg.jit(lambda x, m: attended(x, x, x, m))(q, own), expected)  # one value is all of them


def test_ragged_masks_that_a_program_computes() -> None:
    x, segments = array((3, 0, 2)), rg.ragged([[0, 0, 1], [], [0, 0]], np.int64)

    def attended(x: Any, s: Any) -> Any:
        return rg.attention(x, x, x, mask=s[:, :, None] == s[:, None, :])

    same = [c[:, None] == c[None] for c in components(segments)]
    expected = [attend(c, c, c, False, m) for c, m in zip(components(x), same, strict=True)]
    assert_components(attended(x, segments), expected)
    assert_components(rg.jit(attended)(x, segments), expected)


def test_windows_of_an_array_whose_scores_are_stored() -> None:
    x = rg.from_lengths(np.random.default_rng(0).standard_normal((6, 2)), [2, 1, 3])[::2]
    made = rg.attention(x, x, x, softcap=2.0)
    assert_components(made, components(rg.attention(x * 1.0, x * 1.0, x * 1.0, softcap=2.0)))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("function", [rg.attention, rg.jit(rg.attention)])
def test_keys_and_values_are_windows_at_other_places(function: Any) -> None:
    q, k, v = array((3, 3, 5)), array((5, 3, 3), seed=1)[[2, 1, 0]], array((3, 5, 3), seed=2)[[2, 0, 1]]
    expected = [attend(*p, False) for p in zip(components(q), components(k), components(v), strict=True)]
    assert_components(function(q, k, v), expected)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("heads", [(), (2,)])
def test_windows_caps_and_log_sums(heads: tuple[int, ...]) -> None:
    q, k, v = array(LENGTHS, (*heads, 4)), array(OTHER, (*heads, 4), seed=1), array(OTHER, (*heads, 3), seed=2)
    o, lse = rg.attention(q, k, v, causal="bottom-right", window=(1, -1), softcap=2.0, return_lse=True)
    assert o.shape[2:] == (*heads, 3)
    assert lse.shape[2:] == heads
    for a, b, c, made, sums in zip(*map(components, (q, k, v, o, lse)), strict=True):
        shift = len(b) - len(a)
        for i in range(len(a)):
            j = slice(max(0, i + shift - 1), max(0, i + shift + 1))
            x, y, z = (a[i, None], b[j], c[j]) if not heads else (a[i, None, 0], b[j, 0], c[j, 0])
            scores = 2 * np.tanh(x @ y.T / 4)[0]
            found, total = (made[i], sums[i]) if not heads else (made[i, 0], sums[i, 0])
            powers = np.exp(scores)
            np.testing.assert_allclose(np.exp(total), powers.sum(), rtol=1e-5)
            np.testing.assert_allclose(found, powers @ z / max(powers.sum(), 1e-30), rtol=1e-4, atol=1e-6)


def test_no_key_is_seen() -> None:
    q, k = array((2, 1)), array((3, 2), seed=1)
    assert not rg.attention(q, k, k, mask=np.zeros((2, 3), np.bool_)).values.any()
    assert not rg.attention(q, k, k, mask=np.full((2, 3), -np.inf, np.float32)).values.any()
    later = np.array([[False, True, True], [False, False, True]])
    assert not rg.attention(q, k, k, mask=later, causal=True).values.any()


def test_dtype_is_that_of_all_operands() -> None:
    q, v = array(LENGTHS).astype(np.float32), array(LENGTHS).astype(np.float64)
    assert rg.attention(q, q, v).dtype == rg.attention(v, q, q).dtype == np.float64


@pytest.mark.sampled(4)
@pytest.mark.parametrize("heads", [6, 2])
@pytest.mark.parametrize("kind", ["bool", "float"])
def test_ragged_masks_of_heads(heads: int, kind: str) -> None:
    q, k, v = array(LENGTHS, (6, 4)), array(OTHER, (heads, 4), seed=1), array(OTHER, (heads, 3), seed=2)
    for of_masks in (None, 1, 6):
        mask, parts = masks(4, kind, of_masks)
        expected = [
            np.stack([
                attend(a[:, h], b[:, h * heads // 6], c[:, h * heads // 6], False,
                       m if of_masks is None else m[..., h % of_masks])
                for h in range(6)
            ], 1)
            for a, b, c, m in zip(components(q), components(k), components(v), parts, strict=True)
        ]  # fmt: skip
        assert_components(rg.attention(q, k, v, mask=mask), expected)


SHAPES = [(5, 4), (1, 4), (5, 1), (6, 5, 4), (1, 7, 9), (4, 6, 5, 4), (1, 6, 5, 4), (4, 1, 1, 4), (1, 1, 6, 4)]


@pytest.mark.sampled(18)
@pytest.mark.parametrize("heads", [6, 2])
@pytest.mark.parametrize("shape", SHAPES)
def test_dense_masks(shape: tuple[int, ...], heads: int) -> None:
    q, k, v = array(LENGTHS, (6, 4)), array(OTHER, (heads, 4), seed=1), array(OTHER, (heads, 3), seed=2)
    mask = values(np.random.default_rng(5), shape, "bool")
    rows = np.broadcast_to(mask, (4, 6, max(shape[-2], 5), max(shape[-1], 4)))
    expected = [
        np.stack([
            attend(a[:, h], b[:, h * heads // 6], c[:, h * heads // 6], False, m[h, : len(a), : len(b)])
            for h in range(6)
        ], 1)
        for a, b, c, m in zip(components(q), components(k), components(v), rows, strict=True)
    ]  # fmt: skip
    attend_all = rg.attention if heads == 6 else rg.jit(rg.attention)
    assert_components(attend_all(q, k, v, mask=mask), expected)


def test_dense_masks_without_heads() -> None:
    q, k, v = array(LENGTHS), array(OTHER, seed=1), array(OTHER, (6,), seed=2)
    bias = values(np.random.default_rng(6), (4, 5, 4), "float")
    parts = zip(components(q), components(k), components(v), bias, strict=True)
    expected = [attend(a, b, c, False, m[: len(a), : len(b)]) for a, b, c, m in parts]
    assert_components(rg.attention(q, k, v, mask=bias), expected)


def test_padded_extents_of_masks_compile_nothing() -> None:
    q = array(LENGTHS)
    rg.attention(q, q, q, mask=np.ones((5, 5), np.bool_))
    before = rg.compilations()
    rg.attention(q, q, q, mask=np.ones((6, 9), np.bool_))
    assert rg.compilations() == before


REFUSED: list[Refusal] = [
    (lambda x: rg.attention(x, array((1, 2)), array((1, 2))), rg.RuntimeCheckError,
     "attention: dim 0: expected extent 4, got 2"),
    (lambda x: rg.attention(x, x, array(OTHER)), rg.RuntimeCheckError,
     "attention: level 1, component 0: expected length 3, got 2"),
    (lambda x: rg.attention(x, x[..., :3], x), rg.RuntimeCheckError, "attention: dim 2: expected extent 4, got 3"),
    (lambda x: rg.attention(*(y.unsqueeze(2) for y in (x, x[..., :3], x))), rg.RuntimeCheckError,
     "attention: dim 3: expected extent 4, got 3"),
    (lambda x: rg.attention(array(LENGTHS, (2, 4)), array(LENGTHS, (2, 4)), array(LENGTHS, (1, 4))),
     rg.RuntimeCheckError, "attention: dim 2: expected extent 2, got 1"),
    (lambda x: rg.attention(x, x, x[..., 0]), TypeError,
     "attention: expected arrays of rank 3 or 4, got ranks 3, 3 and 2"),
    (lambda x: rg.attention(array(LENGTHS, (3, 4)), array(LENGTHS, (2, 4)), array(LENGTHS, (2, 4))), rg.LayoutError,
     "attention: expected heads of q that are a positive multiple of 2, got 3"),
    (lambda x: rg.attention(array(LENGTHS, (0, 4)), array(LENGTHS, (2, 4)), array(LENGTHS, (2, 4))), rg.LayoutError,
     "attention: expected heads of q that are a positive multiple of 2, got 0"),
    (lambda x: rg.jit(lambda a: rg.attention(a, a, a), dynamic_dims=(2,))(x), TypeError,
     "attention: expected a scale for an unknown number of features, got none (scale=1 / np.sqrt(d))"),
    (lambda x: rg.attention(x, x, x, causal="left"), TypeError,
     "attention: expected causal among False, True, top-left, bottom-right, got 'left'"),
    (lambda x: rg.attention(x, x, x, window=(1, -2)), TypeError,
     "attention: expected a window of two integers in [-1, 10**18), got (1, -2)"),
    (lambda x: rg.attention(x, x, x, window=(2**63 - 1, 0)), TypeError, "got (9223372036854775807, 0)"),
    (lambda x: rg.attention(x, x, x, window=(2**70, 0)), ValueError,
     "attention: expected window in [-2**63, 2**63), got 118059"),
    *((lambda x, cap=cap: rg.attention(x, x, x, softcap=cap), TypeError,
       f"attention: expected a softcap in [1e-20, 1e+20], got {cap}") for cap in (0, math.nan, math.inf, 1e-300)),
    (lambda x: rg.attention(x, x.to_padded(0), x), rg.RuntimeCheckError,
     "attention: level 1, component 0: expected length 5, got 3"),
    (lambda x: rg.attention(x, *[rg.ragged([[[1.0], [2.0, 3.0]]] * len(x), dtype=np.float32)] * 2), rg.LayoutError,
     'attention: expected k of layout "dr|d", got "drr"'),
    (lambda x: rg.attention(x, x, x, mask=np.ones((5, 4), np.bool_)), rg.RuntimeCheckError,
     "attention: level 1, component 2: expected extent >= length 5, got 4"),
    (lambda x: rg.attention(x, x, x, mask=np.ones((3, 5, 5), np.bool_)), rg.RuntimeCheckError,
     "attention: dim 0: expected extent 4, got 3"),
    (lambda x: rg.attention(x, x, x, mask=np.ones((4, 1, 5, 5), np.bool_)), rg.LayoutError,
     "attention: expected a dense mask of rank 2 to 3, got rank 4"),
    (lambda x: rg.attention(x, x, x, mask=np.ones(5, np.bool_)), rg.LayoutError,
     "attention: expected a dense mask of rank 2 to 3, got rank 1 (of keys it is mask[None, :])"),
    (lambda x: rg.attention(x, x, x, mask=np.ones((5, 5), np.int8)), TypeError,
     "attention: expected a mask of booleans or floats, got int8 of rank 2"),
    (lambda x: rg.attention(x, x, x, mask=True), TypeError,
     "attention: expected a mask of booleans or floats, got bool of rank 0"),
    (lambda x: rg.attention(x, x, x, mask=x[..., 0]), rg.LayoutError,
     "attention: expected a ragged mask of rank 3 to 3, got rank 2 "
     "(of keys it is mask[:, None, :], of queries mask[:, :, None])"),
    (lambda x: rg.attention(x, x, x, mask=rg.stack([x[..., 0], x[..., 1]], axis=1)), rg.RuntimeCheckError,
     "attention: dim 1: expected extent 1, got 2"),
    (lambda x: rg.attention(x, x, x, mask=x), rg.RuntimeCheckError, "attention: dim 2: expected extent 1, got 4"),
    (lambda x: rg.attention(x, x, x, mask=array(OTHER, ())[:, None]), rg.RuntimeCheckError,
     "attention: level 1, component 0: expected length 3, got 2"),
    (lambda x: rg.attention(x, x, x, mask=x[None, :, :, 0]), rg.LayoutError,
     'attention: expected a mask of layout "drr", "ddr" or "dr|d", got "d|dr"'),
    (lambda x: rg.jit(lambda x, c: rg.attention(x, x, x, scale=c))(x, 0.5), TypeError,
     "attention: expected a number or None for scale, got a traced value (multiply q by it)"),
    (lambda x: rg.attention(x, array(OTHER), array(OTHER), mask=rg.einsum("bid,bjd->bij", x, x)),
     rg.RuntimeCheckError, "attention: level 2, component 0: expected length 2, got 3"),
    (lambda x: rg.attention(x, x, x, mask=rg.einsum("bid,bjd->bij", x, x)[..., None]), rg.LayoutError,
     "attention: expected a ragged mask of rank 3 to 3, got rank 4"),
    (lambda x: rg.attention(*[x[:, :, None]] * 3, mask=np.ones((3, 5, 5), np.bool_)), rg.RuntimeCheckError,
     "attention: dim 0: expected extent 1, got 3"),
    (lambda x: rg.attention(array(LENGTHS, (4, 3)), *[array(LENGTHS, (2, 3))] * 2, mask=np.ones((3, 5, 5), np.bool_)),
     rg.RuntimeCheckError, "attention: dim 0: expected extent 4, got 3"),
]  # fmt: skip


test_refused = refused(REFUSED, lambda: array(LENGTHS))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("heads", [(), (2,)], ids=str)
def test_dense_queries_and_keys(heads: tuple[int, ...]) -> None:
    """Those are components of one length: one query beside the keys so far, or batches without any raggedness."""
    rng = np.random.default_rng(0)
    one, some = rng.standard_normal((3, 1, *heads, 8)), rng.standard_normal((3, 4, *heads, 8))
    k, v = (rg.from_lengths(rng.standard_normal((9, *heads, 8)), [3, 0, 6]) for _ in range(2))
    for q, keys, values in [(one, k, v), (some, k, v), (some, some, some), (k, some, some * 2)]:
        parts = [rg.ragged(list(x)) if isinstance(x, np.ndarray) else x for x in (q, keys, values)]
        expected = rg.attention(*parts, causal="bottom-right", return_lse=True)
        for own, whole in zip(
            rg.attention(q, keys, values, causal="bottom-right", return_lse=True), expected, strict=True
        ):
            if isinstance(q, np.ndarray):
                assert isinstance(own, np.ndarray)
                own = rg.ragged(list(own))
            np.testing.assert_allclose(own.values, whole.values)
    with pytest.raises(rg.RuntimeCheckError, match="attention: dim 0: expected extent 2, got 3"):
        rg.attention(one[:2], k, v)
    gradient = rg.grad(lambda q: (rg.attention(q, k, v) ** 2).sum())(one)
    ragged = rg.grad(lambda q: (rg.attention(q, k, v) ** 2).sum())(rg.ragged(list(one)))
    np.testing.assert_allclose(gradient.reshape(ragged.values.shape), ragged.values)


@pytest.mark.parametrize("target", ["cpu", "emulator"])
def test_no_dense_queries(target: str) -> None:
    """No kernel is launched for none."""
    keys = np.zeros((5, 4, 3), np.float32)
    assert rg.jit(rg.attention, target=target)(np.zeros((5, 0, 3), np.float32), keys, keys).shape == (5, 0, 3)
