"""The one function of a lowered module that C code calls.

A packed call passes an array of pointers: to the descriptors of buffers, and to scalars. So nothing
depends on how a platform passes small integers and half floats.
"""

from __future__ import annotations

from ragged_dialect._mlir import ir
from ragged_dialect.lowering.buffers.lower_memory_types import LowerMemoryTypes
from ragged_dialect.symbols import mangle

_CIFACE = "_mlir_ciface_"
_POINTER = "!llvm.ptr"


def packed_name(name: str) -> str:
    """Symbol of the packed entry of a function."""
    return f"_mlir_packed_{mangle(name)}"


def add_packed_entry(module: ir.Module, name: str, symbol: str) -> None:
    """Append the packed entry of a function to a module in the LLVM dialect, as `symbol`: it calls MLIR's
    C interface of the function, and stores what that returns to where the last slot points."""
    entry = ir.SymbolTable(module.operation)[f"{_CIFACE}{name}"].operation
    types = [str(argument.type) for argument in entry.regions[0].blocks[0].arguments]
    result = str(ir.TypeAttr(entry.attributes["function_type"]).value.return_type)
    with module.context, ir.Location.unknown():
        made = ir.Module.parse(_text(name, symbol, types, None if result == "!llvm.void" else result))
        LowerMemoryTypes().run(made.operation)
        module.body.append(list(made.body.operations)[-1].operation.detach_from_parent())


def _text(name: str, symbol: str, types: list[str], result: str | None) -> str:
    """The C interface as a declaration, then the packed entry."""
    inputs = ", ".join(types)
    returned = f" -> {result}" if result else ""
    lines = [
        f'llvm.func @"{_CIFACE}{name}"({inputs}){returned}',
        f'llvm.func @"{symbol}"(%slots: {_POINTER}) {{',
    ]
    for k, type_ in enumerate(types):
        lines += _slot(k)
        lines.append(f"%v{k} = llvm.load %p{k} : {_POINTER} -> {type_}" if type_ != _POINTER else "")
    values = ", ".join(f"%p{k}" if type_ == _POINTER else f"%v{k}" for k, type_ in enumerate(types))
    call = f'llvm.call @"{_CIFACE}{name}"({values}) : ({inputs}) -> {result or "()"}'
    if result is None:
        return "\n".join([*lines, call, "llvm.return", "}"])
    last = len(types)
    store = f"llvm.store %r, %p{last} : {result}, {_POINTER}"
    return "\n".join([*lines, *_slot(last), f"%r = {call}", store, "llvm.return", "}"])


def _slot(k: int) -> list[str]:
    return [
        f"%s{k} = llvm.getelementptr %slots[{k}] : ({_POINTER}) -> {_POINTER}, {_POINTER}",
        f"%p{k} = llvm.load %s{k} : {_POINTER} -> {_POINTER}",
    ]
