"""Checks of what bodies of linalg ops read, in front of them: the reference, the CPU and the emulator agree."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from support.on_targets import TARGETS, called

import ragged_dialect as rg
from ragged_dialect.reference import run

# Elements that a branch of a body reads, where a condition holds.
GUARDED = """
!x = tensor<3x?xi64, #ragged.layout<"dr">>
!y = tensor<3x?xf32, #ragged.layout<"dr">>
#id = affine_map<(b, i) -> (b, i)>
func.func @f(%x: !x, %w: tensor<?xf32>) -> !y {
  %z = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : i64
  %e = ragged.empty %x : (!x) -> !y
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : !x) outs(%e : !y) {
  ^bb0(%a: i64, %o: f32):
    %p = arith.cmpi sge, %a, %c0 : i64
    %q = scf.if %p -> f32 {
      %i = arith.index_cast %a : i64 to index
      %v = tensor.extract %w[%i] : tensor<?xf32>
      scf.yield %v : f32
    } else {
      scf.yield %z : f32
    }
    linalg.yield %q : f32
  } -> !y
  return %y : !y
}
"""

# The same in a loop of a body.
IN_A_LOOP_OF_A_BODY = """
func.func @f(%x: tensor<?xindex>, %w: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %z = arith.constant 0.0 : f32
  %n = tensor.dim %x, %c0 : tensor<?xindex>
  %e = tensor.empty(%n) : tensor<?xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<?xindex>) outs(%e : tensor<?xf32>) {
  ^bb0(%a: index, %o: f32):
    %q = scf.for %k = %c0 to %a step %c1 iter_args(%s = %z) -> f32 {
      %v = tensor.extract %w[%k] : tensor<?xf32>
      %t = arith.addf %s, %v : f32
      scf.yield %t : f32
    }
    linalg.yield %q : f32
  } -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
