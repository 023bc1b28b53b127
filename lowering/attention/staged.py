"""Elements of tensors that scores are made with, where these lie along keys in memory and queries along lanes: squares
of them are turned in registers, as rows of queries are. Loads of one element for each lane take several times as long.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ragged_dialect._mlir import arith, ir, memref, vector
from ragged_dialect.ir import build
from ragged_dialect.ir.build import Mixed
from ragged_dialect.ir.clone import ValueMap, clone
from ragged_dialect.ir.match import defining_op
from ragged_dialect.ir.walk import makers
from ragged_dialect.lowering.math.emitter import Emitter
from ragged_dialect.lowering.products.micro_kernel import RegisterBlock, transposed

_CASTS = ("arith.extf", "arith.truncf")


@dataclass(frozen=True)
class Staged:
    """An element that a score, a `block`, is made with: `load` reads it, `casts` make numbers of the type of scores of
    it, but of booleans, and `scratch` has them for a tile, in rows of lanes."""

    block: ir.Block
    load: ir.Operation
    casts: list[ir.Operation]
    scratch: ir.Value

    @staticmethod
    def of(block: ir.Block, regs: RegisterBlock, rows: int) -> list[Staged]:
        """Those of a score."""
        loads = [op.operation for op in block.operations if op.operation.name == "tensor.extract"]
        found = [(load, _casts(load, regs.element)) for load in loads if _is_along_keys(load, block)]
        return [Staged(block, load, casts, regs.scratch(rows)) for load, casts in found if casts is not None]

    @property
    def _is_boolean(self) -> bool:
        return self.load.results[0].type == ir.IntegerType.get_signless(1)

    def fill(
        self, regs: RegisterBlock, numbers: Callable[[Mixed, Mixed], list[ir.Value]], row: Mixed, at: Mixed
    ) -> None:
        """Copy a square, of queries from a lane on and keys from a place on; `numbers` are the arguments of the score
        for a lane and a place."""
        n = regs.square
        rows = [self._row(n, numbers(build.add(row, k), at)) for k in range(n)]
        for k, column in enumerate(transposed(rows)):
            vector.store(column, self.scratch, [build.value(build.add(at, k)), build.value(row)])

    def _row(self, lanes: int, arguments: list[ir.Value]) -> ir.Value:
        """Elements for keys from one on, as numbers; nothing in particular behind the last one in memory."""
        known: ValueMap = dict(zip(self.block.arguments, arguments, strict=True))
        for op in _before(self.load, self.block):
            clone(op, known)
        x, *at = [known.get(v, v) for v in self.load.operands]
        element, rank = x.type.element_type, x.type.rank
        make = ir.IntegerAttr if self._is_boolean else ir.FloatAttr
        padding = arith.ConstantOp(element, make.get(element, 0)).result
        along = ir.AffineMap.get_minor_identity(rank, 1)
        found = vector.TransferReadOp(ir.VectorType.get([lanes], element), x, at, along, padding, [False]).result
        if self._is_boolean:
            return arith.uitofp(ir.VectorType.get([lanes], self.scratch.type.element_type), found)
        for cast in self.casts:
            type_ = ir.VectorType.get([lanes], cast.results[0].type)
            found = ir.Operation.create(cast.name, [type_], [found]).result
        return found

    def known(self, at: list[ir.Value]) -> ValueMap:
        """What stands for the element in a score, of a place and a lane."""
        number = memref.load(self.scratch, at)
        if self._is_boolean:
            zero = Emitter().constant(number.type, 0.0)
            return {self.load.results[0]: arith.cmpf(arith.CmpFPredicate.UNE, number, zero)}
        made = self.casts[-1] if self.casts else self.load
        return {made.results[0]: number}


def _casts(load: ir.Operation, wanted: ir.Type) -> list[ir.Operation] | None:
    """The ops that make numbers of a type of an element, alone to use it; None where there are none."""
    value, found = load.results[0], list[ir.Operation]()
    if value.type == ir.IntegerType.get_signless(1):
        return found
    while value.type != wanted:
        users = [use.owner.operation for use in value.uses]
        if len(users) != 1 or users[0].name not in _CASTS:
            return None
        found.append(users[0])
        value = users[0].results[0]
    return found


def _before(load: ir.Operation, block: ir.Block) -> list[ir.Operation]:
    """What of a block the operands of an op are made of, in order."""
    return makers(load.operands, [op.operation for op in block.operations])


def _is_along_keys(load: ir.Operation, block: ir.Block) -> bool:
    """Whether the next key's element is the next one in memory, and the next query's another one."""
    score, *_, query, key = block.arguments
    reached = [x for op in (load, *_before(load, block)) for x in op.operands]
    if score in reached or query not in reached or len(load.operands) < 2:
        return False
    *others, last = list(load.operands)[1:]
    return not any(_depends(x, key) for x in others) and _is_next(last, key)


def _is_next(x: ir.Value, key: ir.Value) -> bool:
    """Whether an index is a key's number and something that is the same for all keys."""
    op = defining_op(x)
    if x == key or op is None or op.name not in ("arith.addi", "arith.subi"):
        return x == key
    a, b = op.operands
    if _depends(a, key):
        return _is_next(a, key) and not _depends(b, key)
    return op.name == "arith.addi" and _is_next(b, key)


def _depends(x: ir.Value, key: ir.Value) -> bool:
    op = defining_op(x)
    inside = op is not None and op.block == key.owner
    return x == key or (inside and op is not None and any(_depends(v, key) for v in op.operands))
