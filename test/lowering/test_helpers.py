"""What the lowering shares: finding and copying ops, views, the bounds of a forall, products."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ragged_dialect._mlir import DYNAMIC, ir
from ragged_dialect.ir import build
from ragged_dialect.ir.clone import clone
from ragged_dialect.ir.walk import captures, find_ops, ops_in
from ragged_dialect.lowering.buffers.subviews import range_view, subview, touches
from ragged_dialect.lowering.gpu.kernel.generic_op import GenericOp, generics_in
from ragged_dialect.lowering.nests.forall_bounds import counts_of, forall_over

PROGRAM = """
func.func @f(%n: index, %c: i1, %x: memref<8x4xf32>, %v: memref<2x4xf32, strided<[4, 1], offset: 8>>,
    %y: memref<?xf32>) {
  %a = arith.addi %n, %n : index
  scf.if %c {
    %b = arith.muli %a, %n : index
    %e = memref.load %y[%b] : memref<?xf32>
    memref.store %e, %y[%a] : memref<?xf32>
  }
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i + j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "reduction"]} ins(%y : memref<?xf32>) outs(%x : memref<8x4xf32>) {
  ^bb0(%p: f32, %q: f32):
    %r = scf.if %c -> f32 {
      %s = memref.load %y[%a] : memref<?xf32>
      scf.yield %s : f32
    } else {
      scf.yield %p : f32
    }
    linalg.yield %r : f32
  }
  return
}
"""


@pytest.fixture
def function(mlir_context: Any) -> Iterator[Any]:
    """The function; ops go before its return."""
    module = ir.Module.parse(PROGRAM)
    found = module.body.operations[0]
    with ir.InsertionPoint(list(found.regions[0].blocks[0].operations)[-1]), ir.Location.unknown():
        yield found
    assert module.operation.verify()


def test_finding(function: Any) -> None:
    branch = find_ops(function, "scf.if")[0]
    assert [op.name for op in ops_in(branch)] == [
        "scf.if", "arith.muli", "memref.load", "memref.store", "scf.yield"
    ]  # fmt: skip
    assert [op.name for op in find_ops(function, "memref.load", "arith.addi")] == [
        "arith.addi",
        "memref.load",
        "memref.load",
    ]
    assert find_ops(branch, "scf.if") == [branch]


def test_a_copy_has_what_is_known_inside_too(function: Any) -> None:
    n, c, _, _, y = function.regions[0].blocks[0].arguments
    add, branch = find_ops(function, "arith.addi")[0], find_ops(function, "scf.if")[0]
    known = {n: build.value(7)}
    copied = clone(add, known)
    assert list(copied.operands) == [known[n]] * 2
    assert known[add.results[0]] == copied.results[0]
    copy = clone(branch, known)
    assert captures([copy]) == [c, copied.results[0], known[n], y]
    assert captures([branch]) == [c, add.results[0], n, y]


def test_loads_of_a_payload(function: Any) -> None:
    (generic,) = generics_in(function)
    assert [load.name for load in generic.loads] == ["memref.load"]
    assert not GenericOp(generic.op).has_ranges(1)  # i + j is no dim of its own
    assert generic.parallel == [True, False]


def test_touching(function: Any) -> None:
    _, _, x, v, y = function.regions[0].blocks[0].arguments
    first, second = find_ops(function, "scf.if")[0], find_ops(function, "linalg.generic")[0]
    assert [touches(first, buffer) for buffer in (x, v, y)] == [False, False, True]
    assert [touches(second, buffer) for buffer in (x, v, y)] == [True, False, True]
    view = range_view(x, 0, 0, 2)
    assert not touches(view.owner, x)


def test_views_keep_the_offset_of_their_source(function: Any) -> None:
    n, _, x, v, y = function.regions[0].blocks[0].arguments
    assert subview(v, [0, 0], [1, 4]).type.get_strides_and_offset() == ([4, 1], 8)
    assert range_view(v, 0, n, 1).type.get_strides_and_offset() == ([4, 1], DYNAMIC)
    assert list(subview(x, [n, 0], [1, 4], kept=[1]).type.shape) == [4]
    assert list(range_view(y, 0, 0, n).type.shape) == [DYNAMIC]


def test_bounds(function: Any) -> None:
    n = function.regions[0].blocks[0].arguments[0]
    assert counts_of(forall_over(5)) == [5]
    assert counts_of(forall_over(n)) == [n]


def test_products(function: Any) -> None:
    n = function.regions[0].blocks[0].arguments[0]
    assert build.product([]) == 1
    assert build.product([2, 1, 3]) == 6
    assert build.product([1, n]) == n
    assert build.product([n, 0]) == 0
