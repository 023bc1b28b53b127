"""Reductions of f16 and bf16 keep their accumulator in f32, from the converted init, and round
once."""

from __future__ import annotations

from typing import Any

from ragged_dialect._mlir import arith, ir
from ragged_dialect.lowering.decompose import empty_like, generic

_COMBINERS = frozenset(f"arith.{name}" for name in ("addf", "mulf", "maximumf", "minimumf", "maxnumf", "minnumf"))


def needs_widening(op: Any) -> bool:
    """Whether an op is a linalg.generic that reduces short floats by one known combiner."""
    if op.name != "linalg.generic" or len(op.results) != 1:
        return False
    if not isinstance(op.results[0].type.element_type, (ir.F16Type, ir.BF16Type)):
        return False
    if not any("reduction" in str(a) for a in op.attributes["iterator_types"]):
        return False
    return _combiner(op) is not None


def _combiner(op: Any) -> Any:
    """The op that combines the out with one other value, if it is all that touches the out."""
    block = op.regions[0].blocks[0]
    accumulator = block.arguments[len(block.arguments) - 1]
    uses = list(accumulator.uses)
    terminator = list(block.operations)[-1].operation
    if len(uses) != 1:
        return None
    combiner = uses[0].owner.operation
    found = combiner.name in _COMBINERS and terminator.operands[0] == combiner.results[0]
    return combiner if found and combiner.operands[0] != combiner.operands[1] else None


def widen_reduction(op: Any) -> None:
    """Rewrite `out = reduce(ins, out)` to run on an f32 out, converted before and after."""
    out = op.operands[len(op.operands) - 1]
    short, wide = out.type.element_type, ir.F32Type.get()
    rank = len(out.type.shape)
    maps = [ir.AffineMap.get_identity(rank)] * 2
    parallel = ["parallel"] * rank
    start = generic([out], empty_like(out, wide), maps, parallel, lambda a: arith.extf(wide, a[0]))
    summed = _rebuilt(op, start, wide)
    result = generic([summed], out, maps, parallel, lambda a: arith.truncf(short, a[0]))
    op.results[0].replace_all_uses_with(result)
    op.erase()


def _rebuilt(op: Any, start: Any, wide: Any) -> Any:
    inputs = list(op.operands)[:-1]
    made = ir.Operation.create(
        "linalg.generic",
        results=[start.type],
        operands=[*inputs, start],
        attributes={name: op.attributes[name] for name in ("indexing_maps", "iterator_types", "operandSegmentSizes")},
        regions=1,
    )
    source = op.regions[0].blocks[0]
    types = [a.type for a in source.arguments][:-1]
    block = made.regions[0].blocks.append(*types, wide)
    mapping = dict(zip(source.arguments, block.arguments, strict=True))
    combiner = _combiner(op)
    accumulator = source.arguments[len(types)]
    with ir.InsertionPoint(block):
        for inner in source.operations:
            inner = inner.operation
            if inner == combiner:
                operands = [
                    mapping[v] if v == accumulator else arith.extf(wide, mapping.get(v, v)) for v in inner.operands
                ]
                made_op = ir.Operation.create(inner.name, results=[wide], operands=operands)
                mapping[inner.results[0]] = made_op.result
            elif inner.name == "linalg.yield":
                ir.Operation.create("linalg.yield", operands=[mapping[combiner.results[0]]])
            else:
                copy = inner.clone()
                for k, operand in enumerate(copy.operation.operands):
                    if operand in mapping:
                        copy.operation.operands[k] = mapping[operand]
                for old, new in zip(inner.results, copy.operation.results, strict=True):
                    mapping[old] = new
    return made.result
