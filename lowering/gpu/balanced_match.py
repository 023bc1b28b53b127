"""Which foralls reduce the rows of ragged components, and how: what the balanced schedule needs to know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ragged_dialect._mlir import ir
from ragged_dialect.lowering.buffers import VIEWS, defining_op, is_buffer, is_constant, region, root, starts_and_sizes
from ragged_dialect.lowering.emit import Mixed
from ragged_dialect.lowering.gpu.combiner import combiner_of
from ragged_dialect.lowering.gpu.fills import foldable_fills
from ragged_dialect.lowering.gpu.generic_op import GenericOp

_ADDRESSING = VIEWS | {"memref.load", "memref.dim"}


@dataclass(frozen=True)
class RowReduction:
    """A `linalg.generic` that reduces the rows of a component into row `component` of its outs.

    `loop` is the one over rows. `rows` has, for every operand with rows, the dim of its view along
    which they lie. `extents` are those of the parallel loops, ints or values from outside of the
    forall. `inits` are scalars that take the place of an out's element."""

    op: Any
    loop: int
    rows: dict[int, int]
    extents: dict[int, Mixed]
    inits: dict[int, Any]


@dataclass(frozen=True)
class Components:
    """What a forall does to its components: rows `low` to `high` of each, which are the offsets at
    the component's number and the next one; `length` is their difference."""

    forall: Any
    low: Any
    high: Any
    length: Any
    reductions: tuple[RowReduction, ...]

    @property
    def body(self) -> Any:
        """The block of the forall."""
        return self.forall.regions[0].blocks[0]

    @property
    def component(self) -> Any:
        """The number of the component in the body."""
        return self.body.arguments[0]


def match_components(forall: Any) -> Components | None:
    """The components of a forall, None when its body does anything else than reducing their rows."""
    body = forall.regions[0].blocks[0]
    if len(body.arguments) != 1:
        return None
    fills = foldable_fills(body)
    filled = {fill for fill, _, _ in fills}
    ops = [op for op in [o.operation for o in body.operations][:-1] if op not in filled]
    generics = [op for op in ops if op.name == "linalg.generic"]
    if any(op not in generics and op.name not in _ADDRESSING and not op.name.startswith("arith.") for op in ops):
        return None
    inits = {found: scalar for _, found, scalar in fills}
    matchers = [_Matcher(body, GenericOp(op), {k: v for (o, k), v in inits.items() if o == op}) for op in generics]
    written = {root(out) for op in generics for out in GenericOp(op).outs}
    if not matchers or not _reads_apart(ops, written):
        return None
    reductions = [matcher.match(written) for matcher in matchers]
    return _together(forall, matchers, [r for r in reductions if r is not None])


def _together(forall: Any, matchers: list[_Matcher], reductions: list[RowReduction]) -> Components | None:
    """All reductions over the same rows."""
    lengths = [matcher.length for matcher in matchers]
    if len(reductions) < len(matchers) or any(length != lengths[0] for length in lengths):
        return None
    low, high = lengths[0].operands[1], lengths[0].operands[0]
    return Components(forall, low, high, lengths[0].results[0], tuple(reductions))


def _reads_apart(ops: list[Any], written: set[Any]) -> bool:
    """Whether nothing but the outs of reductions touches a buffer that is written: a view of it is
    no access."""
    for op in ops:
        if op.name == "memref.load" and root(op.operands[0]) in written:
            return False
        if op.name == "linalg.generic":
            generic = GenericOp(op)
            outs = [root(out) for out in generic.outs]
            if len(set(outs)) < len(outs) or any(root(x) in written for x in generic.inputs if is_buffer(x)):
                return False
    writers = [root(out) for op in ops if op.name == "linalg.generic" for out in GenericOp(op).outs]
    return len(set(writers)) == len(writers)


