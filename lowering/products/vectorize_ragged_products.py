"""`vectorize-ragged-products`: sums of products keep a block of their results in vector registers."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from itertools import takewhile

from ragged_dialect._mlir import DYNAMIC, ir
from ragged_dialect.ir import build, flow
from ragged_dialect.ir.match import defining_op, enclosing, is_zeros
from ragged_dialect.ir.walk import find_ops
from ragged_dialect.lowering.buffers.subviews import is_address, is_own, root
from ragged_dialect.lowering.math.library import require_isa
from ragged_dialect.lowering.products import amx
from ragged_dialect.lowering.products.emit import ProductEmitter
from ragged_dialect.lowering.products.micro_kernel import RegisterBlock
from ragged_dialect.lowering.products.pairs import PairEmitter
from ragged_dialect.lowering.products.product import Product, product_of
from ragged_dialect.lowering.products.tiles import TileEmitter
from ragged_dialect.lowering.vector.machine import Registers, registers
from ragged_dialect.passes.base import RaggedPass

_RESHAPES = ("memref.collapse_shape", "memref.expand_shape", "memref.cast")


@dataclass(frozen=True)
class VectorizeRaggedProducts(RaggedPass):
    """Compute products of matrices on blocks of vector registers, whichever of their loops are ragged.

    ```mlir
    linalg.generic {(m, k, n) -> (m, k), (k, n), (m, n)} … { %p = arith.mulf %a, %b … %s = arith.addf %acc, %p … }
    // becomes, in loops over strips of rows, k, n and m
    // a panel of %b, copied
    %sums:8 = scf.for %k … iter_args(%t0 = %zeros, …) -> (vector<32xf32>, …) {
      %row = vector.load %panel[%k, 0] …  %t0_next = %t0 + broadcast(%a[%m, %k]) * %row … }
    // and the sums are added to what was there
    ```

    One loop is reduced, one runs along memory in the result and is of the right side, which is along memory there or
    in the sums, and one is of the result and the left side; others are loops around. Rows that are no whole block are
    computed by half of them, with the last row again; few rows are a block of as many, which is wider.
    The order of a sum depends on its length only, but of a few rows times a right side that would be turned. `isa` is
    that of expand-ragged-math; where it has products of pairs, those of bf16 are made so, two of each sum in a lane
    (`pairs.py`), and with `amx` in tiles where it has these, which a process has to ask Linux for (`tiles.py`).
    Products of other short floats stay as they are, and in less than half a register along memory those of few terms,
    or of many and a right side to turn; so do ends of rows where a processor has no masks.
    Preconditions: bufferized, parallel loops are outlined; before hoist-stack-buffers.
    """

    isa: str = "auto"
    amx: bool = True

    def run(self, op: ir.Operation) -> None:
        """Rewrite the products of every function of a module."""
        require_isa(op, self.isa)
        found = registers(self.isa, self.amx)
        if found is None:
            return
        for inner in find_ops(op, "linalg.generic"):
            product = product_of(inner)
            if product is None:
                continue
            with ir.InsertionPoint(inner), inner.location:
                regs = RegisterBlock.of(product.out.element, self.isa)
                emitter = _emitter(product, found)
                if emitter is None or not product.fits(regs, found.bytes // regs.square in found.masked):
                    continue
                with _tiles(inner) if emitter is TileEmitter else nullcontext():
                    _rewrite(inner, product, regs, emitter)
                inner.erase()


@contextmanager
def _tiles(op: ir.Operation) -> Generator[None]:
    """Tiles for what is made before an op, once for the loops around it: shaping them takes 50 ns."""
    while (outer := enclosing(op)).name.startswith("scf.") and amx.are_kept(outer):
        op = outer
    with ir.InsertionPoint(op):
        amx.shape()
    yield
    with ir.InsertionPoint.after(op):
        amx.free()


def _emitter(product: Product, found: Registers) -> type[ProductEmitter] | None:
    """What has the loops of a product, None for other types."""
    if product.of == [product.out.element] * 2:
        return ProductEmitter
    if not found.dots or product.of != [ir.BF16Type.get()] * 2:
        return None
    return TileEmitter if found.tiles and TileEmitter.fits(product) else PairEmitter


def _rewrite(op: ir.Operation, product: Product, regs: RegisterBlock, kind: type[ProductEmitter]) -> None:
    """The loops of a product. A right side that has to be turned is turned for more than a few rows only."""
    fill = _zeros(op, product.out.buffer)
    found = defining_op(product.right.buffer)
    emitter = kind(product, regs, fill is not None, found is not None and found.block == op.block)
    if not product.turned:
        emitter.run()
    else:
        few = build.less(product.out.extent(product.m), regs.rows // 2)
        flow.choose(few, lambda: _copies(fill, op), emitter.run, [])
    if fill is not None:
        fill.erase()


def _copies(*ops: ir.Operation | None) -> None:
    """Ops as they are."""
    for op in ops:
        if op is not None:
            op.clone()


def _zeros(op: ir.Operation, out: ir.Value) -> ir.Operation | None:
    """A fill before an op, which wrote zeros to its result, with nothing between but loads from other buffers."""
    earlier = takewhile(lambda x: x != op, [x.operation for x in op.block.operations])
    before = next((x for x in reversed(list(earlier)) if not (is_address(x) or _reads_apart(x, root(out)))), None)
    return before if before is not None and is_zeros(before) and _whole(before.operands[1]) == _whole(out) else None


def _reads_apart(op: ir.Operation, buffer: ir.Value) -> bool:
    """Whether an op loads from another buffer."""
    if op.name != "memref.load":
        return False
    other = root(op.operands[0])
    return other != buffer and is_own(other) and is_own(buffer)


def _whole(view: ir.Value) -> ir.Value:
    """What a view is all of."""
    while (op := defining_op(view)) is not None and (op.name in _RESHAPES or _is_all(op)):
        view = op.operands[0]
    return view


def _is_all(op: ir.Operation) -> bool:
    """Whether an op is a view of all elements of a buffer of known extents."""
    if op.name != "memref.subview" or DYNAMIC in op.operands[0].type.shape:
        return False
    return list(op.attributes["static_sizes"]) == list(op.operands[0].type.shape)
