"""Attention on tensor cores: what fits it, and its results for components of all shapes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.attention import DTYPES, VISIBLE, arguments, assert_near, text_of
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


@pytest.mark.sampled(48)
@pytest.mark.parametrize("target", ["emulator", GPU])
@pytest.mark.parametrize("keys", VISIBLE)
@pytest.mark.parametrize("element", SHORT)
def test_keys(element: str, keys: str, target: str) -> None:
    given = arguments(element, (4, 2), (32, 16))
    found = compile_for(target)(text_of(element, (4, 2), (32, 16), f'scale = 0.25, keys = "{keys}"'))(*given)
    assert_near(found, given, element, keys, 0.25)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("target", ["emulator", GPU])
@pytest.mark.parametrize("element", SHORT)
def test_scores(element: str, target: str) -> None:
    given = arguments(element, (4, 2), (32, 16))
    text = scored(text_of(element, (4, 2), (32, 16), 'scale = 0.25, keys = "causal_end"'))
    assert "contract" in schedules_of(text)
    found = compile_for(target)(text)(TABLE, *given)
    assert_near(found, given, element, "causal_end", 0.25, score=made)


def random_program(seed: int) -> tuple[str, list[tuple[Any, Any]], tuple[Any, ...]]:
    """A program, its arguments, and what its results are computed of: an element, keys, a scale and a softcap."""
    rng = np.random.default_rng(seed)
    element = str(rng.choice(SHORT))
    heads = int(rng.integers(1, 4))
    most = 6 if element == "f32" else 8
    dims = tuple(int(16 * rng.integers(1, most + 1)) for _ in range(2))
    left, right = (int(n) for n in rng.choice([-1, 0, 1, 5, 63, 64, 100], 2))
    keys = str(rng.choice([*VISIBLE, f"window<{left}, {right}>", f"window_end<{left}, {right}>"]))
    cap = float(rng.choice([0.0, 1.0, 30.0]))
    few = int(rng.integers(0, 7))
    queries, others = (np.minimum(rng.zipf(float(rng.choice([1.3, 2.0])), few) - 1, 200) for _ in range(2))
    scale = float(rng.choice([1.0, -0.5])) * dims[0] ** -0.5
    attributes = f'scale = {scale}, keys = "{keys}"' + (f", softcap = {cap}" if cap else "")
    own = heads * int(rng.integers(1, 3)), heads
    given = arguments(element, own, dims, queries.astype(int), others.astype(int))
    return text_of(element, own, dims, attributes), given, (element, keys, scale, cap or None)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(60))
def test_random_programs(seed: int) -> None:
    text, given, expected = random_program(seed)
    found = compile_for(GPU if seed % 2 else "emulator")(text)(*given)
    assert_near(found, given, *expected)


def changed(element: str = "f16", dims: tuple[int, int] = (32, 32)) -> str:
    return text_of(element, (2, 2), dims, "scale = 0.5")


def test_what_fits() -> None:
    for element in SHORT:
        assert schedules_of(changed(element)) == ["contract"]
    for refused in (changed("f64"), changed(dims=(8, 16)), changed(dims=(16, 24)), changed("f32", (112, 16))):
        assert "contract" not in schedules_of(refused)
    for schedule in ("general", "balanced", "segment"):
        assert "contract" not in schedules_of(changed(), schedule)
    assert schedules_of(changed(), "contract") == ["contract"]


def test_nothing_else_is_launched_or_kept_in_memory() -> None:
    module = load_module(changed(), context(), "p")
    for stage in gpu_pipeline(check=False):
        stage.run(module)
    text = str(module)
    assert text.count("gpu.launch_func") == 1
    assert text.count("memref.alloc(") == 2
    assert "ragged_attention" not in text


@pytest.mark.sampled(2)
@pytest.mark.parametrize("target", ["emulator", GPU])
@pytest.mark.parametrize("element", ["f16", pytest.param("f32", marks=pytest.mark.slow)])
def test_keys_and_values_in_windows(element: str, target: str) -> None:
    """Those of a cache, of which a part is filled."""
    queries, lengths, rng = np.array([1, 0, 1, 70]), np.array([80, 5, 9, 100]), np.random.default_rng(0)
    q, cache = (rg.from_lengths(rng.standard_normal((n.sum(), 2, 16)).astype(DTYPES[element]), n)
                for n in (queries, lengths))  # fmt: skip
    attend = rg.jit(lambda q, k: rg.attention(q, k[:, 2:-1], k[:, 2:-1]), target=target)
    filled = rg.from_lengths(np.concatenate([np.asarray(part)[2:-1] for part in cache]), lengths - 3)
    found, wanted = attend(q, cache), rg.attention(q, filled, filled)
    np.testing.assert_allclose(on_host(found.values), wanted.values, atol=2e-3 if element == "f16" else 3e-6)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("element", SHORT)
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_no_numbers(value: float, element: str) -> None:
    """They reach the queries that see them, and no others."""
    given = arguments(element, (1, 1), (16, 16))
    given[1][0][given[1][1][2] + 10] = value
    text = text_of(element, (1, 1), (16, 16), 'scale = 0.25, keys = "causal"')
    (o, _), _ = compile_for("emulator")(text)(*given)
    lost = np.isnan(o.astype(np.float64)).any((1, 2))
    first = given[0][1][2]
    assert lost[first + 10 : first + 70].all() if np.isnan(value) else lost[first + 10 : first + 70].any()
    assert not lost[: first + 10].any()
    assert not lost[first + 70 :].any()


@pytest.mark.sampled(4)
@pytest.mark.parametrize("queries", [[], [0], [0, 0], [3]])
def test_little(queries: list[int]) -> None:
    for element in SHORT:
        given = arguments(element, (2, 1), (16, 16), np.array(queries, int), np.zeros(len(queries), int))
        found = compile_for("emulator")(text_of(element, (2, 1), (16, 16), "scale = 1.0"))(*given)
        assert_near(found, given, element, "all", 1.0)


def test_a_sum_may_be_unused() -> None:
    q = rg.from_lengths(np.ones((5, 1, 16), np.float16), [2, 3])
    made = rg.jit(lambda q: rg.attention(q, q, q)).lower(q)
    assert "log" not in str(made.gpu_stages["gpu"])
    assert (np.asarray(rg.jit(lambda q: rg.attention(q, q, q), target="emulator")(q).values) == 1).all()


@pytest.mark.ptx
@pytest.mark.sampled(144)
@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_100"])
@pytest.mark.parametrize("softcap", ["", ", softcap = 30.0", "scored"])
@pytest.mark.parametrize(("element", "dim"), [
    ("f16", 32), ("f16", 48), ("f16", 64), ("f16", 80), ("f16", 128), ("bf16", 48), ("bf16", 64), ("bf16", 128),
    ("f32", 16), ("f32", 32), ("f32", 64), ("f32", 96),
])  # fmt: skip
def test_nothing_is_spilled(element: str, dim: int, softcap: str, arch: str) -> None:
    attributes = 'scale = 0.5, keys = "causal"' + (softcap if softcap != "scored" else "")
    text = text_of(element, (4, 2), (dim, dim), attributes)
    module: Any = load_module(scored(text) if softcap == "scored" else text, context(), "p")
    for stage in gpu_pipeline():
        stage.run(module)
    reports = check(emit(kernels_to_llvm(module), arch), arch)
    assert [(report.spill_stores, report.spill_loads) for report in reports] == [(0, 0)] * len(reports)
