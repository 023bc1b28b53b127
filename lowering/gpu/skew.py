"""Components done two ways, of which the data picks one: a block for each, or balanced pieces.

A block per component reads a component once from far away and from cache after that, but a component that is
much longer than the others keeps one block busy while all else waits. Balanced pieces do not care, but read the
rows again for each of them. How long the longest component is only the data tells: a kernel looks, and the
kernels of the other way return at once. Nobody waits for the answer.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

from ragged_dialect._mlir import arith, ir, memref, scf
from ragged_dialect.lowering import emit
from ragged_dialect.lowering.buffers import extent, is_allocation, is_buffer
from ragged_dialect.lowering.emit import Mixed
from ragged_dialect.lowering.forall_bounds import counts_of, forall_over
from ragged_dialect.lowering.gpu import balanced
from ragged_dialect.lowering.gpu.component_rows import Components, host_rows
from ragged_dialect.lowering.gpu.fission import fission
from ragged_dialect.lowering.gpu.status import GATE
from ragged_dialect.lowering.nested import captures, ops_in, remap

LONG = 1024
"""Rows that a block has done before kernels that look for other work have started."""

SHARE = 64
"""A component with more than this part of all rows takes longer in one block than all rows take in pieces: a
block moves about a hundredth of what a device does, and pieces move rows twice as often."""

_SGT = 4


def both_ways(forall: Any, number: int) -> tuple[Any, list[Any]] | None:
    """Give a forall over components balanced pieces beside it: the forall that picks between them, and the
    pieces. None, and nothing changes, when there are no such pieces or all components are short. The gates of
    the forall and of the pieces are those of `number` and the next one."""
    own = _own_buffers(forall)
    with ir.InsertionPoint(forall), forall.location:
        copy = forall.clone().operation
    pieces = fission(copy, balanced.fits)
    if pieces is None:
        copy.erase()
        return None
    found = balanced.matched(pieces[0])
    assert found is not None
    with ir.InsertionPoint(pieces[0]), forall.location:
        rows = reduce(emit.minimum, [extent(x, dim) for work in found.work for x, dim in host_rows(work.op, work.rows)])
        if isinstance(rows, int) and rows <= LONG:
            for piece in pieces:
                piece.erase()
            return None
        gates = [_gate(number), _gate(number + 1)]
        picking = _picking(found, rows, gates)
        forall.move_before(pieces[0])
        some = scf.IfOp(arith.cmpi(_SGT, emit.value(rows), emit.value(LONG)))
        with ir.InsertionPoint(some.then_block):
            last = scf.YieldOp([])
        with ir.InsertionPoint(last):
            theirs = {x: x.owner.clone().results[0] for x in own}
        for piece in pieces:
            piece.move_before(last)
            remap(piece, theirs)
    _pass_gate([forall], number)
    _pass_gate(pieces, number + 1)
    return picking, pieces


def _own_buffers(forall: Any) -> list[Any]:
    """Buffers of the host that only this forall uses: scratch, which need not be memory at all in a block."""
    inside = set(ops_in(forall))
    buffers = [x for x in captures([forall]) if is_buffer(x) and is_allocation(x)]
    return [x for x in buffers if all(use.owner.operation in inside for use in x.uses)]


def _gate(number: int) -> Any:
    buffer = memref.alloc(ir.MemRefType.get([1], emit.i64()), [], [])
    buffer.owner.attributes[GATE] = ir.IntegerAttr.get(emit.i64(), number)
    return buffer


def _pass_gate(foralls: list[Any], number: int) -> None:
    for forall in foralls:
        forall.attributes[GATE] = ir.IntegerAttr.get(emit.i64(), number)


def _picking(found: Components, rows: Mixed, gates: list[Any]) -> Any:
    """A forall of one iteration that opens one of the gates."""
    (count,) = counts_of(found.forall)
    offsets = found.offsets
    forall = forall_over(1)
    with ir.InsertionPoint(list(forall.regions[0].blocks[0].operations)[-1]):

        def longer(c: Any, carried: list[Any]) -> list[Any]:
            low, high = (emit.to_index(memref.load(offsets, [emit.value(at)])) for at in (c, emit.add(c, 1)))
            return [emit.maximum(carried[0], emit.sub(high, low))]

        (longest,) = emit.for_loop(count, [emit.value(0)], longer, "maxsi")
        share = arith.cmpi(_SGT, emit.mul(longest, SHARE), emit.value(rows))
        skewed = arith.andi(arith.cmpi(_SGT, longest, emit.value(LONG)), share)
        closed, opened = (emit.constant(emit.i64(), number) for number in (1, 0))
        memref.store(arith.select(skewed, closed, opened), gates[0], [emit.value(0)])
        memref.store(arith.select(skewed, opened, closed), gates[1], [emit.value(0)])
    return forall
