"""Sorts of which the first few elements of each segment are read."""

from __future__ import annotations

from ragged_dialect._mlir import ir
from ragged_dialect.generic import indexing_maps, iterator_kinds
from ragged_dialect.ir import build
from ragged_dialect.ir.match import constant_int, defining_op, terminator, view_of
from ragged_dialect.iteration import is_elementwise
from ragged_dialect.ops.grouping import SortOp
from ragged_dialect.passes.analysis.structure.keys import Key, Keys, LevelKey
from ragged_dialect.passes.analysis.structure.sources import STRUCTURAL
from ragged_dialect.passes.patterns.matching import dim_of, producer, shape
from ragged_dialect.passes.patterns.rewriting import Pattern, Rewriter
from ragged_dialect.traits import int_attr
from ragged_dialect.types import is_ragged, is_tensor

_MOST = 16
"""The largest limit: so many of 1,000 float32 take two thirds of the time that all take on a Zen 4 core, 32 as long."""
_OF_STRUCTURE = STRUCTURAL | {"ragged.offsets", "ragged.row_ids", "ragged.starts"}


def limit_of_sort(op: ir.Operation, rewriter: Rewriter) -> bool:
    """sort(keys, offsets) -> sort {limit = k}, where all that reads it, element by element, reads windows of the first
    k of each segment in the end: `rg.sort(x, axis=1)[:, :k]`."""
    view, keys = view_of(op, SortOp), Keys()
    most = _most_read(op.results[0], keys, keys.level_of("offsets", view.offsets))
    if most is None or most > _MOST or (view.limit is not None and view.limit <= max(most, 1)):
        return False
    op.attributes["limit"] = ir.IntegerAttr.get(build.i64(), max(most, 1))
    return True


def _most_read(value: ir.Value, keys: Keys, level: Key) -> int | None:
    """How many elements of each segment are read at most, from its first one on; None where it may be all."""
    found: list[int | None] = [0]
    for use in value.uses:
        user = use.owner.operation
        if user.name == "tensor.dim" or (is_ragged(value.type) and user.name in _OF_STRUCTURE):
            continue
        most = _of_windows(user, keys, level) if use.operand_number == 0 else None
        if most is None and _keeps_order(user, use.operand_number):
            found += [_most_read(result, keys, level) for result in user.results]
        else:
            found.append(most)
    known = [most for most in found if most is not None]
    return max(known) if len(known) == len(found) else None


def _keeps_order(op: ir.Operation, operand: int) -> bool:
    """Whether what an op makes has, element for element in memory, what it reads."""
    values = (op.operands[operand], *op.results)
    if not all(is_tensor(x.type) for x in values) or any(shape(x).layout.has_windows for x in values):
        return False
    if op.name in ("ragged.assemble", "ragged.partition"):
        return operand == 0 and (op.name == "ragged.assemble" or dim_of(op) == 0)
    if op.name != "linalg.generic":
        return op.name == "ragged.values" or is_elementwise(op)
    maps = indexing_maps(op)
    return set(iterator_kinds(op)) == {"parallel"} and all(m == ir.AffineMap.get_identity(m.n_dims) for m in maps)


def _of_windows(op: ir.Operation, keys: Keys, level: Key) -> int | None:
    """The most elements that windows show which begin where segments do; None for anything else."""
    if op.name != "ragged.assemble" or (layout := shape(op.results[0]).layout).letters.strip("dr") != "w":
        return None
    starts, lengths = list(op.operands)[-2:]
    begins = producer(starts, "ragged.starts")
    if len(layout.axes) > 1 or layout.letters[-1] != "w" or begins is None:
        return None
    source = begins.operands[0]
    own = keys.dim(source, int_attr(begins, "level"))
    if shape(source).layout.has_windows or not isinstance(own, LevelKey) or own.key != level:
        return None
    made = producer(lengths, "linalg.generic")
    return None if made is None else _at_most(terminator(made.regions[0].blocks[0]).operands[0])


def _at_most(number: ir.Value) -> int | None:
    """A bound of an integer that minima and maxima with constants tell."""
    op, known = defining_op(number), constant_int(number)
    if op is None or known is not None:
        return known
    if op.name == "arith.index_cast":
        return _at_most(op.operands[0])
    bounds = [_at_most(x) for x in op.operands] if op.name in ("arith.minsi", "arith.maxsi") else []
    found = [x for x in bounds if x is not None]
    if op.name == "arith.minsi" and found:
        return min(found)
    return max(found) if len(found) == 2 else None


PATTERNS: dict[str, tuple[Pattern, ...]] = {"ragged.sort": (limit_of_sort,)}