class _Matcher:
    """Matches one generic. `length` is the op that computes the component's number of rows."""

    def __init__(self, body: Any, generic: GenericOp, inits: dict[int, Any]) -> None:
        self.body = body
        self.generic = generic
        self.inits = inits
        self.length: Any = None

    def match(self, written: set[Any]) -> RowReduction | None:
        """The generic as a reduction of rows."""
        generic = self.generic
        if len(generic.reductions) != 1:
            return None
        loop = generic.reductions[0]
        rows = {k: self._rows_of(k, loop) for k in range(generic.n_inputs) if loop in generic.loops_of(k)}
        extents = {d: self._extent(d) for d in range(generic.rank) if generic.parallel[d]}
        found = {k: dim for k, dim in rows.items() if dim is not None}
        sizes = {d: size for d, size in extents.items() if size is not None}
        if not found or len(found) < len(rows) or len(sizes) < len(extents):
            return None
        if not all(self._is_row_of_component(out) for out in range(len(generic.outs))):
            return None
        if not all(self._is_free(op, loop, written) for op in generic.payload):
            return None
        return RowReduction(generic.op, loop, found, sizes, self.inits)

    def _outside(self, x: Any) -> bool:
        """Whether a value is defined outside of the forall."""
        block = x.owner if isinstance(x.owner, ir.Block) else x.owner.operation.block
        return block != self.body

    def _rows_of(self, k: int, loop: int) -> int | None:
        """The dim of operand k along which a component's rows lie: it must be a slice, from `low` on, of
        a buffer from outside."""
        x, results = self.generic.operands[k], self.generic.maps[k].results
        dims = [d for d, e in enumerate(results) if isinstance(e, ir.AffineDimExpr) and e.position == loop]
        op = defining_op(x) if is_buffer(x) else None
        if len(dims) != 1 or not all(isinstance(e, ir.AffineDimExpr) for e in results) or op is None:
            return None
        if op.name != "memref.subview" or not self._outside(op.operands[0]):
            return None
        starts, sizes = starts_and_sizes(op)
        others = [start for d, start in enumerate(starts) if d != dims[0]]
        if len(starts) != len(results) or any(s != 1 for s in op.attributes["static_strides"]):
            return None  # an axis dropped, or rows apart
        if any(isinstance(start, ir.Value) and not self._outside(start) for start in others):
            return None
        return dims[0] if self._is_length(sizes[dims[0]], starts[dims[0]]) else None

    def _is_length(self, size: Mixed, start: Mixed) -> bool:
        """Whether a slice has the component's rows: the same for all operands."""
        op = defining_op(size) if isinstance(size, ir.Value) else None
        if op is None or op.name != "arith.subi" or op.operands[1] != start:
            return False
        if self.length is None and self._are_offsets(start, op.operands[0]):
            self.length = op
        return self.length == op

    def _are_offsets(self, low: Any, high: Any) -> bool:
        """Whether two indices are what a vector from outside has at the component and after it."""
        first, second = _loaded(low), _loaded(high)
        if first is None or second is None or first[0] != second[0] or not self._outside(first[0]):
            return False
        after = defining_op(second[1])
        if first[1] != self.body.arguments[0] or after is None or after.name != "arith.addi":
            return False
        steps = [x for x in after.operands if is_constant(x) and defining_op(x).attributes["value"].value == 1]
        return first[1] in list(after.operands) and len(steps) == 1

    def _extent(self, loop: int) -> Mixed | None:
        """The extent of a parallel loop, as far as it is known outside."""
        k, dim = self.generic.place(loop)
        static = self.generic.static_extent(loop)
        op = defining_op(self.generic.operands[k])
        if static is not None or op is None or op.name != "memref.subview":
            return static
        sizes = starts_and_sizes(op)[1]
        if len(sizes) != len(op.result.type.shape):
            return None
        return sizes[dim] if self._outside(sizes[dim]) else None

    def _is_row_of_component(self, out: int) -> bool:
        """Whether an out is one row, that of the component, and accumulated into by a known combiner."""
        k = self.generic.n_inputs + out
        results = self.generic.maps[k].results
        loops = [e.position for e in results if isinstance(e, ir.AffineDimExpr)]
        parallel = [d for d in range(self.generic.rank) if self.generic.parallel[d]]
        if len(loops) < len(results) or sorted(loops) != parallel or combiner_of(self.generic, out) is None:
            return False
        covered = region(self.generic.operands[k])
        if covered is None or not self._outside(covered[0]):
            return False
        return any(
            isinstance(start, ir.Value) and start == self.body.arguments[0] and isinstance(size, int) and size == 1
            for start, size in covered[1]
        )

    def _is_free(self, op: Any, loop: int, written: set[Any]) -> bool:
        """Whether an op of the payload, with what is in it, neither asks for the number of a row in its
        component nor reads what the body writes."""
        free = True

        def visit(inner: Any) -> Any:
            nonlocal free
            if inner.name == "linalg.index":
                free = free and inner.attributes["dim"].value != loop
            free = free and not any(is_buffer(x) and root(x) in written for x in inner.operands)
            return ir.WalkResult.ADVANCE

        op.walk(visit)
        return free


def _loaded(x: Any) -> tuple[Any, Any] | None:
    """Vector and place of an index that is loaded from a vector."""
    op = defining_op(x)
    if op is not None and op.name == "arith.index_cast":
        op = defining_op(op.operands[0])
    if op is None or op.name != "memref.load" or len(op.operands) != 2:
        return None
    return op.operands[0], op.operands[1]


def host_rows(reduction: RowReduction) -> list[tuple[Any, int]]:
    """The buffers outside of the forall whose rows are reduced, each with the dim of the rows."""
    operands = list(reduction.op.operands)
    return [(defining_op(operands[k]).operands[0], dim) for k, dim in reduction.rows.items()]
