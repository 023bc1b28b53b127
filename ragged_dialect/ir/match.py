"""Reading IR: which op makes a value, what is around an op, what a value or an op is."""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import TypeVar

from ragged_dialect._mlir import Op, ir
from ragged_dialect.errors import LayoutError

View = TypeVar("View", bound=ir.OpView)
_OUTSIDE = ("func.func", "builtin.module")


def defining_op(value: ir.Value) -> ir.Operation | None:
    """The op a value is a result of; None for a block argument."""
    owner = value.owner
    return None if isinstance(owner, ir.Block) else owner.operation


def definer(value: ir.Value) -> ir.Operation:
    """The op that a value, no block argument, is a result of."""
    op = defining_op(value)
    assert op is not None
    return op


def made_by(value: ir.Value, name: str) -> ir.Operation | None:
    """The op of a name that a value is a result of; None for any other value."""
    op = defining_op(value)
    return op if op is not None and op.name == name else None


def enclosing(op: Op) -> ir.Operation:
    """The op around an op that is in another one."""
    parent = op.parent
    assert parent is not None
    return parent.operation


def around(op: Op, name: str) -> ir.Operation:
    """The op of a name that an op is, or is in."""
    found = op.operation
    while found.name != name:
        found = enclosing(found)
    return found


def ancestors(op: Op) -> Iterator[ir.Operation]:
    """The ops around one in its function, inner ones first."""
    outer = enclosing(op)
    while outer.name not in _OUTSIDE:
        yield outer
        outer = enclosing(outer)


def in_block(op: ir.Operation, block: ir.Block) -> ir.Operation | None:
    """The op of a block that an op of a function is, or is in; None for one outside of it."""
    while op.name not in _OUTSIDE and op.block != block:
        op = enclosing(op)
    return None if op.name in _OUTSIDE else op


def is_made_in(value: ir.Value, *loops: ir.Operation) -> bool:
    """Whether the body of one of some loops, but nothing inside it, makes a value."""
    op = defining_op(value)
    block = value.owner if op is None else op.block
    return any(block == loop.regions[0].blocks[0] for loop in loops)


def blocks_of(op: Op) -> Iterator[ir.Block]:
    """The blocks of all regions of an op, one after the other."""
    for region in op.operation.regions:
        yield from region.blocks


def is_read(*values: ir.Value) -> bool:
    """Whether an op has one of some values as an operand."""
    return any(next(value.uses, None) is not None for value in values)


def terminator(block: ir.Block) -> ir.Operation:
    """The last op of a block that is not empty."""
    return block.operations[len(block.operations) - 1].operation


def body_ops(block: ir.Block) -> list[ir.Operation]:
    """The ops of a block but its terminator."""
    return [op.operation for op in list(block.operations)[:-1]]


def entry_of(op: ir.Operation) -> ir.OpView:
    """The first op of the function that an op is in."""
    return next(iter(around(op, "func.func").regions[0].blocks[0].operations))


def view_of(op: Op, kind: type[View]) -> View:
    """An op as one of its class, which has its properties."""
    view = op.opview
    assert isinstance(view, kind)
    return view


def attribute_names(op: Op) -> list[str]:
    """Names of the attributes of an op. LayoutError for those of bytecode that are no UTF-8."""
    try:
        return [a if isinstance(a, str) else a.name for a in op.attributes]
    except RuntimeError:  # of the bindings, which decode them
        raise LayoutError("expected names of attributes in UTF-8, got others") from None


def constant_int(value: ir.Value) -> int | None:
    """Which integer or index constant a value is; None for anything else."""
    op = made_by(value, "arith.constant")
    attribute = None if op is None else op.attributes["value"]
    return attribute.value if isinstance(attribute, ir.IntegerAttr) else None


def is_float(type_: ir.Type) -> bool:
    """Whether a scalar type is a float."""
    return isinstance(type_, (ir.F16Type, ir.BF16Type, ir.F32Type, ir.F64Type))


