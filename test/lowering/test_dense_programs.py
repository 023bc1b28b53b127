"""Programs of dense tensors that use what is legal and seldom: the reference interpreter, the CPU and the emulator
agree."""

from __future__ import annotations

import re

import numpy as np
import pytest
from support.on_targets import TARGETS, called
from support.run_pass import transform

import ragged_dialect as rg
from ragged_dialect.passes.ragged_differentiate import RaggedDifferentiate

# Of dense tensors alone, in control flow: nothing is ragged in the module.
DENSE_SOFTMAX = """
func.func @f(%x: tensor<?x2xf32>, %c: i1) -> tensor<?x2xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x2xf32>
  %e = tensor.empty(%n) : tensor<?x2xf32>
  %r = scf.if %c -> tensor<?x2xf32> {
    %y = linalg.softmax dimension(0) ins(%x : tensor<?x2xf32>) outs(%e : tensor<?x2xf32>) -> tensor<?x2xf32>
    scf.yield %y : tensor<?x2xf32>
  } else {
    scf.yield %x : tensor<?x2xf32>
  }
  return %r : tensor<?x2xf32>
}
"""


@pytest.mark.parametrize("target", TARGETS)
def test_softmax_in_a_branch(target: str) -> None:
    made = called(DENSE_SOFTMAX, "f", [np.zeros((4, 2), np.float32), True], target)[0]
    np.testing.assert_array_equal(made, np.full((4, 2), 0.25))


OUTS = """
#id = affine_map<(i) -> (i)>
#none = affine_map<(i) -> ()>
func.func @f(%x: tensor<?xf32>, %s: tensor<1xf32>, %y: tensor<?xf32>) -> (tensor<1xf32>, tensor<?xf32>) {
  %0 = linalg.generic {indexing_maps = [#id, affine_map<(i) -> (0)>], iterator_types = ["reduction"]}
      ins(%x : tensor<?xf32>) outs(%s : tensor<1xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<1xf32>
  %1 = linalg.map ins(%y : tensor<?xf32>) outs(%y : tensor<?xf32>) (%a: f32, %o: f32) {
    %z = arith.addf %o, %o : f32
    linalg.yield %z : f32
  }
  return %0, %1 : tensor<1xf32>, tensor<?xf32>
}
"""


@pytest.mark.parametrize("target", TARGETS)
def test_outs_that_are_read(target: str) -> None:
    start, y = np.array([7], np.float32), np.array([2, 3, 3], np.float32)
    for x, wanted in (([], 7), ([3, 4], 4)):
        last, twice = called(OUTS, "f", [np.array(x, np.float32), start, y], target)
        assert (last.tolist(), twice.tolist()) == ([wanted], [4, 6, 6])


CUBES = """
func.func @f(%x: tensor<?xf64>) -> tensor<?xf64> {
  %one = arith.constant 1.0 : f64
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %y = linalg.map ins(%x : tensor<?xf64>) outs(%x : tensor<?xf64>) (%a: f64, %o: f64) {
    %p = scf.for %k = %c0 to %c3 step %c1 iter_args(%s = %one) -> f64 {
      %q = arith.mulf %s, %a : f64
      scf.yield %q : f64
    }
    linalg.yield %p : f64
  }
  return %y : tensor<?xf64>
}
"""


@pytest.mark.parametrize("target", TARGETS)
def test_derivative_of_a_loop_in_a_body(target: str) -> None:
    x = np.array([1.0, 2.0, -3.0])
    for mode in ("vjp", "jvp"):
        source = str(transform(CUBES, RaggedDifferentiate(mode=mode)))
        np.testing.assert_allclose(called(source, f"f_{mode}", [x, np.ones(3)], target)[-1], 3 * x**2)


