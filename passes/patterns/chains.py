"""Chains of partitions, merges and splits: what undoes each other goes, what commutes gets one order."""

from __future__ import annotations

from ragged_dialect import builders
from ragged_dialect._mlir import ir
from ragged_dialect.ops import RESHAPES
from ragged_dialect.ops.structure import partition_count
from ragged_dialect.passes.analysis.iteration_domains import Cutter, Step
from ragged_dialect.passes.analysis.normal_form import normal_form
from ragged_dialect.passes.patterns.matching import defining, dim_of, factor_of, same_meaning, shape, source
from ragged_dialect.passes.patterns.rewriting import Pattern, Rewriter

_LONGEST = 64
"""Ops of a chain that is put in order: the cost grows with the square, and no program that we know has so many."""


def chain_in_order(op: ir.Operation, rewriter: Rewriter) -> bool:
    """A chain of partitions, merges and splits -> the chain for its iteration domains, which depends
    on nothing else (`iteration_domains`)."""
    ops = _chain(op)
    layout = rewriter.layout(op.operands[0])
    if len(ops) > _LONGEST or (len(ops) == 1 and (layout is None or not layout.has_tiles)):
        return False  # one op alone has another spelling only where it makes or merges a tile of extent 1
    vectors: list[ir.Value] = []
    steps = tuple(_step(link, vectors) for link in ops)
    root = source(ops[0].operands[0])
    normal = normal_form(shape(root), steps)
    if normal is None or normal.steps == steps or not same_meaning(normal.shape, shape(op.results[0])):
        return False
    return rewriter.replace(op, _made(root, normal.steps, vectors, op, rewriter))


def _chain(op: ir.Operation) -> list[ir.Operation]:
    """The ops of a chain, down to `op`."""
    ops: list[ir.Operation] = []
    above: ir.Operation | None = op
    while above is not None and above.name in RESHAPES and len(ops) <= _LONGEST:
        ops.append(above)
        above = defining(above.operands[0])
    return ops[::-1]


def _step(op: ir.Operation, vectors: list[ir.Value]) -> Step:
    """An op as a step; a vector goes by its place in `vectors`."""
    if op.name == "ragged.merge":
        return Step(dim_of(op), None)
    if op.name == "ragged.split":
        return Step(dim_of(op), factor_of(op))
    vector, lengths = source(op.operands[1]), "lengths" in op.attributes
    if vector not in vectors:
        vectors.append(vector)
    known = shape(vector)
    count = partition_count(known, lengths)
    return Step(dim_of(op), Cutter(vectors.index(vector), lengths, known.rank, count, known.shape[0]))


def _made(
    x: ir.Value, steps: tuple[Step, ...], vectors: list[ir.Value], op: ir.Operation, rewriter: Rewriter
) -> ir.Value:
    """A chain of ops from `x`, before `op`."""
    with rewriter.before(op):
        for dim, by in steps:
            if by is None:
                x = builders.merge(x, dim)
            elif isinstance(by, int):
                x = builders.split(x, dim, by)
            else:
                x = builders.partition(x, vectors[by.vector], dim, by.lengths)
    return x


PATTERNS: dict[str, tuple[Pattern, ...]] = {name: (chain_in_order,) for name in sorted(RESHAPES)}
