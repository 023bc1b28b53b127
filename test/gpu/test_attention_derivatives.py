"""The derivatives of attention on tensor cores: what fits them, and their results for components of all shapes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.attention_derivatives import VISIBLE, arguments, assert_near, operands, text_of
from support.attention_scores import TABLE, made, scored
from support.schedules import schedules_of
from support.targets import compile_for, on_host, ptx_target

import ragged_dialect as rg
from ragged_dialect.asm.module import load_module
from ragged_dialect.dialect import context
from ragged_dialect.lowering.gpu.nvvm.translate import kernels_to_llvm
from ragged_dialect.lowering.pipelines import gpu_pipeline
from ragged_dialect.ptx import emit
from ragged_dialect.ptx.assembler import check

GPU = ptx_target()
SHORT = ("f16", "bf16", "f32")
OPS = ("attention_vjp_q", "attention_vjp_kv")


def assert_derived(
    op: str, element: str, heads: tuple[int, int], dims: tuple[int, int], keys: str, cap: float | None, target: str
) -> None:
    given, expected = arguments(element, heads, dims, keys, cap)
    found = compile_for(target)(text_of(op, element, heads, dims, keys, cap))(*operands(op, given))
    assert_near(op, found, expected, element)


@pytest.mark.sampled(96)
@pytest.mark.parametrize("target", ["emulator", GPU])
@pytest.mark.parametrize("keys", VISIBLE)
@pytest.mark.parametrize("element", SHORT)
@pytest.mark.parametrize("op", OPS)
def test_keys(op: str, element: str, keys: str, target: str) -> None:
    assert_derived(op, element, (4, 2), (32, 16), keys, None, target)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("target", ["emulator", pytest.param(GPU, marks=pytest.mark.slow)])
@pytest.mark.parametrize("element", ["f16", pytest.param("f32", marks=pytest.mark.slow)])
@pytest.mark.parametrize("op", OPS)
def test_softcap(op: str, element: str, target: str) -> None:
    assert_derived(op, element, (3, 1), (16, 32), "causal", 1.5, target)


@pytest.mark.sampled(16)
@pytest.mark.parametrize("target", ["emulator", GPU])
@pytest.mark.parametrize("element", SHORT)
@pytest.mark.parametrize("op", OPS)
def test_scores(op: str, element: str, target: str) -> None:
    given, expected = arguments(element, (4, 2), (32, 16), "causal_end", None, made)
    text = scored(text_of(op, element, (4, 2), (32, 16), "causal_end", None))
    assert "contract" in schedules_of(text)
    assert_near(op, compile_for(target)(text)(TABLE, *operands(op, given)), expected, element)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("target", ["emulator", GPU])
@pytest.mark.parametrize(("element", "dims"), [("bf16", (128, 128)), ("f16", (96, 64)), ("f32", (64, 48))])
@pytest.mark.parametrize("op", OPS)
def test_head_dims(op: str, element: str, dims: tuple[int, int], target: str) -> None:
    assert_derived(op, element, (2, 2), dims, "causal_end", None, target)


@pytest.mark.slow
@pytest.mark.parametrize("target", ["emulator", GPU])
def test_one_component_that_is_known(target: str) -> None:
    """The loop over components stays."""
    x = rg.from_lengths(np.random.default_rng(0).standard_normal((9, 2, 16)).astype(np.float16), [4, 0, 5])

    def loss(x: Any) -> Any:
        return (rg.attention(x[[0]], x[[0]], x[[0]]).astype("float32") ** 2.0).sum()

    found, wanted = (rg.jit(rg.grad(loss), target=one)(x) for one in (target, "cpu"))
    np.testing.assert_allclose(on_host(found.values).astype(float), wanted.values.astype(float), atol=8e-3)


def test_cotangents_of_scores_that_f16_does_not_hold() -> None:
    """Where the result fits."""
    rng, offsets, (dim, scale) = np.random.default_rng(0), np.array([0, 4]), (64, 1 / 64)
    q = rng.standard_normal((4, 1, dim))
    k, v, up = (
        q * 0 + 0.02 * rng.standard_normal(q.shape),
        100 * rng.standard_normal(q.shape),
        1000 * rng.standard_normal(q.shape),
    )
    scores = q[:, 0] @ k[:, 0].T * scale
    lse = np.log(np.exp(scores).sum(1))
    weights, products = np.exp(scores - lse[:, None]), up[:, 0] @ v[:, 0].T
    delta = (weights * products).sum(1)
    assert np.abs(weights * (products - delta[:, None])).max() > 65504
    half = [x.astype(np.float16) for x in (q, k, v)]
    sums = [x[:, None].astype(np.float32) for x in (lse, delta)]
    given = [(x, offsets) for x in (*half, sums[0], up.astype(np.float16), sums[1])]
    text = text_of(OPS[0], "f16", (1, 1), (dim, dim), "all", None).replace("scale = 0.25", f"scale = {scale}")
    found, wanted = (compile_for(target)(text)(*given)[0].astype(float) for target in ("emulator", "cpu"))
    np.testing.assert_allclose(found, wanted, atol=3e-3 * np.abs(wanted).max())


@pytest.mark.slow
@pytest.mark.parametrize("scale", ["1.0e-46", "1.0e-100", "-1.0e-46", "0.0"])
def test_scales_that_are_no_normal_numbers(scale: str) -> None:
    given, _ = arguments("f16", (2, 1), (16, 16), "causal", None)
    for op in OPS:
        text = text_of(op, "f16", (2, 1), (16, 16), "causal", None).replace("scale = 0.25", f"scale = {scale}")
        found, wanted = (compile_for(target)(text)(*operands(op, given)) for target in ("emulator", "cpu"))
        pairs = zip(found, wanted, strict=True) if op == OPS[1] else [(found, wanted)]
        for (own, _), (expected, _) in pairs:
            np.testing.assert_allclose(own.astype(float), expected.astype(float), atol=2e-2)


def test_what_fits() -> None:
    def schedules(op: str, element: str, dims: tuple[int, int]) -> list[str]:
        return schedules_of(text_of(op, element, (2, 2), dims, "all", None))

    for element in SHORT:
        assert schedules(OPS[0], element, (32, 32)) == ["contract"]
        assert schedules(OPS[1], element, (32, 32)) == ["contract"]
    for op in OPS:
        for element, dims in (("f64", (32, 32)), ("f16", (24, 16)), ("f32", (80, 16))):
            assert "contract" not in schedules(op, element, dims)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("op", "dim", "results", "kernels"),
    [(OPS[0], 32, 1, 1), (OPS[1], 32, 2, 1), (OPS[1], 128, 2, 2)],  # keys and values apart, where registers are few
)
def test_nothing_else_is_launched_or_kept_in_memory(op: str, dim: int, results: int, kernels: int) -> None:
    module = load_module(text_of(op, "f16", (4, 2), (dim, dim), "causal", None), context(), "p")
    for stage in gpu_pipeline(check=False):
        stage.run(module)
    text = str(module)
    assert text.count("gpu.launch_func") == kernels
    assert text.count("memref.alloc(") == results
    assert "ragged_attention" not in text


@pytest.mark.ptx
@pytest.mark.sampled(216)
@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_100"])
@pytest.mark.parametrize("cap", [None, 30.0, "scored"])
@pytest.mark.parametrize(("element", "dim"), [
    ("f16", 16), ("f16", 32), ("f16", 64), ("f16", 80), ("f16", 128), ("bf16", 48), ("bf16", 64), ("bf16", 128),
    ("f32", 16), ("f32", 32), ("f32", 64),
])  # fmt: skip
@pytest.mark.parametrize("op", OPS)
def test_nothing_is_spilled(op: str, element: str, dim: int, cap: float | str | None, arch: str) -> None:
    text = text_of(op, element, (4, 2), (dim, dim), "causal", None if isinstance(cap, str) else cap)
    module: Any = load_module(scored(text) if isinstance(cap, str) else text, context(), "p")
    for stage in gpu_pipeline():
        stage.run(module)
    reports = check(emit(kernels_to_llvm(module), arch), arch)
    assert [(report.spill_stores, report.spill_loads) for report in reports] == [(0, 0)] * len(reports)