TABLES_THAT_ARE_FILLED = """
func.func @f(%x: tensor<?xindex>) -> (tensor<?xindex>, tensor<?xindex>) {
  %three = arith.constant 3 : index
  %c = arith.constant dense<[5, 7, 9, 11]> : tensor<4xindex>
  %s = linalg.map ins(%x : tensor<?xindex>) outs(%x : tensor<?xindex>) (%a: index, %o: index) {
    %t = tensor.splat %a : tensor<4xindex>
    %place = arith.andi %a, %three : index
    %y = tensor.extract %t[%place] : tensor<4xindex>
    linalg.yield %y : index
  }
  %i = linalg.map ins(%x : tensor<?xindex>) outs(%x : tensor<?xindex>) (%a: index, %o: index) {
    %place = arith.andi %a, %three : index
    %t = tensor.insert %a into %c[%place] : tensor<4xindex>
    %other = arith.xori %place, %three : index
    %y = tensor.extract %t[%other] : tensor<4xindex>
    %z = tensor.extract %t[%place] : tensor<4xindex>
    %sum = arith.addi %y, %z : index
    linalg.yield %sum : index
  }
  return %s, %i : tensor<?xindex>, tensor<?xindex>
}
"""


SUMMED = """
func.func @f(%x: tensor<?xindex>) -> tensor<?xindex> {
  %c1 = arith.constant 1 : index
  %r = linalg.map ins(%x : tensor<?xindex>) outs(%x : tensor<?xindex>) (%a: index, %o: index) {
    %g = tensor.from_elements %a, %c1, %a : tensor<3xindex>
    %e = tensor.from_elements %a : tensor<index>
    %t = linalg.generic
        {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
        ins(%g : tensor<3xindex>) outs(%e : tensor<index>) {
    ^bb0(%q: index, %s: index):
      %z = arith.addi %q, %s : index
      linalg.yield %z : index
    } -> tensor<index>
    %v = tensor.extract %t[] : tensor<index>
    linalg.yield %v : index
  }
  return %r : tensor<?xindex>
}
"""


@pytest.mark.parametrize("target", [*TARGETS, "ptx-emulator"])
def test_tables_that_are_summed(target: str) -> None:
    x = np.arange(99)
    np.testing.assert_array_equal(called(SUMMED, "f", [x], target)[0], 3 * x + 1)


@pytest.mark.parametrize("target", [*TARGETS, "ptx-emulator"])
def test_tables_that_are_filled(target: str) -> None:
    x = np.arange(400)
    same, made = called(TABLES_THAT_ARE_FILLED, "f", [x], target)
    np.testing.assert_array_equal(same, x)
    np.testing.assert_array_equal(made, x + np.array([5, 7, 9, 11])[3 - x % 4])


NO_LLVM = """func.func @f(%x: tensor<8x8xf32>) -> tensor<4x4x2x2xf32> {
  %e = tensor.empty() : tensor<4x4x2x2xf32>
  %p = linalg.pack %x inner_dims_pos = [0, 1] inner_tiles = [2, 2] into %e : tensor<8x8xf32> -> tensor<4x4x2x2xf32>
  return %p : tensor<4x4x2x2xf32>
}"""


@pytest.mark.parametrize(
    ("target", "text"),
    [
        ("cpu", ":3:8: error: expected registered ops of the llvm dialect only, got 'linalg.pack'"),
        ("emulator", ":3:8: error: expected ops that the host can run, got 'linalg.pack'"),
    ],
)
def test_ops_that_no_lowering_knows_are_named_where_they_are(target: str, text: str) -> None:
    with pytest.raises(rg.RaggedError, match=re.escape(text)):
        rg.compile(NO_LLVM, "f", target=target)


GROWING = """
func.func @f(%n: index) -> tensor<?xindex> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %e = tensor.empty(%c1) : tensor<?xindex>
  %start = linalg.fill ins(%n : index) outs(%e : tensor<?xindex>) -> tensor<?xindex>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %start) -> (tensor<?xindex>) {
    %l = tensor.dim %a, %c0 : tensor<?xindex>
    %longer = arith.addi %l, %c1 : index
    %o = tensor.empty(%longer) : tensor<?xindex>
    %f = linalg.fill ins(%l : index) outs(%o : tensor<?xindex>) -> tensor<?xindex>
    scf.yield %f : tensor<?xindex>
  }
  return %r : tensor<?xindex>
}
"""


@pytest.mark.parametrize("target", TARGETS)
def test_a_loop_yields_more_than_it_starts_with(target: str) -> None:
    """Its start has one element, as a constant says: what it yields is not cut to that."""
    for count, wanted in ((0, [0]), (1, [1, 1]), (3, [3, 3, 3, 3])):
        assert called(GROWING, "f", [count], target)[0].tolist() == wanted
