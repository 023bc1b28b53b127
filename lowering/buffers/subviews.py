"""Bufferized IR: making and slicing buffers, what a view is a view of, which part it covers."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from ragged_dialect._mlir import DYNAMIC, ir, memref
from ragged_dialect.generic import input_count, outs_of
from ragged_dialect.ir import build, shapes
from ragged_dialect.ir.build import Mixed
from ragged_dialect.ir.match import constant_int, definer, defining_op, made_by
from ragged_dialect.ir.walk import find_ops, is_outside, ops_in
from ragged_dialect.iteration import KERNEL, expr_uses
from ragged_dialect.passes.base import PassFailure
from ragged_dialect.types import is_tensor

VIEWS = frozenset(
    f"memref.{name}" for name in ("subview", "cast", "reinterpret_cast", "expand_shape", "collapse_shape")
)
"""Ops whose first operand and result are the same memory."""

_READERS = frozenset(("memref.load", "memref.dim", "vector.load"))


def is_buffer(value: ir.Value) -> bool:
    """Whether a value is a memref."""
    return isinstance(value.type, ir.MemRefType)


def layout_strides(type_: ir.MemRefType) -> list[int] | None:
    """The strides of a buffer; None where its layout is a map, which need not have any, or not be seen through."""
    plain = ir.MemRefType.get(type_.shape, type_.element_type, memory_space=type_.memory_space)
    has_strides = type_ == plain or isinstance(type_.layout, ir.StridedLayoutAttr)
    return type_.get_strides_and_offset()[0] if has_strides else None


def require_buffers(module: ir.Operation) -> None:
    """PassFailure at the first loop, branch or linalg op of a module that is on tensors."""
    for op in ops_in(module):
        if op.name.startswith(("scf.", "linalg.")) and any(is_tensor(result.type) for result in op.results):
            raise PassFailure(op, f"'{op.name}' op expected buffers, got tensors (run one-shot-bufferize first)")


def root(value: ir.Value) -> ir.Value:
    """The buffer a view is of."""
    op = defining_op(value)
    while op is not None and op.name in VIEWS:
        value = op.operands[0]
        op = defining_op(value)
    return value


def is_allocation(value: ir.Value) -> bool:
    """Whether a buffer is a fresh allocation."""
    return made_by(value, "memref.alloc") is not None


def is_address(op: ir.Operation) -> bool:
    """Whether an op makes numbers, buffers or views and accesses none."""
    return op.name.startswith("arith.") or op.name in (*VIEWS, "memref.alloc", "memref.dim")


def only_read(value: ir.Value) -> bool:
    """Whether every use of a buffer, or of a view of it, reads elements or extents."""
    for use in value.uses:
        op = use.owner.operation
        if op.name in VIEWS:
            if not only_read(op.results[0]):
                return False
        elif op.name == "linalg.generic":
            if use.operand_number >= input_count(op):
                return False
        elif op.name not in _READERS:
            return False
    return True


def is_constant(value: ir.Value) -> bool:
    """Whether a value is an `arith.constant`."""
    return made_by(value, "arith.constant") is not None


def may_overlap(buffers: Iterable[ir.Value]) -> bool:
    """Whether two different buffers of one loop may share memory. Allocations are their own; function arguments
    may overlap one another but are never written, and what a loop around it carries was copied where they conflict;
    anything else may be anything."""
    return any(not _is_fresh(b) and not isinstance(b.owner, ir.Block) for b in buffers)


def disjoint(a: ir.Value, b: ir.Value) -> bool:
    """Whether two buffers, which are no views, share no memory."""
    return a != b and not may_overlap([a, b])


def _is_fresh(buffer: ir.Value) -> bool:
    return is_allocation(buffer) or made_by(buffer, "memref.alloca") is not None


def is_own(buffer: ir.Value) -> bool:
    """Whether a buffer that is written shares no memory with another one of which this is said too: an allocation, or
    an argument. Those of programs are never written, and those of kernels say so where they are apart."""
    if not isinstance(buffer.owner, ir.Block):
        return _is_fresh(buffer)
    function = buffer.owner.owner.operation
    if function.name != "func.func" or KERNEL not in function.attributes:
        return function.name == "func.func"
    number = ir.BlockArgument(buffer).arg_number
    return "arg_attrs" in function.attributes and "llvm.noalias" in function.attributes["arg_attrs"][number]


def inner_size(x: ir.Value, dim: int) -> int:
    """Static elements of one step of a dim; dynamic dims count as 64."""
    total = 1
    for k, s in enumerate(x.type.shape):
        if k != dim:
            total *= 64 if s == DYNAMIC else max(s, 1)
    return total


def plain_dim(map_: ir.AffineMap, loop: int) -> int | None:
    """The dim that a loop alone indexes in a map: -1 when the map does not use the loop, None when
    it uses it otherwise or twice."""
    place = -1
    for k, expr in enumerate(map_.results):
        if isinstance(expr, ir.AffineDimExpr) and expr.position == loop:
            if place >= 0:
                return None
            place = k
        elif expr_uses(expr, loop):
            return None
    return place


def extent_key(x: ir.Value, dim: int) -> Hashable:
    """What the extent of a buffer is known by: those of equal keys are equal. That of a dim that there is not, which
    MLIR lets programs ask for, is another one each time."""
    if not 0 <= dim < x.type.rank:
        return object()
    if x.type.shape[dim] != DYNAMIC:
        return x.type.shape[dim]
    view = made_by(x, "memref.subview")
    if view is not None and len(view.attributes["static_sizes"]) == x.type.rank:
        return size_key(starts_and_sizes(view)[1][dim])
    collapsed = made_by(x, "memref.collapse_shape")
    if collapsed is not None:
        return tuple(extent_key(collapsed.operands[0], k.value) for k in collapsed.attributes["reassociation"][dim])
    if not is_allocation(x):
        return x, dim
    return size_key(definer(x).operands[sum(s == DYNAMIC for s in x.type.shape[:dim])])


def size_key(size: Mixed) -> Hashable:
    """What a size is known by, as `extent_key`."""
    if isinstance(size, int):
        return size
    asked = made_by(size, "memref.dim")
    at = None if asked is None else constant_int(asked.operands[1])
    if asked is not None and at is not None:
        return extent_key(asked.operands[0], at)
    number = constant_int(size)
    return size if number is None else number


def offsets_of(length: ir.Value, component: ir.Value) -> ir.Value | None:
    """The vector that a length is the difference of two adjacent elements of, those of a component; None for others."""
    difference = made_by(length, "arith.subi")
    above, below = (None, None) if difference is None else map(_entry, difference.operands)
    if above is None or below is None or below[1] != component or above[0] != below[0]:
        return None
    after = made_by(above[1], "arith.addi")
    return below[0] if after is not None and set(map(size_key, after.operands)) == {component, 1} else None


def _entry(x: ir.Value) -> tuple[ir.Value, ir.Value] | None:
    """Vector and place of an index that is loaded from a vector."""
    cast = made_by(x, "arith.index_cast")
    load = made_by(x if cast is None else cast.operands[0], "memref.load")
    return None if load is None or len(load.operands) != 2 else (load.operands[0], load.operands[1])


def extent(x: ir.Value, dim: int) -> Mixed:
    """Extent of a buffer at the insertion point, of a view by what it is a view of."""
    if x.type.shape[dim] != DYNAMIC:
        return x.type.shape[dim]
    op = defining_op(x)
    if op is not None and op.name == "memref.cast":
        return extent(op.operands[0], dim)
    if op is not None and op.name == "memref.subview" and len(op.attributes["static_sizes"]) == len(x.type.shape):
        return starts_and_sizes(op)[1][dim]
    if op is not None and op.name == "memref.collapse_shape":
        return build.product(extent(op.operands[0], k.value) for k in op.attributes["reassociation"][dim])
    return memref.dim(x, build.value(dim))


def subview(
    x: ir.Value, starts: Sequence[Mixed], sizes: Sequence[Mixed], kept: Sequence[int] | None = None
) -> ir.Value:
    """`memref.subview` with unit strides; axes that are not among the kept ones, of size 1, are dropped. Where others
    of size 1 are kept, these are dropped as well and made again: MLIR could not tell which are which."""
    if kept is not None and is_ambiguous(sizes, len(kept)):
        narrow = subview(x, starts, sizes, [k for k in kept if sizes[k] != 1])
        return _expanded(narrow, [sizes[k] for k in kept])
    part = shapes.slice_of(x, starts, sizes)
    strides, offset = x.type.get_strides_and_offset()
    moved = [(start, stride) for start, stride in zip(part.static_offsets, strides, strict=True) if start]
    unknown = part.offsets or (moved and DYNAMIC in (offset, *(stride for _, stride in moved)))
    offset = DYNAMIC if unknown else offset + sum(start * stride for start, stride in moved)
    kept = range(len(sizes)) if kept is None else kept
    layout = ir.StridedLayoutAttr.get(offset, [strides[k] for k in kept])
    shape = [part.static_sizes[k] for k in kept]
    result = ir.MemRefType.get(shape, x.type.element_type, layout, x.type.memory_space)
    return memref.SubViewOp(result, x, *part).result


def is_ambiguous(sizes: Sequence[Mixed], kept: int) -> bool:
    """Whether a view of some sizes that keeps so many of its dims does not say which of those of size 1 it drops. Once
    an extent of it is known to be a constant, MLIR's canonicalizer makes invalid views of such a one without an end."""
    units = sum(size == 1 for size in sizes if isinstance(size, int))
    return 0 < len(sizes) - kept < units and not all(isinstance(size, int) for size in sizes)


