"""`vectorize-ragged-loops`: loops along memory run on vectors."""

from __future__ import annotations

from dataclasses import dataclass

from ragged_dialect._mlir import ir
from ragged_dialect.ir.match import ancestors
from ragged_dialect.ir.walk import find_ops
from ragged_dialect.lowering.loops.annotations import LOOP, keep_rolled
from ragged_dialect.lowering.math.library import require_isa
from ragged_dialect.lowering.nests.sum_nests import static_count
from ragged_dialect.lowering.vector.body import Body, Unfit, body_of, fills_runs
from ragged_dialect.lowering.vector.emit import vectorize
from ragged_dialect.lowering.vector.machine import Registers, registers
from ragged_dialect.lowering.vector.row_folds import RowFold
from ragged_dialect.lowering.vector.short_components import ShortComponents
from ragged_dialect.lowering.vector.short_rows import ShortRows
from ragged_dialect.passes.base import RaggedPass

SCALAR = "ragged.scalar"
"""Attribute of a loop that stays one of scalars: why."""


@dataclass(frozen=True)
class VectorizeRaggedLoops(RaggedPass):
    """Let innermost loops that run along memory, and compute or fold what is there, run on vectors.

    ```mlir
    scf.for %i = %c0 to %n step %c1 { %a = memref.load %x[%r, %i] … %s = arith.addf %t, %a fastmath<reassoc> … }
    // becomes
    %v = scf.for %i = %c0 to %m step %c64 iter_args(%t = %zeros) -> (vector<64xf32>) { … vector.load %x[%r, %i] … }
    scf.if %m < %n { %mask = vector.create_mask %n - %m … vector.maskedload %x[%r, %m], %mask, %zeros … }
    %s = halves of %v added, as a tree
    ```

    Loops over rows that fold these into one keep that in registers, with several rows in one where they are short,
    which may be written, too; of long ones a part after the other, where what is read is of the row or of the column
    alone (all pairs of two vectors). Where each row is folded by itself, or goes from column to column as a scan does,
    and has few columns, vectors have an element of each of many rows: what is next to each other in memory is taken
    apart by shuffles, and put together again. Loops that only read ask for memory early (`memref.prefetch`). Integers
    are divided as floats.

    Loops around others are marked, as LLVM would unroll them by two: that takes time to compile, and wins nothing.

    Folds of booleans, which nothing changes once one is true (`ori`) or false (`andi`), end then: that is asked every
    few iterations.

    A scan, which stores what there is so far, goes from register to register, and in one by steps of 1, 2, 4 … lanes.
    What is read from the end on is turned round.

    Where several loops go along a component, one of at most a register has no loops: what one of them writes and
    another one reads stays in the register, as memory would have to wait for what is written with a mask.

    A loop around one that puts a value into a run of each iteration (row ids, positions of what a mask keeps) stores
    the lanes whose runs have an element side by side, where none has more and the processor can.

    Sums are kept in registers, and how they are grouped depends on the number of iterations only. Rows are rarely a
    multiple of a vector: their end is masked where the processor masks accesses of all the widths, a register at a
    time if it is stored, and is left to the loop as it was elsewhere. Long copies and fills are loops of scalars in a
    branch of their own, which LLVM makes calls of. `isa` is that of expand-ragged-math. A loop in them that takes as
    many steps for all iterations, as a search that halves what is left of a table does, is one of vectors. Elements at
    places that are looked up are gathered, of 4 or 8 bytes with AVX-512. Loops with others in them, or whose iterations
    are not independent stay as they are; with `report` each has an attribute that says why.
    Preconditions: linalg ops are loops; before convert-vector-to-llvm.
    """

    isa: str = "auto"
    report: bool = False

    def run(self, op: ir.Operation) -> None:
        """Rewrite the loops of every function, inner ones first."""
        require_isa(op, self.isa)
        found = registers(self.isa)
        if found is None:
            return
        self._vectorize(op, found)
        for inner in find_ops(op, "scf.for", "scf.while"):
            if inner.name == "scf.while" or static_count(inner) is None:  # LLVM does not take it apart
                for loop in ancestors(inner):
                    if loop.name == "scf.for" and LOOP not in loop.attributes:
                        keep_rolled(loop)

    def _vectorize(self, op: ir.Operation, found: Registers) -> None:
        loops: list[ir.Operation] = []
        folded: list[ir.Operation] = []
        bodies: dict[ir.Operation, Body] = {}
        long: set[ir.Operation] = set()
        for loop in _by_index(op):
            short = ShortComponents.of(loop)
            if short is not None and short.fits(found):
                short.emit(found)
                long |= short.bodies.keys()
        for loop in _by_index(op):
            if loop in folded:
                continue
            fold = RowFold.of(loop)
            if fold is not None and fold.fits(found):
                folded.append(fold.body.loop)
                fold.emit(found)
            elif (rows := ShortRows.of(loop)) is not None and rows.fits(found):
                folded.append(rows.inner)
                rows.emit(found)
            else:
                loops.append(loop)
                bodies |= {} if fold is None else {fold.body.loop: fold.body}
        runs = [loop for loop in loops if fills_runs(loop)]  # before the loops in them, which they have twice
        for loop in (*runs, *(loop for loop in reversed(loops) if loop not in runs)):
            try:
                reason = (
                    None
                    if vectorize(bodies.pop(loop, None) or body_of(loop), found, long=loop in long)
                    else "its length"
                )
            except Unfit as unfit:
                reason = str(unfit)
            if reason is not None and self.report:
                loop.attributes[SCALAR] = ir.StringAttr.get(reason)


def _by_index(op: ir.Operation) -> list[ir.Operation]:
    """The loops of an index; those of another integer stay as they are."""
    return [loop for loop in find_ops(op, "scf.for") if isinstance(loop.operands[0].type, ir.IndexType)]
