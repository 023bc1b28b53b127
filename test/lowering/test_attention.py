"""`ragged.attention` on the CPU, by its kernel and by what it decomposes to, against loops in float64."""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.cpu_features import levels, mask

import ragged_dialect as rg
from ragged_dialect import compile
from ragged_dialect.asm.module import load_module
from ragged_dialect.dialect import context
from ragged_dialect.lowering import pipelines
from ragged_dialect.ops.attention import Keys
from ragged_dialect.reference.interpreter import run

DTYPES = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64}
TOLERANCES = {"f16": 2e-3, "bf16": 2e-2, "f32": 3e-6, "f64": 1e-14}
QUERIES = np.array([3, 0, 70, 1, 33, 5, 0])
KEYS = np.array([5, 4, 66, 0, 9, 41, 0])
VISIBLE = ("all", "causal", "causal_end", "window<3, 2>", "window<7, -1>", "window_end<-1, 4>", "window_end<2, 0>")


def text_of(element: str, heads: tuple[int, int], dims: tuple[int, int], attributes: str) -> str:
    """A function of q, k and v, whose results are both those of the op."""
    wide = "f64" if element == "f64" else "f32"
    types = [f'tensor<?x?x{h}x{d}x{element}, #ragged.layout<"dr|d|d">>' for h, d in
             ((heads[0], dims[0]), (heads[1], dims[0]), (heads[1], dims[1]), (heads[0], dims[1]))]  # fmt: skip
    sums = f'tensor<?x?x{heads[0]}x{wide}, #ragged.layout<"dr|d">>'
    q, k, v, o = types
    return f"""func.func @f(%q: {q}, %k: {k}, %v: {v}) -> ({o}, {sums}) {{
      %o, %lse = ragged.attention %q, %k, %v {{{attributes}}} : ({q}, {k}, {v}) -> ({o}, {sums})
      return %o, %lse : {o}, {sums}
    }}"""


def arguments(element: str, heads: tuple[int, int], dims: tuple[int, int]) -> list[tuple[Any, Any]]:
    """Values and offsets of q, k and v."""
    rng = np.random.default_rng(0)
    given = ((QUERIES, heads[0], dims[0]), (KEYS, heads[1], dims[0]), (KEYS, heads[1], dims[1]))
    return [
        (rng.standard_normal((lengths.sum(), h, d)).astype(DTYPES[element]), np.concatenate([[0], lengths.cumsum()]))
        for lengths, h, d in given
    ]


def loops(given: list[tuple[Any, Any]], keys: str, scale: float, cap: float | None = None) -> tuple[Any, Any]:
    """The results, component by component and head by head in float64."""
    (q, at), (k, to), (v, _) = ((x.astype(np.float64), offsets) for x, offsets in given)
    left, right, end = Keys.parse(keys)
    o, lse = np.zeros((*q.shape[:2], v.shape[2])), np.full(q.shape[:2], -np.inf)
    for b in range(len(at) - 1):
        rows, others = slice(at[b], at[b + 1]), slice(to[b], to[b + 1])
        ahead = np.arange(to[b + 1] - to[b])[None] - np.arange(at[b + 1] - at[b])[:, None]
        ahead = ahead - (KEYS[b] - QUERIES[b] if end else 0)
        seen = (ahead <= (right if right is not None else 999)) & (-ahead <= (left if left is not None else 999))
        for h in range(q.shape[1]):
            own = h * k.shape[1] // q.shape[1]
            scores = q[rows, h] @ k[others, own].T * scale
            scores = np.where(seen, scores if cap is None else cap * np.tanh(scores / cap), -np.inf)
            top = scores.max(1, initial=-np.inf)
            powers = np.where(seen, np.exp(scores - np.where(np.isinf(top), 0, top)[:, None]), 0)
            total = powers.sum(1)
            o[rows, h] = powers @ v[others, own] / np.where(total, total, 1)[:, None]
            lse[rows, h] = np.where(total, top + np.log(np.where(total, total, 1)), -np.inf)
    return o, lse


def assert_near(found: Any, given: list[tuple[Any, Any]], element: str, *rest: Any) -> None:
    """Both results, where they are -inf too."""
    (o, _), (lse, _) = found
    expected, sums = loops(given, *rest)
    assert o.dtype == DTYPES[element]
    np.testing.assert_allclose(o.astype(np.float64), expected, atol=TOLERANCES[element], rtol=TOLERANCES[element])
    narrow = 1e-14 if element == "f64" else 3e-6
    np.testing.assert_allclose(lse, sums, atol=narrow, rtol=narrow)


@pytest.mark.sampled(14)
@pytest.mark.parametrize("keys", VISIBLE)
@pytest.mark.parametrize("element", DTYPES)
def test_keys(element: str, keys: str) -> None:
    given = arguments(element, (4, 2), (16, 3))
    found = compile(text_of(element, (4, 2), (16, 3), f'scale = 0.25, keys = "{keys}"'))(*given)
    assert_near(found, given, element, keys, 0.25)


@pytest.mark.parametrize(
    "dim", [1, pytest.param(3, marks=pytest.mark.slow), pytest.param(64, marks=pytest.mark.slow), 128]
)
def test_head_dims(dim: int) -> None:
    given = arguments("f32", (2, 2), (dim, dim))
    found = compile(text_of("f32", (2, 2), (dim, dim), f'scale = {dim**-0.5}, keys = "causal_end"'))(*given)
    assert_near(found, given, "f32", "causal_end", dim**-0.5)


