"""The host functions of a GPU program as Python source.

```python
def bind(rt):
    empty = rt.empty
    k0 = rt.kernel('k0', (256, 1, 1), 'p p index')

    def run(a0, status):
        v0 = a0.shape[0]
        b0 = empty((v0, 64), float32)
        if v0 > 0:
            k0(v0, 1, 1, a0, b0, v0)
        return (b0,)

    return run
```

Straight-line code: shapes, allocations and launches in the order of the program. `rt` is a device
(`ragged_dialect.runtime`): CuPy, or the emulator.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection
from functools import partial

import numpy as np

from ragged_dialect._mlir import ir
from ragged_dialect.errors import CompileError
from ragged_dialect.ir.elements import elements_of
from ragged_dialect.ir.functions import defined_functions
from ragged_dialect.lowering.buffers.subviews import is_buffer, root
from ragged_dialect.lowering.gpu.host import control, floats, integers, memory
from ragged_dialect.lowering.gpu.host.writer import FLOATS, HostWriter, dtype, kind
from ragged_dialect.lowering.records import checks_of, labels_of
from ragged_dialect.runtime.host_program import HostProgram
from ragged_dialect.runtime.signature import numpy_dtype

_EMITTERS = {
    **integers.EMITTERS,
    **floats.EMITTERS,
    **control.EMITTERS,
    **memory.EMITTERS,
}


def host_source(module: ir.Module, narrow: Collection[str] = ()) -> HostProgram:
    """The host program of a module with functions, of which one is public, and kernels; those named in
    `narrow` exist for 32-bit indices too.

    CompileError, with the op's name, for what the host cannot run."""
    functions = defined_functions(module.operation)
    public = [name for name, op in functions.items() if "sym_visibility" not in op.attributes]
    if len(public) != 1:
        raise CompileError(f"expected one public function in a host program, got {len(public)}")
    entry = functions.pop(public[0])
    checks = checks_of(module)
    writer = HostWriter(_EMITTERS, {name: f"f{number}" for number, name in enumerate(functions)}, narrow)
    for name, op in functions.items():
        _function(writer, op, writer.functions[name])
    _entry(writer, entry, bool(checks))
    globals_ = [op.operation for op in module.body.operations if op.operation.name == "memref.global"]
    constants = {op.attributes["sym_name"].value: constant(op) for op in globals_}
    return HostProgram(_text(writer), constants, checks, labels_of(module), tuple(writer.reads_back))


def _entry(w: HostWriter, function: ir.Operation, checked: bool) -> None:
    block = _only_block(function)
    arguments = list(block.arguments)
    names = [w.define(argument, "a") for argument in arguments[: len(arguments) - checked]]
    if checked:
        names.append("status")
        w.alias(arguments[-1], "status")
    _header(w, "run", names)
    with w.nested():
        for argument, name in zip(arguments, names, strict=True):
            if not is_buffer(argument) and kind(argument.type) in FLOATS:
                w.line(f"{name} = {dtype(argument.type)}({name})")
        w.block(block, partial(_return, written=_leaving))


def _leaving(w: HostWriter, value: ir.Value) -> str:
    """Floats leave the program as Python's, views of arguments as copies; whole arguments are seen to
    by the caller, who knows them by identity."""
    if not is_buffer(value):
        return f"float({w.name(value)})" if kind(value.type) in FLOATS else w.name(value)
    buffer = root(value)
    if buffer != value and isinstance(buffer.owner, ir.Block):
        return f"{w.runtime('clone')}({w.name(value)})"
    return w.name(value)


def _function(w: HostWriter, function: ir.Operation, name: str) -> None:
    block = _only_block(function)
    _header(w, name, [w.define(argument) for argument in block.arguments])
    with w.nested():
        w.block(block, _return)
    w.line("")


def _return(
    w: HostWriter, terminator: ir.Operation, written: Callable[[HostWriter, ir.Value], str] = HostWriter.name
) -> None:
    values = [written(w, value) for value in terminator.operands]
    w.line(f"return ({', '.join(values)}{',' * (len(values) == 1)})")


def _header(w: HostWriter, name: str, arguments: list[str]) -> None:
    w.line(f"def {name}({', '.join(arguments)}):")


def _only_block(function: ir.Operation) -> ir.Block:
    blocks = list(function.regions[0].blocks)
    if len(blocks) != 1:
        raise CompileError(f"expected functions of one block in a host program, got {len(blocks)} blocks")
    return blocks[0]


def _text(w: HostWriter) -> str:
    bound = [f"    {name} = {expression}" for expression, name in w.bound.items()]
    decorated: list[str] = []
    for line in w.lines():
        if w.uses_floats and line.startswith("    def "):
            decorated.append("    @np.errstate(all='ignore')")
        decorated.append(line)
    return "\n".join(["def bind(rt):", *bound, "", *decorated, "", "    return run", ""])


Array = np.ndarray

_RESOURCE = re.compile(r': "0x[0-9A-Fa-f]{8}([0-9A-Fa-f]*)"')


def constant(op: ir.Operation) -> Array:
    """The data of a `memref.global`. CompileError for one without data or of other elements than numbers."""
    type_ = ir.TypeAttr(op.attributes["type"]).value
    element = numpy_dtype(str(type_.element_type))
    if element is None or "initial_value" not in op.attributes:
        raise CompileError(f"expected constants of numbers, got '{op.attributes['sym_name'].value}' of type {type_}")
    attribute, shape = op.attributes["initial_value"], tuple(type_.shape)
    if isinstance(attribute, ir.DenseElementsAttr):
        return elements_of(attribute, element).reshape(shape)
    data, size = _resource(op), math.prod(shape) * element.itemsize
    if data is None or len(data) != size:
        got = "none" if data is None else len(data)
        raise CompileError(f"expected {size} bytes of data for {attribute}, got {got}")
    return np.frombuffer(data, element).reshape(shape).copy()


def _resource(op: ir.Operation) -> bytes | None:
    """The data of the resource that a `memref.global` has as its value, which the bindings show in the
    text of a module only, as an alignment of 4 bytes and what follows; None where there is none."""
    module = ir.Module.create(op.location)
    with ir.InsertionPoint(module.body):
        op.clone()
    blob = _RESOURCE.search(str(module))
    return None if blob is None else bytes.fromhex(blob[1])
