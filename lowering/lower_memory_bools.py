"""`lower-memory-bools`: a boolean in memory is a byte, and true where that is not 0."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragged_dialect._mlir import ir, llvm
from ragged_dialect.ir.clone import copy_attributes
from ragged_dialect.ir.walk import find_ops
from ragged_dialect.passes.base import RaggedPass

_NOT_EQUAL = 1
"""Of `llvm.icmp`."""


@dataclass(frozen=True)
class LowerMemoryBools(RaggedPass):
    """Load and store booleans of the LLVM dialect as bytes.

    ```mlir
    %x = llvm.load %p : !llvm.ptr -> i1
    // becomes
    %byte = llvm.load %p : !llvm.ptr -> i8
    %x = llvm.icmp "ne" %byte, %zero : i8
    ```

    A store writes 0 or 1. What callers have as booleans may be any byte, and code for an `i1` in memory would
    take some of its bits. LLVM vectorises accesses to bytes, but not to single bits. Runs after
    finalize-memref-to-llvm or convert-gpu-to-nvvm.
    """

    name: ClassVar[str] = "lower-memory-bools"

    def run(self, op: ir.Operation) -> None:
        """Replace the accesses anywhere in a module."""
        byte, bit = (ir.IntegerType.get_signless(width) for width in (8, 1))
        for access in find_ops(op, "llvm.load", "llvm.store"):
            with ir.InsertionPoint(access), access.location:
                if access.name == "llvm.store" and access.operands[0].type == bit:
                    access.operands[0] = _create("llvm.zext", byte, access.operands[0])
                elif access.name == "llvm.load" and access.results[0].type == bit:
                    _load(access, byte, bit)


def _load(access: ir.Operation, byte: ir.Type, bit: ir.Type) -> None:
    known = copy_attributes(access)
    loaded = _create("llvm.load", byte, *access.operands, **known)
    zero = llvm.mlir_constant(ir.IntegerAttr.get(byte, 0))
    predicate = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), _NOT_EQUAL)
    access.results[0].replace_all_uses_with(_create("llvm.icmp", bit, loaded, zero, predicate=predicate))
    access.erase()


def _create(name: str, result: ir.Type, *operands: ir.Value, **attributes: ir.Attribute) -> ir.Value:
    made = ir.Operation.create(name, results=[result], operands=list(operands), attributes=attributes)
    return made.result
