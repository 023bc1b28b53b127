"""Ops that make structures of data: which elements belong together."""

from ragged_dialect._mlir import ir
from ragged_dialect.checking.checker import Checker, Q
from ragged_dialect.layout import Layout
from ragged_dialect.ops.base import Operand, Pure, RaggedOp, Result, Scalar, Tensor
from ragged_dialect.shape import RaggedShape
from ragged_dialect.traits import check_result, check_scalar, check_vector, tensor_shape

GROUPS = RaggedShape(Layout.parse("dr"), (None, None))
"""What `ragged.group_by` makes."""


class GroupByOp(RaggedOp, name="group_by", traits=[Pure]):
    """The places of every key: component k has the indices of the keys that are k, in ascending order (a stable
    counting sort, whose offsets are the running sums of the histogram). `count` is the number of components; keys are
    in [0, count). The routing of tokens to experts, with the permutation as values and the counts as lengths.

    ```mlir
    %1 = ragged.group_by %keys, %count
         : (tensor<?xi64>, index) -> tensor<?x?xi64, #ragged.layout<"dr">>
    ```
    """

    is_mapped = False

    res: Result[Tensor]
    keys: Operand[Tensor]
    count: Operand[Scalar]

    def verify_invariants(self) -> None:
        check_vector(self.keys, "keys")
        check_scalar(self.count, "a count")
        check_result(self, GROUPS, ir.IntegerType.get_signless(64))

    def checks(self, ask: Checker[Q]) -> None:
        ask.valid("at_least", 0, self.count, factor=0)
        ask.valid("index", 0, self.keys, self.count)
        static = tensor_shape(self.res).shape[0]
        if static is not None:
            ask.equal(0, self.count, static)
