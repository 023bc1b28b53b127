"""`convert-ragged-forall-to-loops`: bufferized foralls and flat ops become loops marked parallel."""

from __future__ import annotations

from dataclasses import dataclass

from ragged_dialect._mlir import ir, scf
from ragged_dialect.ir import build
from ragged_dialect.ir.functions import functions_of
from ragged_dialect.ir.match import blocks_of, body_ops
from ragged_dialect.ir.walk import append
from ragged_dialect.iteration import PARALLEL
from ragged_dialect.lowering.attributes import Mapping
from ragged_dialect.lowering.buffers.subviews import require_buffers
from ragged_dialect.lowering.loops.component_tiles import ComponentTiles
from ragged_dialect.lowering.nests.forall_bounds import counts_of
from ragged_dialect.lowering.rows.cutting import cut
from ragged_dialect.lowering.rows.groups import CHUNK, row_groups
from ragged_dialect.passes.base import PassFailure, RaggedPass

_LOOPS = ("scf.for", "scf.parallel", "scf.while")


@dataclass(frozen=True)
class ConvertRaggedForallToLoops(RaggedPass):
    """Turn `scf.forall` on buffers into one `scf.for` marked `ragged.parallel`.

    ```mlir
    scf.forall (%b) in (%n) { … }
    // becomes
    scf.for %b = %c0 to %n step %c1 { … } {ragged.parallel}
    ```

    Flat linalg ops whose first loop is parallel are cut into chunks of about `chunk` elements, a sixteenth of that
    where rows are read or written three times, in a marked loop too. Those over the same rows share a loop: a chunk is
    read from memory once, and what one op leaves for the next stays in cache. So are reductions of all rows into at
    most `results` elements, outside of loops: every
    chunk, of 16 elements for each result or more, is reduced into a buffer of its own, and these into the result, in
    their order, so it does not depend on the number of threads. Products of the rows of components, and what is done
    to their rows before and after, run by tiles of rows, wherever components begin: one that is much longer than the
    others is shared out. `ragged.mapping` of an op or a forall says otherwise: with one thread a loop is not marked,
    and `tile` is the chunk. Foralls inside foralls run serially. Precondition: bufferized.
    """

    chunk: int = CHUNK
    results: int = 65536

    def run(self, op: ir.Operation) -> None:
        """Convert every function of a module."""
        if self.chunk < 1:
            raise PassFailure(op, f"expected a chunk of at least 1 element, got {self.chunk}")
        require_buffers(op)
        for function in functions_of(op).values():
            for block in function.regions[0].blocks:
                self._convert(block, True, self.results)

    def _convert(self, block: ir.Block, parallel: bool, results: int) -> None:
        # Before those of flat ops, which are as they shall be.
        flow = [op.operation for op in block.operations if op.operation.name.startswith("scf.")]
        if parallel:
            for group in row_groups(block, self.chunk, results):
                cut(group)
        for op in flow:
            if op.name == "scf.forall":
                tiles = ComponentTiles.of(op, self.chunk) if parallel else None
                if tiles is not None:
                    tiles.emit()
                    continue
                with ir.InsertionPoint(op), op.location:
                    body = _convert_forall(op, parallel)
                self._convert(body, False, 0)
            elif PARALLEL not in op.attributes:
                for inner in blocks_of(op):
                    self._convert(inner, parallel, 0 if op.name in _LOOPS else results)


def _convert_forall(op: ir.Operation, parallel: bool) -> ir.Block:
    """Replace a forall by a loop, of which this is the body."""
    counts = counts_of(op)
    loop = scf.ForOp(build.value(0), build.value(build.product(counts)), build.value(1))
    mapping = Mapping.of(op)
    if parallel and not mapping.is_serial:
        loop.operation.attributes[PARALLEL] = ir.UnitAttr.get()
        Mapping(tile=mapping.tile).give(loop.operation)
    source = op.regions[0].blocks[0]
    with ir.InsertionPoint(loop.body):
        indices = build.digits(loop.induction_variable, counts)
        for old, new in zip(source.arguments, indices, strict=True):
            old.replace_all_uses_with(build.value(new))
        append(loop.body, body_ops(source))
        scf.yield_([])
    op.erase()
    return loop.body