def _expanded(x: ir.Value, extents: Sequence[Mixed]) -> ir.Value:
    """A buffer that has no dim of size 1 with those that some extents have."""
    groups: list[list[int]] = [[]]
    for k, extent_ in enumerate(extents):
        groups[-1].append(k)
        if extent_ != 1:
            groups.append([])
    rest = groups.pop()
    groups[-1] += rest  # what is behind the last other one
    strides, offset = x.type.get_strides_and_offset()
    made: list[int] = []
    for stride, group in zip(strides, groups, strict=True):
        inner: list[int] = [stride]
        for k in reversed(group[1:]):
            size = extents[k]
            inner.insert(0, DYNAMIC if not isinstance(size, int) or inner[0] == DYNAMIC else inner[0] * size)
        made += inner
    dynamic, shape = build.split(extents)
    layout = ir.StridedLayoutAttr.get(offset, made)
    result = ir.MemRefType.get(shape, x.type.element_type, layout, x.type.memory_space)
    return memref.expand_shape(result, x, groups, dynamic, shape)


def range_view(x: ir.Value, dim: int, low: Mixed, size: Mixed) -> ir.Value:
    """A range of one dim of a buffer, as a view."""
    shape: list[int] = list(x.type.shape)
    starts = [low if k == dim else 0 for k in range(len(shape))]
    return subview(
        x, starts, [size if k == dim else s if s != DYNAMIC else build.value(extent(x, k)) for k, s in enumerate(shape)]
    )


