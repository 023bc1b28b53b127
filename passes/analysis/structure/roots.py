"""Where the structure of a ragged value comes from: through elementwise ops to its root, and from
there to the vector that made a level."""

from __future__ import annotations

from typing import cast

from ragged_dialect._mlir import ir
from ragged_dialect.ir.match import view_of
from ragged_dialect.layout import RAGGED
from ragged_dialect.ops import OPS, RESHAPES, VIEWS
from ragged_dialect.ops.base import RaggedOp
from ragged_dialect.ops.making import EmptyOp
from ragged_dialect.passes.analysis.structure.keys import computed_from
from ragged_dialect.passes.base import faults_at
from ragged_dialect.passes.patterns.matching import defining, dim_of, producer, shape, source
from ragged_dialect.passes.patterns.rewriting import Rewriter
from ragged_dialect.traits import int_attr


def root_of(value: ir.Value, rewriter: Rewriter) -> ir.Value:
    """A value of the same layout and lengths that is further up: through casts, assumes, guards,
    `empty` and ops that compute. Windows are compacted by ops that compute, so a value with windows
    goes through casts, assumes and guards only."""
    chain: list[ir.Value] = []
    while value not in rewriter.roots:
        above = _above(value, rewriter)
        if above is None:
            rewriter.roots[value] = value
            break
        chain.append(value)
        value = above
    root = rewriter.roots[value]
    for below in chain:
        rewriter.roots[below] = root
    return root


def _above(value: ir.Value, rewriter: Rewriter) -> ir.Value | None:
    layout = rewriter.layout(value)
    if not isinstance(value, ir.OpResult) or layout is None:
        return None
    op = value.owner.operation
    if op.name in VIEWS:
        above = op.operands[0]
    elif layout.has_windows:
        return None
    elif op.name == "ragged.empty":
        above = view_of(op, EmptyOp).like
    else:
        above = computed_from(op, value.result_number)
    return above if above is not None and rewriter.layout(above) == layout else None


def vector_of(value: ir.Value, kind: str, level: int, rewriter: Rewriter) -> ir.Value | None:
    """The vector that a partition, an assemble or an access op holds for a level of a value:
    kind is offsets, starts or lengths (element lengths, not those of a split). None if unknown."""
    made = maker_of(value, level, rewriter)
    if made is None:
        return None
    op, level = made
    if op.name == "ragged.assemble":
        return _assembled(op, kind, level)
    return source(op.operands[1]) if kind == ("lengths" if "lengths" in op.attributes else "offsets") else None


def maker_of(value: ir.Value, level: int, rewriter: Rewriter) -> tuple[ir.Operation, int] | None:
    """The assemble, or the partition by a vector of rank 1, that made a level of a value, and the
    level of its result. Ops on other dims in between leave the vector of the level as it is."""
    while True:
        op = defining(root_of(value, rewriter))
        if op is None:
            return None
        made_here = op.name == "ragged.partition" and level == dim_of(op) + 1 and shape(op.operands[1]).rank == 1
        if op.name == "ragged.assemble" or made_here:
            return op, level
        above = _level_above(op, level)
        if above is None:
            return None
        value, level = op.operands[0], above
        if shape(value).layout.letter(level) not in RAGGED:
            return None


def extent_root(value: ir.Value, dim: int) -> tuple[ir.Value, int] | None:
    """The value above all partitions, merges and splits that has a plain dim with the very extent of
    this one, and that dim; None where one of them made the dim."""
    while True:
        op = defining(value)
        if op is None or op.name not in RESHAPES:
            return source(value), dim
        above = _level_above(op, dim)
        if above is None or not shape(op.operands[0]).layout.is_plain(above):
            return None
        value, dim = op.operands[0], above


def _level_above(op: ir.Operation, level: int) -> int | None:
    """The level of an op's operand that is a level of its result."""
    if op.name not in OPS:
        return None
    with faults_at(op, OPS[op.name].level_above):
        found = cast(object, view_of(op, RaggedOp).level_above(level))
        if found is not None and not (isinstance(found, int) and 0 <= found < len(op.operands[0].type.shape)):
            raise TypeError(f"expected a level or None from level_above, got {found!r}")
        return found


def _assembled(op: ir.Operation, kind: str, level: int) -> ir.Value | None:
    for part, operand in zip(shape(op.results[0]).parts(), op.operands, strict=True):
        if part == (kind, level):
            return source(operand)
    return None


def is_vector_of(vector: ir.Value, value: ir.Value, kind: str, level: int, rewriter: Rewriter) -> bool:
    """Whether a vector provably holds the offsets, starts or lengths of a level of a value."""
    known = vector_of(value, kind, level, rewriter)
    if known is not None and known == source(vector):
        return True
    access = producer(vector, f"ragged.{kind}")
    if access is None or int_attr(access, "level") != level:
        return False
    if kind == "lengths" and "stored" not in access.attributes and not shape(value).layout.stores_lengths(level):
        return False
    return root_of(access.operands[0], rewriter) == root_of(value, rewriter)
