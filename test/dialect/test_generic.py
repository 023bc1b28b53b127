"""Making `linalg.generic`, and reading the loops of linalg ops."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ragged_dialect._mlir import arith, ir
from ragged_dialect.asm.module import parse_module
from ragged_dialect.dialect import context
from ragged_dialect.generic import generic, indexing_maps, iterator_kinds, loop_index, without_body

ARGUMENTS = """func.func @f(%a: tensor<?x4xf32>, %s: complex<f32>, %o: tensor<?xf32>, %m: memref<?xf32>) {
  %0 = linalg.softmax dimension(1) ins(%a : tensor<?x4xf32>) outs(%a : tensor<?x4xf32>) -> tensor<?x4xf32>
  return
}
"""


@pytest.fixture(name="block")
def _block() -> Iterator[Any]:
    """The body of a function with an input, a scalar, an out, and a buffer."""
    with context() as made, ir.Location.unknown():
        module = parse_module(ARGUMENTS, made)
        block = module.body.operations[0].regions[0].blocks[0]
        with ir.InsertionPoint.at_block_begin(block):
            yield block
        assert module.operation.verify()


def rows() -> list[Any]:
    """Maps of an input over both loops, of a scalar, and of an out over the first loop."""
    i, j = ir.AffineDimExpr.get(0), ir.AffineDimExpr.get(1)
    return [ir.AffineMap.get(2, 0, exprs) for exprs in ([i, j], [], [i])]


def test_what_is_written_is_read(block: Any) -> None:
    a, s, o, _ = block.arguments
    kinds = ("parallel", "reduction")
    op = generic([a, s], [o], rows(), kinds, lambda elements: [arith.addf(elements[0], elements[2])])
    assert indexing_maps(op) == rows()
    assert iterator_kinds(op) == kinds
    assert list(op.attributes["operandSegmentSizes"]) == [2, 1]
    assert [str(v.type) for v in op.regions[0].blocks[0].arguments] == ["f32", "complex<f32>", "f32"]
    assert op.result.type == o.type


def test_the_body_reads_loop_indices(block: Any) -> None:
    o = block.arguments[2]

    def body(elements: list[Any]) -> list[Any]:
        at = arith.index_cast(ir.IntegerType.get_signless(32), loop_index(0))
        return [arith.sitofp(elements[0].type, at)]

    op = generic([], [o], [ir.AffineMap.get_identity(1)], ["parallel"], body)
    assert str(op.regions[0].blocks[0].operations[0]).endswith("linalg.index 0 : index")


def test_buffers_give_no_results(block: Any) -> None:
    m = block.arguments[3]
    op = generic([], [m], [ir.AffineMap.get_identity(1)], ["parallel"], lambda elements: elements)
    assert not op.results


def test_without_body(block: Any) -> None:
    o = block.arguments[2]
    op = without_body([], [o], [ir.AffineMap.get_identity(1)], ["parallel"])
    assert not len(op.regions[0].blocks)
    op.erase()


def test_softmax_has_no_maps(block: Any) -> None:
    assert indexing_maps(block.operations[0].operation) == []
