"""`privatize-ragged-scratch`: scratch of the host that one iteration of a forall needs for itself."""

from __future__ import annotations

from ragged_dialect._mlir import DYNAMIC, ir, memref
from ragged_dialect.ir.match import definer, defining_op, made_by
from ragged_dialect.ir.walk import replace
from ragged_dialect.lowering.attributes import BALANCED, CONTRACT, Mapping
from ragged_dialect.lowering.buffers.subviews import is_allocation, region, root, touches
from ragged_dialect.lowering.gpu.kernel.generic_op import GenericOp
from ragged_dialect.lowering.gpu.passes.host_code import host_foralls
from ragged_dialect.passes.base import RaggedPass


class PrivatizeRaggedScratch(RaggedPass):
    """Give every iteration of a forall scratch of its own, or none.

    ```mlir
    %scratch = memref.alloc(%n) : memref<?x4xf32>
    scf.forall (%b) in (%n) { %part = memref.subview %scratch[%b, 0] [1, 4] [1, 1] … }
    // becomes
    scf.forall (%b) in (%n) { %part = memref.alloc() : memref<4xf32> … }
    ```

    A part of static size becomes an allocation in the body, which is in shared memory later. A part of a component's
    size that is turned into a result is written to the result at once: a softmax then needs no second buffer for its
    exponentials. Precondition: `ragged-map-parallel`; foralls that it has given the schedule `balanced` stay.
    """

    def run(self, op: ir.Operation) -> None:
        """Replace the scratch of the foralls of every function of a module."""
        for forall in host_foralls(op):
            if Mapping.of(forall).schedule not in (BALANCED, CONTRACT):
                _privatize(forall)


def _privatize(forall: ir.Operation) -> None:
    block = forall.regions[0].blocks[0]
    for op in [o.operation for o in block.operations]:
        if not _is_private(op):
            continue
        if DYNAMIC not in op.results[0].type.shape:
            if op.name == "memref.subview":
                _allocate_inside(op)
            continue
        view = _result_for(op, block)
        if view is not None:
            if op.is_before_in_block(definer(view)):
                definer(view).move_before(op)
            replace(op, view)


def _is_private(op: ir.Operation) -> bool:
    """Whether an op allocates, or is the one view of an allocation of the host that nothing else uses."""
    if op.name == "memref.alloc":
        return True
    if op.name != "memref.subview" or not is_allocation(op.operands[0]):
        return False
    users = [use.owner.operation for use in op.operands[0].uses]
    return len(users) == 1 and definer(op.operands[0]).block != op.block


def _allocate_inside(subview: ir.Operation) -> None:
    old = subview.results[0].type
    with ir.InsertionPoint(subview), subview.location:
        inside = memref.alloc(ir.MemRefType.get(old.shape, old.element_type), [], [])
        replace(subview, memref.cast(old, inside))


def _result_for(private: ir.Operation, block: ir.Block) -> ir.Value | None:
    """The view of a result that a private part can be, None when there is none."""
    temporary = private.results[0]
    users = [use.owner.operation for use in temporary.uses]
    if any(user.name != "linalg.generic" or user.block != block for user in users):
        return None
    ops = [o.operation for o in block.operations]
    last = max((ops.index(user) for user in users), default=-1)
    if last < 0:
        return None
    generic = GenericOp(ops[last])
    if not all(generic.parallel) or generic.inputs.count(temporary) != 1:
        return None
    read = generic.maps[generic.inputs.index(temporary)]
    for k, out in enumerate(generic.outs):
        same_type = (out.type.shape, out.type.element_type) == (temporary.type.shape, temporary.type.element_type)
        alike = generic.maps[generic.n_inputs + k] == read and same_type
        if alike and _same_place(out, private) and _is_free(out, ops[: last + 1], private):
            return out
    return None


def _same_place(out: ir.Value, private: ir.Operation) -> bool:
    """Whether a part of scratch and a part of a result are at the same place of buffers of one size.
    An allocation in the body has no place."""
    if private.name == "memref.alloc":
        return True
    mine, its = region(private.results[0]), region(out)
    return mine is not None and its is not None and mine[1] == its[1]


def _is_free(view: ir.Value, ops: list[ir.Operation], private: ir.Operation) -> bool:
    """Whether a view of a result is touched by the last op only, and can be made where the private
    part is."""
    op = made_by(view, "memref.subview")
    if op is None or op.block != private.block:
        return False
    before = ops[: ops.index(private)]
    operands = [defining_op(x) for x in op.operands]
    if any(o is not None and o.block == private.block and o not in before for o in operands):
        return False
    touching = [o for o in ops if touches(o, root(view))]
    return touching == [ops[-1]]
