"""Copies of ops."""

from __future__ import annotations

from typing import Any

from ragged_dialect._mlir import Op
from ragged_dialect.ir.walk import ops_in


def copy_attributes(op: Op) -> dict[str, Any]:
    """Attributes of an op as a dict."""
    return {
        a if isinstance(a, str) else a.name: op.attributes[a] if isinstance(a, str) else a.attr for a in op.attributes
    }


def remap(op: Op, mapping: dict[Any, Any]) -> None:
    """Replace operands of an op and of what is inside it."""
    for inner in ops_in(op):
        for k, operand in enumerate(inner.operands):
            if operand in mapping:
                inner.operands[k] = mapping[operand]


def clone(op: Op, known: dict[Any, Any]) -> Any:
    """A copy of an op at the insertion point, with what `known` has in place of operands, also inside
    it; `known` has its results afterwards."""
    copy = op.clone().operation
    remap(copy, known)
    known.update(zip(op.results, copy.results, strict=True))
    return copy
