"""`lower-memory-types`: booleans in memory are bytes, and vectors of bf16 integers."""

from __future__ import annotations

from ragged_dialect._mlir import ir, llvm
from ragged_dialect.ir.clone import copy_attributes
from ragged_dialect.ir.match import element_of
from ragged_dialect.ir.walk import find_ops, replace
from ragged_dialect.passes.base import RaggedPass

_NOT_EQUAL = 1
"""Of `llvm.icmp`."""


class LowerMemoryTypes(RaggedPass):
    """Load and store booleans of the LLVM dialect, and vectors of them, as bytes, and vectors of bf16 as integers.

    ```mlir
    %x = llvm.load %p : !llvm.ptr -> i1
    // becomes
    %byte = llvm.load %p : !llvm.ptr -> i8
    %x = llvm.icmp "ne" %byte, %zero : i8
    ```

    A store writes 0 or 1. What callers have as booleans may be any byte, and code for an `i1` in memory would
    take some of its bits. LLVM takes vectors of bf16 apart where the processor has no such type. Runs after
    finalize-memref-to-llvm or convert-gpu-to-nvvm.
    """

    def run(self, op: ir.Operation) -> None:
        """Replace the accesses anywhere in a module."""
        for access in find_ops(op, "llvm.load", "llvm.intr.masked.load", "llvm.store", "llvm.intr.masked.store"):
            loads = bool(access.results)
            type_ = access.results[0].type if loads else access.operands[0].type
            stored = _stored(type_)
            with ir.InsertionPoint(access), access.location:
                if stored is not None and loads:
                    _load(access, stored, type_)
                elif stored is not None:
                    access.operands[0] = _written(access.operands[0], stored)


def _stored(type_: ir.Type) -> ir.Type | None:
    """What a type is in memory, None where it is itself."""
    lanes = isinstance(type_, ir.VectorType)
    element = element_of(type_)
    if isinstance(element, ir.IntegerType) and element.width == 1:
        width = 8
    elif lanes and isinstance(element, ir.BF16Type):
        width = 16
    else:
        return None
    made = ir.IntegerType.get_signless(width)
    return ir.VectorType.get(type_.shape, made) if lanes else made


def _is_bool(type_: ir.Type) -> bool:
    return isinstance(element_of(type_), ir.IntegerType)


def _written(value: ir.Value, stored: ir.Type) -> ir.Value:
    return _create("llvm.zext" if _is_bool(value.type) else "llvm.bitcast", stored, value)


def _load(access: ir.Operation, stored: ir.Type, type_: ir.Type) -> None:
    place, *masked = access.operands  # the mask, and what lanes without it are
    masked[1:] = [_written(value, stored) for value in masked[1:]]
    loaded = _create(access.name, stored, place, *masked, **copy_attributes(access))
    if _is_bool(type_):
        zero = llvm.mlir_constant(_zeros(stored))
        predicate = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), _NOT_EQUAL)
        found = _create("llvm.icmp", type_, loaded, zero, predicate=predicate)
    else:
        found = _create("llvm.bitcast", type_, loaded)
    replace(access, found)


def _zeros(type_: ir.Type) -> ir.Attribute:
    if isinstance(type_, ir.VectorType):
        return ir.DenseElementsAttr.get_splat(type_, ir.IntegerAttr.get(type_.element_type, 0))
    return ir.IntegerAttr.get(type_, 0)


def _create(name: str, result: ir.Type, *operands: ir.Value, **attributes: ir.Attribute) -> ir.Value:
    made = ir.Operation.create(name, results=[result], operands=list(operands), attributes=attributes)
    return made.result
