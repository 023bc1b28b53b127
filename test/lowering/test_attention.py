"""`ragged.attention` on the CPU, by its kernel and by what it decomposes to, against loops in float64."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from support.attention import DTYPES, KEYS, QUERIES, VISIBLE, arguments, assert_near, loops, text_of
from support.attention_scores import TABLE, made, scored
from support.cpu_features import levels, mask
from support.matrix import worker_environment

import ragged_dialect as rg
from ragged_dialect import compile
from ragged_dialect.asm.module import load_module
from ragged_dialect.dialect import context
from ragged_dialect.lowering import pipelines
from ragged_dialect.reference.interpreter import run


@pytest.mark.sampled(28)
@pytest.mark.parametrize("keys", VISIBLE)
@pytest.mark.parametrize("element", DTYPES)
def test_keys(element: str, keys: str) -> None:
    given = arguments(element, (4, 2), (16, 3))
    found = compile(text_of(element, (4, 2), (16, 3), f'scale = 0.25, keys = "{keys}"'))(*given)
    assert_near(found, given, element, keys, 0.25)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("element", ["f32", "bf16", pytest.param("f64", marks=pytest.mark.slow)])
@pytest.mark.parametrize("keys", ["causal_end", "window_end<70, 3>"])
def test_few_queries(element: str, keys: str) -> None:
    """They are done one by one, over several tiles of keys; head dims that are no multiple of a register, and values in
    more registers than are added up at once."""
    given = arguments(
        element, (4, 2), (23, 157), np.array([1, 6, 1, 0, 7, 2, 1]), np.array([200, 129, 64, 9, 150, 1, 0])
    )
    found = compile(text_of(element, (4, 2), (23, 157), f'scale = 0.25, keys = "{keys}"'))(*given)
    assert_near(found, given, element, keys, 0.25)


def test_few_queries_that_are_no_numbers() -> None:
    given = arguments("f32", (2, 1), (5, 5), np.array([1, 1, 1, 2]), np.array([70, 70, 70, 70]))
    (q, _), (k, to), (v, _) = given
    k[to[0] + 66], v[to[1] + 3], q[2, 0] = np.nan, np.inf, -np.inf
    (o, _), (lse, _) = compile(text_of("f32", (2, 1), (5, 5), "scale = 0.25"))(*given)
    with np.errstate(all="ignore"):
        expected, sums = loops(given, "all", 0.25)
    assert np.isnan(o[0]).all()
    assert np.isinf(o[1]).all()
    np.testing.assert_array_equal(np.isnan(lse), np.isnan(sums))
    np.testing.assert_allclose(o[3:], expected[3:], rtol=1e-5)


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "dim", [1, pytest.param(3, marks=pytest.mark.slow), pytest.param(64, marks=pytest.mark.slow), 128]
)
def test_head_dims(dim: int) -> None:
    given = arguments("f32", (2, 2), (dim, dim))
    found = compile(text_of("f32", (2, 2), (dim, dim), f'scale = {dim**-0.5}, keys = "causal_end"'))(*given)
    assert_near(found, given, "f32", "causal_end", dim**-0.5)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("element", ["f32", pytest.param("bf16", marks=pytest.mark.slow), "f64"])
def test_softcap(element: str) -> None:
    given = arguments(element, (2, 1), (4, 4))
    found = compile(text_of(element, (2, 1), (4, 4), 'scale = 1.0, keys = "causal", softcap = 1.5'))(*given)
    assert_near(found, given, element, "causal", 1.0, 1.5)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("keys", ["all", "causal_end", "window<7, 3>"])
@pytest.mark.parametrize("element", DTYPES)
def test_scores(element: str, keys: str) -> None:
    given = arguments(element, (4, 2), (16, 3))
    text = scored(text_of(element, (4, 2), (16, 3), f'scale = 0.25, keys = "{keys}"'))
    assert_near(compile(text)(TABLE, *given), given, element, keys, 0.25, score=made)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("element", ["f32", "bf16"])
def test_scores_of_few_queries(element: str) -> None:
    given = arguments(element, (4, 2), (23, 57), np.array([1, 6, 1, 0, 2]), np.array([200, 129, 64, 9, 0]))
    text = scored(text_of(element, (4, 2), (23, 57), 'scale = 0.25, keys = "window_end<99, 3>"'))
    assert_near(compile(text)(TABLE, *given), given, element, "window_end<99, 3>", 0.25, score=made)


@pytest.mark.parametrize("element", ["f32", pytest.param("f16", marks=pytest.mark.slow)])
def test_scores_decomposed(element: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipelines, "HEAD_DIMS", 0)
    given = arguments(element, (4, 2), (16, 6))  # dims of no other test: programs are kept by their text
    text = scored(text_of(element, (4, 2), (16, 6), 'scale = 0.25, keys = "causal"'))
    assert_near(compile(text)(TABLE, *given), given, element, "causal", 0.25, score=made)


def test_meaning_of_scores() -> None:
    given = arguments("f32", (2, 1), (2, 3))
    found = run(scored(text_of("f32", (2, 1), (2, 3), 'scale = 0.25, keys = "causal_end"')), "f", [TABLE, *given])
    assert_near(found, given, "f32", "causal_end", 0.25, score=made)


def test_scores_that_read_beyond_a_table() -> None:
    given = arguments("f32", (2, 1), (2, 3))
    text = scored(text_of("f32", (2, 1), (2, 3), "scale = 0.25")).replace("4x210x210", "?x?x?")
    with pytest.raises(rg.RangeError, match=r"tensor\.extract: level 1: expected index in \[0, 60\), got 69"):
        compile(text)(TABLE[:, :60], *given)
    found = compile(text)(TABLE[:, :70, :66].copy(), *given)
    assert_near(found, given, "f32", "all", 0.25, score=made)


BETWEEN_GUARDS = """
import numpy as np
from support.allocators import install_guards
from support.attention import arguments, text_of
from support.attention_scores import scored
from ragged_dialect import compile

