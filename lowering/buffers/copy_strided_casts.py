"""`copy-strided-casts`: casts of buffers give no strides that are not there."""

from __future__ import annotations

from ragged_dialect._mlir import DYNAMIC, ir, memref
from ragged_dialect.ir import build
from ragged_dialect.ir.walk import find_ops, replace
from ragged_dialect.lowering.buffers.subviews import extent, extent_key, region, size_key
from ragged_dialect.passes.base import RaggedPass


class CopyStridedCasts(RaggedPass):
    """Make a copy where a cast takes a buffer with gaps for one without.

    ```mlir
    %c = memref.cast %view : memref<?x1xi32, strided<[2, 1]>> to memref<?x?xi32>
    // becomes
    %c = memref.alloc(%n, %c1) : memref<?x?xi32>
    memref.copy %view, %c : …
    ```

    One-shot-bufferize makes such casts at the boundaries of functions: it takes every layout for one that may have any
    strides as long as extents are not static. Runs right after it, before casts are folded.
    """

    def run(self, op: ir.Operation) -> None:
        """Replace the casts of a module."""
        for cast in find_ops(op, "memref.cast"):
            view, made = cast.operands[0], cast.results[0]
            if _has_gaps(view, made.type):
                with ir.InsertionPoint(cast), cast.location:
                    sizes = [build.value(extent(view, d)) for d, s in enumerate(made.type.shape) if s == DYNAMIC]
                    copy = memref.alloc(made.type, sizes, [])
                    memref.copy(view, copy)
                replace(cast, copy)


def _has_gaps(view: ir.Value, target: ir.Type) -> bool:
    """Whether a buffer may lack what the type it is cast to promises: that its rows follow one another."""
    if not isinstance(target, ir.MemRefType) or not isinstance(view.type, ir.MemRefType):
        return False
    if not isinstance(view.type.layout, ir.StridedLayoutAttr) or isinstance(target.layout, ir.StridedLayoutAttr):
        return False
    found = region(view)
    if found is None or isinstance(found[0].type.layout, ir.StridedLayoutAttr):
        return len(target.shape) > 1
    buffer, parts = found
    return any(
        not isinstance(size, tuple) and size_key(size) != extent_key(buffer, dim)
        for dim, (_, size) in enumerate(parts)
        if dim
    )
