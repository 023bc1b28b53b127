"""How large the tile of a block is, and which warps share it."""

from __future__ import annotations

from dataclasses import dataclass

from ragged_dialect._mlir import ir
from ragged_dialect.device_model import DEVICE
from ragged_dialect.lowering.gpu.contract.match import Contraction
from ragged_dialect.lowering.gpu.contract.shared import Tile
from ragged_dialect.lowering.gpu.kernel.generic_op import GenericOp

STEP = DEVICE.contract_step
"""How far a step goes along what is summed."""


@dataclass(frozen=True)
class Shape:
    """What a block has: warps below each other and side by side, each with `high` rows and `wide` columns."""

    down: int
    across: int
    high: int
    wide: int

    @staticmethod
    def of(found: Contraction, threads: int) -> Shape:
        """That of a product, of at most so many threads: as large as there is shared memory for two steps, but less
        than twice as wide as the result."""
        product, warps = GenericOp(found.product), max(1, threads // DEVICE.warp)
        columns, wide = product.static_extent(found.roles.n), DEVICE.contract_columns
        needed = 4 if columns is None else -(-columns // wide)
        shapes = (
            Shape(down, across, high, wide)
            for across in (4, 2, 1)
            for down in (min(warps // across, max(2, 4 // across)),)
            for high in (64, 32, 16)
            if across < 2 * needed and down * high <= DEVICE.contract_rows // (2 if is_long(product, found) else 1)
        )
        return next(shape for shape in shapes if shape.stages(element_of(product)) > 1)

    @property
    def threads(self) -> int:
        """Threads of the block."""
        return self.down * self.across * DEVICE.warp

    @property
    def rows(self) -> int:
        """Rows of its tile."""
        return self.down * self.high

    @property
    def columns(self) -> int:
        """Columns of its tile."""
        return self.across * self.wide

    def stages(self, element: ir.Type) -> int:
        """Steps for which there is shared memory."""
        sizes = ((self.rows, STEP), (STEP, self.columns))
        room = DEVICE.shared_bytes // sum(Tile.bytes_of(*size, element, swizzled=True) for size in sizes)
        return min(room, DEVICE.contract_stages)


def is_long(product: GenericOp, found: Contraction) -> bool:
    """Whether a sum may be of any length, as over the rows of a component: it is added up in two levels."""
    return product.static_extent(found.roles.k) is None


def element_of(product: GenericOp) -> ir.Type:
    """The type of what is multiplied."""
    return product.operands[0].type.element_type
