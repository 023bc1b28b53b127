"""`narrow-ragged-loops`: loops run over the iterations that a mask of indices keeps."""

from __future__ import annotations

from dataclasses import dataclass

from ragged_dialect._mlir import arith, ir, memref
from ragged_dialect.ir import build
from ragged_dialect.ir.match import body_ops, constant_int, terminator
from ragged_dialect.ir.walk import find_ops, is_outside
from ragged_dialect.lowering.nests.combiners import Combiner, find_combiner
from ragged_dialect.lowering.nests.masked import Mask, is_neutral
from ragged_dialect.passes.base import RaggedPass


class NarrowRaggedLoops(RaggedPass):
    """Run the innermost loop of a nest over the iterations alone whose elements a mask of indices does not leave out.

    ```mlir
    scf.for %j = %c0 to %n step %c1 {
      %later = arith.cmpi slt, %i, %j : index
      %x = arith.select %later, %product, %zero : f32
      %s = arith.addf %acc, %x : f32 … memref.store %s, %sum[]
    }
    // becomes
    %first = arith.addi %i, %c1 : index
    %low = arith.maxsi %c0, %first : index
    scf.for %j = %low to max(%low, %n) step %c1 { … %s = arith.addf %acc, %product : f32 … }
    ```

    Pairs of which each counts once, windows of some elements beside each other, what came before: of the pairs of a
    component such a mask keeps half, a row of a band, or none. It compares the index of the loop with those of loops
    around it, numbers and a value of outside; what it leaves out has to be neutral to all that the loop combines, or of
    no more effect together than once. Preconditions: linalg ops are loops.
    """

    def run(self, op: ir.Operation) -> None:
        """Narrow every innermost loop of a module that another loop is around."""
        for loop in find_ops(op, "scf.for"):
            sums = _sums_of(loop) if constant_int(loop.operands[2]) == 1 else None
            if not sums:
                continue
            ops, combiners = body_ops(loop.regions[0].blocks[0]), [x.combiner for x in sums]
            for mask in Mask.all_of(loop, ops, combiners, [True] * len(sums)):
                with loop.location:
                    _narrow(loop, mask, sums)


@dataclass(frozen=True)
class _Sum:
    """What a loop combines elements to: in a place of a buffer, or as one of its results."""

    combiner: Combiner
    result: ir.Value | None = None
    place: tuple[ir.Value, ...] = ()

    def add(self, loop: ir.Operation, element: ir.Value, condition: ir.Value) -> None:
        """Combine one more element after the loop, where a condition holds."""
        uses = [] if self.result is None else [(use.owner.operation, use.operand_number) for use in self.result.uses]
        with ir.InsertionPoint.after(loop):
            known = memref.load(self.place[0], self.place[1:]) if self.result is None else self.result
            found = arith.select(condition, self.combiner.apply(element, known), known)
            if self.result is None:
                memref.store(found, self.place[0], self.place[1:])
        for user, number in uses:
            user.operands[number] = found


def _sums_of(loop: ir.Operation) -> list[_Sum] | None:
    """What an innermost loop combines; None where it does anything else."""
    block = loop.regions[0].blocks[0]
    _, *carried = block.arguments
    sums: list[_Sum] = []
    for result, so_far, yielded in zip(loop.results, carried, terminator(block).operands, strict=True):
        combiner = find_combiner(so_far, yielded)
        if combiner is None:
            return None
        sums.append(_Sum(combiner, result))
    for op in body_ops(block):
        if op.name == "memref.store":
            value, *place = op.operands
            loads = [x for x in body_ops(block) if x.name == "memref.load" and list(x.operands) == place]
            combiner = find_combiner(loads[0].results[0], value) if len(loads) == 1 else None
            if combiner is None or not all(is_outside(x, loop) for x in place):
                return None
            sums.append(_Sum(combiner, place=tuple(place)))
        elif op.name not in ("memref.load", "memref.dim") and not op.name.startswith(("arith.", "math.")):
            return None
    return sums


def _narrow(loop: ir.Operation, mask: Mask, sums: list[_Sum]) -> None:
    low, high = list(loop.operands)[:2]
    with ir.InsertionPoint(loop):
        first, end = mask.narrow(low, high, {})
    for one, number in zip(sums, mask.left, strict=True):
        if not is_neutral(one.combiner, number):
            with ir.InsertionPoint(loop):
                fewer = build.less(arith.subi(end, first), build.maximum(build.value(arith.subi(high, low)), 0))
                element = build.constant(one.combiner.result.type, number)
            one.add(loop, element, fewer)
    loop.operands[0], loop.operands[1] = first, end
    with ir.InsertionPoint(mask.op):
        mask.op.results[0].replace_all_uses_with(build.constant(mask.op.results[0].type, True))
    mask.op.erase()
