"""Base of the op classes."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ragged_dialect._mlir import ext, ir
from ragged_dialect.dialect import Ragged

Operand = ext.Operand
Result = ext.Result
Tensor = ir.RankedTensorType
Index = ir.IndexType
IntegerAttr = ir.IntegerAttr
StringAttr = ir.StringAttr
DenseI64ArrayAttr = ir.DenseI64ArrayAttr
Pure = ext.Pure


class RaggedOp(Ragged.Operation):
    """An op of the dialect. `optional` names the attributes that may be absent; an
    undotted attribute that is no field, but nearly has the name of one, is refused."""

    optional = ()  # not annotated: the op builder takes annotated names for fields

    if TYPE_CHECKING:

        def __init_subclass__(cls, *, name: str = "", traits: Sequence[Any] = ()) -> None: ...


class MixedOp(RaggedOp):
    """An op with any number of operands of different types.

    All operands of one variadic group must have one type (IRDL binds a constraint to the first
    type it meets), so there are several groups: each takes a run of operands of equal type.
    `operandSegmentSizes` is filled in by the builders and by the text form (`segments`).
    """

    g0: Sequence[Operand[Any]]
    g1: Sequence[Operand[Any]]
    g2: Sequence[Operand[Any]]
    g3: Sequence[Operand[Any]]
    g4: Sequence[Operand[Any]]
    g5: Sequence[Operand[Any]]
    g6: Sequence[Operand[Any]]
    g7: Sequence[Operand[Any]]
    g8: Sequence[Operand[Any]]
    g9: Sequence[Operand[Any]]
    g10: Sequence[Operand[Any]]
    g11: Sequence[Operand[Any]]
