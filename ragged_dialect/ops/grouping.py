"""Ops that make structures of data, which elements belong together, or put elements in order."""

from ragged_dialect._mlir import ir
from ragged_dialect.checking.checker import Checker, Q
from ragged_dialect.errors import LayoutError
from ragged_dialect.layout import Layout
from ragged_dialect.ops.base import MixedOp, Operand, Pure, Result, Scalar, Tensor, UnmappedOp
from ragged_dialect.shape import RaggedShape
from ragged_dialect.traits import (
    check_elements,
    check_result,
    check_scalar,
    check_size,
    check_vector,
    has_unit,
    is_index_element,
    optional_int,
    tensor_shape,
)

GROUPS = RaggedShape(Layout.parse("dr"), (None, None))
"""What `ragged.group_by` makes."""


class _Keyed(MixedOp):
    """An op on keys, something beside them, and perhaps numbers that stand where they are."""

    is_mapped = False

    @property
    def keys(self) -> ir.Value:
        return self.operation.operands[0]

    @property
    def numbers(self) -> list[ir.Value]:
        """What there is instead of keys, or of their indices: one vector or none."""
        return list(self.operation.operands)[2:]

    def check_vectors(self, beside: str) -> None:
        """Keys and numbers are index vectors, and there are as many operands as that makes."""
        given = len(self.operation.operands)
        if given not in (2, 3):
            raise LayoutError(f"expected keys, {beside} and perhaps numbers, got {given} operands")
        check_vector(self.keys, "keys")
        for vector in self.numbers:
            check_vector(vector, "numbers")


class GroupByOp(_Keyed, name="group_by", traits=[Pure]):
    """The places of every key: component k has the indices of the keys that are k, in ascending order (a stable
    counting sort, whose offsets are the running sums of the histogram). `count` is the number of components; keys are
    in [0, count). The routing of tokens to experts, with the permutation as values and the counts as lengths. With a
    third operand a component has what stands there instead of indices: numbers in the order of digits of theirs are
    sorted by the next ones.

    ```mlir
    %1 = ragged.group_by %keys, %count
         : (tensor<?xi64>, index) -> tensor<?x?xi64, #ragged.layout<"dr">>
    %2 = ragged.group_by %keys, %count, %numbers
         : (tensor<?xi64>, index, tensor<?xi64>) -> tensor<?x?xi64, #ragged.layout<"dr">>
    ```
    """

    res: Result[Tensor]

    @property
    def count(self) -> ir.Value:
        return self.operation.operands[1]

    def verify_invariants(self) -> None:
        self.check_vectors("a count")
        check_scalar(self.count, "a count")
        check_result(self, GROUPS, ir.IntegerType.get_signless(64))

    def checks(self, ask: Checker[Q]) -> None:
        ask.valid("at_least", 0, self.count, factor=0)
        ask.valid("index", 0, self.keys, self.count)
        for vector in self.numbers:
            ask.equal(0, ask.extent(vector, 0), ask.extent(self.keys, 0))
        ask.equal(0, self.count, tensor_shape(self.res).shape[0])


class SortOp(_Keyed, name="sort", traits=[Pure]):
    """The keys of every segment in ascending order, where offsets say which belong together (a segmented sort). With a
    third operand a segment has what stands there instead of keys: numbers in the order of their keys, and of equal keys
    in their own. Numbers of places that ascend are so a stable sort. With `limit` the first so many of a segment are
    there (a partial sort), and what stands behind them is not specified.

    ```mlir
    %1 = ragged.sort %keys, %offsets : (tensor<?xi32>, tensor<?xi64>) -> tensor<?xi32>
    %2 = ragged.sort %keys, %offsets, %numbers : (tensor<?xi64>, tensor<?xi64>, tensor<?xi64>) -> tensor<?xi64>
    %3 = ragged.sort %keys, %offsets {limit = 8} : (tensor<?xi32>, tensor<?xi64>) -> tensor<?xi32>
    ```
    """

    optional = ("limit",)

    res: Result[Tensor]

    @property
    def limit(self) -> int | None:
        """How many of each segment are asked for, None for all."""
        return optional_int(self, "limit")

    @property
    def offsets(self) -> ir.Value:
        return self.operation.operands[1]

    def verify_invariants(self) -> None:
        self.check_vectors("offsets")
        check_vector(self.offsets, "offsets")
        for vector in self.numbers:
            check_size(tensor_shape(vector), tensor_shape(self.keys).shape[0], "numbers")
            if vector.type.element_type != self.keys.type.element_type:
                raise LayoutError(f"expected numbers of {self.keys.type.element_type}, got {vector.type.element_type}")
        limit = self.limit
        if limit is not None and limit < 1:
            raise LayoutError(f"expected a limit of at least 1, got {limit}")
        last = (self.numbers or [self.keys])[0]
        check_result(self, RaggedShape(Layout.dense(1), (tensor_shape(last).shape[0],)), last.type.element_type)

    def checks(self, ask: Checker[Q]) -> None:
        size = ask.extent(self.keys, 0)
        ask.valid("offsets", 0, self.offsets, size)
        for vector in self.numbers:
            ask.equal(0, ask.extent(vector, 0), size)
        ask.equal(0, size, tensor_shape(self.res).shape[0])


