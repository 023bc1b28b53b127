"""Rules of compute ops: elementwise arith and math, linalg.generic, softmax.

Named linalg ops are generalised before (`convert-ragged-to-scf`); what needs no component index
runs on the flat values as it is, the rest becomes a loop nest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ragged_dialect._mlir import ir
from ragged_dialect.generic import index_loops, iterator_kinds
from ragged_dialect.ir import shapes
from ragged_dialect.ir.clone import ValueMap, clone, copy_attributes, inlined
from ragged_dialect.ir.match import sums_products
from ragged_dialect.ir.walk import captures, ops_in, replace
from ragged_dialect.iteration import BACKWARDS, MAPPING, analyze, touches_ragged
from ragged_dialect.layout import RAGGED, Layout
from ragged_dialect.lowering.math.expand_ragged_math import FUNCTIONS
from ragged_dialect.lowering.nests.emit import lower_nest
from ragged_dialect.lowering.nests.nest import Payload, make_nest
from ragged_dialect.lowering.rules.access import extract_element
from ragged_dialect.lowering.scf.context import Lowering
from ragged_dialect.lowering.scf.parts import Parts
from ragged_dialect.lowering.structure.making import contiguous_like, own_windows
from ragged_dialect.shape import RaggedShape
from ragged_dialect.types import dense_type, elements_from, is_ragged, is_tensor, shape_of


def lower_elementwise(ctx: Lowering, op: ir.Operation) -> None:
    """arith and math ops: on the flat values, or a nest where a level is a window."""
    op = op.operation
    if op.name == "arith.select" and not is_tensor(op.operands[0].type):
        _select_whole(ctx, op)
        return
    operands = [ctx.parts(v) if is_tensor(v.type) else v for v in op.operands]
    like = next(x for x in operands if isinstance(x, Parts))
    element = op.results[0].type.element_type
    reads_pending = any(isinstance(x, Parts) and x.pending is not None for x in operands)
    if like.layout.has_windows or reads_pending or ctx.mapping:
        _elementwise_nest(ctx, op, operands, like, element)
        return
    values = [x.values if isinstance(x, Parts) else x for x in operands]
    shape = RaggedShape(Layout.dense(like.layout.storage_rank), shape_of(like.type).shape)
    result = dense_type(shape.shape, element)
    values = [shapes.cast(v, dense_type(shape.shape, v.type.element_type)) if is_tensor(v.type) else v for v in values]
    made = ir.Operation.create(op.name, results=[result], operands=values, attributes=copy_attributes(op))
    ctx.bind(op.results[0], typed(like.replace(made.result), op.results[0].type))


def typed(parts: Parts, type_: ir.RankedTensorType) -> Parts:
    """Parts with the static extents of a result type."""
    return Parts(parts.ctx, shape_of(type_), parts.held, parts.vectors, parts.extents, parts.windows)


def _select_whole(ctx: Lowering, op: ir.Operation) -> None:
    """A scalar condition picks a whole value, structure and all."""
    condition, a, b = op.operands[0], ctx.parts(op.operands[1]), ctx.parts(op.operands[2])
    flat = [
        ir.Operation.create("arith.select", results=[x.type], operands=[condition, x, y]).result
        for x, y in zip(a.flat(), b.flat(), strict=True)
    ]
    ctx.bind(op.results[0], Parts.of_flat(ctx, shape_of(op.results[0].type), flat))


def _elementwise_nest(
    ctx: Lowering, op: ir.Operation, operands: Sequence[Parts | ir.Value], like: Parts, element: ir.Type
) -> None:
    tensors = [x for x in operands if isinstance(x, Parts)]
    out = contiguous_like(typed(like, op.results[0].type), element)
    attributes = {name: value for name, value in copy_attributes(op).items() if name != MAPPING}

    def payload(arguments: list[ir.Value], index: Callable[[int], ir.Value]) -> list[ir.Value]:
        given = iter(arguments[: len(tensors)])
        scalars = [next(given) if isinstance(x, Parts) else x for x in operands]
        return [ir.Operation.create(op.name, results=[element], operands=scalars, attributes=attributes).result]

    nest = make_nest(analyze(op), [*tensors, out], payload)
    (result,) = lower_nest(ctx, nest)
    ctx.bind(op.results[0], result)


def lower_generic(ctx: Lowering, op: ir.Operation) -> None:
    """linalg.generic on ragged tensors, or on tensors an open forall makes."""
    op = op.operation
    it = analyze(op)
    operands: list[ir.Value | Parts] = [ctx.parts(v) if is_tensor(v.type) else v for v in op.operands]
    body = op.regions[0].blocks[0]
    if any(map(ctx.is_pending, captures(body.operations, body.arguments))):
        ctx.close()  # an element of any component
    reads = [len(list(argument.uses)) > 0 for argument in body.arguments]
    for k in range(it.inputs, len(operands)):
        operands[k] = own_windows(ctx.parts(op.operands[k]), reads[k])
    backwards = frozenset({op.attributes[BACKWARDS].value}) if BACKWARDS in op.attributes else frozenset[int]()
    multiplies = it.multiplies_matrices and sums_products(op)
    nest = make_nest(
        it,
        operands,
        clone_payload(ctx, body),
        index_loops(body),
        backwards,
        are_matrices=multiplies and ctx.registers is not None,
    )
    for old, parts in zip(op.results, lower_nest(ctx, nest, _is_read_there(ctx, op)), strict=True):
        ctx.bind(old, typed(parts, old.type))


def _is_read_there(ctx: Lowering, op: ir.Operation) -> bool:
    """Whether what makes long rows is read by what reduces components: together they take two thirds to nine tenths of
    the time (Zen 4, rows of 32 and 64; of 16 up to 1.2, of numbers, where vectors have lanes beyond the end of a list,
    1.8)."""
    if not ctx.rows or op.name != "linalg.generic" or len(op.results) != 1 or not is_ragged(op.results[0].type):
        return False
    made = op.results[0]
    is_map = "reduction" not in iterator_kinds(op) and _row_size(made.type) >= 2 * ctx.rows
    return is_map and any(map(_reduces_components, made.uses))


def _row_size(type_: ir.RankedTensorType) -> int:
    """The elements of a row, 0 where they are not known, or there are no lists of rows."""
    lists = [dim for dim, letter in enumerate(shape_of(type_).layout.letters) if letter in RAGGED]
    return elements_from(type_, lists[-1] + 1) if lists else 0


def _reduces_components(use: ir.OpOperand) -> bool:
    """Whether a use is that of a nest which reduces an innermost ragged dim."""
    op = use.owner.operation
    if op.name != "linalg.generic":
        return False
    it, layout = analyze(op), shape_of(op.operands[use.operand_number].type).layout
    loops = it.accesses[use.operand_number].loops
    reduced = [dim for dim, loop in enumerate(loops) if loop is not None and it.kinds[loop] == "reduction"]
    return any(layout.letter(dim) in RAGGED for dim in reduced)


def clone_payload(ctx: Lowering, body: ir.Block) -> Payload:
    """A payload that clones a linalg region."""

    def payload(arguments: list[ir.Value], index: Callable[[int], ir.Value]) -> list[ir.Value]:
        def copy(op: ir.Operation, known: ValueMap) -> None:
            if op.name == "linalg.index":
                known[op.results[0]] = index(op.attributes["dim"].value)
            else:
                clone_op(ctx, op, known)

        return inlined(body, arguments, copy=copy)

    return payload


def clone_op(ctx: Lowering, op: ir.Operation, mapping: dict[ir.Value, ir.Value]) -> None:
    """Clone an op with operands mapped, also inside its regions."""
    if _reads_element(ctx, op):
        indices = [mapping.get(v, v) for v in list(op.operands)[1:]]
        mapping[op.results[0]] = extract_element(ctx.parts(op.operands[0]), indices)
        return
    for inner in ops_in(clone(op, mapping))[1:]:
        if _reads_element(ctx, inner):
            with ir.InsertionPoint(inner):
                element = extract_element(ctx.parts(inner.operands[0]), list(inner.operands)[1:])
            replace(inner, element)


def _reads_element(ctx: Lowering, op: ir.Operation) -> bool:
    """Whether an op in a body reads what becomes parts."""
    return op.name == "tensor.extract" and op.operands[0] in ctx.map


def is_joinable(ctx: Lowering, op: ir.Operation) -> bool:
    """Whether a dense op is lowered as a nest of its own: one that reads the open forall, or has a loop that goes
    backwards. Not functions of a number of each component, where rows of one are too few (`rows`) and nothing along
    the components needs them."""
    op = op.operation
    if op.name != "linalg.generic":
        return False
    joins = BACKWARDS in op.attributes or any(map(ctx.is_pending, op.operands))
    return joins and not (ctx.rows and _is_function(op) and not _is_met(op))


def _is_function(op: ir.Operation) -> bool:
    """Whether a nest over numbers computes what processors have no instruction for."""
    inner = {o.operation.name for o in op.regions[0].blocks[0].operations}
    return len(iterator_kinds(op)) == 1 and not FUNCTIONS.isdisjoint(inner)


def _is_met(op: ir.Operation) -> bool:
    """Whether a ragged op reads what an op, or a dense one that reads its results, makes."""
    users = [use.owner.operation for result in op.results for use in result.uses]
    return any(touches_ragged(user) or (user.name.startswith("linalg.") and _is_met(user)) for user in users)
