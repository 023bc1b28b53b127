"""Bodies of linalg ops that use what is legal and seldom: memory that they write, integers of odd widths."""

from __future__ import annotations

import numpy as np
import pytest

import ragged_dialect as rg

WRITTEN_BY_A_BODY = """
#id = affine_map<(i) -> (i)>
func.func @f(%x: tensor<?xf32>, %n: index) -> (tensor<?xf32>, f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = memref.alloc(%n) : memref<?xf32>
  %e = tensor.empty(%n) : tensor<?xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<?xf32>) outs(%e : tensor<?xf32>) {
  ^bb0(%a: f32, %o: f32):
    %i = linalg.index 0 : index
    memref.store %a, %m[%i] : memref<?xf32>
    linalg.yield %a : f32
  } -> tensor<?xf32>
  %first = memref.load %m[%c0] : memref<?xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%0 : tensor<?xf32>) outs(%e : tensor<?xf32>) {
  ^bb0(%a: f32, %o: f32):
    %i = linalg.index 0 : index
    %j = arith.subi %n, %i : index
    %k = arith.subi %j, %c1 : index
    %v = memref.load %m[%k] : memref<?xf32>
    %b = arith.addf %a, %v : f32
    linalg.yield %b : f32
  } -> tensor<?xf32>
  return %1, %first : tensor<?xf32>, f32
}
"""


@pytest.mark.parametrize(("target", "count"), [("cpu", 100_000), ("emulator", 3_000)])
def test_memory_that_a_body_writes(target: str, count: int) -> None:
    x = np.arange(1, count + 1, dtype=np.float32)
    sums, first = rg.compile(WRITTEN_BY_A_BODY, "f", target=target)(x, count)
    np.testing.assert_array_equal(sums, np.full(count, count + 1))
    assert first == 1


@pytest.mark.parametrize("target", ["cpu", "emulator", "ptx-emulator"])
def test_shifts_of_integers_of_odd_widths(target: str) -> None:
    text = """
    #id = affine_map<(i) -> (i)>
    func.func @f(%x: tensor<?xi64>, %y: tensor<?xi64>) -> tensor<?xi64> {
      %0 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
          ins(%x, %y : tensor<?xi64>, tensor<?xi64>) outs(%x : tensor<?xi64>) {
      ^bb0(%a: i64, %b: i64, %o: i64):
        %p = arith.trunci %a : i64 to i24
        %q = arith.trunci %b : i64 to i24
        %s = arith.shli %p, %q : i24
        %r = arith.extui %s : i24 to i64
        linalg.yield %r : i64
      } -> tensor<?xi64>
      return %0 : tensor<?xi64>
    }
    """
    amounts = np.arange(24)
    found = rg.compile(text, "f", target=target)(np.full(24, 5), amounts)
    np.testing.assert_array_equal(found, (5 << amounts) % 2**24)
