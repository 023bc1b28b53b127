"""`convert-ragged-forall-to-loops`: bufferized foralls and flat ops become loops marked parallel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragged_dialect._mlir import DYNAMIC, ir, memref, scf
from ragged_dialect.generic import indexing_maps, iterator_kinds
from ragged_dialect.ir import build
from ragged_dialect.ir.walk import find_ops
from ragged_dialect.lowering.buffers import plain_dim, range_view, require_buffers
from ragged_dialect.lowering.forall_bounds import counts_of
from ragged_dialect.lowering.gpu.attributes import THREADS
from ragged_dialect.passes.base import RaggedPass

PARALLEL = "ragged.parallel"
"""Attribute of an `scf.for` whose iterations are independent."""

_CHUNK = 16384
_FLAT = ("linalg.generic", "linalg.fill", "linalg.copy")


@dataclass(frozen=True)
class ConvertRaggedForallToLoops(RaggedPass):
    """Turn `scf.forall` on buffers into one `scf.for` marked `ragged.parallel`.

    ```mlir
    scf.forall (%b) in (%n) { … }
    // becomes
    scf.for %b = %c0 to %n step %c1 { … } {ragged.parallel}
    ```

    Flat linalg ops whose first loop is parallel are cut into chunks of about `chunk` elements, in a
    marked loop too. Foralls inside foralls run serially. Precondition: bufferized.
    """

    name: ClassVar[str] = "convert-ragged-forall-to-loops"
    chunk: int = _CHUNK

    def run(self, op: ir.Operation) -> None:
        """Convert every function of a module."""
        require_buffers(op)
        for function in op.regions[0].blocks[0].operations:
            if function.operation.name == "func.func":
                for block in function.operation.regions[0].blocks:
                    _convert_block(block, True, self.chunk)


def _convert_block(block: ir.Block, parallel: bool, chunk: int) -> None:
    for op in list(block.operations):
        op = op.operation
        if op.name == "scf.forall":
            with ir.InsertionPoint(op), op.location:
                _convert_forall(op, parallel, chunk)
        elif op.name in _FLAT and parallel:
            with ir.InsertionPoint(op), op.location:
                _cut(op, chunk)
        elif op.name.startswith("scf."):
            for region in op.regions:
                for inner in region.blocks:
                    _convert_block(inner, parallel, chunk)


def _convert_forall(op: ir.Operation, parallel: bool, chunk: int) -> None:
    counts = counts_of(op)
    loop = scf.ForOp(build.value(0), build.value(build.product(counts)), build.value(1))
    alone = THREADS in op.attributes and op.attributes[THREADS].value == 1
    if parallel and not alone:
        loop.operation.attributes[PARALLEL] = ir.UnitAttr.get()
    source = op.regions[0].blocks[0]
    with ir.InsertionPoint(loop.body):
        rest, indices = loop.induction_variable, []
        for count in reversed(counts[1:]):
            outer = build.divide(rest, count)
            indices.insert(0, build.sub(rest, build.mul(outer, count)))
            rest = outer
        indices.insert(0, rest)
        for old, new in zip(source.arguments, indices, strict=True):
            old.replace_all_uses_with(new)
        end = scf.yield_([])
    anchor = end.operation if hasattr(end, "operation") else list(loop.body.operations)[-1].operation
    for inner in list(source.operations)[:-1]:
        inner.operation.move_before(anchor)
    op.erase()
    _convert_block(loop.body, False, chunk)


def _cut(op: ir.Operation, chunk: int) -> None:
    """Run a flat op in chunks of its first loop."""
    maps = indexing_maps(op)
    rank = maps[0].n_dims
    if rank == 0 or not _first_is_parallel(op, maps) or _reads_first_index(op):
        return
    uses = [plain_dim(m, 0) for m in maps]
    if any(u is None for u in uses):
        return
    operands = list(op.operands)
    found = [(x, u) for x, u in zip(operands, uses, strict=True) if u is not None and u >= 0]
    static = [x.type.shape[u] for x, u in found if x.type.shape[u] != DYNAMIC]
    if not found or (static and static[0] * _inner(operands[-1], uses[-1]) <= chunk):
        return
    x, u = found[-1]
    extent = static[0] if static else memref.dim(x, build.value(u))
    rows = max(1, chunk // _inner(operands[-1], uses[-1]))
    loop = scf.ForOp(build.value(0), build.value(build.ceildiv(extent, rows)), build.value(1))
    loop.operation.attributes[PARALLEL] = ir.UnitAttr.get()
    with ir.InsertionPoint(loop.body):
        low = build.mul(loop.induction_variable, rows)
        size = build.minimum(rows, build.sub(extent, low))
        views = [x if u is None or u < 0 else range_view(x, u, low, size) for x, u in zip(operands, uses, strict=True)]
        scf.yield_([])
    op.move_before(list(loop.body.operations)[-1].operation)
    for k, view in enumerate(views):
        op.operands[k] = view


def _inner(x: ir.Value, dim: int | None) -> int:
    """Static elements of one step of a dim; dynamic dims count as 64."""
    total = 1
    for k, s in enumerate(x.type.shape):
        if k != dim:
            total *= 64 if s == DYNAMIC else max(s, 1)
    return total


def _first_is_parallel(op: ir.Operation, maps: list[ir.AffineMap]) -> bool:
    if op.name == "linalg.generic":
        return iterator_kinds(op)[0] == "parallel"
    return True


def _reads_first_index(op: ir.Operation) -> bool:
    return any(index.attributes["dim"].value == 0 for index in find_ops(op, "linalg.index"))
