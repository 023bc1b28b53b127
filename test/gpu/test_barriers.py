"""When accesses of a block's threads conflict, and where barriers go."""

from __future__ import annotations

from typing import Any

import pytest

from ragged_dialect._mlir import ir
from ragged_dialect.lowering.gpu.kernel.barriers import Access, Barriers

SEVERAL_AT_A_TIME = ((1, 32, 8),)
EACH_ITS_OWN = ((1, 32, 1),)
OTHERS = ((1, 16, 1),)


@pytest.fixture
def buffers(mlir_context: Any) -> Any:
    """A module with two buffers, a view of the first, and the place where ops go."""
    module = ir.Module.parse("""
    func.func @f(%x: memref<64xf32>, %y: memref<64xf32>) {
      %v = memref.subview %x[0] [32] [1] : memref<64xf32> to memref<32xf32, strided<[1]>>
      return
    }""")
    block = module.body.operations[0].regions[0].blocks[0]
    with ir.InsertionPoint(list(block.operations)[-1]):
        yield block, *block.arguments, block.operations[0].results[0]


def count(block: Any) -> int:
    """Barriers in a block."""
    return sum(op.name == "gpu.barrier" for op in block.operations)


def test_conflicts(buffers: Any) -> None:
    _, x, y, view = buffers
    write, read = Access.of(x, True, EACH_ITS_OWN), Access.of(x, False, EACH_ITS_OWN)
    assert not write.conflicts(read)  # every thread reads what it wrote
    assert not write.conflicts(Access.of(y, True, OTHERS))
    assert not read.conflicts(Access.of(x, False, OTHERS))
    assert write.conflicts(Access.of(x, False, OTHERS))
    assert write.conflicts(Access.of(x, False, SEVERAL_AT_A_TIME))
    assert read.conflicts(Access.of(x, True, OTHERS))
    assert Access.of(x, True).conflicts(Access.of(x, True))  # who touches what is not known
    assert write.conflicts(Access.of(view, False, EACH_ITS_OWN))  # the same threads at other places


def test_a_barrier_settles_what_was_pending(buffers: Any) -> None:
    block, x, _, _ = buffers
    barriers = Barriers(64)
    barriers.before([Access.of(x, True, EACH_ITS_OWN)])
    barriers.before([Access.of(x, False, EACH_ITS_OWN)])
    assert count(block) == 0
    barriers.before([Access.of(x, False, OTHERS)])
    assert count(block) == 1
    barriers.before([Access.of(x, False)])
    assert count(block) == 1
    barriers.before([Access.of(x, True, OTHERS)])  # a read is still pending
    assert count(block) == 2


def test_what_is_settled_before_control_flow(buffers: Any) -> None:
    block, x, y, _ = buffers
    barriers = Barriers(64)
    barriers.before([Access.of(x, False)])
    barriers.settle({y})
    assert count(block) == 0
    barriers.settle({x})  # what is read is written inside
    assert count(block) == 1
    barriers.before([Access.of(x, True)])
    barriers.settle(set())  # what was written may be read inside
    assert count(block) == 2


def test_one_thread_needs_none(buffers: Any) -> None:
    block, x, _, _ = buffers
    barriers = Barriers(1)
    barriers.before([Access.of(x, True)])
    barriers.before([Access.of(x, True)])
    assert count(block) == 0
