"""Copies of ops."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from ragged_dialect._mlir import Op, ir
from ragged_dialect.ir.match import attribute_names
from ragged_dialect.ir.walk import ops_in

Attributes: TypeAlias = dict[str, Any]
"""Attributes by name, of whatever class the op has them."""

ValueMap: TypeAlias = "dict[ir.Value, ir.Value]"
"""Which value stands for another one."""


def bytecode(op: Op | ir.Module, version: int | None = None) -> bytes:
    """An op as bytecode, which costs a fraction of its text: printing verifies first."""
    data = io.BytesIO()
    op.operation.write_bytecode(data, desired_version=version)
    return data.getvalue()


def copy_attributes(op: ir.Operation) -> Attributes:
    """Attributes of an op as a dict."""
    return {name: op.attributes[name] for name in attribute_names(op)}


def remap(op: Op, mapping: ValueMap) -> None:
    """Replace operands of an op and of what is inside it."""
    for inner in ops_in(op):
        for k, operand in enumerate(inner.operands):
            if operand in mapping:
                inner.operands[k] = mapping[operand]


def clone(op: ir.Operation, known: ValueMap) -> ir.Operation:
    """A copy of an op at the insertion point, with what `known` has in place of operands, also inside
    it; `known` has its results afterwards."""
    copy = op.clone().operation
    remap(copy, known)
    known.update(zip(op.results, copy.results, strict=True))
    return copy


def inlined(
    block: ir.Block,
    arguments: Sequence[ir.Value],
    given: ValueMap | None = None,
    copy: Callable[[ir.Operation, ValueMap], object] = clone,
) -> list[ir.Value]:
    """What the terminator of a block has, of copies of the other ops at the insertion point; not of those whose result
    is given. `copy` makes those that are not just cloned, and lets the map have their results."""
    known: ValueMap = {**dict(zip(block.arguments, arguments, strict=True)), **(given or {})}
    *ops, last = (op.operation for op in block.operations)
    for op in ops:
        if not any(result in known for result in op.results):
            copy(op, known)
    return [known.get(x, x) for x in last.operands]


def copy_regions(op: ir.Operation, into: ir.Operation) -> None:
    """Give an op whose regions are empty copies of those of another one."""
    copy = op.clone().operation
    for own, other in zip(into.regions, copy.regions, strict=True):
        for block in list(other.blocks):
            block.append_to(own)
    copy.erase()
