"""`collapse-ragged-loops`: dense ops on contiguous buffers run as one long loop."""

from __future__ import annotations

from dataclasses import dataclass

from ragged_dialect._mlir import DYNAMIC, ir, memref
from ragged_dialect.generic import index_loops, indexing_maps, input_count, iterator_kinds, renumber_loops, without_body
from ragged_dialect.ir import shapes
from ragged_dialect.ir.walk import ops_in
from ragged_dialect.iteration import expr_uses
from ragged_dialect.lowering.attributes import Mapping
from ragged_dialect.lowering.buffers.subviews import layout_strides
from ragged_dialect.passes.base import RaggedPass

_NAMES = ("linalg.generic", "linalg.fill", "linalg.copy")


@dataclass(frozen=True)
class CollapseRaggedLoops(RaggedPass):
    """Collapse adjacent loops of bufferized linalg ops where all operands are contiguous.

    ```mlir
    linalg.generic {d0, d1 parallel} ins(%a : memref<?x64xf32>) outs(%b : memref<?x64xf32>)
    // becomes
    %c = memref.collapse_shape %a [[0, 1]] …
    linalg.generic {d0 parallel} ins(%c : memref<?xf32>) outs(%d : memref<?xf32>)
    ```

    A short inner loop of static extent is unrolled by LLVM before it is vectorised, and then the
    outer loop is, with scattered stores; one long loop has contiguous ones. With `flat` only ops that
    are in no `scf.forall`.
    """

    flat: bool = False

    def run(self, op: ir.Operation) -> None:
        """Collapse the loops of every op of a module."""
        inside = ops_in(op, lambda inner: self.flat and inner.name == "scf.forall")
        for inner in [x for x in inside if x.name in _NAMES and not x.results]:
            while (inner := _collapse_once(inner)) is not None:
                pass


def _collapse_once(op: ir.Operation) -> ir.Operation | None:
    """Collapse one pair of loops; the new op, None when there is none."""
    maps = indexing_maps(op)
    indexed = index_loops(op.regions[0].blocks[0])
    for loop in range(maps[0].n_dims - 1):
        places = [_pair(m, x, loop) for m, x in zip(maps, op.operands, strict=True)]
        known = [p for p in places if p is not None]
        if len(known) == len(places) and any(p >= 0 for p in known) and _alike(op, loop, indexed):
            with ir.InsertionPoint(op), op.location:
                return _rebuild(op, maps, known, loop)
    return None


def _alike(op: ir.Operation, loop: int, indexed: frozenset[int]) -> bool:
    """Whether a loop and the next are of one kind, and the body reads the index of neither."""
    kinds = _kinds(op)
    return kinds[loop] == kinds[loop + 1] and not indexed & {loop, loop + 1}


def _kinds(op: ir.Operation) -> tuple[str, ...]:
    if op.name == "linalg.generic":
        return iterator_kinds(op)
    return ("parallel",) * indexing_maps(op)[0].n_dims


def _pair(map_: ir.AffineMap, x: ir.Value, loop: int) -> int | None:
    """Dim where loops (loop, loop + 1) index a contiguous pair of dims; -1 when neither is used;
    None when they cannot be collapsed."""
    uses = [k for k, e in enumerate(map_.results) if expr_uses(e, loop) or expr_uses(e, loop + 1)]
    if not uses:
        return -1
    if len(uses) != 2 or uses[1] != uses[0] + 1:
        return None
    first, second = map_.results[uses[0]], map_.results[uses[1]]
    if not isinstance(first, ir.AffineDimExpr) or not isinstance(second, ir.AffineDimExpr):
        return None
    if first.position != loop or second.position != loop + 1:
        return None
    return uses[0] if _contiguous(x.type, uses[0]) else None


def _contiguous(type_: ir.MemRefType, dim: int) -> bool:
    extents = type_.shape[dim], type_.shape[dim + 1]
    if DYNAMIC not in extents and extents[0] * extents[1] >= 2**63:  # a type has no such extent
        return False
    strides = layout_strides(type_)
    if strides is None or not isinstance(type_.layout, ir.StridedLayoutAttr):
        return strides is not None
    inner = type_.shape[dim + 1]
    return DYNAMIC not in (inner, strides[dim], strides[dim + 1]) and strides[dim] == inner * strides[dim + 1]


def _rebuild(op: ir.Operation, maps: list[ir.AffineMap], places: list[int], loop: int) -> ir.Operation:
    operands = [_joined(x, p) for x, p in zip(op.operands, places, strict=True)]
    rank = maps[0].n_dims - 1
    shifted = [ir.AffineDimExpr.get(k if k <= loop else k - 1) for k in range(rank + 1)]
    new_maps: list[ir.AffineMap] = []
    for m, p in zip(maps, places, strict=True):
        exprs = [e for k, e in enumerate(m.results) if p < 0 or k != p + 1]
        table = ir.AffineMap.get(rank, 0, shifted)
        new_maps.append(ir.AffineMap.get(rank, 0, [e.compose(table) for e in exprs]))
    kinds = [kind for n, kind in enumerate(_kinds(op)) if n != loop + 1]
    ins = input_count(op)
    made = without_body(operands[:ins], operands[ins:], new_maps, kinds)
    Mapping.of(op).give(made)
    op.regions[0].blocks[0].append_to(made.regions[0])
    renumber_loops(made, {k: k if k <= loop else k - 1 for k in range(rank + 1)})
    op.erase()
    return made


def _joined(x: ir.Value, place: int) -> ir.Value:
    """The buffer with a pair of dims collapsed."""
    if place < 0:
        return x
    groups = shapes.grouped(len(x.type.shape), place, place + 2)
    return memref.collapse_shape(_joined_type(x.type, place), x, groups)


def _joined_type(type_: ir.MemRefType, place: int) -> ir.MemRefType:
    shape = list(type_.shape)
    strides, offset = type_.get_strides_and_offset()
    a, b = shape[place], shape[place + 1]
    joined = DYNAMIC if DYNAMIC in (a, b) else a * b
    new_shape = [*shape[:place], joined, *shape[place + 2 :]]
    if isinstance(type_.layout, ir.StridedLayoutAttr):
        layout = ir.StridedLayoutAttr.get(offset, [*strides[:place], *strides[place + 1 :]])
        return ir.MemRefType.get(new_shape, type_.element_type, layout, type_.memory_space)
    return ir.MemRefType.get(new_shape, type_.element_type, None, type_.memory_space)
