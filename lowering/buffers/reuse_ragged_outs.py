"""`reuse-ragged-outs`: what is left for an op on the same elements is kept where that puts its result."""

from __future__ import annotations

from ragged_dialect._mlir import ir
from ragged_dialect.generic import indexing_maps, input_count, iterator_kinds
from ragged_dialect.ir import build
from ragged_dialect.ir.match import definer, defining_op, enclosing, is_read, made_by
from ragged_dialect.ir.walk import captures, find_ops, replace
from ragged_dialect.lowering.buffers.subviews import is_buffer, is_own, region, root, starts_and_sizes, touches
from ragged_dialect.passes.base import RaggedPass


class ReuseRaggedOuts(RaggedPass):
    """Let ops compute in the place of a result what the op that makes it reads, element by element.

    ```mlir
    %t = memref.alloc(%n) …
    linalg.generic {…} ins(%x) outs(%t) { exp }
    %out = memref.subview %result[%first] [%n] …
    linalg.generic {all parallel} ins(%t, %s) outs(%out) { %t * %s }
    // becomes
    linalg.generic {…} ins(%x) outs(%out) { exp }
    linalg.generic {all parallel} ins(%out, %s) outs(%out) { %out * %s }
    ```

    A component's temporary is not allocated then, and its memory not gone through. Only for buffers of linalg ops of
    one block, where nothing uses the result's buffer meanwhile and the op does not read what is there.
    Preconditions: bufferized; before deallocation.
    """

    def run(self, op: ir.Operation) -> None:
        """Replace the temporaries in loops of a module, those of later ops first: theirs are outs of earlier ones."""
        for generic in reversed(find_ops(op, "linalg.generic")):
            if _is_in_loop(generic) and "reduction" not in iterator_kinds(generic):
                _reuse(generic)


def _is_in_loop(op: ir.Operation) -> bool:
    """Whether an op runs in every iteration of a loop, or where that has something to do."""
    above = enclosing(op)
    return above.name in ("scf.for", "scf.forall") or (
        above.name == "scf.if" and not above.results and _is_in_loop(above)
    )


def _reuse(op: ir.Operation) -> None:
    """Replace the first temporary of an op that its out can stand for."""
    *inputs, out = op.operands
    *maps, written = indexing_maps(op)
    view = made_by(out, "memref.subview")
    if view is None or view.block != op.block or not written.is_permutation or not is_own(root(out)):
        return
    if len(maps) != input_count(op):  # several outs
        return
    if out in inputs or is_read(op.regions[0].blocks[0].arguments[-1]):  # reads what is there
        return
    for x in filter(is_buffer, inputs):
        read = [map_ for y, map_ in zip(inputs, maps, strict=True) if y == x]
        if all(map_ == written for map_ in read) and _is_alike(x, view):
            first = _first_user(x, op)
            if first is not None and _is_free(first, op, view):
                if first.is_before_in_block(view):
                    view.move_before(first)
                return replace(definer(x), out)


def _is_alike(x: ir.Value, view: ir.Operation) -> bool:
    """Whether a buffer is an allocation of the shape and the elements of a view, or the first part of one."""
    type_, found = view.results[0].type, region(x)
    if found is None or type_.element_type != x.type.element_type or type_.rank != x.type.rank:
        return False
    buffer, parts = found
    made = made_by(buffer, "memref.alloc")
    if made is None or any(start != 0 for start, _ in parts) or (buffer != x and len(list(buffer.uses)) > 1):
        return False
    whole = build.joined(buffer.type.shape, made.operands)
    return starts_and_sizes(view)[1] == [whole[k] if isinstance(s, tuple) else s for k, (_, s) in enumerate(parts)]


def _first_user(x: ir.Value, last: ir.Operation) -> ir.Operation | None:
    """The first op that uses a buffer; None unless all are linalg ops of the block up to the last."""
    users = {use.owner.operation for use in x.uses}
    if not all(user.name.startswith("linalg.") and user.block == last.block for user in users):
        return None
    found = [op.operation for op in last.block.operations if op.operation in users]
    return found[0] if found[-1] == last and found[0] != last else None


def _is_free(first: ir.Operation, last: ir.Operation, view: ir.Operation) -> bool:
    """Whether a view can be made before the first of some ops, up to the last of which nothing else accesses its
    buffer."""
    order = [op.operation for op in first.block.operations]
    between = order[order.index(first) : order.index(last)]
    makers = [defining_op(x) for x in view.operands]
    known = all(op is None or op.block != first.block or op.is_before_in_block(first) for op in makers)
    buffer = root(view.results[0])
    read = [x for x in captures([last]) if is_buffer(x) and x != view.results[0]]
    return known and not any(touches(op, buffer) for op in between) and all(root(x) != buffer for x in read)
