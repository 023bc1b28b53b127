"""Options of the passes that make kernels: what they refuse, and that results do not depend on them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.run_pass import transform
from support.targets import compile_for

from ragged_dialect.errors import PassError
from ragged_dialect.lowering import pipelines
from ragged_dialect.lowering.stage import Stage
from ragged_dialect.reference import run

EMPTY = "func.func @f() { return }"
REFUSED = [
    ("tile-flat-ops{tile=0}", "expected a tile of at least 1 element, got 0"),
    ("split-long-reductions{tile=0}", "expected a tile of at least 1 element, got 0"),
    ("split-long-folds{tile=0}", "expected long of at least 0 and a tile of at least 1, got 16384 and 0"),
    ("version-ragged-components{long=0}", "expected long of at least 1 byte, got 0"),
    ("convert-forall-to-gpu{threads=96}", "expected threads of 32, 64, 128, 256, 512 or 1024, got 96"),
    ("convert-forall-to-gpu{unroll=3}", "expected unroll of 1, 2, 4 or 8, got 3"),
]


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_refused(text: str, message: str) -> None:
    module = transform(EMPTY)
    with module.context, pytest.raises(PassError, match=message):
        Stage("one", text).run(module)


DEAD_CHECK = """
func.func private @g(%x: tensor<?xf32>, %flag: i1, %k: index) -> tensor<?xf32> {
  %y = scf.if %flag -> (tensor<?xf32>) {
    %c0 = arith.constant 0 : index
    %n = tensor.dim %x, %c0 : tensor<?xf32>
    %ok = arith.cmpi slt, %k, %n : index
    cf.assert %ok, "too large"
    %z = arith.addf %x, %x : tensor<?xf32>
    scf.yield %z : tensor<?xf32>
  } else {
    scf.yield %x : tensor<?xf32>
  }
  return %y : tensor<?xf32>
}
func.func @f(%x: tensor<?xf32>, %k: index) -> tensor<?xf32> {
  %flag = arith.constant false
  %y = func.call @g(%x, %flag, %k) : (tensor<?xf32>, i1, index) -> tensor<?xf32>
  %z = arith.mulf %y, %y : tensor<?xf32>
  return %z : tensor<?xf32>
}"""


def test_a_check_that_is_dead_once_inlined_leaves_the_arguments_as_they_are() -> None:
    x = np.arange(4, dtype=np.float32)
    np.testing.assert_array_equal(compile_for("emulator")(DEAD_CHECK)(x, 9), x * x)


X, B = 'tensor<?x?x6xf32, #ragged.layout<"dr|d">>', "tensor<?x6xf32>"
PROGRAM = f"""
func.func @f(%x: {X}, %b: {B}) -> ({X}, {B}, tensor<f32>) {{
  %y = arith.mulf %x, %x : {X}
  %s = linalg.reduce {{ arith.addf }} ins(%y : {X}) outs(%b : {B}) dimensions = [1]
  %z = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<f32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %t = linalg.reduce {{ arith.maximumf }} ins(%y : {X}) outs(%i : tensor<f32>) dimensions = [0, 1, 2]
  return %y, %s, %t : {X}, {B}, tensor<f32>
}}"""
OPTIONS = [
    *((f"threads={threads}", "auto", 64) for threads in (32, 64, 128, 512, 1024)),
    *((f"unroll={unroll}", "auto", 64) for unroll in (1, 2, 8)),
    *(("", schedule, tile) for schedule in ("general", "segment", "balanced") for tile in (1, 4096)),
]


@pytest.mark.sampled(16)
@pytest.mark.parametrize(("convert", "schedule", "tile"), OPTIONS)
def test_results_do_not_depend_on_options(
    convert: str, schedule: str, tile: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {
        "convert-forall-to-gpu": convert,
        "tile-flat-ops": f"tile={tile}",
        "split-long-reductions": f"tile={tile}",
    }
    stages = pipelines.gpu_pipeline(schedule=schedule)
    for name, given in options.items():
        assert sum(name in s.text for s in stages) == 1
        stages = tuple(Stage(s.name, s.text.replace(name, f"{name}{{{given}}}")) for s in stages)
    monkeypatch.setattr(pipelines, "gpu_pipeline", lambda *_: stages)
    rng = np.random.default_rng(5)
    offsets = np.array([0, 0, 3, 100, 101, 400])
    arguments: list[Any] = [(rng.integers(-9, 9, (400, 6)).astype(np.float32), offsets), np.ones((5, 6), np.float32)]
    (values, starts), sums, top = compile_for("emulator")(PROGRAM)(*arguments)
    (expected, _), expected_sums, expected_top = run(PROGRAM, "f", arguments)
    np.testing.assert_array_equal(values, expected)
    np.testing.assert_array_equal(starts, offsets)
    np.testing.assert_array_equal(sums, expected_sums)
    np.testing.assert_array_equal(top, expected_top)
