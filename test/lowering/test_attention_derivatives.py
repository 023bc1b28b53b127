"""The derivatives of `ragged.attention`, by kernels and by what they decompose to, against loops in float64."""

from __future__ import annotations

import re

import numpy as np
import pytest
from support.attention_derivatives import DTYPES, LIKE, OPS, VISIBLE, arguments, assert_near, operands, text_of
from support.attention_scores import TABLE, made, scored
from support.cpu_features import levels, mask

from ragged_dialect import compile
from ragged_dialect.asm.module import load_module
from ragged_dialect.dialect import context
from ragged_dialect.lowering import pipelines
from ragged_dialect.reference.interpreter import run


def check(
    op: str, element: str, heads: tuple[int, int], dims: tuple[int, int], keys: str, cap: float | None = None
) -> None:
    """A compiled op against loops."""
    given, expected = arguments(element, heads, dims, keys, cap)
    assert_near(op, compile(text_of(op, element, heads, dims, keys, cap))(*operands(op, given)), expected, element)


LOOSE = [(op, name) for op, (takes, gives) in OPS.items() for name in takes + gives]


@pytest.mark.sampled(36)
@pytest.mark.parametrize(("op", "loose"), LOOSE)
def test_extents_of_one_are_those_of_all(op: str, loose: str) -> None:
    """What calls alone know of an operand or result is static in the others."""
    given, expected = arguments("f32", (4, 4), (16, 3), "causal", None)
    text = text_of(op, "f32", (4, 4), (16, 3), "causal", None, loose)
    assert_near(op, compile(text)(*operands(op, given)), expected, "f32")


@pytest.mark.sampled(84)
@pytest.mark.parametrize("keys", VISIBLE)
@pytest.mark.parametrize("element", DTYPES)
@pytest.mark.parametrize("op", OPS)
def test_keys(op: str, element: str, keys: str) -> None:
    check(op, element, (4, 2), (16, 3), keys)


@pytest.mark.sampled(12)
@pytest.mark.parametrize(
    "dim", [1, pytest.param(3, marks=pytest.mark.slow), pytest.param(64, marks=pytest.mark.slow), 128]
)
@pytest.mark.parametrize("op", ["attention_vjp_q", "attention_vjp_kv"])
def test_head_dims(op: str, dim: int) -> None:
    check(op, "f32", (2, 2), (dim, dim), "causal_end")


@pytest.mark.sampled(6)
@pytest.mark.parametrize("element", ["f32", pytest.param("bf16", marks=pytest.mark.slow), "f64"])
@pytest.mark.parametrize("op", OPS)
def test_softcap(op: str, element: str) -> None:
    check(op, element, (2, 1), (4, 4), "causal", 1.5)


def check_scored(op: str, element: str, dims: tuple[int, int], keys: str, target: str = "cpu") -> None:
    """The same of a score of its own."""
    given, expected = arguments(element, (4, 2), dims, keys, None, made)
    function = compile(scored(text_of(op, element, (4, 2), dims, keys, None)), "f", target)
    assert_near(op, function(TABLE, *operands(op, given)), expected, element)


@pytest.mark.sampled(36)
@pytest.mark.parametrize("keys", ["all", "causal_end", "window<7, 3>"])
@pytest.mark.parametrize("element", DTYPES)
@pytest.mark.parametrize("op", OPS)
def test_scores(op: str, element: str, keys: str) -> None:
    check_scored(op, element, (16, 3), keys)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("op", ["attention_vjp_q", "attention_vjp_kv"])
def test_scores_decomposed(op: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipelines, "HEAD_DIMS", 0)
    check_scored(op, "f32", (16, 7), "causal")  # dims of no other test: programs are kept by their text


@pytest.mark.sampled(3)
@pytest.mark.parametrize("op", OPS)
def test_meaning_of_scores(op: str) -> None:
    given, expected = arguments("f32", (2, 1), (2, 3), "causal", None, made)
    text = scored(text_of(op, "f32", (2, 1), (2, 3), "causal", None))
    found = run(text, "f", [TABLE, *operands(op, given)])
    assert_near(op, found if len(found) > 1 else found[0], expected, "f32")


