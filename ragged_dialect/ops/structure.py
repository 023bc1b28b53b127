"""Ops that change the structure of a ragged tensor: views, but for concat, compact and the
selection of an innermost level, which copy."""

from math import gcd

from ragged_dialect._mlir import ir
from ragged_dialect.checking.checker import Checker, Extent, Q
from ragged_dialect.errors import LayoutError
from ragged_dialect.layout import RAGGED
from ragged_dialect.merging import merge_rule
from ragged_dialect.ops.base import (
    Divides,
    IntegerAttr,
    MixedOp,
    Operand,
    Pure,
    RaggedOp,
    Result,
    Scalar,
    Tensor,
    UnmappedOp,
    unchecked,
)
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


def bound_of(ask: Checker[Q], x: ir.Value, dim: int) -> Extent[Q]:
    """What indices of a dim stay below: its extent, or the lengths of its components."""
    return ask.extent(x, dim) if tensor_shape(x).layout.letter(dim) not in RAGGED else ask.lengths(x, dim)


class PartitionOp(UnmappedOp, name="partition", traits=[Pure]):
    """Groups a dim into components: `dim` becomes a batch dim and a ragged dim.

    Offsets are exclusive prefix sums with the total at the end (n + 1 entries); with `lengths`
    the operand holds lengths. Rank 2 holds one row per outer component, relative to it.

    ```mlir
    %1 = ragged.partition %0, %offsets {dim = 0}
         : (tensor<?x64xf32>, tensor<4xi64>) -> tensor<3x?x64xf32, #ragged.layout<"dr|d">>
    ```
    """

    apart = "dim"
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

    def checks(self, ask: Checker[Q]) -> None:
        shape, dim, lengths = tensor_shape(self.x), int_attr(self, "dim"), has_unit(self, "lengths")
        count, level = tensor_shape(self.res).shape[dim], dim + 1
        if tensor_shape(self.vector).rank == 1:
            kind = "lengths" if lengths else "offsets"
            ask.counted(kind, level, self.vector, ask.extent(self.x, dim), count=count)
            return
        if count is not None and tensor_shape(self.vector).shape[1] is None:
            ask.equal(level, ask.extent(self.vector, 1), count + (not lengths))
        kind = "row_lengths" if lengths else "rows"
        if shape.layout.letter(dim) in RAGGED:
            ask.valid(kind, level, self.vector, ask.lengths(self.x, dim))
        else:
            ask.counted(kind, level, self.vector, ask.extent(self.x, dim), count=self._parents(ask, shape, dim))

    def divisors(self, known: Divides) -> tuple[int, ...]:
        x, dim = known.of(self.x), int_attr(self, "dim")
        lengths = known.lengths(self.res, dim + 1)
        return (*x[:dim], 1, gcd(*lengths) if lengths else 1, *x[dim + 1 :])

    def level_above(self, level: int) -> int | None:
        dim = int_attr(self, "dim")
        return None if level in (dim, dim + 1) else level - (level > dim)

    def _parents(self, ask: Checker[Q], shape: RaggedShape, dim: int) -> Extent[Q]:
        """Number of index tuples above a dense dim: of its axis, or of the plain dim before it."""
        count: Extent[Q] = 1
        for above in shape.layout.above(dim) or (dim - 1,):
            dense = shape.layout.letter(above) == "d"
            count = ask.times(count, ask.extent(self.x, above)) if dense else ask.sum(self.x, above)
        return count


