"""Calls of functions that the program does not have: what runs it does."""

from __future__ import annotations

from collections.abc import Sequence

from ragged_dialect._mlir import ir
from ragged_dialect.ir.match import around


def module_of(op: ir.Operation) -> ir.Operation:
    """The module that an op is in."""
    return around(op, "builtin.module")


def call_external(
    module: ir.Operation, symbol: str, operands: Sequence[ir.Value], results: Sequence[ir.Type] = ()
) -> ir.Operation:
    """A call of a function that the module declares on first use, and calls by its C interface, `_mlir_ciface_…`."""
    if symbol not in ir.SymbolTable(module):
        type_ = ir.FunctionType.get([v.type for v in operands], list(results))
        attributes: dict[str, ir.Attribute] = {
            "sym_name": ir.StringAttr.get(symbol),
            "function_type": ir.TypeAttr.get(type_),
            "sym_visibility": ir.StringAttr.get("private"),
            "llvm.emit_c_interface": ir.UnitAttr.get(),
        }
        with ir.InsertionPoint.at_block_begin(module.regions[0].blocks[0]):
            ir.Operation.create("func.func", attributes=attributes, regions=1)
    return ir.Operation.create(
        "func.call",
        results=list(results),
        operands=list(operands),
        attributes={"callee": ir.FlatSymbolRefAttr.get(symbol)},
    )
