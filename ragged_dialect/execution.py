"""`compile`: a program, as text or as a module, to a callable on NumPy arrays."""

from __future__ import annotations

import ctypes
import io
import os
from pathlib import Path
from typing import Any

from ragged_dialect._mlir import execution_engine, ir
from ragged_dialect.asm.module import load_module
from ragged_dialect.checks import Check
from ragged_dialect.dialect import context as make_context
from ragged_dialect.errors import CompileError
from ragged_dialect.lowering import pipelines
from ragged_dialect.runtime.cpu import CpuFunction
from ragged_dialect.runtime.printing import register_printer
from ragged_dialect.runtime.signature import Group, Part, Signature, numpy_dtype
from ragged_dialect.types import flat_types, is_ragged, is_tensor, shape_of

TARGETS = ("cpu",)


def compile(source: Any, entry: str | None = None, target: str = "cpu", check: bool = True) -> CpuFunction:
    """Compile a function of a program.

    `source` is text (short or generic form), bytecode, a path, or an `ir.Module`, which is not
    changed. `entry` may be left out when there is one public function. Without `check` run-time
    checks are left out, and invalid data is undefined behaviour. Threads: RAGGED_NUM_THREADS, all
    cores by default. Raises VerifyError, CompileError or PassError.
    """
    if target not in TARGETS:
        raise CompileError(f"expected a target among {', '.join(TARGETS)}, got '{target}'")
    module = _copy(source)
    with module.context, ir.Location.unknown():
        function = _entry(module, entry)
        name = function.attributes["sym_name"].value
        _keep_only(module, function)
        _check_calls(module)
        layouts, *rest = pipelines.cpu_pipeline(check)
        layouts.run(module, verify=False)
        signature = _signature(_functions(module)[name])  # types are final, and still ragged
        for stage in rest:
            stage.run(module, verify=False)
        return _jit(module, signature)


def thread_count() -> int:
    """Threads a program runs on: RAGGED_NUM_THREADS, or the cores this process may use."""
    text = os.environ.get("RAGGED_NUM_THREADS", "")
    if not text:
        return len(os.sched_getaffinity(0))
    if not text.isdecimal() or int(text) < 1:
        raise CompileError(f"expected RAGGED_NUM_THREADS of at least 1, got '{text}'")
    return int(text)


def _copy(source: Any) -> Any:
    """The program as a module of its own, verified."""
    if isinstance(source, ir.Module):
        data = io.BytesIO()
        source.operation.write_bytecode(data)  # text would lose locations
        return load_module(data.getvalue(), source.context)
    if isinstance(source, Path):
        return load_module(source.read_bytes(), make_context(), str(source))
    if not isinstance(source, (str, bytes)):
        raise CompileError(f"expected a program as text, bytes, a path or a module, got {type(source).__name__}")
    return load_module(source, make_context(), "<program>")


def _functions(module: Any) -> dict[str, Any]:
    return {
        f.operation.attributes["sym_name"].value: f.operation
        for f in module.body.operations
        if f.operation.name == "func.func"
    }


def _is_declaration(function: Any) -> bool:
    return len(function.regions[0].blocks) == 0


def _entry(module: Any, name: str | None) -> Any:
    functions = _functions(module)
    public = [n for n, f in functions.items() if "sym_visibility" not in f.attributes]
    if name is None:
        if len(public) != 1:
            raise CompileError(f"expected one public function or the name of an entry, got {len(public)} functions")
        name = public[0]
    if name not in functions:
        raise CompileError(f"expected an entry among {', '.join(functions) or 'no functions'}, got '{name}'")
    if _is_declaration(functions[name]):
        raise CompileError(f"expected a function with a body, got the declaration '{name}'")
    return functions[name]


def _check_calls(module: Any) -> None:
    """A call of a function without a body would fail in the linker, without a place."""
    declared = {name for name, function in _functions(module).items() if _is_declaration(function)}
    called: list[str] = []

    def visit(op: Any) -> Any:
        if op.name == "func.call":
            called.append(op.attributes["callee"].value)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    for name in called:
        if name in declared:
            raise CompileError(f"expected functions with bodies, got a call of the declaration '{name}'")


def _keep_only(module: Any, entry: Any) -> None:
    """Functions that the entry does not reach go; the others become private, which says that only
    the entry checks its arguments."""
    for function in _functions(module).values():
        if function != entry:
            function.attributes["sym_visibility"] = ir.StringAttr.get("private")
    if "sym_visibility" in entry.attributes:
        del entry.attributes["sym_visibility"]
    pipelines.Stage("entry", "symbol-dce").run(module, verify=False)


def _signature(function: Any) -> Signature:
    type_ = ir.TypeAttr(function.attributes["function_type"]).value
    name = function.attributes["sym_name"].value
    return Signature(
        name, tuple(_group(name, t) for t in type_.inputs), tuple(_group(name, t) for t in type_.results), False
    )


def _group(function: str, type_: Any) -> Group:
    if not is_ragged(type_):
        return Group((_part(function, "value", type_),))
    shape = shape_of(type_)
    parts = [
        _part(function, p.kind if p.kind == "values" else f"{p.kind}{p.dim}", flat, p.kind)
        for p, flat in zip(shape.parts(), flat_types(type_), strict=True)
    ]
    return Group(tuple(parts), shape)


def _part(function: str, name: str, type_: Any, kind: str = "values") -> Part:
    element = type_.element_type if is_tensor(type_) else type_
    dtype = numpy_dtype(str(element))
    if dtype is None:
        raise CompileError(f"{function}: expected arguments and results of number types, got {type_}")
    shape = shape_of(type_).shape if is_tensor(type_) else None
    return Part(name, dtype, shape, extent=kind == "extent", vector=kind not in ("values", "extent"))


def _jit(module: Any, signature: Signature) -> CpuFunction:
    attributes = module.operation.attributes
    checks = [_check(c) for c in attributes["ragged.checks"]] if "ragged.checks" in attributes else []
    labels = [a.value for a in attributes["ragged.labels"]] if "ragged.labels" in attributes else []
    if not module.operation.verify():  # translating invalid IR takes the process down
        raise CompileError(f"{signature.name}: expected valid IR after the lowering, got IR that does not verify")
    try:
        engine = execution_engine.ExecutionEngine(module, opt_level=3, shared_libs=_libraries())
    except RuntimeError as error:
        raise CompileError(f"{signature.name}: {error}") from error
    keep: list[Any] = [engine, register_printer(engine, labels)] if labels else [engine]
    engine.initialize()
    packed = engine.raw_lookup("_mlir_ciface_" + signature.name)
    if not packed:
        raise CompileError(f"{signature.name}: expected a compiled entry, got none (unresolved symbols)")
    if "ragged_set_threads" in ir.SymbolTable(module.operation):
        _set_threads(engine, thread_count())
    checked = Signature(signature.name, signature.arguments, signature.results, bool(checks))
    return CpuFunction(checked, packed, checks, keep)


def _set_threads(engine: Any, count: int) -> None:
    """Tell a program with parallel loops how many threads to use."""
    setter = engine.raw_lookup("ragged_set_threads")
    number = ctypes.c_int64(count)
    slots = (ctypes.c_void_p * 1)(ctypes.addressof(number))
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(setter)(ctypes.addressof(slots))


def _libraries() -> list[str]:
    from ragged_dialect.lowering.math_library import required_libraries

    return required_libraries()


def _check(attr: Any) -> Check:
    kind, op, level = attr
    return Check(kind.value, op.value, level.value)
