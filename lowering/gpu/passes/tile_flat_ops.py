"""`tile-flat-ops`: linalg ops on the host become foralls over tiles."""

from __future__ import annotations

from dataclasses import dataclass

from ragged_dialect._mlir import ir
from ragged_dialect.device_model import DEVICE
from ragged_dialect.lowering.buffers.subviews import is_address
from ragged_dialect.lowering.gpu.passes.flat_runs import Cut, joins, tile
from ragged_dialect.lowering.gpu.passes.host_code import blocks_to_tile
from ragged_dialect.passes.base import RaggedPass


@dataclass(frozen=True)
class TileFlatOps(RaggedPass):
    """Cut the linalg ops that stand on the host into tiles, of which a forall does one per iteration.

    ```mlir
    linalg.generic … ins(%x : memref<?xf32>) outs(%y : memref<?xf32>)
    linalg.generic … ins(%y : memref<?xf32>) outs(%z : memref<?xf32>)
    // becomes
    scf.forall (%t) in (%tiles) { linalg.generic … linalg.generic … }
    ```

    Neighbouring ops whose tiles depend on the same tile only share a forall. An op without a loop that can be cut
    becomes a forall of one iteration. Whole tiles have static extents. `tile` is the number of elements of a tile
    where an op's `ragged.mapping` does not say; ops that are mapped otherwise are in foralls of their own.
    Precondition: `wrap-ragged-device-code`.
    """

    tile: int = DEVICE.tile

    def run(self, op: ir.Operation) -> None:
        """Tile the host code of every function of a module."""
        for block in blocks_to_tile(op, self.tile):
            for run in _runs(block):
                tile(run, self.tile)


def _runs(block: ir.Block) -> list[list[Cut]]:
    """The ops of a block that share foralls."""
    runs: list[list[Cut]] = [[]]
    for op in [o.operation for o in block.operations]:
        if op.name == "linalg.generic":
            cut = Cut.of(op)
            if runs[-1] and not joins(runs[-1], cut):
                runs.append([])
            runs[-1].append(cut)
        elif not is_address(op):
            runs.append([])
    return [run for run in runs if run]