"""

# A table of a body's own, of constants.
CONSTANTS = """
func.func @f(%x: tensor<?xindex>) -> tensor<?xindex> {
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      outs(%x : tensor<?xindex>) {
  ^bb0(%a: index):
    %c = arith.constant dense<[5, 7, 9]> : tensor<3xindex>
    %v = tensor.extract %c[%a] : tensor<3xindex>
    linalg.yield %v : index
  } -> tensor<?xindex>
  return %0 : tensor<?xindex>
}
"""


@pytest.mark.parametrize("target", TARGETS)
def test_indices_in_branches_and_loops_of_bodies(target: str) -> None:
    w, offsets = np.array([1, 2, 3], np.float32), np.array([0, 2, 2, 4])
    assert called(GUARDED, "f", [(np.array([0, 1, 2, -1]), offsets), w], target)[0].tolist() == [1, 2, 3, 0]
    assert called(IN_A_LOOP_OF_A_BODY, "f", [np.array([3, 0, 2]), w], target)[0].tolist() == [6, 0, 3]
    assert called(CONSTANTS, "f", [np.array([2, 0])], target)[0].tolist() == [9, 5]
    with pytest.raises(rg.RangeError, match=r"tensor\.extract: level 0: expected index in \[0, 3\), got 3"):
        called(CONSTANTS, "f", [np.array([2, 3])], target)
    for source, x, text in [
        (GUARDED, (np.array([0, 1, 2**40, -1]), offsets), rf"index in \[0, 3\), got {2**40}"),
        (IN_A_LOOP_OF_A_BODY, np.array([1, 5, 2]), r"index in \[0, 3\), got [34]"),
    ]:
        with pytest.raises(rg.RangeError, match=rf"tensor\.extract: level 0: expected {text}"):
            called(source, "f", [x, w], target)


STEPS = """
func.func @f(%x: tensor<?xindex>, %n: index, %s: i32) -> (tensor<?xindex>, tensor<2x?xf32>, i32) {
  %c0 = arith.constant 0 : index
  %c9 = arith.constant 9 : index
  %i0 = arith.constant 0 : i32
  %i5 = arith.constant 5 : i32
  %one = arith.constant 1.0 : f32
  %r = linalg.map ins(%x : tensor<?xindex>) outs(%x : tensor<?xindex>) (%a: index, %o: index) {
    %sum = scf.for %i = %c0 to %c9 step %a iter_args(%t = %c0) -> index {
      %next = arith.addi %t, %i : index
      scf.yield %next : index
    }
    linalg.yield %sum : index
  }
  %e = tensor.splat %one[%n] : tensor<2x?xf32>
  %k = scf.for %i = %i0 to %i5 step %s iter_args(%t = %i0) -> (i32) : i32 {
    %next = arith.addi %t, %i : i32
    scf.yield %next : i32
  }
  return %r, %e, %k : tensor<?xindex>, tensor<2x?xf32>, i32
}
"""


@pytest.mark.parametrize("target", TARGETS)
def test_steps_and_extents(target: str) -> None:
    sums, ones = called(STEPS, "f", [np.array([4, 9, 1]), 3, 2], target)
    assert (sums.tolist(), ones.shape) == ([12, 0, 36], (2, 3))
    for x, n, s, text in [
        ([4, -1, 1], 3, 2, "scf.for: level 0: expected at least 1, got -1"),
        ([4, 9, 2**63 - 1], 3, 2, f"scf.for: level 0: expected hi <= {2**63 - 10}, got {2**63 - 1}"),
        ([4, 9, 1], -3, 2, "tensor.splat: level 1: expected at least 0, got -3"),
        ([4, 9, 1], 3, 0, "scf.for: level 0: expected at least 1, got 0"),
        ([4, 9, 1], 3, 2**31 - 1, "scf.for: level 0: expected hi <= 2147483642, got 2147483647"),
    ]:
        with pytest.raises(rg.RuntimeCheckError, match=re.escape(text)):
            called(STEPS, "f", [np.array(x), n, s], target)


ASSERTED_INSIDE = """
func.func @f(%x: tensor<?xi64>) -> tensor<?xi64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %r = linalg.map ins(%x : tensor<?xi64>) outs(%x : tensor<?xi64>) (%a: i64, %o: i64) {
    %i = arith.index_cast %a : i64 to index
    %y = scf.for %k = %c0 to %i step %c1 iter_args(%s = %a) -> i64 {
      %p = arith.cmpi slt, %k, %c4 : index
      cf.assert %p, "too far"
      %g = arith.addi %s, %a : i64
      scf.yield %g : i64
    }
    linalg.yield %y : i64
  }
  return %r : tensor<?xi64>
}
"""
GENERATED = """
func.func @f(%t: tensor<?xi64>, %n: index) -> tensor<?xi64> {
  %g = tensor.generate %n {
  ^bb0(%k: index):
    %w = tensor.extract %t[%k] : tensor<?xi64>
    tensor.yield %w : i64
  } : tensor<?xi64>
  return %g : tensor<?xi64>
}
"""
A_DIM = """
func.func @f(%x: tensor<?xi64>, %t: tensor<?x?xi64>) -> tensor<?xi64> {
  %0 = linalg.map ins(%x : tensor<?xi64>) outs(%x : tensor<?xi64>) (%a: i64, %o: i64) {
    %i = arith.index_cast %a : i64 to index
    %d = tensor.dim %t, %i : tensor<?x?xi64>
    %y = arith.index_cast %d : index to i64
    linalg.yield %y : i64
  }
  return %0 : tensor<?xi64>
}
"""


@pytest.mark.parametrize("target", TARGETS)
def test_checks_inside_of_bodies(target: str) -> None:
    numbers = np.array([5, 6, 7, 8])
    for source, given, wanted, wrong, text in [
        (ASSERTED_INSIDE, [np.array([1, 2, 4])], [2, 6, 20], [np.array([1, 5])], "cf.assert: too far: expected true"),
        (GENERATED, [numbers, 3], [5, 6, 7], [numbers, 5], "tensor.extract: level 0: expected index in [0, 4), got 4"),
        (
            A_DIM,
            [np.array([0, 1]), np.zeros((4, 5), np.int64)],
            [4, 5],
            [np.array([0, 2**40]), np.zeros((4, 5), np.int64)],
            f"tensor.dim: level 0: expected index in [0, 2), got {2**40}",
        ),
    ]:
        assert called(source, "f", given, target)[0].tolist() == wanted
        with pytest.raises(rg.RuntimeCheckError, match=re.escape(text)):
            called(source, "f", wrong, target)


# Places that are computed of what was read: states of automata, links of lists.
SEARCH = """
func.func @f(%x: tensor<?xi64>, %t: tensor<?xindex>) -> tensor<?xindex> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %d = tensor.dim %x, %c0 : tensor<?xi64>
  %o = tensor.empty(%d) : tensor<?xindex>
  %r = linalg.map ins(%x : tensor<?xi64>) outs(%o : tensor<?xindex>) (%a: i64, %out: index) {
    %steps = arith.index_cast %a : i64 to index
    %end = scf.for %k = %c0 to %steps step %c1 iter_args(%state = %c0) -> index {
      %next = tensor.extract %t[%state] : tensor<?xindex>
      scf.yield %next : index
    }
    linalg.yield %end : index
  }
  return %r : tensor<?xindex>
}
"""
AUTOMATA = """
!x = tensor<?x?xindex, #ragged.layout<"dr">>
#id = affine_map<(b, i) -> (b, i)>
#each = affine_map<(b, i) -> (b)>
func.func @f(%x: !x, %next: tensor<?x2xindex>, %s: tensor<?xindex>) -> tensor<?xindex> {
  %0 = linalg.generic {indexing_maps = [#id, #each], iterator_types = ["parallel", "reduction"]}
      ins(%x : !x) outs(%s : tensor<?xindex>) {
  ^bb0(%i: index, %state: index):
    %n = tensor.extract %next[%state, %i] : tensor<?x2xindex>
    linalg.yield %n : index
  } -> tensor<?xindex>
  return %0 : tensor<?xindex>
}
"""
LONGER = """
func.func @f(%w: tensor<?xindex>, %x: tensor<?xindex>) -> tensor<?xindex> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %r = linalg.map ins(%x : tensor<?xindex>) outs(%x : tensor<?xindex>) (%a: index, %o: index) {
    %found = scf.for %k = %c0 to %c2 step %c1 iter_args(%bound = %a) -> (index) {
      %sum = scf.for %j = %c0 to %bound step %c1 iter_args(%s = %c0) -> (index) {
        %e = tensor.extract %w[%j] : tensor<?xindex>
        %t = arith.addi %s, %e : index
        scf.yield %t : index
      }
      scf.yield %sum : index
    }
    linalg.yield %found : index
  }
  return %r : tensor<?xindex>
}
"""
BRANCHES = """
func.func @f(%w: tensor<?xf32>, %x: tensor<?xindex>, %s: tensor<f32>) -> tensor<f32> {
  %z = arith.constant 0.0 : f32
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%x : tensor<?xindex>) outs(%s : tensor<f32>) {
  ^bb0(%a: index, %sum: f32):
    %p = arith.cmpf ogt, %sum, %z : f32
    %v = scf.if %p -> (f32) {
      %e = tensor.extract %w[%a] : tensor<?xf32>
      scf.yield %e : f32
    } else {
      %one = arith.constant 1.0 : f32
      scf.yield %one : f32
    }
    linalg.yield %v : f32
  } -> tensor<f32>
  return %0 : tensor<f32>
}
"""
REDUCED = """
func.func @f(%x: tensor<?x?xindex>, %w: tensor<?xindex>, %s: tensor<?xindex>) -> tensor<?xindex> {
  %r = linalg.reduce ins(%x : tensor<?x?xindex>) outs(%s : tensor<?xindex>) dimensions = [1] (%a: index, %o: index) {
    %v = tensor.extract %w[%o] : tensor<?xindex>
    %y = arith.addi %v, %a : index
    linalg.yield %y : index
  }
  return %r : tensor<?xindex>
}
"""
_LINKS = "\n".join(f"    %v{k} = tensor.extract %t[%v{k - 1}] : tensor<?xindex>" for k in range(1, 80))
LINKS = f"""
func.func @f(%x: tensor<?xindex>, %t: tensor<?xindex>) -> tensor<?xindex> {{
  %r = linalg.map ins(%x : tensor<?xindex>) outs(%x : tensor<?xindex>) (%v0: index, %o: index) {{
{_LINKS}
    linalg.yield %v79 : index
  }}
  return %r : tensor<?xindex>
}}
"""
TABLE, ENDS = np.array([[0, 1], [2, 0], [1, 2]]), np.array([[0, 1], [2, 0], [1, 9]])
WORDS = np.array([1, 0, 1, 1, 1]), np.array([0, 2, 2, 5])
F32 = np.float32


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("source", "given", "wanted", "wrong", "text"),
    [
        (SEARCH, [np.array([0, 1, 5]), np.array([1, 2, 0])], [0, 1, 2],
         [np.array([0, 1, 3]), np.array([1, 2, 7, 0])], None),
        (SEARCH, [np.array([3]), np.array([1, 2, 7])], [7],
         [np.array([0, 1, 5]), np.array([1, 2, 7])], "[0, 3), got 7"),
        (AUTOMATA, [WORDS, TABLE, np.array([0, 1, 2])], [2, 1, 2],
         [WORDS, ENDS, np.array([0, 1, 2])], "[0, 3), got 9"),
        (AUTOMATA, [WORDS, ENDS, np.array([0, 1, 0])], [2, 1, 1],
         [WORDS, TABLE, np.array([0, 1, -1])], "[0, 3), got -1"),
        (REDUCED, [np.array([[0, 1], [1, 0]]), np.array([1, 0, 1]), np.array([0, 1])], [1, 0],
         [np.array([[0, 1], [5, 0]]), np.array([1, 0, 1]), np.array([0, 1])], "[0, 3), got 5"),
        (LONGER, [np.array([0, 1, 2, 0]), np.array([0, 2, 3])], [0, 0, 3],
         [np.array([3, 9]), np.array([0, 2])], "[0, 2), got"),
        (BRANCHES, [np.array([5.0], F32), np.array([7, 0, 0]), np.array(0.0, F32)], 5.0,
         [np.array([5.0], F32), np.array([7, 1]), np.array(0.0, F32)], "[0, 1), got 1"),
        (BRANCHES, [np.array([], F32), np.array([7]), np.array(0.0, F32)], 1.0,
         [np.array([], F32), np.array([7, 1]), np.array(0.0, F32)], "[0, 0), got 1"),
        (LINKS, [np.array([0, 2]), np.array([1, 2, 0])], [1, 0],
         [np.array([0, 2]), np.array([1, 3, 0])], "[0, 3), got 3"),
    ],
)  # fmt: skip
def test_places_of_what_was_read(
    source: str, given: list[Any], wanted: Any, wrong: list[Any], text: str | None, target: str
) -> None:
    def run_(arguments: list[Any]) -> Any:
        return (
            run(source, "f", arguments)[0]
            if target == "reference"
            else rg.compile(source, "f", target=target)(*arguments)
        )

    assert np.asarray(run_(given)).tolist() == wanted
    if text is None:
        assert np.asarray(run_(wrong)).tolist() == [0, 1, 7]
        return
    with pytest.raises(rg.RangeError, match=re.escape(f"tensor.extract: level 0: expected index in {text}")):
        run_(wrong)