class MergeOp(UnmappedOp, name="merge", traits=[Pure]):
    """Merges `dim` with `dim + 1`; the rules are in `ragged_dialect.merging`.

    ```mlir
    %1 = ragged.merge %0 {dim = 0} : (tensor<3x?x64xf32, #ragged.layout<"dr|d">>) -> tensor<?x64xf32>
    ```
    """

    apart = "dim"
    res: Result[Tensor]
    x: Operand[Tensor]
    dim: IntegerAttr

    @staticmethod
    def infer(x: RaggedShape, *, dim: int) -> RaggedShape:
        return x.merge(dim)

    def checks(self, ask: Checker[Q]) -> None:
        shape, dim = tensor_shape(self.x), int_attr(self, "dim")
        static = tensor_shape(self.res).shape[dim]
        if static is None or shape.layout.letter(dim) != "d" or shape.merge(dim).shape[dim] is not None:
            return
        below = shape.layout.letter(dim + 1)
        axis, at = shape.layout.locate(dim)
        if below in RAGGED and at == 0:
            ask.equal(dim, ask.sum(self.x, dim + 1), static)
        elif below == "d":
            ask.equal(dim, ask.times(ask.extent(self.x, dim), ask.extent(self.x, dim + 1)), static)
        elif below == "t":
            ask.equal(dim, ask.extent(ask.part("values", self.x, 0), axis), static)

    def divisors(self, known: Divides) -> tuple[int, ...]:
        x, dim, shape = known.of(self.x), int_attr(self, "dim"), tensor_shape(self.x)
        rule = merge_rule(shape, dim).name
        if rule == "tile_parts":
            return (*x[:dim], 1, 1, *x[dim + 3 :])
        merged = x[dim] * x[dim + 1]
        if rule in ("components", "rows", "levels"):
            merged = x[dim + 1]
        elif rule in ("untile", "tiles") and x[dim + 1] != shape.shape[dim + 1]:
            merged = 1
        return (*x[:dim], merged, *x[dim + 2 :])

    def level_above(self, level: int) -> int | None:
        dim = int_attr(self, "dim")
        if level == dim and merge_rule(tensor_shape(self.x), dim).name != "untile":
            return None
        return level + (level > dim)