@pytest.mark.parametrize("element", ["f32", pytest.param("bf16", marks=pytest.mark.slow), "f64"])
def test_softcap(element: str) -> None:
    given = arguments(element, (2, 1), (4, 4))
    found = compile(text_of(element, (2, 1), (4, 4), 'scale = 1.0, keys = "causal", softcap = 1.5'))(*given)
    assert_near(found, given, element, "causal", 1.0, 1.5)


@pytest.mark.parametrize("level", levels("SSE2", "no AVX-512"))
def test_processors(level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mask(level, monkeypatch)
    for element in ("f32", "bf16", "f16"):
        given = arguments(element, (2, 1), (5, 8))
        found = compile(text_of(element, (2, 1), (5, 8), 'scale = 0.5, keys = "window<9, 2>"'))(*given)
        assert_near(found, given, element, "window<9, 2>", 0.5)


@pytest.mark.sampled(7)
@pytest.mark.parametrize("keys", VISIBLE)
@pytest.mark.parametrize("element", ["f32", "f16"])
def test_decomposed(element: str, keys: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipelines, "HEAD_DIMS", 0)
    given = arguments(element, (4, 2), (16, 4))  # dims of no other test: programs are kept by their text
    found = compile(text_of(element, (4, 2), (16, 4), f'scale = 0.25, keys = "{keys}"'))(*given)
    assert_near(found, given, element, keys, 0.25)


@pytest.mark.sampled(7)
@pytest.mark.parametrize("keys", VISIBLE)
@pytest.mark.parametrize("element", ["f32", "bf16"])
def test_meaning(element: str, keys: str) -> None:
    given = arguments(element, (2, 1), (2, 3))
    found = run(text_of(element, (2, 1), (2, 3), f'scale = 0.25, keys = "{keys}", softcap = 2.0'), "f", given)
    assert_near(found, given, element, keys, 0.25, 2.0)


def test_threads_share_a_sequence_and_bits_are_equal(monkeypatch: pytest.MonkeyPatch) -> None:
    rng, offsets = np.random.default_rng(1), np.array([0, 1, 1300, 1300])
    given = [(rng.standard_normal((1300, 4, 16)).astype(np.float32), offsets) for _ in range(3)]
    made = []
    for threads in (1, 3):
        monkeypatch.setenv("RAGGED_NUM_THREADS", str(threads))
        (o, _), (lse, _) = compile(text_of("f32", (4, 4), (16, 16), 'scale = 0.25, keys = "causal"'))(*given)
        made.append((o.tobytes(), lse.tobytes()))
    assert made[0] == made[1]


def test_no_scores_are_stored() -> None:
    """What is allocated has the size of the results."""
    made = context()
    with made:
        module = load_module(text_of("f32", (2, 2), (16, 16), "scale = 0.25"), made)
        for stage in pipelines.cpu_pipeline():
            if stage.name == "llvm":
                break
            stage.run(module)
        text = str(module)
    floats = set(re.findall(r"memref\.alloc\(.*: (memref<.*f32>)", text))
    assert floats == {"memref<?x2x16xf32>", "memref<?x2xf32>"}
    assert "linalg." not in text


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_no_numbers(value: float) -> None:
    """They reach the queries that see them, and no others."""
    given = arguments("f32", (1, 1), (16, 16))
    k = given[1][0]
    k[given[1][1][2] + 10] = value
    (o, _), _ = compile(text_of("f32", (1, 1), (16, 16), 'scale = 0.25, keys = "causal"'))(*given)
    lost = np.isnan(o).any((1, 2))
    first = given[0][1][2]
    assert lost[first + 10 : first + 70].all() if np.isnan(value) else lost[first + 10 : first + 70].any()
    assert not lost[: first + 10].any()
    assert not lost[first + 70 :].any()


COMPOSED = {
    "heads": ("bihd,bjhd->bihj", "bihj,bjhe->bihe", 3, (2,)),
    "heads last": ("bjhd,bihd->bijh", "bjhe,bijh->bihe", 2, (2,)),
    "no heads": ("bid,bjd->bij", "bij,bje->bie", 2, ()),
}


@pytest.mark.parametrize("name", COMPOSED)
def test_composition_of_products(name: str) -> None:
    """What is written as products and a softmax is attention, to the bit."""
    scores, sums, axis, heads = COMPOSED[name]
    rng = np.random.default_rng(0)
    given = [
        rg.from_lengths(rng.standard_normal((lengths.sum(), *heads, dim)).astype(np.float32), lengths)
        for lengths, dim in ((QUERIES, 8), (KEYS, 8), (KEYS, 5))
    ]
    swapped = scores.startswith("bj")

    def composed(q: Any, k: Any, v: Any) -> Any:
        found = rg.einsum(scores, *((k, q) if swapped else (q, k)))
        weights = rg.softmax(found * 0.25, axis=axis)
        return rg.einsum(sums, *((v, weights) if swapped else (weights, v)))

    def whole(q: Any, k: Any, v: Any) -> Any:
        return rg.attention(q, k, v, scale=0.25)

    found, expected = (rg.jit(f)(*given).values for f in (composed, whole))
    assert found.tobytes() == expected.tobytes()
