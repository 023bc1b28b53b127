"""One `linalg.generic` on the threads of a block."""

from __future__ import annotations

from ragged_dialect._mlir import ir
from ragged_dialect.ir import flow
from ragged_dialect.lowering.buffers.subviews import is_buffer, root
from ragged_dialect.lowering.gpu.kernel.barriers import Access, Barriers, Signature
from ragged_dialect.lowering.gpu.kernel.combiner import Combiner, combiners_of, is_split
from ragged_dialect.lowering.gpu.kernel.exchange import Exchange
from ragged_dialect.lowering.gpu.kernel.generic_op import GenericOp
from ragged_dialect.lowering.gpu.kernel.points import Payload, Point
from ragged_dialect.lowering.gpu.kernel.reduction import Reduction
from ragged_dialect.lowering.gpu.kernel.thread_loops import ThreadLoops, with_index
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
        """Every thread computes its points; reductions run in order."""
        payload = Payload(generic, loops.threads.vector)
        reductions = generic.reductions

        def leaf(points: list[Point]) -> None:
            if reductions:
                self._serially(payload, points[0], reductions)
            else:
                payload.at(points, list(range(len(generic.outs))))

        loops.parallel(leaf, 1 if reductions else unroll)

    def _serially(self, payload: Payload, point: Point, reductions: list[int]) -> None:
        """The loops of reductions at a point. What the innermost one accumulates it has in registers."""
        generic, (loop, *rest) = payload.generic, reductions
        carried = [] if rest else [out for out in range(len(generic.outs)) if self._is_carried(payload, out, loop)]
        stored = [out for out in range(len(generic.outs)) if out not in carried]
        starts = [payload.load(generic.n_inputs + out, point) for out in carried]

        def body(i: ir.Value, values: list[ir.Value]) -> list[ir.Value] | None:
            inner = with_index(point, loop, i)
            if rest:
                self._serially(payload, inner, rest)
                return None
            left = iter(values)
            known = {out: [next(left) for _ in start] for out, start in zip(carried, starts, strict=True)}
            found = payload.at([inner], stored, known)
            return [value(generic.yielded[out]) for out in carried for value in found]

        made = iter(flow.for_loop(generic.extent(loop), [x for start in starts for x in start], body))
        for out, start in zip(carried, starts, strict=True):
            payload.store(out, point, [next(made) for _ in start])

    def _is_carried(self, payload: Payload, out: int, loop: int) -> bool:
        """Whether a loop may keep an out's element, one for each lane, to itself: nothing else reads or writes it."""
        generic, own = payload.generic, payload.generic.n_inputs + out
        if loop in generic.loops_of(own) or not generic.is_read(own) or self.barriers.overlap:
            return False
        if payload.vector is not None and payload.vector.loop not in generic.loops_of(own):
            return False
        used = [x for k, x in enumerate(generic.operands) if k != own and is_buffer(x)]
        return root(generic.operands[own]) not in map(root, [*used, *(load.operands[0] for load in generic.loads)])

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
