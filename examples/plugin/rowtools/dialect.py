"""The dialect `rowtools` and its ops."""

from ragged_dialect._mlir import ext
from ragged_dialect.errors import LayoutError
from ragged_dialect.layout import RAGGED
from ragged_dialect.ops.base import IntegerAttr, Operand, Pure, RaggedOp, Result, Tensor, unchecked
from ragged_dialect.shape import RaggedShape
from ragged_dialect.traits import tensor_shape


class Rowtools(ext.Dialect, name="rowtools"):  # pyright: ignore[reportCallIssue, reportGeneralTypeIssues]
    """Ops on the rows of components."""


class ReverseOp(RaggedOp, name="reverse", dialect=Rowtools, traits=[Pure]):
    """The rows of every component backwards: the elements of a ragged dim, below one batch dim. Copies; windows
    of the result stand side by side.

    ```mlir
    %1 = rowtools.reverse %0 {dim = 1}
         : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<3x?xf32, #ragged.layout<"dr">>
    ```
    """

    res: Result[Tensor]
    x: Operand[Tensor]
    dim: IntegerAttr

    same_lengths = True
    checks = unchecked

    @staticmethod
    def infer(x: RaggedShape, *, dim: int) -> RaggedShape:
        letter = x.layout.letter(dim)
        if letter not in RAGGED or len(x.layout.axes[x.layout.locate(dim)[0]]) != 2:
            raise LayoutError(f'expected a ragged dim below one batch dim, got dim {dim} of layout "{x.layout}"')
        return x

    def level_above(self, level: int) -> int | None:
        """Offsets stay as they are; those of windows are new."""
        return None if tensor_shape(self.x).layout.has_windows else level
