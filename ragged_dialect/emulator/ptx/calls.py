"""Functions of a PTX text and calls of them (PTX ISA 7.1): what is given and what comes back are bytes on the stack."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from ragged_dialect.emulator.ptx.body import Body, parts
from ragged_dialect.emulator.ptx.syntax import Function, Instruction, Kernel, Variable
from ragged_dialect.emulator.ptx.types import TYPES, Type
from ragged_dialect.errors import EmulatorError

FILL = "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)"
"""What variables on the stack start with is as unlikely to be right as what registers do."""
_PLACE = re.compile(r"\[([\w$]+)(?:\+(\d+))?\]")
_ACCESS = re.compile(r"(?:ld|st)\.param(?:\.v([24]))?\.([bus](?:8|16|32|64)|f32|f64)")
_CALL = re.compile(r"(?:\(([\w$]+)\), )?([A-Za-z_$][\w$]*)(?:, \(\s*((?:[\w$]+\s*,\s*)*[\w$]+)?\s*\))?")


def called(functions: Mapping[str, Function], kernel: Kernel) -> dict[str, Function]:
    """The functions that a kernel calls, and those that they do. EmulatorError for another one than a text has."""
    found: dict[str, Function] = {}
    left = [kernel]
    while left:
        for statement in left.pop().body:
            if isinstance(statement, Instruction) and statement.opcode == "call":
                name = _callee(statement)
                if name not in functions:
                    raise EmulatorError(f"line {statement.line}: expected a function of the text, got {name}")
                if name not in found:
                    found[name] = functions[name]
                    left.append(functions[name])
    return found


def slots(kernel: Kernel) -> list[Variable]:
    """The variables of a kernel or function that are on its stack: parameters of calls, its own, local memory."""
    return [v for v in kernel.variables if v.space in ("param", "local")]


def rule_of(
    kernel: Kernel, functions: Mapping[str, Function], passed: Sequence[str], statement: Instruction
) -> Callable[[Body], None] | None:
    """What translates a call, or an access to what one is given or gives; None for another instruction. Functions get
    the addresses of the variables that are `passed`."""
    if statement.opcode == "call":
        return lambda body: _call(body, functions[_callee(statement)], passed, statement)
    access = _ACCESS.fullmatch(statement.name)
    if access is None or len(statement.operands) != 2:
        return None
    memory, registers = statement.operands[:: 1 if statement.opcode == "st" else -1]
    place = _PLACE.fullmatch(memory)
    found = {v.name: v for v in slots(kernel)}.get(place[1]) if place else None
    if place is None or found is None or found.space != "param":
        return None
    count, kind = int(access[1] or 1), TYPES[access[2]]
    if registers.startswith("{") != (count > 1) or len(parts(registers)) != count:
        raise EmulatorError(f"expected {count} registers for {statement.name}, got {registers}")
    if statement.opcode == "st" and isinstance(kernel, Function) and found in kernel.inputs:
        raise EmulatorError(f"expected no store to what {kernel.name} is given, got one to {found.name}")
    return lambda body: _access(body, found, int(place[2] or 0), statement.opcode, kind, parts(registers))


def leave(body: Body) -> None:
    """Return from a kernel, or from a function with its result."""
    kernel = body.kernel
    if isinstance(kernel, Function) and kernel.result is not None:
        body.run(f"ret {_bits(kernel.result)} {_whole(body, kernel.result)}")
    else:
        body.run("ret void")


def head(function: Function, constants: Sequence[str]) -> str:
    """The first line of a function, which gets the addresses of constants behind its inputs."""
    result = "void" if function.result is None else _bits(function.result)
    given = [*(f"{_bits(v)} %q.{v.name}" for v in function.inputs), *(f"i64 %p.{name}" for name in constants)]
    return f"define internal {result} @{function.name}({', '.join(given)}) {{"


def entry(kernel: Kernel) -> list[str]:
    """Lines that make the variables on the stack; those of inputs hold what was given."""
    lines: list[str] = []
    for v in slots(kernel):
        lines.append(f"%a.{v.name} = alloca [{_size(v)} x i8], align {v.alignment}")
        lines.append(f"%p.{v.name} = ptrtoint ptr %a.{v.name} to i64")
        lines.append(f"call void @llvm.memset.p0.i64(ptr %a.{v.name}, i8 -91, i64 {_size(v)}, i1 false)")
    for v in kernel.inputs if isinstance(kernel, Function) else ():
        lines.append(f"store {_bits(v)} %q.{v.name}, ptr %a.{v.name}, align {v.alignment}")
    return lines


def _parts(statement: Instruction) -> re.Match[str]:
    """The result, name and arguments of a call."""
    match = _CALL.fullmatch(", ".join(statement.operands))
    if match is None or statement.name not in ("call", "call.uni"):
        text = f"{statement.name} {', '.join(statement.operands)}"
        raise EmulatorError(f"line {statement.line}: expected call{{.uni}} (result), name, (arguments), got {text}")
    return match


def _callee(statement: Instruction) -> str:
    return _parts(statement)[2]


def _call(body: Body, function: Function, passed: Sequence[str], statement: Instruction) -> None:
    known, match = {v.name: v for v in slots(body.kernel) if v.space == "param"}, _parts(statement)
    given = [known.get(name.strip()) for name in (match[3] or "").split(",") if name.strip()]
    results = [known.get(match[1])] if match[1] else []
    wanted = [[v.size for v in function.inputs], [function.result.size] if function.result is not None else []]
    found = [[None if v is None else v.size for v in values] for values in (given, results)]
    if wanted != found:
        raise EmulatorError(f"expected bytes of {wanted[0]} and {wanted[1]} for {function.name}, got {found}")
    values = [f"{_bits(v)} {_whole(body, v)}" for v in given if v is not None]
    text = f"@{function.name}({', '.join([*values, *(f'i64 %p.{name}' for name in passed)])})"
    if function.result is None:
        body.run(f"call void {text}")
        return
    made = body.emit(f"call {_bits(function.result)} {text}")
    for v in results:
        if v is not None:
            body.run(f"store {_bits(v)} {made}, ptr %a.{v.name}, align 1")


def _access(body: Body, variable: Variable, offset: int, opcode: str, kind: Type, registers: Sequence[str]) -> None:
    """`ld.param` and `st.param` of some bytes of a variable."""
    step = kind.bits // 8
    whole = step * len(registers)
    if offset + whole > variable.size or offset % whole or variable.alignment % whole:
        what = f"expected an access within {variable.size} bytes, aligned as they are to {variable.alignment},"
        raise EmulatorError(f"{what} got one of {whole} bytes at byte {offset} of {variable.name}")
    for number, register in enumerate(registers):
        pointer = body.emit(f"getelementptr i8, ptr %a.{variable.name}, i64 {offset + number * step}")
        if opcode == "ld":
            body.set(register, kind, body.emit(f"load {kind.llvm}, ptr {pointer}, align 1"), True)
        else:
            body.run(f"store {kind.llvm} {body.value(register, kind, True)}, ptr {pointer}, align 1")


def _size(variable: Variable) -> int:
    """Bytes on the stack: those of an integer that LLVM loads as a whole."""
    return 1 << (variable.size - 1).bit_length() if variable.space == "param" else variable.size


def _bits(variable: Variable) -> str:
    return f"i{8 * _size(variable)}"


def _whole(body: Body, variable: Variable) -> str:
    return body.emit(f"load {_bits(variable)}, ptr %a.{variable.name}, align 1")
