"""One `linalg.generic` on the threads of a block."""

from __future__ import annotations

from ragged_dialect._mlir import ir
from ragged_dialect.ir import flow
from ragged_dialect.lowering.buffers import is_buffer, root
from ragged_dialect.lowering.gpu.kernel.barriers import Access, Barriers, Signature
from ragged_dialect.lowering.gpu.kernel.combiner import Combiner, combiners_of, is_split
from ragged_dialect.lowering.gpu.kernel.exchange import Exchange
from ragged_dialect.lowering.gpu.kernel.generic_op import GenericOp
from ragged_dialect.lowering.gpu.kernel.points import Payload, Point
from ragged_dialect.lowering.gpu.kernel.reduction import Reduction
from ragged_dialect.lowering.gpu.kernel.thread_loops import ThreadLoops
from ragged_dialect.lowering.gpu.kernel.thread_shape import thread_shape


class Distributor:
    """Emits generics at the insertion point. `inits` holds scalars that a reduction starts from
    instead of its out's element: (op, out) -> value."""

    def __init__(self, threads: int, thread: ir.Value, barriers: Barriers, exchange: Exchange, unroll: int) -> None:
        self.threads = threads
        self.thread = thread
        self.barriers = barriers
        self.exchange = exchange
        self.unroll = unroll
        self.inits: dict[tuple[ir.Operation, int], ir.Value] = {}

    def emit(self, op: ir.Operation) -> None:
        """Emit an op's work."""
        generic = GenericOp(op)
        combiners = combiners_of(generic)
        others = [k for k in range(len(generic.outs)) if k not in combiners]
        split = is_split(generic)
        loops = ThreadLoops(generic, thread_shape(generic, self.threads, split), self.thread, self.threads)
        accesses = self._accesses(generic, loops, combiners if split else {})
        before = list(self.barriers.pending)
        self.barriers.before(accesses)
        if self.barriers.pending == accesses:
            before = []
        unroll = self.unroll if _may_batch(generic) else 1
        if split:
            inits = {k: v for (o, k), v in self.inits.items() if o == op}
            Reduction(generic, loops, combiners, others, self.exchange, self.barriers, unroll, inits).emit(
                before, accesses
            )
        else:
            self._pointwise(generic, loops, unroll)

    def _pointwise(self, generic: GenericOp, loops: ThreadLoops, unroll: int) -> None:
        """Every thread computes its points; reductions run in order, through memory."""
        payload = Payload(generic, loops.threads.vector)
        stored = list(range(len(generic.outs)))
        reductions = generic.reductions

        def leaf(points: list[Point]) -> None:
            if not reductions:
                payload.at(points, stored)
                return
            self._serially(generic, payload, points[0], reductions, stored)

        loops.parallel(leaf, 1 if reductions else unroll)

    def _serially(
        self, generic: GenericOp, payload: Payload, point: Point, reductions: list[int], stored: list[int]
    ) -> None:
        if not reductions:
            payload.at([point], stored)
            return
        loop, *rest = reductions

        def body(i: ir.Value, _: list[ir.Value]) -> list[ir.Value]:
            inner = list(point)
            inner[loop] = i
            self._serially(generic, payload, inner, rest, stored)
            return []

        flow.for_loop(generic.extent(loop), [], body)

    def _accesses(self, generic: GenericOp, loops: ThreadLoops, combiners: dict[int, Combiner]) -> list[Access]:
        found: list[Access] = []
        for k, x in enumerate(generic.operands):
            out = k - generic.n_inputs
            if not is_buffer(x) or (out < 0 and not generic.is_read(k)):
                continue
            found.append(Access.of(x, out >= 0, signature(generic, loops, k, out in combiners)))
        return found + [Access.of(load.operands[0], False) for load in generic.loads]


def signature(generic: GenericOp, loops: ThreadLoops, k: int, accumulated: bool) -> Signature:
    """Which thread touches which element of operand k: only when every loop that is spread over
    threads indexes it, or is reduced away by combining."""
    exprs = generic.maps[k].results
    indexed = [e.position for e in exprs if isinstance(e, ir.AffineDimExpr)]
    if len(indexed) != len(exprs):
        return None
    shape = loops.threads
    for loop in range(generic.rank):
        reduced = accumulated and not generic.parallel[loop]
        if shape.shape[loop] > 1 and loop not in indexed and not reduced:
            return None
    return tuple(
        (shape.stride[d], shape.shape[d], shape.width(d)) if shape.shape[d] > 1 else (1, 1, 1) for d in indexed
    )


def _may_batch(generic: GenericOp) -> bool:
    """Whether loads of later points may come before stores of earlier ones: an input in the memory of
    an out must be the same view with the same map."""
    written = {root(x): k + generic.n_inputs for k, x in enumerate(generic.outs)}
    for k, x in enumerate(generic.inputs):
        out = written.get(root(x)) if is_buffer(x) else None
        if out is not None and (x != generic.operands[out] or generic.maps[k] != generic.maps[out]):
            return False
    return not any(root(load.operands[0]) in written for load in generic.loads)
