"""Cutting a flat linalg op into tiles, one per iteration of a forall."""

from __future__ import annotations

from typing import Any

from ragged_dialect._mlir import DYNAMIC, arith, ir
from ragged_dialect.lowering import emit
from ragged_dialect.lowering.buffers import is_buffer, plain_dim, range_view
from ragged_dialect.lowering.emit import Mixed
from ragged_dialect.lowering.gpu.generic_op import GenericOp

_ASSUMED = 64
"""Extent that a dynamic inner loop is taken to have."""


def tile_flat(op: Any, tile: int) -> Any:
    """A forall over tiles of about `tile` elements of the op's first loop that can be cut; one tile
    when none can. The op moves into it."""
    generic = GenericOp(op)
    with ir.InsertionPoint(op), op.location:
        loop = next((d for d in range(generic.rank) if _can_cut(generic, d)), None)
        if loop is None:
            forall = forall_over(1)
            op.move_before(_end(forall))
            return forall
        rows = _rows(generic, loop, tile)
        extent = generic.extent(loop)
        forall = forall_over(emit.ceildiv(extent, rows))
        _cut(generic, loop, rows, extent, forall)
    return forall


def forall_over(count: Mixed) -> Any:
    """An empty `scf.forall` from 0 to count."""
    forall = ir.Operation.create(
        "scf.forall",
        operands=[] if isinstance(count, int) else [count],
        attributes={
            "staticLowerBound": ir.DenseI64ArrayAttr.get([0]),
            "staticUpperBound": ir.DenseI64ArrayAttr.get([count if isinstance(count, int) else DYNAMIC]),
            "staticStep": ir.DenseI64ArrayAttr.get([1]),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([0, 0 if isinstance(count, int) else 1, 0, 0]),
        },
        regions=1,
    )
    block = forall.regions[0].blocks.append(emit.index_type())
    with ir.InsertionPoint(block):
        terminator = ir.Operation.create("scf.forall.in_parallel", regions=1)
        terminator.regions[0].blocks.append()
    return forall


def _end(forall: Any) -> Any:
    return list(forall.regions[0].blocks[0].operations)[-1].operation


def _can_cut(generic: GenericOp, loop: int) -> bool:
    """Whether iterations of a loop are independent and every operand has a range of one dim for a
    range of them."""
    return generic.parallel[loop] and all(
        plain_dim(map_, loop) is not None and (is_buffer(x) or plain_dim(map_, loop) == -1)
        for map_, x in zip(generic.maps, generic.operands, strict=True)
    )


def _rows(generic: GenericOp, loop: int, tile: int) -> int:
    """Iterations of the loop per tile."""
    inner = 1
    for d in range(generic.rank):
        if d != loop:
            inner *= max(1, generic.static_extent(d) or _ASSUMED)
    return max(1, tile // inner)


def _cut(generic: GenericOp, loop: int, rows: int, extent: Mixed, forall: Any) -> None:
    op, end = generic.op, _end(forall)
    with ir.InsertionPoint(end):
        low = emit.mul(forall.regions[0].blocks[0].arguments[0], rows)
        whole = isinstance(extent, int) and extent % rows == 0
        size = rows if whole else emit.minimum(rows, emit.sub(extent, low))
        operands = [
            x if plain_dim(m, loop) == -1 else range_view(x, plain_dim(m, loop) or 0, low, size)
            for m, x in zip(generic.maps, generic.operands, strict=True)
        ]
    op.move_before(end)
    for k, x in enumerate(operands):
        op.operands[k] = x
    _shift_index(op, loop, low)


def _shift_index(op: Any, loop: int, low: Mixed) -> None:
    """`linalg.index` of the cut loop counts from the tile's start."""
    found: list[Any] = []

    def visit(inner: Any) -> Any:
        if inner.name == "linalg.index" and inner.attributes["dim"].value == loop:
            found.append(inner)
        return ir.WalkResult.ADVANCE

    op.walk(visit)
    for index in found:
        after = list(index.block.operations)
        place = next(k for k, o in enumerate(after) if o.operation == index)
        with ir.InsertionPoint(after[place + 1]), index.location:
            shifted = arith.addi(index.results[0], emit.value(low))
        index.results[0].replace_all_uses_except(shifted, shifted.owner.operation)
