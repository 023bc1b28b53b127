"""Rules of func and scf ops: ragged values become their parts, in place, 1:N."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from ragged_dialect._mlir import ir
from ragged_dialect.ir import build, clone
from ragged_dialect.ir.clone import Attributes
from ragged_dialect.ir.match import definer
from ragged_dialect.ir.walk import append
from ragged_dialect.lowering.scf.context import Lowering
from ragged_dialect.lowering.scf.parts import Parts
from ragged_dialect.types import flat_types, is_ragged, shape_of
from ragged_dialect.verify import ARGUMENT_FACTS

Process = Callable[..., None]


def expand(ctx: Lowering, operands: ir.OpOperandList) -> list[ir.Value]:
    """Operands with ragged ones replaced by their parts."""
    out: list[ir.Value] = []
    for operand in operands:
        if is_ragged(operand.type):
            out += ctx.parts(operand).flat()
        else:
            out.append(operand)
    return out


def expand_types(types: list[ir.Type]) -> list[ir.Type]:
    """Types with ragged ones replaced by those of their parts."""
    return [flat for type_ in types for flat in flat_types(type_)]


def _with_parts(old: Sequence[ir.Value], new: list[ir.Value]) -> Iterator[tuple[ir.Value, list[ir.Value]]]:
    """Old values, each with those of the flat new ones that it is."""
    rest = iter(new)
    for value in old:
        yield value, list(islice(rest, len(flat_types(value.type))))


def rebind(ctx: Lowering, old: Sequence[ir.Value], new: list[ir.Value]) -> None:
    """Map old results to the flat new ones."""
    for value, flat in _with_parts(old, new):
        if is_ragged(value.type):
            ctx.bind(value, Parts.of_flat(ctx, shape_of(value.type), flat))
        else:
            value.replace_all_uses_with(flat[0])


def rebind_arguments(ctx: Lowering, old: Sequence[ir.Value], made: ir.Block) -> None:
    """Map old block arguments to the flat ones of the new block. The uses of a ragged argument go
    over to a cast, so that the old block can be erased before the ops that use it."""
    for value, flat in _with_parts(old, list(made.arguments)):
        if not is_ragged(value.type):
            value.replace_all_uses_with(flat[0])
            continue
        with ir.InsertionPoint.at_block_begin(made), value.location:
            cast = build.stand_in(value.type, *flat)
        value.replace_all_uses_with(cast)
        ctx.bind(cast, Parts.of_flat(ctx, shape_of(cast.type), flat))
        ctx.erase_later(definer(cast))


def move_block(ctx: Lowering, block: ir.Block, region: ir.Region, process: Process) -> None:
    """Rebuild a block with expanded arguments in a region, and lower what is in it."""
    arguments = list(block.arguments)
    types = expand_types([a.type for a in arguments])
    locations = [a.location for a in arguments for _ in flat_types(a.type)]
    made = region.blocks.append(*types, arg_locs=locations)
    append(made, block.operations)
    body = list(made.operations)
    rebind_arguments(ctx, arguments, made)
    process(made, body)


def lower_func(ctx: Lowering, op: ir.Operation, process: Process) -> None:
    """func.func: the signature expands, argument attributes go to the first part."""
    type_ = ir.TypeAttr(op.attributes["function_type"]).value
    if not any(is_ragged(t) for t in (*type_.inputs, *type_.results)):
        for block in op.regions[0].blocks:
            process(block)
        return
    expanded = ir.FunctionType.get(expand_types(type_.inputs), expand_types(type_.results))
    attributes = clone.copy_attributes(op)
    attributes["function_type"] = ir.TypeAttr.get(expanded)
    _expand_attrs(attributes, "arg_attrs", type_.inputs)
    _expand_attrs(attributes, "res_attrs", type_.results)
    made = ir.Operation.create(op.name, attributes=attributes, regions=1)
    for block in list(op.regions[0].blocks):
        move_block(ctx, block, made.regions[0], process)
    ctx.erase_later(op)


def _expand_attrs(attributes: Attributes, name: str, types: list[ir.Type]) -> None:
    if name not in attributes:
        return
    out: list[ir.Attribute] = []
    for type_, attr in zip(types, attributes[name], strict=True):
        # What holds of the lengths of an argument is no attribute of its values.
        kept = {named.name: named.attr for named in attr if not (is_ragged(type_) and named.name in ARGUMENT_FACTS)}
        out += [ir.DictAttr.get(kept)] + [ir.DictAttr.get({})] * (len(flat_types(type_)) - 1)
    attributes[name] = ir.ArrayAttr.get(out)


def lower_expanded(ctx: Lowering, op: ir.Operation, process: Process) -> None:
    """func.call, scf.if, scf.for, scf.while and terminators: operands, results and block arguments expand."""
    ctx.close()
    made = ir.Operation.create(
        op.name,
        results=expand_types([r.type for r in op.results]),
        operands=expand(ctx, op.operands),
        attributes=clone.copy_attributes(op),
        regions=len(op.regions),
    )
    for source, target in zip(op.regions, made.regions, strict=True):
        for block in list(source.blocks):
            move_block(ctx, block, target, process)
    rebind(ctx, list(op.results), list(made.results))
    ctx.erase_later(op)


RULES: dict[str, Callable[[Lowering, ir.Operation, Process], None]] = {
    "func.func": lower_func,
    "func.return": lower_expanded,
    "scf.yield": lower_expanded,
    "scf.condition": lower_expanded,
    "func.call": lower_expanded,
    "scf.if": lower_expanded,
    "scf.for": lower_expanded,
    "scf.while": lower_expanded,
}
