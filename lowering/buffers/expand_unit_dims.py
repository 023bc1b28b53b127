"""`expand-unit-dims`: views drop all dims of size 1, and get back those that they keep."""

from __future__ import annotations

from ragged_dialect._mlir import DYNAMIC, ir, memref
from ragged_dialect.ir.build import Mixed
from ragged_dialect.ir.walk import find_ops, replace
from ragged_dialect.lowering.buffers.subviews import is_ambiguous, starts_and_sizes, subview
from ragged_dialect.passes.base import RaggedPass


class ExpandUnitDims(RaggedPass):
    """Rewrite every `memref.subview` that drops some of its dims of size 1 and keeps others.

    ```mlir
    %v = memref.subview %x[%i, 0, 0] [1, 1, %n] [1, 1, 1] : memref<?x1x?xf32> to memref<1x?xf32, …>
    // becomes
    %w = memref.subview %x[%i, 0, 0] [1, 1, %n] [1, 1, 1] : memref<?x1x?xf32> to memref<?xf32, …>
    %v = memref.expand_shape %w [[0, 1]] output_shape [1, %n] : memref<?xf32, …> into memref<1x?xf32, …>
    ```

    MLIR cannot tell which ones such a view drops: once an extent of it is known to be a constant, its canonicalizer
    makes invalid views of it without an end. Runs before the first canonicalization, and right after bufferization.
    """

    def run(self, op: ir.Operation) -> None:
        """Rewrite the views of a module."""
        for view in find_ops(op, "memref.subview"):
            starts, sizes = starts_and_sizes(view)
            type_ = view.results[0].type
            if is_ambiguous(sizes, type_.rank) and all(stride == 1 for stride in view.attributes["static_strides"]):
                with ir.InsertionPoint(view), view.location:
                    made = subview(view.operands[0], starts, sizes, _kept(sizes, list(type_.shape)))
                    replace(view, _cast(_cast(made, _any_strides(type_)), type_))


def _kept(sizes: list[Mixed], shape: list[int]) -> list[int]:
    """Dims of a view that may be those of its shape: which of several of size 1 makes no difference."""
    kept: list[int] = []
    for k, size in enumerate(sizes):
        if size != 1 or shape[len(kept) : len(kept) + 1] == [1]:
            kept.append(k)
    return kept


def _any_strides(type_: ir.MemRefType) -> ir.MemRefType:
    layout = ir.StridedLayoutAttr.get(DYNAMIC, [DYNAMIC] * type_.rank)
    return ir.MemRefType.get(type_.shape, type_.element_type, layout, type_.memory_space)


def _cast(x: ir.Value, type_: ir.MemRefType) -> ir.Value:
    return x if x.type == type_ else memref.cast(type_, x)
