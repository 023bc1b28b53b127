"""A module of kernels, translated for the host."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import llvmlite.binding as llvm
import numpy as np

from ragged_dialect.emulator.definitions import Addresses, Signature
from ragged_dialect.emulator.instrument import MAX_GRANULE, PREFIX, Footprint, Globals, Instrumenter
from ragged_dialect.emulator.intrinsics import define
from ragged_dialect.emulator.ir_text import element_size, natural_alignment, type_size
from ragged_dialect.emulator.math_functions import library_function
from ragged_dialect.emulator.origins import ARGUMENT, GLOBAL, Origin
from ragged_dialect.emulator.state import FINISHED, MAX_ARGUMENTS
from ragged_dialect.errors import EmulatorError

_RED_ZONE = 256


class Parameter(NamedTuple):
    """A parameter of a kernel: its LLVM type, what its declaration promises, and what the kernel does:
    whether it stores there, and the bytes its accesses are multiples of."""

    type: str
    alignment: int
    noalias: bool
    written: bool
    granule: int


class SharedBuffer(NamedTuple):
    """Static shared memory: its address here, its bytes, and the bytes accesses are multiples of."""

    name: str
    address: int
    size: int
    granule: int


class Kernel(NamedTuple):
    """A kernel: its parameters, the span of its shared memory, bytes of stack a thread needs, and the
    threads per block it was compiled for (0: any number)."""

    name: str
    parameters: tuple[Parameter, ...]
    shared: tuple[int, int]
    stack: int
    max_threads: int


class _Function(NamedTuple):
    name: str
    result: str
    types: tuple[str, ...]
    names: tuple[str, ...]
    attributes: tuple[tuple[str, ...], ...]
    is_kernel: bool
    max_threads: int
    lines: list[str]


class Program:
    """The text for the host, and what a launch must know: kernels by name, shared buffers in the
    order of their ranges, and the names of the collectives by number.

    Raises EmulatorError for IR that does not parse and for what the emulator cannot run.
    """

    def __init__(self, llvm_ir: str, machine: Addresses, arguments: int, check: bool, packed: bool = False) -> None:
        self._machine = machine
        self._arguments = arguments
        module = _parse(llvm_ir)
        text = str(module)
        functions = _functions(module, text)
        self._shared_memory, addresses = _place_shared(module, packed)
        self._sizes = {name: type_size(kind) for name, kind in _globals(module) if name not in addresses}
        order = {name: number for number, name in enumerate(addresses, 1)}
        defined = frozenset(function.name for function in functions)
        instrumenter = Instrumenter(machine, Globals(addresses, order, self._sizes), defined, check)
        self._footprints = dict[str, Footprint]()
        bodies = [self._body(function, instrumenter) for function in functions]
        self.sites = tuple(instrumenter.sites)
        self._merge_callees()
        self.shared = self._shared_buffers(module, addresses)
        kernels = [function for function in functions if function.is_kernel]
        self.kernels = {function.name: self._kernel(function) for function in kernels}
        entries = [self._entry(function) for function in kernels]
        self.text = "\n".join([_module_lines(text), *_declarations(module, machine), *bodies, *entries])

    def _body(self, function: _Function, instrumenter: Instrumenter) -> str:
        pointers = [i for i, kind in enumerate(function.types) if kind.startswith("ptr")]
        parameters = {function.names[i]: i for i in pointers} if function.is_kernel else {}
        lines, footprint = instrumenter.body(function.name, function.lines, parameters)
        self._footprints[function.name] = footprint
        operands = ", ".join(f"{kind} {name}" for kind, name in zip(function.types, function.names, strict=True))
        return "\n".join([f"define internal {function.result} @{function.name}({operands}) {{", *lines, "}"])

    def _merge_callees(self) -> None:
        """Add to every function what it calls does, to buffers that are unknown there."""
        for name in self._footprints:
            total = self._footprints[name]
            for callee in self._reached(name, (name,)):
                called = self._footprints[callee]
                total.stack += called.stack
                total.written |= called.written
                total.globals |= called.globals
                for origin, granule in called.granules.items():
                    total.granules[origin] = min(granule, total.granules.get(origin, MAX_GRANULE))

    def _reached(self, name: str, path: tuple[str, ...]) -> set[str]:
        found = set[str]()
        for callee in self._footprints[name].callees:
            if callee in path:
                raise EmulatorError(f"expected functions that do not call themselves, got @{callee}")
            found |= {callee} | self._reached(callee, (*path, callee))
        return found

    def _shared_buffers(self, module: llvm.ModuleRef, addresses: dict[str, int]) -> tuple[SharedBuffer, ...]:
        sizes = dict(_globals(module))
        made = list[SharedBuffer]()
        for name, address in addresses.items():
            granule = min(_granule(footprint, Origin(GLOBAL, name)) for footprint in self._footprints.values())
            granule = min(granule, element_size(sizes[name]))
            made.append(SharedBuffer(name, address, type_size(sizes[name]), granule))
        return tuple(made)

    def _kernel(self, function: _Function) -> Kernel:
        footprint = self._footprints[function.name]
        parameters = list[Parameter]()
        for number, (kind, attributes) in enumerate(zip(function.types, function.attributes, strict=True)):
            origin = Origin(ARGUMENT, str(number))
            written = origin in footprint.written or None in footprint.written
            aligned = [int(text.split(" ")[1]) for text in attributes if text.startswith("align ")]
            granule = _granule(footprint, origin)
            parameters.append(Parameter(kind, max(aligned, default=1), "noalias" in attributes, written, granule))
        used = [buffer for buffer in self.shared if buffer.name in footprint.globals]
        low = min((buffer.address for buffer in used), default=0)
        high = max((buffer.address + buffer.size for buffer in used), default=0)
        return Kernel(function.name, tuple(parameters), (low, high - low), footprint.stack, function.max_threads)

    def _entry(self, function: _Function) -> str:
        """A function without parameters that calls a kernel and never comes back."""
        lines = [f"define void @{PREFIX}entry.{function.name}() {{"]
        for i, kind in enumerate(function.types):
            lines.append(f"  %v{i} = load {kind}, ptr inttoptr (i64 {self._arguments + 8 * i} to ptr)")
        operands = ", ".join(f"{kind} %v{i}" for i, kind in enumerate(function.types))
        lines.append(f"  call void @{function.name}({operands})")
        suspend = f"i64 {self._machine.state}, i64 {FINISHED}, i64 0"
        lines.append(f"  call void inttoptr (i64 {self._machine.suspend} to ptr)({suspend}) nounwind")
        return "\n".join([*lines, "  unreachable", "}"])


def _granule(footprint: Footprint, origin: Origin) -> int:
    return min(footprint.granules.get(origin, MAX_GRANULE), footprint.granules.get(None, MAX_GRANULE))


def _parse(llvm_ir: str) -> llvm.ModuleRef:
    try:
        module = llvm.parse_assembly(llvm_ir)
        module.verify()
    except RuntimeError as error:
        raise EmulatorError(f"expected LLVM IR, got text that LLVM refuses: {error}") from None
    for variable in module.global_variables:  # so that LLVM prints them without quotes; it keeps them unique
        variable.name = re.sub(r"[^\w.-]", "_", variable.name, flags=re.ASCII)
    return module


def _globals(module: llvm.ModuleRef) -> Iterable[tuple[str, str]]:
    return ((variable.name, str(variable.global_value_type)) for variable in module.global_variables)


def _place_shared(module: llvm.ModuleRef, packed: bool) -> tuple[Any, dict[str, int]]:
    """Memory for all shared variables, and their addresses in it. Nothing is better aligned than its
    declaration asks for, so that a kernel that relies on luck is found out; or `packed`, in the order of
    declaration, from an address that is a multiple of `_RED_ZONE`."""
    shared = list[tuple[str, int, int]]()
    for variable in module.global_variables:
        declaration = str(variable)
        if "addrspace(3)" not in declaration.split(" global ")[0]:
            continue
        if " external " in declaration:
            raise EmulatorError(f"expected static shared memory, got {declaration.strip()}")
        kind = str(variable.global_value_type)
        match = re.search(r", align (\d+)", declaration)
        shared.append((variable.name, type_size(kind), int(match[1]) if match else natural_alignment(kind)))
    memory: np.ndarray = np.empty(sum(size + 3 * _RED_ZONE for _, size, _ in shared) + _RED_ZONE, np.uint8)
    addresses, at = dict[str, int](), memory.ctypes.data
    at += -at % _RED_ZONE
    for name, size, alignment in shared:
        at += -at % alignment if packed else -at % _RED_ZONE + alignment % _RED_ZONE
        addresses[name] = at
        at += size if packed else size + _RED_ZONE
    return memory, addresses


def _functions(module: llvm.ModuleRef, text: str) -> list[_Function]:
    found = list[_Function]()
    bodies = dict(re.findall(r"^(define .*?@[\w.$-]+)\(.*?\{\n(.*?)^\}", text, flags=re.M | re.S))
    by_name = {head.rsplit("@", 1)[1]: (head, body) for head, body in bodies.items()}
    for function in module.functions:
        if function.is_declaration:
            continue
        if function.name not in by_name:
            raise EmulatorError(f"expected a plain function name, got {function.name}")
        head, body = by_name[function.name]
        found.append(_function(function, " ptx_kernel " in head, body))
    return found


def _function(function: llvm.ValueRef, is_kernel: bool, body: str) -> _Function:
    arguments = list(function.arguments)
    if len(arguments) > MAX_ARGUMENTS:
        raise EmulatorError(f"expected at most {MAX_ARGUMENTS} parameters, got {len(arguments)} of @{function.name}")
    names = tuple(f"%{argument.name or number}" for number, argument in enumerate(arguments))
    types = tuple(str(argument.type) for argument in arguments)
    attributes = tuple(tuple(text.decode() for text in argument.attributes) for argument in arguments)
    limits = [re.search(r'"nvvm\.(?:maxntid|reqntid)"="([\d,]+)"', text.decode()) for text in function.attributes]
    sizes = [int(np.prod([int(part) for part in limit[1].split(",")])) for limit in limits if limit]
    result = str(function.global_value_type).split(" (", 1)[0]
    max_threads = min(sizes, default=0)
    return _Function(function.name, result, types, names, attributes, is_kernel, max_threads, body.splitlines())


def _module_lines(text: str) -> str:
    """What stays of the module outside its functions: constants, attributes, metadata, declarations
    that LLVM itself understands."""
    outside = re.sub(r"^define .*?^\}$", "", text, flags=re.M | re.S)
    kept = [line for line in outside.splitlines() if _stays(line)]
    return "\n".join(kept)


def _stays(line: str) -> bool:
    if line.startswith("@"):
        return "addrspace(3)" not in line.split(" global ")[0]
    if line.startswith("declare"):
        return "@llvm." in line and "@llvm.nvvm." not in line
    return line.startswith(("attributes", "!"))


def _declarations(module: llvm.ModuleRef, machine: Addresses) -> list[str]:
    """Definitions for the intrinsics and library functions that a module declares."""
    declared = [function for function in module.functions if function.is_declaration]
    present = {function.name for function in declared}
    made, helpers = list[str](), set[str]()
    for function in declared:
        types = tuple(str(argument.type) for argument in function.arguments)
        result = str(function.global_value_type).split(" (", 1)[0]
        if function.name.startswith("llvm.nvvm."):
            text, needed = _intrinsic(Signature(function.name.removeprefix("llvm.nvvm."), result, types), machine)
            helpers |= needed
        elif function.name.startswith("llvm."):
            continue
        else:
            text, needed = _library(function.name, result, types)
            helpers |= needed
        made.append(text)
    return [*sorted(line for line in helpers if _callee(line) not in present), *made]


def _callee(declaration: str) -> str:
    return declaration[declaration.index("@") + 1 : declaration.index("(")]


def _intrinsic(signature: Signature, machine: Addresses) -> tuple[str, set[str]]:
    definition = define(signature, machine)
    if definition is None:
        raise EmulatorError(f"expected an intrinsic that the emulator knows, got @llvm.nvvm.{signature.name}")
    operands = ", ".join(("i64 %site", *(f"{kind} %a{i}" for i, kind in enumerate(signature.types))))
    leave = f"ret {signature.result} {definition.value}" if definition.value else "ret void"
    head = f"define internal {signature.result} @{PREFIX}{signature.name}({operands}) alwaysinline {{"
    return "\n".join([head, *definition.lines, leave, "}"]), set(definition.declarations)


def _library(name: str, result: str, types: Sequence[str]) -> tuple[str, set[str]]:
    made = library_function(name.removeprefix("__nv_"), result, types) if name.startswith("__nv_") else None
    if made is None:
        raise EmulatorError(f"expected a function that the emulator knows, got @{name}")
    declarations, _, definition = made.rpartition("define internal ")
    return f"define internal {definition}", {line for line in declarations.splitlines() if line}