class CompressOp(MixedOp, name="compress", traits=[Pure]):
    """The rows of a dense tensor at which a mask is true, in order (`np.compress`), or of a mask alone the numbers of
    those rows (`np.flatnonzero`).

    ```mlir
    %1 = ragged.compress %mask, %x : (tensor<?xi1>, tensor<?x8xf32>) -> tensor<?x8xf32>
    %2 = ragged.compress %mask : (tensor<?xi1>) -> tensor<?xi64>
    ```
    """

    is_mapped = False
    res: Result[Tensor]
    reduces = True

    @property
    def mask(self) -> ir.Value:
        """Which rows are kept."""
        return self.operation.operands[0]

    @property
    def x(self) -> ir.Value | None:
        """What has the rows, None where their numbers are asked for."""
        return next(iter(list(self.operation.operands)[1:]), None)

    def verify_invariants(self) -> None:
        given = len(self.operation.operands)
        if given not in (1, 2):
            raise LayoutError(f"expected a mask and perhaps rows, got {given} operands")
        mask, boolean, i64 = tensor_shape(self.mask), ir.IntegerType.get_signless(1), ir.IntegerType.get_signless(64)
        if not mask.layout.is_dense or mask.rank != 1 or self.mask.type.element_type != boolean:
            raise LayoutError(f"expected a mask tensor<?xi1>, got {self.mask.type}")
        if self.x is None:
            check_result(self, RaggedShape(Layout.dense(1), (None,)), i64)
            return
        rows = tensor_shape(self.x)
        if not rows.layout.is_dense or not rows.rank:
            raise LayoutError(f"expected dense rows, got {self.x.type}")
        check_elements(self.x, "rows")
        check_size(rows, mask.shape[0], "rows")
        check_result(self, RaggedShape(rows.layout, (None, *rows.shape[1:])), self.x.type.element_type)

    def checks(self, ask: Checker[Q]) -> None:
        if self.x is not None:
            ask.equal(0, ask.extent(self.x, 0), ask.extent(self.mask, 0))


class ScatterAddOp(UnmappedOp, name="scatter_add", traits=[Pure]):
    """Adds rows of a dense tensor at positions of a new one of `count` rows: row p of the result is the sum of the
    terms whose position is p, and 0 where there are none. Positions are in [0, count). Of ragged terms and positions,
    of one structure, each component has `count` rows of its own: a histogram of each. Floats are added in an order
    that depends on the target, short ones as f32. The transpose of a gather. `unique` says that no position occurs
    twice, so that rows are moved and nothing is added: where one does, which nobody looks for, one of its terms may be
    there as well as their sum, and anything at positions that no term has.

    ```mlir
    %1 = ragged.scatter_add %terms, %positions, %count
         : (tensor<?x8xf32>, tensor<?xi64>, index) -> tensor<?x8xf32>
    %inverse = ragged.scatter_add %numbers, %order, %count {unique}
         : (tensor<?xi64>, tensor<?xi64>, index) -> tensor<?xi64>
    %each = ragged.scatter_add %weights, %words, %count
         : (tensor<3x?xf32, #ragged.layout<"dr">>, tensor<3x?xi64, #ragged.layout<"dr">>, index) -> tensor<3x?xf32>
    ```
    """

    optional = ("unique",)

    res: Result[Tensor]
    terms: Operand[Tensor]
    positions: Operand[Tensor]
    count: Operand[Scalar]
    reduces = True

    @property
    def unique(self) -> bool:
        """Whether no position occurs twice."""
        return has_unit(self, "unique")

    @staticmethod
    def infer(terms: RaggedShape, positions: RaggedShape) -> RaggedShape:
        layout = terms.layout
        if not terms.rank:
            raise LayoutError("expected terms of rank 1 or more, got rank 0")
        if layout.is_dense:
            return RaggedShape(layout, (None, *terms.shape[1:]))
        if layout.axes[0] != "dr" or set(layout.axes[1:]) - {"d"}:
            raise LayoutError(f'expected terms that are dense or lists, as "dr" or "dr|d", got layout "{layout}"')
        if positions.layout != GROUPS.layout:
            raise LayoutError(f'expected positions of layout "dr", as terms, got layout "{positions.layout}"')
        return RaggedShape(Layout.dense(layout.rank), (terms.shape[0], None, *terms.shape[2:]))

    def check_operands(self) -> None:
        check_elements(self.terms, "terms")
        if tensor_shape(self.terms).layout.is_dense:
            check_vector(self.positions, "positions")
        else:
            tensor_shape(self.positions)
            if not is_index_element(self.positions.type.element_type):
                got = self.positions.type.element_type
                raise LayoutError(f"expected positions of i32, i64 or index, got {got}")
        check_scalar(self.count, "a count")
        if self.unique and not tensor_shape(self.terms).layout.is_dense:
            raise LayoutError("expected dense terms with 'unique', got lists")

    def checks(self, ask: Checker[Q]) -> None:
        terms, result = tensor_shape(self.terms), tensor_shape(self.res)
        at = 0 if terms.layout.is_dense else 1
        if at:
            ask.conform(self.terms, self.positions, [(0, 0), (1, 1)])
        else:
            ask.equal(0, ask.extent(self.positions, 0), ask.extent(self.terms, 0))
        ask.valid("at_least", at, self.count, factor=0)
        ask.valid("index", at, ask.part("values", self.positions, 0) if at else self.positions, self.count)
        ask.equal(at, self.count, result.shape[at])
        sizes = [self.count, *(ask.extent(self.terms, d) for d in range(at + 1, terms.rank))]
        ask.fits(0, [ask.extent(self.terms, 0), *sizes] if at else sizes)
