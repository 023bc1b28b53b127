"""What every target starts with: the program as a module of its own, with one entry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import TypeAlias

from ragged_dialect._mlir import ir
from ragged_dialect.asm.files import read_file
from ragged_dialect.asm.module import copy_module, load_module, parse_module, print_module
from ragged_dialect.dialect import context as make_context
from ragged_dialect.errors import CompileError
from ragged_dialect.ir.functions import functions_of, name_of
from ragged_dialect.ir.walk import find_ops
from ragged_dialect.lazy import cached_property
from ragged_dialect.lowering.stage import Stage
from ragged_dialect.runtime import memory
from ragged_dialect.runtime.signature import Group, Part, Signature, numpy_dtype
from ragged_dialect.symbols import mangle, spell
from ragged_dialect.types import flat_types, is_ragged, is_tensor, shape_of


@dataclass(frozen=True)
class Program:
    """A program on its way to a target: a module of its own, verified, whose only public function is the entry. What
    lowers it changes the module; `text` is asked for before that."""

    module: ir.Module

    @cached_property
    def text(self) -> str:
        """The program in generic form, which another lowering can be made of."""
        return print_module(self.module, generic=True)

    @property
    def name(self) -> str:
        """What the entry is called."""
        return name_of(self.entry)

    @property
    def entry(self) -> ir.Operation:
        """The function that is compiled."""
        return next(f for f in functions_of(self.module.operation).values() if _is_public(f))

    def again(self) -> Callable[[], Program]:
        """What makes the program once more, which keeps its text only."""
        text = self.text
        return lambda: Program(parse_module(text, make_context()))

    def lower(self, layouts: Stage, *stages: Stage) -> Signature:
        """Lower the module in place by the stages of a pipeline, of which the first settles the layouts. Gives the
        signature of the entry, whose types are still ragged then. AllocationError where LLVM lacks memory for it."""
        memory.require("compile", memory.COMPILER)
        with self.module.context, ir.Location.unknown():
            layouts.run(self.module, verify=False)
            signature = signature_of(self.entry)
            mangle_symbols(self.module)
            for stage in stages:
                stage.run(self.module, verify=False)
        return signature


Source: TypeAlias = "Program | ir.Module | Path | str | bytes"
"""What a program is made of: text or bytecode, a file of it, or a module."""


PROGRAM = "<program>"
"""What diagnostics call a program that is in no file."""


def load_program(source: Source, entry: str | None = None, filename: str = PROGRAM) -> Program:
    """The program of a source (as `ragged_dialect.compile` takes it, or loaded before) and the function of a name, or
    the only public one. VerifyError for what does not verify, CompileError without such a function."""
    if isinstance(source, Program):
        return source
    module = _load(source, filename)
    with module.context, ir.Location.unknown():
        _keep_only(module, _find_entry(module, entry))
    return Program(module)


def _load(source: object, filename: str) -> ir.Module:
    if isinstance(source, ir.Module):
        return copy_module(source)
    if isinstance(source, Path):
        return load_module(read_file(source), make_context(), str(source))
    if not isinstance(source, (str, bytes)):
        raise CompileError(f"expected a program as text, bytes, a path or a module, got {type(source).__name__}")
    if isinstance(source, str) and source.endswith(".mlir") and "\n" not in source:
        raise CompileError(
            f"expected the text of a program, got the name of a file (pathlib.Path({source!r}) reads it)"
        )
    return load_module(source, make_context(), filename)


def _find_entry(module: ir.Module, name: str | None) -> ir.Operation:
    """The function of a name, or the only public one. CompileError when there is none."""
    found = functions_of(module.operation)
    public = [n for n, f in found.items() if _is_public(f)]
    if name is None:
        if len(public) != 1:
            raise CompileError(f"expected one public function or the name of an entry, got {len(public)} functions")
        name = public[0]
    if name not in found:
        raise CompileError(f"expected an entry among {', '.join(found) or 'no functions'}, got '{name}'")
    if _is_declaration(found[name]):
        raise CompileError(f"expected a function with a body, got the declaration '{name}'")
    return found[name]


def _keep_only(module: ir.Module, entry: ir.Operation) -> None:
    """Functions, and modules in the module, that the entry does not reach are removed; the others become private, which
    says that only the entry checks its arguments. CompileError for a call of a function without a body."""
    for op in [op.operation for op in module.body.operations]:
        if op.name == "builtin.module" and "sym_name" not in op.attributes:  # nothing can name it
            op.erase()
        elif op.name in ("func.func", "builtin.module") and op != entry:
            op.attributes["sym_visibility"] = ir.StringAttr.get("private")
    if "sym_visibility" in entry.attributes:
        del entry.attributes["sym_visibility"]
    Stage("entry", "symbol-dce").run(module, verify=False)
    _check_calls(module)


def mangle_symbols(module: ir.Module, kept: Callable[[str], bool] | None = None) -> None:
    """Give what a program defines names that neither machine code nor what the lowering adds can have:
    `exp` or `malloc` would take the place of library functions, `llvm.x` is an intrinsic. Public
    functions stay as they are called where `kept` says that they may."""
    found = {
        op.operation.attributes["sym_name"].value: op.operation
        for op in module.body.operations
        if op.operation.name in ("func.func", "memref.global") and not _is_declaration(op.operation)
    }
    for name in sorted(found, key=len, reverse=True):  # a new name is longer than the old: it is free by now
        new = spell(name, lambda n: not kept(n)) if kept is not None and _is_public(found[name]) else mangle(name)
        if new != name:
            ir.SymbolTable.set_symbol_name(found[name], new)
            ir.SymbolTable.replace_all_symbol_uses(name, new, module.operation)


def _is_public(function: ir.Operation) -> bool:
    return "sym_visibility" not in function.attributes


def _is_declaration(function: ir.Operation) -> bool:
    """Whether a function, or a global, is defined elsewhere."""
    if function.name == "memref.global":
        return "initial_value" not in function.attributes
    return len(function.regions[0].blocks) == 0


def _check_calls(module: ir.Module) -> None:
    """A call of a function without a body would fail in the linker, without a place; one that calls itself has no
    place on a GPU, and none on a stack that it fills."""
    functions = functions_of(module.operation)
    called = {n: {c.attributes["callee"].value for c in find_ops(f, "func.call")} for n, f in functions.items()}
    addresses = {c.attributes["value"].value for c in find_ops(module.operation, "func.constant")}
    for name, function in functions.items() if addresses else ():
        called[name] |= addresses if find_ops(function, "func.call_indirect") else set()
    for name in (name for names in (*called.values(), addresses) for name in sorted(names)):
        if name in functions and _is_declaration(functions[name]):
            raise CompileError(f"expected functions with bodies, got a call of the declaration '{name}'")
    try:
        TopologicalSorter(called).prepare()
    except CycleError as error:
        circle = " calls ".join(f"'{name}'" for name in reversed(error.args[1]))
        raise CompileError(f"expected functions that do not call themselves, got {circle}") from None


def signature_of(function: ir.Operation) -> Signature:
    """Arguments and results as parts. CompileError for other types than numbers and tensors of them."""
    type_ = ir.TypeAttr(function.attributes["function_type"]).value
    name = name_of(function)
    return Signature(name, tuple(_group(name, t) for t in type_.inputs), tuple(_group(name, t) for t in type_.results))


def _group(function: str, type_: ir.Type) -> Group:
    if not is_ragged(type_):
        return Group((_part(function, "value", type_),))
    shape = shape_of(type_)
    parts = [
        _part(function, p.kind if p.kind == "values" else f"{p.kind}{p.dim}", flat, p.kind)
        for p, flat in zip(shape.parts(), flat_types(type_), strict=True)
    ]
    return Group(tuple(parts), shape)


def _part(function: str, name: str, type_: ir.Type, kind: str = "values") -> Part:
    element = type_.element_type if is_tensor(type_) else type_
    dtype = numpy_dtype(str(element))
    if dtype is None:
        raise CompileError(f"{function}: expected arguments and results of number types, got {type_}")
    shape = shape_of(type_).shape if is_tensor(type_) else None
    return Part(name, dtype, shape, extent=kind == "extent", vector=kind not in ("values", "extent"))
