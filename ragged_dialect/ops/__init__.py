"""The op classes of the dialect, by family. Importing this module registers all of them."""

from ragged_dialect.ops.access import (
    AssembleOp,
    LengthsOp,
    MaxLengthOp,
    OffsetsOp,
    PrintOp,
    RowIdsOp,
    StartsOp,
    TotalOp,
    ValuesOp,
    attach_print_effects,
)
from ragged_dialect.ops.attention import AttentionOp
from ragged_dialect.ops.base import RaggedOp
from ragged_dialect.ops.checks import (
    AnnotateOp,
    AssertConformOp,
    AssertValidOp,
    AssumeOp,
    GuardOp,
    attach_check_effects,
)
from ragged_dialect.ops.making import EmptyOp, FromPaddedOp, ReduceAcrossOp, ToPaddedOp
from ragged_dialect.ops.structure import (
    CompactOp,
    ConcatOp,
    MergeOp,
    PartitionOp,
    SelectOp,
    SliceOp,
    SplitOp,
)

__all__ = [
    "AnnotateOp",
    "AssembleOp",
    "AssertConformOp",
    "AssertValidOp",
    "AssumeOp",
    "AttentionOp",
    "CompactOp",
    "ConcatOp",
    "EmptyOp",
    "FromPaddedOp",
    "GuardOp",
    "LengthsOp",
    "MaxLengthOp",
    "MergeOp",
    "OffsetsOp",
    "PartitionOp",
    "PrintOp",
    "ReduceAcrossOp",
    "RowIdsOp",
    "SelectOp",
    "SliceOp",
    "SplitOp",
    "StartsOp",
    "ToPaddedOp",
    "TotalOp",
    "ValuesOp",
]

OPS: dict[str, type[RaggedOp]] = {
    kind.OPERATION_NAME: kind for kind in map(globals().__getitem__, __all__) if issubclass(kind, RaggedOp)
}
"""The op classes by the op's name."""

INFERRED = {name: kind for name, kind in OPS.items() if hasattr(kind, "infer")}
"""Those whose result type follows from their operands and attributes."""

SAME_LENGTHS = frozenset(name for name, kind in OPS.items() if kind.same_lengths) | {"tensor.cast"}
"""Ops whose result has the lengths of their operand."""

VIEWS = frozenset(name for name, kind in OPS.items() if kind.same_storage) | {"tensor.cast"}
"""Those whose result has its storage too."""

RESHAPES = frozenset({"ragged.partition", "ragged.merge", "ragged.split"})
"""Ops that cut and join dims, and leave elements and their order as they are."""


def attach_interfaces() -> None:
    """Attach the interface models that live per context; the context has the dialect loaded."""
    attach_print_effects()
    attach_check_effects()
