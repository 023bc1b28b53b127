"""What the class of an op says about it, for the page of ops and for editors."""

import inspect
import re
from collections.abc import Iterator

from ragged_dialect.ops.base import MixedOp

_KINDS = {
    "RankedTensorType": "tensor", "IndexType": "index", "IntegerAttr": "integer", "StringAttr": "string",
    "DenseI64ArrayAttr": "array of i64", "DenseI32ArrayAttr": "array of i32", "UnitAttr": "unit", "Attribute": "any",
    "FloatAttr": "float",
}  # fmt: skip


def docstring(op: type) -> str:
    """What an op does, in Markdown."""
    return inspect.cleandoc(op.__doc__ or "")


def signature(op: type[object]) -> str:
    """Operands, attributes, results and traits of an op as a list in Markdown."""
    operands = list(_fields(op, "OperandDef"))
    if issubclass(op, MixedOp):
        operands.append("any number of tensors, vectors and indices, of types that may differ")
    required = [f for f in _fields(op, "AttributeDef") if "operandSegmentSizes" not in f]
    optional = [f"`{name}` (optional)" for name in getattr(op, "optional", ())]
    rows = {
        "Operands": operands,
        "Attributes": required + optional,
        "Results": list(_fields(op, "ResultDef")),
        "Traits": [f"`{trait.__name__}`" for trait in getattr(op, "_traits")],
    }
    return "\n".join(f"- {name}: {', '.join(items) or 'none'}" for name, items in rows.items())


def _fields(op: type[object], kind: str) -> Iterator[str]:
    for field in getattr(op, "_fields"):
        if type(field).__name__ == kind and not re.fullmatch(r"g\d+", field.name):
            constraint = getattr(field.constraint, "__name__", "")
            yield f"`{field.name}`: {_KINDS.get(constraint, 'any type')}"
