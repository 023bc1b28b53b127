"""Which code of a bufferized function runs on the device, and moving it there.

Host values are functions of extents and scalar arguments. What loads, stores or computes from
loaded scalars belongs to the device: it is gathered in runs, and a run becomes an `scf.forall` of
one iteration. Scalars that later code needs are stored in slots, buffers of one element.
"""

from __future__ import annotations

from ragged_dialect._mlir import arith, ir, memref
from ragged_dialect.ir import build
from ragged_dialect.ir.clone import ValueMap, clone, remap
from ragged_dialect.ir.match import blocks_of, definer, in_block, terminator
from ragged_dialect.ir.walk import captures, find_ops
from ragged_dialect.lowering.attributes import Mapping
from ragged_dialect.lowering.buffers.subviews import VIEWS, is_buffer
from ragged_dialect.lowering.checks.convert_ragged_checks_to_calls import REPORT
from ragged_dialect.lowering.gpu.kernel.block_body import needs_block
from ragged_dialect.lowering.gpu.kernel.status import keep_report
from ragged_dialect.lowering.gpu.passes.host_scalars import host_scalars, is_integer_arithmetic
from ragged_dialect.lowering.nests.forall_bounds import forall_over
from ragged_dialect.passes.base import PassFailure

_TOUCHES = frozenset({"memref.load", "memref.store", "memref.copy", "memref.atomic_rmw"})
_NEUTRAL = VIEWS | {"memref.alloc", "memref.dim"}
_SCALARS = (ir.IndexType, ir.IntegerType, ir.FloatType, ir.ComplexType, ir.VectorType)
_PARALLEL = frozenset({"scf.forall", "linalg.generic"})


