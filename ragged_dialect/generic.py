"""`linalg.generic`: making it, and reading the loops of a linalg op."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from ragged_dialect._mlir import arith, ir, linalg
from ragged_dialect.ir.build import made
from ragged_dialect.ir.match import made_by
from ragged_dialect.ir.walk import find_ops


def generic(
    ins: Sequence[ir.Value],
    outs: Sequence[ir.Value],
    maps: Sequence[ir.AffineMap],
    kinds: Sequence[str],
    body: Callable[[list[ir.Value]], Sequence[ir.Value]],
) -> ir.Operation:
    """A `linalg.generic` at the insertion point: one map per operand, one kind per loop. `body` gets
    the elements of the operands and gives those of the outs, whose types are the types of the results."""
    op = without_body(ins, outs, maps, kinds)
    block = op.regions[0].blocks.append(*[_element(x.type) for x in (*ins, *outs)])
    with ir.InsertionPoint(block):
        ir.Operation.create("linalg.yield", operands=list(body(list(block.arguments))))
    return op


def elementwise(
    ins: Sequence[ir.Value], outs: Sequence[ir.Value], body: Callable[[list[ir.Value]], Sequence[ir.Value]]
) -> ir.Operation:
    """A `linalg.generic` as above of operands that have the same dims: every element by itself."""
    rank = len(outs[0].type.shape)
    maps = [ir.AffineMap.get_identity(rank)] * (len(ins) + len(outs))
    return generic(ins, outs, maps, ["parallel"] * rank, body)


def generated(out: ir.Value, element: Callable[[list[ir.Value]], ir.Value]) -> ir.Operation:
    """The same that makes every element of an out of its indices."""
    rank = len(out.type.shape)
    return elementwise([], [out], lambda _: [element([loop_index(k) for k in range(rank)])])


def filled(scalar: ir.Value, out: ir.Value) -> ir.Operation:
    """A `linalg.generic` that makes all elements of an out, whatever they are, a scalar."""
    rank = len(out.type.shape)
    maps = [ir.AffineMap.get(rank, 0, []), ir.AffineMap.get_identity(rank)]
    return generic([scalar], [out], maps, ["parallel"] * rank, lambda a: [a[0]])


def without_body(
    ins: Sequence[ir.Value], outs: Sequence[ir.Value], maps: Sequence[ir.AffineMap], kinds: Sequence[str]
) -> ir.Operation:
    """As `generic`, with a region that has no block yet. Outs that are buffers give no results."""
    return ir.Operation.create(
        "linalg.generic",
        results=[out.type for out in outs if isinstance(out.type, ir.RankedTensorType)],
        operands=[*ins, *outs],
        attributes={
            "indexing_maps": ir.ArrayAttr.get([ir.AffineMapAttr.get(m) for m in maps]),
            "iterator_types": ir.ArrayAttr.get([ir.Attribute.parse(f"#linalg.iterator_type<{k}>") for k in kinds]),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(ins), len(outs)]),
        },
        regions=1,
    )


def _element(type_: ir.Type) -> ir.Type:
    return type_.element_type if isinstance(type_, (ir.RankedTensorType, ir.MemRefType)) else type_


def without(rank: int, dim: int) -> ir.AffineMap:
    """The loops of all dims but one."""
    return ir.AffineMap.get(rank, 0, [ir.AffineDimExpr.get(k) for k in range(rank) if k != dim])


def along(rank: int, dim: int) -> list[str]:
    """The kinds of the loops of all dims, that of one of which reduces."""
    return ["reduction" if k == dim else "parallel" for k in range(rank)]


def loop_index(loop: int) -> ir.Value:
    """The index of a loop, inside a body."""
    return made("linalg.index", ir.IndexType.get(), dim=f"{loop} : i64")


def index_loop(value: ir.Value) -> int | None:
    """The loop whose index a value is; None for any other value."""
    op = made_by(value, "linalg.index")
    return None if op is None else op.attributes["dim"].value


def index_loops(body: ir.Block) -> frozenset[int]:
    """Loops whose index a body reads."""
    return frozenset(index.attributes["dim"].value for op in body.operations for index in find_ops(op, "linalg.index"))


def renumber_loops(op: ir.Operation, place: Mapping[int, int]) -> None:
    """Let the indices in the body of an op be those of its loops under new numbers."""
    for index in find_ops(op, "linalg.index"):
        index.attributes["dim"] = ir.IntegerAttr.get(
            ir.IntegerType.get_signless(64), place[index.attributes["dim"].value]
        )


def left_of(m: ir.AffineMap, place: Mapping[int, int], dims: Collection[int] = ()) -> ir.AffineMap:
    """A map of the loops that are left, under new numbers, without the results of some dims."""
    own = [ir.AffineExpr.get_dim(place.get(k, 0)) for k in range(m.n_dims)]
    kept = [expr.compose(ir.AffineMap.get(len(place), 0, own)) for k, expr in enumerate(m.results) if k not in dims]
    return ir.AffineMap.get(len(place), 0, kept)


def count_from(op: ir.Operation, low: ir.Value, loop: int = 0) -> None:
    """Let the index of a loop of an op, whose operands are parts from a place on, be that in the whole."""
    for index in find_ops(op, "linalg.index"):
        if index.attributes["dim"].value == loop:
            with ir.InsertionPoint.after(index), index.location:
                row = arith.addi(index.results[0], low)
            index.results[0].replace_all_uses_except(row, row.owner.operation)


def input_count(op: ir.Operation) -> int:
    """How many operands of a linalg op are inputs; outs follow them."""
    return op.attributes["operandSegmentSizes"][0]


def outs_of(op: ir.Operation) -> list[ir.Value]:
    """What a linalg op writes to, on tensors or buffers."""
    return list(op.operands)[input_count(op) :]


def indexing_maps(op: ir.Operation) -> list[ir.AffineMap]:
    """The affine maps of a linalg op, one per operand; none for an op without maps, as softmax is."""
    attributes = linalg.get_indexing_maps(op) or ()
    return [m.value if isinstance(m, ir.AffineMapAttr) else m for m in attributes]


def iterator_kinds(op: ir.Operation) -> tuple[str, ...]:
    """The kinds of the loops of a `linalg.generic`; what is not parallel counts as a reduction."""
    return tuple("parallel" if "parallel" in str(kind) else "reduction" for kind in op.attributes["iterator_types"])
