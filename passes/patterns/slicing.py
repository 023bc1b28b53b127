"""Select, slice and concat: ranges of ranges compose, whole ranges go, indices move inside."""

from __future__ import annotations

from ragged_dialect import builders
from ragged_dialect._mlir import ir
from ragged_dialect.ir.match import constant_int
from ragged_dialect.passes.patterns.matching import add, attempt, dim_of, is_value_of_dim, producer, same_meaning, shape
from ragged_dialect.passes.patterns.rewriting import Pattern, Rewriter
from ragged_dialect.segments import segments
from ragged_dialect.types import is_tensor


def slice_of_everything(op: ir.Operation, rewriter: Rewriter) -> bool:
    """slice{d}(x, 0, extent of d) -> x, where the slice keeps the layout."""
    x, lo, hi = op.operands
    dim = dim_of(op)
    if is_tensor(lo.type) or is_tensor(hi.type) or constant_int(lo) != 0:
        return False
    if not same_meaning(shape(x), shape(op.results[0])):
        return False
    return is_value_of_dim(hi, x, dim, shape(x).shape[dim]) and rewriter.replace(op, x)


def slice_of_slice(op: ir.Operation, rewriter: Rewriter) -> bool:
    """slice{d}(slice{d}(x, lo, _), lo', hi') -> slice{d}(x, lo + lo', lo + hi') for scalars."""
    inner = _scalar_slice(op.operands[0], dim_of(op))
    _, lo, hi = op.operands
    if inner is None or lo.type != hi.type or is_tensor(lo.type) or inner.operands[1].type != lo.type:
        return False
    x, start, dim = inner.operands[0], inner.operands[1], dim_of(op)
    if not same_meaning(attempt(lambda: shape(x).slice(dim)), shape(op.results[0])):
        return False
    with rewriter.before(op):
        return rewriter.replace(op, builders.slice(x, add(start, lo), add(start, hi), dim))


def select_of_slice(op: ir.Operation, rewriter: Rewriter) -> bool:
    """select{d}(slice{d}(x, lo, _), i) -> select{d}(x, lo + i)."""
    inner = _scalar_slice(op.operands[0], dim_of(op))
    index = op.operands[1]
    if inner is None or inner.operands[1].type != index.type:
        return False
    x, start, dim = inner.operands[0], inner.operands[1], dim_of(op)
    if not same_meaning(attempt(lambda: shape(x).select(dim)), shape(op.results[0])):
        return False
    with rewriter.before(op):
        return rewriter.replace(op, builders.select(x, add(start, index), dim))


def _scalar_slice(value: ir.Value, dim: int) -> ir.Operation | None:
    inner = producer(value, "ragged.slice")
    if inner is None or dim_of(inner) != dim or any(is_tensor(v.type) for v in list(inner.operands)[1:]):
        return None
    return inner


def select_of_concat(op: ir.Operation, rewriter: Rewriter) -> bool:
    """select{d}(concat{e}(x…), i) with d the leading dim of its axis and not e -> concat(select(x, i)…):
    one component of each is copied instead of all."""
    made = producer(op.operands[0], "ragged.concat")
    dim, index = dim_of(op), op.operands[1]
    if made is None or dim_of(made) == dim:
        return False
    xs = list(made.operands)
    if any(shape(x).layout.locate(dim)[1] != 0 for x in xs):
        return False
    along = dim_of(made) - (dim < dim_of(made))
    selected = attempt(lambda: [shape(x).select(dim) for x in xs])
    if selected is None or attempt(lambda: segments([str(s) for s in selected])) is None:
        return False
    if not same_meaning(attempt(lambda: selected[0].concat(selected[1:], along)), shape(op.results[0])):
        return False
    with rewriter.before(op):
        return rewriter.replace(op, builders.concat([builders.select(x, index, dim) for x in xs], along))


def concat_of_one(op: ir.Operation, rewriter: Rewriter) -> bool:
    """concat(x) -> x, where x has no windows."""
    operands = list(op.operands)
    return (
        len(operands) == 1
        and same_meaning(shape(operands[0]), shape(op.results[0]))
        and rewriter.replace(op, operands[0])
    )


def concat_of_concat(op: ir.Operation, rewriter: Rewriter) -> bool:
    """concat{d}(…, concat{d}(x…), …) -> concat{d}(…, x…, …), for an inner one that nothing else uses: one used twice,
    as in a chain of concat(x, x), would have its operands twice in each.
    """
    dim = dim_of(op)
    flat: list[ir.Value] = []
    for operand in op.operands:
        inner = producer(operand, "ragged.concat")
        shared = len(list(operand.uses)) > 1
        flat.extend([operand] if inner is None or dim_of(inner) != dim or shared else inner.operands)
    if len(flat) == len(op.operands):
        return False
    if attempt(lambda: segments([x.type for x in flat])) is None:
        return False
    first, *others = map(shape, flat)
    if not same_meaning(attempt(lambda: first.concat(others, dim)), shape(op.results[0])):
        return False
    with rewriter.before(op):
        return rewriter.replace(op, builders.concat(flat, dim))


def concat_of_compact(op: ir.Operation, rewriter: Rewriter) -> bool:
    """concat{d}(…, compact(x), …) -> concat{d}(…, x, …), where the windows of x are those of d, below a batch: the
    pieces of each component are copied once."""
    dim, operands = dim_of(op), list(op.operands)
    for k, operand in enumerate(operands):
        made = producer(operand, "ragged.compact")
        if made is not None and shape(made.operands[0]).layout.has_windows_only(dim):
            operands[k] = made.operands[0]
    if operands == list(op.operands):
        return False
    if attempt(lambda: segments([x.type for x in operands])) is None:
        return False
    with rewriter.before(op):
        return rewriter.replace(op, builders.concat(operands, dim))


PATTERNS: dict[str, tuple[Pattern, ...]] = {
    "ragged.slice": (slice_of_everything, slice_of_slice),
    "ragged.select": (select_of_slice, select_of_concat),
    "ragged.concat": (concat_of_one, concat_of_concat, concat_of_compact),
}
