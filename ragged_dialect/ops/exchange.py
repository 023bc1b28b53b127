"""Ops between the ranks of a group: processes that run one program on data of their own."""

from ragged_dialect.errors import LayoutError
from ragged_dialect.ops.base import Index, Operand, Result, Tensor, UnmappedOp, unchecked
from ragged_dialect.shape import RaggedShape
from ragged_dialect.traits import tensor_shape


class AllToAllOp(UnmappedOp, name="all_to_all"):
    """What every rank has for every other one, exchanged: component r of `x` goes to rank r, and component r of the
    result comes from rank r. The leading extent is the number of ranks; lengths go first, then elements, and nothing is
    padded. Extents of dense dims are the same on all ranks. With experts on the ranks, [rank, expert, token] of a
    source becomes [rank, expert, token] of a destination: `[source][expert, token] -> [expert][source, token]` of all
    ranks together.

    Every rank runs the same ops of this kind in the same order. A program that runs without a group is one rank. The
    group checks what others send; on every rank a difference is an error.

    ```mlir
    %1 = ragged.all_to_all %x
         : (tensor<4x?x?x512xf32, #ragged.layout<"drr|d">>) -> tensor<4x?x?x512xf32, #ragged.layout<"drr|d">>
    ```
    """

    checks = unchecked

    x: Operand[Tensor]
    res: Result[Tensor]

    @staticmethod
    def infer(x: RaggedShape) -> RaggedShape:
        """The same shape, with the lengths of others."""
        first, *others = x.layout.axes or ("",)
        if not first.startswith("d") or set(first) - set("dr") or any(axis != "d" for axis in others):
            raise LayoutError(
                "expected a leading dim of ranks, and other axes dense, as in "
                f'"d|d" or "drr|d", got layout "{x.layout}"'
            )
        return x


class AllToAllStartOp(UnmappedOp, name="all_to_all_start"):
    """Begins what `ragged.all_to_all` does of `x` and goes on: what is sent is copied, and the group exchanges it
    meanwhile. `ragged.all_to_all_wait` takes the number that it gives. Starts and other exchanges are in one order on
    all ranks. `ragged-overlap` makes it; programs on the CPU have it.

    ```mlir
    %turn = ragged.all_to_all_start %x : (tensor<4x?x512xf32, #ragged.layout<"dr|d">>) -> index
    ```
    """

    checks = unchecked

    x: Operand[Tensor]
    turn: Result[Index]

    def verify_invariants(self) -> None:
        AllToAllOp.infer(tensor_shape(self.x))


class AllToAllWaitOp(UnmappedOp, name="all_to_all_wait"):
    """The result of the exchange that `turn` is the number of, which began with `x`; it is waited for once.

    ```mlir
    %1 = ragged.all_to_all_wait %x, %turn
         : (tensor<4x?x512xf32, #ragged.layout<"dr|d">>, index) -> tensor<4x?x512xf32, #ragged.layout<"dr|d">>
    ```
    """

    checks = unchecked

    x: Operand[Tensor]
    turn: Operand[Index]
    res: Result[Tensor]

    @staticmethod
    def infer(x: RaggedShape) -> RaggedShape:
        """As of `ragged.all_to_all`."""
        return AllToAllOp.infer(x)
