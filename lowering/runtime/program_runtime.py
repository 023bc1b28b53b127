"""What programs on the CPU call: the hooks of their memory and the pool of threads, one module of LLVM dialect text.

A process links it once, and programs know it by address; a C library has a copy of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from ragged_dialect._mlir import ir
from ragged_dialect.ir.walk import locate
from ragged_dialect.lowering.runtime.memory_runtime import (
    ALLOCATE,
    CALL,
    FAIL,
    FREE,
    LIBRARY_MEMORY,
    MEMORY_RUNTIME,
    REQUIRE,
)
from ragged_dialect.lowering.runtime.thread_pool import SHARE, THREAD_POOL
from ragged_dialect.lowering.skew.runtime import REFUSE, SKEW

SHARE_DECLARATION = f"llvm.func @{SHARE}(!llvm.ptr, !llvm.ptr, i64, i64, i64, i64)\n"
_DECLARATIONS = f"""
llvm.func @{ALLOCATE}(i64) -> (!llvm.ptr {{llvm.noalias}}) attributes {{passthrough = ["nounwind"]}}
llvm.func @{FREE}(!llvm.ptr) attributes {{passthrough = ["nounwind"]}}
llvm.func @{FAIL}(i64) attributes {{passthrough = ["cold", "noreturn", "nounwind"]}}
llvm.func @{CALL}(!llvm.ptr, !llvm.ptr) -> i64
llvm.func @{REFUSE}(i64, i64, i64, i64) attributes {{passthrough = ["nounwind"]}}
{SHARE_DECLARATION}
"""
DECLARED = (ALLOCATE, FREE, FAIL, REQUIRE, CALL, SHARE, REFUSE)

EXCHANGES = tuple(f"_mlir_ciface_ragged_exchange{step}" for step in ("", "_start", "_wait", "_take"))
"""What runs a program exchanges rows with other ranks; programs that have `ragged.all_to_all` need them.
`(rows, sent, room, received, ranks, row bytes, what, is lengths) -> code`, all i64, does it at once. The others
take the address of some i64, `(address) -> code`, and leave their answer there (`ranks/calls.py`)."""

RUNTIME = MEMORY_RUNTIME + THREAD_POOL + SKEW


def declare(module: ir.Operation) -> None:
    """Declare what programs call of the runtime in a module that has not done so."""
    known = ir.SymbolTable(module.operation)
    made = ir.Module.parse(_DECLARATIONS)
    locate(made.operation, module.location)
    for declaration in list(made.body.operations):
        if declaration.operation.attributes["sym_name"].value not in known:
            module.regions[0].blocks[0].append(declaration.operation.detach_from_parent())


def call(name: str, operands: Sequence[ir.Value]) -> None:
    """Call what gives nothing back, at the insertion point."""
    attributes = {
        "callee": ir.FlatSymbolRefAttr.get(name),
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(operands), 0]),
        "op_bundle_sizes": ir.DenseI32ArrayAttr.get([]),
    }
    ir.Operation.create("llvm.call", operands=list(operands), attributes=attributes)


def add_runtime(module: ir.Module) -> None:
    """Define what programs call of the runtime in a lowered module, in place of its declarations."""
    with module.context, ir.Location.unknown():
        made = ir.Module.parse(RUNTIME + LIBRARY_MEMORY)
        table = ir.SymbolTable(module.operation)
        for definition in list(made.body.operations):
            name = definition.operation.attributes.get("sym_name")
            if name is not None and name.value in table:
                table[name.value].operation.erase()
            module.body.append(definition.operation.detach_from_parent())
