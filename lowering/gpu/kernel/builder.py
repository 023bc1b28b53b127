"""The general schedule: one block per iteration of a forall, whatever its body does, or where that is for one thread
one thread."""

from __future__ import annotations

from ragged_dialect._mlir import DYNAMIC, ir, memref
from ragged_dialect.device_model import DEVICE
from ragged_dialect.ir import build
from ragged_dialect.ir.build import Mixed
from ragged_dialect.ir.clone import remap
from ragged_dialect.ir.match import body_ops, byte_size
from ragged_dialect.ir.walk import captures, ops_in
from ragged_dialect.lowering.attributes import WIDE
from ragged_dialect.lowering.buffers.subviews import is_buffer, subview
from ragged_dialect.lowering.gpu.kernel.block_body import BlockBody
from ragged_dialect.lowering.gpu.kernel.fills import fold_fills
from ragged_dialect.lowering.gpu.kernel.generic_op import generics_in
from ragged_dialect.lowering.gpu.kernel.kernel import Kernel
from ragged_dialect.lowering.gpu.kernel.shared_memory import shared_size
from ragged_dialect.lowering.gpu.kernel.status import Guards
from ragged_dialect.lowering.gpu.kernel.temporaries import own_of, replace_allocation, temporaries_of
from ragged_dialect.lowering.nests.forall_bounds import counts_of
from ragged_dialect.passes.base import PassFailure


def schedule(forall: ir.Operation, module: ir.Operation, name: str, guards: Guards, threads: int, unroll: int) -> None:
    """Replace a forall on the host by a launch of a kernel in the gpu.module `module`."""
    body, counts = forall.regions[0].blocks[0], counts_of(forall)
    kernel = Kernel(name, threads, module, guards, _teams(body, counts) if threads == 1 else 1)
    with forall.location:
        kernel.open()
        kernel.keep_resident(_resident(forall))
        with ir.InsertionPoint(forall):
            grid = build.ceildiv(build.product(counts), kernel.teams)
        with ir.InsertionPoint(kernel.end):
            number = hardware_id("gpu.thread_id") if kernel.block > 1 else build.value(0)
            thread, team = (number, build.value(0)) if kernel.teams == 1 else (build.value(0), number)
            block = hardware_id("gpu.block_id")
            outside = captures(body_ops(body), body.arguments)
            inside = {x: kernel.value(x, forall) for x in outside}
            if WIDE in forall.attributes or (guards.status is not None and guards.status in outside):
                kernel.op.attributes[WIDE] = ir.UnitAttr.get()
            iteration = build.value(build.add(build.mul(block, kernel.teams), team))
            indices = [build.value(i) for i in build.digits(iteration, [1, *map(kernel.number, counts[1:])])]
            if kernel.teams > 1:
                kernel.guard(build.less(iteration, build.product([kernel.number(count) for count in counts])))
        first = len(kernel.body.operations) - 1
        _move(body, kernel, indices, inside)
        first += _share(kernel, team)
        inits = fold_fills(kernel.body)
        ops = [op.operation for op in kernel.body.operations]
        BlockBody(kernel, thread, inits, unroll).rewrite(ops[first:-1])
        kernel.close(grid, forall)
    forall.erase()


def hardware_id(name: str) -> ir.Value:
    """The thread's or block's number, by the op's name."""
    return build.made(name, build.index_type(), dimension="#gpu<dim x>")


def _teams(body: ir.Block, counts: list[Mixed]) -> int:
    """How many iterations the threads of a block do, each one thread: a warp of one thread takes as long as one that
    is full."""
    if build.product(counts) == 1:
        return 1
    taken = sum(shared_size(alloc.results[0].type) for alloc in temporaries_of(body)[0])
    return DEVICE.fewest_threads if DEVICE.fewest_threads * taken <= DEVICE.shared_bytes else 1


def _share(kernel: Kernel, team: ir.Value) -> int:
    """Give the allocations of a kernel shared memory, every team its own, and threads what they have alone; how many
    ops that puts in front of the others of the kernel's body."""
    shared, others = temporaries_of(kernel.body)  # before those that threads have alone are in the body, too
    own, entry = own_of(kernel.body), kernel.op.regions[0].blocks[0]
    for alloc in own:
        type_ = alloc.results[0].type
        if DYNAMIC in type_.shape:
            raise PassFailure(alloc, "expected temporaries of static size in the body of a linalg op, got others")
        for use in list(alloc.results[0].uses):
            if use.owner.name == "memref.dealloc":
                use.owner.erase()
        with ir.InsertionPoint.at_block_begin(entry), alloc.location:
            replace_allocation(alloc, memref.alloca(type_, [], []))
    for alloc in others:
        text = "expected temporaries that shared memory has room for (run place-ragged-temporaries first), got others"
        raise PassFailure(alloc, text)
    for alloc in shared:
        type_ = alloc.results[0].type
        if kernel.teams == 1:
            replace_allocation(alloc, kernel.workgroup(type_))
            continue
        all_ = kernel.workgroup(ir.MemRefType.get([kernel.teams, *type_.shape], type_.element_type))
        rank = len(type_.shape)
        with ir.InsertionPoint(alloc):
            part = subview(all_, [team, *[0] * rank], [1, *type_.shape], range(1, rank + 1))
        replace_allocation(alloc, part)
    return len(own) if kernel.body == entry else 0


def _move(body: ir.Block, kernel: Kernel, indices: list[ir.Value], inside: dict[ir.Value, ir.Value]) -> None:
    """Move a body into the kernel."""
    for old, new in zip(body.arguments, indices, strict=True):
        old.replace_all_uses_with(new)
    end = kernel.end
    for op in body_ops(body):
        remap(op, inside)
        op.move_before(end)


def _resident(forall: ir.Operation) -> int:
    """Threads that shall fit on a multiprocessor (target occupancy): ptxas unrolls the loops of several reductions
    together, and an access of 128 bits has 8 short elements and more."""
    reductions = [generic for generic in generics_in(forall) if generic.reductions]
    buffers = [x for generic in reductions for x in generic.op.operands if is_buffer(x)]
    sizes = [byte_size(x.type.element_type) for x in buffers if x.type.element_type != ir.IntegerType.get_signless(1)]
    if max(sizes, default=0) > DEVICE.register_bytes:
        functions = any(op.name.startswith("math.") for op in ops_in(forall))
        return DEVICE.resident_least if functions and len(reductions) > 1 else DEVICE.resident_long
    short = min(sizes, default=DEVICE.register_bytes) < DEVICE.register_bytes
    return DEVICE.resident_many if len(reductions) > 1 or short else DEVICE.resident
