"""Temporaries of a component's size that become the result they are turned into.

A softmax writes its exponentials, then divides them into its result: they can be written to the
result at once, which saves a buffer as large as the data.
"""

from __future__ import annotations

from typing import Any

from ragged_dialect._mlir import DYNAMIC
from ragged_dialect.lowering.buffers import VIEWS, defining_op, is_buffer, root
from ragged_dialect.lowering.gpu.generic_op import GenericOp


def reuse_results(block: Any) -> None:
    """Replace such temporaries of a body."""
    for op in [o.operation for o in block.operations]:
        if op.name == "memref.alloc" and DYNAMIC in op.results[0].type.shape:
            view = _result_for(op, block)
            if view is not None:
                _replace(op, view)


def _result_for(alloc: Any, block: Any) -> Any:
    """The view of a result that a temporary can be, None when there is none."""
    temporary = alloc.results[0]
    users = [use.owner.operation for use in temporary.uses]
    if any(user.name != "linalg.generic" or user.block != block for user in users):
        return None
    ops = [o.operation for o in block.operations]
    last = max((ops.index(user) for user in users), default=-1)
    if last < 0:
        return None
    generic = GenericOp(ops[last])
    if not all(generic.parallel) or temporary not in generic.inputs:
        return None
    read = generic.maps[generic.inputs.index(temporary)]
    for k, out in enumerate(generic.outs):
        alike = generic.maps[generic.n_inputs + k] == read and out.type.element_type == temporary.type.element_type
        if alike and generic.inputs.count(temporary) == 1 and _is_free(out, ops[: last + 1], alloc):
            return out
    return None


def _is_free(view: Any, ops: list[Any], alloc: Any) -> bool:
    """Whether a view of a result is touched by the last op only, and can be made where the temporary is."""
    op = defining_op(view)
    if op is None or op.name != "memref.subview" or op.block != alloc.block:
        return False
    before = ops[: ops.index(alloc)]
    operands = [defining_op(x) for x in op.operands]
    if any(o is not None and o.block == alloc.block and o not in before for o in operands):
        return False
    touching = [o for o in ops if _touches(o, root(view))]
    return touching == [ops[-1]]


def _touches(op: Any, buffer: Any) -> bool:
    if op.name in VIEWS or op.name == "memref.dim":
        return False
    found = any(is_buffer(x) and root(x) == buffer for x in op.operands)
    return found or any(
        _touches(inner.operation, buffer) for region in op.regions for b in region.blocks for inner in b.operations
    )


def _replace(alloc: Any, view: Any) -> None:
    view.owner.operation.move_before(alloc)
    alloc.results[0].replace_all_uses_with(view)
    alloc.erase()