def is_number(type_: ir.Type) -> bool:
    """Whether a type is an integer, an index or a float whose width the bindings know (not f80, f128)."""
    return isinstance(type_, (ir.IntegerType, ir.FloatType, ir.IndexType))


def bit_width(type_: ir.Type) -> int:
    """Bits of an integer or float type; an index has 64 on every target."""
    if isinstance(type_, ir.IndexType):
        return 64
    assert isinstance(type_, (ir.IntegerType, ir.FloatType))
    return type_.width


def byte_size(type_: ir.Type) -> int:
    """Bytes of a number in memory; a boolean has one."""
    return -(-bit_width(type_) // 8)


def element_of(type_: ir.Type) -> ir.Type:
    """The type of the numbers of a vector or tensor; that of a number itself."""
    return type_.element_type if isinstance(type_, (ir.VectorType, ir.RankedTensorType)) else type_


def with_element(type_: ir.Type, element: ir.Type) -> ir.Type:
    """The type of a vector or tensor with other elements; of a number, the element type itself."""
    if isinstance(type_, ir.RankedTensorType):
        return ir.RankedTensorType.get(type_.shape, element, encoding=type_.encoding)
    if isinstance(type_, ir.VectorType):
        return ir.VectorType.get(type_.shape, element, scalable=type_.scalable_dims)
    return element


def loop_of(expr: ir.AffineExpr) -> int:
    """Which dim an affine expression is."""
    assert isinstance(expr, ir.AffineDimExpr)
    return expr.position


def loops_of(map_: ir.AffineMap) -> tuple[int | None, ...]:
    """Per dim the loop that indexes it, None for other expressions."""
    return tuple(e.position if isinstance(e, ir.AffineDimExpr) else None for e in map_.results)


def filled_with(op: Op) -> ir.Value | None:
    """The scalar of a fill, named or generic; None for any other op."""
    if op.name == "linalg.fill":
        return op.operands[0]
    if op.name != "linalg.generic" or len(op.operands) != 2 or isinstance(op.operands[0].type, ir.ShapedType):
        return None
    block = op.regions[0].blocks[0]
    first = block.operations[0].operation
    yields = first.name == "linalg.yield" and first.operands[0] == block.arguments[0]
    return op.operands[0] if yields else None


def combiner_of(accumulator: ir.Value, yielded: ir.Value, names: Container[str]) -> ir.Operation | None:
    """The op of some names that is all that reads an accumulator, and only gives what is yielded for it."""
    uses = list(accumulator.uses)
    op = uses[0].owner.operation if len(uses) == 1 else None
    alone = op is not None and op.name in names and yielded in list(op.results) and len(list(yielded.uses)) == 1
    return op if alone else None


def is_sum_of_products(op: Op, widened: bool = False) -> bool:
    """Whether the body of a generic op adds the product of two inputs, f32 or f64, to its one result; `widened`: of two
    shorter floats, as f32."""
    block = op.regions[0].blocks[0]
    ops = [x.operation for x in block.operations]
    names = ["arith.extf"] * (2 * widened) + ["arith.mulf", "arith.addf", "linalg.yield"]
    if len(block.arguments) != 3 or [x.name for x in ops] != names:
        return False
    a, b, out = block.arguments
    summed = combiner_of(out, ops[-1].operands[0], {"arith.addf"}) is not None
    wider = [made_by(x, "arith.extf") for x in ops[-3].operands]
    factors = [x if op is None else op.operands[0] for x, op in zip(ops[-3].operands, wider, strict=True)]
    types = (ir.F32Type,) if widened else (ir.F32Type, ir.F64Type)
    return summed and factors in ([a, b], [b, a]) and isinstance(out.type, types)


def sums_products(op: Op) -> bool:
    """Whether a generic op is a sum of products, of f32, f64 or shorter floats as f32."""
    return is_sum_of_products(op) or is_sum_of_products(op, widened=True)


def is_zeros(op: Op) -> bool:
    """Whether an op is a fill with the constant 0."""
    scalar = filled_with(op)
    constant = None if scalar is None else made_by(scalar, "arith.constant")
    return constant is not None and constant.attributes["value"].value == 0
