"""Calls of a program to what it runs on, and their declarations and definitions in its module."""

from __future__ import annotations

from collections.abc import Sequence

from ragged_dialect._mlir import ir
from ragged_dialect.ir.walk import locate
from ragged_dialect.lowering.runtime.memory_runtime import LIBRARY_MEMORY
from ragged_dialect.lowering.runtime.program_runtime import DECLARATIONS, RUNTIME


def declare(module: ir.Operation) -> None:
    """Declare what programs call of the runtime in a module that has not done so."""
    known = ir.SymbolTable(module.operation)
    made = ir.Module.parse(DECLARATIONS)
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
