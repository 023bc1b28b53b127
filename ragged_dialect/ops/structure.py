"""Ops that change the structure of a ragged tensor: views, but for concat, compact and the
selection of an innermost level, which copy."""

from typing import Any

from ragged_dialect.errors import LayoutError
from ragged_dialect.layout import RAGGED
from ragged_dialect.ops.base import IntegerAttr, MixedOp, Operand, Pure, RaggedOp, Result, Tensor
from ragged_dialect.shape import RaggedShape
from ragged_dialect.traits import (
    check_scalar,
    check_size,
    check_vector,
    has_unit,
    int_attr,
    tensor_shape,
)
from ragged_dialect.types import is_tensor


def partition_count(vector: RaggedShape, lengths: bool) -> int | None:
    """Static number of components (per row) an offsets or lengths operand makes. LayoutError for no offset at all."""
    size = vector.shape[-1]
    if size == 0 and not lengths:
        raise LayoutError("expected at least 1 offset, got 0")
    return size if size is None or lengths else size - 1


class PartitionOp(RaggedOp, name="partition", traits=[Pure]):
    """Groups a dim into components: `dim` becomes a batch dim and a ragged dim.

    Offsets are exclusive prefix sums with the total at the end (n + 1 entries); with `lengths`
    the operand holds lengths. Rank 2 holds one row per outer component, relative to it.

    ```mlir
    %1 = ragged.partition %0, %offsets {dim = 0}
         : (tensor<?x64xf32>, tensor<4xi64>) -> tensor<3x?x64xf32, #ragged.layout<"dr|d">>
    ```
    """

    res: Result[Tensor]
    x: Operand[Tensor]
    vector: Operand[Tensor]
    dim: IntegerAttr
    optional = ("lengths",)

    @staticmethod
    def infer(x: RaggedShape, vector: RaggedShape, *, dim: int, lengths: bool = False) -> RaggedShape:
        count = partition_count(vector, lengths)
        return x.partition(dim, vector.rank, count, vector.shape[0] if vector.shape else None)

    def check_operands(self) -> None:
        check_vector(self.vector, "lengths" if has_unit(self, "lengths") else "offsets", (1, 2))


class MergeOp(RaggedOp, name="merge", traits=[Pure]):
    """Merges `dim` with `dim + 1`; the rules are in `ragged_dialect.merging`.

    ```mlir
    %1 = ragged.merge %0 {dim = 0} : (tensor<3x?x64xf32, #ragged.layout<"dr|d">>) -> tensor<?x64xf32>
    ```
    """

    res: Result[Tensor]
    x: Operand[Tensor]
    dim: IntegerAttr

    @staticmethod
    def infer(x: RaggedShape, *, dim: int) -> RaggedShape:
        return x.merge(dim)


class SplitOp(RaggedOp, name="split", traits=[Pure]):
    """Splits `dim` by a static factor into an outer dim and a tile (a dense dim for a batch dim,
    which must divide).

    ```mlir
    %1 = ragged.split %0 {dim = 1, factor = 2}
         : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<3x?x2xf32, #ragged.layout<"drt">>
    ```
    """

    res: Result[Tensor]
    x: Operand[Tensor]
    dim: IntegerAttr
    factor: IntegerAttr

    @staticmethod
    def infer(x: RaggedShape, *, dim: int, factor: int) -> RaggedShape:
        return x.split(dim, factor)


class SelectOp(RaggedOp, name="select", traits=[Pure]):
    """One index of `dim`. On the leading dim that component; on an innermost ragged dim one row
    of every component (a copy). No negative indices.

    ```mlir
    %1 = ragged.select %0, %i {dim = 0} : (tensor<3x?xf32, #ragged.layout<"dr">>, index) -> tensor<?xf32>
    ```
    """

    res: Result[Tensor]
    x: Operand[Tensor]
    index: Operand[Any]
    dim: IntegerAttr

    @staticmethod
    def infer(x: RaggedShape, *, dim: int) -> RaggedShape:
        return x.select(dim)

    def check_operands(self) -> None:
        check_scalar(self.index, "an index")


class SliceOp(RaggedOp, name="slice", traits=[Pure]):
    """The range [lo, hi) of `dim`: a sub-batch, a part of every component (scalars, or one pair
    per component), or a range of a dense dim.

    ```mlir
    %1 = ragged.slice %0, %lo, %hi {dim = 1} : (tensor<3x?xf32, #ragged.layout<"dr">>, index, tensor<3xi64>)
         -> tensor<3x?xf32, #ragged.layout<"dw">>
    ```
    """

    res: Result[Tensor]
    x: Operand[Tensor]
    lo: Operand[Any]
    hi: Operand[Any]
    dim: IntegerAttr

    @staticmethod
    def infer(x: RaggedShape, *, dim: int) -> RaggedShape:
        return x.slice(dim)

    def check_operands(self) -> None:
        shape, dim = tensor_shape(self.x), int_attr(self, "dim")
        shape.slice(dim)
        for value, what in ((self.lo, "lo"), (self.hi, "hi")):
            if not is_tensor(value.type):
                check_scalar(value, what)
            elif shape.layout.letter(dim) in RAGGED:
                shape.refuse_window_above(dim, what)
                check_size(check_vector(value, what), shape.lead(dim), what)
            else:
                raise LayoutError(f"expected scalar {what} for dense dim {dim}, got {value.type}")


class ConcatOp(MixedOp, name="concat", traits=[Pure]):
    """Concatenation along a batch dim, a ragged dim (per component) or a dense dim; copies.

    ```mlir
    %2 = ragged.concat %0, %1 {dim = 1}
         : (tensor<3x?xf32, #ragged.layout<"dr">>, tensor<3x?xf32, #ragged.layout<"dr">>)
         -> tensor<3x?xf32, #ragged.layout<"dr">>
    ```
    """

    res: Result[Tensor]
    dim: IntegerAttr

    @staticmethod
    def infer(*xs: RaggedShape, dim: int) -> RaggedShape:
        if not xs:
            raise LayoutError("expected at least 1 operand, got 0")
        return xs[0].concat(xs[1:], dim)

    def check_operands(self) -> None:
        operands = list(self.operation.operands)
        for x in operands:
            if not is_tensor(x.type):
                raise LayoutError(f"expected tensors to concatenate, got {x.type}")
            tensor_shape(x)
        for x in operands[1:]:
            element = operands[0].type.element_type
            if x.type.element_type != element:
                raise LayoutError(f"expected operands of {element}, got {x.type.element_type}")


class CompactOp(RaggedOp, name="compact", traits=[Pure]):
    """Windows become contiguous levels; copies the elements that are inside windows.

    ```mlir
    %1 = ragged.compact %0 : (tensor<3x?xf32, #ragged.layout<"dw">>) -> tensor<3x?xf32, #ragged.layout<"dr">>
    ```
    """

    res: Result[Tensor]
    x: Operand[Tensor]

    @staticmethod
    def infer(x: RaggedShape) -> RaggedShape:
        return x.compact()
