"""Runs of flat linalg ops that one kernel does tile by tile.

Ops of a run have a parallel loop of the same extent; a tile of one depends on the same tile of those
before it only.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from math import prod

from ragged_dialect._mlir import ir
from ragged_dialect.device_model import DEVICE
from ragged_dialect.generic import count_from
from ragged_dialect.ir import build, flow
from ragged_dialect.ir.build import Mixed
from ragged_dialect.ir.match import terminator
from ragged_dialect.lowering.attributes import Mapping
from ragged_dialect.lowering.buffers.subviews import (
    disjoint,
    extent_key,
    is_buffer,
    is_same,
    plain_dim,
    range_view,
    root,
    writes_around,
)
from ragged_dialect.lowering.gpu.kernel.generic_op import GenericOp
from ragged_dialect.lowering.gpu.kernel.thread_shape import fast_loop
from ragged_dialect.lowering.nests.forall_bounds import forall_over


@dataclass(frozen=True)
class Cut:
    """An op, the loop that is cut into tiles, None when it cannot be cut, and how it is to be mapped."""

    generic: GenericOp
    loop: int | None
    mapping: Mapping = field(default_factory=Mapping)

    @staticmethod
    def of(op: ir.Operation) -> Cut:
        """The first loop that can be cut."""
        generic = GenericOp(op)
        loops = [d for d, parallel in enumerate(generic.parallel) if parallel and generic.has_ranges(d)]
        return Cut(generic, loops[0] if loops else None, Mapping.of(op))

    def dim(self, k: int) -> int:
        """The dim of operand k that is cut, -1 for none."""
        found = plain_dim(self.generic.maps[k], self.loop or 0)
        return -1 if found is None or not is_buffer(self.generic.operands[k]) else found

    def extent_key(self) -> Hashable:
        """Equal for loops of the same extent."""
        assert self.loop is not None
        k, dim = self.generic.place(self.loop)
        return extent_key(self.generic.operands[k], dim)


def joins(run: list[Cut], cut: Cut) -> bool:
    """Whether an op can follow a run tile by tile."""
    if (
        cut.loop is None
        or any(c.loop is None or writes_around(c.generic.op) for c in run)
        or cut.extent_key() != run[0].extent_key()
    ):
        return False
    if not run[0].mapping.takes(cut.mapping):
        return False
    return not writes_around(cut.generic.op) and all(_independent(earlier, cut) for earlier in run)


def _independent(a: Cut, b: Cut) -> bool:
    """Whether tiles of b need only the same tiles of a."""
    for k, x in enumerate(a.generic.operands):
        for j, y in enumerate(b.generic.operands):
            written = k >= a.generic.n_inputs or j >= b.generic.n_inputs
            if not written or not is_buffer(x) or not is_buffer(y) or disjoint(root(x), root(y)):
                continue
            if not is_same(x, y) or a.dim(k) != b.dim(j) or a.dim(k) < 0:
                return False
    written_by_a = {root(x) for x in a.generic.outs}
    return not (_gathered(b) & written_by_a or _gathered(a) & {root(y) for y in b.generic.outs})


def _gathered(cut: Cut) -> set[ir.Value]:
    """Buffers that a payload loads from at places of its own."""
    return {root(load.operands[0]) for load in cut.generic.loads}


def tile(run: list[Cut], elements: int) -> ir.Operation:
    """A forall over tiles of about `elements` elements, or as many as the run asks for, in which its ops follow one
    another; of one tile when the run cannot be cut. It stands where the last op stood."""
    last, mapping = run[-1].generic.op, run[0].mapping
    elements = mapping.tile or elements
    with ir.InsertionPoint(last), last.location:
        if run[0].loop is None:
            forall = _mapped(forall_over(1), mapping)
            Mapping().give(last)
            last.move_before(terminator(forall.regions[0].blocks[0]))
            return forall
        rows = min(_rows(cut, elements) for cut in run)
        size = run[0].generic.extent(run[0].loop)
        rows = min(rows, max(size, 1)) if isinstance(size, int) else rows
        forall = _mapped(forall_over(build.ceildiv(size, rows)), mapping)
    with ir.InsertionPoint(terminator(forall.regions[0].blocks[0])), last.location:
        low = build.mul(forall.regions[0].blocks[0].arguments[0], rows)
        place(run, low, rows, size)
    for cut in run:
        cut.generic.op.erase()
    return forall


def _mapped(forall: ir.Operation, mapping: Mapping) -> ir.Operation:
    """A forall that is mapped as the ops in it were to be, whose tiles are made."""
    replace(mapping, tile=None).give(forall)
    return forall


def place(run: list[Cut], low: Mixed, rows: int, extent: Mixed, given: dict[int, ir.Value] | None = None) -> None:
    """Copies of the ops on the tile of `rows` iterations from `low`, at the insertion point; operands
    that are `given` by number stand for parts of the ops' own. Tiles that are whole have static
    extents, which the widest accesses and batches of rows need."""
    if isinstance(extent, int) and extent % rows == 0:
        _place(run, low, rows, given)
    elif any(cut.generic.reductions or fast_loop(cut.generic) == cut.loop for cut in run):
        whole = build.at_most(build.add(build.value(low), rows), extent)
        flow.choose(
            whole, lambda: _place(run, low, rows, given), lambda: _place(run, low, build.sub(extent, low), given), []
        )
    else:
        _place(run, low, build.minimum(rows, build.sub(extent, low)), given)


def _place(run: list[Cut], low: Mixed, size: Mixed, given: dict[int, ir.Value] | None) -> None:
    views: dict[tuple[ir.Value, int], ir.Value] = {}
    given = given or {}
    for cut in run:
        operands = [
            given[k] if k in given else _part(views, x, cut.dim(k), low, size)
            for k, x in enumerate(cut.generic.operands)
        ]
        copy = cut.generic.op.clone().operation
        Mapping().give(copy)
        for k, x in enumerate(operands):
            copy.operands[k] = x
        if cut.loop is not None:
            count_from(copy, build.value(low), cut.loop)


def _part(views: dict[tuple[ir.Value, int], ir.Value], x: ir.Value, dim: int, low: Mixed, size: Mixed) -> ir.Value:
    if dim < 0:
        return x
    if (x, dim) not in views:
        views[x, dim] = range_view(x, dim, low, size)
    return views[x, dim]


def _rows(cut: Cut, elements: int) -> int:
    """Iterations of the cut loop per tile."""
    others = (d for d in range(cut.generic.rank) if d != cut.loop)
    return max(1, elements // prod(max(1, cut.generic.static_extent(d) or DEVICE.dynamic_extent) for d in others))