class SplitOp(UnmappedOp, name="split", traits=[Pure]):
    """Splits `dim` by a static factor into an outer dim and a tile (a dense dim for a batch dim,
    which must divide).

    ```mlir
    %1 = ragged.split %0 {dim = 1, factor = 2}
         : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<3x?x2xf32, #ragged.layout<"drt">>
    ```
    """

    apart = "always"
    res: Result[Tensor]
    x: Operand[Tensor]
    dim: IntegerAttr
    factor: IntegerAttr

    @staticmethod
    def infer(x: RaggedShape, *, dim: int, factor: int) -> RaggedShape:
        return x.split(dim, factor)

    def checks(self, ask: Checker[Q]) -> None:
        layout, dim, factor = tensor_shape(self.x).layout, int_attr(self, "dim"), int_attr(self, "factor")
        if layout.letter(dim) != "d":
            return
        if layout.is_batch(dim):
            ask.valid("divides", dim, ask.extent(self.x, dim), factor=factor)
        ask.equal(dim, ask.ceil(ask.extent(self.x, dim), factor), tensor_shape(self.res).shape[dim])

    def divisors(self, known: Divides) -> tuple[int, ...]:
        x, dim, factor = known.of(self.x), int_attr(self, "dim"), int_attr(self, "factor")
        parts = (1, factor if tensor_shape(self.x).layout.is_batch(dim) else 1)
        if x[dim] % factor == 0:
            parts = (x[dim] // factor, factor)
        return (*x[:dim], *parts, *x[dim + 1 :])

    def level_above(self, level: int) -> int | None:
        dim = int_attr(self, "dim")
        return None if level == dim + 1 else level - (level > dim)


class SelectOp(UnmappedOp, name="select", traits=[Pure]):
    """One index of `dim`. On the leading dim that component; on an innermost ragged dim one row
    of every component (a copy). No negative indices.

    ```mlir
    %1 = ragged.select %0, %i {dim = 0} : (tensor<3x?xf32, #ragged.layout<"dr">>, index) -> tensor<?xf32>
    ```
    """

    apart = "dim"
    res: Result[Tensor]
    x: Operand[Tensor]
    index: Operand[Scalar]
    dim: IntegerAttr

    @staticmethod
    def infer(x: RaggedShape, *, dim: int) -> RaggedShape:
        return x.select(dim)

    def check_operands(self) -> None:
        check_scalar(self.index, "an index")

    def checks(self, ask: Checker[Q]) -> None:
        dim = int_attr(self, "dim")
        ask.valid("index", dim, self.index, bound_of(ask, self.x, dim))

    def divisors(self, known: Divides) -> tuple[int, ...]:
        x, dim = known.of(self.x), int_attr(self, "dim")
        return (*x[:dim], *x[dim + 1 :])


class SliceOp(UnmappedOp, name="slice", traits=[Pure]):
    """The range [lo, hi) of `dim`: a sub-batch, a part of every component (scalars, or one pair
    per component), or a range of a dense dim.

    ```mlir
    %1 = ragged.slice %0, %lo, %hi {dim = 1} : (tensor<3x?xf32, #ragged.layout<"dr">>, index, tensor<3xi64>)
         -> tensor<3x?xf32, #ragged.layout<"dw">>
    ```
    """

    apart = "dim"
    res: Result[Tensor]
    x: Operand[Tensor]
    lo: Operand[Scalar]
    hi: Operand[Scalar]
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

    def checks(self, ask: Checker[Q]) -> None:
        dim = int_attr(self, "dim")
        ask.valid("range", dim, self.lo, self.hi, bound_of(ask, self.x, dim))
        if not is_tensor(self.lo.type) and not is_tensor(self.hi.type):
            ask.equal(dim, ask.minus(ask.number(self.hi), ask.number(self.lo)), tensor_shape(self.res).shape[dim])

    def divisors(self, known: Divides) -> tuple[int, ...]:
        x, dim = known.of(self.x), int_attr(self, "dim")
        return (*x[:dim], 1, *x[dim + 1 :])


class ConcatOp(MixedOp, name="concat", traits=[Pure]):
    """Concatenation along a batch dim, a ragged dim (per component) or a dense dim; copies.

    ```mlir
    %2 = ragged.concat %0, %1 {dim = 1}
         : (tensor<3x?xf32, #ragged.layout<"dr">>, tensor<3x?xf32, #ragged.layout<"dr">>)
         -> tensor<3x?xf32, #ragged.layout<"dr">>
    ```
    """

    apart = "dim"
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

    def checks(self, ask: Checker[Q]) -> None:
        first, *others = self.operation.operands
        layout, dim = tensor_shape(first).layout, int_attr(self, "dim")
        axis, _ = layout.locate(dim)
        for d in range(layout.rank):
            if d == dim or (layout.letter(d) in RAGGED and d > dim and layout.locate(d)[0] == axis):
                continue
            for other in others:
                if layout.letter(d) == "d":
                    ask.equal(d, ask.extent(other, d), ask.extent(first, d))
                else:
                    ask.conform(first, other, [(k, k) for k in (*layout.above(d), d)])
        static = tensor_shape(self.res).shape[dim]
        if static is not None and layout.letter(dim) == "d":
            size: Extent[Q] = 0
            for x in (first, *others):
                size = ask.plus(size, ask.extent(x, dim))
            ask.equal(dim, size, static)

    def divisors(self, known: Divides) -> tuple[int, ...]:
        columns = zip(*(known.of(x) for x in self.operation.operands), strict=True)
        return tuple(gcd(*column) for column in columns)


class CompactOp(RaggedOp, name="compact", traits=[Pure]):
    """Windows become contiguous levels; copies the elements that are inside windows.

    ```mlir
    %1 = ragged.compact %0 : (tensor<3x?xf32, #ragged.layout<"dw">>) -> tensor<3x?xf32, #ragged.layout<"dr">>
    ```
    """

    apart = "always"
    res: Result[Tensor]
    x: Operand[Tensor]

    @staticmethod
    def infer(x: RaggedShape) -> RaggedShape:
        return x.compact()

    same_lengths = True
    checks = unchecked
