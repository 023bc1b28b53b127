"""Where intermediate results of GPU programs live, and work that is cut in two: seen in the IR, and
right on the emulator."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from support.schedules import lowered
from support.structures import offsets_of

from ragged_dialect import compile
from ragged_dialect.passes.pipeline.running import PassFailed

LAYOUT = '#ragged.layout<"dr|d">'
TYPE = f"tensor<?x?x8xf32, {LAYOUT}>"
SOFTMAX = f"""
func.func @f(%x: {TYPE}) -> {TYPE} {{
  %e = ragged.empty %x : ({TYPE}) -> {TYPE}
  %y = linalg.softmax dimension(1) ins(%x : {TYPE}) outs(%e : {TYPE}) -> {TYPE}
  return %y : {TYPE}
}}
"""
LENGTHS = f"""
func.func @f(%v: tensor<?x8xf32>, %n: tensor<?xi64>) -> {TYPE} {{
  %x = ragged.partition %v, %n {{dim = 0, lengths}} : (tensor<?x8xf32>, tensor<?xi64>) -> {TYPE}
  return %x : {TYPE}
}}
"""
TOTALS = f"""
func.func @f(%x: {TYPE}, %all: tensor<f32>, %columns: tensor<8xf32>) -> (tensor<f32>, tensor<8xf32>) {{
  %0 = linalg.reduce {{ arith.addf }} ins(%x : {TYPE}) outs(%all : tensor<f32>) dimensions = [0, 1, 2]
  %1 = linalg.reduce {{ arith.maximumf }} ins(%x : {TYPE}) outs(%columns : tensor<8xf32>) dimensions = [0, 1]
  return %0, %1 : tensor<f32>, tensor<8xf32>
}}
"""
CHAIN = """
func.func @f(%x: tensor<?x8xf32>, %w: tensor<8xf32>) -> tensor<?x8xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x8xf32>
  %e = tensor.empty(%n) : tensor<?xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %s = linalg.reduce { arith.addf } ins(%x : tensor<?x8xf32>) outs(%f : tensor<?xf32>) dimensions = [1]
  %o = tensor.empty(%n) : tensor<?x8xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>,
      affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x, %s, %w : tensor<?x8xf32>, tensor<?xf32>, tensor<8xf32>) outs(%o : tensor<?x8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %_: f32):
    %d = arith.subf %a, %b : f32
    %r = arith.mulf %d, %c : f32
    linalg.yield %r : f32
  } -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}
"""


def _values(rows: int) -> Any:
    return np.random.default_rng(rows).integers(-50, 50, (rows, 8)).astype(np.float32)


class TestSoftmax:
    """Maxima and sums in shared memory, exponentials in the result."""

    def test_only_the_result_is_allocated(self) -> None:
        """Beside the gates, and what the balanced pieces need where they run."""
        host, *_ = lowered(SOFTMAX).split("gpu.module")[0].split("scf.if")
        assert host.count("memref.alloc(") == 1 + host.count("ragged.gate")
        assert host.count("ragged.gate") == 2

    @pytest.mark.sampled(2)
    @pytest.mark.parametrize("lengths", [[], [0, 0], [1], [300, 0, 2, 65]])
    def test_values(self, lengths: list[int]) -> None:
        offsets = offsets_of(lengths)
        x = _values(int(offsets[-1])) / 50 + 1000  # overflows where the maximum is not taken off
        got, _ = compile(SOFTMAX, target="emulator")((x, offsets))
        for low, high in pairwise(offsets):
            power = np.exp(x[low:high].astype(np.float64) - x[low:high].max(0, initial=-np.inf))
            np.testing.assert_allclose(got[low:high], power / power.sum(0), rtol=1e-5)


class TestScan:
    """Offsets of lengths, by a whole block at once."""

    @pytest.mark.sampled(4)
    @pytest.mark.parametrize("count", [0, 1, 31, 32, 33, 2047, 2048, 2049, 4500])
    def test_offsets(self, count: int) -> None:
        lengths = np.random.default_rng(count).integers(0, 3, count)
        _, offsets = compile(LENGTHS, target="emulator")(np.zeros((int(lengths.sum()), 8), np.float32), lengths)
        np.testing.assert_array_equal(offsets, offsets_of(lengths.tolist()))

    def test_by_shuffles(self) -> None:
        assert "gpu.shuffle up" in lowered(LENGTHS)


class TestTwoSteps:
    """Reductions of everything: parts by many blocks, then one block."""

    def test_parts(self) -> None:
        text = lowered(TOTALS, "map")
        assert text.count("scf.forall (%") >= 4
        assert "memref<?x8xf32>" in text

    @pytest.mark.sampled(2)
    @pytest.mark.parametrize("lengths", [[], [0], [1], [2049, 0, 4000], [2048]])
    def test_values(self, lengths: list[int]) -> None:
        offsets = offsets_of(lengths)
        x = _values(int(offsets[-1]))
        start = np.full(8, -60, np.float32)
        total, columns = compile(TOTALS, target="emulator")((x, offsets), np.array(7, np.float32), start)
        assert total == 7 + x.sum(dtype=np.float64)
        np.testing.assert_array_equal(columns, np.maximum(start, x.max(0, initial=-np.inf)))


class TestFlatRuns:
    """Neighbouring flat ops whose tiles depend on the same tile are one kernel."""

    def test_one_kernel(self) -> None:
        assert lowered(CHAIN).count("gpu.launch_func") == 1

    @pytest.mark.parametrize("rows", [0, 1, 511, 512, 513])
    def test_values(self, rows: int) -> None:
        x, w = _values(rows), np.arange(8, dtype=np.float32)
        got = compile(CHAIN, target="emulator")(x, w)
        np.testing.assert_array_equal(got, (x - x.sum(1, keepdims=True)) * w)


def test_tables_of_a_thread_have_a_static_size() -> None:
    text = """
    func.func @f(%x: tensor<?xf32>, %n: index) -> tensor<?xf32> {
      %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
          outs(%x : tensor<?xf32>) {
      ^bb0(%a: f32):
        %t = tensor.empty(%n) : tensor<?xf32>
        %i = linalg.index 0 : index
        %u = tensor.insert %a into %t[%n] : tensor<?xf32>
        %v = tensor.extract %u[%i] : tensor<?xf32>
        linalg.yield %v : f32
      } -> tensor<?xf32>
      return %0 : tensor<?xf32>
    }"""
    with pytest.raises(PassFailed, match="expected temporaries of static size in the body of a linalg op, got others"):
        compile(text, "f", target="emulator", check=False)
