"""Which ops multiply matrices, and what each of their loops is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from ragged_dialect._mlir import DYNAMIC, ir, memref
from ragged_dialect.generic import indexing_maps, iterator_kinds
from ragged_dialect.ir import build
from ragged_dialect.ir.build import Mixed
from ragged_dialect.ir.match import sums_products
from ragged_dialect.lowering.buffers.subviews import layout_strides, subview
from ragged_dialect.lowering.products.micro_kernel import RegisterBlock

_LONG = 16
"""Terms of a sum from which a few columns are worth a register with idle lanes: 64 terms in 4 columns, in float32, take
a seventh of the time of scalars on a Zen 5 core. Of few terms LLVM makes code of several rows, which is faster. With
AVX-512 a right side is turned for up to so many terms, for each column but two: of fewer terms a sum along memory for
each column takes up to 8 times as long, of more 0.3 to 0.9 of the time (Zen 4)."""


Places: TypeAlias = dict[int, Mixed]
"""Where in each loop."""


@dataclass(frozen=True)
class Side:
    """A buffer and the loop of each of its dims."""

    buffer: ir.Value
    loops: tuple[int, ...]

    def extent(self, loop: int) -> Mixed:
        """The extent of a loop, which this side has."""
        dim = self.loops.index(loop)
        size = self.buffer.type.shape[dim]
        return memref.dim(self.buffer, build.value(dim)) if size == DYNAMIC else size

    def rows(self, loop: int, places: Places, count: Mixed, columns: Mixed) -> ir.Value:
        """A view of some rows along a loop, of as many elements of the last dim."""
        sizes: list[Mixed] = [1] * len(self.loops)
        sizes[self.loops.index(loop)], sizes[-1] = count, columns
        view = subview(self.buffer, self.at(places), sizes, [self.loops.index(loop), len(sizes) - 1])
        layout = ir.StridedLayoutAttr.get(DYNAMIC, [DYNAMIC, 1])
        type_ = ir.MemRefType.get([DYNAMIC, DYNAMIC], view.type.element_type, layout, view.type.memory_space)
        return memref.cast(type_, view)

    @property
    def element(self) -> ir.Type:
        """The type of its elements."""
        return self.buffer.type.element_type

    def is_along_memory(self) -> bool:
        """Whether elements of the last dim are side by side."""
        return (layout_strides(self.buffer.type) or [0])[-1] == 1

    def at(self, places: Places) -> list[ir.Value]:
        """The indices for those of the loops."""
        return [build.value(places[loop]) for loop in self.loops]


@dataclass(frozen=True)
class Product:
    """out[…, m, n] += left[…, m, k] * right[…, k, n], with dims in any order but those along memory. Loops that both
    sides have may be behind m and n in the result."""

    out: Side
    left: Side
    right: Side
    m: int
    n: int
    k: int

    @property
    def turned(self) -> bool:
        """Whether the right side is along memory in the sums."""
        return self.right.loops[-1] == self.k

    @property
    def of(self) -> list[ir.Type]:
        """The types of what is multiplied."""
        return [self.left.element, self.right.element]

    def fits(self, regs: RegisterBlock, masked: bool) -> bool:
        """Whether half a register is filled along memory, or sums are long and would be across it, and there are
        masks if its ends need some."""
        shape, depth = self.out.buffer.type.shape, self.left.buffer.type.shape[self.left.loops.index(self.k)]
        columns = shape[self.out.loops.index(self.n)]
        filled = columns == DYNAMIC or 2 * columns >= regs.square
        if columns > 1 and self.turned:
            wide = regs.square * regs.size == 64
            filled = filled or (wide and 0 <= depth < _LONG * max(columns - 2, 1))
        else:
            filled = filled or (columns > 1 and depth >= _LONG)
        return filled and (masked or (not self.turned and columns != DYNAMIC and columns % regs.lanes == 0))


def product_of(op: ir.Operation) -> Product | None:
    """What a generic op multiplies, None where it is no such product."""
    operands, maps, kinds = list(op.operands), indexing_maps(op), iterator_kinds(op)
    if len(operands) != 3 or op.results or not sums_products(op):
        return None
    sides = [_side(x, m) for x, m in zip(operands, maps, strict=True)]
    first, second, out = sides
    if first is None or second is None or out is None or kinds.count("reduction") != 1:
        return None
    k, shared = kinds.index("reduction"), {*first.loops} & {*second.loops}
    apart = [loop for loop in out.loops if loop not in shared]
    if not apart:
        return None
    n = apart[-1]
    left, right = (first, second) if n in second.loops else (second, first)
    own = [loop for loop in apart if loop in left.loops]
    fits = right.loops[-1:] in ((n,), (k,)) and {n, k} <= {*right.loops} and k in left.loops and own
    if not fits or not (out.is_along_memory() and right.is_along_memory()):
        return None
    return Product(out, left, right, own[-1], n, k)


def _side(x: ir.Value, map_: ir.AffineMap) -> Side | None:
    exprs = list(map_.results)
    if not isinstance(x.type, ir.MemRefType) or not all(isinstance(e, ir.AffineDimExpr) for e in exprs):
        return None
    loops = tuple(ir.AffineDimExpr(e).position for e in exprs)
    return Side(x, loops) if len(set(loops)) == len(loops) else None
