"""The body of a forall as the work of one block: generics on its threads, control flow uniform,
scalar stores by one thread, barriers in between."""

from __future__ import annotations

from ragged_dialect._mlir import arith, ir
from ragged_dialect.device_model import DEVICE
from ragged_dialect.ir import build, flow
from ragged_dialect.ir.clone import inlined
from ragged_dialect.ir.match import blocks_of
from ragged_dialect.ir.walk import find_ops, ops_in, replace
from ragged_dialect.lowering.buffers.subviews import VIEWS, is_buffer, may_overlap, root, stored_in
from ragged_dialect.lowering.gpu.kernel.barriers import Access, Barriers
from ragged_dialect.lowering.gpu.kernel.distribute import Distributor
from ragged_dialect.lowering.gpu.kernel.exchange import Exchange
from ragged_dialect.lowering.gpu.kernel.generic_op import generics_in
from ragged_dialect.lowering.gpu.kernel.kernel import Kernel
from ragged_dialect.lowering.gpu.kernel.scan import RunningSum, emit_scan
from ragged_dialect.lowering.gpu.kernel.thread_loops import batches_end
from ragged_dialect.lowering.nests.folds import Fold
from ragged_dialect.passes.base import PassFailure

_SCALAR = ("arith.", "math.", "memref.dim")


def needs_block(op: ir.Operation) -> bool:
    """Whether the threads of a block share work of an op."""
    return any(o.name == "linalg.generic" or (o.name == "scf.for" and flow.FOLD in o.attributes) for o in ops_in(op))


class BlockBody:
    """Rewrites blocks of a kernel in place. `thread` is the thread number."""

    def __init__(
        self, kernel: Kernel, thread: ir.Value, inits: dict[tuple[ir.Operation, int], ir.Value], unroll: int
    ) -> None:
        self.kernel = kernel
        self.thread = thread
        self.barriers = Barriers(kernel.threads, may_overlap(kernel.buffers))
        self.exchange = Exchange(kernel, thread, self.barriers)
        self.distributor = Distributor(kernel.threads, thread, self.barriers, self.exchange, unroll)
        self.distributor.inits = inits

    def rewrite(self, ops: list[ir.Operation]) -> None:
        """Rewrite ops of a block, in order."""
        for op in ops:
            with op.location:
                self._rewrite(op)

    def _rewrite(self, op: ir.Operation) -> None:
        _require_known(op)
        if op.name == "linalg.generic":
            with ir.InsertionPoint(op):
                self.distributor.emit(op)
            op.erase()
        elif op.name == "memref.load":
            with ir.InsertionPoint(op):
                self.barriers.before([Access.of(op.operands[0], False)])
        elif op.name == "memref.store":
            self._store(op)
        elif (fold := Fold.of(op)) is not None and self.kernel.threads > 1:
            self._fold(op, fold)
        elif op.name in ("scf.for", "scf.if", "scf.while"):
            self._control(op)
        elif op.name == "memref.dealloc":
            op.erase()
        elif not op.name.startswith(_SCALAR) and op.name not in VIEWS:
            raise PassFailure(op, f"expected an op that runs on a device, got '{op.name}'")

    def _store(self, op: ir.Operation) -> None:
        """One thread stores."""
        with ir.InsertionPoint(op):
            self.barriers.before([Access.of(op.operands[1], True)])
            if self.kernel.threads == 1:
                return
            end = flow.branch(build.equal(self.thread, 0))
        op.move_before(end)

    def _control(self, op: ir.Operation) -> None:
        """Conditions and bounds are the same in all threads, so barriers inside are too. Nothing that
        the regions may conflict with stays pending before them, or from one iteration to the next; what
        a branch leaves pending is waited for when something needs it."""
        written = _written(op)
        with ir.InsertionPoint(op):
            self.barriers.settle(written)
        before = list(self.barriers.pending)
        after = list(before)
        for block in blocks_of(op):
            self.barriers.pending = list(before)
            *body, last = [inner.operation for inner in block.operations]
            self.rewrite(body)
            if op.name != "scf.if":
                with ir.InsertionPoint(last), op.location:
                    self.barriers.settle(written)
            after += [access for access in self.barriers.pending if access not in after]
        self.barriers.pending = after

    def _fold(self, op: ir.Operation, fold: Fold) -> None:
        """A loop that folds into one index, or into running sums."""
        if fold.kind == "scan":
            self._scan(op)
            return
        with ir.InsertionPoint(op):
            replace(op, emit_fold(op, fold, self.thread, self.exchange))

    def _scan(self, op: ir.Operation) -> None:
        """A loop of running sums; one that does more runs step by step."""
        scan = RunningSum.of(op)
        if scan is None:
            self._control(op)
            return
        with ir.InsertionPoint(op):
            self.barriers.settle(_written(op))
            replace(op, emit_scan(scan, self.thread, self.exchange))


def _require_known(op: ir.Operation) -> None:
    """PassFailure where it is not known whose memory a buffer is: of what else it is a view, or of several."""
    carried = [x for block in blocks_of(op) for x in block.arguments]
    found = [x for x in (*op.results, *(carried if op.name.startswith("scf.") else ())) if is_buffer(x)]
    if found and op.name not in VIEWS:
        raise PassFailure(op, f"expected buffers in kernels to be of one memory, got one of '{op.name}'")


def _written(op: ir.Operation) -> set[ir.Value]:
    """Buffers that the regions of an op write."""
    return stored_in(op) | {root(out) for generic in generics_in(op) for out in generic.outs}


def emit_fold(loop: ir.Operation, fold: Fold, thread: ir.Value, exchange: Exchange) -> ir.Value:
    """Emit a loop that folds before itself; its result, in every thread."""
    low, high, _, init = loop.operands
    exchange.barriers.before([Access.of(load.operands[0], False) for load in find_ops(loop, "memref.load")])

    # a search starts from -1, which is all ones: the largest unsigned index
    carried = [fold.neutral(init.type)]
    step = exchange.kernel.threads
    first = arith.addi(low, thread)
    if not fold.few:
        batch = step * DEVICE.thread_items
        middle = batches_end(first, high, step, DEVICE.thread_items)
        carried = flow.strided(first, batch, middle, carried, lambda i, c: _several(loop, i, step, c))
        first = middle
    carried = flow.strided(first, step, high, carried, lambda i, c: _iteration(loop, i, c))
    (whole,) = exchange.combine(carried, [fold.apply], [(1, step)])
    return fold.apply(whole, init)


def _several(loop: ir.Operation, i: ir.Value, step: int, carried: list[ir.Value]) -> list[ir.Value]:
    """Some iterations that a thread does one after the other."""
    for k in range(DEVICE.thread_items):
        carried = _iteration(loop, build.add(i, k * step), carried)
    return carried


def _iteration(loop: ir.Operation, i: ir.Value, carried: list[ir.Value]) -> list[ir.Value]:
    """A copy of the loop's body; the carried values after it."""
    return inlined(loop.regions[0].blocks[0], [i, *carried])