place = install_guards(SIDE).placed
for element in ("f32", "f64", "bf16"):
    given = arguments(element, (2, 1), (5, 3), np.array([5, 0, 17]), np.array([6, 3, 9]))
    table = np.zeros((2, 17, 9), np.float32)
    text = scored(text_of(element, (2, 1), (5, 3), "scale = 0.5")).replace("4x210x210", "2x17x9")
    compile(text, check=False)(place(table), *map(place, given))
"""


@pytest.mark.sampled(2)
@pytest.mark.parametrize("side", ["before", "after"])
def test_scores_read_nothing_beyond_a_table(side: str) -> None:
    """Not for lanes without a query either, nor for places without a key."""
    script = BETWEEN_GUARDS.replace("SIDE", repr(side))
    done = subprocess.run([sys.executable, "-c", script], env=worker_environment(), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("level", levels("SSE2", "no AVX-512"))
def test_processors(level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mask(level, monkeypatch)
    for element in ("f32", "bf16", "f16"):
        given = arguments(element, (2, 1), (5, 8))
        found = compile(text_of(element, (2, 1), (5, 8), 'scale = 0.5, keys = "window<9, 2>"'))(*given)
        assert_near(found, given, element, "window<9, 2>", 0.5)
    given = arguments("f32", (2, 1), (5, 8))
    found = compile(scored(text_of("f32", (2, 1), (5, 8), 'scale = 0.5, keys = "causal"')))(TABLE, *given)
    assert_near(found, given, "f32", "causal", 0.5, score=made)


@pytest.mark.sampled(14)
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
    results = []
    for threads in (1, 3):
        monkeypatch.setenv("RAGGED_NUM_THREADS", str(threads))
        (o, _), (lse, _) = compile(text_of("f32", (4, 4), (16, 16), 'scale = 0.25, keys = "causal"'))(*given)
        results.append((o.tobytes(), lse.tobytes()))
    assert results[0] == results[1]


def test_no_scores_are_stored() -> None:
    """What is allocated has the size of the results."""
    own = context()
    with own:
        module = load_module(text_of("f32", (2, 2), (16, 16), "scale = 0.25"), own)
        for stage in pipelines.cpu_pipeline():
            if stage.name == "llvm":
                break
            stage.run(module)
        text = str(module)
    floats = set(re.findall(r"memref\.alloc\(.*: (memref<.*f32>)", text))
    assert floats == {"memref<?x2x16xf32>", "memref<?x2xf32>"}
    assert "linalg." not in text


@pytest.mark.sampled(2)
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


@pytest.mark.sampled(3)
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
