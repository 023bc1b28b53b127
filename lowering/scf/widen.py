"""Reductions of f16 and bf16 keep their accumulators in f32, from the converted inits, and round
once; factors of products are widened before they are multiplied."""

from __future__ import annotations

from ragged_dialect._mlir import arith, ir
from ragged_dialect.generic import elementwise, filled, generic, indexing_maps, iterator_kinds
from ragged_dialect.ir.clone import ValueMap, clone, inlined
from ragged_dialect.ir.floats import converted
from ragged_dialect.ir.match import combiner_of, defining_op, filled_with, is_read, is_sum_of_products, terminator
from ragged_dialect.ir.walk import replace
from ragged_dialect.iteration import output_count
from ragged_dialect.passes.differentiate.values import empty_like

_COMBINERS = frozenset(f"arith.{name}" for name in ("addf", "mulf", "maximumf", "minimumf", "maxnumf", "minnumf"))


def needs_widening(op: ir.Operation) -> bool:
    """Whether an op is a linalg.generic that reduces short floats by known combiners."""
    if op.name != "linalg.generic" or not len(op.results):
        return False
    return "reduction" in iterator_kinds(op) and bool(_combiners(op))


def _combiners(op: ir.Operation) -> dict[int, ir.Operation]:
    """By number of an out of short floats: the op that combines it with one other value, where
    that is all that touches the out."""
    block = op.regions[0].blocks[0]
    first = len(block.arguments) - output_count(op)
    yielded = terminator(block).operands
    found: dict[int, ir.Operation] = {}
    for number, result in enumerate(op.results):
        combiner = combiner_of(block.arguments[first + number], yielded[number], _COMBINERS)
        if combiner is not None and isinstance(result.type.element_type, (ir.F16Type, ir.BF16Type)):
            found[number] = combiner
    return found


def widen_reduction(op: ir.Operation) -> None:
    """Rewrite `outs = reduce(ins, outs)` to run on f32 where an out is reduced in short floats; such
    an out is converted before and after."""
    combiners = _combiners(op)
    first = len(op.operands) - len(op.results)
    outs = list(op.operands)[first:]
    starts = [_start(out) if k in combiners else out for k, out in enumerate(outs)]
    made = _rebuilt(op, starts, combiners)
    replace(op, *(_converted(x, _room(outs[k])) if k in combiners else x for k, x in enumerate(made.results)))
    for fill in {fill for fill in (_fill(outs[k]) for k in combiners) if fill is not None}:
        if not is_read(fill.results[0]):
            fill.erase()


def multiplies_short(op: ir.Operation) -> bool:
    """Whether an op multiplies matrices of short floats, each element of which is of use more than once, in f32."""
    if iterator_kinds(op).count("reduction") != 1 or not is_sum_of_products(op, widened=True):
        return False  # f64 of shorter floats is left as it is
    return min(len(x.type.shape) for x in op.operands) > 1


def multiplies_bf16(op: ir.Operation) -> bool:
    """Whether both factors of an op are bf16."""
    return all(isinstance(x.type.element_type, ir.BF16Type) for x in list(op.operands)[:2])


def widen_factors(op: ir.Operation) -> None:
    """The factors as f32 of their own, and the product of these."""
    *factors, out = op.operands
    wide = [_converted(x, empty_like(x, _wide())) for x in factors]
    ops = [x.operation for x in op.regions[0].blocks[0].operations]

    def body(a: list[ir.Value]) -> list[ir.Value]:
        mapping: ValueMap = {
            **{x.results[0]: a[ir.BlockArgument(x.operands[0]).arg_number] for x in ops[:2]},
            ops[0].block.arguments[2]: a[2],
        }
        for inner in ops[2:4]:
            clone(inner, mapping)
        return [mapping[ops[3].results[0]]]

    made = generic(wide, [out], indexing_maps(op), iterator_kinds(op), body)
    replace(op, made.result)


def _fill(out: ir.Value) -> ir.Operation | None:
    """The op that makes an out of copies of a scalar, its first operand."""
    op = defining_op(out)
    return op if op is not None and filled_with(op) is not None else None


def _start(out: ir.Value) -> ir.Value:
    """An out in f32. A fill is filled anew: its elements need not be stored and read again."""
    fill, wide = _fill(out), empty_like(out, _wide())
    return _converted(out, wide) if fill is None else filled(arith.extf(_wide(), fill.operands[0]), wide).result


def _room(out: ir.Value) -> ir.Value:
    """Where the rounded results go, in the place of an out whose elements are not needed any more."""
    return out if _fill(out) is None else empty_like(out, out.type.element_type)


def _wide() -> ir.Type:
    return ir.F32Type.get()


def _converted(x: ir.Value, out: ir.Value) -> ir.Value:
    """The elements of `x` with the element type of `out`."""
    return elementwise([x], [out], lambda a: [converted(a[0], out.type.element_type)]).result


def _rebuilt(op: ir.Operation, starts: list[ir.Value], combiners: dict[int, ir.Operation]) -> ir.Operation:
    inputs = list(op.operands)[: len(op.operands) - len(starts)]

    def copy(inner: ir.Operation, known: ValueMap) -> None:
        if inner in combiners.values():
            known[inner.results[0]] = _combined(inner, known)
        else:
            clone(inner, known)

    def body(elements: list[ir.Value]) -> list[ir.Value]:
        return inlined(op.regions[0].blocks[0], elements, copy=copy)

    return generic(inputs, starts, indexing_maps(op), iterator_kinds(op), body)


def _combined(combiner: ir.Operation, mapping: ValueMap) -> ir.Value:
    """A combiner in f32, of an accumulator that is wide and a value that is not."""
    operands = [mapping.get(v, v) for v in combiner.operands]
    wide = [converted(v, _wide()) for v in operands]
    return ir.Operation.create(combiner.name, results=[_wide()], operands=wide).result
