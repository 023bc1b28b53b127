"""Functions of a PTX text and calls of them (PTX ISA 7.1): what is given and what comes back are bytes on the stack."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from ragged_dialect.emulator.ptx.body import Body, parts
from ragged_dialect.emulator.ptx.syntax import Function, Instruction, Kernel, Variable
from ragged_dialect.emulator.ptx.types import TYPES
from ragged_dialect.errors import EmulatorError

_PLACE = re.compile(r"\[([\w$]+)(?:\+(\d+))?\]")


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
    if statement.opcode not in ("ld", "st") or statement.modifiers[:1] != ("param",):
        return None
    place = _PLACE.fullmatch(next(x for x in statement.operands if x.startswith("[")))
    found = {v.name: v for v in slots(kernel)}.get(place[1]) if place else None
    if place is None or found is None:
        return None
    return lambda body: _access(body, found, int(place[2] or 0), statement)


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
        lines.append(f"%a.{v.name} = alloca [{v.size} x i8], align {v.alignment}")
        lines.append(f"%p.{v.name} = ptrtoint ptr %a.{v.name} to i64")
    for v in kernel.inputs if isinstance(kernel, Function) else ():
        lines.append(f"store {_bits(v)} %q.{v.name}, ptr %a.{v.name}, align {v.alignment}")
    return lines


def _callee(statement: Instruction) -> str:
    operands = [operand for operand in statement.operands if not operand.startswith("(")]
    return operands[0] if operands else ""


def _call(body: Body, function: Function, passed: Sequence[str], statement: Instruction) -> None:
    known = {v.name: v for v in slots(body.kernel)}
    before, after = statement.operands[: statement.operands.index(function.name)], statement.operands
    given = [known.get(name) for name in _names(after[len(before) + 1 :])]
    results = [known.get(name) for name in _names(before)]
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


def _names(operands: Sequence[str]) -> list[str]:
    return [name for operand in operands for name in parts(f"{{{operand[1:-1]}}}") if name]


def _access(body: Body, variable: Variable, offset: int, statement: Instruction) -> None:
    """`ld.param` and `st.param` of some bytes of a variable."""
    kind = TYPES.get(statement.modifiers[-1])
    registers = next(parts(x) for x in statement.operands if not x.startswith("["))
    if kind is None or offset + len(registers) * kind.bits // 8 > variable.size:
        raise EmulatorError(f"expected an access within {variable.size} bytes, got {statement.name} at byte {offset}")
    for number, register in enumerate(registers):
        at = offset + number * kind.bits // 8
        pointer = body.emit(f"getelementptr i8, ptr %a.{variable.name}, i64 {at}")
        if statement.opcode == "ld":
            body.set(register, kind, body.emit(f"load {kind.llvm}, ptr {pointer}, align 1"), True)
        else:
            body.run(f"store {kind.llvm} {body.value(register, kind, True)}, ptr {pointer}, align 1")


def _bits(variable: Variable) -> str:
    return f"i{8 * variable.size}"


def _whole(body: Body, variable: Variable) -> str:
    return body.emit(f"load {_bits(variable)}, ptr %a.{variable.name}, align 1")
