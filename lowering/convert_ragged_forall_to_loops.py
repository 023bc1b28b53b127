"""`convert-ragged-forall-to-loops`: bufferized foralls and flat ops become loops marked parallel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragged_dialect._mlir import ir, scf
from ragged_dialect.ir import build
from ragged_dialect.iteration import PARALLEL
from ragged_dialect.lowering.attributes import Mapping
from ragged_dialect.lowering.buffers import require_buffers
from ragged_dialect.lowering.component_tiles import ComponentTiles
from ragged_dialect.lowering.forall_bounds import counts_of
from ragged_dialect.lowering.row_groups import cut, row_groups
from ragged_dialect.passes.base import PassFailure, RaggedPass

_CHUNK = 16384


@dataclass(frozen=True)
class ConvertRaggedForallToLoops(RaggedPass):
    """Turn `scf.forall` on buffers into one `scf.for` marked `ragged.parallel`.

    ```mlir
    scf.forall (%b) in (%n) { … }
    // becomes
    scf.for %b = %c0 to %n step %c1 { … } {ragged.parallel}
    ```

    Flat linalg ops whose first loop is parallel are cut into chunks of about `chunk` elements, in a
    marked loop too. Those over the same rows share a loop: a chunk is read from memory once, and what one op leaves
    for the next stays in cache. Products of the rows of components, and what is done to their rows before and after,
    run by tiles of rows, wherever components begin: one that is much longer than the others is shared out.
    `ragged.mapping` of an op or a forall says otherwise: with one thread a loop is not marked, and `tile` is the
    chunk. Foralls inside foralls run serially. Precondition: bufferized.
    """

    name: ClassVar[str] = "convert-ragged-forall-to-loops"
    chunk: int = _CHUNK

    def run(self, op: ir.Operation) -> None:
        """Convert every function of a module."""
        if self.chunk < 1:
            raise PassFailure(op, f"expected a chunk of at least 1 element, got {self.chunk}")
        require_buffers(op)
        for function in op.regions[0].blocks[0].operations:
            if function.operation.name == "func.func":
                for block in function.operation.regions[0].blocks:
                    _convert_block(block, True, self.chunk)


def _convert_block(block: ir.Block, parallel: bool, chunk: int) -> None:
    ops = [op.operation for op in block.operations]  # the loops of flat ops are as they shall be
    if parallel:
        for group in row_groups(block):
            cut(group, chunk)
    for op in ops:
        if op.name == "scf.forall":
            tiles = ComponentTiles.of(op) if parallel else None
            if tiles is not None:
                tiles.emit(chunk)
                continue
            with ir.InsertionPoint(op), op.location:
                _convert_forall(op, parallel, chunk)
        elif op.name.startswith("scf.") and PARALLEL not in op.attributes:
            for region in op.regions:
                for inner in region.blocks:
                    _convert_block(inner, parallel, chunk)


def _convert_forall(op: ir.Operation, parallel: bool, chunk: int) -> None:
    counts = counts_of(op)
    loop = scf.ForOp(build.value(0), build.value(build.product(counts)), build.value(1))
    mapping = Mapping.of(op)
    if parallel and not mapping.is_serial:
        loop.operation.attributes[PARALLEL] = ir.UnitAttr.get()
        Mapping(tile=mapping.tile).give(loop.operation)
    source = op.regions[0].blocks[0]
    with ir.InsertionPoint(loop.body):
        rest: build.Mixed = loop.induction_variable
        indices: list[build.Mixed] = []
        for count in reversed(counts[1:]):
            outer = build.divide(rest, count)
            indices.insert(0, build.sub(rest, build.mul(outer, count)))
            rest = outer
        indices.insert(0, rest)
        for old, new in zip(source.arguments, indices, strict=True):
            old.replace_all_uses_with(build.value(new))
        end = scf.yield_([])
    anchor = end.operation if hasattr(end, "operation") else list(loop.body.operations)[-1].operation
    for inner in list(source.operations)[:-1]:
        inner.operation.move_before(anchor)
    op.erase()
    _convert_block(loop.body, False, chunk)