class Regions:
    """Wraps the device code of blocks. `status` is the status buffer or None."""

    def __init__(self, status: ir.Value | None) -> None:
        self.status = status
        self.slots: dict[ir.Value, ir.Value | None] = {}
        self.views: dict[ir.Value, None] = {}
        self.read = frozenset[ir.Value]()

    def run(self, block: ir.Block) -> None:
        """Wrap the device code of a function's block."""
        self.read = host_scalars(block)
        self._wrap(block)
        for view in reversed(self.views):  # made again wherever they are used
            definer(view).erase()

    def _wrap(self, block: ir.Block) -> None:
        """Wrap the device code of a host block and of the host regions in it."""
        run: list[ir.Operation] = []
        for op in list(block.operations):
            op = op.operation
            if self._starts_new_run(run, op):
                self._flush(run)
            if self._is_device(op):
                run.append(op)
                self.slots.update((r, None) for r in op.results)
                if is_report(op):
                    self._flush(run)
            elif not self._is_lazy(op):
                self._flush_for(run, op)
                self._host(op)
        self._flush(run)

    def _starts_new_run(self, run: list[ir.Operation], op: ir.Operation) -> bool:
        """A run ends before an op that uses a view of what the run computes, which is made again where
        it is used, and where code for one thread meets code for a block."""
        if not run or not self._is_device(op):
            return False
        if any(x in self.views and self._is_pending(x) for x in captures([op])):
            return True
        mixed = any(needs_block(o) for o in run) or needs_block(op)
        return mixed and any(_is_serial(o) for o in run) != _is_serial(op)

    def _is_pending(self, view: ir.Value) -> bool:
        """Whether a view depends on scalars of the current run."""
        operands = list(definer(view).operands)
        return any(x in self.slots and self.slots[x] is None for x in operands) or any(
            x in self.views and self._is_pending(x) for x in operands
        )

    # What an op is ---------------------------------------------------------------------------------

    def _is_device(self, op: ir.Operation) -> bool:
        """Whether an op belongs to a run of device code."""
        if op.name in _TOUCHES or is_report(op):
            return True
        if op.name in ("memref.dim", "linalg.generic"):
            return self._uses_device(op)
        if op.name in ("scf.for", "scf.if", "scf.while"):
            return _is_scalar_code(op) and (self._uses_device(op) or bool(find_ops(op, *_TOUCHES, *_PARALLEL)))
        return _is_pure_scalar(op) and self._uses_device(op) and not self._is_known(op)

    def _is_known(self, op: ir.Operation) -> bool:
        """Whether an op is arithmetic on what the host reads anyway and earlier kernels have: it is not waited for
        once for every number that is computed of it."""
        return is_integer_arithmetic(op) and all(
            x in self.read and self.slots[x] is not None for x in op.operands if x in self.slots
        )

    def _is_lazy(self, op: ir.Operation) -> bool:
        """Views that start or end where the device says are made again where they are used."""
        if op.name in VIEWS and self._uses_device(op):
            self.views.update((r, None) for r in op.results)
            return True
        return False

    def _uses_device(self, op: ir.Operation) -> bool:
        return any(x in self.slots or x in self.views for x in captures([op]))

    # Host ops ----------------------------------------------------------------------------------------

    def _flush_for(self, run: list[ir.Operation], op: ir.Operation) -> None:
        """A run ends before an op that needs what it computes, or whose order counts."""
        if run and (self._uses_device(op) or not (_is_pure_scalar(op) or op.name in _NEUTRAL)):
            self._flush(run)

    def _host(self, op: ir.Operation) -> None:
        if op.name == "linalg.generic":
            return
        if op.name == "scf.forall":
            with ir.InsertionPoint(op), op.location:
                for x in list(op.operands):
                    if x in self.slots:
                        self._read(x, op)
            block = op.regions[0].blocks[0]
            self._bring_in(block, [inner.operation for inner in block.operations])
            return
        self._read_back(op)
        for block in blocks_of(op):
            self._wrap(block)

    def _read_back(self, op: ir.Operation) -> None:
        """Load the device's scalars that a host op needs."""
        with ir.InsertionPoint(op), op.location:
            for k, x in enumerate(op.operands):
                if x in self.slots:
                    self._read(x, op)
                elif x in self.views:
                    op.operands[k] = self._rebuild(x, {})

    def _read(self, x: ir.Value, op: ir.Operation) -> None:
        """Load a scalar of the device for an op of the host. From there on the host knows it: it is not waited for
        again, and what is as long as it says is cut into as many tiles."""
        loaded = self._load(x)
        for use in list(x.uses):
            user = in_block(use.owner.operation, op.block)
            if user is not None and not user.is_before_in_block(op):
                use.owner.operands[use.operand_number] = loaded

    # Runs --------------------------------------------------------------------------------------------

    def _flush(self, run: list[ir.Operation]) -> None:
        """Make a forall of the ops of a run and empty it."""
        ops = list(run)
        run.clear()
        if not ops:
            return
        kept = [r for op in ops for r in op.results if _used_outside(r, ops)]
        # Between the ops of a run are only host ops that need nothing of it: the last one's place sees all.
        with ir.InsertionPoint(ops[-1]), ops[-1].location:
            slots: ValueMap = {r: _slot(r) for r in kept if not is_buffer(r)}
            block = _forall_of_one(not any(needs_block(op) for op in ops))
        end = terminator(block)
        for op in ops:
            op.move_before(end)
        self._bring_in(block, ops)
        with ir.InsertionPoint(end), end.location:
            for value, slot in slots.items():
                memref.store(build.to_i64(value) if isinstance(value.type, ir.IndexType) else value, slot, [])
        self.slots.update(slots)
        for op in ops:
            if is_report(op):
                assert self.status is not None
                with ir.InsertionPoint(op), op.location:
                    keep_report(self.status, list(op.operands))
                op.erase()

    def _bring_in(self, block: ir.Block, ops: list[ir.Operation]) -> None:
        """Device scalars and views that the ops of a device block use are loaded and made again in it."""
        outside = [x for x in captures(ops, block.arguments) if self.slots.get(x) is not None or x in self.views]
        if not outside:
            return
        first = ops[0].operation
        mapping: dict[ir.Value, ir.Value] = {}
        with ir.InsertionPoint.at_block_begin(block), first.location:
            for x in outside:
                mapping[x] = self._rebuild(x, mapping)
        for op in ops:
            remap(op, mapping)

    def _rebuild(self, value: ir.Value, mapping: ValueMap) -> ir.Value:
        """A device scalar loaded, or a view made again, at the insertion point."""
        if value in mapping:
            return mapping[value]
        if self.slots.get(value) is not None:
            made = self._load(value)
        elif value in self.views:
            source = definer(value)
            made = clone(source, {x: self._rebuild(x, mapping) for x in source.operands}).results[0]
        else:
            return value
        mapping[value] = made
        return made

    def _load(self, value: ir.Value) -> ir.Value:
        loaded = memref.load(self.slots[value], [])
        return arith.index_cast(value.type, loaded) if isinstance(value.type, ir.IndexType) else loaded


def _slot(value: ir.Value) -> ir.Value:
    """A buffer for one scalar; indices are kept as i64."""
    if not isinstance(value.type, _SCALARS):
        raise PassFailure(definer(value), f"expected buffers and numbers, got {value.type}")
    element = build.i64() if isinstance(value.type, ir.IndexType) else value.type
    return memref.alloc(ir.MemRefType.get([], element), [], [])


def _forall_of_one(serial: bool) -> ir.Block:
    forall = forall_over(1)
    if serial:
        Mapping(threads=1).give(forall)
    return forall.regions[0].blocks[0]


def _used_outside(value: ir.Value, ops: list[ir.Operation]) -> bool:
    return any(in_block(use.owner.operation, ops[0].block) not in ops for use in value.uses)


def is_report(op: ir.Operation) -> bool:
    return op.name == "func.call" and op.attributes["callee"].value == REPORT


def _is_pure_scalar(op: ir.Operation) -> bool:
    return op.name.startswith(("arith.", "math.")) and not any(is_buffer(r) for r in op.results)


def _is_scalar_code(op: ir.Operation) -> bool:
    """Whether control flow holds no component loop, allocation, call or buffer result: then the
    device runs it as a whole."""
    return not any(is_buffer(r) for r in op.results) and not find_ops(op, "scf.forall", "memref.alloc", "func.call")


def _is_serial(op: ir.Operation) -> bool:
    """Whether an op is a loop that stores step by step, which one thread does best."""
    return bool(find_ops(op, "scf.for")) and bool(find_ops(op, "memref.store"))
