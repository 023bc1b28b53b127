"""Elementwise work on the rows of ragged components, in the body of a forall over them."""

from __future__ import annotations

from dataclasses import dataclass

from ragged_dialect._mlir import ir
from ragged_dialect.ir.match import body_ops
from ragged_dialect.lowering.buffers.subviews import is_buffer, root
from ragged_dialect.lowering.gpu.segmented.component_rows import (
    Components,
    RowMatcher,
    RowWork,
    is_free,
    plain_generics,
)


@dataclass(frozen=True)
class MappedComponents(Components):
    """Components whose rows a forall maps, by ops that do not depend on each other."""

    work: tuple[RowWork, ...]


def match_maps(forall: ir.Operation) -> MappedComponents | None:
    """The maps of a forall, None when its body does anything else."""
    body = forall.regions[0].blocks[0]
    if len(body.arguments) != 1:
        return None
    ops = body_ops(body)
    plain = plain_generics(ops)
    if plain is None or not plain[0]:
        return None
    generics, written = plain
    matchers = [RowMatcher(body, generic) for generic in generics]
    found: list[RowWork] = []
    for matcher in matchers:
        if (work := _map_of(matcher, written)) is None:
            return None
        found.append(work)
    difference, *others = {matcher.difference for matcher in matchers}
    return None if difference is None or others else MappedComponents(forall, difference, tuple(found))


def _map_of(matcher: RowMatcher, written: set[ir.Value]) -> RowWork | None:
    generic = matcher.generic
    if generic.reductions or not all(is_free(op, written) for op in generic.payload):
        return None
    if any(is_buffer(x) and root(x) in written for x in generic.inputs):
        return None
    if any(generic.is_read(k) for k in range(generic.n_inputs, len(generic.operands))):
        return None
    for loop in range(generic.rank):
        rows = {k: matcher.rows_of(k, loop) for k in range(len(generic.operands)) if loop in generic.loops_of(k)}
        found = {k: dim for k, dim in rows.items() if dim is not None}
        if found:
            sizes = {d: matcher.extent(d) for d in range(generic.rank) if d != loop}
            known = {d: size for d, size in sizes.items() if size is not None}
            return RowWork(generic.op, loop, found, known) if len(known) == len(sizes) else None
    return None
