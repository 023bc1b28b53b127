"""Components that a forall runs over, and which operands in its body have their rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce

from ragged_dialect._mlir import ir
from ragged_dialect.ir import build
from ragged_dialect.ir.build import Mixed
from ragged_dialect.ir.match import definer, defining_op, made_by
from ragged_dialect.ir.walk import find_ops, is_outside, ops_in
from ragged_dialect.lowering.buffers.subviews import (
    VIEWS,
    extent,
    is_buffer,
    offsets_of,
    region,
    root,
    starts_and_sizes,
)
from ragged_dialect.lowering.gpu.kernel.generic_op import GenericOp

_ADDRESSING = VIEWS | {"memref.load", "memref.dim"}


@dataclass(frozen=True)
class Iterations:
    """What a forall with one index runs over."""

    forall: ir.Operation

    @property
    def body(self) -> ir.Block:
        """The block of the forall."""
        return self.forall.regions[0].blocks[0]

    @property
    def component(self) -> ir.Value:
        """The number of the iteration in the body: that of a component."""
        return self.body.arguments[0]


@dataclass(frozen=True)
class Components(Iterations):
    """The components that a forall runs over. `difference` is the op that computes how many rows one has,
    from the offsets at the component's number and the next one."""

    difference: ir.Operation

    @property
    def low(self) -> ir.Value:
        """The first row of the component in the body."""
        return self.difference.operands[1]

    @property
    def high(self) -> ir.Value:
        """The row after its last one."""
        return self.difference.operands[0]

    @property
    def length(self) -> ir.Value:
        """The number of its rows."""
        return self.difference.results[0]


@dataclass(frozen=True)
class Follower:
    """A `linalg.generic` that makes of the outs of a reduction, element by element, row `component` of
    other buffers. `loops` has the reduction's loop for each of its own."""

    op: ir.Operation
    loops: dict[int, int]


@dataclass(frozen=True)
class RowWork:
    """A `linalg.generic` on the rows of components. `loop` is the one over rows; `rows` has, for every operand
    that is a slice of a component's rows, the dim along which they lie; `extents` are those of the parallel
    loops besides, ints or values from outside of the forall. A reduction makes row `component` of its outs; `inits`
    are scalars that take the place of an out's element, `followers` come after it for every component."""

    op: ir.Operation
    loop: int
    rows: dict[int, int]
    extents: dict[int, Mixed]
    inits: dict[int, ir.Value] = field(default_factory=dict[int, ir.Value])
    followers: tuple[Follower, ...] = ()

    def host_rows(self) -> list[tuple[ir.Value, int]]:
        """The buffers outside of the forall that have the rows, each with their dim."""
        operands = list(self.op.operands)
        return [(definer(operands[k]).operands[0], dim) for k, dim in self.rows.items()]

    def stored(self) -> Mixed:
        """How many rows all of these buffers have, at the insertion point."""
        return reduce(build.minimum, [extent(x, dim) for x, dim in self.host_rows()])


class RowMatcher:
    """Finds the rows of the component among the operands of one generic. `difference` is the op that
    computes how many there are, once an operand has shown it."""

    def __init__(self, body: ir.Block, generic: GenericOp) -> None:
        self.body = body
        self.generic = generic
        self.difference: ir.Operation | None = None

    def rows_of(self, k: int, loop: int) -> int | None:
        """The dim of operand k along which a component's rows lie: it must be a slice, from `low` on, of
        a buffer from outside."""
        x, results = self.generic.operands[k], self.generic.maps[k].results
        dims = [d for d, e in enumerate(results) if isinstance(e, ir.AffineDimExpr) and e.position == loop]
        op = defining_op(x) if is_buffer(x) else None
        if len(dims) != 1 or not all(isinstance(e, ir.AffineDimExpr) for e in results) or op is None:
            return None
        if op.name != "memref.subview" or not is_outside(op.operands[0], self.body.owner):
            return None
        starts, sizes = starts_and_sizes(op)
        others = [start for d, start in enumerate(starts) if d != dims[0]]
        if len(starts) != len(results) or any(s != 1 for s in op.attributes["static_strides"]):
            return None  # an axis dropped, or rows apart
        if any(isinstance(start, ir.Value) and not is_outside(start, self.body.owner) for start in others):
            return None
        return dims[0] if self._is_length(sizes[dims[0]], starts[dims[0]]) else None

    def _is_length(self, size: Mixed, start: Mixed) -> bool:
        """Whether a slice has the component's rows: the same for all operands."""
        op = made_by(size, "arith.subi") if isinstance(size, ir.Value) else None
        if op is None or op.operands[1] != start:
            return False
        if self.difference is None:
            offsets = offsets_of(op.results[0], self.body.arguments[0])
            self.difference = op if offsets is not None and is_outside(offsets, self.body.owner) else None
        return self.difference is not None and self.difference == op

    def extent(self, loop: int) -> Mixed | None:
        """The extent of a parallel loop, as far as it is known outside."""
        k, dim = self.generic.place(loop)
        static = self.generic.static_extent(loop)
        op = made_by(self.generic.operands[k], "memref.subview")
        if static is not None or op is None:
            return static
        sizes = starts_and_sizes(op)[1]
        if len(sizes) != len(op.result.type.shape):
            return None
        size = sizes[dim]
        return size if isinstance(size, ir.Value) and is_outside(size, self.body.owner) else None


def is_row_of_component(view: ir.Value, body: ir.Block) -> bool:
    """Whether a view is of the entry of a buffer from outside that is numbered as the component."""
    covered = region(view)
    if covered is None or not is_outside(covered[0], body.owner):
        return False
    return any(
        isinstance(start, ir.Value) and start == body.arguments[0] and isinstance(size, int) and size == 1
        for start, size in covered[1]
    )


def asks_index(op: ir.Operation, loop: int) -> bool:
    """Whether an op of a payload, with what is in it, asks for the index of a loop."""
    return any(index.attributes["dim"].value == loop for index in find_ops(op, "linalg.index"))


def is_free(op: ir.Operation, written: set[ir.Value]) -> bool:
    """Whether an op of a payload, with what is in it, reads nothing that the body writes."""
    return not any(is_buffer(x) and root(x) in written for inner in ops_in(op) for x in inner.operands)


def plain_generics(ops: list[ir.Operation]) -> tuple[list[GenericOp], set[ir.Value]] | None:
    """The generics among some ops of a body, and the buffers that they write; None when two of them write one, or an
    op does anything but computing where things are."""
    generics = [GenericOp(op) for op in ops if op.name == "linalg.generic"]
    outs = [root(out) for generic in generics for out in generic.outs]
    written = set(outs)
    if len(written) < len(outs) or not all(is_plain(op, written) for op in ops):
        return None
    return generics, written


def is_plain(op: ir.Operation, written: set[ir.Value]) -> bool:
    """Whether an op of a body computes where things are, or is a generic."""
    if op.name == "memref.load":
        return root(op.operands[0]) not in written
    return op.name == "linalg.generic" or op.name in _ADDRESSING or op.name.startswith("arith.")
