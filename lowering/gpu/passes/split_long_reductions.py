"""`split-long-reductions`: reductions of a long array into a small one, in two steps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from ragged_dialect._mlir import ir
from ragged_dialect.device_model import DEVICE
from ragged_dialect.generic import filled
from ragged_dialect.ir import build
from ragged_dialect.lowering.attributes import Mapping
from ragged_dialect.lowering.gpu.kernel.combiner import combiners_of
from ragged_dialect.lowering.gpu.kernel.generic_op import GenericOp
from ragged_dialect.lowering.gpu.passes.flat_runs import Cut, place
from ragged_dialect.lowering.gpu.passes.host_code import blocks_to_tile
from ragged_dialect.lowering.nests.forall_bounds import inside_forall
from ragged_dialect.lowering.nests.partial_reductions import allocated, combine, part
from ragged_dialect.passes.base import RaggedPass


@dataclass(frozen=True)
class SplitLongReductions(RaggedPass):
    """Reduce a long array on the host in two steps: parts of it by many blocks, then the parts by one.

    ```mlir
    linalg.generic … ["reduction"] ins(%x : memref<?xf32>) outs(%sum : memref<f32>)
    // becomes
    %parts = memref.alloc(%tiles) : memref<?xf32>
    scf.forall (%t) in (%tiles) { … fill of a part … linalg.generic … ["reduction"] ins(%tile) outs(%part) }
    linalg.generic … ["reduction"] ins(%parts : memref<?xf32>) outs(%sum : memref<f32>)
    ```

    Reductions are split that have few results and whose combiner has a neutral element. The order is fixed, so
    results do not depend on timing. `tile` is that of `tile-flat-ops`, parts are larger. Precondition:
    `wrap-ragged-device-code`.
    """

    tile: int = DEVICE.tile

    def run(self, op: ir.Operation) -> None:
        """Split the reductions in the host code of every function of a module."""
        for block in blocks_to_tile(op, self.tile):
            for generic in [o.operation for o in block.operations if o.operation.name == "linalg.generic"]:
                loop = _split_loop(generic)
                if loop is not None:
                    _split(generic, loop, Mapping.of(generic).tile or self.tile)


def _split_loop(op: ir.Operation) -> int | None:
    """The reduction loop whose iterations are worth several blocks, None when there is none."""
    generic = GenericOp(op)
    extents = [generic.static_extent(d) for d, parallel in enumerate(generic.parallel) if parallel]
    if not generic.reductions or any(e is None for e in extents) or prod(e or 0 for e in extents) > DEVICE.blocks:
        return None
    if len(combiners_of(generic)) < len(generic.outs):
        return None
    return next((d for d in generic.reductions if _is_long(generic, d) and generic.has_ranges(d)), None)


def _is_long(generic: GenericOp, loop: int) -> bool:
    """Whether a loop has many iterations, or may have."""
    extent = generic.static_extent(loop)
    return extent is None or extent > DEVICE.blocks


def _split(op: ir.Operation, loop: int, elements: int) -> None:
    """Replace a reduction by a forall that makes parts and ops that combine them."""
    generic = GenericOp(op)
    combiners = combiners_of(generic).values()
    with ir.InsertionPoint(op), op.location:
        inner = prod(max(1, generic.static_extent(d) or 1) for d in range(generic.rank) if d != loop)
        rows = max(1, DEVICE.part_tiles * elements // inner)
        extent = generic.extent(loop)
        tiles = build.ceildiv(extent, rows)
        parts = [allocated(tiles, out) for out in generic.outs]
        with inside_forall(tiles) as (forall, tile):
            replace(Mapping.of(op), tile=None).give(forall)
            low = build.mul(tile, rows)
            targets = [part(kept, tile) for kept in parts]
            for combiner, target in zip(combiners, targets, strict=True):
                filled(combiner.identity(), target)  # start from the neutral element
            place([Cut(generic, loop)], low, rows, extent, {generic.n_inputs + k: t for k, t in enumerate(targets)})
        for combiner, kept, out in zip(combiners, parts, generic.outs, strict=True):
            combine(combiner, kept, out)
    op.erase()
