"""`replace-empty-reshapes`: a reshape of no elements is an empty tensor."""

from __future__ import annotations

from collections.abc import Sequence

from ragged_dialect._mlir import ir
from ragged_dialect.ir import build, shapes
from ragged_dialect.ir.walk import find_ops, replace
from ragged_dialect.passes.base import RaggedPass


class ReplaceEmptyReshapes(RaggedPass):
    """Replace collapses of tensors that have a static extent of 0.

    ```mlir
    %c = tensor.collapse_shape %x [[0, 1]] : tensor<?x0xf32> into tensor<?xf32>
    // becomes
    %e = tensor.empty() : tensor<0xf32>
    %c = tensor.cast %e : tensor<0xf32> to tensor<?xf32>
    ```

    Bufferization takes the product of a group with a dynamic extent and a 0 for a static 0, which its own
    verifier refuses.
    """

    def run(self, op: ir.Operation) -> None:
        """Replace them in a module."""
        for reshape in find_ops(op, "tensor.collapse_shape"):
            if 0 in reshape.operands[0].type.shape:
                with ir.InsertionPoint(reshape), reshape.location:
                    replace(reshape, _empty(reshape))


def _empty(reshape: ir.Operation) -> ir.Value:
    """A tensor of the type and the extents of a collapse."""
    (source,), type_ = reshape.operands, reshape.results[0].type
    groups: Sequence[list[ir.IntegerAttr]] = [list(group) for group in reshape.attributes["reassociation"]]
    sizes = [build.product(shapes.dim(source, axis.value) for axis in group) for group in groups]
    return shapes.cast(shapes.empty(sizes, type_.element_type), type_)