def touches(op: ir.Operation, buffer: ir.Value) -> bool:
    """Whether an op, or one inside it, accesses a buffer."""
    return buffer in touched_by(op)


def touched_by(op: ir.Operation) -> set[ir.Value]:
    """The buffers that an op, or one inside it, accesses."""
    accesses = (inner for inner in ops_in(op) if inner.name not in VIEWS and inner.name != "memref.dim")
    return {root(x) for access in accesses for x in access.operands if is_buffer(x)}


def stored_in(op: ir.Operation) -> set[ir.Value]:
    """The buffers that stores in an op write single elements of."""
    return {root(store.operands[1]) for store in find_ops(op, "memref.store")}


def writes_around(op: ir.Operation) -> bool:
    """Whether the body of an op writes buffers that are not its own, or calls what may: neither its operands nor their
    order tell of these."""
    return any(
        inner.name == "func.call" or any(is_buffer(x) and is_outside(root(x), op) for x in _written(inner))
        for inner in ops_in(op)[1:]
    )


def _written(op: ir.Operation) -> list[ir.Value]:
    """What an op may write."""
    if op.name.startswith("linalg.") and "operandSegmentSizes" in op.attributes:
        return outs_of(op)
    known = op.name in VIEWS or op.name in _READERS
    return [] if known else list(op.operands)[op.name == "memref.copy" :]


def region(view: ir.Value) -> tuple[ir.Value, tuple[tuple[Mixed, Mixed | tuple[str, int]], ...]] | None:
    """The part of its buffer that a view covers: the buffer, and (start, size) along each of its
    dims; None when subviews with unit strides do not say."""
    op = made_by(view, "memref.subview")
    if op is None:
        return view, tuple((0, s if s != DYNAMIC else ("all", k)) for k, s in enumerate(view.type.shape))
    inner = region(op.operands[0])
    if inner is None or any(s != 1 for s in op.attributes["static_strides"]):
        return None
    starts, sizes = starts_and_sizes(op)
    if len(inner[1]) != len(starts):  # a view of a view that lost axes
        return None
    found: list[tuple[Mixed, Mixed]] = []
    for (base, _), start, size in zip(inner[1], starts, sizes, strict=True):
        if not _is_zero(start) and not _is_zero(base):
            return None
        found.append((base if _is_zero(start) else start, size))
    return inner[0], tuple(found)


def is_same(a: ir.Value, b: ir.Value) -> bool:
    """Whether two views are of the same elements."""
    return a == b or (region(a) is not None and region(a) == region(b))


def _is_zero(x: Mixed) -> bool:
    return isinstance(x, int) and x == 0


def starts_and_sizes(subview: ir.Operation) -> tuple[list[Mixed], list[Mixed]]:
    """Starts and sizes of a `memref.subview`: ints and values."""
    return shapes.mixed(subview, "offsets"), shapes.mixed(subview, "sizes")
