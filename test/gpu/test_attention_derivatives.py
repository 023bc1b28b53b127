"""The derivatives of attention on tensor cores: what fits them, and their results for components of all shapes."""

from __future__ import annotations

from typing import Any

import pytest
from support.attention_derivatives import VISIBLE, arguments, assert_near, operands, text_of
from support.schedules import schedules_of
from support.targets import compile_for, ptx_target

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


@pytest.mark.sampled(6)
@pytest.mark.parametrize("target", ["emulator", GPU])
@pytest.mark.parametrize("keys", VISIBLE)
@pytest.mark.parametrize("element", SHORT)
@pytest.mark.parametrize("op", OPS)
def test_keys(op: str, element: str, keys: str, target: str) -> None:
    assert_derived(op, element, (4, 2), (32, 16), keys, None, target)


@pytest.mark.parametrize("target", ["emulator", pytest.param(GPU, marks=pytest.mark.slow)])
@pytest.mark.parametrize("element", ["f16", pytest.param("f32", marks=pytest.mark.slow)])
@pytest.mark.parametrize("op", OPS)
def test_softcap(op: str, element: str, target: str) -> None:
    assert_derived(op, element, (3, 1), (16, 32), "causal", 1.5, target)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("target", ["emulator", GPU])
@pytest.mark.parametrize(("element", "dims"), [("bf16", (128, 128)), ("f16", (96, 64)), ("f32", (64, 48))])
@pytest.mark.parametrize("op", OPS)
def test_head_dims(op: str, element: str, dims: tuple[int, int], target: str) -> None:
    assert_derived(op, element, (2, 2), dims, "causal_end", None, target)


def test_what_fits() -> None:
    def schedules(op: str, element: str, dims: tuple[int, int]) -> list[str]:
        return schedules_of(text_of(op, element, (2, 2), dims, "all", None))

    for element in SHORT:
        assert schedules(OPS[0], element, (32, 32)) == ["contract"]
        assert schedules(OPS[1], element, (32, 32)) == ["contract"]
    for op in OPS:
        for element, dims in (("f64", (32, 32)), ("f16", (24, 16)), ("f32", (80, 16))):
            assert "contract" not in schedules(op, element, dims)


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
@pytest.mark.sampled(6)
@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_100"])
@pytest.mark.parametrize("cap", [None, 30.0])
@pytest.mark.parametrize(("element", "dim"), [
    ("f16", 16), ("f16", 32), ("f16", 64), ("f16", 80), ("f16", 128), ("bf16", 48), ("bf16", 64), ("bf16", 128),
    ("f32", 16), ("f32", 32), ("f32", 64),
])  # fmt: skip
@pytest.mark.parametrize("op", OPS)
def test_nothing_is_spilled(op: str, element: str, dim: int, cap: float | None, arch: str) -> None:
    module: Any = load_module(text_of(op, element, (4, 2), (dim, dim), "causal", cap), context(), "p")
    for stage in gpu_pipeline():
        stage.run(module)
    reports = check(emit(kernels_to_llvm(module), arch), arch)
    assert [(report.spill_stores, report.spill_loads) for report in reports] == [(0, 0)] * len(reports)
