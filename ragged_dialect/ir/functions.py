"""Functions of a module: finding them, copies, their types."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from ragged_dialect._mlir import ir
from ragged_dialect.ir.clone import copy_attributes
from ragged_dialect.ir.walk import find_ops, free_symbol, ops_in


def functions_of(module: ir.Operation) -> dict[str, ir.Operation]:
    """The functions of a module by name."""
    ops = [op.operation for op in module.regions[0].blocks[0].operations]
    return {name_of(op): op for op in ops if op.name == "func.func"}


def defined_functions(module: ir.Operation) -> dict[str, ir.Operation]:
    """Those that have a body."""
    return {name: op for name, op in functions_of(module).items() if len(op.regions[0].blocks)}


def name_of(function: ir.Operation) -> str:
    """The name of a function."""
    return ir.StringAttr(function.attributes["sym_name"]).value


def users_of(module: ir.Operation, name: str) -> list[ir.Operation]:
    """The ops of a module that call a function of a name, or name it otherwise."""
    symbol = ir.FlatSymbolRefAttr.get(name)
    return [op for op in ops_in(module) if symbol in copy_attributes(op).values()]


def calls(op: ir.Operation, names: AbstractSet[str]) -> bool:
    """Whether an op, or one inside it, calls a function of some names, or one that only a call knows."""
    found = find_ops(op, "func.call", "func.call_indirect")
    return any("callee" not in call.attributes or call.attributes["callee"].value in names for call in found)


def with_callers(module: ir.Operation, names: AbstractSet[str]) -> AbstractSet[str]:
    """Names of functions, and of all that call them, or call what does."""
    callers = {name for name, function in functions_of(module).items() if calls(function, names)}
    return names if callers <= names else with_callers(module, names | callers)


def copy_function(module: ir.Operation, source: ir.Operation, name: str) -> ir.Operation:
    """A function again, behind it, with a name that is free: the one that is asked for, or one made of it."""
    made = source.clone(ir.InsertionPoint(source)).operation
    source.move_before(made)
    made.attributes["sym_name"] = ir.StringAttr.get(free_symbol(module, name))
    return made


def body_of(function: ir.Operation) -> tuple[list[ir.Operation], ir.Operation]:
    """The ops of a function of one block, and what returns."""
    *ops, end = [op.operation for op in function.regions[0].blocks[0].operations]
    return ops, end


def return_instead(function: ir.Operation, values: list[ir.Value]) -> None:
    """Return other values from a function of one block, whose arguments may have become more, and give it its type.
    Attributes of results are dropped, since they were those of others, and with more arguments those of arguments."""
    _, end = body_of(function)
    with ir.InsertionPoint(end), end.location:
        ir.Operation.create("func.return", operands=values)
    end.erase()
    block = function.regions[0].blocks[0]
    type_ = ir.FunctionType.get([x.type for x in block.arguments], [x.type for x in values])
    count = len(ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value).inputs)
    function.attributes["function_type"] = ir.TypeAttr.get(type_)
    for name in ("res_attrs", *(["arg_attrs"] if len(block.arguments) != count else [])):
        if name in function.attributes:
            del function.attributes[name]
