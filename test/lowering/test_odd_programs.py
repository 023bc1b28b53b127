"""Programs that use what is legal and seldom: the reference interpreter, the CPU and the emulator agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.on_targets import TARGETS, called
from support.run_pass import transform

import ragged_dialect as rg
from ragged_dialect.passes.ragged_differentiate import RaggedDifferentiate

I32 = np.int32

# Levels of one axis, of two axes of a like: not the vectors of that.
OF_TWO_AXES = """
!x = tensor<?x?x?x?xi32, #ragged.layout<"dr|dr">>
!y = tensor<?x?x?x?xi32, #ragged.layout<"drdr">>
#id = affine_map<(a, b, c, d) -> (a, b, c, d)>
func.func @f(%x: !x) -> !y {
  %e = ragged.empty %x {from = [[0, 0], [0, 1], [0, 2], [0, 3]]} : (!x) -> !y
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%x : !x) outs(%e : !y) {
  ^bb0(%p: i32, %o: i32):
    linalg.yield %p : i32
  } -> !y
  return %y : !y
}
"""

# A like twice, each with the parents that it has there.
WITH_ITSELF = """
!x = tensor<?x?xi32, #ragged.layout<"dr">>
!y = tensor<?x?x?x?xi32, #ragged.layout<"drdr">>
func.func @f(%x: !x) -> !y {
  %e = ragged.empty %x, %x {from = [[0, 0], [0, 1], [1, 0], [1, 1]]} : (!x, !x) -> !y
  %y = linalg.generic {
      indexing_maps = [affine_map<(a, b, c, d) -> (a, b)>, affine_map<(a, b, c, d) -> (c, d)>,
                       affine_map<(a, b, c, d) -> (a, b, c, d)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%x, %x : !x, !x) outs(%e : !y) {
  ^bb0(%p: i32, %q: i32, %o: i32):
    %m = arith.muli %p, %q : i32
    linalg.yield %m : i32
  } -> !y
  return %y : !y
}
"""

# A level whose own parents are more than those of the one in the place of its last parent: that one is long enough
# for all of them.
BELOW_ANOTHER = """
!x = tensor<?x?x?x?xi32, #ragged.layout<"drrr">>
!b = tensor<?x?xi32, #ragged.layout<"dr">>
func.func @f(%x: !x, %b: !b) -> !x {
  %e = ragged.empty %x, %b {from = [[0, 0], [0, 1], [1, 1], [0, 3]]} : (!x, !b) -> !x
  %c = arith.constant 7 : i32
  %y = linalg.fill ins(%c : i32) outs(%e : !x) -> !x
  return %y : !x
}
"""

# Each element of a result has a table of its own, which is sorted: the median of three numbers.
OF_THEIR_OWN = """
!t = tensor<?x?x3xf32, #ragged.layout<"dr|d">>
!y = tensor<?x?xf32, #ragged.layout<"dr">>
#of = affine_map<(b, i) -> (b, i)>
func.func @f(%x: !t) -> !y {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %e = ragged.empty %x {from = [[0, 0], [0, 1]]} : (!t) -> !y
  %0 = linalg.generic {indexing_maps = [affine_map<(b, i) -> (b, i, 0)>, affine_map<(b, i) -> (b, i, 1)>,
                                        affine_map<(b, i) -> (b, i, 2)>, #of],
                       iterator_types = ["parallel", "parallel"]}
      ins(%x, %x, %x : !t, !t, !t) outs(%e : !y) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %t = tensor.from_elements %a, %b, %c : tensor<3xf32>
    %s = scf.for %k = %c0 to %c2 step %c1 iter_args(%u = %t) -> tensor<3xf32> {
      %r = scf.for %j = %c0 to %c2 step %c1 iter_args(%v = %u) -> tensor<3xf32> {
        %next = arith.addi %j, %c1 : index
        %p = tensor.extract %v[%j] : tensor<3xf32>
        %q = tensor.extract %v[%next] : tensor<3xf32>
        %low = arith.minimumf %p, %q : f32
        %high = arith.maximumf %p, %q : f32
        %first = tensor.insert %low into %v[%j] : tensor<3xf32>
        %both = tensor.insert %high into %first[%next] : tensor<3xf32>
        scf.yield %both : tensor<3xf32>
      }
      scf.yield %r : tensor<3xf32>
    }
    %m = tensor.extract %s[%c1] : tensor<3xf32>
    linalg.yield %m : f32
  } -> !y
  return %0 : !y
}
"""

# A body that reads elements of a component in a branch, and asks for the longest one.
BEFORE = """
!t = tensor<3x?xf32, #ragged.layout<"dr">>
func.func @f(%x: !t) -> !t {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %e = ragged.empty %x : (!t) -> !t
  %0 = linalg.generic {indexing_maps = [affine_map<(b, i) -> (b, i)>], iterator_types = ["parallel", "parallel"]}
      outs(%e : !t) {
  ^bb0(%o: f32):
    %b = linalg.index 0 : index
    %i = linalg.index 1 : index
    %p = arith.cmpi sgt, %i, %c0 : index
    %longest = ragged.max_length %x {level = 1} : (!t) -> index
    %l = arith.index_cast %longest : index to i64
    %z = arith.sitofp %l : i64 to f32
    %q = scf.if %p -> f32 {
      %k = arith.subi %i, %c1 : index
      %v = tensor.extract %x[%b, %k] : !t
      scf.yield %v : f32
    } else {
      scf.yield %z : f32
    }
    linalg.yield %q : f32
  } -> !t
  return %0 : !t
}
"""

# Products of short floats, and of f32, that are added up in f64.
IN_DOUBLE = """
!j = tensor<?x?x5xf64, #ragged.layout<"dr|d">>
func.func @f(%x: tensor<?x4x{e}>, %w: tensor<4x5x{e}>, %at: tensor<?xi64>) -> !j {{
  %c0 = arith.constant 0 : index
  %z = arith.constant 0.0 : f64
  %n = tensor.dim %x, %c0 : tensor<?x4x{e}>
  %e = tensor.empty(%n) : tensor<?x5xf64>
  %i = linalg.fill ins(%z : f64) outs(%e : tensor<?x5xf64>) -> tensor<?x5xf64>
  %y = linalg.generic {{
      indexing_maps = [affine_map<(a, b, c) -> (a, c)>, affine_map<(a, b, c) -> (c, b)>,
                       affine_map<(a, b, c) -> (a, b)>],
      iterator_types = ["parallel", "parallel", "reduction"]}}
      ins(%x, %w : tensor<?x4x{e}>, tensor<4x5x{e}>) outs(%i : tensor<?x5xf64>) {{
  ^bb0(%p: {e}, %q: {e}, %o: f64):
    %a = arith.extf %p : {e} to f64
    %b = arith.extf %q : {e} to f64
    %m = arith.mulf %a, %b : f64
    %s = arith.addf %o, %m : f64
    linalg.yield %s : f64
  }} -> tensor<?x5xf64>
  %j = ragged.partition %y, %at {{dim = 0}} : (tensor<?x5xf64>, tensor<?xi64>) -> !j
  return %j : !j
}}
"""

# One value read twice, with its batch loops in both orders: lengths have to be the same so.
TURNED = """
!x = tensor<?x?x?xi32, #ragged.layout<"ddr">>
func.func @f(%x: !x) -> !x {
  %e = ragged.empty %x {from = [[0, 0], [0, 1], [0, 2]]} : (!x) -> !x
  %y = linalg.generic {
      indexing_maps = [affine_map<(a, b, c) -> (a, b, c)>, affine_map<(a, b, c) -> (b, a, c)>,
                       affine_map<(a, b, c) -> (a, b, c)>],
      iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %x : !x, !x) outs(%e : !x) {
  ^bb0(%p: i32, %q: i32, %o: i32):
    %m = arith.addi %p, %q : i32
    linalg.yield %m : i32
  } -> !x
  return %y : !x
}
"""

# What a loop over tiles leaves is what was there before it.
HOLES = """
!s = tensor<3x2xi32, #ragged.layout<"dt">>
!d = tensor<3x2xi32>
#id = affine_map<(a, b) -> (a, b)>
func.func @f(%x: tensor<5xi32>) -> !d {
  %s = ragged.split %x {dim = 0, factor = 2} : (tensor<5xi32>) -> !s
  %n = tensor.empty() : !d
  %c = arith.constant 7 : i32
  %i = linalg.fill ins(%c : i32) outs(%n : !d) -> !d
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%s : !s) outs(%i : !d) {
  ^bb0(%p: i32, %o: i32):
    linalg.yield %p : i32
  } -> !d
  %z = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%y : !d) outs(%n : !d) {
  ^bb0(%p: i32, %o: i32):
    %m = arith.muli %p, %c : i32
    linalg.yield %m : i32
  } -> !d
  return %z : !d
}
"""
COPIED_BESIDE_TILES = """
!s = tensor<3x2xi32, #ragged.layout<"dt">>
!d = tensor<3x2xi32>
#id = affine_map<(a, b) -> (a, b)>
func.func @f(%x: tensor<5xi32>, %w: !d, %i: !d) -> !d {
  %s = ragged.split %x {dim = 0, factor = 2} : (tensor<5xi32>) -> !s
  %y = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%s, %w : !s, !d) outs(%i : !d) {
  ^bb0(%p: i32, %q: i32, %o: i32):
    linalg.yield %q : i32
  } -> !d
  return %y : !d
}
"""

SCAN_BESIDE_ANOTHER = """
!x = tensor<?x?x?x?xi32, #ragged.layout<"dr|dr">>
func.func @f(%x: !x) -> !x {
  %y = ragged.scan %x {dim = 1, kind = "sum"} : (!x) -> !x
  return %y : !x
}
"""

FROM_ONE_PLACE_TO_OTHERS = """
!x = tensor<?x?xi32, #ragged.layout<"dr">>
!y = tensor<?x?xi32, #ragged.layout<"dw">>
func.func @f(%x: !x, %lo: index, %hi: tensor<?xi64>) -> !y {
  %y = ragged.slice %x, %lo, %hi {dim = 1} : (!x, index, tensor<?xi64>) -> !y
  return %y : !y
}
"""


# A tiled axis whose extent the value knows, and its type does not.
SLICE_BESIDE_TILES = """
!x = tensor<?x?x1x1xi32, #ragged.layout<"dr|dt">>
func.func @f(%v: tensor<?x?x1xi32, #ragged.layout<"dr|d">>) -> !x {
  %c0 = arith.constant 0 : index
  %x = ragged.split %v {dim = 2, factor = 1} : (tensor<?x?x1xi32, #ragged.layout<"dr|d">>) -> !x
  %m = tensor.dim %x, %c0 : !x
  %n = ragged.max_length %x {level = 1} : (!x) -> index
  %y = tensor.extract_slice %x[0, 0, 0, 0] [%m, %n, 1, 1] [1, 1, 1, 1] : !x to !x
  return %y : !x
}
"""

# Loops over pairs before those over the lists that have them.
PAIRS_BEFORE_LISTS = """
!x = tensor<?x?x2x?xi32, #ragged.layout<"drdr">>
#loops = affine_map<(e, b, i, j) -> (b, i, e, j)>
func.func @f(%x: !x) -> !x {
  %e = ragged.empty %x : (!x) -> !x
  %y = linalg.generic {
      indexing_maps = [#loops, #loops], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%x : !x) outs(%e : !x) {
  ^bb0(%p: i32, %o: i32):
    %b = linalg.index 1 : index
    %k = arith.index_cast %b : index to i32
    %m = arith.addi %p, %k : i32
    linalg.yield %m : i32
  } -> !x
  return %y : !x
}
"""

# Rows that are computed, and looked up by the indices of their dims.
LOOKED_UP = """
!x = tensor<?x?x8xi32, #ragged.layout<"dr|d">>
#id = affine_map<(b, i, f) -> (b, i, f)>
func.func @f(%x: !x) -> !x {
  %e = ragged.empty %x : (!x) -> !x
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : !x) outs(%e : !x) {
  ^bb0(%p: i32, %o: i32):
    %m = arith.muli %p, %p : i32
    linalg.yield %m : i32
  } -> !x
  %z = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : !x) outs(%e : !x) {
  ^bb0(%p: i32, %o: i32):
    %b = linalg.index 0 : index
    %i = linalg.index 1 : index
    %f = linalg.index 2 : index
    %q = tensor.extract %y[%b, %i, %f] : !x
    %m = arith.addi %p, %q : i32
    linalg.yield %m : i32
  } -> !x
  return %z : !x
}
"""

NESTS = (np.arange(16, dtype=I32).reshape(2, 8), np.array([0, 2, 2]), np.array([0, 3, 8]))
PROGRAMS: dict[str, tuple[str, list[Any], list[Any]]] = {
    "of two axes": (OF_TWO_AXES, [NESTS], [np.arange(16), [0, 2, 2], [0, 3, 8, 11, 16]]),
    "with itself": (
        WITH_ITSELF,
        [(np.arange(1, 7, dtype=I32), np.array([0, 4, 4, 6]))],
        [np.concatenate([k * np.arange(1, 7) for k in range(1, 7)]), [0, 4, 4, 6], [0, *np.cumsum([4, 0, 2] * 6)]],
    ),
    "pairs before lists": (
        PAIRS_BEFORE_LISTS,
        [(np.arange(6, dtype=I32), np.array([0, 1, 1, 2]), np.array([0, 2, 2, 5, 6]))],
        [[0, 1, 4, 5, 6, 7], [0, 1, 1, 2], [0, 2, 2, 5, 6]],
    ),
    "looked up": (
        LOOKED_UP,
        [(np.arange(24, dtype=I32).reshape(3, 8), np.array([0, 2, 2, 3]))],
        [(np.arange(24) * np.arange(1, 25)).reshape(3, 8), [0, 2, 2, 3]],
    ),
    "holes": (HOLES, [np.arange(1, 6, dtype=I32)], [[[7, 14], [21, 28], [35, 49]]]),
    "copied beside tiles": (
        COPIED_BESIDE_TILES,
        [np.arange(1, 6, dtype=I32), np.full((3, 2), 5, I32), np.full((3, 2), 7, I32)],
        [[[5, 5], [5, 5], [5, 7]]],
    ),
    "scan beside another": (
        SCAN_BESIDE_ANOTHER,
        [(np.arange(12, dtype=I32).reshape(4, 3), np.array([0, 1, 4]), np.array([0, 3]))],
        [[[0, 1, 2], [3, 4, 5], [9, 11, 13], [18, 21, 24]], [0, 1, 4], [0, 3]],
    ),
    "slice beside tiles": (
        SLICE_BESIDE_TILES,
        [(np.arange(3, dtype=I32).reshape(3, 1), np.array([0, 1, 3]))],
        [[[0], [1], [2]], [0, 1, 3]],
    ),
    "from one place to others": (
        FROM_ONE_PLACE_TO_OTHERS,
        [(np.arange(6, dtype=I32), np.array([0, 4, 6])), 1, np.array([2, 2])],
        [np.arange(6), [1, 5], [1, 1]],
    ),
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_all_agree(name: str, target: str) -> None:
    source, given, wanted = PROGRAMS[name]
    for own, expected in zip(called(source, "f", given, target), wanted, strict=True):
        np.testing.assert_array_equal(own, expected)


@pytest.mark.parametrize("target", TARGETS)
def test_lengths_of_a_value_and_of_its_transpose(target: str) -> None:
    values = np.array([1, 2, 3, 4], I32)
    with pytest.raises(rg.RuntimeCheckError, match="generic: level 2, component 1: expected length 1, got 0"):
        called(TURNED, "f", [(values, np.array([0, 2, 3, 3, 4]), 2, 2)], target)
    made = called(TURNED, "f", [(values, np.array([0, 2, 3, 4, 4]), 2, 2)], target)
    assert made[0].tolist() == [2, 4, 7, 7]


IN_A_LOOP = """
!x = tensor<?x?xf64, #ragged.layout<"dw">>
func.func @f(%x: !x, %n: index) -> !x {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%y = %x) -> (!x) {
    %z = arith.mulf %y, %x : !x
    scf.yield %z : !x
  }
  return %r : !x
}
"""
MERGED = """
!x = tensor<?x?x3xf64, #ragged.layout<"dw|d">>
!y = tensor<?x?xf64, #ragged.layout<"dw">>
func.func @f(%x: !x) -> !y {
  %y = ragged.merge %x {dim = 1} : (!x) -> !y
  %z = arith.mulf %y, %y : !y
  return %z : !y
}
"""


@pytest.mark.parametrize("target", [*TARGETS, "ptx-emulator"])
def test_tables_of_elements_of_their_own(target: str) -> None:
    x = np.random.default_rng(0).standard_normal((40, 3)).astype(np.float32)
    made = called(OF_THEIR_OWN, "f", [(x, np.array([0, 30, 30, 40]))], target)[0]
    np.testing.assert_array_equal(made, np.median(x, axis=1))


@pytest.mark.parametrize("target", TARGETS)
def test_what_a_body_asks_of_a_ragged_tensor(target: str) -> None:
    x = (np.array([1, 2, 3, 4, 5], np.float32), np.array([0, 2, 2, 5]))
    assert called(BEFORE, "f", [x], target)[0].tolist() == [3, 1, 3, 3, 4]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("element", ["f16", "f32"])
def test_products_in_double(element: str, target: str) -> None:
    x, w = (np.random.default_rng(0).standard_normal(s).astype(element.replace("f", "float")) for s in ((7, 4), (4, 5)))
    made = called(IN_DOUBLE.format(e=element), "f", [x, w, np.array([0, 3, 7])], target)[0]
    np.testing.assert_allclose(made, x.astype(np.float64) @ w.astype(np.float64), rtol=1e-12)


@pytest.mark.parametrize("target", TARGETS)
def test_lengths_of_a_parent_of_another_like(target: str) -> None:
    x = (np.arange(5, dtype=I32), np.array([0, 1, 3]), np.array([0, 1, 3, 5]), np.array([0, 1, 3, 3, 4, 5]))
    lengths = np.arange(3, dtype=I32), np.array([0, 1, 3])
    assert called(BELOW_ANOTHER, "f", [x, lengths], target)[0].tolist() == [7] * 5
    other = np.arange(3, dtype=I32), np.array([0, 2, 3])
    with pytest.raises(rg.RuntimeCheckError, match=r"ragged\.empty: level 2, component 0: expected length 1, got 2"):
        called(BELOW_ANOTHER, "f", [x, other], target)


@pytest.mark.parametrize("target", ["reference", "cpu"])
def test_derivatives_of_windows(target: str) -> None:
    """What a loop carries, and what is merged, have gaps in storage, and cotangents have none."""
    power, square = (str(transform(source, RaggedDifferentiate())) for source in (IN_A_LOOP, MERGED))
    x = (np.array([2.0, 3.0, 9.0, 5.0]), np.array([3, 0]), np.array([1, 2]))
    ones = (np.ones(3), np.array([0, 1]), np.array([1, 2]))
    np.testing.assert_allclose(called(power, "f_vjp", [x, 2, ones], target)[0], [75.0, 12.0, 27.0])
    rows = (np.arange(1.0, 13).reshape(4, 3), np.array([3, 0]), np.array([1, 1]))
    made = called(square, "f_vjp", [rows, (np.ones(6), np.array([0, 3]), np.array([3, 3]))], target)
    np.testing.assert_allclose(made[0], [[20.0, 22.0, 24.0], [2.0, 4.0, 6.0]])