@pytest.mark.sampled(8)
@pytest.mark.parametrize("level", levels("SSE2", "no AVX-512"))
@pytest.mark.parametrize("op", ["attention_vjp_q", "attention_vjp_kv"])
def test_processors(op: str, level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mask(level, monkeypatch)
    for element in ("f32", "bf16"):
        check(op, element, (2, 1), (5, 8), "window<9, 2>")


@pytest.mark.sampled(14)
@pytest.mark.parametrize("keys", VISIBLE)
@pytest.mark.parametrize("op", ["attention_vjp_q", "attention_vjp_kv"])
def test_decomposed(op: str, keys: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipelines, "HEAD_DIMS", 0)
    check(op, "f32", (4, 2), (16, 5), keys, 3.0)  # dims of no other test: programs are kept by their text


@pytest.mark.sampled(7)
@pytest.mark.parametrize("keys", VISIBLE)
@pytest.mark.parametrize("op", OPS)
def test_meaning(op: str, keys: str) -> None:
    given, expected = arguments("f32", (2, 1), (2, 3), keys, 2.0)
    found = run(text_of(op, "f32", (2, 1), (2, 3), keys, 2.0), "f", operands(op, given))
    assert_near(op, found if len(found) > 1 else found[0], expected, "f32")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("op", ["attention_vjp_q", "attention_vjp_kv"])
def test_on_a_gpu(op: str) -> None:
    """What stands for the ops there runs in the emulator."""
    given, expected = arguments("f32", (2, 1), (2, 3), "causal", None)
    found = compile(text_of(op, "f32", (2, 1), (2, 3), "causal", None), "f", "emulator")(*operands(op, given))
    assert_near(op, found, expected, "f32")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("op", ["attention_vjp_q", "attention_vjp_kv"])
def test_threads_share_a_sequence_and_bits_are_equal(op: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng, offsets = np.random.default_rng(1), np.array([0, 1, 1300, 1300])
    given = [
        (rng.standard_normal((1300, 4) if LIKE[name] == "lse" else (1300, 4, 16)).astype(np.float32), offsets)
        for name in OPS[op][0]
    ]
    results = []
    for threads in (1, 3):
        monkeypatch.setenv("RAGGED_NUM_THREADS", str(threads))
        found = compile(text_of(op, "f32", (4, 4), (16, 16), "causal", None))(*given)
        results.append([values.tobytes() for values, _ in (found if len(OPS[op][1]) > 1 else [found])])
    assert results[0] == results[1]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("op", ["attention_vjp_q", "attention_vjp_kv"])
def test_no_scores_are_stored(op: str) -> None:
    """What is allocated has the size of the results."""
    own = context()
    with own:
        module = load_module(text_of(op, "f32", (4, 2), (16, 16), "causal", None), own)
        for stage in pipelines.cpu_pipeline():
            if stage.name == "llvm":
                break
            stage.run(module)
        text = str(module)
    heads = 4 if op == "attention_vjp_q" else 2
    assert set(re.findall(r"memref\.alloc\(.*: (memref<.*f32>)", text)) == {f"memref<?x{heads}x16xf32>"}
    assert "linalg." not in text


def test_rows_that_see_nothing_have_no_part() -> None:
    """Keys without a query and queries without a key have gradients of zero, and so has what is masked."""
    given, _ = arguments("f32", (2, 2), (16, 16), "window_end<2, 0>", None)
    found = compile(text_of("attention_vjp_kv", "f32", (2, 2), (16, 16), "window_end<2, 0>", None))
    (dk, offsets), (dv, _) = found(*operands("attention_vjp_kv", given))
    assert not dk[offsets[1] : offsets[2]].any()  # four keys of no query
    assert not dv[offsets[1] : offsets[2]].any()
    assert not dk[offsets[5] : offsets[6] - 7].any()  # five queries see the last seven keys of 41
    assert dk[offsets[6] - 7 : offsets[6]].any((1, 2)).all()
